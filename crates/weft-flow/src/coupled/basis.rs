//! The basis: the variables that may differ from 0, and their values and slopes.

use super::factors::Factors;
use super::lu::SparseLists;
use super::problem::Problem;
use super::stages::Stages;
use super::{Candidate, TINY};
use crate::Instance;

/// Recomputed values may miss a constraint by this much before the basis is factorised again.
const DRIFT: f64 = 1e-11;

/// Values of a freshly factorised basis may miss a bound by this much.
const MAX_MISS: f64 = 1e-8;

/// Rounding errors of rates.
const ROUNDING: f64 = 1e-12;

/// Difference between both computations of a pivot, relative to the larger one of 1 and the pivot,
/// from which on the basis is factorised again.
const MAX_PIVOT_ERROR: f64 = 1e-8;

/// State of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A variable in the basis.
    Basic,
    /// A variable in the basis, but fixed at 0 by a stage that has ended.
    BasicAtZero,
    /// A variable outside the basis, which is 0 and may enter.
    Nonbasic,
    /// A variable outside the basis, fixed at 0 by a stage that has ended.
    Fixed,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub value: f64,
    /// Change of the value for a change of the common rate.
    pub slope: f64,
    pub role: Role,
    /// Position in the basis.
    position: u32,
}

/// The outcome of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    Done,
    /// Rounding errors are too large. Nothing has changed.
    Inaccurate,
}

/// The basis of a stage's linear program.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    pub variables: Vec<Variable>,
    /// Variable at each position.
    basic: Vec<u32>,
    factors: Factors,
    /// Variables whose values fall, kept for their memory.
    falling: Vec<u32>,
    /// Values by constraint and by position, kept for their memory.
    rows: Vec<f64>,
    column: Vec<f64>,
    slopes: Vec<f64>,
}

impl Basis {
    /// Creates the basis of slacks and of each connection's cheapest subflow.
    pub fn new(problem: &Problem, instance: &Instance) -> Self {
        let nonbasic = Variable {
            value: 0.0,
            slope: 0.0,
            role: Role::Nonbasic,
            position: 0,
        };
        let cheapest = |c: usize| {
            let subflows = instance.subflows_of(c);
            subflows.min_by(|&a, &b| problem.costs[a].total_cmp(&problem.costs[b]))
        };
        let slacks = (0..problem.links()).map(|link| problem.slack(link));
        let basic: Vec<u32> = slacks
            .chain((0..instance.connections()).filter_map(cheapest))
            .map(|variable| variable as u32)
            .collect();
        let mut variables = vec![nonbasic; problem.subflows() + problem.links()];
        for (position, &variable) in (0..).zip(&basic) {
            let variable = &mut variables[variable as usize];
            (variable.role, variable.position) = (Role::Basic, position);
        }
        Self {
            variables,
            basic,
            factors: Factors::default(),
            falling: Vec::new(),
            rows: Vec::new(),
            column: Vec::new(),
            slopes: Vec::new(),
        }
    }

    /// Raises the common rate until a basic variable is 0 (primal ratio test). Returns the
    /// variable and the rise. Of several variables the one with the steepest slope is taken for
    /// precision.
    pub fn rise(&mut self) -> Option<(usize, f64)> {
        self.falling.clear();
        let mut bound = f64::INFINITY;
        for (i, variable) in (0..).zip(&self.variables) {
            // Variables outside the basis have no slope.
            if variable.slope < -TINY {
                self.falling.push(i);
                if variable.value + ROUNDING < bound * -variable.slope {
                    bound = (variable.value + ROUNDING) / -variable.slope;
                }
            }
        }
        let (mut leaving, mut steepest) = (None, 0.0);
        for &i in &self.falling {
            let variable = &self.variables[i as usize];
            if variable.slope < steepest && variable.value <= bound * -variable.slope {
                (leaving, steepest) = (Some(i as usize), variable.slope);
            }
        }
        let leaving = leaving?;
        let variable = &self.variables[leaving];
        let rise = (variable.value / -variable.slope).max(0.0);
        if rise > 0.0 {
            for variable in &mut self.variables {
                variable.value = (variable.value + rise * variable.slope).max(0.0);
            }
        }
        Some((leaving, rise))
    }

    /// Computes the row of the inverse that belongs to a basic variable (BTRAN), by constraint.
    pub fn inverse_row(&mut self, problem: &Problem, variable: usize, row: &mut Vec<f64>) {
        self.factors.inverse_row(self.variables[variable].position, row);
        // The row is 0 where another slack is basic.
        for (link, value) in row[..problem.links()].iter_mut().enumerate() {
            let slack = problem.slack(link);
            let role = self.variables[slack].role;
            if slack != variable && matches!(role, Role::Basic | Role::BasicAtZero) {
                *value = 0.0;
            }
        }
    }

