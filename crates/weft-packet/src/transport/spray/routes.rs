//! The routes of one direction of a flow, by index: an entropy value, or the position of a path in a list.
//! Routes are computed when an index is first used.

use weft_fabric::NodeId;
use weft_paths::{Paths, SubflowDirection};

use crate::engine::route::Route;
use crate::transport::routes::ChosenPath;
use crate::transport::shared::Shared;

/// The routes by index.
pub struct PathRoutes {
    direction: SubflowDirection,
    /// The nodes of the hosts, and the paths between them, if there are any.
    nodes: [NodeId; 2],
    paths: Option<Paths>,
    /// The route of each index; one without a hop if it was not computed.
    routes: Box<[Route]>,
}

impl PathRoutes {
    /// Creates the routes of a direction of flow `id` between two hosts. `count` returns the number of indices, given that of
    /// the paths.
    pub fn new(
        shared: &Shared,
        id: u64,
        reverse: bool,
        hosts: [u32; 2],
        count: impl FnOnce(u64) -> u32,
    ) -> Self {
        let nodes = hosts.map(|host| shared.fabric.hosts[host as usize]);
        let paths = Paths::between(&shared.fabric, nodes[0], nodes[1]);
        let count = count(paths.map_or(1, |paths| paths.count));
        Self {
            direction: SubflowDirection {
                flow: id,
                subflow: 0,
                subflows: 1,
                reverse,
            },
            nodes,
            paths,
            routes: vec![Route::default(); count as usize].into(),
        }
    }

    /// Returns the number of indices.
    pub fn count(&self) -> usize {
        self.routes.len()
    }

    /// Returns the route of an index. If it has to be computed, `number` returns the number of the path, given
    /// the key of the direction and the number of paths.
    #[inline]
    pub fn route(&mut self, index: u16, shared: &Shared, number: impl FnOnce(u64, u64) -> u64) -> Route {
        let known = self.routes[usize::from(index)];
        if known.is_at_destination() {
            self.compute(index, shared, number)
        } else {
            known
        }
    }

    #[cold]
    fn compute(&mut self, index: u16, shared: &Shared, number: impl FnOnce(u64, u64) -> u64) -> Route {
        let route = self.paths.and_then(|paths| {
            // Packets are sprayed over all interfaces, so a host has one address for them.
            let chosen = ChosenPath {
                number: number(self.direction.hash_key(), paths.count),
                changes: index.into(),
                keeps_interfaces: false,
            };
            let mut ports = Vec::with_capacity(8);
            let route = shared.route_along_path(chosen, paths, self.direction, self.nodes, &mut ports);
            route.ok()
        });
        // Whether routes fit was checked when the run was set up.
        let route = route.unwrap_or_default();
        self.routes[usize::from(index)] = route;
        route
    }

    /// Forgets all routes, because links have failed or work again.
    pub fn clear(&mut self) {
        self.routes.fill(Route::default());
    }

    /// Releases the memory of all indices except the first.
    pub fn release(&mut self) {
        self.routes = Box::new([Route::default()]);
    }
}

/// Returns the number of path `index` of `count` among the existing ones: a random one of its own `1 / count` of them.
pub fn path_in_part(index: u64, count: u64, existing: u64, random: impl FnOnce() -> u64) -> u64 {
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

    use weft_paths::draw;

    use super::*;

    #[test]
    fn paths_are_all_different() {
        for (count, existing) in [(1, 1), (36, 36), (7, 10), (256, 1_000_003), (65_536, 1 << 40)] {
            let numbers =
                (0..count).map(|index| path_in_part(index, count, existing, || draw(&[index, count])));
            let numbers: BTreeSet<u64> = numbers.collect();
            assert_eq!(numbers.len() as u64, count);
            assert!(*numbers.last().unwrap() < existing);
        }
    }
}
