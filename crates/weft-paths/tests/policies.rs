//! Every policy: the properties of the numbers that it chooses.

use std::collections::HashSet;

use weft_fabric::{
    Fabric, LeafSpine, MultiHomedFatTree, PortQueues, QueueConfig, SAMPLES, TOPOLOGIES, Topology, Vl2,
};
use weft_paths::{
    Granularity, POLICIES, PathPolicy, Paths, Pinned, Policy, SubflowDirection, draw, draw_seed,
};
use weft_spec::{QueueSize, Rate, Time};

const FLOWS: u64 = 1_000;

fn direction(flow: u64, subflow: u32, reverse: bool) -> SubflowDirection {
    SubflowDirection {
        flow,
        subflow,
        subflows: 8,
        reverse,
    }
}

fn paths(count: u64, branches: u64) -> Paths {
    Paths { count, branches }
}

/// Asserts that draws fall equally often on each value, with Pearson's statistic at most six
/// standard deviations above its mean.
fn assert_even(counts: &[u32], what: &str) {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    let statistic: f64 = counts
        .iter()
        .map(|&n| (f64::from(n) - expected).powi(2) / expected)
        .sum();
    let freedom = (counts.len() - 1) as f64;
    assert!(
        statistic <= freedom + 6.0 * (2.0 * freedom).sqrt() + 1e-9,
        "{what}: {counts:?}"
    );
}

#[test]
fn every_policy_stays_among_the_paths() {
    for entry in POLICIES {
        let policy = Policy::by_name(entry.name).unwrap();
        for (count, branches) in [
            (1, 1),
            (2, 2),
            (16, 4),
            (9, 3),
            (1_000_003, 1),
            (1 << 31, 1 << 31),
        ] {
            for flow in 0..50 {
                for subflow in 0..8 {
                    for reverse in [false, true] {
                        let n = policy.path(paths(count, branches), 7, direction(flow, subflow, reverse));
                        assert!(n < count, "{}: path {n} of {count}", entry.name);
                        let first =
                            policy.nth_path(paths(count, branches), 7, direction(flow, subflow, reverse), 0);
                        assert_eq!(n, first, "{}: before any change", entry.name);
                    }
                }
            }
        }
    }
}

/// A subflow that keeps its interfaces has one address at each end, so that both directions have
/// one path.
#[test]
fn policies_that_keep_interfaces_choose_one_path_for_both_directions() {
    let mut kept = Vec::new();
    for entry in POLICIES {
        let policy = Policy::by_name(entry.name).unwrap();
        let has_one_path = (0..FLOWS).all(|flow| {
            (0..8).all(|subflow| {
                let [there, back] = [false, true]
                    .map(|reverse| policy.path(paths(64, 8), 7, direction(flow, subflow, reverse)));
                there == back
            })
        });
        assert_eq!(policy.keeps_interfaces(), has_one_path, "{}", entry.name);
        kept.extend(has_one_path.then_some(entry.name));
    }
    assert_eq!(
        kept,
        ["vlb", "disjoint", "consecutive", "by-interface", "pinned", "opn"]
    );
}

#[test]
fn every_topology_names_a_policy_that_exists() {
    for entry in TOPOLOGIES {
        let sample = SAMPLES.iter().find(|(kind, _)| *kind == entry.name);
        let (_, fields) = sample.unwrap_or_else(|| panic!("SAMPLES has no fields of {}", entry.name));
        let topology = (entry.parse)(&fields.parse().unwrap()).unwrap().value;
        Policy::by_name(topology.default_policy()).unwrap();
    }
}

