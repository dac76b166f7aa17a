//! The exact packet-level simulator: a window engine, a transport, path policies.

// The path of a packet is one long function on purpose: calls within it cost a tenth of the speed.
#![allow(clippy::inline_always)]

mod engine;
mod events;
pub mod footprint;
mod measuring;
mod outcome;
mod paths;
mod retiring;
mod setup;
mod simulation;
mod transport;

pub use engine::Change;
pub use events::LinkEvent;
pub use measuring::{Counted, Measured, Measuring};
pub use outcome::{
    Counters, FlowRecord, JobRecord, LatencyRecord, LinkRecord, Outcome, QueueRecord, Sample, SubflowRecord,
    SuppressionRecord,
};
pub use setup::{Nic, Probe, Scheduler, Setup, Transport};
pub use simulation::Simulation;
