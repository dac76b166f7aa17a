//! What a packet-level run is made from.

use std::sync::Arc;

use weft_cc::Algorithm;
use weft_fabric::Fabric;
use weft_paths::Policy;
use weft_spec::{Profile, Size, Time};
use weft_traffic::{Flow, Program};

use crate::events::LinkEvent;

/// Which subflow with window space gets the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// In turn.
    RoundRobin,
    /// The one with the lowest smoothed round-trip time.
    LowestRtt,
}

/// One way of sending: congestion control, number of subflows, their paths, and profile.
#[derive(Clone, Debug)]
pub struct Transport {
    /// Congestion control with its parameters; every connection starts from a clone.
    pub cc: Algorithm,
    /// Subflows a connection opens, at least 1.
    pub subflows: u32,
    /// Which of the paths between two hosts its packets take.
    pub paths: Policy,
    /// Acknowledged bytes from which on the further subflows join.
    pub join_after: Size,
    /// Packet scheduler.
    pub scheduler: Scheduler,
    /// Everything else about the sender and receiver.
    pub profile: Profile,
}

/// What to record beside the tables that every run yields.
#[derive(Clone, Debug)]
pub enum Probe {
    /// Time-weighted distribution of a queue's length, and its marks and drops: link index.
    Queue {
        /// Index into the fabric's links.
        link: u32,
    },
    /// Samples of a queue's length.
    QueueTrace {
        /// Index into the fabric's links.
        link: u32,
        /// Sampling interval.
        every: Time,
    },
    /// cwnd, ssthresh and active of every subflow of a flow, from when it opens until it ends.
    Flow {
        /// Index of the flow, as in [`Setup::flows`] and beyond.
        flow: u32,
        /// Sampling interval; without one, every change is told.
        every: Option<Time>,
    },
    /// The same of all flows of a program.
    Program {
        /// Index into [`Setup::programs`].
        program: u32,
        /// Sampling interval; without one, every change is told.
        every: Option<Time>,
    },
    /// One-way latency of all data of a flow.
    Latency {
        /// Index of the flow, as in [`Setup::flows`] and beyond.
        flow: u32,
    },
    /// The same of all flows of a program.
    ProgramLatency {
        /// Index into [`Setup::programs`].
        program: u32,
    },
}

/// A host's card that pushes back on its sockets instead of marking and dropping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nic {
    /// Bytes that a port takes before sockets wait.
    pub limit: u32,
    /// Do those that wait take turns, or does each send all that it has first?
    pub in_turn: bool,
}

/// A packet-level experiment. A run is a pure function of it; `threads` changes nothing but the time it takes.
pub struct Setup {
    /// The network.
    pub fabric: Fabric,
    /// Transports, indexed by [`Flow::transport`].
    pub transports: Vec<Transport>,
    /// Flows, in any order.
    pub flows: Vec<Flow>,
    /// Traffic that reacts. Flow `n` of program `p` has the index `flows.len() + n * programs.len() + p`.
    pub programs: Vec<Arc<dyn Program>>,
    /// Probes.
    pub probes: Vec<Probe>,
    /// A packet that finds its host's port idle leaves it late by a random time up to this.
    pub jitter: Time,
    /// What sockets know of their host's card; without, its queue takes what they send.
    pub nic: Option<Nic>,
    /// Changes of links, in any order; at one time they happen in the order given.
    pub events: Vec<LinkEvent>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Hash every event in order at each node (costs a little).
    pub trace_hash: bool,
}
