//! Every topology: the properties of routes.

mod network;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use network::{QUEUES, build, check_paths, check_shape, first_links, path, walk};
use proptest::prelude::*;
use weft_fabric::{Fabric, NetworkSize, NodeId, SAMPLES, TOPOLOGIES};
use weft_spec::{Rate, Time, find};

fn fat_tree(k: u32) -> Fabric {
    build(
        "fat-tree",
        &format!("k = {k}\nrate = \"10Gbps\"\ndelay = \"1us\""),
    )
    .unwrap()
}

/// Sizes of topologies that report them without building the network.
#[test]
fn an_extent_is_known_without_building() {
    for (kind, fields) in [
        ("fat-tree", "k = 2"),
        ("fat-tree", "k = 8"),
        ("fat-tree", "k = 6\noversubscription = 4"),
        ("multi-homed-fat-tree", "k = 8\nhomes = 2"),
        ("many-to-one", "senders = 5"),
        ("two-paths", "racks = 4\nhosts_per_rack = 3"),
        (
            "leaf-spine",
            "leaves = 4\nspines = 3\nhosts_per_leaf = 5\nlinks = 2",
        ),
        (
            "vl2",
            "aggregation_ports = 6\nintermediate_ports = 4\nhosts_per_tor = 7",
        ),
        ("bcube", "n = 3\nk = 2"),
    ] {
        let fields = format!("{fields}\nrate = \"10Gbps\"\ndelay = \"1us\"");
        let built = build(kind, &fields).unwrap();
        let topology = (find(TOPOLOGIES, "kind", kind).unwrap().parse)(&fields.parse().unwrap()).unwrap();
        let size = NetworkSize {
            nodes: built.nodes.len() as u64,
            hosts: built.hosts.len() as u64,
            links: built.links.len() as u64,
        };
        assert_eq!(topology.value.size(), size, "{kind}");
    }
}

#[test]
fn many_to_one_is_a_star() {
    let fabric = build("many-to-one", "senders = 30\nrate = \"10Gbps\"\ndelay = \"2us\"").unwrap();
    check_shape(&fabric);
    assert_eq!(
        (fabric.nodes.len(), fabric.links.len(), fabric.hosts.len()),
        (32, 62, 31)
    );
    assert_eq!(fabric.nodes[fabric.hosts[30] as usize].name, "r0");
    let first = first_links(&fabric);
    for &from in &fabric.hosts {
        for &to in fabric.hosts.iter().filter(|&&to| to != from) {
            check_paths(&fabric, &first, from, to);
        }
    }
    let fast = "senders = 2\nrate = \"10Gbps\"\ndelay = \"2us\"\nsender_rate = \"100Gbps\"";
    let rates = build("many-to-one", fast)
        .unwrap()
        .links
        .into_iter()
        .map(|link| link.rate.0 / 1_000_000_000);
    let receivers = rates.filter(|&rate| rate == 10).count();
    assert_eq!(receivers, 2, "only the receiver's links have the slower rate");
}

