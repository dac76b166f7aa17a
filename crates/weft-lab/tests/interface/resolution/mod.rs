//! A spec is checked completely before anything runs, and every missing field is filled in.

mod complaints;
mod schema;

use std::sync::Arc;

use weft_lab::{Experiment, ReadOptions};

const SPEC: &str = r#"
    name = "mixed"
    duration = "20ms"
    topology = { kind = "many-to-one", senders = 8, rate = "10Gbps", delay = "2us" }
    queues = { limit = "100 packets", mark = "10 packets" }
    [transports.amp]
    cc = { name = "amp", gamma = 3 }
    subflows = 4
    [transports.dctcp]
    cc = "dctcp"
    profile = "amp-2019"
    tcp = { min_rto = "10ms" }
    [[traffic]]
    kind = "incast"
    transport = "amp"
    flows = 8
    size = "128KB"
    [[traffic]]
    kind = "bulk"
    transport = "dctcp"
    from = "h0"
    to = "r0"
    [[probes]]
    kind = "queue"
    at = ["s0->r0"]
    [[probes]]
    kind = "flow"
    traffic = "incast"
    flows = "0..2"
    interval = "10us"
"#;

fn parse(overrides: &[&str]) -> Result<Experiment, String> {
    let overrides: Vec<_> = overrides.iter().map(|text| (*text).to_owned()).collect();
    Experiment::parse(SPEC, &overrides).map_err(|error| error.to_string())
}

#[test]
fn events_may_come_in_any_order_and_bring_up_more_links_than_are_down() {
    let events = [
        // The entries are not in the order of time.
        r#"{at = "2ms", nodes = ["h0"], state = "up"}, {at = "1ms", nodes = ["h0"], state = "down"}"#,
        // Only the links of one host are down, not all links of the switch.
        r#"{at = "1ms", nodes = ["h0"], state = "down"}, {at = "2ms", nodes = ["s0"], state = "up", rate = "1Gbps"}"#,
        // Entries at the same time take effect in their order.
        r#"{at = "1ms", nodes = ["h0"], state = "down"}, {at = "1ms", nodes = ["h0"], state = "up"}"#,
    ];
    for events in events {
        parse(&[&format!("events=[{events}]")]).unwrap();
    }
}

#[test]
fn everything_left_out_is_filled_in() {
    let experiment = parse(&[]).unwrap();
    let spec = experiment.spec();
    assert_eq!(spec["seed"], 1);
    assert_eq!(spec["queues"]["host"], serde_json::json!({}));
    assert_eq!(
        spec["hosts"],
        serde_json::json!({ "jitter": "packet", "clock_ppm": 100, "qdisc": "fq", "bql_limit": "16KB" })
    );
    let queue = serde_json::json!({ "limit": "100 packets", "mark": "10 packets" });
    for (switch_like, limit) in [
        ("hosts.qdisc=switch", "100 packets"),
        ("queues.host.limit=70 packets", "70 packets"),
    ] {
        let mut queue = queue.clone();
        queue["limit"] = limit.into();
        let experiment = parse(&[switch_like]).unwrap();
        assert_eq!(experiment.spec()["hosts"]["qdisc"], "switch");
        assert_eq!(experiment.spec()["queues"]["host"], queue);
        let again = Experiment::parse(&experiment.spec().to_string(), &[]).unwrap();
        assert_eq!(again.spec(), experiment.spec());
    }
    let amp = &spec["transports"]["amp"];
    assert_eq!(
        (amp["cc"]["gamma"].as_f64(), amp["cc"]["cwnd_min"].as_f64()),
        (Some(3.0), Some(2.0))
    );
    assert_eq!(
        (amp["scheduler"].as_str(), amp["profile"].as_str()),
        (Some("linux"), Some("linux"))
    );
    assert_eq!(
        (
            amp["tcp"]["mss"].as_str(),
            amp["tcp"]["initial_ssthresh"].as_str()
        ),
        (Some("1448B"), Some("unlimited"))
    );
    let dctcp = &spec["transports"]["dctcp"];
    assert_eq!(
        (
            dctcp["tcp"]["min_rto"].as_str(),
            dctcp["tcp"]["initial_rto"].as_str()
        ),
        (Some("10ms"), Some("1500ms"))
    );
    assert_eq!(
        (
            spec["traffic"][0]["rounds"].as_i64(),
            spec["traffic"][1]["name"].as_str()
        ),
        (Some(1), Some("bulk"))
    );
    let again = Experiment::parse(&spec.to_string(), &[]).unwrap();
    assert_eq!(again.spec(), spec, "and resolving it again changes nothing");
}

