//! A spec is checked completely before anything runs, and every missing field is filled in.

use std::sync::Arc;

use proptest::prelude::*;
use weft_lab::{Experiment, schema};

const SPEC: &str = r#"
    name = "mixed"
    duration = "20ms"
    [topology]
    kind = "many-to-one"
    senders = 8
    rate = "10Gbps"
    delay = "2us"
    [queues]
    limit = "100 packets"
    mark = "10 packets"
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

/// Overrides of the spec above, and the start of the error that each causes.
const COMPLAINTS: &[(&[&str], &str)] = &[
    (
        &["topology.kind=torus"],
        "topology.kind: \"torus\" does not exist; allowed: \"many-to-one\", ",
    ),
    (
        &["transports.amp.paths=hash"],
        "transports.amp.paths: \"hash\" does not exist; allowed: \"ecmp\", \"vlb\", ",
    ),
    (
        &["transports.amp.paths={name = \"ecmp\", seed = 1}"],
        "transports.amp.paths.seed: unknown field",
    ),
    (
        &["controller={kind = \"second-fit\"}"],
        "controller.kind: \"second-fit\" does not exist; allowed: \"first-fit\", \"least-allocated\"",
    ),
    (
        &["controller={kind = \"first-fit\"}"],
        "controller.interval: required field is missing",
    ),
    (
        &["controller={kind = \"first-fit\", interval = \"1ns\"}"],
        "controller.interval: 1ns; allowed: at least 1us",
    ),
    (
        &[
            "level=linux",
            "controller={kind = \"first-fit\", interval = \"1ms\"}",
        ],
        "controller: \"first-fit\" is not supported at level \"linux\"; remove this field or use another level",
    ),
    (
        &["transports.amp.paths=mmptcp"],
        "transports.amp.paths: \"mmptcp\" needs several paths between hosts, and this topology has one; use ",
    ),
    (
        &["transports.amp.paths=opn"],
        "transports.amp.paths: \"opn\" needs several paths between hosts, and this topology has one; use ",
    ),
    (
        &["transports.amp.paths={name = \"opn\", delta = \"1ns\"}"],
        "transports.amp.paths.delta: 1ns; allowed: at least 1us",
    ),
    (
        &["transports.amp.paths={name = \"opn\", state = \"none\"}"],
        "transports.amp.paths.state: ",
    ),
    (
        &[
            "transports.amp.paths=opn",
            "transports.amp.tcp={stall_on_held_data = true, reinject = false}",
        ],
        "transports.amp.tcp.stall_on_held_data: excludes paths = \"opn\", which sends data of slow paths on two subflows; set it",
    ),
    (
        &["transports.amp.paths=rps"],
        "transports.amp.paths: \"rps\" needs several paths between hosts, and this topology has one; use ",
    ),
    (
        &["events=[{at = \"20ms\", layer = \"host-switch\", state = \"down\"}]"],
        "events[0].at: 20ms is not before the end of the experiment; allowed: a time before 20ms",
    ),
    (
        &["events=[{at = \"-1ms\", layer = \"host-switch\", state = \"down\"}]"],
        "events[0].at: \"-1ms\" is negative; allowed: ",
    ),
    (
        &["events=[{at = \"1ms\", links = [\"s0->r1\"], state = \"down\"}]"],
        "events[0].links[0]: \"s0->r1\" does not exist; allowed: a link by its ends, such as ",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s1\"], state = \"down\"}]"],
        "events[0].nodes[0]: \"s1\" does not exist; allowed: the name of a host or switch",
    ),
    (
        &["events=[{at = \"1ms\", layer = \"core\", state = \"down\"}]"],
        "events[0].layer: \"core\" does not exist; allowed: \"host-switch\", \"switch-host\"",
    ),
    (
        &["layers.agg-core.rate=1Gbps"],
        "layers: \"agg-core\" does not exist; allowed: \"host-switch\", \"switch-host\"",
    ),
    (
        &["layers.switch-host={}"],
        "layers.switch-host: changes nothing; set rate, limit, mark or queue",
    ),
    (
        &["layers.switch-host.delay=1us"],
        "layers.switch-host.delay: unknown field; allowed: rate, limit, mark, queue",
    ),
    (
        &["layers.switch-host.rate=0Gbps"],
        "layers.switch-host.rate: \"0Gbps\"",
    ),
    (
        &["layers.switch-host.limit=5 packets"],
        "layers.switch-host.mark: 10 packets is above the limit of 5 packets; allowed: at most 5 packets",
    ),
    (
        &["layers.switch-host={limit = \"1KB\", mark = \"off\"}"],
        "layers.switch-host.limit: 1KB is less than a packet of transports.amp (1514B on the wire)",
    ),
    (
        &["layers.host-switch.mark=off"],
        "layers.host-switch.mark: the ports of hosts have no queue with this hosts.qdisc; remove this field or set \
         hosts.qdisc = \"switch\"",
    ),
    (
        &["level=linux", "layers.switch-host.rate=1Gbps"],
        "layers.switch-host: not supported at level \"linux\"; remove it or use another level",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], state = \"broken\"}]"],
        "events[0].state: ",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"]}]"],
        "events[0]: changes nothing; set state, rate or delay",
    ),
    (
        &["events=[{at = \"1ms\", state = \"down\"}]"],
        "events[0]: selects no links; set links, nodes or layer",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], fraction = 0, state = \"down\"}]"],
        "events[0].fraction: 0; allowed: above 0, at most 1",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], state = \"down\", rate = \"1Gbps\"}]"],
        "events[0].rate: given together with state = \"down\"; set it in the event that brings the links up",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], state = \"down\", delay = \"1us\"}]"],
        "events[0].delay: given together with state = \"down\"; set it in the event that brings the links up",
    ),
    (
        &["events=[{at = \"1ms\", nodes = [\"s0\"], state = \"up\"}]"],
        "events[0].state: \"up\" for links that are not down; remove it or add an earlier event",
    ),
    (
        &[
            "events=[{at = \"2ms\", nodes = [\"h0\"], state = \"down\"}, {at = \"1ms\", nodes = [\"h0\"], state = \"up\"}]",
        ],
        "events[1].state: \"up\" for links that are not down",
    ),
    (
        &[
            "events=[{at = \"1ms\", nodes = [\"h0\"], state = \"down\"}, {at = \"2ms\", nodes = [\"h1\"], state = \"up\"}]",
        ],
        "events[1].state: \"up\" for links that are not down",
    ),
    (
        &["stop={class = \"incast\", flows = 1000}"],
        "stop.flows: 1000, but class \"incast\" has 8 flows before the end of the experiment; allowed: 1 to 8",
    ),
    (
        &["queues.pfc=true"],
        "queues.pfc: Weft does not model priority flow control (PFC); remove it (docs/reference/limitations.md ",
    ),
    (
        &["hosts.qdisc=priority"],
        "hosts.qdisc: Weft does not model priorities; remove it (docs/",
    ),
    (
        &["transports.amp.paths=letflow"],
        "transports.amp.paths: \"letflow\" does not exist; use \"flowlet\", which models LetFlow",
    ),
    (
        &["transports.amp.paths=plb"],
        "transports.amp.paths: \"plb\" does not exist; use \"flowlet\", ",
    ),
    (
        &["transports={\"a\\nb\" = {cc = \"reno\"}}"],
        "transports: \"a\\nb\"; allowed: a non-empty name on one line",
    ),
    (
        &["traffic[1].name=\"a\\tb\""],
        "traffic[1].name: \"a\\tb\"; allowed: a non-empty name on one line",
    ),
    (
        &["traffic[1].from=[\"h0\", \"0..2\"]"],
        "traffic[1].from: the pair of \"h0\" and \"r0\" is given twice; use count for several flows of a pair",
    ),
    (
        &["traffic[0].from=[\"h0\", \"h0\"]"],
        "traffic[0].from: \"h0\" is given twice; allowed: each host once",
    ),
    (
        &["probes[1].interval=1s"],
        "probes[1].interval: 1s is longer than the experiment; allowed: at most 20ms",
    ),
    (
        &["topology={kind = \"fat-tree\", k = 3, rate = \"1Gbps\", delay = \"1us\"}"],
        "topology.k: 3 is odd; allowed: even numbers from 2 to 254",
    ),
    (
        &["topology.senders=0"],
        "topology.senders: 0; allowed: 1 to 65535",
    ),
    (
        &["topology.rate=-10Gbps"],
        "topology.rate: \"-10Gbps\" is negative; allowed: a rate with a unit",
    ),
    (
        &["topology.rate=10"],
        "topology.rate: 10 is a bare number without a unit; allowed: a rate",
    ),
    (
        &["topology.k=4"],
        "topology.k: unknown field; allowed: kind, senders, rate, delay, sender_rate",
    ),
    (
        &["queues.mark=200 packets"],
        "queues.mark: 200 packets is above the limit of 100 packets",
    ),
    (
        &["queues.limit=1KB", "queues.mark=off"],
        "queues.limit: 1KB is less than a packet of transports.amp (1514B on the wire); allowed: at least 1514B",
    ),
    (
        &["queues.host={limit = \"1KB\", mark = \"off\"}"],
        "queues.host.limit: 1KB is less than a packet of transports.amp",
    ),
    (
        &["hosts.jitter=2ms"],
        "hosts.jitter: 2ms; allowed: 0s to 1ms, or \"packet\"",
    ),
    (
        &["hosts.clock_ppm=1001"],
        "hosts.clock_ppm: 1001; allowed: 0 to 1000",
    ),
    (&["hosts.bql_limit=0B"], "hosts.bql_limit: 0B; allowed: 1B to "),
    (
        &["hosts.qdisc=fq", "queues.host.limit=70 packets"],
        "queues.host: the ports of hosts have no queue with this hosts.qdisc; remove this table or set hosts.qdisc = \"switch\"",
    ),
    (
        &["hosts.jiter=1us"],
        "hosts.jiter: unknown field; allowed: jitter, clock_ppm, qdisc, bql_limit, tso, gro_flush_timeout",
    ),
    (
        &["transports.amp.cc=amq"],
        "transports.amp.cc: \"amq\" does not exist; allowed: \"a",
    ),
    (
        &["transports.amp.cc.gama=2"],
        "transports.amp.cc.gama: unknown parameter; allowed: name, ",
    ),
    (
        &["transports.dctcp.cc={name = \"fully-coupled\", x = 1}"],
        "transports.dctcp.cc.x: \"fully-coupled\" has no parameters; remove it",
    ),
    (
        &["transports.amp.cc.cwnd_min=0"],
        "transports.amp.cc.cwnd_min: 0; allowed: a whole number from 1 to",
    ),
    (
        &["transports.amp.subflows=0"],
        "transports.amp.subflows: 0; allowed: 1 to 64",
    ),
    (
        &["transports.amp.scheduler=random"],
        "transports.amp.scheduler: \"random\" does not exist; allowed: \"round-robin\", \"lowest-rtt\", \"linux\"",
    ),
    (
        &["transports.amp.profile=bsd"],
        "transports.amp.profile: \"bsd\" does not exist; allowed: \"linux\", \"amp-2019\"",
    ),
    (
        &["transports.dctcp.tcp.rto=1s"],
        "transports.dctcp.tcp.rto: unknown field; allowed: mss, header",
    ),
    (
        &["transports.dctcp.tcp.min_rto=61s"],
        "transports.dctcp.tcp.min_rto: 61s is above max_rto (60s); allowed: at most 60s",
    ),
    (
        &["traffic[1].transport=cubic"],
        "traffic[1].transport: \"cubic\" does not exist; allowed: \"amp\", \"dctcp\"",
    ),
    (
        &["traffic[1].kind=gossip"],
        "traffic[1].kind: \"gossip\" does not exist; allowed: \"bulk\", \"incast\"",
    ),
    (
        &["traffic[1].to=h99"],
        "traffic[1].to: host \"h99\" does not exist; allowed: 9 hosts, by index 0 to 8 or by name \"h0\" to \"r0\"",
    ),
    (
        &["traffic[1].start=20ms"],
        "traffic[1]: the first flow opens at 20ms, not before the end at 20ms; set an earlier start",
    ),
    (
        &["traffic[1].name=incast"],
        "traffic[1].name: \"incast\" is also the name of traffic[0]; allowed: a unique name",
    ),
    (
        &["traffic=[]"],
        "traffic: an empty list; allowed: at least one entry",
    ),
    (
        &["transports={}"],
        "traffic[0].transport: the spec has no transports; add one to [transports]",
    ),
    (
        &["probes[0].kind=rtt"],
        "probes[0].kind: \"rtt\" does not exist; allowed: \"queue\", \"flow\"",
    ),
    (
        &["probes[0].at=[]"],
        "probes[0].at: an empty list; allowed: at least one link or layer",
    ),
    (
        &["probes[0].at=[\"s0->r0\", \"s0->s9\"]"],
        "probes[0].at[1]: \"s0->s9\": s0 has no link to \"s9\"; allowed: h0, h1, h2, h3, h4, h5, h6, h7, … (9 in all)",
    ),
    (
        &["probes[0].at=[\"s9->r0\"]"],
        "probes[0].at[0]: \"s9->r0\": there is no node \"s9\"; allowed: FROM->TO with names of nodes, from \"h0\" to \"s0\"",
    ),
    (
        &["probes[0].at=[\"core\"]"],
        "probes[0].at[0]: \"core\" is not a layer; allowed: \"FROM->TO\", or a layer: \"host-switch\", \"switch-host\"",
    ),
    (
        &["probes[0].interval=0s"],
        "probes[0].interval: 0s; allowed: a time above 0",
    ),
    (
        &["probes[1].interval=1ps"],
        "probes[1].interval: 160000000000 samples in all, above the maximum of 50000000; use longer intervals or fewer probes",
    ),
    (
        &["probes[1].traffic=bulky"],
        "probes[1].traffic: \"bulky\" does not exist; allowed: \"incast\", \"bulk\"",
    ),
    (
        &["probes[1].flows=0..9"],
        "probes[1].flows: flow 8 does not exist; allowed: 0 to 7",
    ),
    (
        &["probes[1].flows=3..3"],
        "probes[1].flows: \"3..3\"; allowed: a range that is not empty, such as \"0..8\"",
    ),
    (
        &["probes[1].flows=[1, 8]"],
        "probes[1].flows[1]: flow 8 does not exist; allowed: 0 to 7",
    ),
    (
        &["probes[1].flows=all"],
        "probes[1].flows: \"all\"; allowed: a list of indices, or a range such as \"0..8\"",
    ),
    (
        &[
            "topology={kind = \"two-bottlenecks\", rate = \"1Gbps\", delay = \"1us\"}",
            "traffic[0].to=D3",
            "traffic[0].from=S1",
        ],
        "traffic[0]: no path leads from S1 to D3; choose connected hosts",
    ),
];

