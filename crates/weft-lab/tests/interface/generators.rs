//! Whole runs with closed loops, jobs, classes and their stop condition.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use weft_lab::{Experiment, RunResult};

use crate::experiment::{numbers, optional_indices, parse, run_on, table, texts};

/// 16 hosts: jobs over DCTCP compete with closed loops over AMP.
const MIXED: &str = r#"
    name = "mixed"
    duration = "30ms"
    topology = { kind = "fat-tree", k = 4, rate = "10Gbps", delay = "2us" }
    queues = { limit = "100 packets", mark = "10 packets" }
    transports.dctcp = { cc = "dctcp" }
    transports.amp = { cc = "amp", subflows = 4 }
    [[traffic]]
    kind = "jobs"
    transport = "dctcp"
    servers = 5
    request = "2KB"
    block = "64KB"
    slots = 4
    jitter = "50us"
    [[traffic]]
    kind = "closed-loop"
    name = "long"
    transport = "amp"
    size = { kind = "pareto", shape = 1.5, mean = "1MB", max = "100MB" }
    pairs = "random"
    classes = [{ name = "small", below = "500KB", transport = "dctcp" }]
"#;

fn run(text: &str, overrides: &[&str], threads: usize) -> RunResult {
    run_on(&parse(text, overrides), threads)
}

#[test]
fn a_job_is_its_requests_and_blocks() {
    let run = run(MIXED, &[], 1);
    let (jobs, flows) = (table(&run, "jobs"), table(&run, "flows"));
    let starts = numbers(jobs, "start_s");
    let (ends, jct) = (numbers(jobs, "end_s"), numbers(jobs, "jct_s"));
    assert!(jobs.num_rows() > 40, "{} jobs", jobs.num_rows());
    // The flows of each job: (from, to, start, established, finish).
    let mut parts: HashMap<u32, Vec<usize>> = HashMap::new();
    for (row, job) in optional_indices(flows, "job").iter().enumerate() {
        if let Some(job) = job {
            parts.entry(*job).or_default().push(row);
        }
    }
    let (from, to) = (texts(flows, "from"), texts(flows, "to"));
    let (opened, finished) = (numbers(flows, "start_s"), numbers(flows, "finish_s"));
    let clients = texts(jobs, "client");
    for (row, &job) in optional_indices(jobs, "job").iter().enumerate() {
        let parts = &parts[&job.unwrap()];
        let (requests, blocks): (Vec<usize>, Vec<usize>) =
            parts.iter().partition(|&&part| from[part] == clients[row]);
        assert!(requests.len() == 5 && blocks.iter().all(|&block| to[block] == clients[row]));
        assert!(requests.iter().all(|&request| opened[request] == starts[row]));
        for &block in &blocks {
            let request = requests
                .iter()
                .find(|&&request| to[request] == from[block])
                .unwrap();
            assert!(opened[block] > opened[*request], "a block follows its request");
        }
        if let Some(end) = ends[row] {
            assert_eq!(blocks.len(), 5);
            assert!((jct[row].unwrap() - (end - starts[row].unwrap())).abs() < 1e-12);
            // A job ends when its client has the last byte of the last block.
            let last = blocks
                .iter()
                .filter_map(|&block| finished[block])
                .fold(0.0, f64::max);
            assert_eq!(end, last);
            // 5 blocks of 64 KB over one 10 Gbps link take 256 us.
            assert!(jct[row].unwrap() > 256e-6);
        }
    }
    // In each slot one job follows another, after at most one one-way delay if the client is
    // another host.
    let slots = optional_indices(jobs, "slot");
    for slot in 0..4 {
        let rows: Vec<usize> = (0..jobs.num_rows())
            .filter(|&row| slots[row] == Some(slot))
            .collect();
        for pair in rows.windows(2) {
            let gap = starts[pair[1]].unwrap() - ends[pair[0]].unwrap();
            let same = clients[pair[0]] == clients[pair[1]];
            assert!(
                if same {
                    gap == 0.0
                } else {
                    gap > 4e-6 && gap < 5e-4
                },
                "{gap}"
            );
        }
    }
}

