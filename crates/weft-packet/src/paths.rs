//! From a path's number to a packet's route, around links that are known to be dead.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use weft_fabric::NodeId;
use weft_paths::{PathPolicy, Paths, SubflowDirection, draw};

use crate::engine::route::Route;
use crate::transport::Shared;

/// How many paths are drawn before all are looked at in order.
const DRAWS: u64 = 64;

/// How many paths are tried in order, so that a search among millions of dead paths ends.
const MAX_TRIED: u64 = 4096;

/// Links that routing knows to be dead. It changes only while nothing is simulated.
#[derive(Default)]
pub struct DownLinks {
    count: AtomicU32,
    links: Box<[AtomicBool]>,
}

impl DownLinks {
    /// No dead link among this many. A run in which no link fails needs room for none.
    pub fn new(links: usize) -> Self {
        Self {
            count: AtomicU32::new(0),
            links: (0..links).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Takes notice of a link's death or return.
    pub fn set(&self, link: u32, down: bool) {
        if self.links[link as usize].swap(down, Ordering::Relaxed) != down {
            let change = if down { 1 } else { u32::MAX };
            self.count.fetch_add(change, Ordering::Relaxed); // u32::MAX is -1, wrapping around
        }
    }

    /// Is this link of the fabric known to be dead?
    pub fn contains(&self, link: usize) -> bool {
        self.any() && self.has(link)
    }

    fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    fn has(&self, link: usize) -> bool {
        self.links[link].load(Ordering::Relaxed)
    }
}

impl Shared {
    /// The route, chosen by the transport's policy, of one direction of a subflow when it opens.
    ///
    /// # Errors
    /// In words: no path leads there, or one has more hops than a route can hold.
    pub fn route(
        &self,
        transport: u32,
        way: SubflowDirection,
        from: NodeId,
        to: NodeId,
    ) -> Result<Route, String> {
        let paths = self.paths_between(from, to)?;
        let number = self.transports[transport as usize]
            .paths
            .path(paths, self.seed, way);
        self.route_along_path(number, paths, way, 0, [from, to], &mut Vec::with_capacity(8))
    }

    /// The route along the path of this number, after this many changes of the path. Where it would take a link that is known to be
    /// dead, other paths are drawn until one does not; if all do, it stays. `ports` is room to work in.
    ///
    /// # Errors
    /// In words: the path has more hops than a route can hold.
    pub fn route_along_path(
        &self,
        number: u64,
        paths: Paths,
        way: SubflowDirection,
        changes: u64,
        [from, to]: [NodeId; 2],
        ports: &mut Vec<u16>,
    ) -> Result<Route, String> {
        ports.clear();
        self.fabric.routing.append_ports(from, to, number, ports);
        if self.down_links.any() && !self.is_up(from, ports) {
            let subflow = u64::from(way.flow) << 32 | u64::from(way.subflow) << 1 | u64::from(way.reverse);
            let nth = |n| {
                let bits = draw(&[self.seed, subflow, changes * DRAWS + n]);
                (u128::from(bits) * u128::from(paths.count)) >> 64
            };
            let drawn = (1..=DRAWS).map(|n| nth(n) as u64);
            let others = drawn.chain(0..paths.count.min(MAX_TRIED));
            let mut other = Vec::with_capacity(8);
            for n in others {
                other.clear();
                self.fabric.routing.append_ports(from, to, n, &mut other);
                if self.is_up(from, &other) {
                    *ports = other;
                    break;
                }
            }
        }
        self.pack_route(ports)
    }

    /// The route along the path of this number, unless a link of it is known to be dead.
    pub fn live_route(&self, number: u64, from: NodeId, to: NodeId) -> Option<Route> {
        let mut ports = Vec::with_capacity(8);
        self.fabric.routing.append_ports(from, to, number, &mut ports);
        let is_up = !self.down_links.any() || self.is_up(from, &ports);
        is_up.then(|| self.pack_route(&ports).ok()).flatten()
    }

    /// Refuses hosts that no path connects, or some of whose paths do not fit into a route. Of many paths some are looked at:
    /// topologies with paths of different lengths have few.
    pub fn check_routes(&self, from: NodeId, to: NodeId) -> Result<(), String> {
        const SOME: u64 = 16;
        let paths = self.paths_between(from, to)?;
        let mut ports = Vec::new();
        for n in 0..paths.count.min(SOME) {
            ports.clear();
            self.fabric.routing.append_ports(from, to, n, &mut ports);
            self.pack_route(&ports)?;
        }
        Ok(())
    }

    /// The paths that lead there, at least one.
    pub fn paths_between(&self, from: NodeId, to: NodeId) -> Result<Paths, String> {
        Paths::between(&self.fabric, from, to).ok_or_else(|| {
            let [from, to] = [from, to].map(|node| &self.fabric.nodes[node as usize].name);
            format!("no path leads from {from} to {to}")
        })
    }

    fn pack_route(&self, ports: &[u16]) -> Result<Route, String> {
        Route::from_ports(ports, self.hops).ok_or_else(|| {
            let (hops, bits) = (ports.len(), self.hops.bits());
            format!(
                "a path of {hops} hops, whose ports take {bits} bits each; allowed: at most {} hops",
                u64::BITS / bits
            )
        })
    }

    /// Is no link of the way from `from` through these ports known to be dead?
    fn is_up(&self, from: NodeId, ports: &[u16]) -> bool {
        let links = &self.fabric.links;
        let mut at = from;
        ports.iter().all(|&port| {
            let link = links.partition_point(|link| link.from < at) + usize::from(port);
            at = links[link].to;
            !self.down_links.has(link)
        })
    }
}
