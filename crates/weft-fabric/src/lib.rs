//! Links, queues, topologies and routes. A topology is one file and one line of [`TOPOLOGIES`].

mod builder;
mod fabric;
mod fat_tree;
mod many_to_one;
mod topology;
mod two_bottlenecks;
mod two_paths;

pub use fabric::{Fabric, Link, Node, NodeId, Queue, Routing};
pub use fat_tree::FatTree;
pub use many_to_one::ManyToOne;
pub use topology::{PortQueues, TOPOLOGIES, Topology};
pub use two_bottlenecks::TwoBottlenecks;
pub use two_paths::TwoPaths;
