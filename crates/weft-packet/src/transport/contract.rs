//! The contract of a transport: what the host and the simulation need of it.

use std::sync::Arc;

use weft_cc::Window;
use weft_run::{FlowRecord, SubflowRecord, SuppressionRecord, WireFormat};
use weft_spec::Time;
use weft_transports::{Kind, TransportConfig};

use crate::engine::route::Route;
use crate::packet::{DATA, Packet};

use super::shared::Shared;
use super::state::HostContext;
use super::tracer::SenderState;

/// Flag of the packets of transports other than TCP. The field `lo` of such a packet has its flow,
/// from which hosts see whose it is; all other fields that the engine does not read are free.
pub const NON_TCP: u16 = 1 << 15;

/// Flags of data that asks switches for [telemetry](crate::engine::PathRecord). Other data of transports other than TCP leaves
/// bit 9 free.
pub const TELEMETRY: u16 = NON_TCP | DATA | 1 << 9;

/// Returns a packet of a transport other than TCP with these flags, without its route.
#[inline]
pub fn packet_of(flow: u32, size: u32, flags: u16) -> Packet {
    Packet {
        lo: flow,
        size: size as u16,
        flags: NON_TCP | flags,
        ..Packet::default()
    }
}

/// Returns a flag of a packet if it is set, otherwise no flag.
#[inline]
pub const fn flag(set: bool, flag: u16) -> u16 {
    if set { flag } else { 0 }
}

/// Bytes of an entry of a hash table of flows: key and value, a control byte, and a share of the
/// quarter of slots that is empty.
pub const ENTRY_BYTES: usize = 16;

/// A kind of transport at the packet level: what is known before a run, and the constructor of its endpoint of a host.
pub trait TransportKind: Kind {
    /// Returns the size of the smallest and of the largest packet on the wire. The smallest one
    /// determines the lookahead, the largest one the jitter of hosts.
    fn packet_sizes(&self, transport: &TransportConfig) -> (u32, u32) {
        let sizes = transport.sizes();
        (sizes.header.min(sizes.control), sizes.max())
    }

    /// Returns the maximum number of packets of a flow of this many bytes, for transports whose
    /// packet numbers are limited.
    fn packets(&self, transport: &TransportConfig, bytes: u64) -> u64 {
        bytes.div_ceil(transport.sizes().payload.into())
    }

    /// Returns the packets of a flow on the wire, and what else determines its FCT if it is alone on the network.
    fn wire_format(&self, transport: &TransportConfig) -> WireFormat;

    /// Returns the bytes of an open flow, at both ends.
    fn open_flow_bytes(&self, transport: &TransportConfig) -> u64;

    /// Returns what probes record of the senders of flows.
    fn recorded_state(&self, _transport: &TransportConfig) -> RecordedState {
        RecordedState::Nothing
    }

    /// Creates the transport's endpoint of the host with this index. The transport's own index among
    /// the kinds is `kind`, which keys its timers.
    fn create(&self, shared: &Arc<Shared>, host: u32, kind: usize) -> Box<dyn Transport>;
}

/// The state of senders that probes record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedState {
    /// Every change of a window, or samples of [`Transport::windows`].
    Windows,
    /// Samples of [`Transport::sender_state`].
    Samples,
    /// None: there is neither a window nor a rate.
    Nothing,
}

/// The endpoint of a transport at one host: its senders and receivers.
pub trait Transport: Send {
    /// Opens a persistent connection, which carries flows that this host sends. `flow` is the first flow that it may carry.
    /// Transports without handshakes have no connections.
    fn connect(&mut self, _flow: u32, _cx: &mut HostContext<'_, '_>) {}

    /// Opens a flow that this host sends.
    fn open(&mut self, flow: u32, cx: &mut HostContext<'_, '_>);

    /// Stops a flow that this host sends: its application has no more data.
    fn stop(&mut self, flow: u32, cx: &mut HostContext<'_, '_>);

    /// Handles a packet that arrived for this host. A [trimmed](Packet::is_trimmed) one has all fields of the
    /// packet except its size. It arrives at the receiver, or at the sender if switches send it back.
    fn on_packet(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>);

    /// Handles a timer that is due. The transport set it, and `key` is from
    /// [`endpoint_timer`](super::timer_keys::endpoint_timer).
    fn on_timer(&mut self, key: u64, cx: &mut HostContext<'_, '_>);

    /// Sends what a flow that waits for the NIC of a port may send in its turn: as long as the NIC admits packets. `index` is the
    /// transport's own number of the flow ([`NicFlow`](super::nic::NicFlow)).
    fn send_in_turn(&mut self, index: u32, port: u32, cx: &mut HostContext<'_, '_>);

    /// Chooses new routes after routing has detected a link event.
    fn reroute(&mut self) {}

    /// Returns the windows of a flow that this host sends, for probes; `None` unless it is open.
    fn windows(&self, _flow: u32) -> Option<&[Window]> {
        None
    }

