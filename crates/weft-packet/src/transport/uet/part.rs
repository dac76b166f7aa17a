//! The part of a host: its senders and receivers, and its pacer.

use std::sync::Arc;

use weft_paths::draw;
use weft_run::{SubflowRecord, UetControl};

use crate::packet::{DATA, Packet};
use crate::transport::contract::{ReceivedFlow, SentFlow, Transport};
use crate::transport::flow_table::FlowTable;
use crate::transport::nic::{Feed, NicFlow, Request, WINDOW};
use crate::transport::per_transport::PerTransport;
use crate::transport::shared::Shared;
use crate::transport::spray::{NicSender, NicUser};
use crate::transport::state::HostContext;
use crate::transport::timer_keys::other_timer;
use crate::transport::tracer::SenderState;

use super::config;
use super::credit::QUANTUM;
use super::load_balancer::Balancer;
use super::pacer::Pacer;
use super::params::Params;
use super::paths::EvRoutes;
use super::pull_rate::PullRate;
use super::receiver::{Answer, Receiver};
use super::sender::Sender;
use super::wire::{Ack, Content, Data, Nack, pull_packet};

/// Indices of the timers of the pacer and of the rate of pulls. Smaller indices are those
/// of senders.
const PACER: u32 = u32::MAX - 1;
const PULL_RATE: u32 = u32::MAX - 2;

/// Distinguish the seeds of load balancers and of intervals from other random numbers.
const STREAM: u64 = 0x7565_746C;
const INTERVAL_STREAM: u64 = 0x7565_746F;

/// The senders and receivers of a host.
pub struct Part {
    shared: Arc<Shared>,
    host: u32,
    kind: usize,
    /// The constants of each transport of this kind.
    params: PerTransport<Params>,
    senders: FlowTable<Sender>,
    receivers: FlowTable<Receiver>,
    pacer: Pacer,
    /// `None` if the network is not oversubscribed, or if a window limits flows as well.
    pull_rate: Option<PullRate>,
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
            pacer: Pacer::default(),
            pull_rate: None,
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

    fn send_control(&self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let (nics, engine) = cx.nics();
        nics.send_control(self.kind as u32, packet, engine);
    }

    fn send_request(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[index];
        if let Some(packet) = sender.take_request(cx.now, &self.shared) {
            self.send_control(&packet, cx);
            self.set_deadline(index, cx);
        }
    }

    fn on_timeout(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[index];
        sender.progress.has_timer = false;
        let expired = sender.on_timer(cx.now);
        self.set_deadline(index, cx);
        let Some(expired) = expired else {
            return;
        };
        if expired.had_queue {
            if self.senders[index].has_credit() {
                self.send_request(index, cx);
            }
            // The timeout may have been the last event of the flow, and it makes room in the window.
            self.request_nic(index, cx);
            return;
        }
        if !expired.is_speculating {
            self.request_nic(index, cx);
        }
        if self.senders[index].is_blocked(expired.size) {
            self.send_request(index, cx);
        } else {
            self.request_nic(index, cx);
        }
    }

    /// Grants credit to the next flow, and sets the timer of the grant after it.
    fn pace(&mut self, cx: &mut HostContext<'_, '_>) {
        self.pacer.is_running = false;
        // Any route has the rate of the card.
        let Some(route) = self.receivers.first_mut().map(|receiver| {
            let shared = &self.shared;
            receiver.routes.route(0, shared)
        }) else {
            return;
        };
        let quantum = cx.serialisation(route, QUANTUM as u32);
        let Some((index, time)) = self.pacer.grant(&mut self.receivers, quantum) else {
            return;
        };
        let receiver = &mut self.receivers[index];
        let params = &receiver.params;
        receiver.grants.ev = ((u32::from(receiver.grants.ev) + 1) % params.config.entropies) as u16;
        let pull = pull_packet(receiver.grants.granted as u32, receiver.flow, params.ack_class);
        let route = receiver.routes.route(receiver.grants.ev, &self.shared);
        self.send_control(&Packet { route, ..pull }, cx);
        self.pacer.is_running = true;
        let time = self.pull_rate.as_ref().map_or(time, |rate| rate.scale(time));
        let key = self.key(PACER);
        let now = cx.now;
        cx.set_timer(now + time, key);
    }

