//! A host: passes packets and timers to its transports. TCP is called directly, other transports
//! through the contract.

use std::sync::Arc;

use weft_run::{JobRecord, LatencyRecord, Sample};
use weft_traffic::HostEvent;

use crate::engine::route::Route;
use crate::engine::{Context, Endpoint};
use crate::packet::{CLASS, DATA, Packet, TRIMMED};

use super::contract::{NON_TCP, ReceivedFlow, SentFlow, Transport, TransportKind};
use super::generators::NEXT_JOB;
use super::nic::NicFlow;
use super::shared::Shared;
use super::state::{HostContext, HostState};
use super::tcp::wire::SYN;
use super::tcp::{self, TcpEndpoint};
use super::timer_keys::{FIRST_ENDPOINT, HostTimer, LATE_NIC, host_timer};

const START: u64 = HostTimer::Start as u64;
const STOP: u64 = HostTimer::Stop as u64;
const SAMPLE: u64 = HostTimer::Sample as u64;
const START_JOB: u64 = HostTimer::StartJob as u64;
const NIC: u64 = HostTimer::Nic as u64;
const RESUME: u64 = HostTimer::Resume as u64;
const CONNECT: u64 = HostTimer::Connect as u64;

/// A host.
pub struct Host {
    state: HostState,
    tcp: TcpEndpoint,
    /// The endpoints of other kinds of transport, by kind.
    endpoints: Vec<Option<Box<dyn Transport>>>,
    /// The only endpoint among them; `None` if there are several.
    only: Option<usize>,
}

impl Endpoint for Host {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let mut host = HostContext::new(&mut self.state, cx);
        if packet.flags & (DATA | NON_TCP | TRIMMED) == DATA {
            self.tcp.on_data(packet, &mut host);
        } else if packet.flags & (SYN | NON_TCP | TRIMMED) == 0 {
            self.tcp.on_ack(packet, &mut host);
        } else {
            self.dispatch(packet, cx);
        }
        if !self.state.to_open.is_empty() {
            self.open_pending(cx);
        }
    }

    #[inline(always)]
    fn prefetch(&self, packet: &Packet) {
        if packet.flags & NON_TCP == 0 {
            self.tcp.prefetch(packet);
        }
    }

    #[inline(always)]
    fn prefetch_indirect(&self, packet: &Packet) {
        if packet.flags & NON_TCP == 0 {
            self.tcp.prefetch_indirect(packet);
        }
    }

    fn on_timer(&mut self, key: u64, cx: &mut Context<'_>) {
        let index = key as u32;
        match key >> 32 {
            START => self.open(index, cx),
            STOP => self.stop(index, cx),
            SAMPLE => self.sample(index, cx),
            START_JOB => self.state.on_job_timer(index, cx),
            NIC => self.on_nic_timer(index, cx),
            RESUME => self.state.progress(index, HostEvent::Resume, cx),
            CONNECT => {
                let (transport, mut host) = self.transport_of(index, cx);
                transport.connect(index, &mut host);
            }
            LATE_NIC => self.on_nic_timer(u32::MAX - index, cx),
            timer if timer < FIRST_ENDPOINT => {
                let mut host = HostContext::new(&mut self.state, cx);
                self.tcp.on_timer(key, &mut host);
            }
            timer => {
                let mut host = HostContext::new(&mut self.state, cx);
                if let Some(Some(endpoint)) = self.endpoints.get_mut((timer - FIRST_ENDPOINT) as usize) {
                    endpoint.on_timer(key, &mut host);
                }
            }
        }
        if !self.state.to_open.is_empty() {
            self.open_pending(cx);
        }
    }
}

