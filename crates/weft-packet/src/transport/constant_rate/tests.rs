//! Sources competing with TCP and with each other in one network.

use weft_cc::Algorithm;
use weft_fabric::{ManyToOne, PortQueues, QueueConfig, Topology};
use weft_run::{ActiveRun, Outcome};
use weft_spec::{QueueSize, Rate, Size, Time};
use weft_traffic::Flow;
use weft_transports::{ConstantRateConfig, Profile, Scheduler, TcpConfig, TransportConfig};

use crate::transport::{TRANSPORTS, test_runs};
use crate::{PacketSimulation, Probe, ProbedFlows, SimulationConfig};

/// Time between two packets of 1066 bytes: 10 us.
const INTERVAL: u64 = 10_000_000;
const RATE: Rate = Rate(852_800_000);

fn transport(kind: &'static str) -> TransportConfig {
    if kind == "tcp" {
        let tcp = TcpConfig {
            cc: Algorithm::build("reno", &[]).unwrap(),
            subflows: 1,
            join_after: Size(0),
            scheduler: Scheduler::RoundRobin,
            profile: Profile::linux(),
        };
        return test_runs::transport(kind, tcp);
    }
    let source = ConstantRateConfig {
        rate: RATE,
        packet_size: 1066,
        on: None,
        off: Time(0),
        random: false,
    };
    test_runs::transport(kind, source)
}

/// Runs two flows of these kinds, of 100 packets or so, to one receiver behind a port of this many
/// packets. Returns the number of completed flows, too.
fn run(kinds: [&'static str; 2], limit: u32, threads: usize) -> (Outcome, u64) {
    let queue = QueueConfig {
        limit: QueueSize::Packets(limit),
        mark: None,
    };
    let topology = ManyToOne {
        senders: 2,
        rate: Rate(1_000_000_000),
        delay: Time::from_us(2),
        sender_rate: None,
    };
    let flow = |n: u32| Flow {
        transport: n,
        class: n,
        ..test_runs::flow(n, n, 2, 100_000)
    };
    let ports = PortQueues {
        switch: queue,
        host: queue,
    };
    let transports = kinds.map(transport).to_vec();
    let config = SimulationConfig {
        probes: vec![Probe::Latency {
            flows: ProbedFlows::One(1),
        }],
        seed: 1,
        ..test_runs::config(
            topology.build(&ports).unwrap(),
            transports,
            vec![flow(0), flow(1)],
            threads,
        )
    };
    let mut simulation = PacketSimulation::new(config).unwrap();
    simulation.run_until(Time::from_ms(5));
    let completed = (0..2).map(|class| simulation.completed_flows(class)).sum();
    (simulation.into_outcome(), completed)
}

#[test]
fn both_kinds_finish_in_one_network() {
    let (outcome, completed) = run(["tcp", "constant-rate"], 1_000, 1);
    assert_eq!(completed, 2);
    let [tcp, constant] = &outcome.flows[..] else {
        panic!("two flows: {:?}", outcome.flows);
    };
    assert_eq!(
        (tcp.delivered_bytes, constant.delivered_bytes),
        (100_000, 100_000)
    );
    // The last packet leaves after 99 intervals, and takes at least 2 hops of 8.32 us and 2 us. All
    // 70 packets of the other flow, of 12.3 us each, may be served before it.
    let least = 99 * INTERVAL + 2 * (8_320_000 + 2_000_000);
    let finish = constant.finish.unwrap().0;
    assert!(finish >= least && finish < least + 900_000_000, "{finish}");
    assert!(constant.acked.unwrap().0 > finish && tcp.finish.is_some());
    let subflow = &constant.subflows[0];
    assert_eq!((subflow.packets_sent, subflow.packets_received), (100, 100));
}

/// Two flows of 0.83 Gbps share a link of 1 Gbps. It serves at most 124 of their 200 packets while
/// they send, and its queue holds two.
#[test]
fn lost_packets_are_counted_and_threads_change_nothing() {
    let (outcome, completed) = run(["constant-rate"; 2], 2, 1);
    let subflows = outcome.flows.iter().map(|flow| &flow.subflows[0]);
    let dropped: u64 = subflows.clone().map(|subflow| subflow.packets_dropped).sum();
    assert!(dropped >= 70 && completed < 2, "{dropped}, {completed}");
    for subflow in subflows {
        let elsewhere = subflow.packets_dropped + subflow.packets_in_flight;
        assert_eq!(subflow.packets_sent, subflow.packets_received + elsewhere);
    }
    let (other, _) = run(["constant-rate"; 2], 2, 3);
    assert_eq!(
        (outcome.trace_hash, outcome.flows),
        (other.trace_hash, other.flows)
    );
}

#[test]
fn an_unknown_kind_is_refused() {
    let transports = [TransportConfig {
        kind: "carrier-pigeon",
        ..transport("tcp")
    }];
    let error = crate::simulation::kind_numbers(&transports, TRANSPORTS).unwrap_err();
    assert_eq!(
        error,
        "transport of kind carrier-pigeon; allowed: tcp, constant-rate, uet, ndp, roce, swift"
    );
}