#[test]
fn a_loop_goes_on_where_a_flow_ends() {
    let run = run(MIXED, &[], 1);
    let flows = table(&run, "flows");
    let traffic = texts(flows, "traffic");
    let (from, class) = (texts(flows, "from"), texts(flows, "class"));
    let (opened, acked) = (numbers(flows, "start_s"), numbers(flows, "acked_s"));
    let mut loops: HashMap<&str, Vec<usize>> = HashMap::new();
    for row in (0..flows.num_rows()).filter(|&row| traffic[row] == "long") {
        loops.entry(&from[row]).or_default().push(row);
    }
    assert_eq!(loops.len(), 16);
    for rows in loops.values() {
        for pair in rows.windows(2) {
            assert_eq!(opened[pair[1]], acked[pair[0]]);
        }
        assert_eq!(acked[*rows.last().unwrap()], None, "one is always under way");
    }
    let transport = texts(flows, "transport");
    let sizes = flows.column_by_name("size_bytes").unwrap();
    let sizes = sizes.as_primitive::<arrow_array::types::UInt64Type>().values();
    for row in loops.into_values().flatten() {
        let small = sizes[row] < 500_000;
        let expected = if small {
            ("small", "dctcp")
        } else {
            ("long", "amp")
        };
        assert_eq!((class[row].as_str(), transport[row].as_str()), expected);
    }
}

#[test]
fn threads_change_nothing() {
    let (one, more) = (run(MIXED, &[], 1), run(MIXED, &[], 3));
    assert_eq!(one.manifest["trace_hash"], more.manifest["trace_hash"]);
    assert_eq!(one.tables, more.tables);
    let other = run(MIXED, &["seed=2"], 1);
    assert_ne!(one.manifest["trace_hash"], other.manifest["trace_hash"]);
}

/// The run ends at the first check after the 20th completion, at the same time for any number of
/// threads.
#[test]
fn a_number_of_flows_ends_the_run() {
    let stop = ["stop.class=small", "stop.flows=20"];
    let text = format!("{MIXED}\n[stop]\nclass = \"long\"\nflows = 1\n");
    let (one, more) = (run(&text, &stop, 1), run(&text, &stop, 2));
    assert_eq!(one.tables, more.tables);
    let flows = table(&one, "flows");
    let class = texts(flows, "class");
    let finished = numbers(flows, "acked_s");
    let mut times: Vec<f64> = (0..class.len())
        .filter(|&row| class[row] == "small")
        .filter_map(|row| finished[row])
        .collect();
    times.sort_by(f64::total_cmp);
    let stopped = one.manifest["stopped_s"].as_f64().unwrap();
    let end = one.manifest["end_s"].as_f64().unwrap();
    assert_eq!(stopped, times[19]);
    assert_eq!(one.manifest["partial"], false);
    // A thousandth of 30 ms, and a lookahead window.
    assert!(end >= stopped && end - stopped < 35e-6, "{stopped} {end}");
    // Until then it equals the run without a stop condition.
    let whole = run(MIXED, &[], 1);
    let all = numbers(table(&whole, "flows"), "acked_s");
    let before = |times: &[Option<f64>]| times.iter().flatten().filter(|&&time| time < stopped).count();
    assert_eq!(before(&finished), before(&all));
}

#[test]
fn a_class_without_flows_is_a_warning() {
    let quiet = run(MIXED, &["traffic[1].classes[0].below=1B"], 1);
    let warnings = quiet.manifest["warnings"].as_array().unwrap();
    assert_eq!(
        warnings,
        &["traffic[1].classes[0]: no flow is in class \"small\""]
    );
    let all = run(MIXED, &[], 1);
    assert_eq!(all.manifest["warnings"].as_array().unwrap().len(), 0);
}

