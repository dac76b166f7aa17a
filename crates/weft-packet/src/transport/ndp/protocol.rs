//! The protocol at a host: its packets, and the pull queue of the flows that it receives.

use weft_transports::TransportConfig;

use crate::packet::Packet;
use crate::transport::endpoint::{FlowEndpoint, FlowSetup, Protocol};
use crate::transport::flow_progress::{ReceiverProgress, SenderProgress};
use crate::transport::nic::Feed;
use crate::transport::spray::PathsAhead;
use crate::transport::state::HostContext;

use super::config;
use super::pacer::Pacer;
use super::params::Params;
use super::paths::Paths;
use super::receiver::Receiver;
use super::sender::Sender;
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
    type Params = Params;
    type Sender = Sender;
    type Receiver = Receiver;

    const FEED: Feed = Feed::Memory;

    fn params(transport: &TransportConfig) -> Option<Params> {
        Some(Params::new(transport, config(transport)?))
    }

    fn sender(flow: FlowSetup<'_, Params>, progress: SenderProgress) -> Sender {
        let FlowSetup {
            spec,
            host,
            params,
            shared,
        } = flow;
        let paths = Paths::new(shared, spec.id, false, [host, spec.to], params.config.paths);
        Sender::new(
            params,
            paths,
            PathsAhead::new(shared, host),
            spec.size.map(|size| size.0),
            progress,
        )
    }

    fn receiver(&mut self, flow: FlowSetup<'_, Params>, progress: ReceiverProgress) -> Receiver {
        let FlowSetup {
            spec,
            host,
            params,
            shared,
        } = flow;
        let paths = Paths::new(shared, spec.id, true, [host, spec.from], params.config.paths);
        Receiver::new(params, paths, progress)
    }

    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let flow = packet.lo;
        match Content::read(packet) {
            Content::Data(data) if data.trimmed && endpoint.is_returned(packet) => {
                let on_return = |sender: &mut Sender| sender.on_return(data.psn, data.path);
                endpoint.update_sender(flow, on_return, cx);
            }
            Content::Data(data) => endpoint.on_data(packet, &data, cx),
            Content::Ack(ack) => endpoint.on_ack(flow, |sender, now| sender.on_ack(&ack, now), cx),
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
            sender => {
                endpoint.on_timeout(sender, Sender::on_timer, cx);
                endpoint.request_nic(sender, cx);
            }
        }
    }
}

impl FlowEndpoint<NdpProtocol> {
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
        let config = &receiver.params.config;
        let interval = cx.serialisation_of_host(config.mtu) / config.pull_rate;
        self.protocol.pacer.pause(cx.now, interval as u64);
        receiver.pulls.sent += 1;
        receiver.pulls.sent
    }

    /// Sends the next pull of the queue.
    fn on_pacer_timer(&mut self, cx: &mut HostContext<'_, '_>) {
        let pacer = &mut self.protocol.pacer;
        pacer.is_running = false;
        if let Some(index) = pacer.pop(&mut self.receivers) {
            self.pull(index, cx);
            self.receivers[index].pulls.last = cx.now;
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
        let (flow, class) = (receiver.progress.flow, receiver.params.ack_class);
        let pull = pull_packet(receiver.pulls.sent, receiver.next(), flow, class);
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
