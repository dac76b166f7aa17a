//! The protocol at a host: its packets, and the pacer of the flows that it receives.

use weft_paths::draw;
use weft_transports::{TransportConfig, UetControl};

use crate::packet::Packet;
use crate::transport::endpoint::{FlowEndpoint, FlowSetup, Protocol};
use crate::transport::flow_progress::{ReceiverProgress, SenderProgress};
use crate::transport::nic::Feed;
use crate::transport::spray::PathsAhead;
use crate::transport::state::HostContext;

use super::config;
use super::credit::QUANTUM;
use super::load_balancer::Balancer;
use super::pacer::Pacer;
use super::params::Params;
use super::paths::EvRoutes;
use super::pull_rate::PullRate;
use super::receiver::{Answer, Receiver};
use super::sender::Sender;
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
    type Params = Params;
    type Sender = Sender;
    type Receiver = Receiver;

    const FEED: Feed = Feed::Memory;

    fn params(transport: &TransportConfig) -> Option<Params> {
        Some(Params::new(transport, config(transport)?))
    }

    fn sender(flow: FlowSetup<'_, Params>, progress: SenderProgress) -> Sender {
        let (spec, params) = (flow.spec, flow.params);
        let config = params.config;
        let seed = draw(&[flow.shared.seed, STREAM, spec.id]);
        Sender::new(
            params,
            EvRoutes::new(
                flow.shared,
                spec.id,
                false,
                [flow.host, spec.to],
                config.entropies,
            ),
            PathsAhead::new(flow.shared, flow.host),
            Balancer::new(config.load_balancing, config.entropies, seed),
            spec.size.map(|size| size.0),
            progress,
        )
    }

    fn receiver(&mut self, flow: FlowSetup<'_, Params>, progress: ReceiverProgress) -> Receiver {
        let (spec, config) = (flow.spec, flow.params.config);
        if self.pull_rate.is_none() && config.control == UetControl::Receiver && config.oversubscription > 1.0
        {
            let seed = draw(&[flow.shared.seed, INTERVAL_STREAM, flow.host.into()]);
            self.pull_rate = Some(PullRate::new(config.oversubscription, config.network_rtt.0, seed));
        }
        let routes = EvRoutes::new(
            flow.shared,
            spec.id,
            true,
            [flow.host, spec.from],
            config.entropies,
        );
        Receiver::new(flow.params, routes, progress)
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
            sender => endpoint.on_sender_timer(sender, cx),
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

    fn on_sender_timer(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
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
        receiver.grants.ev = ((u32::from(receiver.grants.ev) + 1) % params.config.entropies) as u16;
        let (granted, flow) = (receiver.grants.granted as u32, receiver.progress.flow);
        let pull = pull_packet(granted, flow, params.ack_class);
        let route = receiver.routes.route(receiver.grants.ev, &self.shared);
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
            let route = receiver.routes.route(data.ev, &self.shared);
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
