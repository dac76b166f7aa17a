//! Congestion control of multipath connections: one file an algorithm, over the windows of a whole
//! connection.
//!
//! [`Algorithm::build`] makes one by name; a clone that was never used serves a fresh connection. What an
//! algorithm may see and do is [`CongestionControl`].

mod connection;
mod custom;
mod registry;
#[cfg(test)]
mod test_windows;

mod amp;
mod dcm;
mod dctcp;
mod lia;
mod reno;
mod xmp;

pub use amp::Amp;
pub use connection::{Ack, CongestionControl, Echo, Round, Window, slow_start};
pub use custom::{Custom, Factory};
pub use dcm::Dcm;
pub use dctcp::Dctcp;
pub use lia::Lia;
pub use registry::{Algorithm, Allowed, Entry, Error, Parameter};
pub use reno::Reno;
pub use xmp::Xmp;
