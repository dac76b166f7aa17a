//! The configuration of the Ultra Ethernet transport.

use weft_spec::{Rate, Time};

pub use weft_spec::{UetControl, UetLoadBalancing};

/// The settings of a transport of kind `uet`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UetConfig {
    /// Congestion control.
    pub control: UetControl,
    /// Load balancing.
    pub load_balancing: UetLoadBalancing,
    /// Number of entropy values of a flow, a power of two up to 65,536.
    pub entropies: u32,
    /// Bytes of a full packet with its header.
    pub mtu: u32,
    /// Bytes of a message; `None` if a flow is one message.
    pub message_size: Option<u64>,
    /// Bytes on the wire after which a receiver acknowledges.
    pub ack_bytes: u32,
    /// Initial window in bytes; `None`: the maximum window.
    pub initial_window: Option<u64>,
    /// Longest unloaded round-trip time.
    pub network_rtt: Time,
    /// Queueing delay that the window aims at.
    pub target_delay: Time,
    /// Timeout.
    pub rto: Time,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Factor by which the hosts of a switch can exceed its other links. Above 1, receivers adapt the rate of pulls.
    pub oversubscription: f64,
    /// Whether quirks of the UEC's simulator are reproduced.
    pub simulator_quirks: bool,
}
