//! Files that a spec names, and the folder at which their relative paths start.

use std::path::Path;

use toml::{Table, Value};
use weft_traffic::WORKLOADS;

/// Fields that name a file, each with its kind.
const FILE_FIELDS: &[(&str, &str)] = &[
    ("empirical", "cdf"),
    ("flow-list", "file"),
    ("graph", "file"),
    ("trace", "file"),
];

/// Makes the relative paths of files in a spec start at `folder`, which is absolute. Call it before
/// overrides: their paths are relative to the working directory.
pub fn resolve_paths(spec: &mut Table, folder: &Path) {
    let kind = spec.get("kind").and_then(Value::as_str);
    let field = FILE_FIELDS.iter().find(|(name, _)| kind == Some(*name));
    if let Some((_, field)) = field
        && let Some(Value::String(file)) = spec.get_mut(*field)
        && !WORKLOADS.iter().any(|(workload, _)| workload == file)
        && let Some(path) = folder.join(&*file).to_str()
    {
        path.clone_into(file);
    }
    for (_, value) in spec.iter_mut() {
        resolve_paths_in(value, folder);
    }
}

fn resolve_paths_in(value: &mut Value, folder: &Path) {
    match value {
        Value::Table(table) => resolve_paths(table, folder),
        Value::Array(items) => items.iter_mut().for_each(|item| resolve_paths_in(item, folder)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kind whose `file` or `cdf` is not listed would search for it in the working directory.
    #[test]
    fn every_kind_that_names_a_file_is_listed() {
        let schema = crate::schema();
        let mut found: Vec<(&str, &str)> = Vec::new();
        for definition in schema["$defs"].as_object().unwrap().values() {
            let properties = &definition["properties"];
            for field in ["cdf", "file"] {
                if let (Some(kind), true) = (
                    properties["kind"]["const"].as_str(),
                    properties[field].is_object(),
                ) {
                    found.push((kind, field));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, FILE_FIELDS);
    }
}
