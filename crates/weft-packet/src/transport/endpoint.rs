//! The endpoint of a kind of transport other than TCP at a host: its senders and receivers, with what those of all
//! protocols do alike. A [`Protocol`] adds what is its own.

pub mod flows;

use std::sync::Arc;

use weft_run::{SubflowRecord, WireFormat};
use weft_traffic::Flow;
use weft_transports::{Kind, Parameters, TransportConfig};

use crate::engine::route::Route;
use crate::packet::{DATA, Packet};

use super::contract::{ENTRY_BYTES, ReceivedFlow, RecordedState, SentFlow, Transport, TransportKind};
use super::flow_data::FlowData;
use super::flow_table::FlowTable;
use super::nic::{Feed, NicFlow, Request, WINDOW};
use super::paths_ahead::PathsAhead;
use super::per_transport::PerTransport;
use super::port_set::PortSet;
use super::segments::Segments;
use super::shared::Shared;
use super::state::HostContext;
use super::timer_keys::endpoint_timer;
use super::tracer::SenderState;
use flows::{FlowParams, ReceiverFlow, SenderCounters, SenderFlow, Siblings};

/// A protocol: its senders, receivers, packets and timers. A value has what the flows of a host share, as a pacer of
/// receivers.
pub trait Protocol: Default + Send + Sized + 'static {
    /// The parameters of a transport.
    type Config: Parameters + Clone;
    /// The state of a flow at its sender.
    type Sender: Send;
    /// The state of a flow at its receiver.
    type Receiver: Send;
    /// A packet that may be sent.
    type Next;

    /// How data reaches the port of its link.
    const FEED: Feed;
    /// Bytes that a flow may have in a FIFO of the host.
    const BACKLOG: u32 = WINDOW;
    /// Whether each packet has a path of its own. Otherwise a subflow has one route.
    const SPRAYS: bool = false;
    /// Whether a flow may have several subflows. Each is a sender that takes data when it may send.
    const HAS_SUBFLOWS: bool = false;
    /// Whether the time of the next timeout may become earlier. Otherwise a timer that is set is not looked at before it is due.
    const SHORTENS_TIMEOUTS: bool = false;

    /// Creates the state of a flow that opens at its sender, or of one of its subflows.
    fn sender(flow: &FlowSetup<'_, Self>) -> Self::Sender;

    /// Creates the state of a flow whose first packet has arrived at its receiver.
    fn receiver(&mut self, flow: &FlowSetup<'_, Self>) -> Self::Receiver;

    /// Returns the next packet that may be sent, whatever the rate; `None` if there is none. Not all data of the flow has
    /// been acknowledged.
    fn next(flow: &mut SenderFlow<Self>) -> Option<Self::Next>;

    /// Returns the time from which on the rate allows the next packet.
    fn next_at(_flow: &SenderFlow<Self>) -> u64 {
        0
    }

    /// Sends the next packet now. Returns it.
    fn take_packet(flow: &mut SenderFlow<Self>, next: Self::Next, sending: &Sending<'_>) -> Packet;

    /// Returns the path of the next packet, if packets are sprayed. It is another one than `avoided` if there is one.
    fn choose_path(_flow: &mut SenderFlow<Self>, _avoided: Option<u16>) -> u16 {
        0
    }

    /// Returns the route of a path.
    fn route_of_path(flow: &mut SenderFlow<Self>, _path: u16, _shared: &Shared) -> Route {
        flow.route
    }

    /// Forgets the routes of paths, because links have failed or work again.
    fn forget_routes(_flow: &mut SenderFlow<Self>) {}

    /// Forgets the routes of paths of answers, because links have failed or work again.
    fn forget_answer_routes(_flow: &mut ReceiverFlow<Self>) {}

    /// Chooses new routes for answers of further subflows, because links have failed or work again.
    fn reroute_answers(_flow: &mut ReceiverFlow<Self>, _shared: &Shared) {}

    /// Returns the time at which the oldest packet on its way times out; `None` if there is none.
    fn deadline(_flow: &mut SenderFlow<Self>) -> Option<u64> {
        None
    }

    /// Handles the time of a timeout, which may have changed since the timer was set.
    fn expire(_flow: &mut SenderFlow<Self>, _now: u64) {}

    /// Returns true if all packets that were sent have been acknowledged.
    fn is_idle(_flow: &SenderFlow<Self>) -> bool {
        false
    }

    /// Releases the memory of a flow all of whose data has been acknowledged.
    fn release(_flow: &mut SenderFlow<Self>) {}

    /// Returns true if the receiver of a flow that has ended sends nothing unless a packet arrives.
    fn is_quiet(_flow: &ReceiverFlow<Self>) -> bool {
        true
    }

    /// Adds to the record of a sender what only the protocol counts.
    fn complete_record(_flow: &SenderFlow<Self>, _record: &mut SubflowRecord) {}

    /// Returns what probes record of the senders of flows.
    fn recorded_state(_config: &Self::Config) -> RecordedState {
        RecordedState::Nothing
    }

    /// Returns the state of a sender for probes.
    fn sender_state(_flow: &SenderFlow<Self>, _now: u64) -> Option<SenderState> {
        None
    }

    /// Returns the acknowledged bytes of a flow that a controller may move to another path.
    fn movable_bytes(_flow: &SenderFlow<Self>) -> Option<u64> {
        None
    }

    /// Returns the number of data packets that have arrived, by subflow.
    fn received_packets(flow: &ReceiverFlow<Self>) -> Vec<u64> {
        vec![flow.packets]
    }

    /// Returns the number of packets with data before the first missing one.
    fn next_chunk(flow: &ReceiverFlow<Self>) -> u32 {
        flow.chunks as u32
    }

    /// Returns the bytes of an open flow, at both ends, in addition to its states.
    fn flow_bytes(_config: &Self::Config) -> usize {
        0
    }

    /// Returns the packets of a flow on the wire, given those of a flow that sends as fast as its link.
    fn wire_format(_config: &Self::Config, format: WireFormat) -> WireFormat {
        format
    }

    /// Handles a packet of a flow.
    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>);

    /// Handles the timer with this number.
    fn on_timer(endpoint: &mut FlowEndpoint<Self>, timer: u32, cx: &mut HostContext<'_, '_>) {
        endpoint.on_sender_timer(timer, cx);
    }

    /// Returns the number of the timer of a sender's timeouts. `sender` is the number of the sender, not its index.
    fn timeout_timer(sender: u32) -> u32 {
        sender
    }

    /// Returns the number of the timer of a sender that waits until its rate allows a packet. `sender` is the number of
    /// the sender, not its index.
    fn rate_timer(sender: u32) -> u32 {
        sender
    }

    /// Handles a new sender, or a new subflow of one.
    fn on_open(endpoint: &mut FlowEndpoint<Self>, sender: u32, cx: &mut HostContext<'_, '_>) {
        endpoint.request_nic(sender, cx);
    }

    /// Handles the turn of a sender at the NIC of a port.
    fn on_turn(endpoint: &mut FlowEndpoint<Self>, sender: u32, port: u32, cx: &mut HostContext<'_, '_>) {
        endpoint.send_or_wait(sender, Some(port), cx);
    }
}

/// A flow whose sender or receiver is created.
pub struct FlowSetup<'a, P: Protocol> {
    /// The flow.
    pub spec: Flow,
    /// Index of this end's host.
    pub host: u32,
    /// The constants of its transport.
    pub params: Arc<FlowParams<P::Config>>,
    /// Route of this direction, if the flow has one path.
    pub route: Route,
    /// State that all hosts share.
    pub shared: &'a Shared,
    /// The time.
    pub now: u64,
}

