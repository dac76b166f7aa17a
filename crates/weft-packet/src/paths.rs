//! From a path's number to a packet's route.

use weft_fabric::NodeId;
use weft_paths::{PathPolicy, Paths, Way};

use crate::engine::route::Route;
use crate::transport::Shared;

impl Shared {
    /// The route, chosen by the transport's policy, of one direction of a subflow.
    ///
    /// # Errors
    /// In words: no path leads there, or one has more hops than a route can hold.
    pub fn route(&self, transport: u32, way: Way, from: NodeId, to: NodeId) -> Result<Route, String> {
        let paths = Paths::between(&self.fabric, from, to).ok_or_else(|| {
            let [from, to] = [from, to].map(|node| &self.fabric.nodes[node as usize].name);
            format!("no path leads from {from} to {to}")
        })?;
        let policy = &self.transports[transport as usize].paths;
        self.numbered(policy.path(paths, self.seed, way), from, to)
    }

    /// The route of path `n`.
    fn numbered(&self, n: u64, from: NodeId, to: NodeId) -> Result<Route, String> {
        let mut ports = Vec::with_capacity(8);
        self.fabric.routing.path(from, to, n, &mut ports);
        Route::through(&ports, self.hops).ok_or_else(|| {
            format!(
                "a path of {} hops over nodes of up to {} ports; allowed: hops times bits of a port number at most 64",
                ports.len(),
                self.hops.most()
            )
        })
    }
}
