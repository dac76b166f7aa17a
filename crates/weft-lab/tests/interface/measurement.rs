//! The measurement window: its values are exact, it does not change events, and it does not depend
//! on the number of threads.

use std::collections::HashMap;
use std::ops::ControlFlow;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use weft_lab::{Experiment, RunOptions, RunResult};

use crate::experiment::{counts, indices, numbers, parse, run_on, run_with, table};

/// A flow that never ends, a queue that overflows, and short flows whose slots are reused. The
/// short flows come last, so that in a shorter run the other flows have the same numbers.
const TEXT: &str = r#"
    name = "parts"
    duration = "12ms"
    topology = { kind = "many-to-one", senders = 6, rate = "10Gbps", delay = "5us" }
    queues = { limit = "20 packets", mark = "10 packets" }
    transports.dctcp.cc = "dctcp"
    transports.reno.cc = "reno"
    transports.amp = { cc = "amp", subflows = 3 }
    traffic = [
        { kind = "bulk", transport = "amp", from = "h0", to = "r0" },
        { kind = "incast", transport = "reno", flows = 3, size = "40KB", interval = "2ms", rounds = 5, from = ["h3", "h4", "h5"] },
        { kind = "poisson", transport = "dctcp", pairs = [["h1", "r0"]], interval = "20us", size = "20KB" },
    ]
    probes = [{ kind = "queue", at = ["s0->r0", "h0->s0"], interval = "70us" }, { kind = "flow", traffic = "bulk", interval = "1ms" }]
"#;

const FROM: &str = "3.123457ms";
const TO: &str = "9.000001ms";

fn run(overrides: &[String], threads: usize) -> RunResult {
    run_on(&parse(TEXT, overrides), threads)
}

fn part() -> Vec<String> {
    vec![format!("measure={{start=\"{FROM}\", stop=\"{TO}\"}}")]
}

/// Returns a column of counts by flow.
fn by_flow(run: &RunResult, column: &str) -> HashMap<u32, u64> {
    let flows = table(run, "flows");
    let index = indices(flows, "flow").iter().copied();
    index.zip(counts(flows, column).iter().copied()).collect()
}

/// Returns the seconds at each length, by queue.
fn lengths(run: &RunResult) -> Vec<Vec<f64>> {
    let lists = table(run, "queues").column_by_name("time_at_length_s").unwrap();
    let lists = lists.as_list::<i32>();
    let values = |list: std::sync::Arc<dyn Array>| list.as_primitive::<Float64Type>().values().to_vec();
    lists.iter().flatten().map(values).collect()
}

#[test]
fn a_part_is_what_the_runs_up_to_its_two_ends_differ_by() {
    let [before, after] = [FROM, TO].map(|end| run(&[format!("duration={end}")], 1));
    let measured = run(&part(), 1);
    for column in ["packets", "bytes", "delivered_packets", "drops", "marks"] {
        let [from, to, within] =
            [&before, &after, &measured].map(|run| counts(table(run, "links"), column).to_vec());
        let differences: Vec<u64> = from.iter().zip(&to).map(|(from, to)| to - from).collect();
        assert_eq!(within, differences, "{column}");
        assert!(within.iter().sum::<u64>() > 0, "{column}");
    }
    let [from, to] = [&before, &after].map(|run| by_flow(run, "delivered_bytes"));
    let within = by_flow(&measured, "measured_bytes");
    assert!(within.len() > 400 && within.values().filter(|&&bytes| bytes > 0).count() > 200);
    for (flow, bytes) in &within {
        let at = |bytes: &HashMap<u32, u64>| bytes.get(flow).copied().unwrap_or(0);
        assert_eq!(*bytes, at(&to) - at(&from), "flow {flow}");
    }
    let [from, to, within] = [&before, &after, &measured].map(lengths);
    for ((from, to), within) in from.iter().zip(&to).zip(&within) {
        let total: f64 = within.iter().sum();
        assert!((total - (9.000_001e-3 - 3.123_457e-3)).abs() < 1e-12, "{total}");
        for (n, to) in to.iter().enumerate() {
            let at = |times: &Vec<f64>| times.get(n).copied().unwrap_or(0.0);
            assert!((at(within) - (to - at(from))).abs() < 1e-12, "length {n}");
        }
    }
    let link = table(&measured, "traces").column_by_name("link").unwrap().clone();
    let times = numbers(table(&measured, "traces"), "time_s");
    let samples: Vec<f64> = times
        .iter()
        .flatten()
        .zip(0..)
        .filter(|&(_, row)| link.is_valid(row))
        .map(|(&time, _)| time)
        .collect();
    // From 3.15 to 8.96 ms, for two queues.
    assert_eq!(samples.len(), 2 * 84);
    assert!(
        samples
            .iter()
            .all(|time| (3.123_457e-3..9.000_001e-3).contains(time))
    );
}

