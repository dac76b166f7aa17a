//! Congestion control of multipath connections: one file per algorithm, over the windows of a whole
//! connection.
//!
//! [`Algorithm::build`] makes one by name; an unused clone serves a new connection. [`CongestionControl`]
//! says what an algorithm may see and do.

mod connection;
mod custom;
mod parameters;
mod registry;
mod response;
#[cfg(test)]
mod test_windows;

// The tests of this crate's files and those beside it share a transport that reports anything.
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
pub mod xmp;

pub use connection::{Ack, CongestionControl, Echo, Elapsed, Round, Window, slow_start};
pub use custom::{AlgorithmFactory, Custom};
pub use parameters::{Parameter, ParameterRange};
pub use registry::{Algorithm, AlgorithmInfo, Error};
pub use response::{Path, Response};
