//! The sender and the receiver of a flow.

use std::sync::Arc;

use weft_packet::{
    DATA, Feed, FlowEndpoint, FlowReceiver, FlowSender, FlowSetup, HostContext, NON_TCP, Packet, Protocol,
    ReceiverProgress, Route, SenderProgress, Shared, SubflowRecord, class_flags,
};
use weft_transports::TransportConfig;

use crate::{HEADER, Settings};

/// The protocol. The flows of a host share nothing.
#[derive(Default)]
pub struct StopAndWaitProtocol;

/// The constants of a transport.
pub struct Params {
    settings: Settings,
    /// Flags of the traffic class of data and of acknowledgements.
    class: u16,
    ack_class: u16,
}

/// The sender of a flow.
pub struct Sender {
    params: Arc<Params>,
    route: Route,
    /// Bytes of the flow; `None` if it has no end yet.
    size: Option<u64>,
    /// Number of packets that have arrived.
    acked: u64,
    /// Time at which the next packet was sent last; `None` if it waits.
    sent_at: Option<u64>,
    record: SubflowRecord,
    progress: SenderProgress,
}

impl Sender {
    /// Returns the payload of packet `n`.
    fn payload(&self, n: u64) -> u64 {
        let full = u64::from(self.params.settings.payload);
        self.size.map_or(full, |size| full.min(size - n * full))
    }

    /// Handles an acknowledgement of all packets before `next`. Returns true if it is that of all data.
    fn on_ack(&mut self, next: u64, now: u64) -> bool {
        if next != self.acked + 1 {
            return false;
        }
        self.acked = next;
        self.sent_at = None;
        let is_complete = self.total() == Some(next);
        self.progress.acked = is_complete.then_some(now);
        is_complete
    }

    /// Lets a packet be sent again whose timeout is over.
    fn expire(&mut self, now: u64) {
        if self
            .sent_at
            .is_some_and(|sent| sent + self.params.settings.timeout.0 <= now)
        {
            self.sent_at = None;
            self.record.timeouts += 1;
        }
    }
}

impl FlowSender for Sender {
    fn progress(&self) -> &SenderProgress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut SenderProgress {
        &mut self.progress
    }

    fn full_packet(&self) -> (u16, u32) {
        (self.params.class, self.params.settings.payload + HEADER)
    }

    fn may_send(&mut self) -> bool {
        self.sent_at.is_none() && self.total() != Some(self.acked)
    }

    fn next_port(&mut self, shared: &Shared) -> Option<u32> {
        let may_send = self.progress.waits.is_empty() && self.may_send();
        may_send.then(|| self.route.next(shared.hops).0)
    }

    fn take_packet(&mut self, now: u64, _: u32, _: u32, _: &Shared) -> Option<Packet> {
        if !self.may_send() {
            return None;
        }
        self.sent_at = Some(now);
        self.record.packets_sent += 1;
        Some(Packet {
            route: self.route,
            lo: self.progress.flow,
            chunk: self.acked as u32,
            size: (self.payload(self.acked) + u64::from(HEADER)) as u16,
            flags: DATA | NON_TCP | self.params.class,
            ..Packet::default()
        })
    }

    fn deadline(&mut self) -> Option<u64> {
        Some(self.sent_at? + self.params.settings.timeout.0)
    }

    fn stop(&mut self, now: u64) -> bool {
        let full = u64::from(self.params.settings.payload);
        self.size = Some((self.acked + u64::from(self.sent_at.is_some())) * full);
        let is_complete = self.sent_at.is_none();
        self.progress.acked = is_complete.then_some(now);
        is_complete
    }

    fn reroute(&mut self, shared: &Shared) {
        self.route = shared.route_of_flow(self.progress.flow, false);
    }

    fn sent(&self) -> u64 {
        self.acked + u64::from(self.sent_at.is_some())
    }

    fn total(&self) -> Option<u64> {
        Some(self.size?.div_ceil(self.params.settings.payload.into()))
    }

    fn record(&self) -> SubflowRecord {
        self.record.clone()
    }
}

/// The receiver of a flow.
pub struct Receiver {
    params: Arc<Params>,
    route: Route,
    progress: ReceiverProgress,
}

impl FlowReceiver for Receiver {
    fn progress(&self) -> &ReceiverProgress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut ReceiverProgress {
        &mut self.progress
    }

    fn next_chunk(&self) -> u32 {
        self.progress.chunks as u32
    }

    fn reroute(&mut self, shared: &Shared) {
        self.route = shared.route_of_flow(self.progress.flow, true);
    }
}

impl Protocol for StopAndWaitProtocol {
    type Params = Params;
    type Sender = Sender;
    type Receiver = Receiver;

    const FEED: Feed = Feed::Memory;

    fn params(transport: &TransportConfig) -> Option<Params> {
        Some(Params {
            settings: transport.parameters_of().copied()?,
            class: class_flags(transport.class),
            ack_class: class_flags(transport.ack_class),
        })
    }

    fn sender(flow: FlowSetup<'_, Params>, progress: SenderProgress) -> Sender {
        Sender {
            route: flow.shared.route_of_flow(progress.flow, false),
            size: flow.spec.size.map(|size| size.0),
            params: flow.params,
            acked: 0,
            sent_at: None,
            record: SubflowRecord::default(),
            progress,
        }
    }

    fn receiver(&mut self, flow: FlowSetup<'_, Params>, progress: ReceiverProgress) -> Receiver {
        let route = flow.shared.route_of_flow(progress.flow, true);
        Receiver {
            params: flow.params,
            route,
            progress,
        }
    }

    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if packet.is_trimmed() {
            return;
        }
        if packet.flags & DATA == 0 {
            let next = packet.chunk.into();
            endpoint.on_ack(packet.lo, |sender, now| sender.on_ack(next, now), cx);
            return;
        }
        let Some(index) = endpoint.receiver_of(packet.lo, cx) else {
            return;
        };
        let receiver = &mut endpoint.receivers[index];
        receiver.progress.packets += 1;
        if u64::from(packet.chunk) == receiver.progress.chunks {
            let payload = u32::from(packet.size) - HEADER;
            receiver.progress.accept(payload.into(), packet.time);
        }
        let ack = Packet {
            route: receiver.route,
            lo: packet.lo,
            chunk: receiver.next_chunk(),
            size: HEADER as u16,
            flags: NON_TCP | receiver.params.ack_class,
            ..Packet::default()
        };
        endpoint.report_arrival(index, cx);
        endpoint.send_control(&ack, cx);
    }

    fn on_timer(endpoint: &mut FlowEndpoint<Self>, sender: u32, cx: &mut HostContext<'_, '_>) {
        endpoint.on_timeout(sender, Sender::expire, cx);
        endpoint.request_nic(sender, cx);
    }
}
