//! A built network: nodes, directed links with a queue at their head, and the paths between hosts.

use std::collections::HashMap;
use std::sync::Arc;

use weft_queues::{PAUSE_FRAME, QueueConfig, QueueKind, Wire};
use weft_spec::{Layer, Rate, Time};

/// Index of a node (host or switch).
pub type NodeId = u32;

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
    /// Kind of that queue.
    pub kind: QueueKind,
    /// Index of its cable in [`Fabric::cables`], if the cable has settings of its own.
    pub cable: Option<u32>,
    /// Stage of the topology that the link belongs to, such as "host-tor"; for tables.
    pub layer: &'static str,
}

impl Link {
    /// Creates a link with a plain FIFO, in the layer "switch-switch".
    pub fn new([from, to]: [NodeId; 2], rate: Rate, delay: Time, queue: QueueConfig) -> Self {
        Self {
            from,
            to,
            rate,
            delay,
            queue,
            kind: QueueKind::default(),
            cable: None,
            layer: "switch-switch",
        }
    }

    /// Returns what lossless queues compute with.
    pub fn wire(&self) -> Wire {
        Wire {
            rate: self.rate,
            delay: self.delay,
            limit: self.queue.limit,
        }
    }
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// The link fails: packets that are queued or being sent are lost, packets on the wire arrive.
    Down,
    /// The link works again, with an empty queue.
    Up,
    /// The link has another rate from the next packet on.
    Rate(Rate),
    /// The link has another propagation delay. Packets on the wire arrive at most this long after
    /// the change.
    Delay(Time),
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name in specs and tables, such as "h3" or "tor0.1".
    pub name: String,
    /// True if the node can hold endpoints.
    pub is_host: bool,
}

/// Paths between hosts, numbered and computed from the topology instead of stored. A path policy
/// chooses the number for each packet.
pub trait Routing: Send + Sync {
    /// Returns the number of paths from `from` to `to`; 0 if there is none or if the two are equal.
    fn path_count(&self, from: NodeId, to: NodeId) -> u64;
    /// Appends the ports along path `n`, which is below [`path_count`](Self::path_count). Port `p`
    /// of a node is its `p`-th outgoing link in the order of [`Fabric::links`]. Different numbers
    /// are different paths, and the longer two paths have a common start, the nearer are their
    /// numbers. The path of the same number from `to` to `from` uses the same switches. It may use
    /// others in the topologies that `path_n_back_goes_over_the_same_switches` of `tests/topologies.rs`
    /// excepts, because the numbers of both begin at their own sender there.
    fn append_ports(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>);
    /// Returns the number of branches at which the paths first diverge. Each branch has as many
    /// paths as every other, numbered consecutively. By default paths diverge only once.
    fn first_branches(&self, from: NodeId, to: NodeId) -> u64 {
        self.path_count(from, to)
    }
}

/// A network that is ready to simulate. Nodes that exchange much traffic have nearby numbers,
/// because the partitions of a simulator are contiguous ranges of nodes.
pub struct Fabric {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// All links, sorted by `from`.
    pub links: Vec<Link>,
    /// The nodes that hold endpoints, in the order in which specs number them.
    pub hosts: Vec<NodeId>,
    /// The settings of the queues of each cable of a graph, for both of its links. [`build`](crate::Topology::build)
    /// does not apply them.
    pub cables: Vec<Layer>,
    /// Paths between hosts.
    pub routing: Arc<dyn Routing>,
    /// Warnings about the file from which the topology was read, with paths relative to the topology.
    pub warnings: Vec<String>,
}

impl Fabric {
    /// Returns the index of the first link from `node`, its port 0.
    pub fn first_link(&self, node: NodeId) -> usize {
        self.links.partition_point(|link| link.from < node)
    }

    /// Returns the largest number of ports of a node.
    pub fn max_ports(&self) -> u32 {
        let ports = self.links.chunk_by(|a, b| a.from == b.from).map(<[Link]>::len);
        ports.max().unwrap_or(0) as u32
    }

    /// Returns the size of the smallest pause frame on the wire; `None` if no link can be paused.
    pub fn pause_frame(&self) -> Option<u32> {
        self.links
            .iter()
            .any(|link| link.kind.is_lossless())
            .then_some(PAUSE_FRAME)
    }

    /// Returns the other direction of the cable of each link; `None` if there is none. The n-th link from a
    /// node to another one is paired with the n-th link back.
    pub fn reverse_links(&self) -> Vec<Option<u32>> {
        let mut between: HashMap<(NodeId, NodeId), Vec<u32>> = HashMap::new();
        let mut ranks = Vec::with_capacity(self.links.len());
        for (number, link) in (0..).zip(&self.links) {
            let parallel = between.entry((link.from, link.to)).or_default();
            ranks.push(parallel.len());
            parallel.push(number);
        }
        let reverse = |(link, &rank): (&Link, &usize)| between.get(&(link.to, link.from))?.get(rank).copied();
        self.links.iter().zip(&ranks).map(reverse).collect()
    }
}
