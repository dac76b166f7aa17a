//! Experiments at level "flow": the same specs and tables as at the packet level, without packets.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use weft_lab::{Experiment, RunOptions, RunResult};

use crate::experiment::{self, parse, run_with, table};

/// Three long flows into one link; tests change this spec.
const BULK: &str = r#"
    name = "shared"
    level = "flow"
    duration = "1s"
    topology = { kind = "many-to-one", senders = 4, rate = "1Gbps", delay = "20us" }
    queues = { limit = "100 packets" }
    transports.reno.cc = "reno"
    traffic = [{ kind = "bulk", transport = "reno", pairs = [["h0", "r0"], ["h1", "r0"], ["h2", "r0"]] }]
"#;

const FAT_TREE: &str = r#"
    name = "permutation"
    level = "flow"
    duration = "1s"
    topology = { kind = "fat-tree", k = 4, rate = "1Gbps", delay = "20us" }
    queues = { limit = "100 packets" }
    transports.lia = { cc = "lia", subflows = 4 }
    traffic = [{ kind = "bulk", transport = "lia", pairs = "permutation" }]
"#;

/// Returns the ratio of payload to bytes on the wire in the profile `linux`.
fn payload(run: &RunResult) -> f64 {
    let transports = run.manifest["spec"]["transports"].as_object().unwrap();
    let experiment = transports.values().next().unwrap();
    let size = |name: &str| {
        let text = experiment["tcp"][name].as_str().unwrap();
        text.trim_end_matches('B').parse::<f64>().unwrap()
    };
    size("mss") / (size("mss") + size("header"))
}

fn on_threads(text: &str, changes: &[&str], threads: usize) -> RunResult {
    let options = RunOptions {
        threads: Some(threads),
        ..RunOptions::default()
    };
    run_with(&parse(text, changes), options)
}

fn run(text: &str, changes: &[&str]) -> RunResult {
    on_threads(text, changes, 1)
}

fn numbers(run: &RunResult, name: &str, column: &str) -> Vec<f64> {
    let table = table(run, name);
    let values = table.column_by_name(column).unwrap();
    values.as_primitive::<Float64Type>().values().to_vec()
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value / expected - 1.0).abs() <= tolerance,
        "{value}, not {expected}"
    );
}

fn refused(text: &str, changes: &[&str]) -> String {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    Experiment::parse(text, &changes)
        .map(|_| ())
        .unwrap_err()
        .to_string()
}

#[test]
fn flows_share_a_link_and_the_tables_say_so() {
    let run = run(BULK, &[]);
    let share = 1e9 / 3.0 * payload(&run);
    for goodput in numbers(&run, "flows", "goodput_bps") {
        near(goodput, share, 2e-3);
    }
    let links = table(&run, "links");
    let layers = links.column_by_name("to").unwrap().as_string::<i32>().clone();
    let utilisation = numbers(&run, "links", "utilisation");
    let link = (0..layers.len()).find(|&i| layers.value(i) == "r0").unwrap();
    // No data is transferred during the handshake over three hops in each direction.
    near(utilisation[link], 1.0, 3e-3);
    assert_eq!(run.manifest["flow"]["rates"], "equilibrium");
    assert_eq!(run.manifest["partial"], false);
}

#[test]
fn what_only_packets_have_is_absent() {
    let run = run(BULK, &[]);
    let names: Vec<_> = run.tables.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "flows",
            "subflows",
            "links",
            "jobs",
            "ranks",
            "steps",
            "operations",
            "throughput"
        ]
    );
    for (table, absent) in [
        ("flows", "timeouts"),
        ("flows", "packets_sent"),
        ("subflows", "cwnd_packets"),
        ("links", "drops"),
    ] {
        let columns = experiment::table(&run, table);
        assert!(columns.column_by_name(absent).is_none(), "{table}.{absent}");
    }
    assert_eq!(run.manifest["counters"].as_object().unwrap().len(), 0);
}

