//! Overrides of fields: `a.b[0].c=value`.

use toml::de::DeValue;
use toml::{Table, Value};

use crate::tree::from_de_value;
use crate::{SpecError, Within, conflict, refuse};

const FORM: &str = "KEY=VALUE, with a KEY such as queues.mark or traffic[0].size";

/// Maximum depth of a field. No field of a spec is deeper, and dropping a table of unlimited depth
/// would overflow the stack.
const MAX_SEGMENTS: usize = 32;

/// Fields in which a name is short for a table with that name: `cc = "amp"` is `cc = { name = "amp"
/// }`.
const NAMED: [&str; 2] = [".cc", ".paths"];

enum PathSegment {
    Key(String),
    Index(usize),
}

/// Sets a field of a spec before the spec is converted to its types. Missing tables on the path are
/// created, and the name of an algorithm or a path policy becomes a table; lists do not grow. The
/// value is read as a TOML value, or as text if it is not one, so that units need no quotes:
/// `queues.limit=100 packets`.
///
/// # Errors
/// Returns an error if the assignment has another form, if a segment leads into something other
/// than a table or list, or if an index does not exist.
pub fn apply_override(spec: &mut Table, assignment: &str) -> Result<(), SpecError> {
    let Some((target, value)) = assignment.split_once('=') else {
        return refuse("", format!("{assignment:?} has no \"=\""), FORM);
    };
    let segments = segments(target)
        .ok_or_else(|| SpecError::new("", format!("{assignment:?} does not begin with a field"), FORM))?;
    let value = literal(value.trim()).within(target.trim())?;
    let mut rest = segments.into_iter();
    let Some(PathSegment::Key(first)) = rest.next() else {
        return refuse("", format!("{assignment:?} does not begin with a field"), FORM);
    };
    let mut path = first.clone();
    let mut rest = rest.peekable();
    if rest.peek().is_none() {
        spec.insert(first, value);
        return Ok(());
    }
    let mut at = spec.entry(first).or_insert_with(|| Value::Table(Table::new()));
    while let Some(segment) = rest.next() {
        let last = rest.peek().is_none();
        if let (PathSegment::Key(_), Value::String(name)) = (&segment, &mut *at)
            && NAMED.iter().any(|field| path.ends_with(field))
        {
            let name = Value::String(std::mem::take(name));
            *at = Value::Table(Table::from_iter([("name".to_owned(), name)]));
        }
        match (segment, at) {
            (PathSegment::Key(key), Value::Table(table)) => {
                path = format!("{path}.{key}");
                at = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
            }
            (PathSegment::Index(index), Value::Array(items)) => {
                path = format!("{path}[{index}]");
                let count = items.len();
                at = items.get_mut(index).ok_or_else(|| match count {
                    0 => SpecError::conflict(&path, "the list is empty", "set the whole list"),
                    n => {
                        let allowed = format!("an index from 0 to {}", n - 1);
                        SpecError::new(&path, "does not exist", allowed)
                    }
                })?;
            }
            (PathSegment::Key(key), Value::Array(items)) if !items.is_empty() => {
                let problem = format!("is a list, which has no field {key:?}");
                let remedy = format!("set {}", entries_with(items, &path, &key));
                return conflict(path, problem, remedy);
            }
            (PathSegment::Key(key), other) => {
                let problem = format!("{}, which has no field {key:?}", kind(other));
                return conflict(path, problem, "set a field of a table");
            }
            (PathSegment::Index(index), other) => {
                let problem = format!("{}, which has no entry {index}", kind(other));
                return conflict(path, problem, "set an entry of a list");
            }
        }
        if last {
            *at = value;
            return Ok(());
        }
    }
    Ok(())
}

/// Returns the paths of the field `key` in those entries of a list that have it, or else in the first entry.
fn entries_with(items: &[Value], list: &str, key: &str) -> String {
    const MAX_SHOWN: usize = 3;
    let has_key = |item: &Value| item.get(key).is_some();
    let with_key = (0..items.len()).filter(|&i| has_key(&items[i]));
    let mut paths: Vec<_> = with_key
        .take(MAX_SHOWN)
        .map(|i| format!("{list}[{i}].{key}"))
        .collect();
    if paths.is_empty() {
        paths.push(format!("{list}[0].{key}"));
    }
    paths.join(" or ")
}

fn kind(value: &Value) -> String {
    match value {
        Value::Table(_) => "is a table".to_owned(),
        Value::Array(_) => "is a list".to_owned(),
        other => format!("is {other}"),
    }
}

/// Splits `a.b[0].c` into segments; returns `None` if it has another form.
fn segments(target: &str) -> Option<Vec<PathSegment>> {
    let mut segments = Vec::new();
    for part in target.trim().split('.') {
        let (key, mut indices) = part.find('[').map_or((part, ""), |i| part.split_at(i));
        let bare = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if key.is_empty() || !key.chars().all(bare) {
            return None;
        }
        segments.push(PathSegment::Key(key.to_owned()));
        while let Some((index, after)) = indices.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            segments.push(PathSegment::Index(index.parse().ok()?));
            indices = after;
        }
        if !indices.is_empty() {
            return None;
        }
    }
    (segments.len() <= MAX_SEGMENTS).then_some(segments)
}

/// Reads a TOML value, or text. Malformed input that begins like a list, a table or quoted text is
/// an error, not text.
fn literal(text: &str) -> Result<Value, SpecError> {
    if text.is_empty() {
        return refuse("", "nothing after \"=\"", "a value, such as \"\"");
    }
    match DeValue::parse(text).map(|value| from_de_value(value.into_inner())) {
        Ok(Value::Datetime(_)) => Ok(Value::String(text.to_owned())),
        Ok(value) => Ok(value),
        Err(error) if text.starts_with(['[', '{', '"', '\'']) => refuse(
            "",
            format!("{text}: {}", error.message()),
            "a TOML value, or plain text",
        ),
        Err(_) => Ok(Value::String(text.to_owned())),
    }
}