impl<P: Protocol> FlowSetup<'_, P> {
    /// Returns the bytes of the flow; `None` if it has no end yet.
    pub fn size(&self) -> Option<u64> {
        self.spec.size.map(|size| size.0)
    }
}

/// The circumstances in which a packet is sent.
pub struct Sending<'a> {
    /// The time.
    pub now: u64,
    /// The port through which the packet leaves the host.
    pub port: u32,
    /// Number of flows that wait for the NIC of this port, the one that sends included.
    pub waiting: u32,
    /// State that all hosts share.
    pub shared: &'a Shared,
    /// Index of the host.
    pub host: u32,
}

impl Sending<'_> {
    /// Returns the node of the host.
    pub fn node(&self) -> u32 {
        self.shared.fabric.hosts[self.host as usize]
    }
}

/// A kind of transport whose endpoints have a protocol.
pub trait ProtocolKind: Kind {
    /// The protocol.
    type Protocol: Protocol;
}

/// Returns the parameters of a transport of this protocol.
fn config<P: Protocol>(transport: &TransportConfig) -> Option<&P::Config> {
    transport.parameters_of()
}

impl<K: ProtocolKind> TransportKind for K {
    fn packets(&self, transport: &TransportConfig, bytes: u64) -> u64 {
        Segments::for_transport(transport).count(bytes)
    }

