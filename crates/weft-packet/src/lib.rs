//! The exact packet-level simulator: a window engine, a transport, path policies.

mod engine;
mod outcome;
mod paths;
mod setup;
mod simulation;
mod transport;

pub use outcome::{Counters, FlowRecord, LinkRecord, Outcome, QueueRecord, Sample, SubflowRecord};
pub use setup::{Probe, Scheduler, Setup, Transport};
pub use simulation::Simulation;