    fn receiver(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) -> Option<u32> {
        if let Some(index) = self.receivers.index_of(flow) {
            return Some(index);
        }
        let spec = self.shared.flow(flow);
        let params = self.params(spec.transport)?;
        let notify_at = cx.host.track_receiver(flow, self.shared.notify_at(flow, &spec));
        let config = params.config;
        if self.pull_rate.is_none() && config.control == UetControl::Receiver && config.oversubscription > 1.0
        {
            let seed = draw(&[self.shared.seed, INTERVAL_STREAM, self.host.into()]);
            self.pull_rate = Some(PullRate::new(config.oversubscription, config.network_rtt.0, seed));
        }
        let evs = config.entropies;
        let routes = EvRoutes::new(spec.id, true, [self.host, spec.from], evs);
        Some(
            self.receivers
                .add(flow, Receiver::new(flow, params, routes, notify_at)),
        )
    }

    fn on_data(&mut self, packet: &Packet, data: &Data, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.receiver(packet.lo, cx) else {
            return;
        };
        self.count_for_pull_rate(data, cx);
        let receiver = &mut self.receivers[index];
        let answer = receiver.on_data(data, packet.size, cx.now);
        if receiver.progress.bytes >= receiver.progress.notify_at {
            let (next, bytes) = (receiver.next_chunk(), receiver.progress.bytes);
            cx.on_delivered_data(packet.lo, next, bytes, &mut receiver.progress.notify_at);
        }
        let params = &receiver.params;
        let has_credit = params.config.control.has_credit();
        let control = match &answer {
            Answer::None => None,
            Answer::Ack(ack) => Some(ack.packet(packet.lo, params.ack_class)),
            Answer::Nack(nack) => Some(nack.packet(packet.lo, params.ack_class)),
        };
        if has_credit {
            // The UEC's simulator repeats a request as data without payload.
            let asks = data.is_rts && !(params.config.simulator_quirks && data.retransmission);
            let needs = asks || matches!(answer, Answer::Nack(_));
            self.pacer.on_request(index, receiver, data.pull_target, needs);
        }
        if let Some(control) = control {
            let route = receiver.routes.route(data.ev, &self.shared);
            self.send_control(&Packet { route, ..control }, cx);
        }
        if has_credit && !self.pacer.is_running && !self.pacer.is_empty() {
            self.pace(cx);
        }
    }

    /// Changes the rate of pulls, and sets the timer of the next interval.
    fn adapt_pull_rate(&mut self, cx: &mut HostContext<'_, '_>) {
        let key = self.key(PULL_RATE);
        if let Some(rate) = &mut self.pull_rate {
            rate.is_running = rate.on_interval();
            if rate.is_running {
                let now = cx.now;
                cx.set_timer(now + rate.next_interval(), key);
            }
        }
    }

    /// Counts a packet for the rate of pulls, and sets the timer of an interval unless it is set.
    fn count_for_pull_rate(&mut self, data: &Data, cx: &mut HostContext<'_, '_>) {
        let key = self.key(PULL_RATE);
        if let Some(rate) = &mut self.pull_rate {
            rate.on_packet(data);
            if !rate.is_running {
                rate.is_running = true;
                let now = cx.now;
                cx.set_timer(now + rate.next_interval(), key);
            }
        }
    }

    fn on_ack(&mut self, flow: u32, ack: &Ack, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of(flow) else {
            return;
        };
        let sender = &mut self.senders[index];
        if sender.on_ack(ack, cx.now) {
            cx.on_acked(flow);
        } else {
            self.request_nic(index, cx);
        }
    }

    fn on_nack(&mut self, flow: u32, nack: Nack, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of(flow) else {
            return;
        };
        if self.senders[index].on_nack(nack, cx.now) {
            self.request_nic(index, cx);
            self.senders[index].on_trimmed_path(nack, cx.now);
            self.request_nic(index, cx);
        }
    }

    fn on_pull(&mut self, flow: u32, granted: u32, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of(flow) else {
            return;
        };
        if self.senders[index].on_pull(granted) {
            self.request_nic(index, cx);
        }
    }
}

impl NicUser for Part {
    type Sender = Sender;

    fn sender(&mut self, index: u32) -> &mut Sender {
        &mut self.senders[index]
    }

    fn deadline_key(&self, index: u32) -> u64 {
        self.key(index)
    }