#[test]
fn ecmp_draws_each_subflow_and_direction_a_path_of_its_own() {
    let ecmp = Policy::by_name("ecmp").unwrap();
    for (count, branches) in [(16, 4), (6, 6), (9, 3), (25, 5)] {
        let draw =
            |flow, subflow, reverse| ecmp.path(paths(count, branches), 7, direction(flow, subflow, reverse));
        let mut counts = vec![0; count as usize];
        for flow in 0..100 * count {
            counts[draw(flow, 0, false) as usize] += 1;
        }
        assert_even(&counts, "one subflow");
        // Path of the other subflow or direction, by that of the first one.
        for (what, subflow, reverse) in [("another subflow", 1, false), ("the way back", 0, true)] {
            let mut steps = vec![0; count as usize];
            for flow in 0..100 * count {
                let step = count + draw(flow, subflow, reverse) - draw(flow, 0, false);
                steps[(step % count) as usize] += 1;
            }
            assert_even(&steps, what);
        }
    }
}

#[test]
fn in_turn_goes_on_from_a_path_that_is_drawn() {
    let policy = Policy::by_name("consecutive").unwrap();
    let mut begins = vec![0; 3];
    for flow in 0..FLOWS {
        let path = |subflow, reverse| policy.path(paths(3, 3), 7, direction(flow, subflow, reverse));
        let first = path(0, false);
        begins[first as usize] += 1;
        for subflow in 0..8 {
            assert_eq!(path(subflow, false), (first + u64::from(subflow)) % 3);
            assert_eq!(
                path(subflow, true),
                path(subflow, false),
                "acknowledgements take the way of the data"
            );
        }
    }
    assert_even(&begins, "the first subflow");
}

#[test]
fn by_interface_begins_with_the_first_path() {
    let policy = Policy::by_name("by-interface").unwrap();
    for subflow in 0..8 {
        for reverse in [false, true] {
            assert_eq!(
                policy.path(paths(2, 2), 7, direction(3, subflow, reverse)),
                u64::from(subflow) % 2
            );
        }
    }
}

#[test]
fn pinned_takes_the_path_it_names() {
    for (path, count, expected) in [(0, 2, 0), (1, 2, 1), (3, 2, 1), (1, 1, 0)] {
        for (subflow, reverse) in [(0, false), (0, true), (5, false)] {
            let policy = Pinned { path };
            assert_eq!(
                policy.path(paths(count, 1), 7, direction(3, subflow, reverse)),
                expected
            );
        }
    }
}

#[test]
fn an_unknown_policy_is_refused_by_name() {
    let error = Policy::by_name("hash").unwrap_err().to_string();
    assert!(
        error.starts_with("paths: \"hash\" does not exist; allowed: \"ecmp\", "),
        "{error}"
    );
}

#[test]
fn vlb_draws_uniformly_for_both_directions() {
    let policy = Policy::by_name("vlb").unwrap();
    let mut counts = vec![0; 9];
    for flow in 0..900 {
        let n = policy.path(paths(9, 3), 7, direction(flow, 0, false));
        counts[n as usize] += 1;
        assert_eq!(n, policy.path(paths(9, 3), 7, direction(flow, 0, true)));
    }
    assert_even(&counts, "vlb");
}

#[test]
fn disjoint_subflows_share_no_path_while_there_are_others() {
    let policy = Policy::by_name("disjoint").unwrap();
    for (count, branches) in [(16, 4), (9, 3), (8, 8), (5, 1), (2, 2), (40, 2), (1, 1)] {
        for subflows in 1..20 {
            let choose = |subflow| {
                policy.path(
                    paths(count, branches),
                    7,
                    SubflowDirection {
                        subflows,
                        ..direction(3, subflow, false)
                    },
                )
            };
            let chosen: Vec<u64> = (0..subflows).map(choose).collect();
            let times = |least: u64, all: &[u64]| {
                let count_of = |n: u64| all.iter().filter(|&&m| m == n).count();
                (0..least).map(count_of).collect::<Vec<_>>()
            };
            let each = count / branches;
            let by_path = times(count, &chosen);
            let by_branch = times(branches, &chosen.iter().map(|n| n / each).collect::<Vec<_>>());
            for times in [by_path, by_branch] {
                let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
                assert!(
                    most - least <= 1,
                    "{subflows} subflows on {count} paths, {branches} branches: {times:?}"
                );
            }
        }
    }
}

