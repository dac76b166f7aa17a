//! The protocol at a host: sources send packets when they are due.

use weft_run::WireFormat;
use weft_transports::ConstantRateConfig;

use crate::packet::{DATA, PROTECTED, Packet};
use crate::transport::endpoint::flows::{ReceiverFlow, SenderFlow};
use crate::transport::endpoint::{FlowEndpoint, FlowSetup, Protocol, Sending};
use crate::transport::nic::Feed;
use crate::transport::state::HostContext;

use super::schedule::Schedule;

/// Bytes that wait at the port of a host with a NIC before a source waits, if the host has only sources. A socket of
/// Linux blocks at this size (`wmem_default`).
const SOCKET_BUFFER: u32 = 212_992;

/// The packets that a receiver has.
pub struct Arrived {
    /// All packets before this one have arrived.
    next: u32,
    /// Number of all packets of the flow; `None` if it has no size.
    total: Option<u64>,
}

/// The flows of a host share nothing.
#[derive(Default)]
pub struct SourceProtocol;

impl Protocol for SourceProtocol {
    type Config = ConstantRateConfig;
    type Sender = Schedule;
    type Receiver = Arrived;
    type Next = u16;

    const FEED: Feed = Feed::Ring;
    const BACKLOG: u32 = SOCKET_BUFFER;

    fn sender(flow: &FlowSetup<'_, Self>) -> Schedule {
        let params = &flow.params;
        Schedule::new(
            params.config,
            flow.shared.seed,
            flow.spec.id,
            flow.now,
            params.full_size,
        )
    }

    fn receiver(&mut self, flow: &FlowSetup<'_, Self>) -> Arrived {
        Arrived {
            next: 0,
            total: flow.size().map(|size| flow.params.segments.count(size)),
        }
    }

    fn next(flow: &mut SenderFlow<Self>) -> Option<u16> {
        flow.data.next_size()
    }

    fn take_packet(flow: &mut SenderFlow<Self>, size: u16, _: &Sending<'_>) -> Packet {
        let chunk = flow.data.count();
        flow.packet(chunk, size)
    }

    fn next_chunk(flow: &ReceiverFlow<Self>) -> u32 {
        flow.state.next
    }

    /// A source sends at its rate, also if its link is faster.
    fn wire_format(config: &ConstantRateConfig, format: WireFormat) -> WireFormat {
        WireFormat {
            schedule: Some(*config),
            ..format
        }
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
        endpoint.on_ack(packet.lo, |_, _| true, cx);
    }

    fn on_timer(endpoint: &mut FlowEndpoint<Self>, sender: u32, cx: &mut HostContext<'_, '_>) {
        if let Some(index) = endpoint.senders.index_of_number(sender) {
            endpoint.send_due(index, cx);
        }
    }

    fn on_open(endpoint: &mut FlowEndpoint<Self>, sender: u32, cx: &mut HostContext<'_, '_>) {
        let first = endpoint.senders[sender].state.next_time();
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
        // Packets arrive once, because nothing is sent again.
        let receiver = &mut self.receivers[index];
        let header = receiver.params.header;
        receiver.packets += 1;
        receiver.accept((u32::from(packet.size) - header).into(), packet.time);
        receiver.state.next += u32::from(packet.chunk == receiver.state.next);
        self.report_arrival(index, cx);
        let receiver = &self.receivers[index];
        if receiver.state.total == Some(receiver.packets) {
            let mut answer = receiver.answer(header);
            answer.flags |= PROTECTED;
            cx.send(&answer);
        }
    }

    /// Sends a packet of a flow that is due, and more if the NIC admits them in a turn and they are due, too. Sets the
    /// timer of the next one.
    fn send_due(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        while let Some((port, size)) = self.next_packet(index) {
            let (nics, engine) = cx.nics();
            let is_shared = nics.is_shared();
            if is_shared {
                let request = || self.request(index);
                if !nics.admit(request().flow, port, 1, request, engine) {
                    self.senders[index].waits.insert(port);
                    return;
                }
            }
            let packet = self.take_packet(index, size, port, cx);
            cx.send(&packet);
            let sender = &mut self.senders[index];
            if sender.data.is_sent() {
                return;
            }
            let next = sender.state.next_time();
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
        cx.set_timer(time, self.key(self.senders.number(index)));
    }
}
