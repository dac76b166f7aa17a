//! A flow at its sender and at its receiver: the state that all protocols of [`FlowEndpoint`] have, and that of the protocol.
//!
//! [`FlowEndpoint`]: super::FlowEndpoint

use std::sync::Arc;

use weft_run::ControlCounters;
use weft_transports::{Parameters, TransportConfig};

use crate::engine::route::Route;
use crate::packet::{DATA, Packet, class_flags};

use super::super::contract::packet_of;
use super::super::flow_data::FlowData;
use super::super::paths_ahead::PathsAhead;
use super::super::port_set::PortSet;
use super::super::segments::Segments;
use super::Protocol;

/// The constants that all flows of a transport share.
pub struct FlowParams<C> {
    /// The parameters of the kind.
    pub config: C,
    /// The division of data into packets.
    pub segments: Segments,
    /// Bytes of the headers of a packet.
    pub header: u32,
    /// Bytes of a full packet on the wire.
    pub full_size: u32,
    /// Flags of the traffic class of packets of senders.
    pub class: u16,
    /// Flags of the traffic class of packets of receivers.
    pub ack_class: u16,
}

impl<C: Parameters + Clone> FlowParams<C> {
    /// Returns the constants of a transport; `None` if it is of another kind.
    pub fn new(transport: &TransportConfig) -> Option<Self> {
        Some(Self {
            config: transport.parameters_of::<C>()?.clone(),
            segments: Segments::for_transport(transport),
            header: transport.sizes().header,
            full_size: transport.sizes().full(),
            class: class_flags(transport.class),
            ack_class: class_flags(transport.ack_class),
        })
    }
}

/// A flow at its sender, or one of its subflows if it has several.
pub struct SenderFlow<P: Protocol> {
    /// Index of the flow.
    pub flow: u32,
    /// Number of the subflow.
    pub subflow: u32,
    /// The other subflows of the flow.
    pub siblings: Siblings,
    /// The constants of its transport.
    pub params: Arc<FlowParams<P::Config>>,
    /// The data, and how much of it was sent. The data of several subflows moves to the one that asks for a packet.
    pub data: FlowData,
    /// Route of the next packet, if the flow has one path.
    pub route: Route,
    /// The paths of the next packets, if packets are sprayed and the host has several links.
    pub ahead: Option<Box<PathsAhead>>,
    /// The counters of the record.
    pub counters: SenderCounters,
    /// The state of the protocol.
    pub state: P::Sender,
    /// Time at which the flow was opened.
    pub(super) opened: u64,
    /// Time at which the acknowledgement of all its data arrived.
    pub(super) acked: Option<u64>,
    /// True if the latencies of the flow are recorded.
    pub(super) has_latencies: bool,
    /// The ports for which the flow waits; all of them until its rate allows a packet.
    pub waits: PortSet,
    /// Time to which the timer of timeouts is set; `None` if it is not set.
    pub(super) timer_at: Option<u64>,
}

/// The subflows of a flow at its sender.
#[derive(Default)]
pub enum Siblings {
    /// The flow has one subflow.
    #[default]
    None,
    /// This is subflow 0: the indices of all subflows, in order, and that of the one that has the data.
    First(Box<[u32]>, u32),
    /// This is another one: the index of subflow 0.
    Further(u32),
}

impl Siblings {
    /// Returns true if the flow has several subflows.
    #[inline]
    pub const fn exist(&self) -> bool {
        !matches!(self, Self::None)
    }
}

/// The counters of a sender that most protocols have.
#[derive(Default)]
pub struct SenderCounters {
    /// Number of retransmissions and of timeouts.
    pub retransmitted: u64,
    pub timeouts: u64,
    /// Number of acknowledgements and of reports of trimmed or missing packets that arrived.
    pub acks: u64,
    pub nacks: u64,
}

impl SenderCounters {
    /// Returns the counts of packets without payload.
    pub fn control(&self) -> ControlCounters {
        ControlCounters {
            acks: self.acks,
            nacks: self.nacks,
            ..ControlCounters::default()
        }
    }
}

impl<P: Protocol> SenderFlow<P> {
    /// Returns the packet with this number and size on the wire, if the flow has one path.
    pub fn packet(&self, chunk: u64, size: u16) -> Packet {
        Packet {
            route: self.route,
            chunk: chunk as u32,
            ..packet_of(self.flow, size.into(), DATA | self.params.class)
        }
    }

    /// Returns true if an acknowledgement of all data has arrived.
    #[inline]
    pub const fn is_acked(&self) -> bool {
        self.acked.is_some()
    }

    /// Returns the next packet that may be sent, whatever the rate; `None` if there is none.
    #[inline]
    pub fn sendable(&mut self) -> Option<P::Next> {
        if self.is_acked() { None } else { P::next(self) }
    }

    /// Returns the path of the next packet through a port, if packets are sprayed. It is another one than `avoided` if
    /// there is one.
    #[inline]
    pub fn next_path(&mut self, port: u32, avoided: Option<u16>) -> u16 {
        let chosen = self.ahead.as_mut().and_then(|ahead| ahead.take(port, avoided));
        chosen.unwrap_or_else(|| P::choose_path(self, avoided))
    }
}

/// A flow at its receiver.
pub struct ReceiverFlow<P: Protocol> {
    /// Index of the flow.
    pub flow: u32,
    /// The constants of its transport.
    pub params: Arc<FlowParams<P::Config>>,
    /// Route of answers, if the flow has one path.
    pub route: Route,
    /// Number of data packets that arrived.
    pub packets: u64,
    /// Number of different ones that were accepted.
    pub chunks: u64,
    /// Payload bytes of the accepted ones.
    pub bytes: u64,
    /// Time at which the last of them arrived.
    pub(super) last: u64,
    /// Number of payload bytes at which the host is to be notified.
    pub(super) notify_at: u64,
    /// The state of the protocol.
    pub state: P::Receiver,
}

impl<P: Protocol> ReceiverFlow<P> {
    /// Returns a flow of which nothing has arrived.
    pub fn new(
        flow: u32,
        params: Arc<FlowParams<P::Config>>,
        route: Route,
        notify_at: u64,
        state: P::Receiver,
    ) -> Self {
        Self {
            flow,
            params,
            route,
            packets: 0,
            chunks: 0,
            bytes: 0,
            last: 0,
            notify_at,
            state,
        }
    }

    /// Returns a packet without payload to the sender, if the flow has one path.
    pub fn answer(&self, size: u32) -> Packet {
        Packet {
            route: self.route,
            ..packet_of(self.flow, size, self.params.ack_class)
        }
    }

    /// Counts a new packet with this payload in bytes.
    #[inline]
    pub const fn accept(&mut self, payload: u64, now: u64) {
        self.chunks += 1;
        self.bytes += payload;
        self.last = now;
    }
}