#[test]
fn hosts_are_as_in_the_profile_of_all_transports() {
    let jitter = |overrides: &[&str]| {
        let experiment = parse(overrides).unwrap();
        experiment.spec()["hosts"]["jitter"].as_str().map(str::to_owned)
    };
    let both = |profile: &str| ["amp", "dctcp"].map(|name| format!("transports.{name}.profile={profile}"));
    for (profile, expected) in [("linux", "packet"), ("amp-2019", "0s")] {
        let both = both(profile);
        let overrides: Vec<&str> = both.iter().map(String::as_str).collect();
        assert_eq!(jitter(&overrides).as_deref(), Some(expected), "{profile}");
    }
    assert_eq!(jitter(&[]).as_deref(), Some("packet"), "of different ones, linux");
    assert_eq!(jitter(&["hosts.jitter=2us"]).as_deref(), Some("2us"));
    assert_eq!(jitter(&["level=linux"]), None, "the kernel has its own");
}

#[test]
fn entries_of_one_kind_are_told_apart() {
    let two = parse(&[
        "traffic[0].kind=bulk",
        "traffic[0]={kind = \"bulk\", transport = \"amp\", from = 1, to = 2}",
        "probes=[]",
    ])
    .unwrap();
    let names: Vec<_> = two.spec()["traffic"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].clone())
        .collect();
    assert_eq!(names, ["bulk-0", "bulk-1"]);
}

#[derive(Debug)]
struct OnePacket;

impl weft_cc::AlgorithmFactory for OnePacket {
    fn name(&self) -> &'static str {
        "one-packet"
    }
    fn new_connection(&self) -> Box<dyn weft_cc::CongestionControl + Send> {
        Box::new(OnePacket)
    }
}

impl weft_cc::CongestionControl for OnePacket {
    fn echo(&self) -> weft_cc::Echo {
        weft_cc::Echo::Off
    }
    fn on_open(&mut self, w: &mut [weft_cc::Window], s: usize) {
        w[s].cwnd = 1.0;
    }
    fn on_ack(&mut self, _: &mut [weft_cc::Window], _: usize, _: weft_cc::Ack) {}
    fn on_mark(&mut self, _: &mut [weft_cc::Window], _: usize) {}
    fn on_fast_retransmit(&mut self, _: &mut [weft_cc::Window], _: usize) {}
    fn on_timeout(&mut self, _: &mut [weft_cc::Window], _: usize, _: bool) {}
}

/// One packet per round trip of 4 links: 10 Gbps, 2 us each, 1514 bytes to the receiver and 66
/// bytes back.
#[test]
fn a_congestion_control_of_ones_own_goes_by_its_name() {
    let overrides = [
        "transports.dctcp={cc = \"one-packet\", tcp = {ack_every = 1}}".to_owned(),
        "traffic=[{kind = \"bulk\", transport = \"dctcp\", from = 0, to = \"r0\"}]".to_owned(),
        "probes=[]".to_owned(),
        // The time of every packet equals the formula.
        "hosts={jitter = \"0s\"}".to_owned(),
    ];
    let unknown = Experiment::parse(SPEC, &overrides).unwrap_err().to_string();
    assert!(
        unknown.starts_with("transports.dctcp.cc: \"one-packet\" does not exist"),
        "{unknown}"
    );
    let experiment = Experiment::read(
        SPEC,
        &ReadOptions {
            overrides: &overrides,
            custom_algorithms: &[Arc::new(OnePacket)],
            ..ReadOptions::default()
        },
    )
    .unwrap();
    let run = experiment
        .run(weft_lab::RunOptions::default(), |_| {
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let flows = &run.tables[0].1;
    let goodput = flows.column_by_name("goodput_bps").unwrap();
    let goodput =
        arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Float64Type>(goodput).value(0);
    let round_trip = 4.0 * 2e-6 + 2.0 * 8.0 * (1514.0 + 66.0) / 10e9;
    let expected = 8.0 * 1448.0 / round_trip;
    assert!(
        (goodput / expected - 1.0).abs() < 0.01,
        "{goodput} instead of {expected}"
    );
}
