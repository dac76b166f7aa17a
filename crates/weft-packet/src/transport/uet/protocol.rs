//! The protocol at a host: its packets, and the pacer of the flows that it receives.

use weft_paths::draw;
use weft_run::{ControlCounters, SubflowRecord};
use weft_transports::{UetConfig, UetControl};

use crate::engine::route::Route;
use crate::packet::Packet;
use crate::transport::contract::RecordedState;
use crate::transport::endpoint::{FlowEndpoint, FlowSetup, Protocol, Sending};
use crate::transport::nic::Feed;
use crate::transport::shared::Shared;
use crate::transport::spray::NextPacket;
use crate::transport::state::HostContext;
use crate::transport::tracer::SenderState;

use super::credit::QUANTUM;
use super::load_balancer::Balancer;
use super::pacer::Pacer;
use super::paths::EvRoutes;
use super::pull_rate::PullRate;
use super::receiver::{Answer, Receiver, UetReceiver};
use super::sender::{Sender, UetSender};
use super::wire::{Content, Data, Nack, pull_packet};

/// Timer numbers of the pull pacer and of the pull rate. Each smaller number is the timeout of a sender.
const PACER: u32 = u32::MAX - 1;
const PULL_RATE: u32 = u32::MAX - 2;

/// Distinguish the seeds of load balancers and of intervals from other random numbers.
const STREAM: u64 = 0x7565_746C;
const INTERVAL_STREAM: u64 = 0x7565_746F;

/// The state that the flows of a host share.
#[derive(Default)]
pub struct UetProtocol {
    pacer: Pacer,
    /// `None` if the network is not oversubscribed, or if a window limits flows as well.
    pull_rate: Option<PullRate>,
}

impl Protocol for UetProtocol {
    type Config = UetConfig;
    type Sender = UetSender;
    type Receiver = UetReceiver;
    type Next = NextPacket;

    const FEED: Feed = Feed::Memory;
    const SPRAYS: bool = true;

    fn sender(flow: &FlowSetup<'_, Self>) -> UetSender {
        let (spec, config) = (&flow.spec, &flow.params.config);
        let routes = EvRoutes::new(
            flow.shared,
            spec.id,
            false,
            [flow.host, spec.to],
            config.entropies,
        );
        let seed = draw(&[flow.shared.seed, STREAM, spec.id]);
        UetSender::new(
            config,
            routes,
            Balancer::new(config.load_balancing, config.entropies, seed),
        )
    }

    fn receiver(&mut self, flow: &FlowSetup<'_, Self>) -> UetReceiver {
        let (spec, config) = (&flow.spec, &flow.params.config);
        if self.pull_rate.is_none() && config.control == UetControl::Receiver && config.oversubscription > 1.0
        {
            let seed = draw(&[flow.shared.seed, INTERVAL_STREAM, flow.host.into()]);
            self.pull_rate = Some(PullRate::new(config.oversubscription, config.network_rtt.0, seed));
        }
        UetReceiver::new(EvRoutes::new(
            flow.shared,
            spec.id,
            true,
            [flow.host, spec.from],
            config.entropies,
        ))
    }

    fn next(flow: &mut Sender) -> Option<NextPacket> {
        flow.next_packet()
    }

    fn take_packet(flow: &mut Sender, next: NextPacket, sending: &Sending<'_>) -> Packet {
        flow.take_packet(next, sending)
    }

    fn choose_path(flow: &mut Sender, _: Option<u16>) -> u16 {
        flow.state.balancer.choose()
    }

    fn route_of_path(flow: &mut Sender, ev: u16, shared: &Shared) -> Route {
        flow.state.routes.route(ev, shared)
    }

    fn forget_routes(flow: &mut Sender) {
        flow.state.routes.clear();
    }

    fn forget_answer_routes(flow: &mut Receiver) {
        flow.state.routes.clear();
    }

    fn deadline(flow: &mut Sender) -> Option<u64> {
        let (sent, _) = flow.state.records.oldest()?;
        Some(sent + flow.params.config.rto.0)
    }

    fn is_idle(flow: &Sender) -> bool {
        flow.state.records.is_empty()
    }

    fn release(flow: &mut Sender) {
        flow.state.records.clear();
        flow.state.routes.clear();
    }

    fn is_quiet(flow: &Receiver) -> bool {
        flow.state.grants.entries == 0
    }

    fn complete_record(flow: &Sender, record: &mut SubflowRecord) {
        let sender = &flow.state;
        record.marked = Some(sender.marked);
        record.cwnd = flow.window_packets().unwrap_or(0.0);
        record.control = Some(ControlCounters {
            pulls: Some(sender.pulls),
            rts: Some(sender.rts),
            repeated_rts: Some(sender.repeated_rts),
            ..flow.counters.control()
        });
    }

    /// Credit of the receiver is neither a window nor a rate.
    fn recorded_state(config: &UetConfig) -> RecordedState {
        if config.control.has_window() {
            RecordedState::Samples
        } else {
            RecordedState::Nothing
        }
    }

