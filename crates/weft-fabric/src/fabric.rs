//! A built network: nodes, directed links with a queue at their head, and the paths between hosts.

use weft_spec::{Mark, QueueSize, Rate, Time};

/// Index of a node (host or switch).
pub type NodeId = u32;

/// The FIFO at the head of a link. Its length counts the packets waiting, without the one being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// A packet that finds this length (or would exceed it, in bytes) is dropped.
    pub limit: QueueSize,
    /// A packet that finds at least this length is marked if ECN-capable; `None` never marks.
    pub mark: Option<QueueSize>,
}

impl QueueConfig {
    /// As a spec states it.
    pub fn new(limit: QueueSize, mark: Mark) -> Self {
        let mark = match mark {
            Mark::Off => None,
            Mark::At(amount) => Some(amount),
        };
        Self { limit, mark }
    }
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
    pub queue: QueueConfig,
    /// Which stage of the topology the link is in, such as "host-tor"; for tables.
    pub layer: &'static str,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name in specs and tables, such as "h3" or "tor0.1".
    pub name: String,
    /// Can it hold endpoints?
    pub is_host: bool,
}

/// Paths between hosts, numbered and computed from the topology instead of stored. Which number a packet takes is the affair
/// of a path policy.
pub trait Routing: Send + Sync {
    /// How many paths lead from `from` to `to`; 0 if none does, or if the two are the same.
    fn path_count(&self, from: NodeId, to: NodeId) -> u64;
    /// Appends the ports taken (port `p` of a node is its `p`-th outgoing link in [`Fabric::links`]' order) along path `n`,
    /// which is below [`path_count`](Self::path_count). Different numbers are different paths, and the longer two paths run together
    /// from the sender on, the nearer are their numbers. The path of the same number from `to` to `from` goes over the same
    /// switches in `two-paths`, `fat-tree` and `leaf-spine`. In `bcube`, `multi-homed-fat-tree`, `vl2` and `graph` it may go
    /// over others, as both numbers begin at their own sender.
    fn append_ports(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>);
    /// How many ways there are where the paths first part; as many paths begin with each, numbered in a row. By default
    /// they part only once.
    fn first_branches(&self, from: NodeId, to: NodeId) -> u64 {
        self.path_count(from, to)
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
    /// Paths between hosts.
    pub routing: Box<dyn Routing>,
}