#[test]
fn every_packet_and_every_flowlet_draws_uniformly() {
    for name in ["rps", "flowlet", "plb", "mmptcp"] {
        let policy = Policy::by_name(name).unwrap();
        let mut counts = vec![0; 9];
        for n in 0..1_800 {
            counts[policy.nth_path(paths(9, 3), 7, direction(3, 0, false), n) as usize] += 1;
        }
        assert_even(&counts, name);
        assert_ne!(policy.granularity(0, false), Granularity::Subflow);
    }
    for entry in POLICIES
        .iter()
        .filter(|entry| !["rps", "flowlet", "plb", "mmptcp", "opn"].contains(&entry.name))
    {
        let policy = Policy::by_name(entry.name).unwrap();
        for reverse in [false, true] {
            assert_eq!(
                policy.granularity(0, reverse),
                Granularity::Subflow,
                "{} keeps its path",
                entry.name
            );
        }
    }
}

/// Returns the links on the path of each subflow between two hosts.
fn links(fabric: &Fabric, from: u32, to: u32, seed: u64, subflows: u32) -> Vec<HashSet<usize>> {
    let routing = &fabric.routing;
    let paths = paths(routing.path_count(from, to), routing.first_branches(from, to));
    let policy = Policy::by_name("disjoint").unwrap();
    let on_the_way = |subflow| {
        let direction = SubflowDirection {
            subflows,
            ..direction(0, subflow, false)
        };
        let mut ports = Vec::new();
        routing.append_ports(from, to, policy.path(paths, seed, direction), &mut ports);
        let mut at = from;
        let mut walk = |port: u16| {
            let link = fabric.links.partition_point(|link| link.from < at) + usize::from(port);
            at = fabric.links[link].to;
            link
        };
        ports.into_iter().map(&mut walk).collect()
    };
    (0..subflows).map(on_the_way).collect()
}

/// If two hosts have two paths that share only what every path shares, two subflows take two such
/// paths, also near the receiver.
#[test]
fn two_disjoint_subflows_share_only_what_all_paths_share() {
    let (rate, delay) = (Rate(1_000_000_000), Time::from_us(1));
    let queue = QueueConfig {
        limit: QueueSize::Packets(100),
        mark: None,
    };
    let queues = PortQueues {
        switch: queue,
        host: queue,
    };
    let leaf_spine = |spines, links| LeafSpine {
        leaves: 2,
        spines,
        links,
        hosts_per_leaf: 2,
        rate,
        spine_rate: None,
        delay,
    };
    let homes = MultiHomedFatTree {
        k: 4,
        homes: 2,
        rate,
        delay,
    };
    let vl2 = Vl2 {
        aggregation_ports: 4,
        intermediate_ports: 4,
        hosts_per_tor: 2,
        rate,
        switch_rate: None,
        delay,
    };
    // The links of hosts are shared, except for hosts with two links.
    for (topology, shared) in [
        (&homes as &dyn Topology, 1),
        (&leaf_spine(1, 2), 2),
        (&leaf_spine(2, 2), 2),
        (&vl2, 2),
    ] {
        let fabric = topology.build(&queues).unwrap();
        let (from, to) = (fabric.hosts[0], *fabric.hosts.last().unwrap());
        for seed in 0..50 {
            let links = links(&fabric, from, to, seed, 2);
            let both = links[0].intersection(&links[1]).count();
            assert!(both <= shared, "seed {seed}: {both} of {links:?}");
        }
    }
}

#[test]
fn great_seeds_are_not_small_ones_in_another_order() {
    for seed in [0, 1, 7, 511] {
        assert_eq!(draw_seed(seed), seed);
        // Without draw_seed, these seeds collide.
        assert_eq!(draw(&[seed, 0]), draw(&[seed + 512, 1 << 32]));
        let [small, great] = [seed, seed + 512].map(draw_seed);
        assert_ne!(draw(&[small, 0]), draw(&[great, 1 << 32]));
    }
}
