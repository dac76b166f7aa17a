//! The sender and the receiver of a flow.

use weft_packet::{
    DATA, Feed, FlowEndpoint, FlowSetup, HostContext, Packet, Protocol, ReceiverFlow, SenderFlow, Sending,
};

use crate::{HEADER, Settings};

/// The protocol. The flows of a host share nothing.
#[derive(Default)]
pub struct StopAndWaitProtocol;

/// The state of a sender.
pub struct Sender {
    /// Number of packets that have arrived.
    acked: u64,
    /// Time at which the next packet was sent last; `None` if it waits.
    sent_at: Option<u64>,
}

impl Protocol for StopAndWaitProtocol {
    type Config = Settings;
    type Sender = Sender;
    type Receiver = ();
    type Next = u64;

    const FEED: Feed = Feed::Memory;

    fn sender(_: &FlowSetup<'_, Self>) -> Sender {
        Sender {
            acked: 0,
            sent_at: None,
        }
    }

    fn receiver(&mut self, _: &FlowSetup<'_, Self>) {}

    fn next(flow: &mut SenderFlow<Self>) -> Option<u64> {
        let next = flow.state.acked;
        (flow.state.sent_at.is_none() && flow.data.total() != Some(next)).then_some(next)
    }

    fn take_packet(flow: &mut SenderFlow<Self>, chunk: u64, sending: &Sending<'_>) -> Packet {
        if flow.data.sent() == chunk {
            flow.data.count();
        } else {
            flow.counters.retransmitted += 1;
        }
        flow.state.sent_at = Some(sending.now);
        flow.packet(chunk, flow.data.packet_size(chunk))
    }

    fn deadline(flow: &mut SenderFlow<Self>) -> Option<u64> {
        Some(flow.state.sent_at? + flow.params.config.timeout.0)
    }

    /// Lets a packet be sent again whose timeout is over.
    fn expire(flow: &mut SenderFlow<Self>, now: u64) {
        if Self::deadline(flow).is_some_and(|deadline| deadline <= now) {
            flow.state.sent_at = None;
            flow.counters.timeouts += 1;
        }
    }

    fn is_idle(flow: &SenderFlow<Self>) -> bool {
        flow.state.acked == flow.data.sent()
    }

    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if packet.is_trimmed() {
            return;
        }
        if packet.flags & DATA == 0 {
            let next = packet.chunk.into();
            endpoint.on_ack(packet.lo, |flow, _| on_ack(flow, next), cx);
            return;
        }
        let Some(index) = endpoint.receiver_of(packet.lo, cx) else {
            return;
        };
        let receiver = &mut endpoint.receivers[index];
        let ack = on_data(receiver, packet);
        endpoint.report_arrival(index, cx);
        endpoint.send_control(&ack, cx);
    }
}

/// Handles an acknowledgement of all packets before `next`. Returns true if it is that of all data.
fn on_ack(flow: &mut SenderFlow<StopAndWaitProtocol>, next: u64) -> bool {
    if next != flow.state.acked + 1 {
        return false;
    }
    flow.state.acked = next;
    flow.state.sent_at = None;
    flow.data.total() == Some(next)
}

/// Handles a data packet. Returns the acknowledgement.
fn on_data(flow: &mut ReceiverFlow<StopAndWaitProtocol>, packet: &Packet) -> Packet {
    flow.packets += 1;
    if u64::from(packet.chunk) == flow.chunks {
        flow.accept((u32::from(packet.size) - HEADER).into(), packet.time);
    }
    Packet {
        chunk: flow.chunks as u32,
        ..flow.answer(HEADER)
    }
}