#[test]
fn what_it_cannot_do_is_refused_by_name() {
    for (changes, complaint) in [
        (
            &["probes=[{kind = \"queue\", at = [\"s0->r0\"]}]"][..],
            "probes[0].kind: \"queue\", which only packets have; allowed: \"steps\" or \"throughput\" at level \"flow\"",
        ),
        (
            &["hosts.jitter=1us"],
            "hosts: what hosts do; allowed: nothing at level \"flow\"",
        ),
        (
            &["transports.reno.cc=amp-fg"],
            "transports.reno.cc: \"amp-fg\" has no response function; allowed: ",
        ),
        (
            &[
                "transports.dctcp.cc=dctcp",
                "traffic=[{kind = \"bulk\", transport = \"reno\", from = \"h0\", to = \"r0\"}, {kind = \"bulk\", transport = \"dctcp\", from = \"h1\", to = \"r0\"}]",
            ],
            "transports.reno.cc: \"reno\" responds to losses, and \"dctcp\" of transports.dctcp to marks; use one signal",
        ),
        (
            &["events=[{at = \"1ms\", links = [\"s0->r0\"], delay = \"1us\"}]"],
            "events[0].delay: a new delay; allowed: state or rate at level \"flow\"",
        ),
        (
            &["level=packet", "sharing=max-min"],
            "sharing: \"max-min\" is not supported at level \"packet\"; remove this field or use another level",
        ),
        (&["sharing=fair"], "sharing: \"fair\""),
        (
            &["level=fluid"],
            "level: \"fluid\" does not exist; allowed: \"packet\", \"flow\", \"linux\"",
        ),
    ] {
        let said = refused(BULK, changes);
        assert!(said.starts_with(complaint), "{said}");
    }
}

#[test]
fn a_stop_leaves_the_rest_to_the_others() {
    // The first flow stops half way: it has a third of the link, then nothing; the others have a
    // third, then a half.
    let traffic = r#"traffic=[
        {kind = "bulk", name = "first", transport = "reno", from = "h0", to = "r0", stop = "500ms"},
        {kind = "bulk", name = "others", transport = "reno", pairs = [["h1", "r0"], ["h2", "r0"]]}]"#;
    let run = run(BULK, &[traffic]);
    let bytes = table(&run, "flows").column_by_name("delivered_bytes").unwrap();
    let bytes = bytes.as_primitive::<UInt64Type>().values().to_vec();
    let whole = 1e9 / 8.0 * payload(&run);
    near(bytes[0] as f64, whole / 6.0, 5e-3);
    near(bytes[1] as f64, whole * (1.0 / 6.0 + 0.25), 5e-3);
    let finish = numbers(&run, "flows", "finish_s")[0];
    assert!((0.5..0.501).contains(&finish), "{finish}");
}

/// Two flows with sizes on one link: both have half of it until the smaller one has finished.
#[test]
fn flows_of_a_size_are_served_max_min_fair() {
    let traffic = r#"traffic=[
        {kind = "bulk", name = "small", transport = "reno", from = "h0", to = "r0", size = "5MB"},
        {kind = "bulk", name = "large", transport = "reno", from = "h1", to = "r0", size = "15MB"}]"#;
    let run = run(BULK, &[traffic]);
    assert_eq!(run.manifest["flow"]["rates"], "max-min");
    let fct = numbers(&run, "flows", "fct_s");
    let seconds = |bytes: f64| 8.0 * bytes / payload(&run) / 1e9;
    near(fct[0], seconds(10e6), 3e-3);
    near(fct[1], seconds(20e6), 3e-3);
}

#[test]
fn loops_and_jobs_go_on_one_after_the_other() {
    let traffic = r#"traffic=[{kind = "closed-loop", transport = "reno", pairs = [["h0", "r0"], ["h1", "r0"]], size = "1MB"}]"#;
    let run_of_loops = run(BULK, &[traffic]);
    let flows = table(&run_of_loops, "flows");
    // Two flows at a time share the link: as many flows as it carries in a second, less their
    // handshakes.
    let most = 1e9 / 8.0 * payload(&run_of_loops) / 1e6;
    let rows = flows.num_rows() as f64;
    assert!(rows > 0.9 * most && rows < most + 3.0, "{rows} of {most}");
    let jobs = r#"traffic=[{kind = "jobs", transport = "reno", servers = 3, request = "2KB", block = "64KB", slots = 2}]"#;
    let run_of_jobs = run(
        FAT_TREE,
        &[
            "transports.reno.cc=reno",
            "transports.lia={cc = \"reno\", subflows = 1}",
            jobs,
        ],
    );
    let ended = table(&run_of_jobs, "jobs");
    assert!(ended.num_rows() > 100, "{}", ended.num_rows());
    assert!(ended.column_by_name("jct_s").unwrap().null_count() <= 2);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let one = on_threads(FAT_TREE, &[], 1);
    for threads in [2, 3] {
        assert_eq!(
            on_threads(FAT_TREE, &[], threads).tables,
            one.tables,
            "{threads} threads"
        );
    }
}

