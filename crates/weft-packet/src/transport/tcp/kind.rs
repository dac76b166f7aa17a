//! TCP as a kind of transport: sizes, memory, and the contract's calls.

use std::sync::Arc;

use weft_cc::{Algorithm, Window};
use weft_paths::{Granularity, PathPolicy};
use weft_run::{FlowRecord, PacketKind, SubflowRecord, WireFormat};
use weft_spec::Time;
use weft_transports::{Tcp, TransportConfig};

use crate::engine::route::Route;
use crate::packet::{DATA, Packet};
use crate::transport::contract::{
    Carrier, ENTRY_BYTES, ReceivedFlow, RecordedState, SentFlow, Transport, TransportKind,
};
use crate::transport::shared::Shared;
use crate::transport::state::HostContext;

use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::send_data::Message;
use super::subflow::SubflowSender;
use super::timers::TcpTimer;
use super::wire::{self, SYN};
use super::{path_monitor, receiver, segments, send_queues};

const JOIN: u64 = TcpTimer::Join as u64;
const SUBFLOW: u64 = TcpTimer::Subflow as u64;
const DELAYED_ACK: u64 = TcpTimer::DelayedAck as u64;
const CLOSE: u64 = TcpTimer::Close as u64;
const PACE: u64 = TcpTimer::Pace as u64;
const WRITE: u64 = TcpTimer::Write as u64;

/// Bytes of a connection at both of its hosts, without its congestion control and its subflows.
const CONNECTION_BYTES: usize =
    size_of::<ConnectionSender>() + size_of::<receiver::ConnectionReceiver>() + 2 * ENTRY_BYTES;

/// Bytes of a subflow at both of its hosts, with memory for the first segments that it sends.
const SUBFLOW_BYTES: usize = size_of::<SubflowSender>()
    + size_of::<receiver::SubflowReceiver>()
    + ENTRY_BYTES
    + FIRST_SEGMENTS * size_of::<segments::Segment>();

/// Segments for which a new subflow has memory.
const FIRST_SEGMENTS: usize = 16;

impl TransportKind for Tcp {
    /// The last segment of a flow may have a single byte.
    fn packet_sizes(&self, transport: &TransportConfig) -> (u32, u32) {
        let sizes = transport.sizes();
        (sizes.control.min(sizes.header + 1), sizes.max())
    }

    /// A flow whose packets change their paths may use all of them.
    fn wire_format(&self, transport: &TransportConfig) -> WireFormat {
        let tcp = transport.expect_tcp();
        let mut granularities = (0..tcp.subflows).map(|s| transport.paths.granularity(s, false));
        let keeps_paths = granularities.all(|granularity| granularity == Granularity::Subflow);
        WireFormat::of_tcp(tcp, keeps_paths.then_some(tcp.subflows))
    }

    fn open_flow_bytes(&self, transport: &TransportConfig) -> u64 {
        let tcp = transport.expect_tcp();
        let subflow = size_of::<Window>() + SUBFLOW_BYTES;
        let queues = if tcp.uses_send_queues() {
            send_queues::bytes(tcp.subflows)
        } else {
            0
        };
        let monitor = transport
            .mode()
            .monitor()
            .map_or(0, |_| path_monitor::bytes(tcp.subflows));
        let subflows = tcp.subflows as usize * subflow;
        (size_of::<Algorithm>() + CONNECTION_BYTES + subflows + queues + monitor) as u64
    }

    fn recorded_state(&self, _: &TransportConfig) -> RecordedState {
        RecordedState::Windows
    }

    fn create(&self, shared: &Arc<Shared>, host: u32, _: usize) -> Box<dyn Transport> {
        Box::new(TcpEndpoint::new(Arc::clone(shared), host))
    }
}

impl Transport for TcpEndpoint {
    fn connect(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        self.open_persistent(flow, cx);
    }

    fn open(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        match self.shared.connection_of(flow) {
            Some(connection) => self.append_to(connection, flow, cx),
            None => self.open_connection(flow, cx),
        }
    }

