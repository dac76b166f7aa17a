//! The exact packet-level simulator: a transport and path policies on the engine of `weft-engine`.

// A packet is processed in one long function on purpose: calls in it cost a tenth of the speed.
#![allow(clippy::inline_always)]

mod backend;
mod clocks;
mod config;
mod controller;
mod events;
mod footprint;
mod packet;
mod packet_records;
mod paths;
mod reclaim;
mod records;
mod simulation;
mod transport;
mod validate;

pub use backend::PacketBackend;
pub use config::{NicConfig, Offload, SimulationConfig};
pub use simulation::PacketSimulation;
use weft_engine as engine;
pub use weft_engine::Jitter;
pub use weft_run::{
    Counters, FlowRecord, LinkChange, LinkEvent, Outcome, Probe, Sample, Scheduler, SubflowRecord,
    TransportConfig,
};
