//! The part of a host: its senders and receivers, and its pull queue.

use std::sync::Arc;

use weft_run::SubflowRecord;

use crate::packet::{DATA, Packet};
use crate::transport::contract::{ReceivedFlow, SentFlow, Transport};
use crate::transport::flow_table::FlowTable;
use crate::transport::nic::{Feed, NicFlow, Request, WINDOW};
use crate::transport::per_transport::PerTransport;
use crate::transport::shared::Shared;
use crate::transport::spray::{NicSender, NicUser};
use crate::transport::state::HostContext;
use crate::transport::timer_keys::other_timer;

use super::config;
use super::pacer::Pacer;
use super::params::Params;
use super::paths::Paths;
use super::receiver::Receiver;
use super::sender::Sender;
use super::wire::{Content, Data, Report, pull_packet};

/// Index of the timer of the pull queue. Smaller indices are those of receivers from
/// `RECEIVERS` on, and those of senders below.
const PACER: u32 = u32::MAX - 1;
const RECEIVERS: u32 = 1 << 31;

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

    fn on_timeout(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[index];
        sender.progress.has_timer = false;
        sender.on_timer(cx.now);
        self.set_deadline(index, cx);
        self.request_nic(index, cx);
    }

    /// Sends a packet without payload to the sender of a flow, on the next path.
    fn answer(&mut self, index: u32, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let paths = &mut self.receivers[index].paths;
        let path = paths.choose();
        let route = paths.route(path, &self.shared);
        self.send_control(&Packet { route, ..*packet }, cx);
    }

    /// Counts a pull of a flow, and lets the next pull of any flow wait for the time of a full packet. Returns the
    /// number of pulls.
    fn pull(&mut self, index: u32, cx: &HostContext<'_, '_>) -> u32 {
        let receiver = &mut self.receivers[index];
        // Any route has the rate of the card.
        let route = receiver.paths.route(0, &self.shared);
        let config = &receiver.params.config;
        let interval = cx.serialisation(route, config.mtu) as f64 / config.pull_rate;
        self.pacer.pause(cx.now, interval as u64);
        receiver.pulls.sent += 1;
        receiver.pulls.sent
    }

    /// Sends the next pull of the queue.
    fn on_pacer_timer(&mut self, cx: &mut HostContext<'_, '_>) {
        self.pacer.is_running = false;
        if let Some(index) = self.pacer.pop(&mut self.receivers) {
            self.pull(index, cx);
            self.receivers[index].pulls.last = cx.now;
            self.send_pull(index, cx);
        }
        self.run_pacer(cx);
    }

    fn run_pacer(&mut self, cx: &mut HostContext<'_, '_>) {
        let Some(time) = self.pacer.next_time().filter(|_| !self.pacer.is_running) else {
            return;
        };
        self.pacer.is_running = true;
        let key = self.key(PACER);
        cx.set_timer(time, key);
    }

    fn send_pull(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let receiver = &self.receivers[index];
        let class = receiver.params.ack_class;
        let pull = pull_packet(receiver.pulls.sent, receiver.next(), receiver.flow, class);
        self.answer(index, &pull, cx);
    }

    /// Repeats the last pull of a flow that waits for packets, in case it was lost.
    fn on_receiver_timer(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let receiver = &mut self.receivers[index];
        receiver.pulls.has_timer = false;
        if receiver.pulls.waiting == 0 && !receiver.is_complete() && receiver.repeats_at() <= cx.now {
            receiver.repeat(cx.now);
            self.send_pull(index, cx);
        }
        self.set_receiver_timer(index, cx);
    }

    fn set_receiver_timer(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let key = self.key(RECEIVERS + index);
        let receiver = &mut self.receivers[index];
        if receiver.pulls.has_timer || receiver.is_complete() {
            return;
        }
        receiver.pulls.has_timer = true;
        let due = receiver.repeats_at();
        let time = if due > cx.now {
            due
        } else {
            cx.now + receiver.params.config.rto.0
        };
        cx.set_timer(time, key);
    }

    fn receiver(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) -> Option<u32> {
        if let Some(index) = self.receivers.index_of(flow) {
            return Some(index);
        }
        let spec = self.shared.flow(flow);
        let params = self.params(spec.transport)?;
        let notify_at = cx.host.track_receiver(flow, self.shared.notify_at(flow, &spec));
        let max = params.config.paths;
        let paths = Paths::new(&self.shared, spec.id, true, [self.host, spec.from], max);
        Some(
            self.receivers
                .add(flow, Receiver::new(flow, params, paths, notify_at)),
        )
    }

    fn on_data(&mut self, packet: &Packet, data: &Data, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.receiver(packet.lo, cx) else {
            return;
        };
        let receiver = &mut self.receivers[index];
        let (mut report, is_nack) = receiver.on_data(data, packet.size, cx.now);
        if receiver.progress.bytes >= receiver.progress.notify_at {
            let (next, bytes) = (receiver.next(), receiver.progress.bytes);
            cx.on_delivered_data(packet.lo, next, bytes, &mut receiver.progress.notify_at);
        }
        let (class, is_complete) = (receiver.params.ack_class, receiver.is_complete());
        if !is_complete {
            if self.pacer.is_free(cx.now) {
                report.pulls = self.pull(index, cx);
            } else {
                self.pacer.add(index, &mut self.receivers[index]);
            }
        }
        self.answer(index, &report.packet(is_nack, packet.lo, class), cx);
        self.run_pacer(cx);
        self.set_receiver_timer(index, cx);
    }

    fn on_ack(&mut self, flow: u32, ack: &Report, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of(flow) else {
            return;
        };
        if self.senders[index].on_ack(ack, cx.now) {
            cx.on_acked(flow);
        } else {
            self.request_nic(index, cx);
        }
    }

    /// Changes the sender of a flow, which may then be able to send.
    fn update(&mut self, flow: u32, change: impl FnOnce(&mut Sender), cx: &mut HostContext<'_, '_>) {
        if let Some(index) = self.senders.index_of(flow) {
            change(&mut self.senders[index]);
            self.request_nic(index, cx);
        }
    }

    /// Returns true if this host sends the flow of a data packet.
    fn is_sender(&self, packet: &Packet) -> bool {
        packet.flags & DATA != 0 && self.senders.index_of(packet.lo).is_some()
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

    fn take_packet(&mut self, index: u32, _: u32, cx: &mut HostContext<'_, '_>) -> Option<Packet> {
        let sender = &mut self.senders[index];
        let chunk = sender.data.sent() as u32;
        let packet = sender.take_packet(cx.now, &self.shared)?;
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
        let max = params.config.paths;
        let paths = Paths::new(&self.shared, spec.id, false, [self.host, spec.to], max);
        let mut sender = Sender::new(flow, params, paths, spec.size.map(|size| size.0), cx.now);
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
        let flow = packet.lo;
        match Content::read(packet) {
            Content::Data(data) if data.trimmed && self.is_sender(packet) => {
                self.update(flow, |sender| sender.on_return(data.psn, data.path), cx);
            }
            Content::Data(data) => self.on_data(packet, &data, cx),
            Content::Ack(ack) => self.on_ack(flow, &ack, cx),
            Content::Nack(nack) => self.update(flow, |sender| sender.on_nack(&nack), cx),
            Content::Pull { pulls, next } => self.update(flow, |sender| sender.on_pull(pulls, next), cx),
        }
    }

    fn on_timer(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        match key as u32 {
            PACER => self.on_pacer_timer(cx),
            receiver if receiver >= RECEIVERS => self.on_receiver_timer(receiver - RECEIVERS, cx),
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
            .for_each(|receiver| receiver.paths.reroute());
    }

    fn sent_flows(&self) -> Vec<SentFlow> {
        let record = |sender: &Sender| {
            let counters = &sender.counters;
            let subflow = SubflowRecord {
                packets_sent: sender.data.sent() + counters.retransmitted,
                retransmitted: counters.retransmitted,
                timeouts: counters.timeouts,
                acked_bytes: Some(sender.acked_bytes()),
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
