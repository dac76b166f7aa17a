//! The configuration of a packet-level run.

use std::sync::Arc;

use weft_fabric::Fabric;
use weft_paths::Controller;
use weft_run::{LinkEvent, Probe};
use weft_spec::Time;
use weft_traffic::{Flow, FlowGenerator};
use weft_transports::TransportConfig;

use crate::engine::{Jitter, Threads};
use crate::transport::TransportKind;

/// The NIC of a host, which makes sockets wait instead of marking and dropping their packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicConfig {
    /// Number of bytes that a port queues before sockets wait (BQL limit).
    pub bql_limit: u32,
    /// True if waiting sockets take turns (fq); false if each sends all its data first (FIFO).
    pub fair: bool,
}

/// Segmentation and receive offload of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// True if data leaves in bursts of up to 64 KB (TSO).
    pub tso: bool,
    /// Segments that arrive within this time of each other are acknowledged together (GRO); 0 for
    /// none.
    pub gro: Time,
}

/// A packet-level experiment. A run is a pure function of it; `threads` changes only the time that
/// the run takes.
pub struct SimulationConfig {
    /// The network.
    pub fabric: Fabric,
    /// Transports, indexed by [`Flow::transport`].
    pub transports: Vec<TransportConfig>,
    /// Kinds of transport that `transports` may name; TCP is the first one.
    pub kinds: &'static [&'static dyn TransportKind],
    /// Flows, in any order.
    pub flows: Vec<Flow>,
    /// Flow generators. The index of flow `n` of generator `g` is
    /// `flows.len() + n * generators.len() + g`.
    pub generators: Vec<Arc<dyn FlowGenerator>>,
    /// Probes.
    pub probes: Vec<Probe>,
    /// Maximum processing time: a packet that finds its host's port idle is delayed by a random
    /// time up to this.
    pub jitter: Jitter,
    /// Bound of the offsets of the clocks of hosts and switches, in parts per million.
    pub clock_ppm: u32,
    /// The NIC of hosts; without one, a host's port queues all packets that sockets send.
    pub nic: Option<NicConfig>,
    /// Offload of hosts.
    pub offload: Offload,
    /// Link events, in any order. Simultaneous events are applied in the order given.
    pub events: Vec<LinkEvent>,
    /// The controller, which observes the whole network and assigns paths to subflows.
    pub controller: Option<Arc<dyn Controller>>,
    /// Seed of all random streams.
    pub seed: u64,
    /// The number of threads.
    pub threads: Threads,
    /// True if the events at each node are hashed in order, which costs a little time.
    pub trace_hash: bool,
}
