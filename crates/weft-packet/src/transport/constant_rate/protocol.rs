//! The protocol at a host: sources send packets when they are due.

use weft_transports::TransportConfig;

use crate::packet::{DATA, Packet};
use crate::transport::endpoint::{FlowEndpoint, FlowSender, FlowSetup, Protocol};
use crate::transport::flow_progress::{ReceiverProgress, SenderProgress};
use crate::transport::nic::Feed;
use crate::transport::state::HostContext;

use super::params::Params;
use super::receiver::Receiver;
use super::schedule::Schedule;
use super::sender::Sender;

/// Bytes that wait at the port of a host with a NIC before a source waits, if the host has only sources. A socket of
/// Linux blocks at this size (`wmem_default`).
const SOCKET_BUFFER: u32 = 212_992;

/// The flows of a host share nothing.
#[derive(Default)]
pub struct SourceProtocol;

impl Protocol for SourceProtocol {
    type Params = Params;
    type Sender = Sender;
    type Receiver = Receiver;

    const FEED: Feed = Feed::Ring;
    const BACKLOG: u32 = SOCKET_BUFFER;

    fn params(transport: &TransportConfig) -> Option<Params> {
        Params::new(transport)
    }

    fn sender(flow: FlowSetup<'_, Params>, progress: SenderProgress) -> Sender {
        let FlowSetup {
            spec, params, shared, ..
        } = flow;
        let packet = params.payload + params.header;
        let schedule = Schedule::new(params.config, shared.seed, spec.id, progress.opened, packet);
        let route = shared.route_of_flow(progress.flow, false);
        Sender::new(params, route, schedule, spec.size.map(|size| size.0), progress)
    }

    fn receiver(&mut self, flow: FlowSetup<'_, Params>, progress: ReceiverProgress) -> Receiver {
        Receiver::new(flow.params, flow.spec.size.map(|size| size.0), progress)
    }

    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if packet.is_trimmed() {
            // Nothing is repeated, so a header is of no use.
            return;
        }
        if packet.flags & DATA != 0 {
            endpoint.on_data(packet, cx);
            return;
        }
        let now = cx.now;
        if let Some(sender) = endpoint.senders.find_mut(packet.lo) {
            sender.progress.acked = Some(now);
        }
        cx.on_acked(packet.lo);
    }

    fn on_timer(endpoint: &mut FlowEndpoint<Self>, sender: u32, cx: &mut HostContext<'_, '_>) {
        endpoint.send_due(sender, cx);
    }

    fn on_open(endpoint: &mut FlowEndpoint<Self>, sender: u32, cx: &mut HostContext<'_, '_>) {
        let first = endpoint.senders[sender].schedule.next_time();
        endpoint.wait_until(first, sender, cx);
    }

    fn on_turn(endpoint: &mut FlowEndpoint<Self>, sender: u32, _: u32, cx: &mut HostContext<'_, '_>) {
        endpoint.send_due(sender, cx);
    }
}

impl FlowEndpoint<SourceProtocol> {
    fn on_data(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.receiver_of(packet.lo, cx) else {
            return;
        };
        self.receivers[index].on_data(packet);
        self.report_arrival(index, cx);
        if let Some(answer) = self.receivers[index].answer() {
            let route = self.shared.route_of_flow(packet.lo, true);
            cx.send(&Packet { route, ..answer });
        }
    }

    /// Sends a packet of a flow that is due, and more if the NIC admits them in a turn and they are due, too. Sets the
    /// timer of the next one.
    fn send_due(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        while let Some(port) = self.senders[index].next_port(&self.shared) {
            let (nics, engine) = cx.nics();
            let is_shared = nics.is_shared();
            if is_shared {
                let request = || self.request(index);
                if !nics.admit(request().flow, port, 1, request, engine) {
                    self.senders[index].progress.waits.insert(port);
                    return;
                }
            }
            let Some(packet) = self.take_packet(index, port, cx) else {
                return;
            };
            cx.send(&packet);
            let sender = &mut self.senders[index];
            if !sender.may_send() {
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
        cx.set_timer(time, self.key(index));
    }
}
