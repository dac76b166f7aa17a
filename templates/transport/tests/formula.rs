//! Compares runs with the formula: a packet per round-trip time.

use std::ops::ControlFlow;

use stop_and_wait::StopAndWait;
use weft_lab::{Experiment, RunOptions, RunResult};

fn run(overrides: &[&str]) -> RunResult {
    const SPEC: &str = r#"
        name = "alone"
        duration = "20ms"
        topology = { kind = "many-to-one", senders = 1, rate = "1Gbps", delay = "10us" }
        hosts = { jitter = "0s", clock_ppm = 0 }
        queues = { limit = "10 packets" }
        transports.t = { kind = "stop-and-wait", payload = 936 }
        traffic = [{ kind = "bulk", transport = "t", from = 0, to = 1 }]
    "#;
    weft_lab::add_transport(&StopAndWait);
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let experiment = Experiment::parse(SPEC, &overrides).unwrap();
    experiment
        .run(RunOptions::default(), |_| ControlFlow::Continue(()))
        .unwrap()
}

/// Returns the sum of a column of whole numbers.
fn sum(run: &RunResult, table: &str, column: &str) -> u64 {
    let (_, rows) = run.tables.iter().find(|(name, _)| *name == table).unwrap();
    let text = format!("{:?}", rows.column_by_name(column).unwrap());
    let numbers = text
        .lines()
        .filter_map(|line| line.trim().trim_end_matches(',').parse::<u64>().ok());
    numbers.sum()
}

/// Two links, each with a packet of 1000 bytes (8 us), an acknowledgement of 64 bytes (0.512 us) and twice 10 us.
#[test]
fn goodput_is_a_payload_per_round_trip_time() {
    let round_trip: f64 = 2.0 * (8.0 + 0.512 + 20.0);
    let packets = (20_000.0 / round_trip).floor() as u64;
    let delivered = sum(&run(&[]), "flows", "delivered_bytes");
    assert!(
        (packets * 936..=(packets + 1) * 936).contains(&delivered),
        "{delivered}"
    );
}

#[test]
fn lost_packets_are_sent_again() {
    let overrides = [
        "queues.kind={name = \"lossy\", every = 10}",
        "hosts.qdisc=switch",
        "traffic[0].size=100KB",
        "transports.t.timeout=100us",
    ];
    let run = run(&overrides);
    assert_eq!(sum(&run, "flows", "delivered_bytes"), 100_000);
    assert!(sum(&run, "subflows", "timeouts") > 5);
}

#[test]
fn its_fields_are_checked() {
    weft_lab::add_transport(&StopAndWait);
    let text = "name = \"x\"\nduration = \"1ms\"\nqueues.limit = \"9 packets\"\ntraffic = []\n\
                topology = { kind = \"many-to-one\", senders = 1, rate = \"1Gbps\", delay = \"10us\" }\n\
                transports.t = { kind = \"stop-and-wait\", window = 3 }";
    let error = Experiment::parse(text, &[]).unwrap_err().to_string();
    assert!(error.contains("transports.t.window: unknown field"), "{error}");
}
