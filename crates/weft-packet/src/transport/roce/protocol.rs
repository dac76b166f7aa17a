//! The protocol at a host: its packets and timers.

use weft_transports::TransportConfig;

use crate::packet::Packet;
use crate::transport::endpoint::{FlowEndpoint, FlowSetup, Protocol};
use crate::transport::flow_progress::{ReceiverProgress, SenderProgress};
use crate::transport::nic::Feed;
use crate::transport::state::HostContext;

use super::config;
use super::params::Params;
use super::receiver::Receiver;
use super::sender::Sender;
use super::wire::{Content, Data, Nak, cnp_packet};

/// The flows of a host share nothing.
#[derive(Default)]
pub struct RoceProtocol;

/// Returns the number of the timer that paces a receiver's congestion notifications. A sender has two, one for
/// its rate and one for timeouts; the remainder of division by three tells the three kinds apart.
fn notification_timer(receiver: u32) -> u32 {
    3 * receiver + 2
}

impl Protocol for RoceProtocol {
    type Params = Params;
    type Sender = Sender;
    type Receiver = Receiver;

    const FEED: Feed = Feed::MemoryUnlessPaused;

    fn params(transport: &TransportConfig) -> Option<Params> {
        Some(Params::new(transport, config(transport)?))
    }

    fn sender(flow: FlowSetup<'_, Params>, progress: SenderProgress) -> Sender {
        let shared = flow.shared;
        let route = shared.route_of_flow(progress.flow, false);
        let first = shared.fabric.first_link(shared.fabric.hosts[flow.host as usize]);
        let port = route.next(shared.hops).0;
        let line_rate = shared.fabric.links[first + port as usize].rate.0 as f64;
        let size = flow.spec.size.map(|size| size.0);
        Sender::new(flow.params, route, line_rate, size, progress)
    }

    fn receiver(&mut self, flow: FlowSetup<'_, Params>, progress: ReceiverProgress) -> Receiver {
        let route = flow.shared.route_of_flow(progress.flow, true);
        Receiver::new(flow.params, route, progress)
    }

    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if packet.is_trimmed() {
            // The checksum does not match, so the NIC discards the packet.
            return;
        }
        let (flow, now) = (packet.lo, cx.now);
        match Content::read(packet) {
            Content::Data(data) => endpoint.on_data(packet, data, cx),
            Content::Ack(expected) => {
                endpoint.on_ack(flow, |sender, now| sender.on_ack(expected, now), cx);
            }
            Content::Nak(nak) => endpoint.on_nak(flow, nak, cx),
            Content::Cnp => {
                if let Some(sender) = endpoint.senders.find_mut(flow) {
                    sender.on_cnp(now);
                }
            }
        }
    }

    fn on_timer(endpoint: &mut FlowEndpoint<Self>, timer: u32, cx: &mut HostContext<'_, '_>) {
        let index = timer / 3;
        match timer % 3 {
            0 => endpoint.on_rate_timer(index, cx),
            1 => {
                endpoint.on_timeout(index, Sender::on_timer, cx);
                endpoint.request_nic(index, cx);
            }
            _ => endpoint.notify(index, cx),
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
                Some(time) => cx.set_timer(time, self.key(notification_timer(index))),
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
        let packet = cnp_packet(receiver.progress.flow, receiver.params.ack_class);
        let route = receiver.route;
        cx.send(&Packet { route, ..packet });
    }

    fn on_nak(&mut self, flow: u32, nak: Nak, cx: &mut HostContext<'_, '_>) {
        let now = cx.now;
        self.update_sender(flow, |sender| sender.on_nak(nak, now), cx);
    }
}
