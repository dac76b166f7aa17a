//! The paths of one direction of a flow. Packets use all paths in a random order, then all of them in another one
//! (section 3.1.1).

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use weft_paths::draw;

use crate::engine::route::Route;
use crate::transport::shared::Shared;
use crate::transport::spray::{PathRoutes, path_in_part};

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
        let at_most = |existing: u64| existing.clamp(1, max.into()) as u32;
        let routes = PathRoutes::new(shared, id, reverse, hosts, at_most);
        let last = (routes.count() - 1) as u16;
        let seed = draw(&[shared.seed, ORDERS, id, reverse.into()]);
        Self {
            routes,
            order: (0..=last).collect(),
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
            path_in_part(path.into(), count, existing, || {
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