#[test]
fn events_may_come_in_any_order_and_bring_up_more_links_than_are_down() {
    let events = [
        // The entries are not in the order of time.
        r#"{at = "2ms", nodes = ["h0"], state = "up"}, {at = "1ms", nodes = ["h0"], state = "down"}"#,
        // Of the links of the switch, only those of one host are down.
        r#"{at = "1ms", nodes = ["h0"], state = "down"}, {at = "2ms", nodes = ["s0"], state = "up", rate = "1Gbps"}"#,
        // Entries at the same time take effect in their order.
        r#"{at = "1ms", nodes = ["h0"], state = "down"}, {at = "1ms", nodes = ["h0"], state = "up"}"#,
    ];
    for events in events {
        parse(&[&format!("events=[{events}]")]).unwrap();
    }
}

#[test]
fn complaints_name_the_field_what_was_given_and_what_is_allowed() {
    for (overrides, expected) in COMPLAINTS {
        let got = parse(overrides).unwrap_err();
        assert!(
            got.starts_with(expected),
            "{overrides:?} gives\n  {got}\nnot\n  {expected}"
        );
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

#[test]
fn resolved_specs_are_what_the_schema_says() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let fat_tree = "topology={kind = \"fat-tree\", k = 4, rate = \"1Gbps\", delay = \"1us\"}";
    for overrides in [
        &[][..],
        &[
            "queues.mark=off",
            "queues.limit=150KB",
            "transports.amp.cc=lia",
            "probes=[]",
        ],
        &[
            fat_tree,
            "traffic=[{kind = \"bulk\", transport = \"amp\", pairs = \"permutation\"}]",
            "probes=[{kind = \"queue\", at = [\"core-agg\"], interval = \"1ms\"}]",
        ],
    ] {
        let experiment = parse(overrides).unwrap();
        let errors: Vec<_> = validator
            .iter_errors(experiment.spec())
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let mut given: serde_json::Value = serde_json::to_value(SPEC.parse::<toml::Table>().unwrap()).unwrap();
    assert!(validator.is_valid(&given), "as written, with defaults left out");
    for (pointer, bad) in [
        ("/topology/senders", serde_json::json!("8")),
        ("/topology/rate", serde_json::json!("10us")),
        ("/topology/kind", serde_json::json!("torus")),
        ("/queues/mark", serde_json::json!(10)),
        ("/transports/amp/cc/gamma", serde_json::json!("two")),
        ("/transports/amp/cc/name", serde_json::json!("reno")),
        ("/transports/dctcp/cc", serde_json::json!("bbr")),
        ("/transports/dctcp/tcp/min_rto", serde_json::json!(10)),
        ("/traffic/0/flows", serde_json::json!(0)),
        ("/traffic/0/kind", serde_json::json!("bulk")),
        ("/probes/1/interval", serde_json::json!(3)),
    ] {
        let good = std::mem::replace(given.pointer_mut(pointer).unwrap(), bad);
        assert!(!validator.is_valid(&given), "{pointer}");
        *given.pointer_mut(pointer).unwrap() = good;
    }
}

#[test]
fn the_schema_knows_every_kind_with_its_real_fields() {
    let schema = schema();
    let registry = serde_json::to_value(weft_lab::registry()).unwrap();
    let kinds = |at: &serde_json::Value| at["discriminator"]["mapping"].as_object().unwrap().len();
    let properties = &schema["properties"];
    assert_eq!(
        kinds(&properties["topology"]),
        registry["topologies"].as_array().unwrap().len()
    );
    assert_eq!(
        kinds(&properties["traffic"]["items"]),
        registry["traffic"].as_array().unwrap().len()
    );
    assert_eq!(
        kinds(&properties["probes"]["items"]),
        registry["probes"].as_array().unwrap().len()
    );
    assert_eq!(
        kinds(&properties["controller"]),
        registry["controllers"].as_array().unwrap().len()
    );
    let definitions = &schema["$defs"];
    assert_eq!(
        definitions["FatTreeTopology"]["properties"]["k"]["type"],
        "integer"
    );
    assert_eq!(definitions["FatTreeTopology"]["additionalProperties"], false);
    assert_eq!(
        definitions["BulkTraffic"]["required"],
        serde_json::json!(["kind", "transport"])
    );
    assert!(definitions["AmpCc"]["properties"]["gamma"]["default"].is_number());
    for (name, definition) in definitions.as_object().unwrap() {
        assert!(definition["description"].is_string(), "{name} says what it is");
        for (field, schema) in definition["properties"].as_object().into_iter().flatten() {
            let described = schema["description"].is_string() || schema["$ref"].is_string();
            assert!(described, "{name}.{field} says what it is");
        }
    }
    // Every reference has a target.
    let text = schema.to_string();
    for reference in text.split("#/$defs/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(definitions[name].is_object(), "{name}");
    }
    for names in registry.as_object().unwrap().values() {
        for entry in names.as_array().unwrap() {
            let about = entry["about"].as_str().unwrap();
            assert!(
                !about.is_empty() && about.len() < 120 && !about.contains('\n'),
                "{about}"
            );
        }
    }
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
    let experiment = Experiment::parse_with(SPEC, &overrides, &[Arc::new(OnePacket)]).unwrap();
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Any value at any position gives an experiment or an error of one line; an experiment's spec
    /// fits the schema.
    #[test]
    fn any_field_replaced_is_answered(
        path in prop::sample::select(vec![
            "seed", "topology.senders", "topology.kind", "topology.sender_rate", "queues.limit", "queues.mark",
            "queues.host.limit", "transports.amp.cc", "transports.amp.cc.tau", "transports.amp.subflows",
            "transports.amp.scheduler", "transports.dctcp.profile", "transports.dctcp.tcp.mss",
            "transports.dctcp.tcp.initial_ssthresh", "transports.dctcp.tcp.recovery", "traffic[0].flows",
            "traffic[0].from", "traffic[0].to", "traffic[0].gap", "traffic[1].count", "traffic[1].stop", "traffic[1].pairs",
            "probes[0].at", "probes[0].interval", "transports.amp.paths", "events", "probes[1].flows", "probes[1].traffic",
        ]),
        value in "[0-9]{1,6}|-1|0\\.5|\"?[a-z]{1,8}\"?|[0-9]{1,4}(us|ms|KB|Gbps| packets|\\.\\.9)|off|all|\\[\\]|\\[0, 1\\]|\\[\"h[0-9]{1,2}\"\\]|true|\\{\\}",
    ) {
        match parse(&[&format!("{path}={value}")]) {
            Ok(experiment) => {
                let schema = schema();
                prop_assert!(jsonschema::is_valid(&schema, experiment.spec()), "{path}={value}");
                let again = Experiment::parse(&experiment.spec().to_string(), &[]);
                prop_assert!(again.is_ok_and(|again| again.spec() == experiment.spec()));
            }
            Err(line) => prop_assert!(!line.contains('\n') && line.contains(": ") && line.contains("; ")),
        }
    }
}
