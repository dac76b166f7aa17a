//! Policies by which packets of one subflow take different paths.

use crate::experiment::{GBPS, TcpTransport, cc, config, fat_tree, flow, queue, run, transport};
use weft_fabric::PortQueues;
use weft_packet::Outcome;
use weft_paths::{Flowlet, Policy};
use weft_spec::{Rate, Time};
use weft_transports::Profile;

/// One bulk flow from the first to the last host of a fat-tree of 16, over 4 paths, and where its packets went: by link.
fn alone(paths: Policy, cwnd: f64) -> (Outcome, Vec<(String, u64)>) {
    let queues = PortQueues {
        switch: queue(100, None),
        host: queue(1000, None),
    };
    let fabric = fat_tree(4, Rate(10 * GBPS), Time::from_us(1), &queues);
    let names: Vec<String> = fabric
        .links
        .iter()
        .map(|link| {
            let [from, to] = [link.from, link.to].map(|node| &fabric.nodes[node as usize].name);
            format!("{from}->{to}")
        })
        .collect();
    let profile = Profile::linux().with(|p| p.window.initial_cwnd = cwnd);
    let transports = vec![TcpTransport {
        paths,
        ..transport(cc("reno", &[]), 1, profile)
    }];
    let outcome = run(config(fabric, transports, vec![flow(0, 15)]), Time::from_ms(20));
    let packets = outcome.links.iter().map(|link| link.packets);
    let by_link = names.into_iter().zip(packets).collect();
    (outcome, by_link)
}

/// Packets of the links between these nodes.
fn between(by_link: &[(String, u64)], from: &str, to: &str) -> Vec<u64> {
    let is_it = |name: &str| {
        let (a, b) = name.split_once("->").unwrap();
        a.starts_with(from) && b.starts_with(to)
    };
    let of = by_link.iter().filter(|(name, _)| is_it(name));
    of.map(|(_, packets)| *packets).collect()
}

#[test]
fn sprayed_packets_load_every_link_of_a_stage_equally() {
    let (outcome, by_link) = alone(Policy::by_name("rps").unwrap(), 10.0);
    assert!(outcome.flows[0].subflows[0].packets_sent > 2_000);
    // Data up and down, acknowledgements back.
    for (from, to) in [
        ("tor0.0", "agg0"),
        ("agg0", "core"),
        ("core", "agg3"),
        ("agg3", "tor3.1"),
        ("tor3.1", "agg3"),
        ("agg3", "core"),
        ("core", "agg0"),
        ("agg0", "tor0.0"),
    ] {
        let loads = between(&by_link, from, to);
        let share = 1.0 / loads.len() as f64;
        let all: u64 = loads.iter().sum();
        let deviation = (all as f64 * share * (1.0 - share)).sqrt();
        for load in &loads {
            let off = (*load as f64 - all as f64 * share) / deviation;
            assert!(
                off.abs() < 3.0,
                "{from} to {to}: {loads:?}, {off} standard deviations"
            );
        }
    }
}

#[test]
fn a_flowlet_lasts_until_a_gap() {
    let used = |gap| {
        let policy = Policy::from(Flowlet { gap });
        let (_, by_link) = alone(policy, 10.0);
        let cores = between(&by_link, "agg0", "core");
        cores.iter().filter(|&&packets| packets > 10).count()
    };
    assert_eq!(used(Time::from_ms(1_000)), 1, "without gaps one path");
    assert_eq!(used(Time(1)), 4, "every packet is a flowlet");
}