    /// Returns the state of a flow that this host sends, for probes of kinds without windows of TCP; `None` unless it is
    /// open.
    fn sender_state(&self, _flow: u32, _now: u64) -> Option<SenderState> {
        None
    }

    /// Returns what this host has recorded of the flows that it sends and that have been opened, in
    /// any order.
    fn sent_flows(&self) -> Vec<SentFlow>;

    /// Returns what this host has recorded of a flow that it receives, all of whose data has this
    /// number of chunks ([`SentFlow::chunks`]); `None` if nothing has arrived.
    fn received_flow(&self, flow: u32, chunks: u32) -> Option<ReceivedFlow>;

    /// Returns the payload bytes that have arrived, by flow that this host receives, in any order.
    fn received_bytes(&self) -> Vec<(u32, u64)>;

    /// Returns the number of timeouts so far.
    fn timeouts(&self) -> u64 {
        0
    }

    /// Returns true if this host sends a flow and has not freed it.
    fn sends(&self, flow: u32) -> bool;

    /// Returns the number of flows that this host sends and that have ended: all data has been acknowledged. Also returns
    /// the number of the others. Neither counts flows that have been freed. TCP frees its flows by itself.
    fn ended_and_open(&self) -> (usize, usize) {
        (0, 0)
    }

    /// Takes the flows of the first of [these](Self::ended_and_open) numbers.
    fn take_ended(&mut self) -> Vec<u32> {
        Vec::new()
    }

    /// Keeps the flows that cannot be freed yet.
    fn keep_ended(&mut self, _flows: Vec<u32>) {}

    /// Returns the sender's part of the record of an ended flow if its sender does nothing more unless a packet arrives.
    fn ended_flow(&self, _flow: u32) -> Option<SentFlow> {
        None
    }

    /// Returns true if the receiver of an ended flow does nothing more unless a packet arrives.
    fn is_quiet(&self, _flow: u32) -> bool {
        false
    }

    /// Frees the sender or the receiver of a flow at this host. No packet of the flow arrives any more. Calls `forget` with
    /// the numbers of the sender's subflows for NICs.
    fn free(&mut self, _flow: u32, _forget: &mut dyn FnMut(u32)) {}

    /// Returns the subflows that a controller may move to other paths, each with the bytes
    /// acknowledged on it, in any order: (flow, subflow, bytes).
    fn movable_subflows(&self) -> Vec<(u32, u32, u64)> {
        Vec::new()
    }

    /// Sets the route of a subflow from its next packet on. Returns false if the subflow does not
    /// send any more.
    fn set_route(&mut self, _flow: u32, _subflow: u32, _route: Route) -> bool {
        false
    }
}

/// The sender's part of the record of a flow.
pub struct SentFlow {
    /// The record, without what only the receiver and the network can tell.
    pub record: FlowRecord,
    /// Time at which the flow was opened.
    pub opened: Time,
    /// Number of chunks of the flow's data.
    pub chunks: u32,
    /// The times for which congestion control suppressed subflows.
    pub suppressions: Vec<SuppressionRecord>,
    /// The persistent connection that carries the flow.
    pub connection: Option<Carrier>,
}

/// A persistent connection, for the record of a flow that it carries.
pub struct Carrier {
    /// The first flow that it may carry, which identifies it.
    pub flow: u32,
    /// The flow that it carries.
    pub message: u32,
    /// Chunk of the connection with which the flow begins.
    pub first_chunk: u32,
    /// The flows that it has carried so far, whose record has its subflows; empty in the records of other flows.
    pub flows: Vec<u32>,
}

impl SentFlow {
    /// Creates the record of a flow whose subflows send from the beginning. `chunks` is `None` if the flow has no end yet.
    pub fn without_handshake(
        flow: u32,
        opened: u64,
        acked: Option<u64>,
        chunks: Option<u64>,
        mut subflows: Vec<SubflowRecord>,
    ) -> Self {
        let opened = Time(opened);
        for subflow in &mut subflows {
            subflow.established = Some(opened);
        }
        Self {
            record: FlowRecord {
                acked: acked.map(Time),
                established: Some(opened),
                subflows,
                ..FlowRecord::unopened(flow)
            },
            opened,
            chunks: chunks.map_or(u32::MAX, |chunks| chunks as u32),
            suppressions: Vec::new(),
            connection: None,
        }
    }
}

/// The receiver's part of the record of a flow.
pub struct ReceivedFlow {
    /// Payload bytes that have arrived, each counted once.
    pub bytes: u64,
    /// Time at which the last of all data arrived; `None` if some is missing.
    pub finish: Option<Time>,
    /// Data packets that have arrived, by subflow.
    pub packets: Vec<u64>,
}

impl ReceivedFlow {
    /// Creates the record of a flow with these numbers of packets by subflow. The last data of a complete flow arrived at
    /// `last`.
    pub fn without_handshake(bytes: u64, packets: Vec<u64>, is_complete: bool, last: u64) -> Self {
        Self {
            bytes,
            finish: is_complete.then_some(Time(last)),
            packets,
        }
    }
}
