//! The routes of the EVs of one direction of a flow. A hash of flow, direction and EV chooses one of the
//! paths, as the hashes of switches do together. Routes are computed when an EV is first used.

use weft_paths::{SubflowDirection, draw};

use crate::engine::route::Route;
use crate::transport::shared::Shared;

/// Distinguishes the hash of paths from other random numbers.
const STREAM: u64 = 0x7565_7470;

/// The routes by EV.
pub struct EvRoutes {
    direction: SubflowDirection,
    hosts: [u32; 2],
    /// The route of each EV; one without a hop if it was not computed.
    routes: Box<[Route]>,
}

impl EvRoutes {
    /// Creates the routes of a direction of flow `id` between two hosts.
    pub fn new(id: u64, reverse: bool, hosts: [u32; 2], evs: u32) -> Self {
        Self {
            direction: SubflowDirection {
                flow: id,
                subflow: 0,
                subflows: 1,
                reverse,
            },
            hosts,
            routes: vec![Route::default(); evs as usize].into(),
        }
    }

    /// Returns the route of an EV.
    #[inline]
    pub fn route(&mut self, ev: u16, shared: &Shared) -> Route {
        let known = self.routes[usize::from(ev)];
        if known.is_at_destination() {
            self.compute(ev, shared)
        } else {
            known
        }
    }

    #[cold]
    fn compute(&mut self, ev: u16, shared: &Shared) -> Route {
        let [from, to] = self.hosts.map(|host| shared.fabric.hosts[host as usize]);
        let route = shared.paths_between(from, to).and_then(|paths| {
            let hash = draw(&[shared.seed, STREAM, self.direction.hash_key(), ev.into()]);
            let number = (u128::from(hash) * u128::from(paths.count)) >> 64;
            let ends = [from, to];
            let mut ports = Vec::with_capacity(8);
            shared.route_along_path(number as u64, paths, self.direction, ev.into(), ends, &mut ports)
        });
        // Whether routes fit was checked when the run was set up.
        let route = route.unwrap_or_default();
        self.routes[usize::from(ev)] = route;
        route
    }

    /// Forgets all routes, because links have failed or work again.
    pub fn clear(&mut self) {
        self.routes.fill(Route::default());
    }
}
