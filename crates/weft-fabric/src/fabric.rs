//! A built network: nodes, directed links with a queue at their head, and the paths between hosts.

use weft_spec::{Amount, Rate, Time};

/// Index of a node (host or switch).
pub type NodeId = u32;

/// The FIFO at the head of a link. Its length counts the packets waiting, without the one being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// A packet that finds this length (or would exceed it, in bytes) is dropped.
    pub limit: Amount,
    /// A packet that finds at least this length is marked if ECN-capable; `None` never marks.
    pub mark: Option<Amount>,
}

/// A directed link from a port of `from` to `to`.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Sending node.
    pub from: NodeId,
    /// Receiving node.
    pub to: NodeId,
    /// Capacity.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
    /// The sending port's queue.
    pub queue: Queue,
    /// Which stage of the topology the link is in, such as "host-tor"; for tables.
    pub layer: &'static str,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name in specs and tables, such as "h3" or "tor0.1".
    pub name: String,
    /// Can it hold endpoints?
    pub host: bool,
}

/// Paths between hosts, computed from the topology instead of stored.
pub trait Routing: Send + Sync {
    /// How many equal-cost paths lead from `from` to `to`.
    fn path_count(&self, from: NodeId, to: NodeId) -> u64;
    /// Appends the ports taken (port `p` of a node is its `p`-th outgoing link in [`Fabric::links`]' order) along the
    /// path that `hash` (uniform in 64 bits) selects. All paths are equally likely.
    fn path(&self, from: NodeId, to: NodeId, hash: u64, ports: &mut Vec<u16>);
    /// Do a connection's addresses say its paths? Then [`subflow_path`](Self::subflow_path) gets a hash that is the connection's own,
    /// the same for all subflows and in both directions. By default each subflow has one a direction, as in ECMP.
    fn by_address(&self) -> bool {
        false
    }
    /// Likewise for a packet of subflow `subflow` of a connection, in either direction. By default `hash` selects, as ECMP
    /// does; where a connection's subflows are bound to interfaces, `subflow` selects and `hash` is unused.
    fn subflow_path(&self, from: NodeId, to: NodeId, subflow: u32, hash: u64, ports: &mut Vec<u16>) {
        let _ = subflow;
        self.path(from, to, hash, ports);
    }
}

/// A network ready to simulate. Nodes that exchange much traffic have nearby numbers, because a simulator's
/// partitions are contiguous ranges of nodes.
pub struct Fabric {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// All links, sorted by `from`.
    pub links: Vec<Link>,
    /// The nodes that hold endpoints, in the order in which specs number them.
    pub hosts: Vec<NodeId>,
    /// Paths.
    pub routing: Box<dyn Routing>,
}
