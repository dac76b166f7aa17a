//! Path policies, which choose the paths of a subflow's packets between two hosts. A topology
//! numbers the paths; a policy chooses a number. Each policy is a file and a line of the registry,
//! and so is each controller, which observes the whole network.

mod by_interface;
mod consecutive;
mod controller;
mod demand;
mod disjoint;
mod draw;
mod ecmp;
mod first_fit;
mod flowlet;
mod large_flows;
mod least_allocated;
mod mmptcp;
mod opn;
mod pinned;
mod plb;
mod policy;
mod registry;
mod rps;
mod vlb;

pub use by_interface::ByInterface;
pub use consecutive::Consecutive;
pub use controller::{CONTROLLERS, Controller, SubflowObservation};
pub use disjoint::Disjoint;
pub use draw::{draw, draw_seed};
pub use ecmp::Ecmp;
pub use first_fit::FirstFit;
pub use flowlet::Flowlet;
pub use least_allocated::LeastAllocated;
pub use mmptcp::Mmptcp;
pub use opn::{Opn, PathMonitorConfig, StateScope};
pub use pinned::Pinned;
pub use plb::Plb;
pub use policy::{Granularity, PathEvent, PathPolicy, PathState, Paths, SubflowDirection};
pub use registry::{POLICIES, Policy};
pub use rps::Rps;
pub use vlb::Vlb;
