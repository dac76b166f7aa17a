//! The protocol at a host: its packets and timers.

use weft_run::SubflowRecord;
use weft_transports::SwiftConfig;

use crate::packet::{DATA, Packet};
use crate::transport::contract::RecordedState;
use crate::transport::endpoint::{FlowEndpoint, FlowSetup, Protocol, Sending};
use crate::transport::host_clock::HostClock;
use crate::transport::nic::Feed;
use crate::transport::shared::Shared;
use crate::transport::state::HostContext;
use crate::transport::tracer::SenderState;

use super::processor::Processor;
use super::receiver::{Receiver, SwiftReceiver};
use super::sender::{Next, Sender, SwiftSender};
use super::subflow::{SubflowReceiver, SubflowReceivers};
use super::wire::Ack;

/// Number of the timer of the host's processing. A sender has two of the smaller numbers, for its pace and its timeouts.
const PROCESSOR: u32 = u32::MAX;

/// The state that the flows of a host share.
#[derive(Default)]
pub struct SwiftProtocol {
    processor: Processor,
}

impl Protocol for SwiftProtocol {
    type Config = SwiftConfig;
    type Sender = SwiftSender;
    type Receiver = SwiftReceiver;
    type Next = Next;

    const FEED: Feed = Feed::MemoryUnlessPaused;
    const SHORTENS_TIMEOUTS: bool = true;
    const HAS_SUBFLOWS: bool = true;

    fn sender(flow: &FlowSetup<'_, Self>) -> SwiftSender {
        let config = &flow.params.config;
        let clock = HostClock::new(config.timestamp_errors(), flow.shared, flow.host);
        SwiftSender::new(config, clock)
    }

    fn receiver(&mut self, flow: &FlowSetup<'_, Self>) -> SwiftReceiver {
        SwiftReceiver {
            several: SubflowReceivers::new(flow),
            clock: HostClock::new(flow.params.config.timestamp_errors(), flow.shared, flow.host),
            ..SwiftReceiver::default()
        }
    }

    fn next(flow: &mut Sender) -> Option<Next> {
        flow.next_psn()
    }

    fn next_at(flow: &Sender) -> u64 {
        flow.state.next_at
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
        flow.state.flight.is_empty()
    }

    fn release(flow: &mut Sender) {
        flow.state.flight.clear();
        flow.state.deadline = None;
    }

    fn is_quiet(flow: &Receiver) -> bool {
        flow.state.unprocessed == 0
    }

    fn complete_record(flow: &Sender, record: &mut SubflowRecord) {
        record.packets_sent = u64::from(flow.state.flight.next()) + flow.counters.retransmitted;
        record.acked_bytes = Self::movable_bytes(flow);
        record.fast_retransmits = Some(flow.state.recoveries);
        record.cwnd = flow.state.window();
        record.srtt = flow.state.round_trips.srtt * 1e-12;
        record.control = Some(flow.counters.control());
    }

    fn recorded_state(_: &SwiftConfig) -> RecordedState {
        RecordedState::Samples
    }

    fn sender_state(flow: &Sender, _: u64) -> Option<SenderState> {
        Some(SenderState {
            cwnd: Some(flow.state.window()),
            rate: None,
        })
    }

    fn movable_bytes(flow: &Sender) -> Option<u64> {
        Some(match &flow.state.chunks {
            Some(chunks) => chunks.acked_bytes(),
            None => flow.data.bytes_before(flow.state.flight.una().into()),
        })
    }

    fn reroute_answers(flow: &mut Receiver, shared: &Shared) {
        if let Some(several) = &mut flow.state.several {
            let spec = shared.flow(flow.flow);
            for (number, subflow) in (0..).zip(&mut several.subflows) {
                subflow.route = shared.route_of_subflow(&spec, number, true);
            }
        }
    }

    fn received_packets(flow: &Receiver) -> Vec<u64> {
        match &flow.state.several {
            Some(several) => several.subflows.iter().map(|subflow| subflow.packets).collect(),
            None => vec![flow.packets],
        }
    }

