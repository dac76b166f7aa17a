//! The JSON Schema of a spec: the open parts of weft-spec are filled in from the registries.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use weft_cc::ParameterRange;
use weft_fabric::{QUEUES, TOPOLOGIES};
use weft_paths::{CONTROLLERS, POLICIES};
use weft_spec::{Entry, SizeClass, Spec};
use weft_traffic::TRAFFIC;
use weft_transports::{PROFILES, SCHEDULERS};

use crate::backends::BACKENDS;
use crate::probes::PROBES;
use crate::transports::algorithms;

/// Returns the JSON Schema (draft 2020-12) of a spec, with the fields of every registered kind. The
/// keyword `discriminator` says that kinds are distinguished by `kind`, and congestion controls
/// with parameters by `name`.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut kinds = Map::new();
    let traffic_fields = json!({
        "transport": { "description": "Name of the transport.", "type": "string" },
        "name": {
            "description": "Name in tables; by default the kind, with the entry's index if several entries have this kind.",
            "type": ["string", "null"],
        },
        "classes": {
            "description": "Classes by size, in order of rising thresholds. A flow belongs to the first class whose threshold is \
                            above its size. A flow in no class uses the entry's own transport, and its class has the entry's name.",
            "type": "array",
            "items": generator.subschema_for::<SizeClass>(),
        },
    });
    let topology = union(
        &mut generator,
        &mut kinds,
        TOPOLOGIES,
        "Topology",
        &json!({}),
        &[],
    );
    let traffic = union(
        &mut generator,
        &mut kinds,
        TRAFFIC,
        "Traffic",
        &traffic_fields,
        &["transport"],
    );
    let probe = union(&mut generator, &mut kinds, PROBES, "Probe", &json!({}), &[]);
    let controller = union(
        &mut generator,
        &mut kinds,
        CONTROLLERS,
        "Controller",
        &json!({}),
        &[],
    );
    let transport_fields = transport_fields(&mut generator);
    let cc = congestion_control(&mut kinds);
    // Without a policy, the topology decides.
    let mut paths = or_null(named(&mut generator, &mut kinds, POLICIES, "Paths"));
    let queue = named(&mut generator, &mut kinds, QUEUES, "Queue");

    let mut root = generator.into_root_schema_for::<Spec>().to_value();
    let definitions = &mut root["$defs"];
    definitions["Transport"] = with_fields(definitions["Transport"].take(), transport_fields);
    for open in ["Kind", "Traffic", "Cc", "PathPolicy", "QueueKind"] {
        if let Some(definitions) = definitions.as_object_mut() {
            definitions.remove(open);
        }
    }
    let transport = &mut definitions["Transport"]["properties"];
    transport["kind"]["enum"] = weft_transports::kinds().iter().map(|kind| kind.name()).collect();
    transport["cc"] = described(
        cc,
        "Congestion control: a name, or a table with the name and parameters. Required if the kind is \"tcp\".",
    );
    paths["description"] = transport["paths"]["description"].take();
    transport["paths"] = paths;
    let own = || or_null(queue.clone());
    for (definition, field, mut schema) in [
        ("Queues", "kind", queue.clone()),
        ("Layer", "queue", own()),
        ("Cable", "queue", own()),
    ] {
        let property = &mut definitions[definition]["properties"][field];
        schema["description"] = property["description"].take();
        if definition == "Queues" {
            schema["default"] = QUEUES[0].name.into();
        }
        *property = schema;
    }
    let transport = &mut definitions["Transport"]["properties"];
    transport["scheduler"]["enum"] = SCHEDULERS.iter().map(|named| named.name).collect();
    transport["profile"]["enum"] = PROFILES.iter().map(|named| named.name).collect();
    if let Some(definitions) = definitions.as_object_mut() {
        definitions.extend(kinds);
    }
    let level = &mut root["properties"]["level"];
    level["enum"] = BACKENDS.iter().map(|backend| backend.level().name).collect();
    let about: Vec<_> = BACKENDS
        .iter()
        .map(|backend| format!("\"{}\": {}", backend.level().name, backend.level().about))
        .collect();
    level["description"] = format!("Level, that is, how the experiment runs. {}.", about.join("; ")).into();
    root["properties"]["topology"] = described(
        topology,
        "The network: a kind of topology, with the fields of that kind.",
    );
    root["properties"]["traffic"]["items"] = traffic;
    root["properties"]["traffic"]["minItems"] = 1.into();
    root["properties"]["probes"]["items"] = probe;
    let described_so = root["properties"]["controller"]["description"].take();
    root["properties"]["controller"] = controller;
    root["properties"]["controller"]["description"] = described_so;
    root["title"] = "Experiment".into();
    root
}

/// Returns the fields of all kinds of transport. A field that several kinds have is that of the first one; those of
/// other kinds than the default say their kind.
fn transport_fields(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut fields = Map::new();
    for (n, kind) in weft_transports::kinds().iter().enumerate() {
        let mut schema = kind.schema(generator).to_value();
        let own = schema["properties"].as_object_mut().map(std::mem::take);
        for (field, mut property) in own.unwrap_or_default() {
            if n > 0
                && let Some(about) = property["description"].as_str()
            {
                let mut letters = about.chars();
                let first = letters
                    .next()
                    .map(|letter| letter.to_lowercase().collect::<String>());
                let about = first.unwrap_or_default() + letters.as_str();
                property["description"] = format!("Kind {:?}: {about}", kind.name()).into();
            }
            fields.entry(field).or_insert(property);
        }
    }
    fields
}

