//! Connections settle where nobody can make room, and the prices that show it.

use super::{Bottleneck, Filling, Role, TINY, along};
use crate::Instance;

impl Filling {
    /// Nobody can make room: whoever pays settles, and what would take from them stays 0.
    pub(super) fn settle(&mut self, instance: &Instance, leaving: usize) {
        let subflows = self.owners.len();
        let bottleneck = self.bottleneck(instance);
        let stage = self.bottlenecks.len() as u32;
        self.bottlenecks.push(bottleneck);
        for (c, &primary) in self.primary.iter().enumerate() {
            let pays = along(instance.path(primary as usize), &self.worth);
            for s in instance.subflows_of(c) {
                let dearer = along(instance.path(s), &self.worth) - pays;
                if dearer > TINY && self.variables[s].role == Role::Zero {
                    self.variables[s].role = Role::Fixed;
                    self.fixed.push((s as u32, stage, dearer));
                }
            }
            if self.rising[c] && pays > TINY {
                self.rising[c] = false;
                self.settled[c] = self.level;
                self.still_rising -= 1;
            }
        }
        for &link in &self.full {
            let (variable, worth) = (subflows + link as usize, self.worth[link as usize]);
            if worth > TINY && self.variables[variable].role == Role::Zero {
                self.variables[variable].role = Role::Fixed;
                self.fixed.push((variable as u32, stage, worth));
            }
        }
        self.variables[leaving].role = Role::Held;
        self.refresh(instance);
    }

    /// What links are worth, as prices. Where what is 0 for good would be cheaper, the prices that keep it so are added, as often as
    /// it takes: all their links carry is paid for already.
    fn bottleneck(&mut self, instance: &Instance) -> Bottleneck {
        let mut times = vec![0.0_f64; self.bottlenecks.len()];
        for &(variable, stage, dearer) in &self.fixed {
            let variable = variable as usize;
            let now = if let Some(link) = variable.checked_sub(self.owners.len()) {
                self.worth[link]
            } else {
                let primary = self.primary[self.owners[variable] as usize] as usize;
                along(instance.path(variable), &self.worth) - along(instance.path(primary), &self.worth)
            };
            let times = &mut times[stage as usize];
            *times = times.max(-now / dearer);
        }
        self.line.clear();
        self.line.extend_from_slice(&self.worth);
        for (before, times) in self.bottlenecks.iter().zip(times) {
            for &(link, price) in before.prices.iter().filter(|_| times > 0.0) {
                self.line[link as usize] += times * price;
            }
        }
        let priced = (0_u32..).zip(&self.line).filter(|(_, price)| **price > TINY);
        Bottleneck {
            rate: self.level * self.unit,
            prices: priced.map(|(link, &price)| (link, price)).collect(),
        }
    }
}
