//! The exact packet-level simulator: a transport and path policies on the engine of `weft-engine`.

// A packet is processed in one long function on purpose: calls in it cost a tenth of the speed.
#![allow(clippy::inline_always)]

mod backend;
mod clocks;
mod config;
mod controller;
mod down_links;
mod events;
mod footprint;
mod packet;
mod packet_records;
mod reclaim;
mod records;
mod simulation;
mod transport;
mod validate;

pub use backend::PacketBackend;
pub use config::{NicConfig, Offload, SimulationConfig};
pub use packet::{DATA, Packet, class_flags};
pub use simulation::PacketSimulation;
pub use transport::{
    ENTRY_BYTES, Feed, FlowEndpoint, FlowParams, FlowSetup, HostContext, HostState, NON_TCP, Protocol,
    ProtocolKind, ReceivedFlow, ReceiverFlow, RecordedState, SenderFlow, Sending, SentFlow, Shared,
    TRANSPORTS, Transport, TransportKind, add_transport, endpoint_timer, transports,
};
use weft_engine as engine;
pub use weft_engine::route::Route;
pub use weft_engine::{Context, Jitter, Threads};
pub use weft_run::{
    Counters, FlowRecord, LinkChange, LinkEvent, Outcome, Probe, ProbedFlows, Sample, SubflowRecord,
};
pub use weft_transports::{Scheduler, TransportConfig};
