//! Conversion of the transports of a spec to configurations.

use schemars::SchemaGenerator;
use toml::{Table, Value};
use weft_paths::{POLICIES, Policy};
use weft_spec::{PathPolicySpec, SpecError, TransportSpec, Within, conflict, find};

use crate::{Context, Kind, TransportConfig, find_kind};

/// Fields of every transport of any kind.
const COMMON_FIELDS: &[&str] = &["kind", "class", "ack_class"];

/// Resolves a transport of one of these kinds. Returns it with every default filled in, and its configuration. Paths of
/// errors are relative to the transport.
///
/// # Errors
/// Returns the first error.
pub fn resolve(
    spec: &TransportSpec,
    kinds: &[&dyn Kind],
    context: &Context<'_>,
) -> Result<(TransportSpec, TransportConfig), SpecError> {
    let kind = find_kind(kinds, &spec.kind)?;
    let given = own_fields(&spec.params, kind, kinds)?;
    let resolved = kind
        .resolve(&given, context)
        .map_err(|error| error.with_known_fields(COMMON_FIELDS))?;
    let paths = match resolved.paths {
        Some(paths) => paths,
        None => path_policy(None, context)?.1,
    };
    let config = TransportConfig {
        kind: kind.name(),
        class: spec.class,
        ack_class: spec.ack_class.unwrap_or(spec.class),
        paths,
        parameters: resolved.parameters,
    };
    let spec = TransportSpec {
        params: resolved.params,
        ..spec.clone()
    };
    Ok((spec, config))
}

/// Returns the fields without those of other kinds. These are refused unless they have their default, which programs
/// may write for each field of a transport.
fn own_fields(given: &Table, kind: &dyn Kind, kinds: &[&dyn Kind]) -> Result<Table, SpecError> {
    let fields_of = |kind: &dyn Kind| {
        let mut schema = kind.schema(&mut SchemaGenerator::default()).to_value();
        schema["properties"].take()
    };
    let (mut own, mut others) = (given.clone(), given.clone());
    let known = fields_of(kind);
    own.retain(|field, _| known.get(field).is_some());
    others.retain(|field, _| known.get(field).is_none());
    if others.is_empty() {
        return Ok(own);
    }
    let all: Vec<_> = kinds.iter().map(|kind| (kind.name(), fields_of(*kind))).collect();
    for (field, value) in others {
        let owners = all
            .iter()
            .filter_map(|(name, fields)| Some((name, fields.get(&field)?)));
        let owners: Vec<_> = owners.collect();
        if owners.is_empty() {
            own.insert(field, value);
        } else if !owners.iter().any(|(_, property)| is_default(property, &value)) {
            let names: Vec<_> = owners.iter().map(|(name, _)| format!("{name:?}")).collect();
            let problem = format!("not used with kind = {:?}", kind.name());
            let remedy = format!("remove it or set kind = {}", names.join(" or "));
            return conflict(field, problem, remedy);
        }
    }
    Ok(own)
}

/// Returns true if a value is the default that a schema states.
fn is_default(property: &serde_json::Value, value: &Value) -> bool {
    let default = Value::try_from(&property["default"]);
    default.is_ok_and(|default| default == *value)
}

/// Names of policies of other simulators, with the policy that models or resembles each.
const RELATED_POLICIES: &[(&str, &str, &str)] = &[(
    "letflow",
    "flowlet",
    "which models LetFlow in the direction of data",
)];

/// Resolves the path policy, by default that of the topology. Also returns its name with all parameters.
pub(crate) fn path_policy(
    spec: Option<&PathPolicySpec>,
    context: &Context<'_>,
) -> Result<(PathPolicySpec, Policy), SpecError> {
    let default = || PathPolicySpec {
        name: context.policy.to_owned(),
        params: Table::new(),
    };
    let policy = spec.cloned().unwrap_or_else(default);
    let entry = find(POLICIES, "paths", &policy.name).map_err(|error| {
        let related = RELATED_POLICIES.iter().find(|(name, ..)| *name == policy.name);
        related.map_or(error, |(name, model, about)| {
            let remedy = format!("use {model:?}, {about}");
            SpecError::conflict("paths", format!("{name:?} does not exist"), remedy)
        })
    })?;
    let loaded = (entry.parse)(&policy.params).within("paths")?;
    let resolved = PathPolicySpec {
        name: policy.name,
        params: loaded.params,
    };
    Ok((resolved, *loaded.value))
}
