//! The dual ratio test: the variable that enters the basis instead of one that has fallen to 0.

use super::basis::{Basis, Role};
use super::problem::Problem;
use super::{Candidate, MIN_PIVOT};
use crate::Instance;

/// Additional cost up to which a variable with a larger pivot enters instead of the cheapest one
/// (Harris, "Pivot selection methods of the Devex LP code", 1973). Links of a path cost 1 each. A
/// tolerance near 0 needs 2.5 times the events on 432 hosts with 8 subflows, because variables with
/// nearly equal costs enter in turn. Costs only choose between equal rates of connections.
const COST_TOLERANCE: f64 = 0.01;

/// The dual variables of a stage's linear program.
#[derive(Clone, Debug)]
pub(super) struct Duals {
    /// Prices by constraint. Those of links are 0 or more. With them a variable outside the basis
    /// costs less than those in it by about [`COST_TOLERANCE`] at most.
    prices: Vec<f64>,
    /// Row of the inverse that belongs to the leaving variable, by constraint.
    pub pivot_row: Vec<f64>,
    /// Kept for their memory.
    candidates: Vec<Candidate>,
}

impl Duals {
    /// Creates the prices of a basis of slacks and of each connection's cheapest subflow.
    pub fn new(problem: &Problem, instance: &Instance) -> Self {
        let cheapest = |c: usize| {
            let costs = instance.subflows_of(c).map(|s| problem.costs[s]);
            -costs.fold(f64::INFINITY, f64::min)
        };
        let mut prices = vec![0.0; problem.links()];
        prices.extend((0..instance.connections()).map(cheapest));
        Self {
            prices,
            pivot_row: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// Returns the variable that takes the place of the leaving one at nearly the least additional
    /// cost, if there is one.
    pub fn ratio_test(&mut self, problem: &Problem, instance: &Instance, basis: &Basis) -> Option<Candidate> {
        self.candidates.clear();
        for (s, variable) in basis.variables[..problem.subflows()].iter().enumerate() {
            if variable.role != Role::Nonbasic {
                continue;
            }
            let pivot = problem.column_value(instance, s, &self.pivot_row);
            if pivot < -MIN_PIVOT {
                let cost = problem.costs[s] + problem.column_value(instance, s, &self.prices);
                self.candidates.push(Candidate {
                    variable: s as u32,
                    pivot,
                    cost: cost.max(0.0),
                });
            }
        }
        for (link, &pivot) in self.pivot_row[..problem.links()].iter().enumerate() {
            let slack = problem.slack(link);
            if pivot < -MIN_PIVOT && basis.variables[slack].role == Role::Nonbasic {
                self.candidates.push(Candidate {
                    variable: slack as u32,
                    pivot,
                    cost: self.prices[link],
                });
            }
        }
        let ratio = |candidate: &Candidate| (candidate.cost + COST_TOLERANCE) / -candidate.pivot;
        let bound = self.candidates.iter().map(ratio).fold(f64::INFINITY, f64::min);
        self.candidates
            .iter()
            .filter(|candidate| candidate.cost <= bound * -candidate.pivot)
            .min_by(|a, b| a.pivot.total_cmp(&b.pivot))
            .copied()
    }

    /// Changes the prices to those of the basis with the entering variable.
    pub fn update(&mut self, problem: &Problem, leaving: usize, entering: Candidate) {
        let step = entering.cost / -entering.pivot;
        for (price, value) in self.prices.iter_mut().zip(&self.pivot_row) {
            *price += step * value;
        }
        for price in &mut self.prices[..problem.links()] {
            *price = price.max(0.0);
        }
        if let Some(link) = problem.link_of(leaving) {
            self.prices[link] = step;
        }
        if let Some(link) = problem.link_of(entering.variable as usize) {
            self.prices[link] = 0.0;
        }
    }
}
