//! The registry of topologies.

use weft_spec::{Entry, QueueSize, Queues, SpecError, entries};

use crate::{
    BCube, Fabric, FatTree, Graph, LeafSpine, Link, ManyToOne, MultiHomedFatTree, Node, QueueConfig,
    TwoBottlenecks, TwoPaths, Vl2,
};

/// All kinds of topology.
pub const TOPOLOGIES: &[Entry<dyn Topology>] = entries! {
    "many-to-one" => ManyToOne, "n senders, a switch and a receiver behind one bottleneck (AMP, figure 1)";
    "two-bottlenecks" => TwoBottlenecks,
        "three pairs of hosts over two bottlenecks, the middle one over both (AMP, figure 5)";
    "two-paths" => TwoPaths,
        "racks below two switches, so two paths between hosts of different racks (MPTCP in data centres, section 4)";
    "fat-tree" => FatTree, "k pods, k^3/4 hosts, full bisection bandwidth unless oversubscribed";
    "multi-homed-fat-tree" => MultiHomedFatTree,
        "a fat-tree whose hosts have links to several ToRs of their pod";
    "leaf-spine" => LeafSpine, "every leaf linked with every spine, any counts, several links between a pair";
    "vl2" => Vl2,
        "ToRs linked with two aggregation switches, those with all intermediate ones (VL2, section 4.1)";
    "bcube" => BCube,
        "n^(k+1) hosts with k+1 ports that forward, n-port switches between them (BCube, section 3)";
    "graph" => Graph.fill_defaults,
        "any network, listed in the spec or read from GraphML, htsim's or HPCC's files; shortest or listed paths";
};

/// A topology with its fields set.
pub trait Topology {
    /// Builds the network.
    ///
    /// # Errors
    /// Returns an error if a field is out of range; its path is relative to the topology.
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError>;
    /// Returns the path policy for transports that name none.
    fn default_policy(&self) -> &'static str {
        "ecmp"
    }

    /// Returns the size of the network, without building it. Implement this if fields of a few
    /// digits can describe a network that exceeds the memory of any machine; by default the size
    /// is 0. [`build`](Self::build) refuses fields that are out of range.
    fn size(&self) -> NetworkSize {
        NetworkSize::default()
    }
}

/// The size of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkSize {
    /// Number of nodes, hosts included.
    pub nodes: u64,
    /// Number of hosts.
    pub hosts: u64,
    /// Number of directed links.
    pub links: u64,
}

impl NetworkSize {
    /// Returns the bytes of a fabric of this size, while it is built.
    pub fn fabric_bytes(self) -> u64 {
        /// Bytes of heap for a node's name, with the allocator's overhead.
        const NAME_BYTES: usize = 32;
        // Half of the links are copied while they are sorted.
        let link = size_of::<Link>() + size_of::<Link>() / 2;
        self.nodes * (size_of::<Node>() + NAME_BYTES) as u64 + self.links * link as u64
    }
}

/// The configuration of queues for a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortQueues {
    /// Queues of switches' ports.
    pub switch: QueueConfig,
    /// Queues of hosts' ports.
    pub host: QueueConfig,
}

impl PortQueues {
    /// Returns queues whose hosts have a NIC with back pressure: sockets wait for space in it, so it
    /// neither drops nor marks.
    #[must_use]
    pub fn with_nic(self) -> Self {
        let host = QueueConfig {
            limit: QueueSize::Packets(u32::MAX),
            mark: None,
        };
        Self { host, ..self }
    }
}

impl From<&Queues> for PortQueues {
    fn from(queues: &Queues) -> Self {
        let (host_limit, host_mark) = queues.host();
        Self {
            switch: QueueConfig::new(queues.limit, queues.mark),
            host: QueueConfig::new(host_limit, host_mark),
        }
    }
}
