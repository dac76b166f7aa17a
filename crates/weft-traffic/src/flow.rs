//! A flow: what a traffic pattern asks of a connection.

use weft_spec::{Size, Time};

/// One connection's worth of data between two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Sending host, as an index into the fabric's hosts.
    pub from: u32,
    /// Receiving host, likewise.
    pub to: u32,
    /// Application bytes to send; `None` sends until `stop`.
    pub size: Option<Size>,
    /// When the connection is opened.
    pub start: Time,
    /// When the application stops producing data.
    pub stop: Option<Time>,
    /// Index of the transport in the spec's order.
    pub transport: u32,
    /// Index of the traffic entry in the spec that made the flow.
    pub traffic: u32,
    /// Round of an incast, else 0.
    pub round: u32,
}
