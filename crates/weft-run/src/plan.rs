//! The plan of a run: a spec whose names have become indices.

use std::sync::Arc;

use weft_cc::Algorithm;
use weft_fabric::Fabric;
use weft_paths::{Controller, Policy};
use weft_spec::{Profile, Rate, Size, Spec, Time};
use weft_traffic::{Flow, Program};

/// A run, checked and ready for a home.
pub struct Plan {
    /// The spec with every default filled in.
    pub spec: Spec,
    /// The network.
    pub fabric: Fabric,
    /// Transports in the order of their names, indexed by [`Flow::transport`].
    pub transports: Vec<Transport>,
    /// All flows that the spec itself opens, in the order in which tables number them.
    pub flows: Vec<Flow>,
    /// Traffic that reacts. Flow `n` of program `p` has the index `flows.len() + n * programs.len() + p`.
    pub programs: Vec<Arc<dyn Program>>,
    /// The part of the run that is measured; none: all of it.
    pub measure: Option<(Time, Time)>,
    /// What to record in addition to the tables that every run yields.
    pub probes: Vec<Probe>,
    /// Changes of links, in any order; at one time they happen in the order given.
    pub events: Vec<LinkEvent>,
    /// The controller, which sees the whole network and gives subflows their paths.
    pub controller: Option<Arc<dyn Controller>>,
}

/// Which subflow gets the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Those with window space in turn.
    RoundRobin,
    /// The one with the lowest smoothed round-trip time among those with window space.
    LowestRtt,
    /// As in Linux: bursts of 64 KB go to the subflow that would have sent all its data first.
    Linux,
}

/// A transport: congestion control, number of subflows, their paths, and profile.
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

impl Transport {
    /// Are subflows given data before their windows have room for it?
    pub fn gives_ahead(&self) -> bool {
        self.scheduler == Scheduler::Linux && self.subflows > 1
    }
}

/// What to record in addition to the tables that every run yields.
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
        /// Index of the flow, as in [`Plan::flows`] and beyond.
        flow: u32,
        /// Sampling interval; without one, every change is recorded.
        every: Option<Time>,
    },
    /// The same of all flows of a program.
    Program {
        /// Index into [`Plan::programs`].
        program: u32,
        /// Sampling interval; without one, every change is recorded.
        every: Option<Time>,
    },
    /// One-way latency of all data of a flow.
    Latency {
        /// Index of the flow, as in [`Plan::flows`] and beyond.
        flow: u32,
    },
    /// The same of all flows of a program.
    ProgramLatency {
        /// Index into [`Plan::programs`].
        program: u32,
    },
    /// All packets that arrive over a link.
    Packets {
        /// Index into the fabric's links.
        link: u32,
    },
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    /// Time of the change. It takes effect before anything else at that time. A packet whose last bit leaves then has left.
    pub at: Time,
    /// Index into the fabric's links.
    pub link: u32,
    /// What happens.
    pub change: Change,
    /// Time until routing knows that the link is dead or alive. Until then packets are sent to a dead link
    /// and lost.
    pub detect: Time,
}

/// What can happen to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It fails: packets that are queued or being sent are lost, packets on the wire arrive.
    Down,
    /// It works again, with an empty queue.
    Up,
    /// It has another rate from the next packet on.
    Rate(Rate),
    /// It has another propagation delay. Packets on the wire arrive at most this long after the change.
    Delay(Time),
}
