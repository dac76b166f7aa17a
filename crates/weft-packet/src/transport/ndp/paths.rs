//! The paths of one direction of a flow. Packets use all paths in a random order, then all of them in another one
//! (section 3.1.1).

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use weft_paths::draw;

use crate::engine::route::Route;
use crate::transport::shared::Shared;
use crate::transport::spray::PathRoutes;

/// Distinguishes the random numbers of orders, and of the choice of paths, from others.
const ORDERS: u64 = 0x6E64_706F;
const CHOICE: u64 = 0x6E64_7063;

/// The paths of a direction with their order.
pub struct Paths {
    routes: PathRoutes,
    /// The paths of this round that were used, then those that were not.
    order: Box<[u16]>,
    used: usize,
    random: SplitMix64,
}

impl Paths {
    /// Creates the paths of a direction of flow `id` between two hosts: all paths, or `max` of them.
    pub fn new(shared: &Shared, id: u64, reverse: bool, hosts: [u32; 2], max: u32) -> Self {
        let [from, to] = hosts.map(|host| shared.fabric.hosts[host as usize]);
        let existing = shared.paths_between(from, to).map_or(1, |paths| paths.count);
        let count = existing.clamp(1, max.into()) as u32;
        let seed = draw(&[shared.seed, ORDERS, id, reverse.into()]);
        Self {
            routes: PathRoutes::new(id, reverse, hosts, count),
            order: (0..=(count - 1) as u16).collect(),
            used: 0,
            random: SplitMix64::seed_from_u64(seed),
        }
    }

    /// Returns the number of paths.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    /// Returns the path of the next packet.
    pub fn choose(&mut self) -> u16 {
        if self.used == self.order.len() {
            self.used = 0;
        }
        let left = (self.order.len() - self.used) as u64;
        let drawn = (u64::from(self.random.next_u32()) * left) >> 32;
        self.order.swap(self.used, self.used + drawn as usize);
        self.used += 1;
        self.order[self.used - 1]
    }

    /// Returns the route of a path.
    #[inline]
    pub fn route(&mut self, path: u16, shared: &Shared) -> Route {
        let count = self.order.len() as u64;
        self.routes.route(path, shared, |direction, existing| {
            number(path.into(), count, existing, || {
                draw(&[shared.seed, CHOICE, direction, path.into()])
            })
        })
    }

    /// Forgets all routes, because links have failed or work again.
    pub fn reroute(&mut self) {
        self.routes.clear();
    }

    /// Releases the memory of a finished flow.
    pub fn release(&mut self) {
        self.routes.release();
        self.order = Box::new([0]);
        self.used = 0;
    }
}

/// Returns the number of path `index` of `count` among the existing ones: a random one of its own `1 / count` of them.
fn number(index: u64, count: u64, existing: u64, random: impl FnOnce() -> u64) -> u64 {
    let start = |index: u64| (u128::from(index) * u128::from(existing) / u128::from(count)) as u64;
    let (first, end) = (start(index), start(index + 1));
    if end <= first + 1 {
        return first;
    }
    first + ((u128::from(random()) * u128::from(end - first)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn paths_are_all_different() {
        for (count, existing) in [(1, 1), (36, 36), (7, 10), (256, 1_000_003), (65_536, 1 << 40)] {
            let numbers = (0..count).map(|index| number(index, count, existing, || draw(&[index, count])));
            let numbers: BTreeSet<u64> = numbers.collect();
            assert_eq!(numbers.len() as u64, count);
            assert!(*numbers.last().unwrap() < existing);
        }
    }
}
