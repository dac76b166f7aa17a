//! The manifest: the experiment, the software that ran it, and the end of the run.

use serde_json::{Value, json};
use weft_spec::{Spec, Time};

use crate::{Outcome, ProvidedTables, Unfinished};

/// Number of rows of each table.
pub type Rows = serde_json::Map<String, Value>;

/// The inputs of the manifest that are known at the end of a run.
pub struct RunSummary {
    /// Lines for a reader of the manifest.
    pub warnings: Vec<String>,
    /// Counts of unfinished flows and jobs.
    pub unfinished: Unfinished,
    /// The records of the run.
    pub outcome: Outcome,
    /// Time at which the flow that ended the experiment was complete.
    pub stopped: Option<Time>,
    /// Wall-clock seconds that the run took.
    pub wall_seconds: f64,
    /// Tables and columns that the level provides.
    pub provided: ProvidedTables,
    /// Entries that the level adds to the manifest.
    pub manifest_entries: Vec<(String, Value)>,
}

/// Builds the manifest. `spec` is the full resolved spec; parsed again, it gives an equal run. The
/// trace hash is a string of hexadecimal digits, because many readers of JSON lose digits of large
/// numbers.
pub fn manifest(spec: &Spec, json: &Value, threads: usize, summary: &RunSummary, rows: &Rows) -> Value {
    let RunSummary {
        outcome,
        stopped,
        warnings,
        unfinished,
        wall_seconds,
        provided,
        manifest_entries,
    } = summary;
    let (from, to) = outcome.measurement_window();
    let mut manifest = json!({
        "name": spec.name,
        "version": env!("CARGO_PKG_VERSION"),
        "level": spec.level,
        "seed": spec.seed,
        "partial": outcome.end < spec.duration && stopped.is_none(),
        "end_s": outcome.end.seconds(),
        "stopped_s": stopped.map(Time::seconds),
        "measured_s": [from.seconds(), to.seconds()],
        "unfinished": { "flows": unfinished.flows, "jobs": unfinished.jobs },
        "warnings": warnings,
        "counters": outcome.counters,
        "trace_hash": outcome.trace_hash.map(|hash| format!("{hash:016x}")),
        "threads": threads,
        "wall_seconds": wall_seconds,
        "rows": rows,
        "spec": json,
    });
    if let Some(counters) = manifest["counters"].as_object_mut() {
        counters.retain(|name, _| provided.has_column("counters", name));
    }
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.extend(manifest_entries.iter().cloned());
    }
    manifest
}
