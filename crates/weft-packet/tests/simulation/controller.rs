//! A controller that gives subflows their paths.

use std::sync::Arc;

use crate::experiment::{GBPS, assert_conserved, cc, config, fat_tree, flow, queue, sized, transport};
use weft_fabric::{Fabric, PortQueues};
use weft_packet::{LinkChange, LinkEvent, Outcome, PacketSimulation, SimulationConfig, Threads};
use weft_paths::{Controller, FirstFit};
use weft_spec::{Rate, Time};
use weft_traffic::Flow;
use weft_transports::Profile;

const END: Time = Time::from_ms(30);

fn fabric() -> Fabric {
    let queues = PortQueues {
        switch: queue(100, None),
        host: queue(100, None),
    };
    fat_tree(4, Rate(GBPS), Time::from_us(10), &queues)
}

#[allow(clippy::unnecessary_wraps)] // as a configuration has it
fn first_fit() -> Option<Arc<dyn Controller>> {
    Some(Arc::new(FirstFit {
        interval: Time::from_ms(4),
        threshold: 0.1,
    }))
}

/// Every host sends to one of another pod, and has a short flow to another one.
fn flows() -> Vec<Flow> {
    let bulk = (0..16).map(|i| flow(i, (i + 5) % 16));
    let short = (0..16).map(|i| Flow {
        start: Time::from_us(u64::from(i) * 900),
        ..sized(i, (i + 9) % 16, 40_000)
    });
    bulk.chain(short).collect()
}

fn scene(
    controller: Option<Arc<dyn Controller>>,
    events: Vec<LinkEvent>,
    threads: usize,
) -> SimulationConfig {
    let transports = vec![transport(cc("reno", &[]), 1, Profile::linux())];
    SimulationConfig {
        controller,
        events,
        threads: Threads::Exactly(threads),
        trace_hash: true,
        ..config(fabric(), transports, flows())
    }
}

fn run(config: SimulationConfig, cuts: &[u64]) -> Outcome {
    let mut simulation = PacketSimulation::new(config).unwrap();
    for &us in cuts {
        simulation.run_until(Time::from_us(us));
    }
    simulation.run_until(END);
    let outcome = simulation.into_outcome();
    assert_conserved(&outcome);
    outcome
}

/// A core switch fails during the run and comes back; routing detects it 300 us later.
fn core_fails() -> Vec<LinkEvent> {
    let fabric = fabric();
    let core = fabric
        .nodes
        .iter()
        .position(|node| node.name == "core0.0")
        .unwrap() as u32;
    let at = |(_, link): &(u32, &weft_fabric::Link)| link.from == core || link.to == core;
    let links: Vec<u32> = (0..)
        .zip(&fabric.links)
        .filter(at)
        .map(|(link, _)| link)
        .collect();
    let of = |(ms, change)| {
        links.iter().map(move |&link| LinkEvent {
            at: Time::from_ms(ms),
            link,
            change,
            detection_delay: Time::from_us(300),
        })
    };
    [(10, LinkChange::Down), (20, LinkChange::Up)]
        .into_iter()
        .flat_map(of)
        .collect()
}

#[test]
fn first_fit_fills_the_links_that_hashes_leave_empty() {
    let goodput = |controller| {
        let outcome = run(scene(controller, Vec::new(), 1), &[]);
        outcome.flows[..16]
            .iter()
            .map(|flow| flow.delivered_bytes)
            .collect::<Vec<_>>()
    };
    let (by_hash, placed) = (goodput(None), goodput(first_fit()));
    let sum = |bytes: &[u64]| bytes.iter().sum::<u64>() as f64;
    assert!(
        sum(&placed) > 1.15 * sum(&by_hash),
        "{placed:?}, and by hash {by_hash:?}"
    );
}

/// The observations of a controller depend neither on threads nor on the times at which a run is cut.
#[test]
fn it_acts_alike_on_any_number_of_threads() {
    for events in [Vec::new(), core_fails()] {
        let whole = run(scene(first_fit(), events.clone(), 1), &[]);
        for threads in [2, 3] {
            assert_eq!(run(scene(first_fit(), events.clone(), threads), &[]), whole);
        }
        let cuts = [1, 3_999, 4_000, 4_001, 10_000, 10_300, 17_777];
        let cut = run(scene(first_fit(), events, 2), &cuts);
        assert_eq!((cut.flows, cut.trace_hash), (whole.flows, whole.trace_hash));
    }
}

/// Once routing knows that the switch is down, no flow sends there, and flows assigned to other paths continue.
#[test]
fn assigned_flows_avoid_switches_known_to_be_down() {
    let fabric = fabric();
    let core = fabric
        .nodes
        .iter()
        .position(|node| node.name == "core0.0")
        .unwrap() as u32;
    let mut simulation = PacketSimulation::new(scene(first_fit(), core_fails(), 1)).unwrap();
    let mut at = |us| {
        simulation.run_until(Time::from_us(us));
        let outcome = simulation.outcome();
        let to_host = fabric.links.iter().zip(&outcome.links);
        let to_host = to_host.filter(|(link, _)| link.to == core);
        let (sent, lost) = to_host.fold((0, 0), |(sent, lost), (_, link)| {
            (sent + link.packets, lost + link.drops)
        });
        (sent, lost, outcome.flows)
    };
    let (_, before, _) = at(9_999);
    // Packets that were queued on the way have arrived or are lost.
    let (sent, lost, _) = at(14_500);
    let (still_sent, still_lost, flows) = at(19_999);
    assert!(lost > before, "what was queued there is lost");
    assert_eq!((still_sent, still_lost), (sent, lost));
    assert!(flows[..16].iter().all(|flow| flow.delivered_bytes > 300_000));
}