    /// No transport of this kind has a handshake before its data.
    fn wire_format(&self, transport: &TransportConfig) -> WireFormat {
        let sizes = transport.sizes();
        let format = WireFormat {
            message: transport.parameters.message_size().map(|size| size.0),
            paths: (!K::Protocol::SPRAYS).then(|| transport.subflows()),
            ..WireFormat::new(sizes.payload, sizes.header)
        };
        match config::<K::Protocol>(transport) {
            Some(config) => K::Protocol::wire_format(config, format),
            None => format,
        }
    }

    fn open_flow_bytes(&self, transport: &TransportConfig) -> u64 {
        let senders = transport.subflows() as usize * size_of::<SenderFlow<K::Protocol>>();
        let ends = senders + size_of::<ReceiverFlow<K::Protocol>>();
        let more = config::<K::Protocol>(transport).map_or(0, K::Protocol::flow_bytes);
        (ends + 2 * ENTRY_BYTES + more) as u64
    }

    fn recorded_state(&self, transport: &TransportConfig) -> RecordedState {
        config::<K::Protocol>(transport).map_or(RecordedState::Nothing, K::Protocol::recorded_state)
    }

    fn create(&self, shared: &Arc<Shared>, host: u32, kind: usize) -> Box<dyn Transport> {
        Box::new(FlowEndpoint::<K::Protocol>::new(Arc::clone(shared), host, kind))
    }
}

/// The senders and receivers of a protocol at a host.
pub struct FlowEndpoint<P: Protocol> {
    /// State that all hosts share.
    pub shared: Arc<Shared>,
    host: u32,
    kind: usize,
    params: PerTransport<FlowParams<P::Config>>,
    /// The senders of the host's flows.
    pub senders: FlowTable<SenderFlow<P>>,
    /// The receivers of the flows to the host.
    pub receivers: FlowTable<ReceiverFlow<P>>,
    /// State that the flows of the host share.
    pub protocol: P,
    /// The flows that this host sends, all of whose data has been acknowledged, and that have not been freed.
    ended: Vec<u32>,
    /// Number of timeouts of flows that have been freed.
    freed_timeouts: u64,
}

impl<P: Protocol> FlowEndpoint<P> {
    /// Creates the endpoint of an idle host. The kind of transport has this number.
    pub fn new(shared: Arc<Shared>, host: u32, kind: usize) -> Self {
        Self {
            params: PerTransport::new(shared.transports.len()),
            shared,
            host,
            kind,
            senders: FlowTable::default(),
            receivers: FlowTable::default(),
            protocol: P::default(),
            ended: Vec::new(),
            freed_timeouts: 0,
        }
    }

