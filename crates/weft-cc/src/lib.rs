//! Congestion control of multipath connections. Each algorithm has a file and works on the windows
//! of a whole connection.
//!
//! [`Algorithm::build`] creates an algorithm by name; an unused clone serves a new connection.
//! [`CongestionControl`] defines the events of an algorithm and the state that it may read and
//! change.

mod connection;
mod custom;
mod parameters;
mod registry;
mod response;
#[cfg(test)]
mod test_windows;
mod whole_packets;

// Unit tests of this crate and its integration tests share a transport that reports random events.
#[cfg(test)]
extern crate self as weft_cc;
#[cfg(test)]
#[path = "../tests/events/mod.rs"]
mod events;

pub mod amp;
pub mod amp_fg;
pub mod balia;
pub mod cubic;
pub mod dcm;
pub mod dctcp;
pub mod fully_coupled;
pub mod lia;
pub mod olia;
pub mod reno;
pub mod uncoupled;
pub mod warp;
pub mod wvegas;
pub mod xmp;

pub use connection::{Ack, CongestionControl, Echo, Elapsed, Round, Window, slow_start};
pub use custom::{AlgorithmFactory, Custom};
pub use parameters::{Parameter, ParameterRange};
pub use registry::{Algorithm, AlgorithmInfo, Error};
pub use response::{Path, Response};
