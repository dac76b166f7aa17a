//! The effects of entries of `layers` and `links` on their links, and on no others.

use std::collections::BTreeMap;

use weft_lab::{RunOptions, RunResult};

use crate::experiment::{counts, resolved, run_with, table, texts};

/// Hosts of each leaf send to one host of the other leaf.
const SPEC: &str = r#"
    name = "layers"
    duration = "20ms"
    hosts.qdisc = "switch"
    topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 6, rate = "1Gbps", delay = "5us" }
    queues = { limit = "50 packets" }
    transports.dctcp.cc = "dctcp"
    traffic = [
        { kind = "bulk", transport = "dctcp", from = "0..6", to = "h6" },
        { kind = "bulk", transport = "dctcp", from = "7..11", to = "h1" },
    ]
"#;

fn run(overrides: &[&str]) -> RunResult {
    let experiment = resolved(SPEC, overrides);
    let options = RunOptions {
        trace_hash: experiment.spec()["level"] == "packet",
        ..RunOptions::default()
    };
    run_with(&experiment, options)
}

/// Returns a count of the table `links` by layer, where it is not zero.
fn by_layer(run: &RunResult, column: &str) -> BTreeMap<String, u64> {
    let links = table(run, "links");
    let mut found = BTreeMap::new();
    for (layer, count) in texts(links, "layer").into_iter().zip(counts(links, column)) {
        *found.entry(layer).or_default() += count;
    }
    found.retain(|_, count| *count > 0);
    found
}

#[test]
fn only_the_queues_of_the_layer_mark() {
    assert!(by_layer(&run(&[]), "marks").is_empty());
    let marked = by_layer(&run(&["layers.leaf-host.mark=10 packets"]), "marks");
    assert_eq!(marked.keys().collect::<Vec<_>>(), ["leaf-host"]);
    // The threshold of a layer precedes that of all queues.
    let rest = by_layer(
        &run(&["queues.mark=10 packets", "layers.leaf-host.mark=off"]),
        "marks",
    );
    assert!(!rest.contains_key("leaf-host") && !rest.is_empty(), "{rest:?}");
}

#[test]
fn only_the_queues_of_the_layer_have_the_limit() {
    let roomy = ["queues.limit=5000 packets", "queues.mark=10 packets"];
    assert!(by_layer(&run(&roomy), "drops").is_empty());
    let [limit, mark] = roomy;
    let dropped = by_layer(
        &run(&[
            limit,
            mark,
            "layers.leaf-host={limit = \"4 packets\", mark = \"off\"}",
        ]),
        "drops",
    );
    assert_eq!(dropped.keys().collect::<Vec<_>>(), ["leaf-host"]);
}

/// A layer's rate equals that of the topology's own field, and a layer's queue that of
/// `queues.host`, to the last event.
#[test]
fn it_is_what_other_fields_say() {
    let hash = |overrides: &[&str]| run(overrides).manifest["trace_hash"].clone();
    let slow = hash(&["topology.spine_rate=300Mbps"]);
    assert_ne!(slow, hash(&[]));
    let layers = ["layers.leaf-spine.rate=300Mbps", "layers.spine-leaf.rate=300Mbps"];
    assert_eq!(slow, hash(&layers));
    // A value also applies where no other value is set.
    let host = hash(&["queues.host={limit = \"20 packets\", mark = \"5 packets\"}"]);
    assert_ne!(host, hash(&[]));
    assert_eq!(
        host,
        hash(&["layers.host-leaf={limit = \"20 packets\", mark = \"5 packets\"}"])
    );
    assert_eq!(
        host,
        hash(&["queues.host.mark=5 packets", "layers.host-leaf.limit=20 packets"])
    );
}

/// Settings of all links of a layer, one by one, equal those of the layer, to the last event. Those of a
/// single link precede those of its layer.
#[test]
fn settings_of_links_are_those_of_a_layer() {
    let hash = |overrides: &[&str]| run(overrides).manifest["trace_hash"].clone();
    let queue = "{name = \"trimming\", mark_min = \"5 packets\", mark_max = \"9 packets\"}";
    let settings = format!("rate = \"300Mbps\", limit = \"20 packets\", queue = {queue}");
    let layer = hash(&[&format!("layers.leaf-spine={{{settings}}}")]);
    assert_ne!(layer, hash(&[]));
    let names = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(leaf, spine)| format!("leaf{leaf}->spine{spine}"));
    let links: Vec<_> = names
        .iter()
        .map(|name| format!("\"{name}\" = {{{settings}}}"))
        .collect();
    let links = format!("links={{{}}}", links.join(", "));
    assert_eq!(layer, hash(&[&links]));
    let other = "layers.leaf-spine={rate = \"200Mbps\", limit = \"9 packets\", queue = \"fifo\"}";
    assert_eq!(layer, hash(&[&links, other]));
}

#[test]
fn only_the_queue_of_the_link_drops() {
    let limit = "links={\"spine0->leaf0\" = {rate = \"100Mbps\", limit = \"4 packets\"}}";
    let run = run(&["queues.limit=5000 packets", limit]);
    let links = table(&run, "links");
    let ends = texts(links, "from").into_iter().zip(texts(links, "to"));
    let drops = ends.zip(counts(links, "drops")).filter(|(_, drops)| **drops > 0);
    let names: Vec<_> = drops.map(|((from, to), _)| format!("{from}->{to}")).collect();
    assert_eq!(names, ["spine0->leaf0"]);
}

/// Rates of layers also apply at the flow level.
#[test]
fn rates_count_at_the_flow_level() {
    let delivered = |overrides: &[&str]| {
        // Round trips in which more than the smallest windows fit.
        let level = ["level=flow", "hosts={}", "topology.delay=200us"];
        let run = run(&level.iter().chain(overrides).copied().collect::<Vec<_>>());
        counts(table(&run, "flows"), "delivered_bytes")
            .iter()
            .sum::<u64>()
    };
    let (all, slow) = (delivered(&[]), delivered(&["layers.leaf-spine.rate=100Mbps"]));
    assert!(slow > 0 && slow < all / 4, "{slow} bytes, without it {all}");
}
