//! PLB: subflows leave paths whose packets are marked, and stay on the others.

use crate::experiment::{
    GBPS, TcpTransport, assert_conserved, cc, config, everywhere, flow, queue, run, sized, transport,
};
use weft_fabric::{Fabric, LeafSpine, Topology};
use weft_packet::{LinkChange, LinkEvent, PacketSimulation, SimulationConfig};
use weft_paths::Policy;
use weft_spec::{Rate, Time};
use weft_transports::Profile;

/// Interval at which the links are read.
const STEP: Time = Time::from_us(20);

/// End of a run.
const END: Time = Time::from_ms(12);

/// Returns two leaves with two hosts each and two spines, all links of 10 Gbps, and the links from the first leaf
/// to the spines.
fn fabric() -> (Fabric, [usize; 2]) {
    let topology = LeafSpine {
        leaves: 2,
        spines: 2,
        links: 1,
        hosts_per_leaf: 2,
        rate: Rate(10 * GBPS),
        spine_rate: None,
        delay: Time::from_us(1),
    };
    let fabric = topology.build(&everywhere(queue(1_000, Some(10)))).unwrap();
    let name = |node: u32| &fabric.nodes[node as usize].name;
    let is_uplink = |&link: &usize| {
        let link = &fabric.links[link];
        name(link.from) == "leaf0" && name(link.to).starts_with("spine")
    };
    let uplinks: Vec<usize> = (0..fabric.links.len()).filter(is_uplink).collect();
    (fabric, uplinks.try_into().unwrap())
}

/// A transport with this policy. A window of at least 20 packets is more than a flow's share of a path with another
/// flow. One flow alone is limited by its own host.
fn sends(paths: &str) -> TcpTransport {
    TcpTransport {
        paths: Policy::by_name(paths).unwrap(),
        ..transport(cc("dctcp", &[("cwnd_min", 20.0)]), 1, Profile::linux())
    }
}

/// Two flows between two leaves.
struct Elephants {
    simulation: PacketSimulation,
    uplinks: [usize; 2],
    packets: [u64; 2],
    now: Time,
}

impl Elephants {
    /// Starts flows of two pairs of hosts.
    fn new(paths: &str, seed: u64) -> Self {
        let (fabric, uplinks) = fabric();
        let config = SimulationConfig {
            seed,
            ..config(fabric, vec![sends(paths)], vec![flow(0, 2), flow(1, 3)])
        };
        Self {
            simulation: PacketSimulation::new(config).unwrap(),
            uplinks,
            packets: [0; 2],
            now: Time(0),
        }
    }

    /// Advances by a step. Returns the packets that came to the queues of the two uplinks in it.
    fn step(&mut self) -> [u64; 2] {
        self.now = Time(self.now.0 + STEP.0);
        self.simulation.run_until(self.now);
        let outcome = self.simulation.outcome();
        let links = self.uplinks.map(|link| &outcome.links[link]);
        let packets = links.map(|link| link.packets + link.unsent);
        let before = std::mem::replace(&mut self.packets, packets);
        [packets[0] - before[0], packets[1] - before[1]]
    }
}

/// Returns whether a step loaded both uplinks.
fn is_apart(packets: [u64; 2]) -> bool {
    packets.iter().all(|&n| n > 0)
}

/// Flows that collide at the beginning draw new paths after 12 congested rounds. Both draw at about that time, so that every
/// draw separates them with a probability between 1/2, if none sees the other's, and 3/4, if one sees it.
/// Separated flows are not marked in the network and keep their paths.
#[test]
fn flows_that_collide_separate_and_then_stay() {
    // A round carries two windows of 20 or 21 packets of 1500 bytes and the frame's 38.
    let round_us = 41.0 * 1538.0 * 8.0 / 10_000.0;
    let mut draws = Vec::new();
    let mut apart_at_first = 0;
    for seed in 0..200 {
        let mut elephants = Elephants::new("plb", seed);
        let mut apart_since = None;
        let mut steps_apart = 0;
        while elephants.now < END {
            // If both change to the other path within a step, both paths carry packets in it.
            steps_apart = if is_apart(elephants.step()) {
                steps_apart + 1
            } else {
                0
            };
            match (steps_apart, apart_since) {
                (0, Some(since)) => panic!("seed {seed}: apart at {since}, not at {}", elephants.now),
                (2, None) => apart_since = Some(Time(elephants.now.0 - STEP.0)),
                _ => {}
            }
        }
        assert_conserved(&elephants.simulation.outcome());
        let since = apart_since.unwrap_or_else(|| panic!("seed {seed}: never apart"));
        if since == STEP {
            apart_at_first += 1;
            continue;
        }
        let rounds = since.seconds() * 1e6 / round_us;
        assert!(rounds > 11.0, "seed {seed}: {rounds} rounds");
        draws.push(rounds / 12.0);
    }
    // ECMP separates half of the flows: 3.5 standard deviations of 200 draws are 25.
    assert!((75..=125).contains(&apart_at_first), "{apart_at_first}");
    let mean = draws.iter().sum::<f64>() / draws.len() as f64;
    // Three standard deviations of the mean of as many geometric numbers, with 1/2 each. A queue that is not full
    // yet makes some rounds shorter, and one without marks on a new path is not counted.
    let band = 3.0 * (2.0 / draws.len() as f64).sqrt();
    let (min, max) = (4.0 / 3.0 * 11.0 / 12.0 - band, 2.0 * 14.0 / 12.0 + band);
    assert!((min..max).contains(&mean), "{mean} of {}", draws.len());
}

/// With ECMP alone, flows that collide share one path until the end.
#[test]
fn flows_that_collide_stay_together_with_ecmp() {
    let together = (0..20).filter(|&seed| {
        let mut elephants = Elephants::new("ecmp", seed);
        let mut steps = std::iter::repeat_with(|| is_apart(elephants.step())).take(600);
        let first = steps.next().unwrap();
        assert!(steps.all(|apart| apart == first), "seed {seed}");
        !first
    });
    assert!((4..=16).contains(&together.count()));
}

/// A link that fails, of which routing does not learn: a timeout leads to another path.
#[test]
fn a_timeout_leaves_a_path_that_has_failed() {
    let finishes = |paths| {
        let (_, uplinks) = fabric();
        let fails = |link| LinkEvent {
            at: Time::from_us(500),
            link: link as u32,
            change: LinkChange::Down,
            detection_delay: Time::from_ms(60_000),
        };
        uplinks.map(|link| {
            let (fabric, _) = fabric();
            let config = SimulationConfig {
                events: vec![fails(link)],
                ..config(fabric, vec![sends(paths)], vec![sized(0, 2, 10_000_000)])
            };
            let outcome = run(config, Time::from_ms(10_000));
            let flow = &outcome.flows[0];
            (flow.finish.is_some(), flow.subflows[0].timeouts)
        })
    };
    // The flow takes one of the two links.
    let [mut ecmp, mut plb] = ["ecmp", "plb"].map(finishes);
    ecmp.sort_unstable();
    plb.sort_unstable();
    assert!(matches!(ecmp, [(false, 5..), (true, 0)]), "{ecmp:?}");
    assert!(matches!(plb, [(true, 0), (true, 1..12)]), "{plb:?}");
}
