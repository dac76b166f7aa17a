//! Flow probes: samples at an interval, every change, latencies, and flows that generators open.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use weft_lab::{Experiment, RunOptions, RunResult};

use crate::experiment::{indices, numbers, parse, run_on, run_with, table};

/// AMP over two bottlenecks that fill one after the other, competing with jobs and a closed loop.
const SPEC: &str = r#"
    name = "traced"
    duration = "20ms"
    topology = { kind = "two-bottlenecks", rate = "1Gbps", delay = "20us" }
    queues = { limit = "100 packets", mark = "4 packets" }
    transports.amp = { cc = { name = "amp", gamma = 1 }, subflows = 2 }
    transports.dctcp = { cc = "dctcp" }
    [[traffic]]
    kind = "bulk"
    name = "bulk"
    transport = "amp"
    pairs = [["S2", "D2"]]
    [[traffic]]
    kind = "bulk"
    name = "beside"
    transport = "dctcp"
    pairs = [["S3", "D3"]]
    count = 12
    start = "5ms"
    stop = "12ms"
    [[traffic]]
    kind = "closed-loop"
    name = "loop"
    transport = "dctcp"
    pairs = [["S1", "D1"]]
    count = 12
    size = "50KB"
    start = "3ms"
"#;

fn run(probes: &str, threads: usize) -> RunResult {
    run_on(&parse(SPEC, &[format!("probes={probes}")]), threads)
}

fn refusal(probes: &str) -> String {
    let refused = Experiment::parse(SPEC, &[format!("probes={probes}")]);
    refused.err().map(|error| error.to_string()).unwrap_or_default()
}

/// Time, cwnd, and whether the subflow is active.
type Row = (f64, f64, bool);

/// Returns the recorded rows of each (flow, subflow).
fn windows(run: &RunResult) -> HashMap<(u32, u32), Vec<Row>> {
    let traces = table(run, "traces");
    let ids = indices(traces, "flow").iter().zip(indices(traces, "subflow"));
    let active = traces.column_by_name("active").unwrap().as_boolean();
    let (times, cwnds) = (numbers(traces, "time_s"), numbers(traces, "cwnd_packets"));
    let mut windows: HashMap<_, Vec<_>> = HashMap::new();
    for (row, (&flow, &subflow)) in ids.enumerate() {
        let state = (times[row].unwrap(), cwnds[row].unwrap(), active.value(row));
        windows.entry((flow, subflow)).or_default().push(state);
    }
    windows
}

