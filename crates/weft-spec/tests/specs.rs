//! Conversion of a spec's text to types; every error names the field, the given value and the
//! allowed ones.

use proptest::prelude::*;
use weft_spec::{Mark, QueueSize, Spec, SpecError, Time, apply_override, read_table, to_table};

const INCAST: &str = r#"
    name = "incast"
    duration = "20s"
    [topology]
    kind = "many-to-one"
    senders = 30
    [queues]
    limit = "100 packets"
    mark = "10 packets"
    [queues.host]
    limit = "1000 packets"
    [transports.amp]
    cc = { name = "amp", gamma = 2 }
    subflows = 4
    profile = "amp-2019"
    tcp = { initial_cwnd = 10 }
    [transports.dctcp]
    cc = "dctcp"
    [[traffic]]
    kind = "incast"
    transport = "amp"
    flows = 30
    [[probes]]
    kind = "queue"
    at = ["s0->r0"]
"#;

fn read(text: &str, overrides: &[&str]) -> Result<Spec, SpecError> {
    let mut table = read_table(text)?;
    for assignment in overrides {
        apply_override(&mut table, assignment)?;
    }
    Spec::from_table(&table)
}

fn complaint(overrides: &[&str]) -> String {
    read(INCAST, overrides).unwrap_err().to_string()
}

#[test]
fn a_spec_and_its_defaults() {
    let spec = read(INCAST, &[]).unwrap();
    assert_eq!(
        (spec.name.as_str(), spec.duration, spec.seed),
        ("incast", Time::from_ms(20_000), 1)
    );
    assert_eq!(spec.topology.kind, "many-to-one");
    assert_eq!(spec.topology.params["senders"].as_integer(), Some(30));
    assert_eq!(
        spec.queues.host(),
        (QueueSize::Packets(1000), Mark::At(QueueSize::Packets(10)))
    );
    let amp = &spec.transports["amp"];
    assert_eq!((amp.kind.as_str(), amp.class, amp.ack_class), ("tcp", 0, None));
    assert_eq!(amp.params["cc"]["gamma"].as_integer(), Some(2));
    assert_eq!(spec.traffic[0].params["flows"].as_integer(), Some(30));
    assert_eq!(spec.probes[0].kind, "queue");
}

#[test]
fn json_says_the_same() {
    let json = serde_json::to_string(&read_table(INCAST).unwrap()).unwrap();
    assert_eq!(read(&json, &[]).unwrap(), read(INCAST, &[]).unwrap());
    let with_null = json.replacen('{', "{\"seed\": null, ", 1);
    assert_eq!(read(&with_null, &[]).unwrap(), read(INCAST, &[]).unwrap());
}

#[test]
fn a_spec_written_and_read_again_is_the_same() {
    let spec = read(INCAST, &[]).unwrap();
    assert_eq!(Spec::from_table(&to_table(&spec)).unwrap(), spec);
    assert_eq!(read(&to_table(&spec).to_string(), &[]).unwrap(), spec);
}

