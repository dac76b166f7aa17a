//! Which variable enters the basis instead of one that has fallen to 0.

use super::{Candidate, CoupledFilling, MIN_PIVOT, Role, TINY, along};
use crate::Instance;

impl CoupledFilling {
    /// Works out what a unit of each link is worth to the leaving variable. A primary first becomes one of the others.
    pub(super) fn compute_pivot_row(&mut self, instance: &Instance, leaving: usize) {
        self.pivot_row.fill(0.0);
        if let Some(link) = leaving.checked_sub(self.connection_of.len()) {
            let link = link as u32;
            let times = |path: &[u32]| path.iter().filter(|&&crossed| crossed == link).count() as f64;
            self.weights.clear();
            for (&s, row) in self.extra.iter().zip(0..) {
                let primary = self.primary[self.connection_of[s as usize] as usize];
                let weight = times(instance.path(s as usize)) - times(instance.path(primary as usize));
                if weight != 0.0 {
                    self.weights.push((row, weight));
                }
            }
            self.inverse.rows_times(&self.weights, &mut self.scratch);
            for (&full, value) in self.full.iter().zip(&self.scratch) {
                self.pivot_row[full as usize] = -value;
            }
            self.pivot_row[link as usize] = 1.0;
        } else {
            let connection = self.connection_of[leaving] as usize;
            if self.primary[connection] as usize == leaving {
                self.replace_primary(instance, connection);
                if self.stuck {
                    return;
                }
            }
            let row = self.inverse.row(self.variables[leaving].basis_index as usize);
            for (&full, value) in self.full.iter().zip(row) {
                self.pivot_row[full as usize] = *value;
            }
        }
    }

    /// Makes another basic subflow the primary one: that with the largest rate.
    fn replace_primary(&mut self, instance: &Instance, connection: usize) {
        let before = self.primary[connection];
        let used = |&s: &usize| matches!(self.variables[s].role, Role::Basic | Role::HeldAtZero);
        let others = instance.subflows_of(connection).filter(|&s| s != before as usize);
        let others: Vec<usize> = others.filter(used).collect();
        let value = |&&s: &&usize| self.variables[s].value;
        // Whose rate rises while one subflow's falls has another.
        let Some(&next) = others.iter().max_by(|a, b| value(a).total_cmp(&value(b))) else {
            self.stuck = true;
            return;
        };
        let at = self.variables[next].basis_index;
        let rows = others.iter().map(|&s| self.variables[s].basis_index as usize);
        self.inverse.substitute_remainder(at as usize, rows);
        self.extra[at as usize] = before;
        self.variables[before as usize].basis_index = at;
        self.primary[connection] = next as u32;
    }

    /// Who enters instead of the leaving variable: whoever is worth less to it than what is used now, at the least cost.
    pub(super) fn ratio_test(&mut self, instance: &Instance) -> Option<Candidate> {
        self.candidates.clear();
        for (c, &primary) in self.primary.iter().enumerate() {
            let used = instance.path(primary as usize);
            let primary_value = along(used, &self.pivot_row);
            for s in instance.subflows_of(c) {
                if self.variables[s].role != Role::Zero {
                    continue;
                }
                let path = instance.path(s);
                let pivot = along(path, &self.pivot_row) - primary_value;
                if pivot < -MIN_PIVOT {
                    let cost = self.costs[s] + along(path, &self.prices)
                        - self.costs[primary as usize]
                        - along(used, &self.prices);
                    self.candidates.push(Candidate {
                        variable: s as u32,
                        pivot,
                        cost: cost.max(0.0),
                    });
                }
            }
        }
        for &link in &self.full {
            let pivot = self.pivot_row[link as usize];
            let variable = self.link(link);
            if pivot < -MIN_PIVOT && self.variables[variable].role == Role::Zero {
                self.candidates.push(Candidate {
                    variable: variable as u32,
                    pivot,
                    cost: self.prices[link as usize],
                });
            }
        }
        let bound = self.candidates.iter();
        let bound = bound
            .map(|candidate| (candidate.cost + TINY) / -candidate.pivot)
            .fold(f64::INFINITY, f64::min);
        let cheap = self
            .candidates
            .iter()
            .filter(|candidate| candidate.cost <= bound * -candidate.pivot);
        cheap.min_by(|a, b| a.pivot.total_cmp(&b.pivot)).copied()
    }
}