    fn next_chunk(flow: &Receiver) -> u32 {
        match &flow.state.several {
            Some(several) => several.chunks.next(),
            None => flow.state.arrivals.next(),
        }
    }

    fn flow_bytes(config: &SwiftConfig) -> usize {
        match config.subflows {
            1 => 0,
            subflows => size_of::<SubflowReceivers>() + subflows as usize * size_of::<SubflowReceiver>(),
        }
    }

    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        if packet.is_trimmed() {
            // The checksum does not match, so the NIC discards the packet.
            return;
        }
        if packet.flags & DATA == 0 {
            let Some(index) = endpoint.senders.index_of(packet.lo) else {
                return;
            };
            if endpoint.senders[index].state.chunks.is_some() {
                endpoint.on_ack_of_subflow(packet, cx);
                return;
            }
            let ack = Ack::read(packet, cx.now);
            let is_acked = |sender: &mut Sender, now| sender.on_ack(ack, now) && sender.data.is_sent();
            endpoint.on_ack_at(index, is_acked, cx);
            endpoint.set_deadline(index, cx);
            return;
        }
        let Some(index) = endpoint.receiver_of(packet.lo, cx) else {
            return;
        };
        let receiver = &mut endpoint.receivers[index];
        receiver.count(packet);
        if receiver.params.config.host_time.0 == 0 {
            endpoint.acknowledge(index, packet, cx.now, cx);
            return;
        }
        receiver.state.unprocessed += 1;
        let is_busy = endpoint.protocol.processor.is_busy();
        endpoint.protocol.processor.add(packet, cx.now);
        if !is_busy {
            endpoint.process_next(cx);
        }
    }

    fn on_timer(endpoint: &mut FlowEndpoint<Self>, timer: u32, cx: &mut HostContext<'_, '_>) {
        match timer {
            PROCESSOR => endpoint.on_processed(cx),
            timer if timer.is_multiple_of(2) => endpoint.on_rate_timer(timer / 2, cx),
            timer => endpoint.on_sender_timer(timer / 2, cx),
        }
    }

    fn rate_timer(sender: u32) -> u32 {
        2 * sender
    }

    fn timeout_timer(sender: u32) -> u32 {
        2 * sender + 1
    }
}

impl FlowEndpoint<SwiftProtocol> {
    /// Handles an acknowledgement of a flow with several subflows.
    #[inline(never)]
    fn on_ack_of_subflow(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let (subflow, ack) = Ack::read_of_subflow(packet, cx.now);
        self.on_subflow_ack(
            (packet.lo, subflow),
            |sender, now| sender.on_subflow_ack(ack, now),
            cx,
        );
    }

    /// Accepts a packet that arrived at this time, and acknowledges it.
    fn acknowledge(&mut self, index: u32, packet: &Packet, arrived: u64, cx: &mut HostContext<'_, '_>) {
        let ack = self.receivers[index].on_data(packet, arrived, cx.now);
        self.report_arrival(index, cx);
        cx.send(&ack);
    }

    /// Begins to process the packet that waits first.
    fn process_next(&mut self, cx: &mut HostContext<'_, '_>) {
        let flow = self.protocol.processor.next_flow();
        if let Some(receiver) = flow.and_then(|flow| self.receivers.find(flow)) {
            let due = cx.now + receiver.params.config.host_time.0;
            cx.set_timer(due, self.key(PROCESSOR));
        }
    }

    /// Handles the packet that has been processed.
    fn on_processed(&mut self, cx: &mut HostContext<'_, '_>) {
        let Some((packet, arrived)) = self.protocol.processor.take() else {
            return;
        };
        if let Some(index) = self.receivers.index_of(packet.lo) {
            self.receivers[index].state.unprocessed -= 1;
            self.acknowledge(index, &packet, arrived, cx);
        }
        self.process_next(cx);
    }
}
