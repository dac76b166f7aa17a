//! Links, topologies and routes. Each topology is a file and a line of [`TOPOLOGIES`].

mod bcube;
mod builder;
mod fabric;
mod fat_tree;
mod graph;
mod leaf_spine;
mod many_to_one;
mod multi_homed_fat_tree;
mod pods;
mod samples;
mod topology;
mod two_bottlenecks;
mod two_paths;
mod vl2;

pub use bcube::BCube;
pub use fabric::{Fabric, Link, LinkChange, Node, NodeId, Routing};
pub use fat_tree::FatTree;
pub use graph::{Cable, Graph};
pub use leaf_spine::LeafSpine;
pub use many_to_one::ManyToOne;
pub use multi_homed_fat_tree::MultiHomedFatTree;
pub use samples::SAMPLES;
pub use topology::{NetworkSize, PortQueues, TOPOLOGIES, Topology};
pub use two_bottlenecks::TwoBottlenecks;
pub use two_paths::TwoPaths;
pub use vl2::Vl2;
pub use weft_queues::{
    CoDel, Fifo, Lossless, Lossy, Overflow, PAUSE_FRAME, Priority, PriorityClass, QUEUES, QueueConfig,
    QueueKind, QueueParameters, Red, RedAction, RedAt, Shared, Thresholds, TrimTo, Trimming, Victim,
    check_mark, resolve_queue_kind,
};
