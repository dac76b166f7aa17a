//! Runs of transports other than TCP for their tests: configurations in which all that such a test does not set
//! has its plainest value.

use std::sync::Arc;

use weft_fabric::Fabric;
use weft_paths::Ecmp;
use weft_run::Outcome;
use weft_spec::{Size, Time};
use weft_traffic::Flow;
use weft_transports::{Parameters, TransportConfig};

use super::TRANSPORTS;
use crate::{Jitter, Offload, PacketSimulation, SimulationConfig, Threads};

/// A transport of a kind.
pub fn transport(kind: &'static str, parameters: impl Parameters) -> TransportConfig {
    TransportConfig {
        kind,
        class: 0,
        ack_class: 0,
        paths: Ecmp {}.into(),
        parameters: Arc::new(parameters),
    }
}

/// A flow of the first transport that starts at once.
pub fn flow(id: u32, from: u32, to: u32, bytes: u64) -> Flow {
    Flow {
        id: id.into(),
        from,
        to,
        size: Some(Size(bytes)),
        start: Time(0),
        stop: None,
        transport: 0,
        traffic: 0,
        class: 0,
        round: 0,
        rate: None,
    }
}

/// A run with hosts that neither delay packets nor have NICs.
pub fn config(
    fabric: Fabric,
    transports: Vec<TransportConfig>,
    flows: Vec<Flow>,
    threads: usize,
) -> SimulationConfig {
    SimulationConfig {
        fabric,
        kinds: TRANSPORTS,
        transports,
        flows,
        generators: Vec::new(),
        probes: Vec::new(),
        jitter: Jitter::default(),
        clock_ppm: 0,
        nic: None,
        offload: Offload::default(),
        events: Vec::new(),
        controller: None,
        seed: 13,
        threads: Threads::Exactly(threads),
        trace_hash: true,
    }
}

/// Runs until this time.
pub fn run_until(config: SimulationConfig, end: Time) -> Outcome {
    let mut simulation = PacketSimulation::new(config).unwrap();
    simulation.run_until(end);
    simulation.into_outcome()
}