/// The number of Poisson arrivals depends on the seed, so a stop that too few flows can meet is a
/// warning.
#[test]
fn a_stop_that_this_seed_cannot_meet_is_a_warning() {
    let traffic =
        r#"traffic=[{kind = "poisson", transport = "dctcp", pairs = "random", rate = 100, size = "2KB"}]"#;
    let run = run(MIXED, &[traffic, "stop={class = \"poisson\", flows = 5000}"], 1);
    let flows = table(&run, "flows").num_rows();
    assert!(flows > 10 && flows < 200, "{flows}");
    let expected = format!(
        "stop.flows: 5000, but class \"poisson\" has {flows} flows with this seed; the run lasts for its whole duration"
    );
    assert_eq!(run.manifest["warnings"], serde_json::json!([expected]));
}

/// Jitter decides how many flows open before the end, so whether a run is refused does not depend on the seed.
#[test]
fn a_stop_that_jitter_may_prevent_is_a_warning() {
    let parse = |fields: &str, wanted: u32, seed: u32| {
        let over = [
            format!("traffic=[{{transport = \"dctcp\", size = \"2KB\", name = \"late\", {fields}}}]"),
            format!("stop={{class = \"late\", flows = {wanted}}}"),
            format!("seed={seed}"),
        ];
        Experiment::parse(MIXED, &over).map_err(|error| error.to_string())
    };
    let stride =
        |jitter: &str| format!("kind = \"stride\", stride = 1, start = \"29ms\", jitter = \"{jitter}\"");
    let incast =
        "kind = \"incast\", flows = 4, rounds = 4, interval = \"10ms\", start = \"0s\", jitter = \"20ms\""
            .to_owned();
    for seed in 1..6 {
        // 16 flows, of which each opens before the end with a probability of a half.
        parse(&stride("2ms"), 16, seed).unwrap();
        let never = parse(&stride("2ms"), 17, seed).unwrap_err();
        assert!(
            never.starts_with("stop.flows: 17, but class \"late\" has "),
            "{never}"
        );
        parse(&incast, 16, seed).unwrap();
        let fixed = parse(&stride("999us"), 17, seed).unwrap_err();
        assert_eq!(
            fixed,
            "stop.flows: 17, but class \"late\" has 16 flows before the end of the experiment; allowed: 1 to 16"
        );
    }
    let over = [
        "traffic=[{kind = \"stride\", transport = \"dctcp\", size = \"2KB\", stride = 1, start = \"29ms\", jitter = \"2ms\"}]",
        "stop={class = \"stride\", flows = 16}",
    ];
    let run = run(MIXED, &over, 1);
    let opened = numbers(table(&run, "flows"), "start_s");
    let flows = opened.iter().flatten().filter(|&&start| start < 0.03).count();
    assert!((1..16).contains(&flows), "{flows}");
    let expected = format!(
        "stop.flows: 16, but class \"stride\" has {flows} flows with this seed; the run lasts for its whole duration"
    );
    assert_eq!(run.manifest["warnings"], serde_json::json!([expected]));
}

