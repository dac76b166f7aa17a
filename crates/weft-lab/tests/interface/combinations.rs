//! Combinations of features, and names that occur everywhere.

use std::path::Path;

use weft_lab::RunResult;

use crate::experiment::{counts, parse, run_on, table};

fn run(text: &str, threads: usize) -> RunResult {
    run_on(&parse::<&str>(text, &[]), threads)
}

/// Returns the delivered bytes of all flows; the run itself checks conservation.
fn delivered(run: &RunResult) -> Vec<u64> {
    counts(table(run, "flows"), "delivered_bytes").to_vec()
}

/// AMP over VL2 with web search traffic; two links to intermediate switches fail.
#[test]
fn amp_over_vl2_with_failed_links() {
    let spec = r#"
        name = "vl2"
        duration = "20ms"
        topology = { kind = "vl2", aggregation_ports = 4, intermediate_ports = 4, hosts_per_tor = 4, rate = "1Gbps", delay = "2us" }
        queues = { limit = "100 packets", mark = "10 packets" }
        transports.amp = { cc = "amp", subflows = 4, paths = "disjoint" }
        traffic = [{ kind = "poisson", transport = "amp", interval = "5ms", pairs = "random", size = { kind = "empirical", cdf = "web-search" } }]
        events = [
            { at = "5ms", layer = "agg-int", fraction = 0.25, state = "down", detection_delay = "100us" },
        ]
    "#;
    let whole = run(spec, 1);
    let bytes = delivered(&whole);
    assert!(bytes.len() > 20 && bytes.iter().filter(|bytes| **bytes > 0).count() > bytes.len() / 2);
    assert_eq!(whole.manifest["trace_hash"], run(spec, 2).manifest["trace_hash"]);
}

/// OLIA over BCube, whose hosts have several ports and forward packets of other hosts.
#[test]
fn olia_over_bcube() {
    let bytes = |subflows: u32, seed: u32| {
        let spec = format!(
            r#"
            name = "bcube"
            seed = {seed}
            duration = "40ms"
            topology = {{ kind = "bcube", n = 4, k = 1, rate = "100Mbps", delay = "20us" }}
            queues = {{ limit = "100 packets" }}
            transports.olia = {{ cc = "olia", subflows = {subflows}, paths = "disjoint" }}
            traffic = [{{ kind = "stride", transport = "olia", stride = 5 }}]
            "#
        );
        delivered(&run(&spec, 1)).iter().sum::<u64>()
    };
    let total = |subflows| (1..5).map(|seed| bytes(subflows, seed)).sum::<u64>();
    let (one, two) = (total(1), total(2));
    // A host with two ports sends over both of them.
    assert!(
        two as f64 > 1.25 * one as f64,
        "{two} bytes, with one subflow {one}"
    );
}

/// The reference contains every name of a registry.
#[test]
fn the_reference_has_every_name() {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let reference = std::fs::read_to_string(reference).unwrap();
    let registry = serde_json::to_value(weft_lab::registry()).unwrap();
    let mut names = 0;
    for entry in registry
        .as_object()
        .unwrap()
        .values()
        .flat_map(|listings| listings.as_array().unwrap())
    {
        let name = entry["name"].as_str().unwrap();
        assert!(reference.contains(name), "{name} is not in docs/reference.md");
        names += 1;
    }
    assert!(names > 50, "{names}");
}
