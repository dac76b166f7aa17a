//! The protocol at a host: its packets, and the pull queue of the flows that it receives.

use weft_run::{ControlCounters, SubflowRecord};
use weft_transports::{NdpConfig, NdpPullOrder};

use crate::engine::route::Route;
use crate::packet::Packet;
use crate::transport::arrivals::Arrivals;
use crate::transport::endpoint::{FlowEndpoint, FlowSetup, Protocol, Sending};
use crate::transport::nic::Feed;
use crate::transport::shared::Shared;
use crate::transport::spray::NextPacket;
use crate::transport::state::HostContext;

use super::pacer::Pacer;
use super::paths::Paths;
use super::receiver::{NdpReceiver, Pulls, Receiver};
use super::scoreboard::{self, Scoreboard};
use super::sender::{NdpSender, Sender};
use super::wire::{Content, Data, pull_packet};

/// Number of the timer of the pull queue. Smaller numbers are those of receivers from
/// `RECEIVERS` on, and those of senders below.
const PACER: u32 = u32::MAX - 1;
const RECEIVERS: u32 = 1 << 31;

/// The state that the flows of a host share.
#[derive(Default)]
pub struct NdpProtocol {
    pacer: Pacer,
}

impl Protocol for NdpProtocol {
    type Config = NdpConfig;
    type Sender = NdpSender;
    type Receiver = NdpReceiver;
    type Next = NextPacket;

    const FEED: Feed = Feed::Memory;
    const SPRAYS: bool = true;

    fn sender(flow: &FlowSetup<'_, Self>) -> NdpSender {
        let (spec, config) = (&flow.spec, &flow.params.config);
        let paths = Paths::new(flow.shared, spec.id, false, [flow.host, spec.to], config.paths);
        let packets = flow.size().map(|size| flow.params.segments.count(size));
        NdpSender::new(config, paths, packets)
    }

    fn receiver(&mut self, flow: &FlowSetup<'_, Self>) -> NdpReceiver {
        let (spec, config) = (&flow.spec, &flow.params.config);
        NdpReceiver {
            paths: Paths::new(flow.shared, spec.id, true, [flow.host, spec.from], config.paths),
            arrivals: Arrivals::default(),
            total: None,
            pulls: Pulls::new(match config.pull_order {
                NdpPullOrder::InTurn => 0,
                NdpPullOrder::EarlierRounds => spec.round,
            }),
        }
    }

    fn next(flow: &mut Sender) -> Option<NextPacket> {
        if flow.state.credit == 0 {
            return None;
        }
        flow.state.records.next_packet(&flow.data)
    }

    fn take_packet(flow: &mut Sender, next: NextPacket, sending: &Sending<'_>) -> Packet {
        let last = next.again.and_then(|psn| flow.state.records.ev(psn));
        let path = flow.next_path(sending.port, last);
        let (data, state) = (&mut flow.data, &mut flow.state);
        let psn = state.records.send(next, data, path, sending.now);
        flow.counters.retransmitted += u64::from(next.again.is_some());
        state.credit -= 1;
        let data = Data {
            psn,
            path,
            last: data.total() == Some(u64::from(psn) + 1),
            retransmission: next.again.is_some(),
            trimmed: false,
        };
        Packet {
            route: state.paths.route(path, sending.shared),
            ..data.packet(flow.flow, next.size, flow.params.class)
        }
    }

    fn choose_path(flow: &mut Sender, avoided: Option<u16>) -> u16 {
        flow.state.choose_path(avoided)
    }

    fn route_of_path(flow: &mut Sender, path: u16, shared: &Shared) -> Route {
        flow.state.paths.route(path, shared)
    }

    fn forget_routes(flow: &mut Sender) {
        flow.state.paths.reroute();
    }

    fn forget_answer_routes(flow: &mut Receiver) {
        flow.state.paths.reroute();
    }

    fn deadline(flow: &mut Sender) -> Option<u64> {
        let (sent, _) = flow.state.records.oldest()?;
        Some(sent + flow.params.config.rto.0)
    }

    fn expire(flow: &mut Sender, now: u64) {
        flow.on_timer(now);
    }

    fn is_idle(flow: &Sender) -> bool {
        flow.state.records.is_empty()
    }

    fn release(flow: &mut Sender) {
        flow.state.records.clear();
        flow.state.paths.release();
        flow.state.scores = Scoreboard::default();
    }

    fn is_quiet(flow: &Receiver) -> bool {
        !flow.state.pulls.is_queued
    }

    fn complete_record(flow: &Sender, record: &mut SubflowRecord) {
        let una = flow.state.records.una().into();
        record.acked_bytes = Some(flow.data.bytes_before(una));
        record.control = Some(ControlCounters {
            pulls: Some(flow.state.pulls_arrived),
            ..flow.counters.control()
        });
    }

    fn next_chunk(flow: &Receiver) -> u32 {
        flow.next()
    }