/// Max-min fairness: no change can give the slowest connection a higher rate.
#[test]
fn the_spec_says_how_links_are_shared() {
    let slowest = |run: &RunResult| {
        let goodputs = numbers(run, "flows", "goodput_bps");
        goodputs.into_iter().fold(f64::INFINITY, f64::min)
    };
    let equilibrium = run(FAT_TREE, &["sharing=equilibrium"]);
    let fair = run(FAT_TREE, &["sharing=max-min"]);
    assert_eq!(equilibrium.tables, run(FAT_TREE, &[]).tables);
    assert_eq!(fair.manifest["flow"]["rates"], "max-min");
    let [fair, equilibrium] = [&fair, &equilibrium].map(slowest);
    assert!(fair > equilibrium, "{fair} {equilibrium}");
    // Congestion control has no effect, so different algorithms may be combined, also those without
    // a response function.
    let cc = r#"transports={one = {cc = "amp-fg"}, two = {cc = "cubic"}}"#;
    let traffic = r#"traffic=[
        {kind = "bulk", transport = "one", from = "h0", to = "r0"},
        {kind = "bulk", transport = "two", pairs = [["h1", "r0"], ["h2", "r0"]]}]"#;
    let mixed = run(BULK, &[cc, traffic, "sharing=max-min"]);
    for goodput in numbers(&mixed, "flows", "goodput_bps") {
        near(goodput, 1e9 / 3.0 * payload(&mixed), 1e-6);
    }
}

/// Two LIA subflows at one bottleneck take the share of one Reno flow (RFC 6356, goal 2).
#[test]
fn algorithms_that_respond_to_losses_share_a_link() {
    let transports = r#"transports={reno = {cc = "reno"}, lia = {cc = "lia", subflows = 2}}"#;
    let traffic = r#"traffic=[
        {kind = "bulk", transport = "reno", pairs = [["h0", "r0"], ["h1", "r0"]]},
        {kind = "bulk", name = "lia", transport = "lia", from = "h2", to = "r0"}]"#;
    let mixed = run(BULK, &[transports, traffic]);
    for goodput in numbers(&mixed, "flows", "goodput_bps") {
        near(goodput, 1e9 / 3.0 * payload(&mixed), 2e-3);
    }
}

/// The equilibrium of Reno on one link is an equal share too, so flows finish at the same times
/// apart from losses. A flow that remains alone also fills the link of its host, and the drops of
/// that link do not reduce the traffic offered to the next one.
#[test]
fn flows_of_a_size_may_have_the_equilibrium() {
    let traffic = r#"traffic=[
        {kind = "bulk", name = "small", transport = "reno", from = "h0", to = "r0", size = "5MB"},
        {kind = "bulk", name = "large", transport = "reno", from = "h1", to = "r0", size = "15MB"}]"#;
    let run = run(BULK, &[traffic, "sharing=equilibrium"]);
    assert_eq!(run.manifest["flow"]["rates"], "equilibrium");
    let seconds = |bytes: f64| 8.0 * bytes / payload(&run) / 1e9;
    let fct = numbers(&run, "flows", "fct_s");
    near(fct[0], seconds(10e6), 1e-2);
    near(fct[1], seconds(20e6), 1e-2);
}

/// A failed core link takes paths away; the connections that used it are rerouted.
#[test]
fn failed_links_are_gone_round_once_they_are_known() {
    let event = "events=[{at = \"0s\", layer = \"agg-core\", fraction = 0.25, state = \"down\", bidirectional = true, detection_delay = \"500ms\"}]";
    let early = run(FAT_TREE, &[event, "duration=400ms"]);
    let late = run(FAT_TREE, &[event, "measure={start = \"600ms\"}"]);
    let whole = run(FAT_TREE, &[]);
    let total = |run: &RunResult| numbers(run, "flows", "goodput_bps").iter().sum::<f64>();
    assert!(total(&early) < total(&late), "{} {}", total(&early), total(&late));
    assert!(
        total(&late) <= total(&whole) * 1.001,
        "{} {}",
        total(&late),
        total(&whole)
    );
    // Failed links carry no traffic.
    let dead = numbers(&late, "links", "utilisation");
    assert!(dead.contains(&0.0));
}

