//! The results of specs that set only a network, a congestion control and traffic.

use crate::experiment::{numbers, parse, run_on, table};

/// Returns the goodputs in Gbps, in the last 30 ms, of a permutation over a leaf-spine of 16 hosts
/// with 10 Gbps.
fn permutation(cc: &str, subflows: u32, seed: u32) -> Vec<f64> {
    let spec = format!(
        r#"
        name = "permutation"
        duration = "60ms"
        measure = {{ start = "30ms", stop = "60ms" }}
        seed = {seed}
        topology = {{ kind = "leaf-spine", leaves = 4, spines = 4, hosts_per_leaf = 4, rate = "10Gbps", delay = "1us" }}
        queues = {{ limit = "100 packets", mark = "20 packets" }}
        transports.t = {{ cc = "{cc}", subflows = {subflows} }}
        traffic = [{{ kind = "bulk", pairs = "permutation", transport = "t" }}]
        "#
    );
    let run = run_on(&parse::<&str>(&spec, &[]), 1);
    let goodputs = numbers(table(&run, "flows"), "goodput_bps");
    goodputs.into_iter().flatten().map(|bps| bps / 1e9).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Four subflows give a higher mean goodput than DCTCP over one path, and no flow is slow. LIA's flows may be:
/// it fills the queues, and a connection waits for an RTO of 200 ms when a retransmission is lost.
#[test]
fn multipath_is_faster_than_one_path_in_a_fabric() {
    let single: Vec<f64> = (1..4).flat_map(|seed| permutation("dctcp", 1, seed)).collect();
    for cc in ["dctcp", "amp", "dcm", "xmp", "warp", "lia"] {
        let multipath: Vec<f64> = (1..4).flat_map(|seed| permutation(cc, 4, seed)).collect();
        assert!(
            mean(&multipath) > mean(&single),
            "{cc}: {} and {}",
            mean(&multipath),
            mean(&single)
        );
        assert!(
            cc == "lia" || least(&multipath) > least(&single) / 3.0,
            "{cc}: {} and {}",
            least(&multipath),
            least(&single)
        );
    }
}

/// A standstill caused by delayed acknowledgements is reported, with its share of the time.
#[test]
fn a_standstill_on_delayed_acknowledgements_is_reported() {
    let spec = r#"
        name = "window-of-one"
        duration = "1s"
        topology = { kind = "many-to-one", senders = 1, rate = "1Gbps", delay = "10us" }
        queues = { limit = "100 packets" }
        transports.t = { cc = { name = "amp-fg", cwnd_min = 1 }, subflows = 1 }
        traffic = [{ kind = "bulk", from = "h0", to = "r0", transport = "t", size = "200KB" }]
    "#;
    let warnings = |changes: &[&str]| -> Vec<String> {
        let run = run_on(&parse(spec, changes), 1);
        serde_json::from_value(run.manifest["warnings"].clone()).unwrap()
    };
    let one = [
        "transports.t.tcp.initial_cwnd=1",
        "transports.t.tcp.initial_ssthresh=1",
        "transports.t.tcp.quick_acks=0",
    ];
    let stalled = warnings(&one);
    assert!(
        stalled
            .iter()
            .any(|line| line.starts_with("delayed acknowledgements: flows stood still for ")),
        "{stalled:?}"
    );
    assert_eq!(warnings(&[]), Vec::<String>::new());
}
