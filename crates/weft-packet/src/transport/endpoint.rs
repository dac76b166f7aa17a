//! The endpoint of a kind of transport other than TCP at a host: its senders and receivers, with what those of all
//! protocols do alike. A [`Protocol`] adds what is its own.

use std::sync::Arc;

use weft_run::SubflowRecord;
use weft_traffic::Flow;
use weft_transports::TransportConfig;

use crate::engine::route::Route;
use crate::packet::{DATA, Packet};

use super::contract::{ReceivedFlow, SentFlow, Transport};
use super::flow_progress::{PortSet, ReceiverProgress, SenderProgress};
use super::flow_table::FlowTable;
use super::nic::{Feed, NicFlow, Request, WINDOW};
use super::per_transport::PerTransport;
use super::shared::Shared;
use super::state::HostContext;
use super::timer_keys::endpoint_timer;
use super::tracer::SenderState;

/// A protocol: its senders, receivers, packets and timers. A value has what the flows of a host share, as a pacer of
/// receivers.
pub trait Protocol: Default + Send + Sized + 'static {
    /// The constants that all flows of a transport share.
    type Params: Send + Sync;
    /// The sender of a flow.
    type Sender: FlowSender;
    /// The receiver of a flow.
    type Receiver: FlowReceiver;

    /// How data reaches the port of its link.
    const FEED: Feed;
    /// Bytes that a flow may have in a FIFO of the host.
    const BACKLOG: u32 = WINDOW;

    /// Returns the constants of a transport; `None` if it is of another kind.
    fn params(transport: &TransportConfig) -> Option<Self::Params>;

    /// Creates the sender of a flow that opens.
    fn sender(flow: FlowSetup<'_, Self::Params>, progress: SenderProgress) -> Self::Sender;

    /// Creates the receiver of a flow whose first packet has arrived.
    fn receiver(&mut self, flow: FlowSetup<'_, Self::Params>, progress: ReceiverProgress) -> Self::Receiver;

    /// Handles a packet of a flow.
    fn on_packet(endpoint: &mut FlowEndpoint<Self>, packet: &Packet, cx: &mut HostContext<'_, '_>);

    /// Handles the timer with this number.
    fn on_timer(endpoint: &mut FlowEndpoint<Self>, timer: u32, cx: &mut HostContext<'_, '_>);

    /// Returns the number of the timer of a sender's timeouts.
    fn timeout_timer(sender: u32) -> u32 {
        sender
    }

    /// Returns the number of the timer of a sender that waits until its rate allows a packet.
    fn rate_timer(sender: u32) -> u32 {
        sender
    }

    /// Handles a new sender.
    fn on_open(endpoint: &mut FlowEndpoint<Self>, sender: u32, cx: &mut HostContext<'_, '_>) {
        endpoint.request_nic(sender, cx);
    }

    /// Handles the turn of a sender at the NIC of a port.
    fn on_turn(endpoint: &mut FlowEndpoint<Self>, sender: u32, port: u32, cx: &mut HostContext<'_, '_>) {
        endpoint.send_or_wait(sender, Some(port), cx);
    }
}

/// A flow whose sender or receiver is created.
pub struct FlowSetup<'a, T> {
    /// The flow.
    pub spec: Flow,
    /// Index of this end's host.
    pub host: u32,
    /// The constants of its transport.
    pub params: Arc<T>,
    /// State that all hosts share.
    pub shared: &'a Shared,
}

/// The sender of a flow.
pub trait FlowSender: Send {
    /// Returns the progress of the flow.
    fn progress(&self) -> &SenderProgress;

    /// Returns the progress of the flow.
    fn progress_mut(&mut self) -> &mut SenderProgress;

    /// Returns the flags of the traffic class of data, and the size of a full packet on the wire.
    fn full_packet(&self) -> (u16, u32);

    /// Returns true if there is a packet that may be sent, whatever the rate.
    fn may_send(&mut self) -> bool;

    /// Returns the time from which on the rate allows the next packet.
    fn next_at(&self) -> u64 {
        0
    }

    /// Returns the port of the next packet, if the flow may send one and waits for no packet of this port.
    fn next_port(&mut self, shared: &Shared) -> Option<u32>;

    /// Returns the next packet, which is sent now through a port; `None` if there is none. This many flows wait for the
    /// NIC, itself included.
    fn take_packet(&mut self, now: u64, port: u32, waiting: u32, shared: &Shared) -> Option<Packet>;

    /// Returns the time at which the oldest packet on its way times out; `None` if there is none.
    fn deadline(&mut self) -> Option<u64>;

    /// Ends the data of the flow. Returns true if all of it has been acknowledged.
    fn stop(&mut self, now: u64) -> bool;

    /// Chooses new routes, because links have failed or work again.
    fn reroute(&mut self, shared: &Shared);

    /// Returns the number of different packets that were sent.
    fn sent(&self) -> u64;

    /// Returns the number of packets; `None` if the flow has no end yet.
    fn total(&self) -> Option<u64>;

    /// Returns the record of the sender.
    fn record(&self) -> SubflowRecord;