#[test]
fn a_part_of_the_run_is_measured() {
    let whole = run(BULK, &[]);
    let part = run(BULK, &["measure={start = \"250ms\", stop = \"750ms\"}"]);
    let bytes = |run: &RunResult| {
        let column = table(run, "flows").column_by_name("measured_bytes").unwrap();
        column.as_primitive::<UInt64Type>().values().to_vec()
    };
    for (part, whole) in bytes(&part).iter().zip(bytes(&whole)) {
        near(*part as f64, whole as f64 / 2.0, 1e-3);
    }
}

/// A host sends eight flows over its own link and the receiver's, both of 100 Mbps. Packets that
/// the first link drops do not load the second one, so its capacity is fully used. Windows are
/// below two packets, and the run warns about that.
#[test]
fn full_links_in_a_row_carry_their_rate() {
    let pairs = [r#"["h0", "r0"]"#; 8].join(", ");
    let traffic = format!(r#"traffic=[{{kind = "bulk", transport = "reno", pairs = [{pairs}]}}]"#);
    let run = run(BULK, &["topology.senders=1", "topology.rate=100Mbps", &traffic]);
    let total: f64 = numbers(&run, "flows", "goodput_bps").iter().sum();
    near(total, 1e8 * payload(&run), 3e-3);
    assert!(
        numbers(&run, "links", "utilisation")
            .iter()
            .all(|&used| used <= 1.0 + 1e-6)
    );
    let warnings = run.manifest["warnings"].as_array().unwrap();
    let line = "level \"flow\": 8 of 8 connections have windows below 4 packets";
    assert!(
        warnings
            .iter()
            .any(|warning| warning.as_str().unwrap().starts_with(line)),
        "{warnings:?}"
    );
}

/// Windows of 25 packets cause no warning.
#[test]
fn a_sound_run_has_no_warnings() {
    let run = run(BULK, &["topology.delay=100us"]);
    assert_eq!(run.manifest["warnings"].as_array().unwrap().len(), 0);
}

#[test]
fn transports_without_traffic_have_no_effect() {
    let other = "transports.dctcp={cc = \"dctcp\", tcp = {mss = \"500B\"}}";
    let alone = run(BULK, &[]);
    assert_eq!(run(BULK, &[other]).tables, alone.tables);
}

/// The window of a flow is in units of its own packets: with packets of a third of the size it has
/// a third of the rate.
#[test]
fn each_connection_has_its_own_packets() {
    let transports = r#"transports={a = {cc = "reno", tcp = {mss = "460B", header = "40B"}},
        b = {cc = "reno", tcp = {mss = "1460B", header = "40B"}}}"#;
    let traffic = r#"traffic=[
        {kind = "bulk", transport = "a", from = "h0", to = "r0"},
        {kind = "bulk", transport = "b", from = "h1", to = "r0"}]"#;
    let run = run(BULK, &[transports, traffic, "topology.delay=1ms"]);
    let goodputs = numbers(&run, "flows", "goodput_bps");
    let wire = goodputs[0] / 460.0 * 500.0 / (goodputs[1] / 1460.0 * 1500.0);
    near(wire, 1.0 / 3.0, 2e-2);
}

/// Flows with a size have max-min fair rates by default, also with several subflows, and their
/// subflows do not carry more bytes than the flows.
#[test]
fn flows_of_a_size_over_several_subflows_are_max_min_fair() {
    let traffic = r#"traffic=[{kind = "bulk", transport = "lia", pairs = "permutation", size = "1000B"}]"#;
    let run = run(FAT_TREE, &[traffic]);
    assert_eq!(run.manifest["flow"]["rates"], "max-min");
    let subflows = table(&run, "subflows");
    let bytes = subflows.column_by_name("acked_bytes").unwrap();
    let bytes = bytes.as_primitive::<UInt64Type>().values().to_vec();
    assert_eq!(bytes.len(), 16 * 4);
    for bytes in bytes.chunks(4) {
        assert_eq!(bytes.iter().sum::<u64>(), 1_000);
    }
}
