//! Links, queues, topologies and routes.

mod fabric;

pub use fabric::{Fabric, Link, Node, NodeId, Queue, Routing};