    /// Returns the state for probes.
    fn state(&self, now: u64) -> Option<SenderState> {
        let _ = now;
        None
    }

    /// Returns the acknowledged bytes of a flow that a controller may move to another path.
    fn movable_bytes(&self) -> Option<u64> {
        None
    }

    /// Sets the route of a flow that a controller may move.
    fn set_route(&mut self, route: Route) {
        let _ = route;
    }
}

/// The receiver of a flow.
pub trait FlowReceiver: Send {
    /// Returns the progress of the flow.
    fn progress(&self) -> &ReceiverProgress;

    /// Returns the progress of the flow.
    fn progress_mut(&mut self) -> &mut ReceiverProgress;

    /// Returns the number of packets with data before the first missing one.
    fn next_chunk(&self) -> u32;

    /// Chooses new routes of answers, because links have failed or work again.
    fn reroute(&mut self, shared: &Shared);
}

/// The senders and receivers of a protocol at a host.
pub struct FlowEndpoint<P: Protocol> {
    /// State that all hosts share.
    pub shared: Arc<Shared>,
    host: u32,
    kind: usize,
    params: PerTransport<P::Params>,
    /// The senders of the host's flows.
    pub senders: FlowTable<P::Sender>,
    /// The receivers of the flows to the host.
    pub receivers: FlowTable<P::Receiver>,
    /// State that the flows of the host share.
    pub protocol: P,
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
        }
    }

    fn set_up<'a>(
        shared: &'a Shared,
        host: u32,
        spec: Flow,
        params: &mut PerTransport<P::Params>,
    ) -> Option<FlowSetup<'a, P::Params>> {
        let create = || P::params(&shared.transports[spec.transport as usize]);
        Some(FlowSetup {
            params: params.get(spec.transport, create)?,
            spec,
            host,
            shared,
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
        let (class, size) = self.senders[index].full_packet();
        Request {
            flow: NicFlow {
                kind: self.kind as u32,
                index,
            },
            feed: P::FEED,
            class,
            size,
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
        while let Some(port) = self.senders[index].next_port(&self.shared) {
            if granted == Some(port) || (busy != Some(port) && self.is_free(index, port, cx)) {
                (granted, busy) = (None, Some(port));
                self.send(index, port, cx);
            } else {
                self.wait(index, port, cx);
            }
        }
    }

    /// Returns true if the rate of a flow and the NIC of a port allow a packet now.
    fn is_free(&self, index: u32, port: u32, cx: &mut HostContext<'_, '_>) -> bool {
        let (nics, engine) = cx.nics();
        self.senders[index].next_at() <= engine.now
            && nics.is_free(P::FEED, port, engine, || self.request(index))
    }

    /// Sends a packet of a flow that may send.
    #[inline]
    fn send(&mut self, index: u32, port: u32, cx: &mut HostContext<'_, '_>) {
        if let Some(packet) = self.take_packet(index, port, cx) {
            let (nics, engine) = cx.nics();
            nics.send_data(P::FEED, &packet, engine, || self.request(index));
        }
        self.set_deadline(index, cx);
    }

    /// Returns the next packet of a flow, which is sent now; `None` if there is none.
    #[inline]
    pub fn take_packet(&mut self, index: u32, port: u32, cx: &mut HostContext<'_, '_>) -> Option<Packet> {
        let waiting = cx.host.nics.waiting_flows(port) as u32 + 1;
        let sender = &mut self.senders[index];
        let chunk = sender.sent();
        let packet = sender.take_packet(cx.now, port, waiting, &self.shared)?;
        if sender.progress().has_latencies && sender.sent() != chunk {
            let (flow, now) = (sender.progress().flow, cx.now);
            let latencies = cx.host.latencies();
            latencies.record_chunk_sent(flow, chunk as u32, now);
        }
        Some(packet)
    }

    /// Lets a flow wait for its turn at the NIC, or until its rate allows a packet if that is later than the NIC is free.
    fn wait(&mut self, index: u32, port: u32, cx: &mut HostContext<'_, '_>) {
        let sender = &mut self.senders[index];
        let next_at = sender.next_at();
        let (nics, engine) = cx.nics();
        if next_at > engine.now && next_at > nics.busy_until(port) {
            sender.progress_mut().waits = PortSet::ALL;
            engine.set_timer(next_at, self.key(P::rate_timer(index)));
        } else {
            sender.progress_mut().waits.insert(port);
            nics.wait(self.request(index), port, engine);
        }
    }

    /// Handles the timer of a flow that waits until its rate allows a packet.
    pub fn on_rate_timer(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        self.senders[index].progress_mut().waits = PortSet::NONE;
        self.request_nic(index, cx);
    }

    /// Sets the timer of timeouts unless it is set.
    pub fn set_deadline(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let key = self.key(P::timeout_timer(index));
        let sender = &mut self.senders[index];
        if sender.progress().has_timer {
            return;
        }
        if let Some(deadline) = sender.deadline() {
            sender.progress_mut().has_timer = true;
            cx.set_timer(deadline, key);
        }
    }

    /// Handles the timer of timeouts. `expire` changes the sender, whose next timeout is then set. Returns its result.
    pub fn on_timeout<T>(
        &mut self,
        index: u32,
        expire: impl FnOnce(&mut P::Sender, u64) -> T,
        cx: &mut HostContext<'_, '_>,
    ) -> T {
        let sender = &mut self.senders[index];
        sender.progress_mut().has_timer = false;
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
        acknowledge: impl FnOnce(&mut P::Sender, u64) -> bool,
        cx: &mut HostContext<'_, '_>,
    ) {
        let Some(index) = self.senders.index_of(flow) else {
            return;
        };
        if acknowledge(&mut self.senders[index], cx.now) {
            cx.on_acked(flow);
        } else {
            self.request_nic(index, cx);
        }
    }

    /// Changes the sender of a flow, which may then be able to send.
    pub fn update_sender(
        &mut self,
        flow: u32,
        change: impl FnOnce(&mut P::Sender),
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
        let spec = self.shared.flow(flow);
        let notify_at = self.shared.notify_at(flow, &spec);
        let setup = Self::set_up(&self.shared, self.host, spec, &mut self.params)?;
        let progress = ReceiverProgress::new(flow, cx.host.track_receiver(flow, notify_at));
        let receiver = self.protocol.receiver(setup, progress);
        Some(self.receivers.add(flow, receiver))
    }

    /// Reports the data of a flow that has arrived, if the host is to be notified of it.
    #[inline]
    pub fn report_arrival(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let receiver = &mut self.receivers[index];
        let ReceiverProgress {
            flow,
            bytes,
            notify_at,
            ..
        } = *receiver.progress();
        if bytes >= notify_at {
            let next = receiver.next_chunk();
            cx.on_delivered_data(flow, next, bytes, &mut receiver.progress_mut().notify_at);
        }
    }

    fn open_senders(&self) -> impl Iterator<Item = &P::Sender> {
        self.senders.iter().filter(|sender| !sender.progress().is_acked())
    }
}

impl<P: Protocol> Transport for FlowEndpoint<P> {
    fn open(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let spec = self.shared.flow(flow);
        let Some(setup) = Self::set_up(&self.shared, self.host, spec, &mut self.params) else {
            return;
        };
        let progress = SenderProgress::new(flow, cx.now, self.shared.has_latencies(flow));
        let sender = P::sender(setup, progress);
        cx.attach_probes(flow, &[]);
        let index = self.senders.add(flow, sender);
        P::on_open(self, index, cx);
    }

    fn stop(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let now = cx.now;
        if self.senders.find_mut(flow).is_some_and(|sender| sender.stop(now)) {
            cx.on_acked(flow);
        }
    }

    fn on_packet(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        P::on_packet(self, packet, cx);
    }

    fn on_timer(&mut self, key: u64, cx: &mut HostContext<'_, '_>) {
        P::on_timer(self, key as u32, cx);
    }

    fn send_in_turn(&mut self, index: u32, port: u32, cx: &mut HostContext<'_, '_>) {
        self.senders[index].progress_mut().waits.remove(port);
        P::on_turn(self, index, port, cx);
    }

    fn reroute(&mut self) {
        let shared = &self.shared;
        let senders = self.senders.iter_mut();
        senders
            .filter(|sender| !sender.progress().is_acked())
            .for_each(|sender| sender.reroute(shared));
        let receivers = self.receivers.iter_mut();
        receivers.for_each(|receiver| receiver.reroute(shared));
    }

    fn sender_state(&self, flow: u32, now: u64) -> Option<SenderState> {
        let sender = self.senders.find(flow)?;
        sender.state(now).filter(|_| !sender.progress().is_acked())
    }

    fn sent_flows(&self) -> Vec<SentFlow> {
        let record = |sender: &P::Sender| {
            let SenderProgress {
                flow, opened, acked, ..
            } = *sender.progress();
            SentFlow::with_one_subflow(flow, opened, acked, sender.total(), sender.record())
        };
        self.senders.iter().map(record).collect()
    }

    fn received_flow(&self, flow: u32, chunks: u32) -> Option<ReceivedFlow> {
        let progress = self.receivers.find(flow)?.progress();
        Some(ReceivedFlow::with_one_subflow(
            progress.bytes,
            progress.packets,
            progress.chunks == u64::from(chunks),
            progress.last,
        ))
    }

    fn received_bytes(&self) -> Vec<(u32, u64)> {
        let progress = self.receivers.iter().map(FlowReceiver::progress);
        progress.map(|progress| (progress.flow, progress.bytes)).collect()
    }

    fn timeouts(&self) -> u64 {
        self.senders.iter().map(|sender| sender.record().timeouts).sum()
    }

    fn movable_subflows(&self) -> Vec<(u32, u32, u64)> {
        let movable = |sender: &P::Sender| Some((sender.progress().flow, 0, sender.movable_bytes()?));
        self.open_senders().filter_map(movable).collect()
    }

    fn set_route(&mut self, flow: u32, _: u32, route: Route) -> bool {
        let sender = self.senders.find_mut(flow);
        let Some(sender) = sender.filter(|sender| !sender.progress().is_acked()) else {
            return false;
        };
        sender.set_route(route);
        sender.movable_bytes().is_some()
    }
}
