//! Probes of buffers: their samples, compared with formulas and counters, and refusals.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use weft_lab::Experiment;

use crate::experiment::{parse, run_on, table};

/// Two hosts for each of eight receivers, whose ports are offered twice what they carry.
const OVERLOAD: &str = r#"
    name = "overload"
    duration = "2ms"
    probes = [{ kind = "buffer", at = ["s"], interval = "1us" }]
    queues = { limit = "100MB", kind = { name = "shared", buffer = "600KB" } }
    transports.source = { kind = "constant-rate", rate = "10Gbps" }
    [topology]
    kind = "graph"
    rate = "10Gbps"
    delay = "1us"
    switches = ["s", "t"]
    hosts = [
        "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7",
        "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
    ]
    links = [
        { a = "a0", b = "s" }, { a = "a1", b = "s" }, { a = "a2", b = "s" }, { a = "a3", b = "s" },
        { a = "a4", b = "s" }, { a = "a5", b = "s" }, { a = "a6", b = "s" }, { a = "a7", b = "s" },
        { a = "b0", b = "s" }, { a = "b1", b = "s" }, { a = "b2", b = "s" }, { a = "b3", b = "s" },
        { a = "b4", b = "s" }, { a = "b5", b = "s" }, { a = "b6", b = "s" }, { a = "b7", b = "s" },
        { a = "r0", b = "s" }, { a = "r1", b = "s" }, { a = "r2", b = "s" }, { a = "r3", b = "s" },
        { a = "r4", b = "s" }, { a = "r5", b = "s" }, { a = "r6", b = "s" }, { a = "r7", b = "s" },
        { a = "s", b = "t" },
    ]
"#;

/// Returns the traffic to the first `receivers` receivers.
fn traffic(receivers: u32) -> String {
    let pairs = |from: &str| {
        let pairs = (0..receivers).map(|i| format!("[\"{from}{i}\", \"r{i}\"]"));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let entry = |from: &str| {
        format!(
            "{{kind = \"bulk\", transport = \"source\", pairs = [{}]}}",
            pairs(from)
        )
    };
    format!("traffic=[{}, {}]", entry("a"), entry("b"))
}

/// Returns the samples of a run's buffers.
fn samples(spec: &str, overrides: &[String], threads: usize) -> Vec<(String, u64)> {
    let run = run_on(&parse(spec, overrides), threads);
    let traces = table(&run, "traces");
    let nodes = traces.column_by_name("node").unwrap().as_string::<i32>().clone();
    let bytes = traces.column_by_name("buffer_bytes").unwrap();
    let bytes = bytes.as_primitive::<UInt64Type>();
    assert_eq!(nodes.null_count(), 0);
    (0..nodes.len())
        .map(|i| (nodes.value(i).to_owned(), bytes.value(i)))
        .collect()
}

/// Choudhury and Hahne (1998): n congested ports together hold n alpha B / (1 + alpha n). Each is within a
/// packet of its share.
#[test]
fn congested_ports_fill_the_buffer_to_the_fixed_point() {
    for (alpha, receivers) in [(0.5, 2), (1.0, 1), (1.0, 4), (1.0, 8), (4.0, 3)] {
        let overrides = [format!("queues.kind.alpha={alpha}"), traffic(receivers)];
        let samples = samples(OVERLOAD, &overrides, 1);
        assert!(samples.iter().all(|(node, _)| node == "s"));
        let largest = samples.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0) as f64;
        let last = samples[samples.len() - 1].1 as f64;
        let n = f64::from(receivers);
        let expected = n * alpha * 600_000.0 / (1.0 + alpha * n);
        for held in [largest, last] {
            assert!(
                (held - expected).abs() <= n * 1_600.0,
                "alpha {alpha}, {receivers} ports: {held} instead of {expected}"
            );
        }
    }
}

/// A switch pauses its neighbours before an incoming link has more than its buffer.
#[test]
fn a_lossless_buffer_stays_below_the_limits_of_its_links() {
    let overrides = [
        "queues={limit = \"50KB\", kind = \"lossless\"}".to_owned(),
        traffic(4),
    ];
    let (one, three) = (samples(OVERLOAD, &overrides, 1), samples(OVERLOAD, &overrides, 3));
    assert_eq!(one, three);
    let largest = one.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0);
    // Each of eight links is paused near `xoff`.
    assert!((200_000..=400_000).contains(&largest), "{largest}");
}

/// Without `at`, all switches with a buffer are sampled. Samples come from the measurement window.
#[test]
fn all_switches_are_sampled_within_the_measurement_window() {
    let overrides = [
        traffic(1),
        "probes=[{kind = \"buffer\", interval = \"100us\"}]".to_owned(),
        "measure={start = \"1ms\"}".to_owned(),
    ];
    let samples = samples(OVERLOAD, &overrides, 2);
    let nodes: Vec<&str> = samples.iter().map(|(node, _)| node.as_str()).collect();
    assert_eq!(nodes, ["s", "t"].repeat(10));
    assert!(samples.iter().all(|(node, bytes)| (node == "s") == (*bytes > 0)));
}

#[test]
fn nodes_without_a_buffer_are_refused() {
    for (overrides, complaint) in [
        (
            vec!["queues.kind=fifo".to_owned()],
            "probes[0].kind: no switch has a port whose queue uses a buffer of the switch; set queues.kind or layers.NAME.queue to \"shared\" or \"lossless\"",
        ),
        (
            vec!["probes=[{kind = \"buffer\", interval = \"1us\", at = [\"s\", \"x\"]}]".to_owned()],
            "probes[0].at[1]: \"x\" is not a node with queues of kind \"shared\" or \"lossless\"; allowed: a switch with such queues, from \"s\" to \"t\"",
        ),
        (
            vec!["probes=[{kind = \"buffer\", interval = \"1us\", at = []}]".to_owned()],
            "probes[0].at: an empty list; allowed: at least one switch",
        ),
        (
            vec!["probes=[{kind = \"buffer\"}]".to_owned()],
            "probes[0].interval: required field is missing",
        ),
        (
            vec![
                "level=flow".to_owned(),
                "transports.source={cc = \"dctcp\"}".to_owned(),
            ],
            "queues.kind: \"shared\" is not supported at level \"flow\"; ",
        ),
    ] {
        let overrides: Vec<String> = overrides.into_iter().chain([traffic(1)]).collect();
        let refused = Experiment::parse(OVERLOAD, &overrides).map(|_| ());
        let refused = refused.map_err(|error| error.to_string()).unwrap_err();
        assert!(refused.contains(complaint), "{refused}");
    }
}
