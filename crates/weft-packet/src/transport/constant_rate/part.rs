//! The part of a host: its senders and receivers.

use std::sync::Arc;

use weft_run::{KindSettings, SubflowRecord};

use crate::engine::route::Route;
use crate::packet::{DATA, PROTECTED, Packet, class_flags};
use crate::transport::contract::{OTHER, ReceivedFlow, SentFlow, Transport};
use crate::transport::flow_table::FlowTable;
use crate::transport::nic::{Feed, NicFlow, Request};
use crate::transport::shared::Shared;
use crate::transport::state::HostContext;
use crate::transport::timer_keys::other_timer;

use super::payload;
use super::schedule::Schedule;

/// Bytes that wait at the port of a host with a NIC before a source waits, if the host has only sources. A socket of
/// Linux blocks at this size (`wmem_default`).
const SOCKET_BUFFER: u32 = 212_992;

/// The sender of a flow.
pub struct Sender {
    flow: u32,
    route: Route,
    opened: u64,
    schedule: Schedule,
    /// Number of packets sent, and of all packets of the flow, if it has a size.
    sent: u64,
    total: Option<u64>,
    /// Size of a full packet on the wire, and of the last one.
    packet: u16,
    last_packet: u16,
    /// Flags of the traffic class.
    class: u16,
    /// Whether the times at which packets are sent are recorded.
    traced: bool,
    /// Whether the flow waits for its turn at the NIC.
    waits: bool,
    stopped: bool,
    acked: Option<u64>,
}

/// The receiver of a flow.
pub struct Receiver {
    flow: u32,
    packets: u64,
    bytes: u64,
    /// All packets before this one have arrived.
    next: u64,
    /// Number of all packets of the flow; `None` if it has no size.
    total: Option<u64>,
    header: u32,
    /// Flags of the traffic class.
    class: u16,
    last: u64,
    notify_at: u64,
}

/// The senders and receivers of a host.
pub struct Part {
    shared: Arc<Shared>,
    kind: usize,
    senders: FlowTable<Sender>,
    receivers: FlowTable<Receiver>,
}

impl Part {
    /// Creates an idle part of a host.
    pub fn new(shared: Arc<Shared>, kind: usize) -> Self {
        Self {
            shared,
            kind,
            senders: FlowTable::default(),
            receivers: FlowTable::default(),
        }
    }

    fn new_receiver(&self, flow: u32, cx: &mut HostContext<'_, '_>) -> Receiver {
        let spec = self.shared.flow(flow);
        let transport = &self.shared.transports[spec.transport as usize];
        let notify_at = self.shared.notify_at(flow, &spec);
        let payload = u64::from(payload(transport));
        Receiver {
            flow,
            packets: 0,
            bytes: 0,
            next: 0,
            total: spec.size.map(|size| size.0.div_ceil(payload)),
            header: transport.profile.sizes.header,
            class: class_flags(transport.ack_class),
            last: 0,
            notify_at: cx.host.track_receiver(flow, notify_at),
        }
    }

    /// Handles a packet with data.
    fn on_data(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let flow = packet.lo;
        let index = self.receivers.index_of(flow).unwrap_or_else(|| {
            let receiver = self.new_receiver(flow, cx);
            self.receivers.add(flow, receiver)
        });
        let receiver = &mut self.receivers[index];
        receiver.packets += 1;
        receiver.bytes += u64::from(u32::from(packet.size) - receiver.header);
        receiver.last = packet.time;
        if packet.chunk == receiver.next as u32 {
            receiver.next += 1;
        }
        if receiver.bytes >= receiver.notify_at {
            let next = receiver.next as u32;
            cx.on_delivered_data(flow, next, receiver.bytes, &mut receiver.notify_at);
        }
        if receiver.total == Some(receiver.packets) {
            let (header, receiver_class) = (receiver.header, receiver.class);
            cx.send(&Packet {
                route: self.shared.route_of_flow(flow, true),
                lo: flow,
                size: header as u16,
                flags: OTHER | PROTECTED | receiver_class,
                ..Packet::default()
            });
        }
    }
}

impl Sender {
    /// Returns true if the flow has no more packets.
    fn is_done(&self) -> bool {
        self.stopped || self.total == Some(self.sent)
    }

    /// Returns the next packet, which is sent now.
    fn take_packet(&mut self) -> Packet {
        let chunk = self.sent as u32;
        self.sent += 1;
        let size = if self.total == Some(self.sent) {
            self.last_packet
        } else {
            self.packet
        };
        Packet {
            route: self.route,
            chunk,
            lo: self.flow,
            size,
            flags: DATA | OTHER | self.class,
            ..Packet::default()
        }
    }
}

