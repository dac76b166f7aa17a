//! The kinds of topology.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_spec::{Entry, Parsed, Queues, SpecError, from_table, to_table};

use crate::{
    BCube, Fabric, FatTree, Graph, LeafSpine, ManyToOne, MultiHomedFatTree, QueueConfig, TwoBottlenecks,
    TwoPaths, Vl2,
};

/// All kinds of topology.
pub const TOPOLOGIES: &[Entry<dyn Topology>] = &[
    entry::<ManyToOne>(
        "many-to-one",
        "n senders, a switch and a receiver behind one bottleneck (AMP, figure 1)",
    ),
    entry::<TwoBottlenecks>(
        "two-bottlenecks",
        "three pairs of hosts over two bottlenecks, the middle one over both (AMP, figure 5)",
    ),
    entry::<TwoPaths>(
        "two-paths",
        "racks below two switches, so two paths between hosts of different racks (MPTCP in data centres, section 4)",
    ),
    entry::<FatTree>(
        "fat-tree",
        "k pods, k^3/4 hosts, full bisection bandwidth unless oversubscribed",
    ),
    entry::<MultiHomedFatTree>(
        "multi-homed-fat-tree",
        "a fat-tree whose hosts have links to several ToRs of their pod",
    ),
    entry::<LeafSpine>(
        "leaf-spine",
        "every leaf linked with every spine, any counts, several links between a pair",
    ),
    entry::<Vl2>(
        "vl2",
        "ToRs linked with two aggregation switches, those with all intermediate ones (VL2, section 4.1)",
    ),
    entry::<BCube>(
        "bcube",
        "n^(k+1) hosts with k+1 ports that forward, n-port switches between them (BCube, section 3)",
    ),
    entry::<Graph>(
        "graph",
        "any network, listed in the spec or read from GraphML or htsim's .topo; all shortest paths",
    ),
];

/// A kind of topology with its fields set.
pub trait Topology {
    /// Builds the network.
    ///
    /// # Errors
    /// The field that is out of range, by its path among the topology's own.
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError>;
    /// The path policy for transports that name none.
    fn default_policy(&self) -> &'static str {
        "ecmp"
    }

    /// The size of the network, known without building it. Implement this if fields of a few digits can make
    /// a network that no machine holds. [`build`](Self::build) refuses fields that are out of range.
    fn size(&self) -> NetworkSize {
        NetworkSize::default()
    }
}

/// How large a network is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkSize {
    /// Nodes, hosts included.
    pub nodes: u64,
    /// Hosts.
    pub hosts: u64,
    /// Directed links.
    pub links: u64,
}

/// The queues to build with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortQueues {
    /// Of switches' ports.
    pub switch: QueueConfig,
    /// Of hosts' own ports.
    pub host: QueueConfig,
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

const fn entry<T>(name: &'static str, about: &'static str) -> Entry<dyn Topology>
where
    T: Topology + DeserializeOwned + Serialize + JsonSchema + 'static,
{
    Entry {
        name,
        about,
        schema: T::json_schema,
        parse: |table| {
            let topology: T = from_table(table)?;
            Ok(Parsed {
                params: to_table(&topology),
                value: Box::new(topology),
            })
        },
    }
}
