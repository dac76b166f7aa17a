//! The basis: one variable leaves it, another enters, and values and slopes follow from it.

use super::inverse::Inverse;
use super::{Candidate, CoupledFilling, Role, Variable};
use crate::Instance;

/// Refreshed rates may miss a full link's capacity by so much before the inverse is made anew.
const DRIFT: f64 = 1e-11;

/// Rates of a fresh inverse may miss a bound by this much.
const MAX_MISS: f64 = 1e-8;

impl CoupledFilling {
    /// Adds to the slope of a subflow, at the cost of its connection's primary.
    fn add_slope(&mut self, instance: &Instance, subflow: usize, amount: f64) {
        let primary = self.primary[self.connection_of[subflow] as usize] as usize;
        self.variables[subflow].slope += amount;
        self.variables[primary].slope -= amount;
        for (subflow, amount) in [(subflow, amount), (primary, -amount)] {
            for &link in instance.path(subflow) {
                let link = self.link(link);
                self.variables[link].slope -= amount;
            }
        }
    }

    /// One leaves the basis, one enters it. Rates stay, slopes change.
    pub(super) fn pivot(&mut self, instance: &Instance, leaving: usize, entering: Candidate) {
        let subflows = self.connection_of.len();
        let (incoming, pivot) = (entering.variable as usize, entering.pivot);
        self.weights.clear();
        if incoming < subflows {
            let primary = self.primary[self.connection_of[incoming] as usize] as usize;
            for (path, sign) in [(instance.path(incoming), 1.0), (instance.path(primary), -1.0)] {
                for &link in path {
                    if self.is_full(link) {
                        self.weights
                            .push((self.variables[self.link(link)].basis_index, sign));
                    }
                }
            }
        } else {
            self.weights.push((self.variables[incoming].basis_index, 1.0));
        }
        self.inverse.times_columns(&self.weights, &mut self.scratch);
        let rate_slope = self.variables[leaving].slope / pivot;
        for row in 0..self.extra.len() {
            if self.scratch[row] != 0.0 {
                let by = -self.scratch[row] * rate_slope;
                self.add_slope(instance, self.extra[row] as usize, by);
            }
        }
        if incoming < subflows {
            self.add_slope(instance, incoming, rate_slope);
        }
        let step = entering.cost / -pivot;
        for link in self.full.iter().copied() {
            let price = &mut self.prices[link as usize];
            *price = (*price + step * self.pivot_row[link as usize]).max(0.0);
        }
        if let Some(link) = leaving.checked_sub(subflows) {
            self.prices[link] = step;
        }
        if let Some(link) = incoming.checked_sub(subflows) {
            self.prices[link] = 0.0;
        }
        let at = self.change_basis(leaving, incoming, pivot);
        for (index, slope, role) in [(leaving, 0.0, Role::Zero), (incoming, rate_slope, Role::Basic)] {
            let variable = &mut self.variables[index];
            (variable.value, variable.slope, variable.role) = (0.0, slope, role);
        }
        if let Some((variable, at)) = at {
            self.variables[variable].basis_index = at as u32;
        }
    }

    /// Brings the inverse up to date. Returns whose place in it is new: a link that has become full, or a subflow that is used.
    fn change_basis(&mut self, leaving: usize, incoming: usize, pivot: f64) -> Option<(usize, usize)> {
        let subflows = self.connection_of.len();
        if leaving < subflows {
            let row = self.variables[leaving].basis_index as usize;
            if incoming < subflows {
                self.inverse.replace_row(row, &self.scratch);
                self.extra[row] = incoming as u32;
                return Some((incoming, row));
            }
            let column = self.variables[incoming].basis_index as usize;
            self.inverse.shrink(row, column);
            self.extra.swap_remove(row);
            self.full.swap_remove(column);
            if let Some(&moved) = self.extra.get(row) {
                self.variables[moved as usize].basis_index = row as u32;
            }
            if let Some(&moved) = self.full.get(column) {
                let moved = self.link(moved);
                self.variables[moved].basis_index = column as u32;
            }
            return None;
        }
        let filled = (leaving - subflows) as u32;
        let link_values: Vec<f64> = self
            .full
            .iter()
            .map(|&link| -self.pivot_row[link as usize])
            .collect();
        if incoming < subflows {
            self.inverse.grow(&self.scratch, &link_values, pivot);
            self.extra.push(incoming as u32);
            self.full.push(filled);
            let last = self.full.len() - 1;
            self.variables[incoming].basis_index = last as u32;
            Some((leaving, last))
        } else {
            let column = self.variables[incoming].basis_index as usize;
            self.inverse.replace_column(column, &link_values);
            self.full[column] = filled;
            Some((leaving, column))
        }
    }

