//! The part of a host: its senders and receivers.

use std::sync::Arc;

use weft_run::SubflowRecord;

use crate::engine::route::Route;
use crate::packet::Packet;
use crate::transport::contract::{ReceivedFlow, SentFlow, Transport};
use crate::transport::flow_table::FlowTable;
use crate::transport::nic::{Feed, NicFlow, Request, WINDOW};
use crate::transport::per_transport::PerTransport;
use crate::transport::shared::Shared;
use crate::transport::state::HostContext;
use crate::transport::timer_keys::other_timer;
use crate::transport::tracer::SenderState;

use super::config;
use super::params::Params;
use super::receiver::Receiver;
use super::sender::{Sender, Wait};
use super::wire::{Content, Data, Nak, cnp_packet};

/// The senders and receivers of a host.
pub struct Part {
    shared: Arc<Shared>,
    host: u32,
    kind: usize,
    /// The constants of each transport of this kind.
    params: PerTransport<Params>,
    senders: FlowTable<Sender>,
    receivers: FlowTable<Receiver>,
}

impl Part {
    /// Creates an idle part of a host.
    pub fn new(shared: Arc<Shared>, host: u32, kind: usize) -> Self {
        Self {
            params: PerTransport::new(shared.transports.len()),
            shared,
            host,
            kind,
            senders: FlowTable::default(),
            receivers: FlowTable::default(),
        }
    }

    fn params(&mut self, transport: u32) -> Option<Arc<Params>> {
        let shared = &self.shared;
        self.params.get(transport, || {
            let transport = &shared.transports[transport as usize];
            Some(Params::new(transport, config(transport)?))
        })
    }

    fn key(&self, index: u32) -> u64 {
        other_timer(self.kind, index)
    }

    fn nic_request(&self, index: u32) -> Request {
        let params = &self.senders[index].params;
        Request {
            flow: NicFlow {
                kind: self.kind as u32,
                index,
            },
            feed: Feed::MemoryUnlessPaused,
            class: params.class,
            size: params.config.mtu,
            backlog: WINDOW,
        }
    }

    /// Sends a packet of a flow if the flow may send one and the NIC is free. Otherwise the flow waits until its
    /// rate allows a packet, or for its turn.
    fn request(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[index];
        if sender.waits_for.is_some() || !sender.may_send() {
            return;
        }
        let next_at = sender.next_at();
        let port = cx.port_of(sender.route);
        let (nics, engine) = cx.nics();
        let request = || self.nic_request(index);
        if next_at > engine.now.max(nics.busy_until(port)) {
            self.senders[index].waits_for = Some(Wait::Rate);
            let key = self.key(3 * index);
            cx.set_timer(next_at, key);
        } else if next_at <= engine.now && nics.is_free(Feed::MemoryUnlessPaused, port, engine, request) {
            self.send(index, cx);
        } else {
            nics.wait(request(), port, engine);
            self.senders[index].waits_for = Some(Wait::Nic);
        }
    }

    /// Sends a packet of a flow, which then requests the next one.
    fn send(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[index];
        let chunk = sender.sent();
        let Some(packet) = sender.take_packet(cx.now) else {
            return;
        };
        if sender.progress.has_latencies && sender.sent() != chunk {
            let (flow, now) = (sender.flow, cx.now);
            cx.host.latencies().record_chunk_sent(flow, chunk, now);
        }
        let (nics, engine) = cx.nics();
        nics.send_data(Feed::MemoryUnlessPaused, &packet, engine, || {
            self.nic_request(index)
        });
        self.set_deadline(index, cx);
        self.request(index, cx);
    }

    /// Sets the timer of timeouts unless it is set.
    fn set_deadline(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let key = self.key(3 * index + 1);
        let sender = &mut self.senders[index];
        if let Some(deadline) = sender.deadline().filter(|_| !sender.progress.has_timer) {
            sender.progress.has_timer = true;
            cx.set_timer(deadline, key);
        }
    }

    fn on_timeout(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[index];
        sender.progress.has_timer = false;
        sender.on_timer(cx.now);
        self.set_deadline(index, cx);
        self.request(index, cx);
    }

    fn receiver(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) -> Option<u32> {
        if let Some(index) = self.receivers.index_of(flow) {
            return Some(index);
        }
        let spec = self.shared.flow(flow);
        let params = self.params(spec.transport)?;
        let notify_at = cx.host.track_receiver(flow, self.shared.notify_at(flow, &spec));
        let route = self.shared.route_of_flow(flow, true);
        Some(
            self.receivers
                .add(flow, Receiver::new(flow, params, route, notify_at)),
        )
    }

    fn on_data(&mut self, packet: &Packet, data: Data, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.receiver(packet.lo, cx) else {
            return;
        };
        let receiver = &mut self.receivers[index];
        let answer = receiver.on_data(data, packet.size, cx.now);
        if receiver.progress.bytes >= receiver.progress.notify_at {
            let (next, bytes) = (receiver.next(), receiver.progress.bytes);
            cx.on_delivered_data(packet.lo, next, bytes, &mut receiver.progress.notify_at);
        }
        let (class, route) = (receiver.params.ack_class, receiver.route);
        if data.ce {
            match receiver.on_mark(cx.now) {
                Some(time) if time == cx.now => self.notify(index, cx),
                Some(time) => {
                    let key = self.key(3 * index + 2);
                    cx.set_timer(time, key);
                }
                None => {}
            }
        }
        if let Some(answer) = answer.packet(packet.lo, class) {
            cx.send(&Packet { route, ..answer });
        }
    }