    /// Returns what is known of a flow before its sender or receiver exists; `None` if its transport is of another kind.
    fn set_up<'a>(
        shared: &'a Shared,
        host: u32,
        (flow, reverse): (u32, bool),
        now: u64,
        params: &mut PerTransport<FlowParams<P::Config>>,
    ) -> Option<FlowSetup<'a, P>> {
        let spec = shared.flow(flow);
        let create = || FlowParams::new(&shared.transports[spec.transport as usize]);
        let route = if P::SPRAYS {
            Route::default()
        } else {
            shared.route_of_subflow(&spec, 0, reverse)
        };
        Some(FlowSetup {
            params: params.get(spec.transport, create)?,
            spec,
            host,
            route,
            shared,
            now,
        })
    }

    /// Returns the key of the timer with this number.
    pub fn key(&self, timer: u32) -> u64 {
        endpoint_timer(self.kind, timer)
    }

    /// Sends a packet without payload when the NIC has time for it.
    pub fn send_control(&self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let (nics, engine) = cx.nics();
        nics.send_control(self.kind as u32, packet, engine);
    }

    /// Returns the request of a sender for the NIC.
    pub fn request(&self, index: u32) -> Request {
        let params = &self.senders[index].params;
        Request {
            flow: NicFlow {
                kind: self.kind as u32,
                index,
            },
            feed: P::FEED,
            class: params.class,
            size: params.full_size,
            backlog: P::BACKLOG,
        }
    }

    /// Sends packets of a flow on the links that are free, as far as it may send them. The flow waits for its turn at the other
    /// links, or until its rate allows a packet.
    pub fn request_nic(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        self.send_or_wait(index, None, cx);
    }

    /// Does the same as [`request_nic`](Self::request_nic). It is the turn of the flow at port `granted`.
    #[inline]
    fn send_or_wait(&mut self, index: u32, mut granted: Option<u32>, cx: &mut HostContext<'_, '_>) {
        let mut busy = None;
        while let Some((port, next)) = self.next_packet(index) {
            if granted == Some(port) || (busy != Some(port) && self.is_free(index, port, cx)) {
                (granted, busy) = (None, Some(port));
                self.send(index, next, port, cx);
            } else {
                self.wait(index, port, cx);
            }
        }
    }

    /// Returns the next packet of a flow and its port, if it may send one and waits for no packet of this port.
    #[inline]
    pub fn next_packet(&mut self, index: u32) -> Option<(u32, P::Next)> {
        let mut flow = &mut self.senders[index];
        if P::SPRAYS && flow.ahead.is_some() {
            return Self::next_of_many_ports(flow, &self.shared);
        }
        if !flow.waits.is_empty() {
            return None;
        }
        if P::HAS_SUBFLOWS && flow.siblings.exist() {
            self.take_data(index);
            flow = &mut self.senders[index];
        }
        let next = flow.sendable()?;
        let port = if P::SPRAYS {
            0
        } else {
            flow.route.next(self.shared.hops).0
        };
        Some((port, next))
    }

    /// Moves the data of a flow with several subflows to the one at this index.
    #[inline(never)]
    fn take_data(&mut self, index: u32) {
        let first = match self.senders[index].siblings {
            Siblings::None => return,
            Siblings::First(..) => index,
            Siblings::Further(first) => first,
        };
        let Siblings::First(_, holder) = &mut self.senders[first].siblings else {
            return;
        };
        let former = std::mem::replace(holder, index);
        if let Some([from, to]) = self.senders.pair_mut(former, index) {
            std::mem::swap(&mut from.data, &mut to.data);
        }
    }

    /// Returns the indices of the subflows of the flow whose first one is at an index, in order.
    fn subflows(&self, first: u32) -> impl Iterator<Item = u32> {
        let indices: &[u32] = match &self.senders[first].siblings {
            Siblings::First(indices, _) => indices,
            _ => &[],
        };
        // A flow with one subflow has no list.
        std::iter::once(first).chain(indices.iter().skip(1).copied())
    }

    /// Returns the index of the subflow of a flow; `None` if it does not exist.
    pub fn subflow_of(&self, flow: u32, subflow: u32) -> Option<u32> {
        self.subflows(self.senders.index_of(flow)?).nth(subflow as usize)
    }

    fn next_of_many_ports(flow: &mut SenderFlow<P>, shared: &Shared) -> Option<(u32, P::Next)> {
        let next = flow.sendable()?;
        let (mut ahead, waits) = (flow.ahead.take()?, flow.waits);
        let port = ahead.next_port(waits, || {
            let path = P::choose_path(flow, None);
            (P::route_of_path(flow, path, shared).next(shared.hops).0, path)
        });
        flow.ahead = Some(ahead);
        Some((port?, next))
    }

    /// Returns true if the rate of a flow and the NIC of a port allow a packet now.
    fn is_free(&self, index: u32, port: u32, cx: &mut HostContext<'_, '_>) -> bool {
        let (nics, engine) = cx.nics();
        P::next_at(&self.senders[index]) <= engine.now
            && nics.is_free(P::FEED, port, engine, || self.request(index))
    }

    /// Sends the next packet of a flow.
    #[inline]
    fn send(&mut self, index: u32, next: P::Next, port: u32, cx: &mut HostContext<'_, '_>) {
        let packet = self.take_packet(index, next, port, cx);
        let (nics, engine) = cx.nics();
        nics.send_data(P::FEED, port, &packet, engine, || self.request(index));
        self.set_deadline(index, cx);
    }

    /// Returns the next packet of a flow, which is sent now.
    #[inline]
    pub fn take_packet(
        &mut self,
        index: u32,
        next: P::Next,
        port: u32,
        cx: &mut HostContext<'_, '_>,
    ) -> Packet {
        let sending = Sending {
            now: cx.now,
            port,
            waiting: cx.host.nics.waiting_flows(port) as u32 + 1,
            shared: &self.shared,
            host: self.host,
        };
        let flow = &mut self.senders[index];
        let chunk = flow.data.sent();
        let packet = P::take_packet(flow, next, &sending);
        if flow.has_latencies && flow.data.sent() != chunk {
            let now = cx.now;
            cx.host
                .latencies()
                .record_chunk_sent(flow.flow, chunk as u32, now);
        }
        packet
    }

    /// Lets a flow wait for its turn at the NIC, or until its rate allows a packet if that is later than the NIC is free.
    fn wait(&mut self, index: u32, port: u32, cx: &mut HostContext<'_, '_>) {
        let number = self.senders.number(index);
        let sender = &mut self.senders[index];
        let next_at = P::next_at(sender);
        let (nics, engine) = cx.nics();
        if next_at > engine.now && next_at > nics.busy_until(port) {
            sender.waits = PortSet::ALL;
            engine.set_timer(next_at, self.key(P::rate_timer(number)));
        } else {
            sender.waits.insert(port);
            nics.wait(self.request(index), port, engine);
        }
    }

    /// Handles the timer of a flow that waits until its rate allows a packet. `sender` is the number of the sender. A timer of
    /// a wait that ended early has no effect.
    pub fn on_rate_timer(&mut self, sender: u32, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of_number(sender) else {
            return;
        };
        let sender = &mut self.senders[index];
        if sender.waits == PortSet::ALL && P::next_at(sender) <= cx.now {
            sender.waits = PortSet::NONE;
            self.request_nic(index, cx);
        }
    }

    /// Sets the timer of timeouts unless it is set, or set to a later time if timeouts become shorter.
    #[inline]
    pub fn set_deadline(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        if P::SHORTENS_TIMEOUTS || self.senders[index].timer_at.is_none() {
            self.set_timeout(index, cx);
        }
    }

    #[inline(never)]
    fn set_timeout(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let key = self.key(P::timeout_timer(self.senders.number(index)));
        let sender = &mut self.senders[index];
        let set_to = sender.timer_at;
        let is_earlier = |deadline: &u64| set_to.is_none_or(|time| *deadline < time);
        if let Some(deadline) = P::deadline(sender).filter(is_earlier) {
            sender.timer_at = Some(deadline);
            cx.set_timer(deadline, key);
        }
    }

    /// Handles the timer of timeouts by [`Protocol::expire`]. The flow may then be able to send. `sender` is the number
    /// of the sender, which may have been freed.
    pub fn on_sender_timer(&mut self, sender: u32, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of_number(sender) else {
            return;
        };
        if self.senders[index].timer_at.is_none_or(|time| time > cx.now) {
            // The timer has been brought forward, and this is its former time.
            return;
        }
        self.on_timeout(index, P::expire, cx);
        self.request_nic(index, cx);
    }

    /// Handles the timer of timeouts. `expire` changes the sender, whose next timeout is then set. Returns its result.
    pub fn on_timeout<T>(
        &mut self,
        index: u32,
        expire: impl FnOnce(&mut SenderFlow<P>, u64) -> T,
        cx: &mut HostContext<'_, '_>,
    ) -> T {
        let sender = &mut self.senders[index];
        sender.timer_at = None;
        let expired = expire(sender, cx.now);
        self.set_deadline(index, cx);
        expired
    }

    /// Changes the sender of a flow by an acknowledgement. `acknowledge` returns true if all data has been acknowledged
    /// now. Otherwise the flow may be able to send.
    #[inline]
    pub fn on_ack(
        &mut self,
        flow: u32,
        acknowledge: impl FnOnce(&mut SenderFlow<P>, u64) -> bool,
        cx: &mut HostContext<'_, '_>,
    ) {
        if let Some(index) = self.senders.index_of(flow) {
            self.on_ack_at(index, acknowledge, cx);
        }
    }

    /// Does the same as [`on_ack`](Self::on_ack) for the flow at an index, which has one subflow.
    #[inline]
    pub fn on_ack_at(
        &mut self,
        index: u32,
        acknowledge: impl FnOnce(&mut SenderFlow<P>, u64) -> bool,
        cx: &mut HostContext<'_, '_>,
    ) {
        if acknowledge(&mut self.senders[index], cx.now) {
            self.finish(index, cx);
        } else {
            self.request_nic(index, cx);
        }
    }

    /// Does the same for a subflow of a flow with several. `acknowledge` returns true if all that the subflow has sent has
    /// been acknowledged now.
    pub fn on_subflow_ack(
        &mut self,
        (flow, subflow): (u32, u32),
        acknowledge: impl FnOnce(&mut SenderFlow<P>, u64) -> bool,
        cx: &mut HostContext<'_, '_>,
    ) {
        let (Some(first), Some(index)) = (self.senders.index_of(flow), self.subflow_of(flow, subflow)) else {
            return;
        };
        if acknowledge(&mut self.senders[index], cx.now) && self.is_sent(first) && self.is_idle(first) {
            self.finish(first, cx);
        } else {
            self.request_nic(index, cx);
            self.set_deadline(index, cx);
        }
    }

    /// Returns true if no packet of a flow is left to be sent for the first time.
    fn is_sent(&mut self, first: u32) -> bool {
        self.take_data(first);
        self.senders[first].data.is_sent()
    }

    /// Returns true if all packets of a flow that were sent have been acknowledged.
    fn is_idle(&self, first: u32) -> bool {
        self.subflows(first).all(|index| P::is_idle(&self.senders[index]))
    }

    /// Records that all data of a flow has been acknowledged.
    fn finish(&mut self, first: u32, cx: &mut HostContext<'_, '_>) {
        let flow = self.senders[first].flow;
        if let Siblings::First(indices, _) = &self.senders[first].siblings {
            for index in indices.clone() {
                self.close(index, cx.now);
            }
        } else {
            self.close(first, cx.now);
        }
        self.ended.push(flow);
        cx.on_acked(flow);
    }

    fn close(&mut self, index: u32, now: u64) {
        let sender = &mut self.senders[index];
        sender.acked = Some(now);
        P::release(sender);
    }

    /// Changes the sender of a flow, which may then be able to send.
    pub fn update_sender(
        &mut self,
        flow: u32,
        change: impl FnOnce(&mut SenderFlow<P>),
        cx: &mut HostContext<'_, '_>,
    ) {
        if let Some(index) = self.senders.index_of(flow) {
            change(&mut self.senders[index]);
            self.request_nic(index, cx);
        }
    }

    /// Returns true if this host sends the flow of a data packet, which then has been returned.
    pub fn is_returned(&self, packet: &Packet) -> bool {
        packet.flags & DATA != 0 && self.senders.index_of(packet.lo).is_some()
    }

    /// Returns the index of the receiver of a flow, which is created with the flow's first packet; `None` if the
    /// transport of the flow is of another kind.
    #[inline]
    pub fn receiver_of(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) -> Option<u32> {
        self.receivers
            .index_of(flow)
            .or_else(|| self.open_receiver(flow, cx))
    }

    #[cold]
    fn open_receiver(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) -> Option<u32> {
        let setup = Self::set_up(&self.shared, self.host, (flow, true), cx.now, &mut self.params)?;
        let notify_at = cx
            .host
            .track_receiver(flow, self.shared.notify_at(flow, &setup.spec));
        let state = self.protocol.receiver(&setup);
        let receiver = ReceiverFlow::new(flow, setup.params, setup.route, notify_at, state);
        Some(self.receivers.add(flow, receiver))
    }

    /// Reports the data of a flow that has arrived, if the host is to be notified of it.
    #[inline]
    pub fn report_arrival(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let receiver = &mut self.receivers[index];
        if receiver.bytes >= receiver.notify_at {
            let next = P::next_chunk(receiver);
            cx.on_delivered_data(receiver.flow, next, receiver.bytes, &mut receiver.notify_at);
        }
    }

    fn sent_flow_of(&self, first: u32) -> SentFlow {
        let sender = &self.senders[first];
        let data = match sender.siblings {
            Siblings::First(_, holder) => &self.senders[holder].data,
            _ => &sender.data,
        };
        let subflows = self.subflows(first);
        SentFlow::without_handshake(
            sender.flow,
            sender.opened,
            sender.acked,
            data.total(),
            subflows
                .map(|index| Self::record_of(&self.senders[index]))
                .collect(),
        )
    }

    fn record_of(sender: &SenderFlow<P>) -> SubflowRecord {
        let SenderCounters {
            retransmitted,
            timeouts,
            ..
        } = sender.counters;
        let mut record = SubflowRecord {
            packets_sent: sender.data.sent() + retransmitted,
            retransmitted,
            timeouts,
            ..SubflowRecord::default()
        };
        P::complete_record(sender, &mut record);
        record
    }

    fn open_senders(&self) -> impl Iterator<Item = &SenderFlow<P>> {
        self.senders.iter().filter(|sender| !sender.is_acked())
    }
}

