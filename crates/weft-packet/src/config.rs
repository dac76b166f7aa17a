//! The configuration of a packet-level run.

use std::sync::Arc;

use weft_fabric::Fabric;
use weft_paths::Controller;
use weft_run::{LinkEvent, Probe, TransportConfig};
use weft_spec::Time;
use weft_traffic::{Flow, FlowGenerator};

/// A host's card that pushes back on its sockets instead of marking and dropping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicConfig {
    /// Bytes that a port takes before sockets wait.
    pub bql_limit: u32,
    /// Do those that wait take turns, or does each send all that it has first?
    pub fair: bool,
}

/// What hosts leave to their cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// Does data leave in bursts of up to 64 KB?
    pub tso: bool,
    /// Segments that arrive within this of each other are acknowledged together; 0: none are.
    pub gro: Time,
}

/// A packet-level experiment. A run is a pure function of it; `threads` changes nothing but the time it takes.
pub struct SimulationConfig {
    /// The network.
    pub fabric: Fabric,
    /// Transports, indexed by [`Flow::transport`].
    pub transports: Vec<TransportConfig>,
    /// Flows, in any order.
    pub flows: Vec<Flow>,
    /// Traffic that reacts. Flow `n` of program `p` has the index `flows.len() + n * generators.len() + p`.
    pub generators: Vec<Arc<dyn FlowGenerator>>,
    /// Probes.
    pub probes: Vec<Probe>,
    /// A packet that finds its host's port idle leaves it late by a random time up to this.
    pub jitter: Time,
    /// What sockets know of their host's card; without, its queue takes what they send.
    pub nic: Option<NicConfig>,
    /// What they leave to it.
    pub offload: Offload,
    /// Changes of links, in any order; at one time they happen in the order given.
    pub events: Vec<LinkEvent>,
    /// The controller, which sees the whole network and gives subflows their paths.
    pub controller: Option<Arc<dyn Controller>>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Hash every event in order at each node (costs a little).
    pub trace_hash: bool,
}
