//! State that all hosts share: the network, the flows, and what is configured.

use std::sync::Arc;

use weft_fabric::Fabric;
use weft_traffic::{Action, Flow, FlowGenerator, OnDelivered};
use weft_transports::{TcpConfig, TransportConfig};

use crate::config::{NicConfig, Offload};
use crate::down_links::DownLinks;
use crate::engine::route::HopBits;

use super::nic::FlowKind;
use super::port_set::PortSet;
use super::probes::FlowProbes;
use super::timer_keys::{HostTimer, host_timer};

/// State that all hosts share. It does not change during a run, apart from `down_links`.
pub struct Shared {
    /// The network.
    pub fabric: Fabric,
    /// Transports.
    pub transports: Vec<TransportConfig>,
    /// The parameters of each transport of kind "tcp".
    pub tcp: Vec<Option<TcpConfig>>,
    /// The kind of each transport: its index in the list of kinds.
    pub kinds: Vec<u8>,
    /// Kinds of flows at the NICs of hosts, by transport; empty if all flows are alike.
    pub flow_kinds: Vec<FlowKind>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// Generators of flows and jobs.
    pub generators: Vec<Arc<dyn FlowGenerator>>,
    /// The flows that are recorded.
    pub probes: FlowProbes,
    /// Generators for which the steps of jobs are recorded, by index.
    pub records_steps: Vec<bool>,
    /// How routes are packed.
    pub hops: HopBits,
    /// The NICs of the hosts.
    pub nic: Option<NicConfig>,
    /// The work that is offloaded to the NICs.
    pub offload: Offload,
    /// Links that routing avoids because they are down.
    pub down_links: DownLinks,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Shared {
    /// Returns the parameters of a transport of TCP.
    ///
    /// # Panics
    /// Panics for a transport of another kind, which has no connections.
    #[inline(always)]
    pub fn tcp(&self, transport: u32) -> &TcpConfig {
        self.tcp[transport as usize]
            .as_ref()
            .expect("a transport of kind tcp")
    }

    /// Returns the generator that opened a flow, and the flow's number in it.
    pub fn generator_of(&self, flow: u32) -> Option<(u32, u32)> {
        let generators = self.generators.len() as u32;
        let beyond = flow.checked_sub(self.flows.len() as u32)?;
        (generators > 0).then(|| (beyond % generators, beyond / generators))
    }

    /// Returns the index of flow `n` of a generator, or `None` if 32 bits cannot number it.
    pub fn flow_index(&self, generator: u32, n: u32) -> Option<u32> {
        n.checked_mul(self.generators.len() as u32)?
            .checked_add(generator)?
            .checked_add(self.flows.len() as u32)
    }

    /// Returns the persistent connection that carries a flow, by the index of the first flow that it may carry; `None` if the
    /// flow has a connection of its own.
    pub fn connection_of(&self, flow: u32) -> Option<u32> {
        let (generator, n) = self.generator_of(flow)?;
        let connection = self.generators[generator as usize].connection_of(n)?;
        self.flow_index(generator, connection)
    }

    /// Returns the number of links over which a host sends.
    pub fn links_of(&self, host: u32) -> u32 {
        let node = self.fabric.hosts[host as usize];
        (self.fabric.first_link(node + 1) - self.fabric.first_link(node)) as u32
    }

    /// Returns the ports of a host whose links are not known to be down.
    pub fn live_ports(&self, host: u32) -> PortSet {
        let first = self.fabric.first_link(self.fabric.hosts[host as usize]);
        let is_up = |&port: &u32| !self.down_links.any() || !self.down_links.has(first + port as usize);
        let mut ports = PortSet::NONE;
        let live = (0..self.links_of(host)).filter(is_up);
        live.for_each(|port| ports.insert(port));
        ports
    }

    /// Returns the flow with this index.
    pub fn flow(&self, flow: u32) -> Flow {
        match self.generator_of(flow) {
            Some((generator, n)) => self.generators[generator as usize].flow(n),
            None => self.flows[flow as usize].clone(),
        }
    }

    /// Returns the index of the transport of a flow.
    pub fn transport_of(&self, flow: u32) -> usize {
        let transport = match self.generator_of(flow) {
            Some((generator, n)) => self.generators[generator as usize].flow(n).transport,
            None => self.flows[flow as usize].transport,
        };
        transport as usize
    }

    /// Returns the kind of the transport of a flow: its index in the list of kinds.
    pub fn kind_of(&self, flow: u32) -> usize {
        self.kinds[self.transport_of(flow)].into()
    }

    /// Returns the key of the timer that makes a host execute an action of a generator.
    pub fn action_timer_key(&self, generator: u32, action: Action) -> Option<u64> {
        Some(match action {
            Action::OpenFlow(n) => host_timer(HostTimer::Start, self.flow_index(generator, n)?),
            Action::StartJob(job) => {
                let index = job
                    .checked_mul(self.generators.len() as u32)?
                    .checked_add(generator)?;
                host_timer(HostTimer::StartJob, index)
            }
            Action::Resume(_) => host_timer(HostTimer::Resume, generator),
        })
    }

    /// Returns the number of delivered bytes at which the generator of a flow is notified;
    /// `u64::MAX` if it is not.
    pub fn notify_at(&self, flow: u32, spec: &Flow) -> u64 {
        let is_notified = |(generator, n): (u32, u32)| {
            self.generators[generator as usize].on_delivered(n) != OnDelivered::Nothing
        };
        match spec.size {
            Some(size) if self.generator_of(flow).is_some_and(is_notified) => size.0,
            _ => u64::MAX,
        }
    }

    /// Returns true if the latencies of a flow are recorded.
    pub fn has_latencies(&self, flow: u32) -> bool {
        let generator = self.generator_of(flow).map(|(generator, _)| generator);
        self.probes.latencies_of(flow, generator)
    }
}