    /// Routes and the order of all paths at both ends, and the scores of paths at the sender.
    fn flow_bytes(config: &NdpConfig) -> usize {
        config.paths as usize * (2 * (size_of::<Route>() + 2) + scoreboard::BYTES_PER_PATH)
    }

    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let flow = packet.lo;
        match Content::read(packet) {
            Content::Data(data) if data.trimmed && endpoint.is_returned(packet) => {
                let on_return = |sender: &mut Sender| sender.on_return(data.psn, data.path);
                endpoint.update_sender(flow, on_return, cx);
            }
            Content::Data(data) => endpoint.on_data(packet, &data, cx),
            Content::Ack(ack) => endpoint.on_ack(flow, |sender, _| sender.on_ack(&ack), cx),
            Content::Nack(nack) => endpoint.update_sender(flow, |sender| sender.on_nack(&nack), cx),
            Content::Pull { pulls, next } => {
                endpoint.update_sender(flow, |sender| sender.on_pull(pulls, next), cx);
            }
        }
    }

    fn on_timer(endpoint: &mut FlowEndpoint<Self>, timer: u32, cx: &mut HostContext<'_, '_>) {
        match timer {
            PACER => endpoint.on_pacer_timer(cx),
            receiver if receiver >= RECEIVERS => endpoint.on_receiver_timer(receiver - RECEIVERS, cx),
            sender => endpoint.on_sender_timer(sender, cx),
        }
    }
}

impl FlowEndpoint<NdpProtocol> {
    /// Sends a packet without payload to the sender of a flow, on the next path.
    fn answer(&mut self, index: u32, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let paths = &mut self.receivers[index].state.paths;
        let path = paths.choose();
        let route = paths.route(path, &self.shared);
        self.send_control(&Packet { route, ..*packet }, cx);
    }

    /// Counts a pull of a flow, and lets the next pull of any flow wait for the time of a full packet. Returns the
    /// number of pulls.
    fn pull(&mut self, index: u32, cx: &HostContext<'_, '_>) -> u32 {
        let receiver = &mut self.receivers[index];
        let config = &receiver.params.config;
        let interval = cx.serialisation_of_host(config.mtu) / config.pull_rate;
        self.protocol.pacer.pause(cx.now, interval as u64);
        receiver.state.pulls.sent += 1;
        receiver.state.pulls.sent
    }

    /// Sends the next pull of the queue.
    fn on_pacer_timer(&mut self, cx: &mut HostContext<'_, '_>) {
        let pacer = &mut self.protocol.pacer;
        pacer.is_running = false;
        if let Some(index) = pacer.pop(&mut self.receivers) {
            self.pull(index, cx);
            self.receivers[index].state.pulls.last = cx.now;
            self.send_pull(index, cx);
        }
        self.run_pacer(cx);
    }

    fn run_pacer(&mut self, cx: &mut HostContext<'_, '_>) {
        let pacer = &mut self.protocol.pacer;
        let Some(time) = pacer.next_time().filter(|_| !pacer.is_running) else {
            return;
        };
        pacer.is_running = true;
        cx.set_timer(time, self.key(PACER));
    }

    fn send_pull(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let receiver = &self.receivers[index];
        let (flow, class) = (receiver.flow, receiver.params.ack_class);
        let pull = pull_packet(receiver.state.pulls.sent, receiver.next(), flow, class);
        self.answer(index, &pull, cx);
    }

    /// Repeats the last pull of a flow that waits for packets, in case it was lost. `receiver` is the number of its
    /// receiver.
    fn on_receiver_timer(&mut self, receiver: u32, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.receivers.index_of_number(receiver) else {
            return;
        };
        let receiver = &mut self.receivers[index];
        receiver.state.pulls.has_timer = false;
        if receiver.state.pulls.waiting == 0 && !receiver.is_complete() && receiver.repeats_at() <= cx.now {
            receiver.repeat(cx.now);
            self.send_pull(index, cx);
        }
        self.set_receiver_timer(index, cx);
    }

    fn set_receiver_timer(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let key = self.key(RECEIVERS + self.receivers.number(index));
        let receiver = &mut self.receivers[index];
        if receiver.state.pulls.has_timer || receiver.is_complete() {
            return;
        }
        receiver.state.pulls.has_timer = true;
        let due = receiver.repeats_at();
        let time = if due > cx.now {
            due
        } else {
            cx.now + receiver.params.config.rto.0
        };
        cx.set_timer(time, key);
    }

    fn on_data(&mut self, packet: &Packet, data: &Data, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.receiver_of(packet.lo, cx) else {
            return;
        };
        let (mut report, is_nack) = self.receivers[index].on_data(data, packet.size, cx.now);
        self.report_arrival(index, cx);
        let receiver = &mut self.receivers[index];
        let class = receiver.params.ack_class;
        if !receiver.is_complete() {
            let pacer = &mut self.protocol.pacer;
            if pacer.is_free(cx.now) {
                report.pulls = self.pull(index, cx);
            } else {
                pacer.add(index, receiver);
            }
        }
        self.answer(index, &report.packet(is_nack, packet.lo, class), cx);
        self.run_pacer(cx);
        self.set_receiver_timer(index, cx);
    }
}
