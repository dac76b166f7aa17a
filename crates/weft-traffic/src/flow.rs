//! Flows: the data that a traffic pattern sends over a connection.

use weft_spec::{Rate, Size, Time};

use crate::random::StreamId;

/// The data of one connection between two hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Identifies the flow in random draws, such as that of its path: a hash of its entry's name plus its number
    /// in the entry. It stands for the connection's addresses and ports.
    pub id: u64,
    /// Sending host, as an index into the fabric's hosts.
    pub from: u32,
    /// Receiving host, as an index into the fabric's hosts.
    pub to: u32,
    /// Application bytes to send; `None` sends until `stop`.
    pub size: Option<Size>,
    /// Time at which the connection opens.
    pub start: Time,
    /// Time at which the application stops producing data.
    pub stop: Option<Time>,
    /// Index of the transport, in the order of the spec.
    pub transport: u32,
    /// Index of the traffic entry of the flow.
    pub traffic: u32,
    /// Index of the class among the classes of all entries.
    pub class: u32,
    /// Round of an incast, a loop or a job's slot, the number of messages that the rank sends earlier in its job, or 0.
    pub round: u32,
    /// Rate at which the application writes its data after the connection opens; `None` if all data
    /// is available at once.
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

/// The classes of a traffic entry. Thresholds divide its flows by size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowClasses {
    /// Thresholds in rising order, each with the class of the flows below it (and not below an
    /// earlier threshold).
    pub below: Vec<(Size, FlowClass)>,
    /// The class of all other flows.
    pub default: FlowClass,
}

impl FlowClasses {
    /// Returns the class of a flow of this size; a flow without a size is larger than any
    /// threshold.
    pub fn class_for(&self, size: Option<Size>) -> FlowClass {
        let found = size.and_then(|size| self.below.iter().find(|(threshold, _)| size < *threshold));
        found.map_or(self.default, |&(_, class)| class)
    }
}

/// The properties that all flows of a traffic entry share.
#[derive(Clone, Debug)]
pub(crate) struct FlowSource {
    pub stream: StreamId,
    /// Index of the entry.
    pub traffic: u32,
    pub classes: FlowClasses,
}

impl FlowSource {
    /// Returns flow `n` of the entry: one of round 0, without a stop and a rate.
    pub fn flow(&self, n: u32, [from, to]: [u32; 2], size: Option<Size>, start: Time) -> Flow {
        let FlowClass { transport, class } = self.classes.class_for(size);
        Flow {
            id: self.stream.flow_id(n),
            from,
            to,
            size,
            start,
            stop: None,
            transport,
            traffic: self.traffic,
            class,
            round: 0,
            rate: None,
        }
    }
}
