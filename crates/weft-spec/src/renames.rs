//! Renamed fields and values: a table of old names that is applied to a spec before it is converted
//! to its types.
//!
//! Types, schema and messages contain only new names. An old name in a spec means the new one, and
//! a warning names both.

use toml::{Table, Value};

use crate::SpecError;

/// Version of Weft that removes the old names.
const REMOVAL: &str = "0.3";

/// A field or a value with a new name.
struct Rename {
    /// Path of the tables that contain the field; `*` matches any key or index.
    tables: &'static str,
    /// A field and its text, which select such tables.
    selector: Option<(&'static str, &'static str)>,
    change: Change,
}

enum Change {
    /// A field with a new name.
    Field(&'static str, &'static str),
    /// A flag that has become a choice: its old name, its new name, and the values for false and
    /// for true.
    Flag(&'static str, &'static str, [&'static str; 2]),
    /// The text of a field with a new name: the field, the old text, the new text.
    Text(&'static str, &'static str, &'static str),
}

const fn field(tables: &'static str, old: &'static str, new: &'static str) -> Rename {
    Rename {
        tables,
        selector: None,
        change: Change::Field(old, new),
    }
}

const fn text(tables: &'static str, field: &'static str, old: &'static str, new: &'static str) -> Rename {
    Rename {
        tables,
        selector: None,
        change: Change::Text(field, old, new),
    }
}

impl Rename {
    /// Restricts the rename to tables whose `field` is `text`.
    const fn with_selector(self, field: &'static str, text: &'static str) -> Self {
        Self {
            selector: Some((field, text)),
            ..self
        }
    }
}

const ROUND_END: Rename = Rename {
    tables: "transports.*.tcp",
    selector: None,
    change: Change::Flag("round_ends_beyond", "round_end", ["linux", "rfc8257"]),
};

const RTO_ESTIMATOR: Rename = Rename {
    tables: "transports.*.tcp",
    selector: None,
    change: Change::Flag("min_rto_beyond_srtt", "rto_estimator", ["rfc6298", "linux"]),
};

/// All renames. No new name is an old name of the same tables.
const RENAMES: &[Rename] = &[
    field("hosts", "nic", "qdisc"),
    field("hosts", "nic_limit", "bql_limit"),
    field("hosts", "gro", "gro_flush_timeout"),
    field("measure", "from", "start"),
    field("measure", "to", "stop"),
    field("events.*", "detect", "detection_delay"),
    field("events.*", "both_ways", "bidirectional"),
    field("probes.*", "every", "interval"),
    field("traffic.*", "every", "interval").with_selector("kind", "incast"),
    field("traffic.*", "pause", "think_time").with_selector("kind", "closed-loop"),
    field("traffic.*", "among", "server_hosts").with_selector("kind", "jobs"),
    field("traffic.*", "clients", "client_hosts").with_selector("kind", "jobs"),
    field("traffic.*.size", "from", "min").with_selector("kind", "uniform"),
    field("traffic.*.size", "to", "max").with_selector("kind", "uniform"),
    field("traffic.*.size", "most", "max").with_selector("kind", "pareto"),
    field("traffic.*.block", "from", "min").with_selector("kind", "uniform"),
    field("traffic.*.block", "to", "max").with_selector("kind", "uniform"),
    field("traffic.*.block", "most", "max").with_selector("kind", "pareto"),
    text("transports.*", "paths", "in-turn", "consecutive"),
    text("transports.*.paths", "name", "in-turn", "consecutive"),
    field("transports.*.paths", "duplicates", "dupack_threshold").with_selector("name", "mmptcp"),
    field("transports.*.paths", "memory", "state").with_selector("name", "opn"),
    field("transports.*.tcp", "proportional_rate_reduction", "prr"),
    field("transports.*.tcp", "forward_rto", "frto"),
    ROUND_END,
    RTO_ESTIMATOR,
    field("transports.*.tcp", "react_to_the_last", "react_after_last_data"),
    field(
        "transports.*.tcp",
        "turn_waits_for_join",
        "round_robin_waits_for_join",
    ),
    field("transports.*.tcp", "ends_by_data_ack", "complete_on_data_ack"),
];

/// The treatment of a field that has a value under both names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Both {
    /// Refuse the spec.
    Refuse,
    /// Take the value under the old name: an override has set it, in a spec without old names.
    TakeOld,
}

/// Replaces old names in a spec by new ones. Returns a warning for each.
///
/// # Errors
/// Returns an error for a field, under its old name, if it is also set under its new name and
/// `both` refuses that.
pub fn replace_old_names(spec: &mut Table, both: Both) -> Result<Vec<String>, SpecError> {
    let mut warnings = Vec::new();
    for rename in RENAMES {
        let mut apply = |path: &str, table: &mut Table| {
            let is_selected =
                |(field, text): (&str, &str)| table.get(field).and_then(Value::as_str) == Some(text);
            if rename.selector.is_none_or(is_selected) {
                warnings.extend(rename.change.apply(path, table, both)?);
            }
            Ok(())
        };
        for_each_table(spec, "", rename.tables, &mut apply)?;
    }
    Ok(warnings)
}

/// Calls `apply` with each table at the path `tables` below `table`, and with the path of that
/// table.
fn for_each_table(
    table: &mut Table,
    path: &str,
    tables: &str,
    apply: &mut dyn FnMut(&str, &mut Table) -> Result<(), SpecError>,
) -> Result<(), SpecError> {
    let (first, rest) = tables.split_once('.').unwrap_or((tables, ""));
    let mut descend = |path: &str, value: &mut Value| match value {
        Value::Table(table) if rest.is_empty() => apply(path, table),
        Value::Table(table) => for_each_table(table, path, rest, apply),
        Value::Array(items) => {
            let below = rest.strip_prefix('*').map(|below| below.trim_start_matches('.'));
            for (i, item) in items.iter_mut().enumerate() {
                let path = format!("{path}[{i}]");
                match (item, below) {
                    (Value::Table(table), Some("")) => apply(&path, table)?,
                    (Value::Table(table), Some(below)) => for_each_table(table, &path, below, apply)?,
                    _ => {}
                }
            }
            Ok(())
        }
        _ => Ok(()),
    };
    for (key, value) in table.iter_mut() {
        if first == "*" || first == key {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            descend(&path, value)?;
        }
    }
    Ok(())
}

impl Change {
    /// Applies the rename to a table at `path`. Returns the warning, if the table has the old name.
    fn apply(&self, path: &str, table: &mut Table, both: Both) -> Result<Option<String>, SpecError> {
        let (old, new, value) = match *self {
            Self::Text(field, old, new) => {
                if table.get(field).and_then(Value::as_str) != Some(old) {
                    return Ok(None);
                }
                table.insert(field.to_owned(), new.into());
                return Ok(Some(format!(
                    "{path}.{field}: {old:?} is renamed; write {new:?} ({REMOVAL} removes the old name)"
                )));
            }
            Self::Field(old, new) => (old, new, None),
            Self::Flag(old, new, choices) => {
                let flag = table.get(old).and_then(Value::as_bool);
                (old, new, flag.map(|flag| Value::from(choices[usize::from(flag)])))
            }
        };
        let Some(given) = table.get(old) else {
            return Ok(None);
        };
        if both == Both::Refuse && table.contains_key(new) {
            return Err(SpecError::conflict(
                format!("{path}.{old}"),
                format!("is the former name of {new}, which is also set"),
                "remove this field",
            ));
        }
        let value = match (self, value) {
            (Self::Flag(..), None) => {
                let given = given.to_string();
                return Err(SpecError::new(format!("{path}.{old}"), given, "true or false"));
            }
            (_, Some(value)) => value,
            (_, None) => given.clone(),
        };
        let written = match self {
            Self::Flag(..) => format!("{path}.{new} = {value}"),
            _ => format!("{path}.{new}"),
        };
        table.remove(old);
        table.insert(new.to_owned(), value);
        Ok(Some(format!(
            "{path}.{old}: renamed; write {written} ({REMOVAL} removes the old name)"
        )))
    }
}
