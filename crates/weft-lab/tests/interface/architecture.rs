//! Crates depend only on those that docs/contributing/code-map.md allows. The test reads
//! dependencies of Cargo, and files that the compilers record as read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;
use weft_transports::KINDS;

/// The crates below `weft-packet`: those below `weft-run`, `weft-run` and the engine.
const BELOW_PACKET: &[&str] = &[
    "weft-spec",
    "weft-cc",
    "weft-queues",
    "weft-fabric",
    "weft-paths",
    "weft-traffic",
    "weft-transports",
    "weft-run",
    "weft-engine",
];

const BELOW_RUN: &[&str] = BELOW_PACKET.split_at(7).0;

const BELOW_BACKENDS: &[&str] = BELOW_PACKET.split_at(8).0;

/// The crates on which each crate may depend.
const ARROWS: &[(&str, &[&str])] = &[
    ("weft-spec", &[]),
    ("weft-cc", &[]),
    ("weft-queues", &["weft-spec"]),
    ("weft-fabric", &["weft-spec", "weft-queues"]),
    ("weft-paths", &["weft-spec", "weft-fabric"]),
    ("weft-traffic", &["weft-spec"]),
    (
        "weft-transports",
        &["weft-spec", "weft-cc", "weft-fabric", "weft-paths"],
    ),
    ("weft-run", BELOW_RUN),
    ("weft-engine", &["weft-spec", "weft-queues", "weft-fabric"]),
    ("weft-packet", BELOW_PACKET),
    ("weft-flow", BELOW_BACKENDS),
    ("weft-bpf", &["weft-cc"]),
    ("weft-bpf-native", &["weft-cc", "weft-bpf"]),
    ("weft-test-support", &["weft-bpf"]),
    ("weft-kernel", &["weft-cc", "weft-bpf", "weft-test-support"]),
    // The daemon links no part of the simulator but the algorithms' parameters and the types of specs.
    (
        "weftd",
        &["weft-spec", "weft-cc", "weft-kernel", "weft-test-support"],
    ),
    (
        "weft-testbed",
        // A backend in a separate process, which `weftd testbed` starts.
        &[
            "weft-spec",
            "weft-cc",
            "weft-bpf",
            "weft-kernel",
            "weft-fabric",
            "weft-traffic",
            "weft-transports",
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
            "weft-transports",
            "weft-run",
            "weft-engine",
            "weft-packet",
            "weft-flow",
            "weft-bpf-native",
        ],
    ),
    ("weft-py", &["weft-cc", "weft-lab"]),
];

/// A crate of the workspace, as Cargo reads its manifest.
struct Package {
    name: String,
    folder: PathBuf,
    /// Root files of the compilation.
    roots: BTreeSet<PathBuf>,
    /// Packages of the workspace on which it depends: for builds, tests or its build script, on any
    /// platform and under any name.
    known: BTreeSet<String>,
    /// Packages of `known` on which its build script depends.
    known_to_build: BTreeSet<String>,
}

struct Workspace {
    root: PathBuf,
    packages: Vec<Package>,
}

impl Workspace {
    fn read() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let arguments = ["metadata", "--no-deps", "--offline", "--format-version=1"];
        let ended = Command::new(cargo).args(arguments).output().unwrap();
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
        let metadata: Value = serde_json::from_slice(&ended.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let names: BTreeSet<&str> = packages.iter().map(|package| text(&package["name"])).collect();
        let package = |package: &Value| {
            let edges = package["dependencies"].as_array().unwrap();
            let edges = edges.iter().filter(|edge| names.contains(text(&edge["name"])));
            let known = |is_counted: &dyn Fn(&Value) -> bool| {
                let some = edges.clone().filter(|edge| is_counted(&edge["kind"]));
                some.map(|edge| text(&edge["name"]).to_owned()).collect()
            };
            let targets = package["targets"].as_array().unwrap().iter();
            Package {
                name: text(&package["name"]).to_owned(),
                folder: parent(Path::new(text(&package["manifest_path"]))),
                roots: targets.map(|target| text(&target["src_path"]).into()).collect(),
                known: known(&|_| true),
                known_to_build: known(&|kind| kind == "build"),
            }
        };
        Self {
            root: text(&metadata["workspace_root"]).into(),
            packages: packages.iter().map(package).collect(),
        }
    }

    fn package(&self, name: &str) -> &Package {
        self.packages.iter().find(|package| package.name == name).unwrap()
    }