    fn stop(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        self.stop_flow(flow, cx);
    }

    fn on_packet(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if packet.flags & DATA != 0 {
            self.on_data(packet, cx);
        } else if packet.flags & SYN == 0 {
            self.on_ack(packet, cx);
        } else {
            self.on_handshake(packet, cx);
        }
    }

    fn on_timer(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        let index = key as u32;
        match key >> 32 {
            JOIN => self.join(index, cx),
            SUBFLOW => self.subflow_timer(index, cx),
            DELAYED_ACK => self.delayed_ack_timer(index, cx),
            CLOSE => self.close(index, cx),
            PACE => self.on_pacing_timer(index, cx),
            WRITE => self.on_application_write(index, cx),
            _ => self.on_path_monitor_timer(index, cx),
        }
    }

    fn send_in_turn(&mut self, slot: u32, _: u32, cx: &mut HostContext<'_, '_>) {
        Self::send_in_turn(self, slot, cx);
    }

    fn reroute(&mut self) {
        Self::reroute(self);
    }

    fn windows(&self, flow: u32) -> Option<&[Window]> {
        let (connection, _) = self.connection(flow)?;
        (!connection.lifetime.is_finished()).then_some(connection.windows())
    }

    fn sent_flows(&self) -> Vec<SentFlow> {
        let connections = self.connections();
        connections
            .flat_map(|connection| match connection.data.messages() {
                None => vec![self.sent_flow(connection)],
                Some(messages) => self.sent_messages(connection, messages),
            })
            .collect()
    }

    fn received_flow(&self, flow: u32, chunks: u32) -> Option<ReceivedFlow> {
        let connection = self.connection_receiver(flow)?;
        Some(ReceivedFlow {
            bytes: connection.bytes(),
            finish: (connection.chunks().next() == chunks).then_some(Time(connection.last_data_at())),
            packets: self.received_packets(connection),
        })
    }

    fn received_bytes(&self) -> Vec<(u32, u64)> {
        let mut bytes = Vec::new();
        for connection in self.connection_receivers() {
            if connection.has_messages() {
                let size = |flow| self.shared.flow(flow).size.map_or(0, |size| size.0);
                let messages = connection.complete_messages().iter();
                bytes.extend(messages.map(|message| (message.flow, size(message.flow))));
            } else {
                bytes.push((connection.flow, connection.bytes()));
            }
        }
        bytes
    }

    fn timeouts(&self) -> u64 {
        self.timeout_count()
    }

    fn sends(&self, flow: u32) -> bool {
        Self::sends(self, flow)
    }

    fn movable_subflows(&self) -> Vec<(u32, u32, u64)> {
        self.established_subflows().collect()
    }

    fn set_route(&mut self, flow: u32, subflow: u32, route: Route) -> bool {
        self.set_subflow_route(flow, subflow, route)
    }
}

impl TcpEndpoint {
    /// Handles a packet that is neither data nor an acknowledgement of data.
    pub fn on_handshake(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        match wire::kind(packet) {
            Some(PacketKind::Syn) => self.on_syn(packet, cx),
            Some(PacketKind::SynAck) => self.on_syn_ack(packet, cx),
            Some(PacketKind::JoinAck) => self.on_join_ack(packet, cx),
            Some(PacketKind::JoinConfirmed) => self.on_join_confirmed(packet, cx),
            Some(PacketKind::DataFin) => self.on_data_fin(packet, cx),
            Some(PacketKind::Fin) => self.send_control(packet.lo, packet.hi, wire::FIN_ACK, cx),
            Some(PacketKind::FinAck) => self.send_control(packet.lo, packet.hi, wire::HANDSHAKE_ACK, cx),
            Some(PacketKind::HandshakeAck | PacketKind::Data | PacketKind::Ack) | None => {}
        }
    }

