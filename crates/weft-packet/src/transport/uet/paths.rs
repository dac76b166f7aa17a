//! The routes of the EVs of one direction of a flow. A hash of flow, direction and EV chooses one of the
//! paths, as the hashes of switches do together.

use weft_paths::draw;

use crate::engine::route::Route;
use crate::transport::shared::Shared;
use crate::transport::spray::PathRoutes;

/// Distinguishes the hash of paths from other random numbers.
const STREAM: u64 = 0x7565_7470;

/// The routes by EV.
pub struct EvRoutes(PathRoutes);

impl EvRoutes {
    /// Creates the routes of a direction of flow `id` between two hosts.
    pub fn new(id: u64, reverse: bool, hosts: [u32; 2], evs: u32) -> Self {
        Self(PathRoutes::new(id, reverse, hosts, evs))
    }

    /// Returns the route of an EV.
    #[inline]
    pub fn route(&mut self, ev: u16, shared: &Shared) -> Route {
        self.0.route(ev, shared, |direction, paths| {
            let hash = draw(&[shared.seed, STREAM, direction, ev.into()]);
            ((u128::from(hash) * u128::from(paths)) >> 64) as u64
        })
    }

    /// Forgets all routes, because links have failed or work again.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