    fn sender_state(flow: &Sender, _: u64) -> Option<SenderState> {
        Some(SenderState {
            cwnd: flow.window_packets(),
            rate: None,
        })
    }

    fn next_chunk(flow: &Receiver) -> u32 {
        flow.state.next_chunk()
    }

    /// Routes of all entropy values, and a penalty for each.
    fn flow_bytes(config: &UetConfig) -> usize {
        config.entropies as usize * (2 * size_of::<Route>() + 1)
    }

    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let flow = packet.lo;
        match Content::read(packet) {
            // Some switches send the header of a trimmed packet back to its sender. The receiver then sends no
            // NACK, so the sender reacts to the header as it would to a NACK.
            Content::Data(data) if data.trimmed && endpoint.is_returned(packet) => {
                let nack = Nack {
                    psn: data.psn,
                    ev: data.ev,
                    ecn_echo: data.ce,
                    last_hop: false,
                };
                endpoint.on_nack(flow, nack, cx);
            }
            Content::Data(data) => endpoint.on_data(packet, &data, cx),
            Content::Ack(ack) => endpoint.on_ack(flow, |sender, now| sender.on_ack(&ack, now), cx),
            Content::Nack(nack) => endpoint.on_nack(flow, nack, cx),
            Content::Pull(granted) => endpoint.on_pull(flow, granted, cx),
        }
    }

    fn on_timer(endpoint: &mut FlowEndpoint<Self>, timer: u32, cx: &mut HostContext<'_, '_>) {
        match timer {
            PACER => endpoint.pace(cx),
            PULL_RATE => endpoint.adapt_pull_rate(cx),
            sender => endpoint.on_expiry(sender, cx),
        }
    }
}

impl FlowEndpoint<UetProtocol> {
    fn send_request(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[index];
        if let Some(packet) = sender.take_request(cx.now, &self.shared) {
            self.send_control(&packet, cx);
            self.set_deadline(index, cx);
        }
    }

    /// Handles the timer of timeouts of the sender with this number.
    fn on_expiry(&mut self, sender: u32, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of_number(sender) else {
            return;
        };
        let Some(expired) = self.on_timeout(index, Sender::on_timer, cx) else {
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
        let UetProtocol { pacer, pull_rate } = &mut self.protocol;
        pacer.is_running = false;
        let quantum = cx.serialisation_of_host(QUANTUM as u32) as u64;
        let Some((index, time)) = pacer.grant(&mut self.receivers, quantum) else {
            return;
        };
        let receiver = &mut self.receivers[index];
        let params = &receiver.params;
        receiver.state.grants.ev =
            ((u32::from(receiver.state.grants.ev) + 1) % params.config.entropies) as u16;
        let (granted, flow) = (receiver.state.grants.granted as u32, receiver.flow);
        let pull = pull_packet(granted, flow, params.ack_class);
        let route = receiver
            .state
            .routes
            .route(receiver.state.grants.ev, &self.shared);
        pacer.is_running = true;
        let time = pull_rate.as_ref().map_or(time, |rate| rate.scale(time));
        self.send_control(&Packet { route, ..pull }, cx);
        let due = cx.now + time;
        cx.set_timer(due, self.key(PACER));
    }

    fn on_data(&mut self, packet: &Packet, data: &Data, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.receiver_of(packet.lo, cx) else {
            return;
        };
        self.count_for_pull_rate(data, cx);
        let answer = self.receivers[index].on_data(data, packet.size, cx.now);
        self.report_arrival(index, cx);
        let receiver = &mut self.receivers[index];
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
            let pacer = &mut self.protocol.pacer;
            pacer.on_request(index, receiver, data.pull_target, needs);
        }
        if let Some(control) = control {
            let route = receiver.state.routes.route(data.ev, &self.shared);
            self.send_control(&Packet { route, ..control }, cx);
        }
        let pacer = &self.protocol.pacer;
        if has_credit && !pacer.is_running && !pacer.is_empty() {
            self.pace(cx);
        }
    }

    /// Changes the rate of pulls, and sets the timer of the next interval.
    fn adapt_pull_rate(&mut self, cx: &mut HostContext<'_, '_>) {
        let key = self.key(PULL_RATE);
        if let Some(rate) = &mut self.protocol.pull_rate {
            rate.is_running = rate.on_interval();
            if rate.is_running {
                let due = cx.now + rate.next_interval();
                cx.set_timer(due, key);
            }
        }
    }

    /// Counts a packet for the rate of pulls, and sets the timer of an interval unless it is set.
    fn count_for_pull_rate(&mut self, data: &Data, cx: &mut HostContext<'_, '_>) {
        let key = self.key(PULL_RATE);
        if let Some(rate) = &mut self.protocol.pull_rate {
            rate.on_packet(data);
            if !rate.is_running {
                rate.is_running = true;
                let due = cx.now + rate.next_interval();
                cx.set_timer(due, key);
            }
        }
    }

    fn on_nack(&mut self, flow: u32, nack: Nack, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of(flow) else {
            return;
        };
        if self.senders[index].on_nack(nack, cx.now) {
            self.request_nic(index, cx);
            self.senders[index].on_trimmed_path(nack, cx.now);
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
