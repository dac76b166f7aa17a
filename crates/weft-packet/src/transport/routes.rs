//! Conversion of the number of a path to the route of a packet, around links that are known to be
//! down.

use weft_fabric::NodeId;
use weft_paths::{PathPolicy, Paths, SubflowDirection, draw};
use weft_traffic::Flow;

use crate::engine::route::Route;

use super::shared::Shared;

/// Number of paths that are drawn at random before paths are tried in order.
const DRAWS: u64 = 64;

/// Maximum number of paths that are tried in order, so that a search among millions of paths ends.
const MAX_TRIED: u64 = 4096;

/// The path that a policy, or a transport that sprays packets, has chosen for a direction of a
/// subflow.
#[derive(Clone, Copy)]
pub struct ChosenPath {
    /// Number of the path.
    pub number: u64,
    /// Number of changes of the path so far.
    pub changes: u64,
    /// True if a path that replaces it has the same interfaces, that is, first and last link.
    pub keeps_interfaces: bool,
}

impl Shared {
    /// Returns the route of a direction of a subflow of a flow, which keeps its path.
    pub fn route_of_subflow(&self, spec: &Flow, subflow: u32, reverse: bool) -> Route {
        let direction = SubflowDirection {
            flow: spec.id,
            subflow,
            subflows: self.transports[spec.transport as usize].subflows(),
            reverse,
        };
        let [from, to] = [spec.from, spec.to].map(|host| self.fabric.hosts[host as usize]);
        let [from, to] = if reverse { [to, from] } else { [from, to] };
        // Whether routes fit was checked when the run was set up.
        self.route(spec.transport, direction, from, to)
            .unwrap_or_default()
    }

    /// Returns the route that the transport's policy chooses for one direction of a subflow when it
    /// opens.
    ///
    /// # Errors
    /// Returns an error if no path exists, or if the path has more hops than a route can hold.
    pub fn route(
        &self,
        transport: u32,
        way: SubflowDirection,
        from: NodeId,
        to: NodeId,
    ) -> Result<Route, String> {
        let paths = self.paths_between(from, to)?;
        let policy = &self.transports[transport as usize].paths;
        let chosen = ChosenPath {
            number: policy.path(paths, self.seed, way),
            changes: 0,
            keeps_interfaces: policy.keeps_interfaces(),
        };
        self.route_along_path(chosen, paths, way, [from, to], &mut Vec::with_capacity(8))
    }

    /// Returns the number of the path whose interfaces a subflow of a flow keeps; `None` if the
    /// policy of its transport lets it leave them.
    pub fn bound_path(&self, flow: &Flow, subflow: u32) -> Option<u64> {
        let transport = &self.transports[flow.transport as usize];
        if !transport.paths.keeps_interfaces() {
            return None;
        }
        let [from, to] = [flow.from, flow.to].map(|host| self.fabric.hosts[host as usize]);
        let direction = SubflowDirection {
            flow: flow.id,
            subflow,
            subflows: transport.subflows(),
            reverse: false,
        };
        let paths = self.paths_between(from, to).ok()?;
        Some(transport.paths.path(paths, self.seed, direction))
    }

    /// Returns the route along a path. If a link of the path is known to be down, other paths are
    /// drawn until all links of one are up. They have the same interfaces if the subflow keeps these.
    /// If there is no such path, the original one is kept. `ports` is scratch memory.
    ///
    /// # Errors
    /// Returns an error if the path has more hops than a route can hold.
    pub fn route_along_path(
        &self,
        chosen: ChosenPath,
        paths: Paths,
        way: SubflowDirection,
        [from, to]: [NodeId; 2],
        ports: &mut Vec<u16>,
    ) -> Result<Route, String> {
        ports.clear();
        self.fabric.routing.append_ports(from, to, chosen.number, ports);
        if self.down_links.any() && !self.is_up(from, ports) {
            let subflow = way.hash_key();
            let nth = |n| {
                let bits = draw(&[self.seed, subflow, chosen.changes * DRAWS + n]);
                (u128::from(bits) * u128::from(paths.count)) >> 64
            };
            let drawn = (1..=DRAWS).map(|n| nth(n) as u64);
            let others = drawn.chain(0..paths.count.min(MAX_TRIED));
            let mut other = Vec::with_capacity(8);
            for n in others {
                other.clear();
                self.fabric.routing.append_ports(from, to, n, &mut other);
                let is_reachable = !chosen.keeps_interfaces || self.share_interfaces(from, ports, &other);
                if is_reachable && self.is_up(from, &other) {
                    *ports = other;
                    break;
                }
            }
        }
        self.pack_route(ports)
    }

    /// Returns the route along the path of this number; `None` if a link of it is known to be down.
    pub fn live_route(&self, number: u64, from: NodeId, to: NodeId) -> Option<Route> {
        let mut ports = Vec::with_capacity(8);
        self.fabric.routing.append_ports(from, to, number, &mut ports);
        let is_up = !self.down_links.any() || self.is_up(from, &ports);
        is_up.then(|| self.pack_route(&ports).ok()).flatten()
    }

    /// Returns an error if no path connects the hosts, or if a path does not fit into a route. Of
    /// many paths only some are checked: topologies with paths of different lengths have few.
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

    /// Returns the paths between two nodes, at least one.
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
                "a path of {hops} hops, more than the {} hops that fit into a packet with {bits} bits per port; use a topology \
                 with shorter paths",
                u64::BITS / bits
            )
        })
    }

    /// Returns true if two paths from `from` have the same first and the same last link.
    fn share_interfaces(&self, from: NodeId, one: &[u16], other: &[u16]) -> bool {
        let last = |ports: &[u16]| self.links_along(from, ports).last();
        one.first() == other.first() && last(one) == last(other)
    }

    /// Returns the links of the path from `from` through these ports.
    fn links_along(&self, from: NodeId, ports: &[u16]) -> impl Iterator<Item = usize> {
        let fabric = &self.fabric;
        ports.iter().scan(from, |at, &port| {
            let link = fabric.first_link(*at) + usize::from(port);
            *at = fabric.links[link].to;
            Some(link)
        })
    }

    /// Returns true if no link of the path from `from` through these ports is known to be down.
    fn is_up(&self, from: NodeId, ports: &[u16]) -> bool {
        self.links_along(from, ports)
            .all(|link| !self.down_links.has(link))
    }
}
