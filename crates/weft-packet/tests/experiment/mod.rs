//! Short ways to write an experiment down and to read its outcome.

// Every test crate uses its own part of this.
#![allow(dead_code)]

use std::sync::Arc;

use weft_cc::Algorithm;
use weft_fabric::{Fabric, FatTree, ManyToOne, PortQueues, QueueConfig, Topology};
use weft_packet::{
    FlowRecord, Jitter, Offload, Outcome, PacketSimulation, SimulationConfig, SubflowRecord, TRANSPORTS,
    Threads,
};
use weft_paths::{Ecmp, Policy};
use weft_spec::{QueueSize, Rate, Size, Time};
use weft_traffic::Flow;
use weft_transports::{Profile, Scheduler, TcpConfig, TransportConfig};

pub const GBPS: u64 = 1_000_000_000;

/// A queue with a limit and a marking threshold in packets.
pub fn queue(limit: u32, mark: Option<u32>) -> QueueConfig {
    QueueConfig {
        limit: QueueSize::Packets(limit),
        mark: mark.map(QueueSize::Packets),
    }
}

/// The same queue at hosts and switches.
pub fn everywhere(queue: QueueConfig) -> PortQueues {
    PortQueues {
        switch: queue,
        host: queue,
    }
}

/// Senders, a switch and a receiver, all links of 10 Gbps.
pub fn many_to_one(senders: u32, delay: Time, queue: QueueConfig) -> Fabric {
    ManyToOne {
        senders,
        rate: Rate(10 * GBPS),
        delay,
        sender_rate: None,
    }
    .build(&everywhere(queue))
    .unwrap()
}

/// A fat-tree whose links have one rate and delay.
pub fn fat_tree(k: u32, rate: Rate, delay: Time, queues: &PortQueues) -> Fabric {
    FatTree {
        k,
        rate,
        delay,
        oversubscription: 1,
        host_rate: None,
    }
    .build(queues)
    .unwrap()
}

/// A built-in algorithm.
pub fn cc(name: &str, parameters: &[(&str, f64)]) -> Algorithm {
    let parameters: Vec<_> = parameters
        .iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect();
    Algorithm::build(name, &parameters).unwrap()
}

/// A transport of TCP.
#[derive(Clone, Debug)]
pub struct TcpTransport {
    pub cc: Algorithm,
    pub subflows: u32,
    pub paths: Policy,
    pub join_after: Size,
    pub scheduler: Scheduler,
    pub class: u8,
    pub ack_class: u8,
    pub profile: Profile,
}

impl From<TcpTransport> for TransportConfig {
    fn from(transport: TcpTransport) -> Self {
        Self {
            kind: "tcp",
            class: transport.class,
            ack_class: transport.ack_class,
            paths: transport.paths,
            parameters: Arc::new(TcpConfig {
                cc: transport.cc,
                subflows: transport.subflows,
                join_after: transport.join_after,
                scheduler: transport.scheduler,
                profile: transport.profile,
            }),
        }
    }
}

/// A transport with round-robin scheduling, its paths drawn by ECMP.
pub fn transport(cc: Algorithm, subflows: u32, profile: Profile) -> TcpTransport {
    TcpTransport {
        cc,
        subflows,
        paths: Ecmp {}.into(),
        join_after: Size(0),
        scheduler: Scheduler::RoundRobin,
        class: 0,
        ack_class: 0,
        profile,
    }
}

/// A bulk flow from time 0 with transport 0.
pub fn flow(from: u32, to: u32) -> Flow {
    Flow {
        id: 0,
        from,
        to,
        size: None,
        start: Time(0),
        stop: None,
        transport: 0,
        traffic: 0,
        class: 0,
        round: 0,
        rate: None,
    }
}

/// Returns a flow with a size in bytes.
pub fn sized(from: u32, to: u32, bytes: u64) -> Flow {
    Flow {
        size: Some(Size(bytes)),
        ..flow(from, to)
    }
}

/// A configuration on one thread without probes, trace and jitter.
pub fn config(fabric: Fabric, transports: Vec<TcpTransport>, mut flows: Vec<Flow>) -> SimulationConfig {
    for (id, flow) in (0..).zip(&mut flows) {
        flow.id = id;
    }
    SimulationConfig {
        kinds: TRANSPORTS,
        fabric,
        transports: transports.into_iter().map(TransportConfig::from).collect(),
        flows,
        generators: Vec::new(),
        probes: Vec::new(),
        jitter: Jitter::default(),
        clock_ppm: 0,
        nic: None,
        offload: Offload::default(),
        events: Vec::new(),
        controller: None,
        seed: 1,
        threads: Threads::Exactly(1),
        trace_hash: false,
    }
}

/// Simulates until `end`, checks conservation, and returns the tables.
pub fn run(config: SimulationConfig, end: Time) -> Outcome {
    let mut simulation = PacketSimulation::new(config).unwrap();
    simulation.run_until(end);
    let outcome = simulation.outcome();
    assert_conserved(&outcome);
    outcome
}

/// Sent = delivered + dropped + in flight, per link and per subflow.
#[track_caller]
pub fn assert_conserved(outcome: &Outcome) {
    for (i, link) in outcome.links.iter().enumerate() {
        assert_eq!(
            link.packets + link.unsent,
            link.delivered + link.in_flight,
            "link {i}: {link:?}"
        );
    }
    for (i, s) in outcome.flows.iter().flat_map(|f| &f.subflows).enumerate() {
        let found = s.packets_received + s.packets_trimmed + s.packets_dropped + s.packets_in_flight;
        assert_eq!(s.packets_sent, found, "subflow {i} of all: {s:?}");
    }
    let drops: u64 = outcome.links.iter().map(|link| link.drops).sum();
    assert_eq!(drops, outcome.counters.drops);
}

/// Seconds from subflow 0's SYN/ACK to the last acknowledgement.
pub fn fct(flow: &FlowRecord) -> Option<f64> {
    Some(flow.acked?.seconds() - flow.established?.seconds())
}

/// A flow's sum over its subflows.
pub fn sum(flow: &FlowRecord, of: impl Fn(&SubflowRecord) -> u64) -> u64 {
    flow.subflows.iter().map(of).sum()
}

#[track_caller]
pub fn assert_within(what: &str, found: f64, min: f64, max: f64) {
    assert!(
        (min..=max).contains(&found),
        "{what}: {found} is not within {min} to {max}"
    );
}