/// Overrides of the spec above, and the start of the error that each causes.
const COMPLAINTS: &[(&[&str], &str)] = &[
    (
        &["duraton=1s"],
        "duraton: unknown field; did you mean \"duration\"? allowed: name, duration, level, seed, topology, queues, layers, links, hosts, transports, traffic, probes",
    ),
    (
        &["duration=1"],
        "duration: 1 is a bare number without a unit; allowed: a time with a unit",
    ),
    (&["duration=0s"], "duration: 0s; allowed: a time above 0"),
    (&["measure.start=30s"], "measure.start: 30s; allowed: below 20s"),
    (
        &["measure={start=\"2ms\", stop=\"2ms\"}"],
        "measure.start: 2ms; allowed: below 2ms, the end of the measurement",
    ),
    (&["measure.stop=30s"], "measure.stop: 30s; allowed: at most 20s"),
    (
        &["measure.until=2ms"],
        "measure.until: unknown field; allowed: start, stop",
    ),
    (&["measure=2ms"], "measure: \"2ms\"; allowed: a table"),
    (
        &["duration=5Gbps"],
        "duration: \"5Gbps\" has the unit \"Gbps\"; allowed: a time",
    ),
    (&["duration=true"], "duration: true; allowed: a time with a unit"),
    (
        &["name= \"\""],
        "name: \"\"; allowed: a non-empty name on one line",
    ),
    (
        &["name= \"a\\nb\""],
        "name: \"a\\nb\"; allowed: a non-empty name on one line",
    ),
    (
        &["seed=-1"],
        "seed: -1; allowed: a whole number, 0 to 9223372036854775807",
    ),
    (&["seed=x"], "seed: \"x\"; allowed: a whole number, 0 to"),
    (
        &["seed=9223372036854775808"],
        "seed: 9.223372036854776e18; allowed: a whole number, 0 to 9223372036854775807",
    ),
    (
        &["seed=99999999999999999999999"],
        "seed: 1e23; allowed: a whole number, 0 to 9223372036854775807",
    ),
    (
        &["seed=0xffffffffffffffffffff"],
        "seed: 1.2089258196146292e24; allowed: a whole number, 0 to 9223372036854775807",
    ),
    (
        &["hosts.clock_ppm=-1"],
        "hosts.clock_ppm: -1; allowed: a whole number, 0 to 1000",
    ),
    (
        &["transports.amp.class=300"],
        "transports.amp.class: 300; allowed: a whole number, 0 to 7",
    ),
    (
        &["events=[{at = \"1s\", fraction = true}]"],
        "events[0].fraction: true; allowed: a number, above 0, up to 1",
    ),
    (&["topology.kind=7"], "topology.kind: 7; allowed: text"),
    (&["topology=fat-tree"], "topology: \"fat-tree\"; allowed: a table"),
    (
        &["queues.limit=0 packets"],
        "queues.limit: 0 packets drops every packet; allowed: packets or bytes above 0",
    ),
    (
        &["queues.mark=101 packets"],
        "queues.mark: 101 packets is above the limit of 100 packets; allowed: at most 100 packets",
    ),
    (
        &["queues.host.limit=5 packets"],
        "queues.host.mark: 10 packets is above the limit of 5 packets; allowed: at most 5 packets",
    ),
    (
        &["queues.mark=10"],
        "queues.mark: 10; allowed: \"off\", or packets or bytes with a unit",
    ),
    (
        &["queues.k=1"],
        "queues.k: unknown field; allowed: kind, limit, mark, host",
    ),
    (
        &["traffic[0].transport=1"],
        "traffic[0].transport: 1; allowed: text",
    ),
    (
        &["traffic=[{kind = \"bulk\"}]"],
        "traffic[0].transport: required field is missing; add it: Name of the transport",
    ),
    (&["probes=queue"], "probes: \"queue\"; allowed: a list"),
    (
        &["traffic[1].size=1KB"],
        "traffic[1]: does not exist; allowed: an index from 0 to 0",
    ),
    (
        &["probes=[]", "probes[0].kind=x"],
        "probes[0]: the list is empty; set the whole list",
    ),
    (
        &["duration.x=1s"],
        "duration: is \"20s\", which has no field \"x\"; set a field of a table",
    ),
    (
        &["topology[0]=1s"],
        "topology: is a table, which has no entry 0; set an entry of a list",
    ),
    (
        &["traffic.x=1s"],
        "traffic: is a list, which has no field \"x\"; set traffic[0].x",
    ),
    (
        &["traffic.kind=bulk"],
        "traffic: is a list, which has no field \"kind\"; set traffic[0].kind",
    ),
    (
        &["probes=[]", "probes.kind=x"],
        "probes: is a list, which has no field \"kind\"; set a field of a table",
    ),
    (
        &[
            "probes=[{kind = \"queue\"}, {kind = \"flow\", flows = [0]}, {kind = \"flow\", flows = [0]}]",
            "probes.flows=3",
        ],
        "probes: is a list, which has no field \"flows\"; set probes[1].flows or probes[2].flows",
    ),
    (&["duration"], "\"duration\" has no \"=\"; allowed: KEY=VALUE"),
    (&["=1"], "\"=1\" does not begin with a field; allowed: KEY=VALUE"),
    (&["a..b=1"], "\"a..b=1\" does not begin with a field"),
    (&["a[x]=1"], "\"a[x]=1\" does not begin with a field"),
    (&["a[0=1"], "\"a[0=1\" does not begin with a field"),
    (&["[0]=1"], "\"[0]=1\" does not begin with a field"),
    (&["seed="], "seed: nothing after \"=\"; allowed: a value"),
    (&["traffic=[{kind = 1"], "traffic: [{kind = 1: "),
];