    /// Returns all files that compilers and build scripts read in their last runs.
    fn units(&self) -> Vec<Unit<'_>> {
        let profile = parent(&parent(&std::env::current_exe().unwrap()));
        let rust = files(&profile.join("deps"), "d");
        let mut units: Vec<Unit<'_>> = rust.iter().filter_map(|list| self.compiled(list)).collect();
        for folder in folders(&profile.join("build")) {
            let scripts = files(&folder, "d");
            units.extend(scripts.iter().filter_map(|list| self.compiled(list)));
            // The name of the folder is the name of the crate with a hash.
            let name = folder.file_name().unwrap().to_str().unwrap();
            let owner = name.rsplit_once('-').map(|(name, _)| name);
            let Some(owner) = self
                .packages
                .iter()
                .find(|package| Some(package.name.as_str()) == owner)
            else {
                continue;
            };
            units.extend(files(&folder.join("out"), "d").iter().filter_map(|list| {
                let files = fresh(list, &owner.folder, listed(&fs::read_to_string(list).ok()?))?;
                Some(Unit {
                    owner,
                    files,
                    script: true,
                })
            }));
            units.extend(watched(&folder.join("output"), owner));
        }
        units
    }

    /// Returns the files that rustc read for a crate of the workspace, from rustc's list.
    fn compiled(&self, list: &Path) -> Option<Unit<'_>> {
        let files = fresh(list, &self.root, listed(&fs::read_to_string(list).ok()?))?;
        let mut owners = self.packages.iter();
        let owner = owners.find(|package| !package.roots.is_disjoint(&files))?;
        Some(Unit {
            owner,
            files,
            script: false,
        })
    }

    /// Returns the files of the workspace that a unit must not read: those that are neither
    /// generated nor part of its crate. C that a build script compiles may also read files of
    /// crates on which the script depends.
    fn foreign<'a>(&'a self, unit: &'a Unit<'_>, target: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
        let lent = self
            .packages
            .iter()
            .filter(|package| unit.script && unit.owner.known_to_build.contains(&package.name));
        // Clippy's lists include its configuration files.
        let settings = ["Cargo.toml", "clippy.toml"].map(|name| self.root.join(name));
        let allowed: Vec<&Path> = lent
            .map(|package| &*package.folder)
            .chain([&*unit.owner.folder, target])
            .collect();
        let inside = unit.files.iter().filter(|file| file.starts_with(&self.root));
        inside.filter(move |file| {
            !settings.contains(file) && !allowed.iter().any(|folder| file.starts_with(folder))
        })
    }
}

/// The files that were read for a compilation, or that a build script watches.
struct Unit<'a> {
    owner: &'a Package,
    files: BTreeSet<PathBuf>,
    /// True if a build script did it.
    script: bool,
}

/// Returns the files after the colon of a list in make's syntax, in which a backslash precedes
/// spaces and line breaks.
fn listed(list: &str) -> Vec<String> {
    const SPACE: &str = "\0";
    let list = list.replace("\\\n", " ").replace("\\ ", SPACE);
    let rules = list.lines().filter(|line| !line.starts_with('#'));
    let rules = rules.filter_map(|line| line.split_once(": "));
    let files = rules.flat_map(|(_, files)| files.split_whitespace());
    files.map(|file| file.replace(SPACE, " ")).collect()
}

/// Returns the folders that a build script makes Cargo watch, unless the script has changed since.
fn watched<'a>(output: &Path, owner: &'a Package) -> Option<Unit<'a>> {
    let lines = fs::read_to_string(output).ok()?;
    let directives = lines.lines().filter_map(|line| {
        let directive = line.strip_prefix("cargo:")?;
        directive
            .trim_start_matches(':')
            .strip_prefix("rerun-if-changed=")
    });
    fresh(output, &owner.folder, vec!["build.rs".to_owned()])?;
    let files = directives
        .filter_map(|path| owner.folder.join(path).canonicalize().ok())
        .collect();
    Some(Unit {
        owner,
        files,
        script: true,
    })
}

/// Returns the full paths of a list of files, or `None` if one of them no longer exists or has
/// changed: then the list belongs to an old build.
fn fresh(list: &Path, base: &Path, files: Vec<String>) -> Option<BTreeSet<PathBuf>> {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let made: SystemTime = changed(list)?;
    let full = |file: String| {
        let path = base.join(file).canonicalize().ok()?;
        (changed(&path)? <= made).then_some(path)
    };
    files.into_iter().map(full).collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let of_kind = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    entries(folder).filter(of_kind).collect()
}

fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    entries(folder).filter(|path| path.is_dir())
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap().to_owned()
}

#[test]
fn dependencies_go_along_the_arrows() {
    let workspace = Workspace::read();
    for Package { name, known, .. } in &workspace.packages {
        let arrows = ARROWS.iter().find(|(from, _)| from == name);
        let (_, allowed) = arrows.unwrap_or_else(|| panic!("{name} has no place in the architecture"));
        let allowed: BTreeSet<_> = allowed.iter().map(|&name| name.to_owned()).collect();
        let forbidden: Vec<_> = known.difference(&allowed).collect();
        assert!(forbidden.is_empty(), "{name} must not know {forbidden:?}");
    }
    let found = |from, to| workspace.package(from).known.contains(to);
    assert!(found("weft-packet", "weft-engine") && found("weft-bpf-native", "weft-bpf"));
}

#[test]
fn nothing_is_read_behind_cargos_back() {
    let workspace = Workspace::read();
    let target = parent(&parent(&parent(&std::env::current_exe().unwrap())));
    let units = workspace.units();
    for unit in &units {
        let foreign: Vec<_> = workspace.foreign(unit, &target).collect();
        assert!(
            foreign.is_empty(),
            "{} must not read {foreign:?}",
            unit.owner.name
        );
    }
    // The dependencies of this test have been compiled, by rustc and by a build script.
    let mut below = workspace.package("weft-lab").known.clone();
    below.insert("weft-lab".to_owned());
    for name in below {
        let compiled = |unit: &Unit<'_>| unit.owner.name == name && !unit.script;
        assert!(
            units.iter().any(compiled),
            "what {name} is built from is not found"
        );
    }
    let header = workspace.package("weft-bpf").folder.join("src/amp.h");
    let lent =
        |unit: &Unit<'_>| unit.owner.name == "weft-bpf-native" && unit.script && unit.files.contains(&header);
    assert!(
        units.iter().any(lent),
        "what weft-bpf-native compiles in C is not found"
    );
}

#[test]
fn a_file_of_another_crate_is_foreign() {
    let workspace = Workspace::read();
    let [native, cc, bpf] = ["weft-bpf-native", "weft-cc", "weft-bpf"].map(|name| workspace.package(name));
    let foreign = |script, file: PathBuf| {
        let unit = Unit {
            owner: native,
            files: [file].into(),
            script,
        };
        workspace.foreign(&unit, &workspace.root.join("target")).count() == 1
    };
    assert!(foreign(false, cc.folder.join("src/lib.rs")));
    assert!(foreign(true, cc.folder.join("src/lib.rs")));
    assert!(foreign(false, bpf.folder.join("src/amp.h")));
    assert!(foreign(true, workspace.root.join("docs/linux/index.md")));
    assert!(!foreign(true, bpf.folder.join("src/amp.h")));
    assert!(!foreign(false, native.folder.join("src/lib.rs")));
    assert!(!foreign(true, "/usr/include/stdint.h".into()));
    assert!(!foreign(
        false,
        workspace.root.join("target/debug/build/x/out/y.rs")
    ));
    let list = "out/a.o: src/native.c \\\n ../a\\ b.h\n\nsrc/native.c:\n# env-dep:OUT_DIR=x\n";
    assert_eq!(listed(list), ["src/native.c", "../a b.h"]);
}

/// Crates in which no kind of transport is named, so that a new kind changes none of them.
const WITHOUT_KINDS: [&str; 4] = ["weft-spec", "weft-run", "weft-engine", "weft-lab"];

#[test]
fn crates_around_transports_name_no_kind() {
    let workspace = Workspace::read();
    let is_name = |word: &&str| KINDS[1..].iter().any(|kind| kind.name() == *word);
    let mut named = BTreeSet::new();
    let mut folders_left: Vec<PathBuf> = WITHOUT_KINDS
        .iter()
        .map(|name| workspace.package(name).folder.join("src"))
        .collect();
    let mut count = 0;
    while let Some(folder) = folders_left.pop() {
        folders_left.extend(folders(&folder));
        for file in [files(&folder, "rs"), files(&folder, "md")].concat() {
            count += 1;
            let text = fs::read_to_string(&file).unwrap();
            let words = text.split(|letter: char| !letter.is_alphanumeric() && !"_-".contains(letter));
            named.extend(words.filter(is_name).map(|word| (file.clone(), word.to_owned())));
        }
    }
    assert!(count > 80, "only {count} files");
    assert_eq!(named, BTreeSet::new());
}
