//! The configuration of RDMA over converged Ethernet.

use weft_spec::{Rate, Time};

pub use weft_spec::RoceRetransmission;

/// The settings of a transport of kind `roce`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoceConfig {
    /// Retransmission of lost packets.
    pub retransmission: RoceRetransmission,
    /// Congestion control.
    pub control: RoceControl,
    /// Bytes of a full packet with its headers.
    pub mtu: u32,
    /// Number of packets in order per acknowledgement.
    pub ack_every: u32,
    /// Maximum number of bytes that are not acknowledged; `None`: no limit.
    pub window: Option<u64>,
    /// Timeout since the last progress.
    pub rto: Time,
}

/// Congestion control of RDMA over converged Ethernet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoceControl {
    /// DCQCN.
    Dcqcn(DcqcnConfig),
    /// Flows send at the rate of the host's link.
    None,
}

/// The settings of DCQCN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnConfig {
    /// Minimum time between two congestion notifications of a flow.
    pub cnp_interval: Time,
    /// Time without a notification after which the reduction factor decays.
    pub alpha_interval: Time,
    /// Weight of a notification in the reduction factor (g).
    pub gain: f64,
    /// Period of the timer that increases the rate.
    pub increase_interval: Time,
    /// Bytes after which the byte counter increases the rate.
    pub byte_counter: u64,
    /// Number of increases in fast recovery (F).
    pub fast_recovery: u32,
    /// Step of the target rate after fast recovery (`R_AI`).
    pub increase: Rate,
    /// Step of the target rate once both counters are beyond fast recovery (`R_HAI`).
    pub hyper_increase: Rate,
    /// Smallest rate of a flow.
    pub min_rate: Rate,
    /// First rate of a flow; `None`: that of the host's link.
    pub initial_rate: Option<Rate>,
}