/// In this topology, no path leads from S1 to D3.
#[test]
fn a_closed_loop_needs_paths_between_its_own_pairs_only() {
    let topology = r#"topology={kind = "two-bottlenecks", rate = "1Gbps", delay = "5us"}"#;
    let pairs = |pairs: &str| {
        let traffic = format!(
            r#"traffic=[{{kind = "closed-loop", transport = "dctcp", size = "10KB", pairs = {pairs}}}]"#
        );
        Experiment::parse(MIXED, &[topology.to_owned(), traffic]).map_err(|error| error.to_string())
    };
    pairs(r#"[["S1", "D1"], ["S3", "D3"]]"#).unwrap();
    let error = pairs(r#"[["S1", "D1"], ["S1", "D3"]]"#).unwrap_err();
    assert_eq!(
        error,
        "traffic[0]: no path leads from S1 to D3 except through D2, and hosts do not forward; choose connected hosts, or make D2 a switch of a graph"
    );
}

/// In this topology, no path leads from D1 to D3, but from S2 to both.
#[test]
fn jobs_need_paths_between_clients_and_servers_only() {
    let topology = r#"topology={kind = "two-bottlenecks", rate = "1Gbps", delay = "5us"}"#;
    let jobs = |clients: &str, servers: &str| {
        let traffic = format!(
            r#"traffic=[{{kind = "jobs", transport = "dctcp", servers = 1, request = "2KB", block = "64KB", client_hosts = {clients}, server_hosts = {servers}}}]"#
        );
        Experiment::parse(MIXED, &[topology.to_owned(), traffic]).map_err(|error| error.to_string())
    };
    jobs(r#"["S2"]"#, r#"["D1", "D3"]"#).unwrap();
    let error = jobs(r#"["S1"]"#, r#"["D3"]"#).unwrap_err();
    assert_eq!(
        error,
        "traffic[0]: no path leads from S1 to D3 except through D2, and hosts do not forward; choose connected hosts, or make D2 a switch of a graph"
    );
}

/// With suppression, episodes are as long as the flows' times say, and lie within the flows'
/// lifetimes.
#[test]
fn suppressions_have_their_times() {
    let text = MIXED
        .replace("slots = 4", "slots = 30")
        .replace("classes", "count = 4\n    classes");
    let run = run(&text, &[], 1);
    let episodes = table(&run, "suppressions");
    let flows = table(&run, "flows");
    assert!(episodes.num_rows() > 10, "{}", episodes.num_rows());
    let mut total: HashMap<u32, f64> = HashMap::new();
    let (starts, ends) = (numbers(episodes, "start_s"), numbers(episodes, "end_s"));
    for (row, flow) in optional_indices(episodes, "flow").iter().enumerate() {
        let end = ends[row].unwrap_or(30e-3);
        assert!(end > starts[row].unwrap());
        *total.entry(flow.unwrap()).or_default() += end - starts[row].unwrap();
    }
    let (ids, suppressed) = (optional_indices(flows, "flow"), numbers(flows, "suppressed_s"));
    for (id, suppressed) in ids.iter().zip(&suppressed) {
        let expected = total.get(&id.unwrap()).copied().unwrap_or(0.0);
        assert!((suppressed.unwrap() - expected).abs() < 1e-9);
    }
}

/// Overrides, and the start of the error that each causes.
const REFUSALS: &[(&str, &str)] = &[
    (
        "traffic[0].servers=16",
        "traffic[0].servers: 16; allowed: 1 to 15",
    ),
    (
        "traffic[1].size={kind=\"pareto\"}",
        "traffic[1].size.shape: required field is missing; add it:",
    ),
    (
        "traffic[1].size=5",
        "traffic[1].size: 5 is a bare number without a unit; allowed:",
    ),
    (
        "traffic[1].classes[0].below=0B",
        "traffic[1].classes[0].below: 0B; allowed: a size above 0B",
    ),
    (
        "traffic[1].classes[0].transport=tcp",
        "traffic[1].classes[0].transport: \"tcp\" does not exist; allowed: \"amp\", \"dctcp\"",
    ),
    (
        "traffic[1].classes[0].name=jobs",
        "traffic[1].classes[0].name: \"jobs\" is also the name of another class or entry; allowed:",
    ),
    (
        "stop={class=\"short\",flows=1}",
        "stop.class: \"short\" does not exist; allowed: \"jobs\", \"small\", \"long\"",
    ),
    (
        "stop={class=\"long\",flows=0}",
        "stop.flows: 0; allowed: at least 1",
    ),
    (
        "stop={class=\"long\"}",
        "stop.flows: required field is missing; add it: Number of flows",
    ),
];

#[test]
fn refusals_name_the_field_what_was_given_and_what_is_allowed() {
    for (over, expected) in REFUSALS {
        let got = Experiment::parse(MIXED, &[(*over).to_owned()])
            .unwrap_err()
            .to_string();
        assert!(
            got.starts_with(expected),
            "{over} gives\n  {got}\nnot\n  {expected}"
        );
    }
}
