//! Hints in errors: kinds of traffic under other names, and the tables that have a field.

use serde_json::Value as Json;
use toml::{Table, Value};
use weft_spec::SpecError;

use crate::schema::schema;

/// Kinds of traffic of other simulators, with the kind and the fields that make each.
const RELATED_TRAFFIC: &[(&str, &str)] = &[
    ("permutation", "use \"bulk\" with pairs = \"permutation\""),
    ("random", "use \"bulk\" or \"poisson\" with pairs = \"random\""),
];

/// Returns the error for a kind of traffic that is a field of other kinds.
pub(crate) fn related_traffic(name: &str) -> Option<SpecError> {
    let given = name.to_lowercase();
    let (_, remedy) = RELATED_TRAFFIC.iter().find(|(related, _)| *related == given)?;
    let problem = format!("{name:?} does not exist");
    Some(SpecError::conflict("kind", problem, *remedy))
}

/// Suggests other tables of the spec that have the field, if the error is about an unknown field and has
/// no suggestion yet. A transport that is not a table may be a field of one. If very many tables have the
/// field, there is no suggestion.
pub(crate) fn suggest_tables(error: SpecError, spec: &Table) -> SpecError {
    const MAX_SHOWN: usize = 3;
    let is_no_transport = error.allowed == "a table" && error.path.starts_with("transports.");
    if !(error.is_unknown_field() || is_no_transport) || !error.suggestion.is_empty() {
        return error;
    }
    let field = error.path.rsplit('.').next().unwrap_or_default();
    let schema = schema();
    let mut search = Search {
        definitions: &schema["$defs"],
        field,
        found: Vec::new(),
    };
    search.table(&schema, spec, "", 0);
    let found = search.found;
    if found.is_empty() || found.len() > MAX_SHOWN {
        return error;
    }
    SpecError {
        suggestion: found.join(" or "),
        ..error
    }
}

/// A search for the tables of a spec that have a field.
struct Search<'a> {
    definitions: &'a Json,
    field: &'a str,
    /// Paths of the field.
    found: Vec<String>,
}

/// Returns true if `key` is the table of another kind than that of `table`, as the table of a kind of transport in a
/// transport of kind "tcp".
fn is_of_another_kind(properties: &Json, table: &Table, key: &str) -> bool {
    let kind = &properties["kind"];
    let chosen = table
        .get("kind")
        .and_then(Value::as_str)
        .or(kind["default"].as_str());
    let mut kinds = kind["enum"].as_array().into_iter().flatten();
    chosen != Some(key) && kinds.any(|name| name == key)
}

impl<'a> Search<'a> {
    /// Searches a table of the schema `schema`. Tables that are absent from it are searched as well, except
    /// for those of which there are several kinds.
    fn table(&mut self, schema: &'a Json, table: &Table, path: &str, depth: usize) {
        const MAX_DEPTH: usize = 6;
        let join = |key: &str| {
            if path.is_empty() {
                key.to_owned()
            } else {
                format!("{path}.{key}")
            }
        };
        let properties = &schema["properties"];
        if !properties[self.field].is_null() {
            self.found.push(join(self.field));
        }
        if depth == MAX_DEPTH {
            return;
        }
        for (key, property) in properties.as_object().into_iter().flatten() {
            if !table.contains_key(key) && is_of_another_kind(properties, table, key) {
                continue;
            }
            let absent = Value::Table(Table::new());
            self.value(property, table.get(key).unwrap_or(&absent), &join(key), depth + 1);
        }
        for (key, value) in table.iter().filter(|(key, _)| properties[key].is_null()) {
            self.value(&schema["additionalProperties"], value, &join(key), depth + 1);
        }
    }

    fn value(&mut self, schema: &'a Json, value: &Value, path: &str, depth: usize) {
        match value {
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.value(&schema["items"], item, &format!("{path}[{i}]"), depth);
                }
            }
            Value::Table(table) => {
                if let Some(schema) = self.kind(schema, |field| table.get(field).and_then(Value::as_str)) {
                    self.table(schema, table, path, depth);
                }
            }
            // A name is short for a table with this name.
            Value::String(name) => {
                if let Some(schema) = self.kind(schema, |field| (field == "name").then_some(name))
                    && schema["properties"]["name"]["const"] == *name.as_str()
                {
                    self.table(schema, &Table::new(), path, depth);
                }
            }
            _ => {}
        }
    }

    /// Follows references and chooses from several kinds by the fields `kind` and `name`.
    fn kind<'v>(&self, schema: &'a Json, given: impl Fn(&str) -> Option<&'v str>) -> Option<&'a Json> {
        let follow = |schema: &'a Json| {
            let name = schema["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/"));
            name.map_or(schema, |name| &self.definitions[name])
        };
        let arms = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
        let Some(arms) = arms else {
            return Some(follow(schema));
        };
        let fits = |arm: &&Json| {
            ["kind", "name"].iter().all(|field| {
                let constant = arm["properties"][field]["const"].as_str();
                constant.is_none() || constant == given(field)
            })
        };
        let mut tables = arms
            .iter()
            .map(follow)
            .filter(|arm| arm["properties"].is_object());
        tables.find(fits)
    }
}