/// Adds fields to the schema of a table, which then has no others.
fn with_fields(mut schema: Value, fields: Map<String, Value>) -> Value {
    if let Some(own) = schema["properties"].as_object_mut() {
        own.extend(fields);
    }
    schema["additionalProperties"] = false.into();
    schema
}

/// Adds null to the choices of a schema.
fn or_null(mut schema: Value) -> Value {
    if let Some(choices) = schema["anyOf"].as_array_mut() {
        choices.push(json!({ "type": "null" }));
    }
    schema
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

/// Returns the union of the kinds of a registry. Each kind becomes a definition, called by its name
/// and `suffix`, that includes the fields `kind` and `common`.
fn union<C: ?Sized>(
    generator: &mut SchemaGenerator,
    definitions: &mut Map<String, Value>,
    entries: &[Entry<C>],
    suffix: &str,
    common: &Value,
    required_common: &[&str],
) -> Value {
    let (mut references, mut mapping) = (Vec::new(), Map::new());
    for entry in entries {
        let schema = entry_schema(generator, entry, "kind", common, required_common);
        let name = camel_case(entry.name) + suffix;
        let reference = format!("#/$defs/{name}");
        references.push(json!({ "$ref": reference }));
        mapping.insert(entry.name.to_owned(), reference.into());
        definitions.insert(name, schema);
    }
    json!({ "oneOf": references, "discriminator": { "propertyName": "kind", "mapping": mapping } })
}

/// Returns the schema of a name, or a table with name and parameters.
fn congestion_control(definitions: &mut Map<String, Value>) -> Value {
    let names: Vec<&str> = algorithms().map(|(name, _)| name).collect();
    let mut choices = vec![json!({ "type": "string", "enum": names })];
    for (name, entry) in algorithms() {
        let mut properties = Map::from_iter([(
            "name".to_owned(),
            json!({ "description": entry.about, "type": "string", "const": name }),
        )]);
        for parameter in entry.parameters {
            let whole = matches!(
                parameter.allowed,
                ParameterRange::Integer(..) | ParameterRange::Bool
            );
            let number = |value: f64| if whole { json!(value as i64) } else { json!(value) };
            let schema = json!({
                "description": parameter.about,
                "type": if whole { "integer" } else { "number" },
                "minimum": number(parameter.allowed.min()),
                "maximum": number(parameter.allowed.max()),
                "default": number(parameter.default),
            });
            properties.insert(parameter.name.to_owned(), schema);
        }
        let name = camel_case(name) + "Cc";
        choices.push(json!({ "$ref": format!("#/$defs/{name}") }));
        definitions.insert(
            name,
            json!({
                "description": entry.about,
                "type": "object",
                "properties": properties,
                "required": ["name"],
                "additionalProperties": false,
            }),
        );
    }
    json!({ "anyOf": choices })
}

/// Returns the schema of a name of a registry, or a table with the name and its parameters. Each table
/// becomes a definition, called by its name and `suffix`.
fn named<C: ?Sized>(
    generator: &mut SchemaGenerator,
    definitions: &mut Map<String, Value>,
    entries: &[Entry<C>],
    suffix: &str,
) -> Value {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
    let mut choices = vec![json!({ "type": "string", "enum": names })];
    for entry in entries {
        let schema = entry_schema(generator, entry, "name", &json!({}), &[]);
        let name = camel_case(entry.name) + suffix;
        choices.push(json!({ "$ref": format!("#/$defs/{name}") }));
        definitions.insert(name, schema);
    }
    json!({ "anyOf": choices })
}

/// Returns the schema of an entry as a table with the fields of `common`, in which the field `key` has its name.
fn entry_schema<C: ?Sized>(
    generator: &mut SchemaGenerator,
    entry: &Entry<C>,
    key: &str,
    common: &Value,
    required_common: &[&str],
) -> Value {
    let mut schema = (entry.schema)(generator).to_value();
    let name = json!({ "description": entry.about, "type": "string", "const": entry.name });
    let mut properties = Map::from_iter([(key.to_owned(), name)]);
    for fields in [common, &schema["properties"]] {
        properties.extend(fields.as_object().cloned().unwrap_or_default());
    }
    let mut required: Vec<Value> = std::iter::once(&key)
        .chain(required_common)
        .map(|&name| name.into())
        .collect();
    required.extend(schema["required"].as_array().cloned().unwrap_or_default());
    schema["properties"] = properties.into();
    schema["required"] = required.into();
    schema
}

/// Converts `fat-tree` to `FatTree` and `bpf:amp` to `BpfAmp`.
fn camel_case(name: &str) -> String {
    name.split(['-', ':'])
        .filter_map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_uppercase().chain(letters).collect::<String>())
        })
        .collect()
}
