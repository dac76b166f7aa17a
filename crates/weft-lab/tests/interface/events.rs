//! The effects of entries of `events` on links.

use weft_lab::{RunOptions, RunResult};

use crate::experiment::{counts, resolved, run_with, table, texts};

const SPEC: &str = r#"
    name = "failing"
    duration = "40ms"
    seed = 3
    topology = { kind = "fat-tree", k = 4, rate = "1Gbps", delay = "2us" }
    queues = { limit = "100 packets" }
    transports.lia = { cc = "lia", subflows = 8 }
    traffic = [
        { kind = "bulk", transport = "lia", pairs = "permutation" },
        { kind = "bulk", transport = "lia", pairs = "permutation" },
    ]
"#;

fn run(events: &str) -> RunResult {
    let experiment = resolved(SPEC, &[format!("events=[{events}]")]);
    run_with(&experiment, RunOptions::default())
}

/// Returns the number of packets that each link accepted, by its ends.
fn packets(run: &RunResult) -> Vec<(String, String, u64)> {
    let links = table(run, "links");
    let ends = texts(links, "from").into_iter().zip(texts(links, "to"));
    let packets = counts(links, "packets").iter();
    ends.zip(packets)
        .map(|((from, to), &packets)| (from, to, packets))
        .collect()
}

fn silent(run: &RunResult) -> Vec<String> {
    let packets = packets(run).into_iter();
    packets
        .filter(|(_, _, packets)| *packets == 0)
        .map(|(from, to, _)| format!("{from}->{to}"))
        .collect()
}

#[test]
fn dead_from_the_start_a_switch_carries_nothing() {
    assert!(silent(&run("")).is_empty(), "two permutations use every link");
    let dead = silent(&run(r#"{ at = "0s", nodes = ["core0.1"], state = "down" }"#));
    assert_eq!(dead.len(), 8, "{dead:?}");
    assert!(dead.iter().all(|link| link.contains("core0.1")), "{dead:?}");
}

#[test]
fn a_fraction_of_a_layer_is_drawn_with_both_directions() {
    let dead = |fraction: f64| {
        silent(&run(&format!(
            r#"{{ at = "0s", layer = "agg-core", fraction = {fraction}, state = "down" }}"#
        )))
    };
    let (some, more) = (dead(0.125), dead(0.25));
    assert_eq!((some.len(), more.len()), (4, 8), "of 16 cables, and both ways");
    assert!(
        some.iter().all(|link| more.contains(link)),
        "{some:?} among {more:?}"
    );
    for link in &more {
        let (from, to) = link.split_once("->").unwrap();
        assert!(more.contains(&format!("{to}->{from}")), "{link} alone");
    }
}

#[test]
fn the_same_fraction_comes_back() {
    let part = r#"layer = "agg-core", fraction = 0.25"#;
    let down = format!(r#"{{ at = "0s", {part}, state = "down" }}"#);
    assert_eq!(silent(&run(&down)).len(), 8);
    let up = format!(r#"{down}, {{ at = "10ms", {part}, state = "up" }}"#);
    assert!(silent(&run(&up)).is_empty(), "flows are given back their paths");
}
