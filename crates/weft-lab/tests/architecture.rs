//! Dependencies go only along the arrows of docs/architecture.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const BELOW_RUN: &[&str] = &[
    "weft-spec",
    "weft-cc",
    "weft-fabric",
    "weft-paths",
    "weft-traffic",
];

const BELOW_HOMES: &[&str] = &[
    "weft-spec",
    "weft-cc",
    "weft-fabric",
    "weft-paths",
    "weft-traffic",
    "weft-run",
];

/// Who may know whom.
const ARROWS: &[(&str, &[&str])] = &[
    ("weft-spec", &[]),
    ("weft-cc", &[]),
    ("weft-fabric", &["weft-spec"]),
    ("weft-paths", &["weft-spec", "weft-fabric"]),
    ("weft-traffic", &["weft-spec"]),
    ("weft-run", BELOW_RUN),
    ("weft-packet", BELOW_HOMES),
    ("weft-flow", BELOW_HOMES),
    ("weft-twin", &["weft-cc"]),
    (
        "weft-linux",
        // Its program `weftd testbed` is to the laboratory what a home is, but over the border of a process.
        &[
            "weft-spec",
            "weft-cc",
            "weft-twin",
            "weft-fabric",
            "weft-traffic",
            "weft-run",
            "weft-lab",
        ],
    ),
    (
        "weft-lab",
        &[
            "weft-spec",
            "weft-cc",
            "weft-fabric",
            "weft-paths",
            "weft-traffic",
            "weft-run",
            "weft-packet",
            "weft-flow",
            "weft-twin",
        ],
    ),
    ("weft-py", &["weft-lab"]),
];

/// The workspace's crates and what each names in any table of dependencies, for building, testing or a platform.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifests = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("Cargo.toml"));
    manifests
        .filter(|path| path.exists())
        .map(|path| {
            let manifest: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
            let mut known = BTreeSet::new();
            collect(&manifest, &mut known);
            (manifest["package"]["name"].as_str().unwrap().to_owned(), known)
        })
        .collect()
}

fn collect(table: &toml::Table, known: &mut BTreeSet<String>) {
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        if key.ends_with("dependencies") {
            known.extend(inner.keys().filter(|name| name.starts_with("weft-")).cloned());
        } else {
            collect(inner, known);
        }
    }
}

#[test]
fn dependencies_go_along_the_arrows() {
    let crates = crates();
    assert!(crates.len() >= 7, "{:?}", crates.keys());
    for (name, known) in &crates {
        let arrows = ARROWS.iter().find(|(from, _)| from == name);
        let (_, allowed) = arrows.unwrap_or_else(|| panic!("{name} has no place in the architecture"));
        let allowed: BTreeSet<_> = allowed.iter().map(|&name| name.to_owned()).collect();
        let forbidden: Vec<_> = known.difference(&allowed).collect();
        assert!(forbidden.is_empty(), "{name} must not know {forbidden:?}");
    }
    assert!(
        crates["weft-packet"].contains("weft-cc"),
        "dependencies are found at all"
    );
}
