//! Modules of a folder do not depend on each other in a cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Returns the modules of a folder, which the file `root` in it declares, each with the modules on which it depends.
/// A module depends on another one if it has `super::NAME` or `PREFIX::NAME` outside comments; a
/// module in a folder may also say `super::super::NAME`. Tests below `#[cfg(test)]` count; modules of
/// tests only do not.
fn dependencies(folder: &Path, root: &str, prefix: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = fs::read_to_string(folder.join(root)).unwrap();
    let mut names = BTreeSet::new();
    let mut is_test = false;
    for line in root.lines() {
        if let Some(name) = line.trim_start_matches("pub ").strip_prefix("mod ")
            && !is_test
        {
            names.insert(name.trim_end_matches(';').to_owned());
        }
        is_test = line == "#[cfg(test)]";
    }
    let mut found = BTreeMap::new();
    for name in &names {
        let mut sources = vec![(folder.join(format!("{name}.rs")), "super::")];
        let inner = fs::read_dir(folder.join(name)).into_iter().flatten();
        sources.extend(inner.map(|entry| (entry.unwrap().path(), "super::super::")));
        let mut uses = BTreeSet::new();
        for (path, above) in sources {
            let Ok(source) = fs::read_to_string(&path) else {
                continue;
            };
            let above = if path.ends_with("mod.rs") {
                "super::"
            } else {
                above
            };
            let lines = source.lines();
            let code = lines.filter(|line| !line.trim_start().starts_with("//"));
            let code = code.collect::<Vec<_>>().join("\n");
            for mark in [above, prefix] {
                for (at, _) in code.match_indices(mark) {
                    // `super::` is also the end of `super::super::`.
                    if code[..at].ends_with("super::") {
                        continue;
                    }
                    let rest = &code[at + mark.len()..];
                    let listed = if let Some(list) = rest.strip_prefix('{') {
                        list.split('}').next().unwrap().to_owned()
                    } else {
                        rest.to_owned()
                    };
                    let items = if rest.starts_with('{') {
                        listed.split(',').collect()
                    } else {
                        vec![&*listed]
                    };
                    for item in items {
                        let word: String = item
                            .trim_start()
                            .chars()
                            .take_while(|c| c.is_alphanumeric() || *c == '_')
                            .collect();
                        if names.contains(&word) && word != *name {
                            uses.insert(word);
                        }
                    }
                }
            }
        }
        found.insert(name.clone(), uses);
    }
    found
}

/// Returns the modules that are left when those without dependencies among the rest are removed as
/// often as possible: those in cycles, and those that depend on them.
fn in_cycles(mut graph: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    loop {
        let left: BTreeSet<String> = graph.keys().cloned().collect();
        let before = graph.len();
        graph.retain(|_, uses| uses.iter().any(|name| left.contains(name)));
        if graph.len() == before {
            return graph;
        }
    }
}

#[test]
fn modules_of_transports_have_no_cycle() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/transport");
    for (folder, prefix) in [("", "crate::transport::"), ("tcp", "crate::transport::tcp::")] {
        assert_acyclic(dependencies(&source.join(folder), "mod.rs", prefix));
    }
}

#[test]
fn modules_of_the_engine_and_of_queues_have_no_cycle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["weft-engine", "weft-queues"] {
        assert_acyclic(dependencies(&crates.join(name).join("src"), "lib.rs", "crate::"));
    }
}

fn assert_acyclic(graph: BTreeMap<String, BTreeSet<String>>) {
    assert!(
        graph.len() > 5 && graph.values().any(|uses| uses.len() > 2),
        "{graph:?}"
    );
    let cycles = in_cycles(graph);
    assert!(cycles.is_empty(), "{cycles:#?}");
}

#[test]
fn a_cycle_is_found() {
    let graph = [
        ("a", vec!["b"]),
        ("b", vec!["c"]),
        ("c", vec!["b"]),
        ("d", vec![]),
    ];
    let own =
        |(name, uses): (&str, Vec<&str>)| (name.to_owned(), uses.into_iter().map(str::to_owned).collect());
    let found = in_cycles(graph.map(own).into());
    assert!(found.keys().eq(["a", "b", "c"]));
}
