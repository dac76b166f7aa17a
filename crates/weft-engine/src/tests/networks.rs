//! Networks and configurations of an engine for tests.

use std::sync::Arc;

use weft_fabric::{Fabric, Link, Node, NodeId, QueueConfig, Routing};
use weft_spec::QueueSize;

use crate::{EngineConfig, Threads};

/// No paths: tests state the routes of packets.
struct NoRouting;

impl Routing for NoRouting {
    fn path_count(&self, _: NodeId, _: NodeId) -> u64 {
        0
    }
    fn append_ports(&self, _: NodeId, _: NodeId, _: u64, _: &mut Vec<u16>) {}
}

/// Returns a network of `nodes` nodes with these links, sorted by sender.
pub fn network(nodes: u32, hosts: &[NodeId], links: Vec<Link>) -> Fabric {
    let node = |n| Node {
        name: format!("n{n}"),
        is_host: hosts.contains(&n),
    };
    Fabric {
        nodes: (0..nodes).map(node).collect(),
        links,
        hosts: hosts.to_vec(),
        cables: Vec::new(),
        routing: Arc::new(NoRouting),
        warnings: Vec::new(),
    }
}

/// Returns a queue with this limit and without marks.
pub fn limited(limit: QueueSize) -> QueueConfig {
    QueueConfig { limit, mark: None }
}

/// Returns the configuration of an engine on one thread that records nothing.
pub fn config(min_packet: u32, max_packet: u32) -> EngineConfig {
    EngineConfig::new(min_packet, max_packet, Threads::Exactly(1))
}
