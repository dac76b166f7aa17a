//! The configuration of NDP.

use weft_spec::{Rate, Time};

/// The settings of a transport of kind `ndp`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NdpConfig {
    /// Number of packets that a flow sends without being asked.
    pub initial_window: u32,
    /// Bytes of a full packet with its header.
    pub mtu: u32,
    /// Rate of pulls as a share of the rate at which the host's link carries full packets.
    pub pull_rate: f64,
    /// Timeout.
    pub rto: Time,
    /// Maximum number of paths of a flow, at most 65,536.
    pub paths: u32,
    /// Rate of the hosts' links.
    pub rate: Rate,
}
