//! A flow: the data that a traffic pattern sends over a connection.

use weft_spec::{Rate, Size, Time};

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
    /// Index of the class among those of all entries.
    pub class: u32,
    /// Round of an incast, else 0.
    pub round: u32,
    /// How fast the application writes its data, from when the connection is opened; `None`: all of it is there at once.
    pub rate: Option<Rate>,
}

/// A transport and the class whose flows it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowClass {
    /// Index of the transport.
    pub transport: u32,
    /// Index of the class.
    pub class: u32,
}

/// The classes of a traffic entry: flows below a threshold go one way, larger ones another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowClasses {
    /// Thresholds, rising, each with the class of what is smaller (and not below an earlier threshold).
    pub below: Vec<(Size, FlowClass)>,
    /// The class of all other flows.
    pub default: FlowClass,
}

impl FlowClasses {
    /// The class of a flow of this size; a flow without one is larger than any.
    pub fn class_for(&self, size: Option<Size>) -> FlowClass {
        let found = size.and_then(|size| self.below.iter().find(|(threshold, _)| size < *threshold));
        found.map_or(self.default, |&(_, class)| class)
    }
}