impl<P: Protocol> Transport for FlowEndpoint<P> {
    fn open(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let Some(setup) = Self::set_up(&self.shared, self.host, (flow, false), cx.now, &mut self.params)
        else {
            return;
        };
        let (shared, host, opened) = (&self.shared, self.host, cx.now);
        let subflow = |subflow: u32, route: Route| SenderFlow {
            flow,
            subflow,
            siblings: Siblings::None,
            data: FlowData::new(setup.size(), setup.params.segments, setup.params.header),
            params: Arc::clone(&setup.params),
            route,
            ahead: P::SPRAYS.then(|| PathsAhead::new(shared, host)).flatten(),
            counters: SenderCounters::default(),
            state: P::sender(&setup),
            opened,
            acked: None,
            has_latencies: shared.has_latencies(flow),
            waits: PortSet::NONE,
            timer_at: None,
        };
        let subflows = shared.transports[setup.spec.transport as usize].subflows();
        let first = self.senders.add(flow, subflow(0, setup.route));
        cx.attach_probes(flow, &[]);
        if subflows == 1 {
            P::on_open(self, first, cx);
            return;
        }
        let further = (1..subflows).map(|number| {
            let mut sender = subflow(number, shared.route_of_subflow(&setup.spec, number, false));
            sender.siblings = Siblings::Further(first);
            self.senders.add_further(sender)
        });
        let indices: Box<[u32]> = std::iter::once(first).chain(further).collect();
        self.senders[first].siblings = Siblings::First(indices.clone(), first);
        for index in indices {
            P::on_open(self, index, cx);
        }
    }

