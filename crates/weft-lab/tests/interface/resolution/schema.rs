//! The JSON Schema of specs, and the specs that it admits.

use proptest::prelude::*;
use weft_lab::{Experiment, schema};

use super::{SPEC, parse};

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