    fn request(&self, index: u32) -> Request {
        let params = &self.senders[index].params;
        Request {
            flow: NicFlow {
                kind: self.kind as u32,
                index,
            },
            feed: Feed::Memory,
            class: params.class,
            size: params.config.mtu,
            backlog: WINDOW,
        }
    }

    fn take_packet(&mut self, index: u32, waiting: u32, cx: &mut HostContext<'_, '_>) -> Option<Packet> {
        let sender = &mut self.senders[index];
        let chunk = sender.data.sent() as u32;
        let packet = sender.take_packet(cx.now, waiting, &self.shared)?;
        if sender.progress.has_latencies && sender.data.sent() as u32 != chunk {
            let (flow, now) = (sender.flow, cx.now);
            cx.host.latencies().record_chunk_sent(flow, chunk, now);
        }
        Some(packet)
    }
}

impl NicSender for Sender {
    fn may_send(&mut self) -> bool {
        Sender::may_send(self)
    }

    fn waits(&mut self) -> &mut bool {
        &mut self.progress.waits
    }

    fn has_timer(&mut self) -> &mut bool {
        &mut self.progress.has_timer
    }

    fn deadline(&mut self) -> Option<u64> {
        Sender::deadline(self)
    }
}

impl Transport for Part {
    fn open(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let spec = self.shared.flow(flow);
        let Some(params) = self.params(spec.transport) else {
            return;
        };
        let config = params.config;
        let seed = draw(&[self.shared.seed, STREAM, spec.id]);
        let mut sender = Sender::new(
            flow,
            params,
            EvRoutes::new(spec.id, false, [self.host, spec.to], config.entropies),
            Balancer::new(config.load_balancing, config.entropies, seed),
            spec.size.map(|size| size.0),
            cx.now,
        );
        sender.progress.has_latencies = self.shared.has_latencies(flow);
        cx.attach_probes(flow, &[]);
        let index = self.senders.add(flow, sender);
        self.request_nic(index, cx);
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
        match Content::read(packet) {
            // A switch that sends headers back to senders: the receiver sends no NACK, so the sender does
            // what the NACK would cause.
            Content::Data(data) if data.trimmed && self.is_sender(packet) => {
                let nack = Nack {
                    psn: data.psn,
                    ev: data.ev,
                    ecn_echo: data.ce,
                    last_hop: false,
                };
                self.on_nack(packet.lo, nack, cx);
            }
            Content::Data(data) => self.on_data(packet, &data, cx),
            Content::Ack(ack) => self.on_ack(packet.lo, &ack, cx),
            Content::Nack(nack) => self.on_nack(packet.lo, nack, cx),
            Content::Pull(granted) => self.on_pull(packet.lo, granted, cx),
        }
    }

    fn on_timer(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        match key as u32 {
            PACER => self.pace(cx),
            PULL_RATE => self.adapt_pull_rate(cx),
            sender => self.on_timeout(sender, cx),
        }
    }

    fn send_in_turn(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        self.on_turn(index, cx);
    }

    fn reroute(&mut self) {
        self.senders.iter_mut().for_each(Sender::reroute);
        self.receivers
            .iter_mut()
            .for_each(|receiver| receiver.routes.clear());
    }

    fn sender_state(&self, flow: u32, now: u64) -> Option<SenderState> {
        let sender = self.senders.find(flow)?;
        (!sender.progress.is_acked()).then(|| sender.state(now))
    }

    fn sent_flows(&self) -> Vec<SentFlow> {
        let record = |sender: &Sender| {
            let counters = &sender.counters;
            let window = sender.window_packets();
            let subflow = SubflowRecord {
                packets_sent: sender.data.sent() + counters.retransmitted,
                retransmitted: counters.retransmitted,
                marked: Some(counters.marked),
                timeouts: counters.timeouts,
                cwnd: window.unwrap_or(0.0),
                control: Some(counters.control()),
                ..SubflowRecord::default()
            };
            SentFlow::with_one_subflow(
                sender.flow,
                sender.progress.opened,
                sender.progress.acked,
                sender.data.total(),
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
}

impl Part {
    /// Returns true if this host sends the flow of a data packet.
    fn is_sender(&self, packet: &Packet) -> bool {
        packet.flags & DATA != 0 && self.senders.index_of(packet.lo).is_some()
    }
}