    fn stop(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let Some(index) = self.senders.index_of(flow) else {
            return;
        };
        self.take_data(index);
        let sender = &mut self.senders[index];
        if !sender.is_acked() && sender.data.stop() && self.is_idle(index) {
            self.finish(index, cx);
        }
    }

    fn on_packet(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        P::on_packet(self, packet, cx);
    }

    fn on_timer(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        P::on_timer(self, key as u32, cx);
    }

    fn send_in_turn(&mut self, index: u32, port: u32, cx: &mut HostContext<'_, '_>) {
        self.senders[index].waits.remove(port);
        P::on_turn(self, index, port, cx);
    }

    fn reroute(&mut self) {
        let shared = &self.shared;
        for sender in self.senders.iter_mut().filter(|sender| !sender.is_acked()) {
            if P::SPRAYS {
                P::forget_routes(sender);
                sender.ahead.iter_mut().for_each(|ahead| ahead.reroute(shared));
            } else {
                sender.route = shared.route_of_subflow(&shared.flow(sender.flow), sender.subflow, false);
            }
        }
        for receiver in self.receivers.iter_mut() {
            if P::SPRAYS {
                P::forget_answer_routes(receiver);
            } else {
                receiver.route = shared.route_of_subflow(&shared.flow(receiver.flow), 0, true);
                P::reroute_answers(receiver, shared);
            }
        }
    }

