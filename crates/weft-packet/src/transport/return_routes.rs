//! Routes on which switches return the headers of trimmed packets to their senders (Handley et al.,
//! NDP, SIGCOMM 2017). They ignore failures of links.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use weft_fabric::NodeId;
use weft_paths::draw;

use crate::engine::ReturnRoutes;
use crate::engine::route::Route;
use crate::packet::Packet;

use super::shared::Shared;

/// Shortest paths from any node to the sender of a packet. At each node, a hash of the flow's identity
/// chooses among equally short paths.
pub struct ShortestReturns {
    shared: Arc<Shared>,
    /// The distances of all nodes to senders whose packets were trimmed, in links.
    distances: Mutex<HashMap<NodeId, Arc<[u32]>>>,
}

impl ShortestReturns {
    /// Creates the routes of a network.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            distances: Mutex::default(),
        }
    }

    fn distances_to(&self, sender: NodeId) -> Arc<[u32]> {
        let mut known = self.distances.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || self.search(sender).into();
        Arc::clone(known.entry(sender).or_insert_with(new))
    }

    /// Searches backwards from `sender`, breadth first.
    fn search(&self, sender: NodeId) -> Vec<u32> {
        let fabric = &self.shared.fabric;
        let mut before = vec![Vec::new(); fabric.nodes.len()];
        for link in &fabric.links {
            before[link.to as usize].push(link.from);
        }
        let mut distances = vec![u32::MAX; fabric.nodes.len()];
        distances[sender as usize] = 0;
        let mut reached = VecDeque::from([sender]);
        while let Some(node) = reached.pop_front() {
            for &from in &before[node as usize] {
                if distances[from as usize] == u32::MAX {
                    distances[from as usize] = distances[node as usize] + 1;
                    reached.push_back(from);
                }
            }
        }
        distances
    }
}

impl ReturnRoutes for ShortestReturns {
    fn route_back(&self, node: NodeId, header: &Packet) -> Option<Route> {
        let shared = &self.shared;
        let links = &shared.fabric.links;
        let flow = shared.flow(header.lo);
        let sender = shared.fabric.hosts[flow.from as usize];
        let distances = self.distances_to(sender);
        let (mut at, mut ports) = (node, Vec::new());
        while at != sender {
            let first = shared.fabric.first_link(at);
            let own = links[first..].iter().take_while(|link| link.from == at);
            let nearer = own.zip(0_u16..).filter(|(link, _)| {
                let distance = distances[link.to as usize];
                distance < distances[at as usize]
            });
            let nearer: Vec<(NodeId, u16)> = nearer.map(|(link, port)| (link.to, port)).collect();
            let drawn = draw(&[shared.seed, flow.id, at.into()]);
            let chosen = drawn.checked_rem(nearer.len() as u64)?;
            let (next, port) = nearer[chosen as usize];
            ports.push(port);
            at = next;
        }
        Route::from_ports(&ports, shared.hops)
    }
}