impl Part {
    /// Sends a packet of a flow that is due, and more if the NIC admits them in a turn and they are due, too. Sets the
    /// timer of the next one.
    fn send_due(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let kind = self.kind as u32;
        let sender = &mut self.senders[index];
        while !sender.is_done() && !sender.waits {
            let (nics, engine) = cx.nics();
            let is_shared = nics.is_shared();
            if is_shared {
                let flow = NicFlow { kind, index };
                let request = || Request {
                    flow,
                    feed: Feed::Ring,
                    class: sender.class,
                    size: sender.packet.into(),
                    backlog: SOCKET_BUFFER,
                };
                if !nics.admit(flow, engine.port_of(sender.route), 1, request, engine) {
                    sender.waits = true;
                    return;
                }
            }
            let packet = sender.take_packet();
            if sender.traced {
                let now = cx.now;
                let latencies = cx.host.latencies();
                latencies.record_chunk_sent(sender.flow, packet.chunk, now);
            }
            cx.send(&packet);
            if sender.is_done() {
                return;
            }
            let next = sender.schedule.next_time();
            if !is_shared || next > cx.now {
                self.wait_until(next, index, cx);
                return;
            }
        }
    }

    /// Sets the timer of a flow's next packet, which is due at a time. If the host sends nothing else, the socket
    /// blocks once its buffer is full; otherwise the flow waits for its turn at the NIC.
    fn wait_until(&self, due: u64, index: u32, cx: &mut HostContext<'_, '_>) {
        let blocks = self.shared.nic.is_some() && !cx.host.nics.is_shared();
        let time = if blocks {
            due.max(cx.drain_time(self.senders[index].route, SOCKET_BUFFER))
        } else {
            due
        };
        cx.set_timer(time, other_timer(self.kind, index));
    }
}

impl Transport for Part {
    fn open(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let now = cx.now;
        let spec = self.shared.flow(flow);
        let transport = &self.shared.transports[spec.transport as usize];
        let KindSettings::ConstantRate(config) = transport.settings else {
            return;
        };
        let (payload, header) = (payload(transport), transport.profile.sizes.header);
        let total = spec.size.map(|size| size.0.div_ceil(payload.into()));
        let last = spec.size.map_or(payload, |size| {
            (size.0 - (size.0.div_ceil(payload.into()) - 1) * u64::from(payload)) as u32
        });
        let traced = cx.attach_probes(flow, &[]);
        let mut sender = Sender {
            flow,
            route: self.shared.route_of_flow(flow, false),
            opened: now,
            schedule: Schedule::new(config, self.shared.seed, spec.id, now, payload + header),
            sent: 0,
            total,
            packet: (payload + header) as u16,
            last_packet: (last + header) as u16,
            class: class_flags(transport.class),
            traced,
            waits: false,
            stopped: false,
            acked: None,
        };
        let first = sender.schedule.next_time();
        let index = self.senders.add(flow, sender);
        self.wait_until(first, index, cx);
    }

    fn stop(&mut self, flow: u32, _: &mut HostContext<'_, '_>) {
        if let Some(sender) = self.senders.find_mut(flow) {
            sender.stopped = true;
        }
    }

    fn on_packet(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if packet.is_trimmed() {
            // Nothing is repeated, so a header is of no use.
            return;
        }
        if packet.flags & DATA != 0 {
            self.on_data(packet, cx);
            return;
        }
        let now = cx.now;
        if let Some(sender) = self.senders.find_mut(packet.lo) {
            sender.acked = Some(now);
        }
        cx.on_acked(packet.lo);
    }

    fn on_timer(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        self.send_due(key as u32, cx);
    }

    fn send_in_turn(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        self.senders[index].waits = false;
        self.send_due(index, cx);
    }

    fn reroute(&mut self) {
        let shared = &self.shared;
        let sends = |sender: &&mut Sender| !sender.is_done();
        for sender in self.senders.iter_mut().filter(sends) {
            sender.route = shared.route_of_flow(sender.flow, false);
        }
    }

    fn sent_flows(&self) -> Vec<SentFlow> {
        let record = |sender: &Sender| {
            // A flow that has no size and was not stopped does not end.
            let chunks = if sender.stopped {
                Some(sender.sent)
            } else {
                sender.total
            };
            let subflow = SubflowRecord {
                packets_sent: sender.sent,
                ..SubflowRecord::default()
            };
            SentFlow::with_one_subflow(sender.flow, sender.opened, sender.acked, chunks, subflow)
        };
        self.senders.iter().map(record).collect()
    }

    fn received_flow(&self, flow: u32, chunks: u32) -> Option<ReceivedFlow> {
        let receiver = self.receivers.find(flow)?;
        Some(ReceivedFlow::with_one_subflow(
            receiver.bytes,
            receiver.packets,
            receiver.packets == u64::from(chunks),
            receiver.last,
        ))
    }

    fn received_bytes(&self) -> Vec<(u32, u64)> {
        let bytes = |receiver: &Receiver| (receiver.flow, receiver.bytes);
        self.receivers.iter().map(bytes).collect()
    }
}
