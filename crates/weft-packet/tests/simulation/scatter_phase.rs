//! MMPTCP: packets scattered over all paths first, several subflows later.

use crate::experiment::{GBPS, TcpTransport, cc, config, fat_tree, flow, queue, run, sized, sum, transport};
use weft_fabric::{Fabric, PortQueues};
use weft_packet::{Outcome, SimulationConfig};
use weft_paths::{Mmptcp, Policy};
use weft_spec::{Rate, Size, Time};
use weft_traffic::Flow;
use weft_transports::{Profile, Recovery};

/// 16 hosts, 4 paths of the same length between pods, and queues that never overflow.
fn fabric() -> Fabric {
    let queues = PortQueues {
        switch: queue(10_000, None),
        host: queue(10_000, None),
    };
    fat_tree(4, Rate(GBPS), Time::from_us(5), &queues)
}

fn scatter(threshold: u64) -> Policy {
    Mmptcp {
        threshold: Size(threshold),
        // Three later packets on each of the four paths, so that reordering does not look like a loss.
        dupack_threshold: Some(12),
    }
    .into()
}

fn sends(paths: Policy, subflows: u32, recovery: Recovery) -> TcpTransport {
    let profile = Profile::linux().with(|p| {
        p.loss.recovery = recovery;
        p.window.initial_cwnd = 40.0;
    });
    TcpTransport {
        paths,
        ..transport(cc("reno", &[]), subflows, profile)
    }
}

/// Every host has a flow of 90 kB to each of three hosts of other pods.
fn short() -> Vec<Flow> {
    let to = |from: u32| [5, 9, 11].map(move |step| sized(from, (from + step) % 16, 90_000));
    (0..16).flat_map(to).collect()
}

fn halved(outcome: &Outcome) -> u64 {
    outcome
        .flows
        .iter()
        .map(|flow| sum(flow, |s| s.fast_retransmits.unwrap()))
        .sum()
}

/// A permutation on equal paths: packets overtake each other, nothing is lost, and no window is halved below the threshold of bytes. With
/// three duplicates many are.
#[test]
fn nothing_is_halved_for_reordering_alone() {
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let mut usual = 0;
        for seed in 1..=10 {
            let all_of = |transport| {
                let flows = (0..16).map(|from| sized(from, (from + 5) % 16, 90_000)).collect();
                let config = SimulationConfig {
                    seed,
                    ..config(fabric(), vec![transport], flows)
                };
                let outcome = run(config, Time::from_ms(200));
                assert_eq!(outcome.counters.drops, 0);
                assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
                outcome
            };
            let scattered = all_of(sends(scatter(100_000), 4, recovery));
            let retransmitted = |flow| sum(flow, |s| s.retransmitted);
            let again: u64 = scattered.flows.iter().map(retransmitted).sum();
            assert_eq!((halved(&scattered), again), (0, 0), "{recovery:?}, seed {seed}");
            // A flow below the threshold has one subflow.
            let joined =
                |flow: &weft_packet::FlowRecord| flow.subflows[1..].iter().any(|s| s.packets_sent > 0);
            assert!(!scattered.flows.iter().any(joined));
            usual += halved(&all_of(sends(Policy::by_name("rps").unwrap(), 1, recovery)));
        }
        assert!(usual > 20, "{recovery:?}: there is reordering, {usual}");
    }
}

/// Beyond the threshold the others join, and the first one carries nothing more.
#[test]
fn the_others_take_over() {
    let mut simulation = weft_packet::PacketSimulation::new(config(
        fabric(),
        vec![sends(scatter(100_000), 4, Recovery::Rack)],
        vec![flow(0, 15), sized(3, 12, 3_000_000)],
    ))
    .unwrap();
    simulation.run_until(Time::from_ms(10));
    let early = simulation.outcome();
    simulation.run_until(Time::from_ms(100));
    let late = simulation.outcome();
    crate::experiment::assert_conserved(&late);
    for (early, late) in early.flows.iter().zip(&late.flows) {
        let first = &late.subflows[0];
        assert!(first.acked_bytes >= Some(100_000), "{first:?}");
        assert_eq!(first.packets_sent, early.subflows[0].packets_sent);
        assert!(
            late.subflows[1..].iter().all(|s| s.packets_sent > 100),
            "{late:?}"
        );
    }
    assert_eq!(late.flows[1].delivered_bytes, 3_000_000);
    assert!(late.flows[1].acked.is_some());
}

/// A lost packet is repaired by scattered ones, too.
#[test]
fn losses_are_repaired() {
    let queues = PortQueues {
        switch: queue(8, None),
        host: queue(1_000, None),
    };
    for recovery in [Recovery::NewReno, Recovery::Sack, Recovery::Rack] {
        let fabric = fat_tree(4, Rate(GBPS), Time::from_us(5), &queues);
        let config = SimulationConfig {
            trace_hash: true,
            ..config(fabric, vec![sends(scatter(100_000), 3, recovery)], short())
        };
        let outcome = run(config, Time::from_ms(5_000));
        assert!(outcome.counters.drops > 10);
        assert!(
            outcome.flows.iter().all(|flow| flow.delivered_bytes == 90_000),
            "{recovery:?}"
        );
    }
}