    fn sender_state(&self, flow: u32, now: u64) -> Option<SenderState> {
        let first = self.senders.index_of(flow)?;
        if self.senders[first].is_acked() {
            return None;
        }
        let states = self
            .subflows(first)
            .filter_map(|index| P::sender_state(&self.senders[index], now));
        states.reduce(SenderState::sum)
    }

    fn sent_flows(&self) -> Vec<SentFlow> {
        let firsts = self.senders.flows();
        firsts.map(|first| self.sent_flow_of(first)).collect()
    }

    fn received_flow(&self, flow: u32, chunks: u32) -> Option<ReceivedFlow> {
        let receiver = self.receivers.find(flow)?;
        Some(ReceivedFlow::without_handshake(
            receiver.bytes,
            P::received_packets(receiver),
            receiver.chunks == u64::from(chunks),
            receiver.last,
        ))
    }

    fn received_bytes(&self) -> Vec<(u32, u64)> {
        let bytes = |receiver: &ReceiverFlow<P>| (receiver.flow, receiver.bytes);
        self.receivers.iter().map(bytes).collect()
    }

    fn timeouts(&self) -> u64 {
        let timeouts = self.senders.iter().map(|sender| sender.counters.timeouts);
        self.freed_timeouts + timeouts.sum::<u64>()
    }

