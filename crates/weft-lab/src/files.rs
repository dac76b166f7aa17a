//! Files that a spec names: where their relative paths start.

use std::path::Path;

use toml::{Table, Value};
use weft_traffic::WORKLOADS;

/// Fields that name a file, by the kind that has them.
pub const FILES: &[(&str, &str)] = &[("empirical", "cdf"), ("flow-list", "file"), ("graph", "file")];

/// Lets the relative paths of files in a spec start at `folder`, which is absolute. Call it before overrides, whose paths are a command's.
pub fn anchor(spec: &mut Table, folder: &Path) {
    let kind = spec.get("kind").and_then(Value::as_str);
    let field = FILES.iter().find(|(of, _)| kind == Some(*of));
    if let Some((_, field)) = field
        && let Some(Value::String(file)) = spec.get_mut(*field)
        && !WORKLOADS.iter().any(|(workload, _)| workload == file)
        && let Some(path) = folder.join(&*file).to_str()
    {
        path.clone_into(file);
    }
    for (_, value) in spec.iter_mut() {
        anchor_in(value, folder);
    }
}

fn anchor_in(value: &mut Value, folder: &Path) {
    match value {
        Value::Table(table) => anchor(table, folder),
        Value::Array(items) => items.iter_mut().for_each(|item| anchor_in(item, folder)),
        _ => {}
    }
}
