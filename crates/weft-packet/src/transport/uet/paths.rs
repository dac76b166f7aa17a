//! The routes of the EVs of one direction of a flow. A hash of flow, direction and EV chooses one of the
//! paths, as the hashes of switches do together. If a host has several links, its NIC knows which link a packet takes, so EVs
//! are divided evenly among all paths.

use weft_paths::draw;

use crate::engine::route::Route;
use crate::transport::shared::Shared;
use crate::transport::spray::{PathRoutes, path_in_part};

/// Distinguishes the hash of paths from other random numbers.
const STREAM: u64 = 0x7565_7470;

/// The routes by EV.
pub struct EvRoutes {
    routes: PathRoutes,
    /// The number of EVs if they are divided evenly.
    parts: Option<u32>,
}

impl EvRoutes {
    /// Creates the routes of a direction of flow `id` between two hosts. The number of EVs is a power of two.
    pub fn new(shared: &Shared, id: u64, reverse: bool, hosts: [u32; 2], evs: u32) -> Self {
        let has_links = hosts.iter().any(|&host| shared.links_of(host) > 1);
        Self {
            routes: PathRoutes::new(shared, id, reverse, hosts, |_| evs),
            parts: has_links.then_some(evs),
        }
    }

    /// Returns the route of an EV.
    #[inline]
    pub fn route(&mut self, ev: u16, shared: &Shared) -> Route {
        let parts = self.parts;
        self.routes.route(ev, shared, |direction, paths| {
            let hash = draw(&[shared.seed, STREAM, direction, ev.into()]);
            match parts {
                None => ((u128::from(hash) * u128::from(paths)) >> 64) as u64,
                Some(evs) => path_in_part(spread(ev, evs), evs.into(), paths, || hash),
            }
        })
    }

    /// Forgets all routes, because links have failed or work again.
    pub fn clear(&mut self) {
        self.routes.clear();
    }
}

/// Returns the part of the paths from which an EV has its own. Paths with the same first link are neighbours, so
/// successive EVs get parts that are far apart: their bits are reversed.
fn spread(ev: u16, evs: u32) -> u64 {
    (u64::from(ev).reverse_bits())
        .checked_shr(64 - evs.trailing_zeros())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successive_evs_have_distant_parts() {
        let parts: Vec<u64> = (0..8).map(|ev| spread(ev, 8)).collect();
        assert_eq!(parts, [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(spread(0, 1), 0);
    }
}