    fn sends(&self, flow: u32) -> bool {
        self.senders.index_of(flow).is_some()
    }

    fn ended_and_open(&self) -> (usize, usize) {
        (self.ended.len(), self.senders.count() - self.ended.len())
    }

    fn take_ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended)
    }

    fn keep_ended(&mut self, flows: Vec<u32>) {
        self.ended = flows;
    }

    fn ended_flow(&self, flow: u32) -> Option<SentFlow> {
        let first = self.senders.index_of(flow)?;
        let mut subflows = self.subflows(first);
        let is_quiet = subflows.all(|index| self.senders[index].waits.is_empty());
        is_quiet.then(|| self.sent_flow_of(first))
    }

    fn is_quiet(&self, flow: u32) -> bool {
        self.receivers.find(flow).is_none_or(P::is_quiet)
    }

    fn free(&mut self, flow: u32, forget: &mut dyn FnMut(u32)) {
        self.receivers.free(flow);
        let Some(first) = self.senders.free(flow) else {
            return;
        };
        if let Siblings::First(indices, _) = std::mem::take(&mut self.senders[first].siblings) {
            for &index in &indices[1..] {
                self.senders.free_further(index);
                self.freed_timeouts += self.senders[index].counters.timeouts;
                forget(index);
            }
        }
        self.freed_timeouts += self.senders[first].counters.timeouts;
        forget(first);
    }

    fn movable_subflows(&self) -> Vec<(u32, u32, u64)> {
        let movable = |sender: &SenderFlow<P>| Some((sender.flow, sender.subflow, P::movable_bytes(sender)?));
        self.open_senders().filter_map(movable).collect()
    }

    fn set_route(&mut self, flow: u32, subflow: u32, route: Route) -> bool {
        let Some(index) = self.subflow_of(flow, subflow) else {
            return false;
        };
        let sender = &mut self.senders[index];
        if sender.is_acked() || P::movable_bytes(sender).is_none() {
            return false;
        }
        sender.route = route;
        true
    }
}

#[cfg(test)]
mod tests;