#[test]
fn two_bottlenecks_have_the_paths_of_figure_5() {
    let fabric = build("two-bottlenecks", "rate = \"10Gbps\"\ndelay = \"2us\"").unwrap();
    check_shape(&fabric);
    assert_eq!((fabric.nodes.len(), fabric.links.len()), (10, 20));
    let first = first_links(&fabric);
    let node = |name: &str| fabric.nodes.iter().position(|node| node.name == name).unwrap() as NodeId;
    let names = |from: &str, ports: &[u16]| {
        let nodes = walk(&fabric, &first, node(from), ports);
        nodes
            .iter()
            .map(|&n| fabric.nodes[n as usize].name.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (from, to, expected) in [
        ("S1", "D1", vec!["upper-in upper-out D1"]),
        ("S3", "D3", vec!["lower-in lower-out D3"]),
        ("S2", "D2", vec!["upper-in upper-out D2", "lower-in lower-out D2"]),
        ("D2", "S2", vec!["upper-out upper-in S2", "lower-out lower-in S2"]),
        ("S1", "S2", vec!["upper-in S2"]),
        ("D2", "D3", vec!["lower-out D3"]),
    ] {
        check_paths(&fabric, &first, node(from), node(to));
        let count = fabric.routing.path_count(node(from), node(to));
        let all: Vec<_> = (0..count)
            .map(|n| names(from, &path(&fabric, node(from), node(to), n)))
            .collect();
        assert_eq!(all, expected);
    }
    assert_eq!(fabric.routing.path_count(node("S1"), node("D3")), 0);
    for bottleneck in fabric.links.iter().filter(|link| link.layer == "switch-switch") {
        assert!(!fabric.nodes[bottleneck.from as usize].is_host);
    }
}

#[test]
fn two_paths_lead_from_rack_to_rack() {
    let links = "rate = \"100Mbps\"\ndelay = \"20us\"";
    for (racks, width) in [(3, 2), (2, 1), (5, 4)] {
        let fields = format!("racks = {racks}\nhosts_per_rack = {width}\n{links}");
        let fabric = build("two-paths", &fields).unwrap();
        check_shape(&fabric);
        assert_eq!(fabric.hosts.len() as u32, racks * width);
        assert_eq!(fabric.nodes.len() as u32, racks * (width + 1) + 2);
        assert_eq!(fabric.links.len() as u32, 2 * racks * (width + 2));
        let first = first_links(&fabric);
        for (i, &from) in (0..).zip(&fabric.hosts) {
            for (j, &to) in (0..).zip(&fabric.hosts).filter(|&(j, _)| j != i) {
                let near = i / width == j / width;
                assert_eq!(fabric.routing.path_count(from, to), if near { 1 } else { 2 });
                let nodes = walk(&fabric, &first, from, &path(&fabric, from, to, 0));
                assert_eq!(nodes.len(), if near { 2 } else { 4 });
                check_paths(&fabric, &first, from, to);
            }
        }
    }
    let fabric = build("two-paths", links).unwrap();
    assert_eq!(
        fabric.hosts.len(),
        6,
        "three racks of two, as the paper's matrices need"
    );
}

#[test]
fn path_n_of_two_paths_is_over_switch_n_there_and_back() {
    let fabric = build(
        "two-paths",
        "rate = \"100Mbps\"\ndelay = \"20us\"\nhost_rate = \"1Gbps\"",
    )
    .unwrap();
    let first = first_links(&fabric);
    let (from, to) = (fabric.hosts[0], fabric.hosts[2]);
    let above = |from, to, n| {
        let nodes = walk(&fabric, &first, from, &path(&fabric, from, to, n));
        fabric.nodes[nodes[1] as usize].name.clone()
    };
    for n in 0..2 {
        assert_eq!(above(from, to, n), format!("agg{n}"));
        assert_eq!(above(to, from, n), format!("agg{n}"), "back");
    }
    for link in &fabric.links {
        let rate = if link.layer.contains("host") { 1000 } else { 100 };
        assert_eq!(link.rate, Rate(rate * 1_000_000), "{}", link.layer);
    }
}

/// Topologies whose path n in the reverse direction may use other switches than path n
/// (`Routing::append_ports`).
const OTHER_WAY_BACK: [&str; 4] = ["bcube", "graph", "multi-homed-fat-tree", "vl2"];

#[test]
fn path_n_back_goes_over_the_same_switches() {
    for (kind, fields) in SAMPLES {
        if OTHER_WAY_BACK.contains(kind) {
            continue;
        }
        let fabric = build(kind, fields).unwrap();
        let first = first_links(&fabric);
        let switches = |from, to, n| {
            let mut nodes = walk(&fabric, &first, from, &path(&fabric, from, to, n));
            nodes.pop();
            nodes
        };
        for &from in &fabric.hosts {
            for &to in &fabric.hosts {
                for n in 0..fabric.routing.path_count(from, to) {
                    let mut back = switches(to, from, n);
                    back.reverse();
                    assert_eq!(switches(from, to, n), back, "{kind}: path {n} of {from} to {to}");
                }
            }
        }
    }
}

#[test]
fn fat_tree_has_its_counts_and_paths() {
    for k in [2u32, 4, 6, 8, 14, 16] {
        let fabric = fat_tree(k);
        check_shape(&fabric);
        let (k, half) = (k as usize, k as usize / 2);
        assert_eq!(fabric.hosts.len(), k * k * k / 4);
        assert_eq!(fabric.nodes.len(), k * k * k / 4 + k * k + half * half);
        assert_eq!(fabric.links.len(), 2 * 3 * k * k * k / 4);
        for layer in [
            "host-tor", "tor-host", "tor-agg", "agg-tor", "agg-core", "core-agg",
        ] {
            assert_eq!(
                fabric.links.iter().filter(|link| link.layer == layer).count(),
                k * k * k / 4
            );
        }
        let first = first_links(&fabric);
        for n in 0..fabric.nodes.len() {
            assert_eq!(
                first[n + 1] - first[n],
                if fabric.nodes[n].is_host { 1 } else { k }
            );
        }
        let host = |i: usize| fabric.hosts[i];
        let last = fabric.hosts.len() - 1;
        let mut pairs = vec![(0, last, half * half), (last, 0, half * half)];
        if half > 1 {
            pairs.extend([(0, 1, 1), (0, half, half), (last, last - half, half)]);
        }
        for (from, to, count) in pairs {
            assert_eq!(fabric.routing.path_count(host(from), host(to)), count as u64);
            check_paths(&fabric, &first, host(from), host(to));
        }
    }
}

#[test]
fn fat_tree_names_and_numbers_keep_neighbours_together() {
    let fabric = fat_tree(8);
    let pod_nodes = 16 + 4 + 4;
    let mut first_of_pod = 0;
    for p in 0..8 {
        let pod = &fabric.nodes[first_of_pod..first_of_pod + pod_nodes];
        assert!(pod.iter().filter(|node| node.is_host).count() == 16 && pod[4].name == format!("tor{p}.0"));
        assert_eq!(pod[pod_nodes - 1].name, format!("agg{p}.3"));
        first_of_pod += pod_nodes;
        let cores = fabric.nodes[first_of_pod..]
            .iter()
            .take_while(|node| node.name.starts_with("core"))
            .count();
        assert_eq!(cores, 2, "16 core switches are dealt out to 8 pods");
        first_of_pod += cores;
    }
    assert_eq!(first_of_pod, fabric.nodes.len());
}

#[test]
fn eight_thousand_hosts_are_built_quickly() {
    let start = Instant::now();
    let fabric = fat_tree(32);
    assert_eq!(fabric.hosts.len(), 8192);
    assert!(
        start.elapsed() < Duration::from_millis(900),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn refusals_name_the_field() {
    let refusal = |kind: &str, fields: &str| build(kind, fields).err().unwrap().to_string();
    let links = "\nrate = \"10Gbps\"\ndelay = \"1us\"";
    assert_eq!(
        refusal("fat-tree", &format!("k = 3{links}")),
        "k: 3; allowed: even numbers from 2 to 254"
    );
    assert_eq!(
        refusal("fat-tree", &format!("k = 0{links}")),
        "k: 0; allowed: even numbers from 2 to 254"
    );
    assert_eq!(
        refusal("fat-tree", &format!("k = 256{links}")),
        "k: 256; allowed: even numbers from 2 to 254"
    );
    assert_eq!(
        refusal("many-to-one", &format!("senders = 0{links}")),
        "senders: 0; allowed: 1 to 65535"
    );
    assert_eq!(
        refusal("many-to-one", &format!("sender = 1{links}")),
        "sender: unknown field; did you mean \"senders\"? allowed: senders, rate, delay, sender_rate"
    );
    assert_eq!(
        refusal("many-to-one", "senders = 2\ndelay = \"1us\""),
        "rate: required field is missing; add it: Rate of every link, such as \"10Gbps\""
    );
    assert_eq!(
        refusal("two-paths", &format!("racks = 1{links}")),
        "racks: 1; allowed: 2 to 1000"
    );
    assert_eq!(
        refusal("two-paths", &format!("hosts_per_rack = 0{links}")),
        "hosts_per_rack: 0; allowed: 1 to 1000"
    );
    assert!(
        refusal("two-bottlenecks", "rate = \"-1Gbps\"\ndelay = \"1us\"")
            .starts_with("rate: \"-1Gbps\" is negative; allowed:")
    );
    let names: Vec<_> = TOPOLOGIES
        .iter()
        .map(|entry| format!("{:?}", entry.name))
        .collect();
    assert_eq!(
        refusal("torus", ""),
        format!("kind: \"torus\" does not exist; allowed: {}", names.join(", "))
    );
}

#[test]
fn resolved_fields_build_the_same() {
    for entry in TOPOLOGIES {
        let has_sample = SAMPLES.iter().any(|(kind, _)| *kind == entry.name);
        assert!(has_sample, "SAMPLES has no fields of {}", entry.name);
    }
    for (kind, fields) in SAMPLES {
        let entry = find(TOPOLOGIES, "", kind).unwrap();
        let loaded = (entry.parse)(&fields.parse().unwrap()).unwrap();
        let again = (entry.parse)(&loaded.params).unwrap();
        assert_eq!(loaded.params, again.params);
        assert_eq!(
            loaded.value.build(&QUEUES).unwrap().links,
            again.value.build(&QUEUES).unwrap().links
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Any pair of hosts of any fat-tree: paths have the right length, exist, and have no loops.
    #[test]
    fn any_pair_in_any_fat_tree(half in 1u32..9, from: prop::sample::Index, to: prop::sample::Index, n: prop::sample::Index) {
        let fabric = fat_tree(2 * half);
        let first = first_links(&fabric);
        let (i, j) = (from.index(fabric.hosts.len()), to.index(fabric.hosts.len()));
        prop_assume!(i != j);
        let (rack, pod) = (half as usize, (half * half) as usize);
        let (links, paths) = if i / rack == j / rack {
            (2, 1)
        } else if i / pod == j / pod {
            (4, rack)
        } else {
            (6, pod)
        };
        let (from, to) = (fabric.hosts[i], fabric.hosts[j]);
        prop_assert_eq!(fabric.routing.path_count(from, to), paths as u64);
        for n in [0, n.index(paths) as u64, paths as u64 - 1] {
            let ports = path(&fabric, from, to, n);
            let nodes = walk(&fabric, &first, from, &ports);
            prop_assert_eq!((nodes.len(), nodes.last()), (links, Some(&to)));
            prop_assert_eq!(nodes.iter().collect::<HashSet<_>>().len(), links);
        }
    }
}

#[test]
fn rates_and_delays_reach_the_links() {
    let fabric = build("fat-tree", "k = 4\nrate = \"40Gbps\"\ndelay = \"3us\"").unwrap();
    assert!(
        fabric
            .links
            .iter()
            .all(|link| link.rate == Rate(40_000_000_000) && link.delay == Time::from_us(3))
    );
}