impl Host {
    /// Creates an idle host with these kinds of transport.
    pub fn new(shared: &Arc<Shared>, index: u32, kinds: &[&'static dyn TransportKind]) -> Self {
        let used = |kind: usize| shared.kinds.contains(&(kind as u8));
        let endpoint = |(number, kind): (usize, &&dyn TransportKind)| {
            (number != tcp::INDEX && used(number)).then(|| kind.create(shared, index, number))
        };
        let endpoints: Vec<_> = kinds.iter().enumerate().map(endpoint).collect();
        let mut existing = (0..endpoints.len()).filter(|&kind| endpoints[kind].is_some());
        let only = existing.next().filter(|_| existing.next().is_none());
        Self {
            only,
            endpoints,
            tcp: TcpEndpoint::new(Arc::clone(shared), index),
            state: HostState::new(Arc::clone(shared), index),
        }
    }

    /// Returns TCP's endpoint.
    pub fn tcp(&self) -> &TcpEndpoint {
        &self.tcp
    }

    /// Returns TCP's endpoint.
    pub fn tcp_mut(&mut self) -> &mut TcpEndpoint {
        &mut self.tcp
    }

    /// Calls TCP's endpoint as an event of this host does.
    #[cfg(test)]
    pub fn with_tcp(
        &mut self,
        cx: &mut Context<'_>,
        call: impl FnOnce(&mut TcpEndpoint, &mut HostContext<'_, '_>),
    ) {
        call(&mut self.tcp, &mut HostContext::new(&mut self.state, cx));
    }

    /// Returns what all transports of this host share.
    pub fn state(&self) -> &HostState {
        &self.state
    }

    fn transports(&self) -> impl Iterator<Item = &dyn Transport> {
        let tcp: &dyn Transport = &self.tcp;
        let endpoints = self
            .endpoints
            .iter()
            .flatten()
            .map(|endpoint| &**endpoint as &dyn Transport);
        std::iter::once(tcp).chain(endpoints)
    }

    fn transports_mut(&mut self) -> impl Iterator<Item = &mut dyn Transport> {
        let tcp: &mut dyn Transport = &mut self.tcp;
        let endpoints = self.endpoints.iter_mut().flatten();
        std::iter::once(tcp).chain(endpoints.map(|endpoint| &mut **endpoint as &mut dyn Transport))
    }

    /// Returns the transport of a flow, and the context for a call of it.
    fn transport_of<'a, 'e>(
        &'a mut self,
        flow: u32,
        cx: &'a mut Context<'e>,
    ) -> (&'a mut dyn Transport, HostContext<'a, 'e>) {
        let kind = self.state.shared.kind_of(flow);
        let transport = match self.endpoints.get_mut(kind) {
            Some(Some(endpoint)) => &mut **endpoint as &mut dyn Transport,
            _ => &mut self.tcp,
        };
        (transport, HostContext::new(&mut self.state, cx))
    }

    #[inline(never)]
    fn dispatch(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        if packet.is_trimmed() {
            *self.state.trimmed.entry((packet.lo, packet.hi)).or_default() += 1;
        }
        if packet.flags & NON_TCP != 0 {
            let only = self.only.and_then(|kind| self.endpoints[kind].as_mut());
            if let Some(only) = only {
                // The flow need not be looked up.
                only.on_packet(packet, &mut HostContext::new(&mut self.state, cx));
            } else {
                let (transport, mut host) = self.transport_of(packet.lo, cx);
                transport.on_packet(packet, &mut host);
            }
        } else if packet.is_trimmed() {
            // TCP's checksum does not match, so a TCP host discards the packet.
        } else if packet.flags & !CLASS == NEXT_JOB {
            self.state.on_next_job(packet, cx);
        } else {
            let mut host = HostContext::new(&mut self.state, cx);
            self.tcp.on_handshake(packet, &mut host);
        }
    }

    /// Opens the flows that generators have requested.
    #[cold]
    fn open_pending(&mut self, cx: &mut Context<'_>) {
        for flow in std::mem::take(&mut self.state.to_open) {
            self.open(flow, cx);
        }
    }

    /// Serves the flows that wait for the NIC of a port, until the port takes no packet.
    fn on_nic_timer(&mut self, port: u32, cx: &mut Context<'_>) {
        self.state.nics.on_timer(port);
        while let Some(flow) = self.state.nics.next(port, cx) {
            let mut host = HostContext::new(&mut self.state, cx);
            match self.endpoints.get_mut(flow.kind as usize) {
                Some(Some(endpoint)) => endpoint.send_in_turn(flow.index, port, &mut host),
                _ => self.tcp.send_in_turn(flow.index, &mut host),
            }
        }
    }

    fn open(&mut self, flow: u32, cx: &mut Context<'_>) {
        let shared = &self.state.shared;
        if !shared.flow_kinds.is_empty() {
            let kind = shared.flow_kinds[shared.transport_of(flow)];
            self.state.nics.add_kind(kind);
        }
        let (transport, mut host) = self.transport_of(flow, cx);
        transport.open(flow, &mut host);
    }

    fn stop(&mut self, flow: u32, cx: &mut Context<'_>) {
        let (transport, mut host) = self.transport_of(flow, cx);
        transport.stop(flow, &mut host);
    }

    /// Samples a flow, by a timer that runs from when it opens until it finishes.
    fn sample(&mut self, sampler: u32, cx: &mut Context<'_>) {
        let flow = self.state.tracer.flow_of(sampler);
        let windows = self.transports().find_map(|transport| transport.windows(flow));
        let windows = windows.map(<[_]>::to_vec);
        let mut endpoints = self.endpoints.iter().flatten();
        let state = endpoints.find_map(|endpoint| endpoint.sender_state(flow, cx.now));
        let tracer = &mut self.state.tracer;
        let next = match state {
            Some(state) => Some(tracer.sample_sender(sampler, state, cx.now)),
            None => tracer.sample(sampler, windows.as_deref(), cx.now),
        };
        if let Some(next) = next {
            cx.set_timer(next, host_timer(HostTimer::Sample, sampler));
        }
    }

    /// Chooses new routes after routing has detected a link event.
    pub fn reroute(&mut self) {
        self.transports_mut().for_each(Transport::reroute);
    }

    /// Returns the number of timeouts so far, including those of SYNs.
    pub fn timeouts(&self) -> u64 {
        self.transports().map(Transport::timeouts).sum()
    }

    /// Returns the subflows that a controller may move; see [`Transport::movable_subflows`].
    pub fn movable_subflows(&self) -> impl Iterator<Item = (u32, u32, u64)> {
        self.transports().flat_map(Transport::movable_subflows)
    }

    /// Sets the route of a subflow from its next packet on. Returns false if the subflow does not
    /// send any more.
    pub fn set_route(&mut self, flow: u32, subflow: u32, route: Route) -> bool {
        self.transports_mut()
            .any(|transport| transport.set_route(flow, subflow, route))
    }

    /// Returns what this host has recorded of the flows that it sends, in any order.
    pub fn sent_flows(&self) -> impl Iterator<Item = SentFlow> {
        self.transports().flat_map(Transport::sent_flows)
    }

    /// Returns what this host has recorded of a flow that it receives.
    pub fn received_flow(&self, flow: u32, chunks: u32) -> Option<ReceivedFlow> {
        self.transports()
            .find_map(|transport| transport.received_flow(flow, chunks))
    }

    /// Returns the number of trimmed packets of a flow's subflow that arrived at this host.
    pub fn trimmed_packets(&self, flow: u32, subflow: u32) -> u64 {
        self.state.trimmed.get(&(flow, subflow)).copied().unwrap_or(0)
    }

    /// Returns the payload bytes that have arrived, by flow, in any order.
    pub fn received_bytes(&self) -> impl Iterator<Item = (u32, u64)> {
        self.transports().flat_map(Transport::received_bytes)
    }

    /// Returns the samples and changes of recorded flows so far.
    pub fn samples(&self) -> &[Sample] {
        self.state.samples()
    }

    /// Drops the samples so far.
    pub fn drop_samples(&mut self) {
        self.state.tracer.drop_samples();
    }

    /// Takes the records of finished jobs.
    pub fn take_jobs(&mut self) -> Vec<JobRecord> {
        std::mem::take(&mut self.state.jobs)
    }

    /// Returns the number of records of finished jobs.
    pub fn finished_jobs(&self) -> usize {
        self.state.jobs.len()
    }

    /// Returns the number of chunks whose latencies were not taken yet.
    pub fn latencies(&self) -> usize {
        self.state.latencies.count()
    }

    /// Returns the flows whose latencies this host records as receiver.
    pub fn flows_with_latencies(&self) -> impl Iterator<Item = u32> {
        self.state.latencies.received_flows()
    }

    /// Returns the latencies of a flow that `sender` sends and this host receives.
    pub fn latencies_of(&self, flow: u32, sender: &Self) -> impl Iterator<Item = LatencyRecord> {
        self.state.latencies.of_flow(flow, &sender.state.latencies)
    }

    /// Drops the recorded latencies of flows that this host receives. Returns for each flow how
    /// many chunks the sender has to [drop](Self::drop_sent).
    pub fn drop_delivered(&mut self) -> Vec<(u32, usize)> {
        let Self {
            state,
            tcp,
            endpoints,
            only: _,
        } = self;
        let is_known = |flow| {
            tcp.receives(flow)
                || endpoints
                    .iter()
                    .flatten()
                    .any(|endpoint| endpoint.received_flow(flow, 0).is_some())
        };
        state.latencies.drop_delivered(is_known)
    }

    /// Drops the times of chunks of a flow that this host sends.
    pub fn drop_sent(&mut self, flow: u32, chunks: usize) {
        let known = self.transports().any(|transport| transport.sends(flow));
        self.state.latencies.drop_sent(flow, chunks, known);
    }

    /// Returns the endpoints of transports other than TCP, by kind.
    pub fn endpoints(&self) -> impl Iterator<Item = (usize, &dyn Transport)> {
        let endpoints = self.endpoints.iter().enumerate();
        endpoints.filter_map(|(kind, endpoint)| Some((kind, &**endpoint.as_ref()? as &dyn Transport)))
    }

    /// Returns the endpoint of a transport other than TCP.
    pub fn endpoint_mut(&mut self, kind: usize) -> Option<&mut (dyn Transport + 'static)> {
        Some(&mut **self.endpoints.get_mut(kind)?.as_mut()?)
    }

    /// Returns the packets without payload that wait for a NIC.
    pub fn waiting_packets(&self) -> impl Iterator<Item = &Packet> {
        self.state.nics.waiting_packets()
    }

    /// Frees what this host has of a flow of a transport other than TCP.
    pub fn free(&mut self, kind: usize, flow: u32) {
        let shared = &self.state.shared;
        for subflow in 0..shared.transports[shared.transport_of(flow)].subflows() {
            self.state.trimmed.remove(&(flow, subflow));
        }
        let nics = &mut self.state.nics;
        if let Some(Some(endpoint)) = self.endpoints.get_mut(kind) {
            let kind = kind as u32;
            endpoint.free(flow, &mut |index| nics.forget(NicFlow { kind, index }));
        }
    }
}
