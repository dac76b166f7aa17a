//! The protocol at a host: its packets and timers.

use weft_run::{ControlCounters, SubflowRecord};
use weft_transports::{Parameters, RoceConfig};

use crate::engine::PathRecord;
use crate::packet::Packet;
use crate::transport::contract::RecordedState;
use crate::transport::endpoint::{FlowEndpoint, FlowSetup, Protocol, Sending};
use crate::transport::nic::Feed;
use crate::transport::state::HostContext;
use crate::transport::tracer::SenderState;

use super::hpcc::Hpcc;
use super::receiver::{Receiver, RoceReceiver};
use super::sender::{Next, RoceSender, Sender};
use super::wire::{Content, Data, cnp_packet};

/// Packets of a flow on their way whose telemetry is counted in estimates of memory; a choice.
const PACKETS_WITH_TELEMETRY: usize = 16;

/// The flows of a host share nothing.
#[derive(Default)]
pub struct RoceProtocol;

/// Returns the number of the timer that paces the congestion notifications of the receiver with this number. A sender has two, one for
/// its rate and one for timeouts; the remainder of division by three tells the three kinds apart.
fn notification_timer(receiver: u32) -> u32 {
    3 * receiver + 2
}

impl Protocol for RoceProtocol {
    type Config = RoceConfig;
    type Sender = RoceSender;
    type Receiver = RoceReceiver;
    type Next = Next;

    const FEED: Feed = Feed::MemoryUnlessPaused;

    fn sender(flow: &FlowSetup<'_, Self>) -> RoceSender {
        let shared = flow.shared;
        let first = shared.fabric.first_link(shared.fabric.hosts[flow.host as usize]);
        let port = flow.route.next(shared.hops).0;
        let line_rate = shared.fabric.links[first + port as usize].rate.0 as f64;
        RoceSender::new(&flow.params.config, line_rate, flow.now)
    }

    fn receiver(&mut self, _: &FlowSetup<'_, Self>) -> RoceReceiver {
        RoceReceiver::default()
    }

    fn next(flow: &mut Sender) -> Option<Next> {
        flow.next_psn()
    }

    fn next_at(flow: &Sender) -> u64 {
        flow.state.pace.next_at()
    }

    fn take_packet(flow: &mut Sender, next: Next, sending: &Sending<'_>) -> Packet {
        flow.take_packet(next, sending)
    }

    fn deadline(flow: &mut Sender) -> Option<u64> {
        flow.state.deadline
    }

    fn expire(flow: &mut Sender, now: u64) {
        flow.on_timer(now);
    }

    fn is_idle(flow: &Sender) -> bool {
        flow.data.sent() == u64::from(flow.state.una)
    }

    fn release(flow: &mut Sender) {
        flow.state.deadline = None;
    }

    fn is_quiet(flow: &Receiver) -> bool {
        !flow.state.is_marked
    }

    fn complete_record(flow: &Sender, record: &mut SubflowRecord) {
        record.acked_bytes = Self::movable_bytes(flow);
        record.control = Some(ControlCounters {
            cnps: Some(flow.state.cnps),
            ..flow.counters.control()
        });
    }

    fn recorded_state(_: &RoceConfig) -> RecordedState {
        RecordedState::Samples
    }

    fn sender_state(flow: &Sender, now: u64) -> Option<SenderState> {
        Some(SenderState {
            cwnd: flow
                .state
                .pace
                .window()
                .map(|bytes| bytes / f64::from(flow.params.full_size)),
            rate: Some(flow.state.pace.rate(now)),
        })
    }

    fn movable_bytes(flow: &Sender) -> Option<u64> {
        Some(flow.data.bytes_before(flow.state.una.into()))
    }

    fn flow_bytes(config: &RoceConfig) -> usize {
        if config.reads_telemetry() {
            size_of::<Hpcc>() + PACKETS_WITH_TELEMETRY * size_of::<PathRecord>()
        } else {
            0
        }
    }

    fn next_chunk(flow: &Receiver) -> u32 {
        flow.state.arrivals.next()
    }

    fn on_open(endpoint: &mut FlowEndpoint<Self>, sender: u32, cx: &mut HostContext<'_, '_>) {
        let flow = &endpoint.senders[sender];
        if flow.params.config.reads_telemetry() {
            cx.open_telemetry(flow.flow);
        }
        endpoint.request_nic(sender, cx);
    }

    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if packet.is_trimmed() {
            // The checksum does not match, so the NIC discards the packet.
            return;
        }
        let (flow, now) = (packet.lo, cx.now);
        match Content::read(packet) {
            Content::Data(data) => endpoint.on_data(packet, data, cx),
            Content::Ack(ack) if ack.telemetry > 0 => {
                let path = cx.take_telemetry(flow, ack.number());
                endpoint.on_ack(flow, |sender, now| sender.on_ack(ack, path.as_ref(), now), cx);
                if endpoint.senders.find(flow).is_none_or(Sender::is_acked) {
                    cx.close_telemetry(flow);
                }
            }
            Content::Ack(ack) => {
                endpoint.on_ack(flow, |sender, now| sender.on_ack(ack, None, now), cx);
            }
            Content::Nak(nak) => endpoint.update_sender(flow, |sender| sender.on_nak(nak, now), cx),
            Content::Cnp => {
                if let Some(sender) = endpoint.senders.find_mut(flow) {
                    sender.on_cnp(now);
                }
            }
        }
    }

    fn on_timer(endpoint: &mut FlowEndpoint<Self>, timer: u32, cx: &mut HostContext<'_, '_>) {
        let number = timer / 3;
        match timer % 3 {
            0 => endpoint.on_rate_timer(number, cx),
            1 => endpoint.on_sender_timer(number, cx),
            _ => {
                if let Some(index) = endpoint.receivers.index_of_number(number) {
                    endpoint.notify(index, cx);
                }
            }
        }
    }

    fn rate_timer(sender: u32) -> u32 {
        3 * sender
    }

    fn timeout_timer(sender: u32) -> u32 {
        3 * sender + 1
    }
}

impl FlowEndpoint<RoceProtocol> {
    fn on_data(&mut self, packet: &Packet, data: Data, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.receiver_of(packet.lo, cx) else {
            return;
        };
        let answer = self.receivers[index].on_data(data, packet.size, cx.now);
        self.report_arrival(index, cx);
        let receiver = &mut self.receivers[index];
        let (class, route) = (receiver.params.ack_class, receiver.route);
        if data.ce {
            match receiver.on_mark(cx.now) {
                Some(time) if time == cx.now => self.notify(index, cx),
                Some(time) => {
                    let number = self.receivers.number(index);
                    cx.set_timer(time, self.key(notification_timer(number)));
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
}