    /// Sends a congestion notification.
    fn notify(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let receiver = &mut self.receivers[index];
        receiver.on_notification(cx.now);
        let packet = cnp_packet(receiver.flow, receiver.params.ack_class);
        let route = receiver.route;
        cx.send(&Packet { route, ..packet });
    }

    fn on_ack(&mut self, flow: u32, expected: u32, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of(flow) else {
            return;
        };
        if self.senders[index].on_ack(expected, cx.now) {
            cx.on_acked(flow);
        } else {
            self.request(index, cx);
        }
    }

    fn on_nak(&mut self, flow: u32, nak: Nak, cx: &mut HostContext<'_, '_>) {
        if let Some(index) = self.senders.index_of(flow) {
            self.senders[index].on_nak(nak, cx.now);
            self.request(index, cx);
        }
    }

    fn on_cnp(&mut self, flow: u32, now: u64) {
        if let Some(index) = self.senders.index_of(flow) {
            self.senders[index].on_cnp(now);
        }
    }
}

impl Transport for Part {
    fn open(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let spec = self.shared.flow(flow);
        let Some(params) = self.params(spec.transport) else {
            return;
        };
        let route = self.shared.route_of_flow(flow, false);
        let fabric = &self.shared.fabric;
        let first = fabric.first_link(fabric.hosts[self.host as usize]);
        let line_rate = fabric.links[first + cx.port_of(route) as usize].rate.0 as f64;
        let size = spec.size.map(|size| size.0);
        let mut sender = Sender::new(flow, params, route, line_rate, size, cx.now);
        sender.progress.has_latencies = self.shared.has_latencies(flow);
        cx.attach_probes(flow, &[]);
        let index = self.senders.add(flow, sender);
        self.request(index, cx);
    }

    fn stop(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of(flow) else {
            return;
        };
        if self.senders[index].stop(cx.now) {
            cx.on_acked(flow);
        }
    }

    fn on_packet(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if packet.is_trimmed() {
            // The checksum does not match, so the NIC discards the packet.
            return;
        }
        match Content::read(packet) {
            Content::Data(data) => self.on_data(packet, data, cx),
            Content::Ack(expected) => self.on_ack(packet.lo, expected, cx),
            Content::Nak(nak) => self.on_nak(packet.lo, nak, cx),
            Content::Cnp => self.on_cnp(packet.lo, cx.now),
        }
    }

    fn on_timer(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        // A third of the indices each are those of the rates of senders, of their timeouts, and of receivers.
        let index = key as u32;
        match index % 3 {
            0 => {
                self.senders[index / 3].waits_for = None;
                self.request(index / 3, cx);
            }
            1 => self.on_timeout(index / 3, cx),
            _ => self.notify(index / 3, cx),
        }
    }

    fn send_in_turn(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[index];
        sender.waits_for = None;
        if sender.may_send() {
            self.send(index, cx);
        }
    }

    fn reroute(&mut self) {
        let shared = &self.shared;
        for sender in self
            .senders
            .iter_mut()
            .filter(|sender| !sender.progress.is_acked())
        {
            sender.route = shared.route_of_flow(sender.flow, false);
        }
        for receiver in self.receivers.iter_mut() {
            receiver.route = shared.route_of_flow(receiver.flow, true);
        }
    }

    fn sender_state(&self, flow: u32, now: u64) -> Option<SenderState> {
        let sender = self.senders.find(flow)?;
        (!sender.progress.is_acked()).then(|| sender.state(now))
    }

    fn sent_flows(&self) -> Vec<SentFlow> {
        let record = |sender: &Sender| {
            let counters = &sender.counters;
            let subflow = SubflowRecord {
                packets_sent: u64::from(sender.sent()) + counters.retransmitted,
                retransmitted: counters.retransmitted,
                timeouts: counters.timeouts,
                acked_bytes: Some(sender.acked_bytes()),
                control: Some(counters.control),
                ..SubflowRecord::default()
            };
            SentFlow::with_one_subflow(
                sender.flow,
                sender.progress.opened,
                sender.progress.acked,
                sender.total().map(u64::from),
                subflow,
            )
        };
        self.senders.iter().map(record).collect()
    }

    fn received_flow(&self, flow: u32, chunks: u32) -> Option<ReceivedFlow> {
        let receiver = self.receivers.find(flow)?;
        Some(ReceivedFlow::with_one_subflow(
            receiver.progress.bytes,
            receiver.progress.packets,
            receiver.progress.chunks == u64::from(chunks),
            receiver.progress.last,
        ))
    }

    fn received_bytes(&self) -> Vec<(u32, u64)> {
        let bytes = |receiver: &Receiver| (receiver.flow, receiver.progress.bytes);
        self.receivers.iter().map(bytes).collect()
    }

    fn timeouts(&self) -> u64 {
        self.senders.iter().map(|sender| sender.counters.timeouts).sum()
    }

    fn movable_subflows(&self) -> Vec<(u32, u32, u64)> {
        let open = self.senders.iter().filter(|sender| !sender.progress.is_acked());
        open.map(|sender| (sender.flow, 0, sender.acked_bytes()))
            .collect()
    }

    fn set_route(&mut self, flow: u32, _: u32, route: Route) -> bool {
        let Some(index) = self.senders.index_of(flow) else {
            return false;
        };
        let sender = &mut self.senders[index];
        let is_open = !sender.progress.is_acked();
        if is_open {
            sender.route = route;
        }
        is_open
    }
}