#[test]
fn samples_see_what_changes_tell() {
    let samples = windows(&run(
        r#"[{kind = "flow", traffic = "bulk", interval = "7us"}]"#,
        1,
    ));
    let changes = windows(&run(r#"[{kind = "flow", traffic = "bulk"}]"#, 1));
    assert_eq!((samples.len(), changes.len()), (2, 2), "two subflows");
    let mut seen = std::collections::HashSet::new();
    for (subflow, samples) in &samples {
        let changes = &changes[subflow];
        assert!(changes.len() > 30, "{} changes of {subflow:?}", changes.len());
        assert!(changes.is_sorted_by(|a, b| a.0 <= b.0));
        assert_eq!(changes[0].0, 0.0, "the first row is the opening");
        for &(time, cwnd, active) in samples {
            let last = changes.partition_point(|change| change.0 <= time) - 1;
            assert_eq!((cwnd, active), (changes[last].1, changes[last].2), "at {time}");
            seen.insert(active);
        }
    }
    assert_eq!(seen.len(), 2, "a subflow was suppressed and released");
}

#[test]
fn flows_that_open_because_of_others_can_be_on_record() {
    let traced = run(r#"[{kind = "flow", traffic = "loop"}]"#, 1);
    let flows = table(&traced, "flows");
    let by_flow = windows(&traced);
    let ids = indices(flows, "flow");
    assert!(ids.len() > 20, "{ids:?}");
    let (starts, ends) = (numbers(flows, "start_s"), numbers(flows, "acked_s"));
    for (row, &flow) in ids.iter().enumerate().skip(13) {
        let rows = &by_flow[&(flow, 0)];
        let end = ends[row].unwrap_or(0.02);
        assert_eq!(Some(rows[0].0), starts[row], "flow {flow}");
        assert!(
            rows.iter().all(|change| change.0 <= end) && (rows.len() > 3 || ends[row].is_none()),
            "flow {flow}"
        );
    }
    assert!(
        (0..13).all(|flow| !by_flow.contains_key(&(flow, 0))),
        "no other is on record"
    );

    let sampled = windows(&run(
        r#"[{kind = "flow", traffic = "loop", flows = [2, 3], interval = "10us"}]"#,
        1,
    ));
    let mut on_record: Vec<_> = sampled.keys().copied().collect();
    on_record.sort_unstable();
    assert_eq!(
        on_record,
        [(15, 0), (16, 0)],
        "behind those of the entries before"
    );
    for (subflow, samples) in sampled {
        let row = ids.iter().position(|&flow| flow == subflow.0).unwrap();
        let within = starts[row].unwrap()..ends[row].unwrap();
        assert!(samples.iter().all(|sample| within.contains(&sample.0)));
        let expected = (within.end - within.start) / 10e-6;
        assert!(
            (samples.len() as f64 - expected).abs() <= 1.0,
            "{}",
            samples.len()
        );
    }
}

#[test]
fn traces_are_the_same_on_any_number_of_threads() {
    let probes = r#"[{kind = "flow"}, {kind = "flow", interval = "13us"}]"#;
    let (one, three) = (run(probes, 1), run(probes, 3));
    assert!(table(&one, "traces").num_rows() > 5_000);
    assert_eq!(table(&one, "traces"), table(&three, "traces"));
    assert_eq!(one.manifest["trace_hash"], three.manifest["trace_hash"]);
}

/// Returns chunk, first transmission and latency in seconds of each chunk, by flow.
fn latencies(run: &RunResult) -> HashMap<u32, Vec<(u32, f64, f64)>> {
    let rows = table(run, "latencies");
    let (chunks, sent) = (indices(rows, "chunk"), numbers(rows, "sent_s"));
    let took = numbers(rows, "latency_s");
    let mut by_flow: HashMap<_, Vec<_>> = HashMap::new();
    for (row, &flow) in indices(rows, "flow").iter().enumerate() {
        let chunk = (chunks[row], sent[row].unwrap(), took[row].unwrap());
        by_flow.entry(flow).or_default().push(chunk);
    }
    by_flow
}

/// The minimum latency: the first packet of 1500 bytes over three links of 1 Gbps and 20 us each.
const MIN_SECONDS: f64 = 3.0 * (20e-6 + 1500.0 * 8.0 / 1e9);

#[test]
fn latencies_are_those_of_all_data_delivered() {
    let run = run(r#"[{kind = "latency"}]"#, 1);
    let flows = table(&run, "flows");
    let bytes = flows.column_by_name("delivered_bytes").unwrap();
    let bytes = bytes.as_primitive::<UInt64Type>().values();
    let (starts, ends) = (numbers(flows, "start_s"), numbers(flows, "finish_s"));
    let by_flow = latencies(&run);
    assert!(by_flow.len() > 40, "{} flows", by_flow.len());
    for (row, flow) in indices(flows, "flow").iter().enumerate() {
        // No data of the last flows of a loop has arrived yet.
        let chunks = by_flow.get(flow).map_or(&[][..], Vec::as_slice);
        if bytes[row] > 0 || ends[row].is_some() {
            assert!(!chunks.is_empty(), "flow {flow}");
        }
        if ends[row].is_some() {
            assert_eq!(chunks.len() as u64, bytes[row].div_ceil(1448), "flow {flow}");
        }
        for (&(chunk, sent, took), expected) in chunks.iter().zip(0..) {
            assert_eq!(chunk, expected, "flow {flow}");
            assert!(sent > starts[row].unwrap() && sent + took <= ends[row].unwrap_or(0.02) + 1e-12);
            // The last chunk is shorter.
            assert!(
                took > 0.95 * MIN_SECONDS || bytes[row] == 50_000,
                "{flow} {chunk}: {took}"
            );
        }
        // Chunks are sent out of order, because Linux's scheduler assigns them to subflows before
        // these can send.
        let in_order = |a: &(u32, f64, f64), b: &(u32, f64, f64)| a.1 + a.2 <= b.1 + b.2 + 1e-12;
        assert!(chunks.is_sorted_by(in_order), "flow {flow}");
    }
}

#[test]
fn what_is_lost_takes_a_timeout_and_delays_what_follows() {
    // A queue of two packets drops some of the first ten; SACK recovers some, the timer the last.
    let text = r#"
        name = "lossy"
        duration = "1s"
        topology = { kind = "many-to-one", senders = 1, rate = "10Mbps", sender_rate = "1Gbps", delay = "20us" }
        queues = { limit = "2 packets", host = { limit = "100 packets" } }
        transports.reno = { cc = "reno", tcp = { tail_loss_probe = false } }
        traffic = [{ kind = "bulk", transport = "reno", from = "h0", to = "r0", size = "14480B" }]
        probes = [{ kind = "latency", flows = [0] }]
    "#;
    let run = run_with(&parse::<&str>(text, &[]), RunOptions::default());
    let chunks = &latencies(&run)[&0];
    assert_eq!(chunks.len(), 10);
    let serialisation = 1500.0 * 8.0 / 10e6;
    for (i, &(_, _, took)) in chunks[..3].iter().enumerate() {
        let expected = (i + 1) as f64 * serialisation + 40e-6 + 12e-6;
        assert!((took - expected).abs() < 1e-4, "{i}: {took} for {expected}");
    }
    assert!(
        chunks[9].2 > 0.2,
        "{chunks:?}: nothing follows that would tell of the loss"
    );
}

#[test]
fn latencies_change_nothing_else_and_are_the_same_on_any_number_of_threads() {
    let probes = r#"[{kind = "latency"}]"#;
    let (without, one, three) = (run("[]", 1), run(probes, 1), run(probes, 3));
    assert!(table(&one, "latencies").num_rows() > 500);
    assert_eq!(table(&one, "latencies"), table(&three, "latencies"));
    for name in ["flows", "subflows", "links"] {
        assert_eq!(table(&without, name), table(&one, name), "{name}");
    }
    for run in [&one, &three] {
        assert_eq!(without.manifest["trace_hash"], run.manifest["trace_hash"]);
    }
}

#[test]
fn probes_that_fit_no_flow_are_refused() {
    for (probes, complaint) in [
        (
            r#"[{kind = "flow", traffic = "bulk", flows = [1]}]"#,
            "probes[0].flows[0]: flow 1 does not exist; allowed: 0 to 0",
        ),
        (
            r#"[{kind = "flow", traffic = "loop", flows = "0..4294967295"}]"#,
            "probes[0].flows: flow 10000000 does not exist; allowed: 0 to 9999999",
        ),
        (
            r#"[{kind = "latency", traffic = "bulk", flows = [1]}]"#,
            "probes[0].flows[0]: flow 1 does not exist; allowed: 0 to 0",
        ),
        (
            r#"[{kind = "flow", interval = "0s"}]"#,
            "probes[0].interval: 0s; allowed: a time above 0",
        ),
    ] {
        assert_eq!(refusal(probes), complaint);
    }
    let only = [
        r#"traffic=[{kind = "closed-loop", transport = "dctcp", pairs = "random", size = "1MB"}]"#.to_owned(),
        r#"probes=[{kind = "flow", flows = [0]}]"#.to_owned(),
    ];
    let spec = SPEC
        .replace("two-bottlenecks", "many-to-one")
        .replace("rate", "senders = 3, rate");
    assert_eq!(
        Experiment::parse(&spec, &only).unwrap_err().to_string(),
        "probes[0].flows[0]: flow 0 does not exist before the run; set traffic to the entry that opens flows during the run"
    );
}