#[test]
fn measuring_a_part_changes_nothing_that_happens_and_threads_change_nothing_of_it() {
    let (whole, one, three) = (run(&[], 1), run(&part(), 1), run(&part(), 3));
    assert_eq!(whole.manifest["trace_hash"], one.manifest["trace_hash"]);
    assert_eq!(one.manifest["trace_hash"], three.manifest["trace_hash"]);
    assert_eq!(one.tables, three.tables);
    for column in ["delivered_bytes", "packets_sent", "marked"] {
        assert_eq!(by_flow(&whole, column), by_flow(&one, column), "{column}");
    }
    assert_eq!(
        by_flow(&whole, "delivered_bytes"),
        by_flow(&whole, "measured_bytes")
    );
    let end = whole.manifest["end_s"].clone();
    assert_eq!(whole.manifest["measured_s"], serde_json::json!([0.0, end]));
    assert_eq!(
        one.manifest["measured_s"],
        serde_json::json!([0.003_123_457, 0.009_000_001])
    );
    // The resolved spec is resolved a second time.
    let again = parse::<&str>(&one.manifest["spec"].to_string(), &[]);
    assert_eq!(run_with(&again, RunOptions::default()).tables, one.tables);
}

#[test]
fn slow_start_can_be_left_out() {
    let bulk = "traffic=[{kind=\"bulk\", transport=\"dctcp\", from=\"0..2\", to=\"r0\"}]";
    let overrides = |measure: &str| {
        [bulk, "queues.limit=200 packets", measure]
            .map(str::to_owned)
            .to_vec()
    };
    let (whole, steady) = (
        run(&overrides("probes=[{kind=\"queue\", at=[\"s0->r0\"]}]"), 1),
        run(
            &[
                overrides("probes=[{kind=\"queue\", at=[\"s0->r0\"]}]"),
                vec!["measure.start=6ms".into()],
            ]
            .concat(),
            1,
        ),
    );
    let longest = |run: &RunResult| lengths(run)[0].len() - 1;
    assert!(
        longest(&whole) > 3 * longest(&steady) / 2,
        "{} {}",
        longest(&whole),
        longest(&steady)
    );
    let links = table(&steady, "links");
    let used = numbers(links, "utilisation")
        .into_iter()
        .flatten()
        .fold(0.0, f64::max);
    assert!((0.995..=1.0001).contains(&used), "{used}");
    // The goodput of both flows: the part of 10 Gbps that headers of 52 bytes and acknowledgements
    // leave.
    let goodput: f64 = numbers(table(&steady, "flows"), "goodput_bps")
        .iter()
        .flatten()
        .sum();
    let expected = 10e9 * 1448.0 / 1500.0;
    assert!((goodput / expected - 1.0).abs() < 0.01, "{goodput}");
}

#[test]
fn a_run_that_ends_before_measured_nothing() {
    let mut slices = 0;
    let experiment = Experiment::parse(TEXT, &["duration=100s".into(), "measure.start=99s".into()]).unwrap();
    let run = experiment.run(RunOptions::default(), |_| {
        slices += 1;
        if slices == 2 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let run = run.unwrap();
    assert_eq!(run.manifest["partial"], true);
    assert!(
        counts(table(&run, "links"), "packets")
            .iter()
            .all(|&packets| packets == 0)
    );
    assert!(
        counts(table(&run, "flows"), "measured_bytes")
            .iter()
            .all(|&bytes| bytes == 0)
    );
    assert!(
        numbers(table(&run, "flows"), "goodput_bps")
            .iter()
            .all(Option::is_none)
    );
    assert!(
        numbers(table(&run, "links"), "utilisation")
            .iter()
            .all(Option::is_none)
    );
}
