//! Path policies: which of the paths between two hosts a subflow's packets take. A topology numbers the paths; a policy
//! chooses a number. A policy is one file and one line of the registry. So is a controller, which sees the whole network.

mod by_interface;
mod consecutive;
mod controller;
mod demand;
mod disjoint;
mod draw;
mod ecmp;
mod first_fit;
mod flowlet;
mod mmptcp;
mod opn;
mod pinned;
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
pub use mmptcp::Mmptcp;
pub use opn::{Opn, StateScope};
pub use pinned::Pinned;
pub use policy::{Granularity, PathMonitorConfig, PathPolicy, Paths, SubflowDirection};
pub use registry::{POLICIES, Policy};
pub use rps::Rps;
pub use vlb::Vlb;