#[test]
fn complaints_name_the_field_what_was_given_and_what_is_allowed() {
    for (overrides, expected) in COMPLAINTS {
        let got = complaint(overrides);
        assert!(
            got.starts_with(expected),
            "{overrides:?} gives\n  {got}\nnot\n  {expected}"
        );
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Seed {
    seed: u64,
}

/// Programs write whole numbers as floats, and some editors begin a text with a byte order mark.
#[test]
fn whole_numbers_may_be_floats_and_texts_may_begin_with_a_mark() {
    let spec = read(
        "name = \"x\"",
        &["seed=3.0", "transports={t = {cc = \"reno\", subflows = 2.0}}"],
    );
    assert_eq!(spec.unwrap_err().path, "duration");
    for text in [
        "seed = 7.0",
        "seed = 7e0",
        "\u{feff}seed = 7",
        "\u{feff}{\"seed\": 7.0}",
        "seed = 0x7",
    ] {
        let table = weft_spec::read_table(text).unwrap();
        assert_eq!(weft_spec::from_table::<Seed>(&table).unwrap().seed, 7, "{text}");
    }
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Ranges {
    #[schemars(range(min = 2, max = 8), extend("multipleOf" = 2))]
    ports: u32,
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    share: Option<f64>,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Nested {
    all: Vec<Ranges>,
}

#[test]
fn numbers_are_in_the_ranges_of_their_schema() {
    let fits: Nested = weft_spec::from_table(&"all = [{ ports = 8, share = 1 }]".parse().unwrap()).unwrap();
    assert_eq!((fits.all[0].ports, fits.all[0].share), (8, Some(1.0)));
    let (even, share) = ("even numbers from 2 to 8", "above 0, up to 1");
    for (fields, given, allowed) in [
        ("ports = 3", "ports: 3", even),
        ("ports = 0", "ports: 0", even),
        ("ports = 10", "ports: 10", even),
        ("ports = 2, share = 0", "share: 0", share),
        ("ports = 2, share = 1.5", "share: 1.5", share),
        ("ports = 2, share = nan", "share: NaN", share),
    ] {
        let table = format!("all = [{{ ports = 8, share = 1 }}, {{ {fields} }}]")
            .parse()
            .unwrap();
        let error = weft_spec::from_table::<Nested>(&table).unwrap_err().to_string();
        assert_eq!(error, format!("all[1].{given}; allowed: {allowed}"));
    }
}

#[test]
fn syntax_errors_have_a_place() {
    let toml = read("name = \"x\"\nduration = = 1", &[]).unwrap_err();
    assert!(toml.path.starts_with("line 2, column 12"), "{toml}");
    let json = read("{\"name\": \"x\",\n  oops}", &[]).unwrap_err();
    assert!(json.path.starts_with("line 2, column"), "{json}");
    let big = read("{\"seed\": 18446744073709551615}", &[]).unwrap_err();
    assert_eq!(
        big.to_string(),
        "seed: 1.8446744073709552e19; allowed: a whole number, 0 to 9223372036854775807"
    );
    let date = read("name = 2020-01-01", &[]).unwrap_err();
    assert_eq!(
        date.to_string(),
        "name: the date 2020-01-01; allowed: text, a number, a list or a table"
    );
    let missing = read("name = \"x\"", &[]).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "duration: required field is missing; add it: Simulated time, above 0, such as \"2us\""
    );
}

/// Unlimited nesting must not overflow the stack, and long values must not flood a terminal.
#[test]
fn depth_and_length_are_bounded() {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let keys = "a.".repeat(100_000);
    for text in [
        format!("a = {open}{close}"),
        format!("{keys}a = 1"),
        format!("{{\"a\": {open}{close}}}"),
    ] {
        let line = read(&text, &[]).unwrap_err().to_string();
        assert!(line.chars().count() < 300, "{line}");
    }
    for assignment in [
        format!("a={open}{close}"),
        format!("{keys}a=1"),
        format!("name={}", "x".repeat(100_000)),
    ] {
        let line = read(INCAST, &[&assignment, "duration=0s"])
            .unwrap_err()
            .to_string();
        assert!(line.chars().count() < 400, "{line}");
    }
}

#[test]
fn an_override_takes_toml_values_and_plain_text() {
    let spec = read(
        INCAST,
        &[
            "queues.limit=150KB",
            "queues.mark=off",
            "traffic[0].flows=10",
            "seed=7",
        ],
    )
    .unwrap();
    assert_eq!(spec.queues.limit, QueueSize::Bytes(150_000));
    assert_eq!(spec.queues.mark, Mark::Off);
    assert_eq!(spec.traffic[0].params["flows"].as_integer(), Some(10));
    assert_eq!(spec.seed, 7);
    let spec = read(INCAST, &["transports.amp.tcp.min_rto = 10ms", "name=2020-01-01"]).unwrap();
    assert_eq!(
        spec.transports["amp"].params["tcp"]["min_rto"].as_str(),
        Some("10ms")
    );
    assert_eq!(
        spec.transports["amp"].params["tcp"]["initial_cwnd"].as_integer(),
        Some(10),
        "the rest of the table stays"
    );
    assert_eq!(spec.name, "2020-01-01");
}

#[test]
fn a_name_takes_parameters() {
    let set = ["transports.dctcp.cc.g=0.5", "transports.dctcp.paths.rehash=3"];
    let spec = read(INCAST, &["transports.dctcp.paths=ecmp", set[0], set[1]]).unwrap();
    let transport = &spec.transports["dctcp"];
    let cc = &transport.params["cc"];
    assert_eq!(
        (cc["name"].as_str(), cc["g"].as_float()),
        (Some("dctcp"), Some(0.5))
    );
    let paths = &transport.params["paths"];
    assert_eq!(
        (paths["name"].as_str(), paths["rehash"].as_integer()),
        (Some("ecmp"), Some(3))
    );
    assert_eq!(
        complaint(&["transports.dctcp.cc[0]=1"]),
        "transports.dctcp.cc: is \"dctcp\", which has no entry 0; set an entry of a list"
    );
}

/// Generates TOML values with some nesting.
fn any_value() -> impl Strategy<Value = toml::Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(toml::Value::Integer),
        any::<f64>().prop_map(toml::Value::Float),
        any::<bool>().prop_map(toml::Value::Boolean),
        "[a-z0-9 ]{0,8}".prop_map(toml::Value::String),
        prop_oneof![
            Just("100 packets"),
            Just("10Gbps"),
            Just("2us"),
            Just("128KB"),
            Just("off"),
            Just("amp")
        ]
        .prop_map(|text| toml::Value::String(text.to_owned())),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(toml::Value::Array),
            prop::collection::btree_map("[a-z]{1,6}|kind|cc|name", inner, 0..3)
                .prop_map(|fields| toml::Value::Table(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// A valid spec with one field replaced by any value is accepted, or refused in one line; it
    /// never panics.
    #[test]
    fn a_field_replaced_by_anything_is_answered(
        path in prop::sample::select(vec![
            "name", "duration", "seed", "topology", "topology.kind", "queues", "queues.limit", "queues.host",
            "transports", "transports.amp", "transports.amp.cc", "transports.amp.tcp", "traffic", "traffic[0]",
            "traffic[0].name", "probes", "probes[0].kind", "extra",
        ]),
        value in any_value(),
    ) {
        let mut table = read_table(INCAST).unwrap();
        if apply_override(&mut table, &format!("{path}={value}")).is_ok()
            && let Err(error) = Spec::from_table(&table)
        {
            let line = error.to_string();
            prop_assert!(!line.contains('\n') && !error.path.is_empty() && !error.allowed.is_empty(), "{line}");
        }
    }

    /// Any text is accepted or refused.
    #[test]
    fn any_text_is_answered(text in "(?s)\\{?.{0,60}", assignment in "(?s).{0,30}") {
        let _ = read(&text, &[]);
        let mut table = read_table(INCAST).unwrap();
        if let Err(error) = apply_override(&mut table, &assignment) {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }

    /// A spec that is written and read is equal to the original.
    #[test]
    fn written_and_read_again(limit in 1u32..1_000, mark in 0u32..1_000, seed in 0i64.., subflows in 0u32..9) {
        let overrides = [
            format!("queues={{limit = \"{limit} packets\", mark = \"{} packets\"}}", mark.min(limit)),
            format!("seed={seed}"),
            format!("transports.amp.subflows={subflows}"),
        ];
        let overrides: Vec<_> = overrides.iter().map(String::as_str).collect();
        let spec = read(INCAST, &overrides).unwrap();
        let json = serde_json::to_string(&spec).unwrap();
        prop_assert_eq!(read(&json, &[]).unwrap(), spec);
    }
}
