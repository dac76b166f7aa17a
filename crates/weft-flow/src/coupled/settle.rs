//! Connections settle where nobody can make room, and the prices that show it.

use super::{Bottleneck, CoupledFilling, Role, TINY, along};
use crate::Instance;

impl CoupledFilling {
    /// Nobody can make room: whoever pays settles, and what would take from them stays 0.
    pub(super) fn settle(&mut self, instance: &Instance, leaving: usize) {
        let subflows = self.connection_of.len();
        let bottleneck = self.bottleneck(instance);
        let stage = self.bottlenecks.len() as u32;
        self.bottlenecks.push(bottleneck);
        for (c, &primary) in self.primary.iter().enumerate() {
            let cost = along(instance.path(primary as usize), &self.pivot_row);
            for s in instance.subflows_of(c) {
                let extra_cost = along(instance.path(s), &self.pivot_row) - cost;
                if extra_cost > TINY && self.variables[s].role == Role::Zero {
                    self.variables[s].role = Role::FixedAtZero;
                    self.fixed.push((s as u32, stage, extra_cost));
                }
            }
            if self.rising[c] && cost > TINY {
                self.rising[c] = false;
                self.settled[c] = self.level;
                self.rising_count -= 1;
            }
        }
        for &link in &self.full {
            let (variable, value) = (subflows + link as usize, self.pivot_row[link as usize]);
            if value > TINY && self.variables[variable].role == Role::Zero {
                self.variables[variable].role = Role::FixedAtZero;
                self.fixed.push((variable as u32, stage, value));
            }
        }
        self.variables[leaving].role = Role::HeldAtZero;
        self.refresh(instance);
    }

    /// What links are worth, as prices. Where what is 0 for good would be cheaper, the prices that keep it so are added, as often as
    /// it takes: all their links carry is paid for already.
    fn bottleneck(&mut self, instance: &Instance) -> Bottleneck {
        let mut times = vec![0.0_f64; self.bottlenecks.len()];
        for &(variable, stage, extra_cost) in &self.fixed {
            let variable = variable as usize;
            let now = if let Some(link) = variable.checked_sub(self.connection_of.len()) {
                self.pivot_row[link]
            } else {
                let primary = self.primary[self.connection_of[variable] as usize] as usize;
                along(instance.path(variable), &self.pivot_row)
                    - along(instance.path(primary), &self.pivot_row)
            };
            let times = &mut times[stage as usize];
            *times = times.max(-now / extra_cost);
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.pivot_row);
        for (before, times) in self.bottlenecks.iter().zip(times) {
            for &(link, price) in before.prices.iter().filter(|_| times > 0.0) {
                self.scratch[link as usize] += times * price;
            }
        }
        let priced = (0_u32..).zip(&self.scratch).filter(|(_, price)| **price > TINY);
        Bottleneck {
            rate: self.level * self.unit,
            prices: priced.map(|(link, &price)| (link, price)).collect(),
        }
    }
}
