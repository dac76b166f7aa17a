//! The stages of progressive filling. A stage ends where no variable can enter the basis; the
//! connections at its bottleneck then have their rate.

use super::basis::{Basis, Role};
use super::problem::Problem;
use super::{Bottleneck, TINY};
use crate::Instance;

/// A variable that has to stay 0 because of a bottleneck.
#[derive(Clone, Copy, Debug)]
struct FixedVariable {
    variable: u32,
    /// Index of the bottleneck.
    bottleneck: u32,
    /// Additional price of a unit of the variable at the bottleneck.
    extra_price: f64,
}

/// Rates of connections, and the bottlenecks that limit them.
#[derive(Clone, Debug)]
pub(super) struct Stages {
    /// The common rate of connections without a bottleneck.
    level: f64,
    /// Whether each connection's rate still rises.
    rising: Vec<bool>,
    rising_count: usize,
    /// Final rate of each connection at a bottleneck.
    settled: Vec<f64>,
    pub bottlenecks: Vec<Bottleneck>,
    fixed: Vec<FixedVariable>,
}

impl Stages {
    pub fn new(connections: usize) -> Self {
        Self {
            level: 0.0,
            rising: vec![true; connections],
            rising_count: connections,
            settled: vec![0.0; connections],
            bottlenecks: Vec::new(),
            fixed: Vec::new(),
        }
    }

    /// Returns true if every connection has a bottleneck.
    pub fn are_over(&self) -> bool {
        self.rising_count == 0
    }

    pub fn rise(&mut self, amount: f64) {
        self.level += amount;
    }

    /// The rate of a connection and its change for a change of the common rate.
    pub fn target(&self, connection: usize) -> (f64, f64) {
        if self.rising[connection] {
            (self.level, 1.0)
        } else {
            (self.settled[connection], 0.0)
        }
    }

    /// Ends a stage at the prices of `pivot_row`: connections with a price have their rate, and
    /// variables that would take from them stay 0.
    pub fn end(
        &mut self,
        problem: &Problem,
        instance: &Instance,
        basis: &mut Basis,
        leaving: usize,
        pivot_row: &[f64],
    ) {
        let bottleneck = self.bottleneck(problem, instance, pivot_row);
        let index = self.bottlenecks.len() as u32;
        self.bottlenecks.push(bottleneck);
        let links = problem.links();
        for (i, variable) in basis.variables.iter_mut().enumerate() {
            let extra_price = extra_price(problem, instance, i, pivot_row);
            if variable.role == Role::Nonbasic && extra_price > TINY {
                variable.role = Role::Fixed;
                self.fixed.push(FixedVariable {
                    variable: i as u32,
                    bottleneck: index,
                    extra_price,
                });
            }
        }
        for (c, value) in pivot_row[links..].iter().enumerate() {
            if self.rising[c] && -value > TINY {
                self.rising[c] = false;
                self.settled[c] = self.level;
                self.rising_count -= 1;
            }
        }
        basis.variables[leaving].role = Role::BasicAtZero;
    }

    /// The bottleneck with the prices of `pivot_row`. Where a fixed variable would be cheaper than
    /// those in the basis, the prices of its bottleneck are added, times the smallest factor that
    /// prevents it. Connections of that bottleneck pay for all that its links carry.
    fn bottleneck(&self, problem: &Problem, instance: &Instance, pivot_row: &[f64]) -> Bottleneck {
        let mut factors = vec![0.0_f64; self.bottlenecks.len()];
        for fixed in &self.fixed {
            let now = extra_price(problem, instance, fixed.variable as usize, pivot_row);
            let factor = &mut factors[fixed.bottleneck as usize];
            *factor = factor.max(-now / fixed.extra_price);
        }
        let mut prices = pivot_row[..problem.links()].to_vec();
        for (bottleneck, factor) in self.bottlenecks.iter().zip(factors) {
            if factor > 0.0 {
                for &(link, price) in &bottleneck.prices {
                    prices[link as usize] += factor * price;
                }
            }
        }
        let above_zero = (0_u32..).zip(prices).filter(|(_, price)| *price > TINY);
        Bottleneck {
            rate: self.level * problem.unit,
            prices: above_zero.collect(),
        }
    }
}

/// The price of a variable's unit less that of its connection's subflows in the basis.
fn extra_price(problem: &Problem, instance: &Instance, variable: usize, pivot_row: &[f64]) -> f64 {
    match problem.link_of(variable) {
        Some(link) => pivot_row[link],
        None => problem.column_value(instance, variable, pivot_row),
    }
}