    /// Returns the sender's part of the records of the flows that a persistent connection carries. The first one has the
    /// subflows, with the packets of all.
    fn sent_messages(&self, connection: &ConnectionSender, messages: &[Message]) -> Vec<SentFlow> {
        let mut of_connection = Some(self.sent_flow(connection));
        let flows: Vec<u32> = messages.iter().map(|message| message.flow).collect();
        let sent = |message: &Message| {
            let first = of_connection.take();
            let carrier = Carrier {
                flow: connection.flow,
                message: message.flow,
                first_chunk: message.chunks.start,
                flows: first.as_ref().map_or(Vec::new(), |_| flows.clone()),
            };
            let established = connection.lifetime.established();
            let (record, suppressions) = first.map_or_else(
                || (FlowRecord::unopened(message.flow), Vec::new()),
                |first| (first.record, first.suppressions),
            );
            SentFlow {
                record: FlowRecord {
                    flow: message.flow,
                    established: established.map(|time| Time(time.max(message.opened))),
                    acked: message.acked.map(Time),
                    ..record
                },
                opened: Time(message.opened),
                chunks: message.chunks.end,
                suppressions,
                connection: Some(carrier),
            }
        };
        messages.iter().map(sent).collect()
    }

    /// Returns what this host has recorded of a flow that a persistent connection carries to it, up to the connection's chunk
    /// `end`.
    pub fn received_message(&self, carrier: &Carrier, end: u32) -> Option<ReceivedFlow> {
        let connection = self.connection_receiver(carrier.flow)?;
        let finish = connection.message_finish(end).map(Time);
        let (mss, size) = (
            self.shared.tcp(connection.transport).profile.sizes.mss,
            self.shared.flow(carrier.message).size,
        );
        let chunks = connection
            .chunks()
            .next()
            .min(end)
            .saturating_sub(carrier.first_chunk);
        let in_order = u64::from(chunks) * u64::from(mss);
        Some(ReceivedFlow {
            bytes: size.map_or(in_order, |size| size.0.min(in_order)),
            finish,
            packets: self.received_packets(connection),
        })
    }

    fn received_packets(&self, connection: &receiver::ConnectionReceiver) -> Vec<u64> {
        let packets = |s| {
            self.subflow_receiver(connection.flow, s)
                .map_or(0, receiver::SubflowReceiver::packets)
        };
        (0..self.shared.tcp(connection.transport).subflows)
            .map(packets)
            .collect()
    }

    /// Returns the sender's part of the record of the flow of a connection.
    pub fn sent_flow(&self, connection: &ConnectionSender) -> SentFlow {
        let subflows = self.subflows_of(connection).iter().zip(connection.windows());
        let subflows = subflows.map(|(subflow, window)| SubflowRecord {
            established: subflow.stats().established.map(Time),
            packets_sent: subflow.stats().packets_sent,
            retransmitted: subflow.stats().retransmitted,
            packets_received: 0,
            packets_dropped: 0,
            packets_trimmed: 0,
            control: None,
            packets_blocked: 0,
            blocked: Time(0),
            packets_in_flight: 0,
            marked: Some(subflow.stats().marked),
            fast_retransmits: Some(subflow.stats().fast_retransmits),
            timeouts: subflow.stats().timeouts,
            syn_timeouts: Some(subflow.stats().syn_timeouts),
            send_buffer_limited: Some(Time(subflow.stats().sndbuf_limited)),
            acked_bytes: Some(subflow.seq.una()),
            cwnd: window.cwnd,
            srtt: window.srtt,
        });
        SentFlow {
            record: FlowRecord {
                flow: connection.flow,
                established: connection.lifetime.established().map(Time),
                finish: None,
                acked: connection.lifetime.finished().map(Time),
                delivered_bytes: 0,
                measured_bytes: 0,
                reinjected: connection.reinject.count(),
                suppressions: connection.congestion.suppressions().count(),
                subflows: subflows.collect(),
            },
            opened: Time(connection.lifetime.opened()),
            chunks: connection.data.total(),
            suppressions: connection
                .congestion
                .suppressions()
                .episodes(connection.flow)
                .collect(),
            connection: None,
        }
    }
}