    /// Exchanges a basic variable with one that enters (FTRAN and pivot). Values stay, and slopes
    /// change.
    pub fn exchange(
        &mut self,
        problem: &Problem,
        instance: &Instance,
        leaving: usize,
        entering: Candidate,
    ) -> Exchange {
        let incoming = entering.variable as usize;
        self.rows.clear();
        self.rows.resize(self.basic.len(), 0.0);
        for row in problem.column(instance, incoming) {
            self.rows[row as usize] += 1.0;
        }
        self.factors.solve(&self.rows, &mut self.column);
        let position = self.variables[leaving].position;
        let pivot = self.column[position as usize];
        let error = (pivot - entering.pivot).abs();
        if error > MAX_PIVOT_ERROR * pivot.abs().max(1.0) && !self.factors.is_fresh() {
            return Exchange::Inaccurate;
        }
        let slope = self.variables[leaving].slope / pivot;
        for (&variable, &value) in self.basic.iter().zip(&self.column) {
            let variable = &mut self.variables[variable as usize];
            if value != 0.0 && variable.role == Role::Basic {
                variable.slope -= value * slope;
            }
        }
        self.factors.exchange(position, pivot);
        self.basic[position as usize] = entering.variable;
        self.variables[incoming].position = position;
        for (index, slope, role) in [(leaving, 0.0, Role::Nonbasic), (incoming, slope, Role::Basic)] {
            let variable = &mut self.variables[index];
            (variable.value, variable.slope, variable.role) = (0.0, slope, role);
        }
        Exchange::Done
    }

    /// Returns true if the basis should be factorised again, so that an event stays fast.
    pub fn is_long(&self) -> bool {
        self.factors.is_long()
    }

    /// Computes values and slopes from the basis alone if their rounding errors have added up. Returns
    /// false if the basis gives no values within their bounds.
    pub fn correct(&mut self, problem: &Problem, instance: &Instance, stages: &Stages) -> bool {
        self.set_targets(problem, instance, stages);
        let values = self.largest_error(problem, instance, |variable| variable.value);
        self.set_slopes_of_targets(problem, instance, stages);
        let slopes = self.largest_error(problem, instance, |variable| variable.slope);
        values.max(slopes) <= DRIFT || self.refresh(problem, instance, stages)
    }

    /// Computes values and slopes from the basis alone, so that rounding errors do not add up.
    /// Returns false if the basis gives no values within their bounds.
    pub fn refresh(&mut self, problem: &Problem, instance: &Instance, stages: &Stages) -> bool {
        self.recompute(problem, instance, stages) <= DRIFT
            || self.factors.is_fresh()
            || self.refactorize(problem, instance, stages)
    }

    /// Factorises the basis and computes values and slopes. Returns false if the basis is singular
    /// or gives no values within their bounds.
    pub fn refactorize(&mut self, problem: &Problem, instance: &Instance, stages: &Stages) -> bool {
        let mut columns = SparseLists::default();
        for &variable in &self.basic {
            let mut column: Vec<u32> = problem.column(instance, variable as usize).collect();
            column.sort_unstable();
            for equal in column.chunk_by(|a, b| a == b) {
                columns.push(equal[0], equal.len() as f64);
            }
            columns.end_list();
        }
        let Some(factors) = Factors::new(&columns) else {
            return false;
        };
        self.factors = factors;
        self.recompute(problem, instance, stages) <= MAX_MISS
    }

    /// Computes values and slopes. Returns the largest error of a constraint or a bound.
    fn recompute(&mut self, problem: &Problem, instance: &Instance, stages: &Stages) -> f64 {
        self.set_targets(problem, instance, stages);
        self.factors.solve(&self.rows, &mut self.column);
        self.set_slopes_of_targets(problem, instance, stages);
        self.factors.solve(&self.rows, &mut self.slopes);
        for variable in &mut self.variables {
            (variable.value, variable.slope) = (0.0, 0.0);
        }
        for ((&variable, &value), &slope) in self.basic.iter().zip(&self.column).zip(&self.slopes) {
            let variable = &mut self.variables[variable as usize];
            (variable.value, variable.slope) = (value, slope);
        }
        self.set_targets(problem, instance, stages);
        let mut missed = self.largest_error(problem, instance, |variable| variable.value);
        for variable in &mut self.variables {
            if variable.role == Role::Basic {
                missed = missed.max(-variable.value);
            } else {
                missed = missed.max(variable.value.abs());
                (variable.value, variable.slope) = (0.0, 0.0);
            }
            variable.value = variable.value.max(0.0);
        }
        missed
    }

    /// Sets `rows` to the capacities of links and the rates of connections.
    fn set_targets(&mut self, problem: &Problem, instance: &Instance, stages: &Stages) {
        self.rows.clear();
        self.rows.extend_from_slice(&problem.capacities);
        let connections = 0..instance.connections();
        self.rows.extend(connections.map(|c| stages.target(c).0));
    }

    /// Sets `rows` to the changes of capacities and rates for a change of the common rate.
    fn set_slopes_of_targets(&mut self, problem: &Problem, instance: &Instance, stages: &Stages) {
        self.rows.clear();
        self.rows.resize(problem.links(), 0.0);
        let connections = 0..instance.connections();
        self.rows.extend(connections.map(|c| stages.target(c).1));
    }

    /// Returns the largest difference between `rows` and the sums of a number of all variables. The
    /// slacks are among the variables, so that it is a rounding error.
    fn largest_error(
        &mut self,
        problem: &Problem,
        instance: &Instance,
        number: impl Fn(&Variable) -> f64,
    ) -> f64 {
        for (i, variable) in self.variables.iter().enumerate() {
            let number = number(variable);
            if number != 0.0 {
                for row in problem.column(instance, i) {
                    self.rows[row as usize] -= number;
                }
            }
        }
        self.rows
            .iter()
            .fold(0.0_f64, |missed, left| missed.max(left.abs()))
    }
}
