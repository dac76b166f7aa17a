//! Runs of transports other than TCP for their tests: configurations in which all that such a test does not set
//! has its plainest value.

use std::sync::Arc;

use weft_fabric::{Fabric, Lossy, ManyToOne, PortQueues, QueueConfig, QueueKind, Topology};
use weft_paths::Ecmp;
use weft_run::Outcome;
use weft_spec::{QueueSize, Rate, Size, Time};
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

/// Runs flows of these numbers of packets of 1,000 bytes of payload for 20 ms, each from a sender of its own to one receiver,
/// over links of 10 Gbps. The port before the receiver drops each packet whose number is a multiple of `every`, if that is given.
pub fn many_to_one(
    transport: TransportConfig,
    delay: Time,
    packets: &[u64],
    every: Option<u32>,
    threads: usize,
) -> Outcome {
    let senders = packets.len() as u32;
    let queue = QueueConfig {
        limit: QueueSize::Packets(1_000),
        mark: None,
    };
    let topology = ManyToOne {
        senders,
        rate: Rate(10_000_000_000),
        delay,
        sender_rate: None,
    };
    let queues = PortQueues {
        switch: queue,
        host: queue,
    };
    let mut fabric = topology.build(&queues).unwrap();
    let receiver = fabric.hosts[senders as usize];
    for link in &mut fabric.links {
        if link.to == receiver && every.is_some() {
            link.kind = QueueKind::from(Lossy { loss: None, every });
        }
    }
    let flow = |(from, packets): (u32, &u64)| flow(from, from, senders, packets * 1_000);
    let flows = (0..).zip(packets).map(flow).collect();
    let config = SimulationConfig {
        seed: 1,
        ..config(fabric, vec![transport], flows, threads)
    };
    run_until(config, Time::from_ms(20))
}

/// Runs until this time.
pub fn run_until(config: SimulationConfig, end: Time) -> Outcome {
    let mut simulation = PacketSimulation::new(config).unwrap();
    simulation.run_until(end);
    simulation.into_outcome()
}
