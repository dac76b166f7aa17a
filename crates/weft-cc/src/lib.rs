//! Congestion control of multipath connections: one file an algorithm.

mod connection;

pub use connection::{Ack, CongestionControl, Echo, Round, Window, slow_start};

/// A congestion control with its parameters.
#[derive(Clone, Debug)]
pub enum Algorithm {}