    /// Computes values and slopes from the basis alone, so that rounding errors do not add up. If the basis cannot give values within
    /// its bounds, the solver is stuck.
    pub(super) fn refresh(&mut self, instance: &Instance) {
        if self.recompute_values(instance) > DRIFT {
            self.refactorize(instance);
            self.stuck |= self.recompute_values(instance) > MAX_MISS;
        }
    }

    /// Computes values and slopes; returns by how much full links miss their capacity, and other variables 0.
    fn recompute_values(&mut self, instance: &Instance) -> f64 {
        let subflows = self.connection_of.len();
        let (level, rising, settled) = (self.level, &self.rising, &self.settled);
        let wanted = |c: usize| {
            if rising[c] {
                (level, 1.0)
            } else {
                (settled[c], 0.0)
            }
        };
        let mut right: Vec<(f64, f64)> = self
            .full
            .iter()
            .map(|&link| (self.capacities[link as usize], 0.0))
            .collect();
        for (c, &primary) in self.primary.iter().enumerate() {
            let (value, slope) = wanted(c);
            for &link in instance.path(primary as usize) {
                if self.is_full(link) {
                    let at = self.variables[self.link(link)].basis_index as usize;
                    right[at].0 -= value;
                    right[at].1 -= slope;
                }
            }
        }
        for (c, &primary) in self.primary.iter().enumerate() {
            let (value, slope) = wanted(c);
            let variable = &mut self.variables[primary as usize];
            (variable.value, variable.slope) = (value, slope);
        }
        for (row, &s) in self.extra.iter().enumerate() {
            let (value, slope) = self
                .inverse
                .row(row)
                .iter()
                .zip(&right)
                .fold((0.0, 0.0), |(value, slope), (inverse, right)| {
                    (value + inverse * right.0, slope + inverse * right.1)
                });
            let primary = self.primary[self.connection_of[s as usize] as usize] as usize;
            let variable = &mut self.variables[s as usize];
            (variable.value, variable.slope) = (value, slope);
            self.variables[primary].value -= value;
            self.variables[primary].slope -= slope;
        }
        for (link, &capacity) in self.variables[subflows..].iter_mut().zip(&self.capacities) {
            (link.value, link.slope) = (capacity, 0.0);
        }
        for s in 0..subflows {
            let Variable {
                value, slope, role, ..
            } = self.variables[s];
            if matches!(role, Role::Basic | Role::HeldAtZero) {
                for &link in instance.path(s) {
                    let link = &mut self.variables[subflows + link as usize];
                    link.value -= value;
                    link.slope -= slope;
                }
            }
        }
        let mut missed = 0.0_f64;
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

    /// Inverts the matrix of the basis anew.
    fn refactorize(&mut self, instance: &Instance) {
        let mut matrix = vec![vec![0.0; self.extra.len()]; self.full.len()];
        for (column, &s) in self.extra.iter().enumerate() {
            let primary = self.primary[self.connection_of[s as usize] as usize];
            for (s, sign) in [(s, 1.0), (primary, -1.0)] {
                for &link in instance.path(s as usize) {
                    if self.is_full(link) {
                        matrix[self.variables[self.link(link)].basis_index as usize][column] += sign;
                    }
                }
            }
        }
        match Inverse::invert(matrix) {
            Some(inverse) => self.inverse = inverse,
            None => self.stuck = true,
        }
    }
}
