//! The exact packet-level simulator: a window engine, a transport, path policies.

// The path of a packet is one long function on purpose: calls within it cost a tenth of the speed.
#![allow(clippy::inline_always)]

mod backend;
mod checking;
mod controlling;
mod engine;
mod events;
mod footprint;
mod paths;
mod recording;
mod records;
mod retiring;
mod setup;
mod simulation;
mod transport;

pub use backend::PacketBackend;
pub use setup::{Nic, Offload, Setup};
pub use simulation::Simulation;
pub use weft_run::{
    Counters, FlowRecord, LinkChange, LinkEvent, Outcome, Probe, Sample, Scheduler, SubflowRecord,
    TransportConfig,
};
