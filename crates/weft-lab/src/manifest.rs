//! The manifest: what was run, by what, and how it ended.

use serde_json::{Value, json};
use weft_spec::{Spec, Time};

use crate::RunOptions;
use crate::experiment::Ended;

/// How many rows each table has.
pub(crate) type Rows = serde_json::Map<String, Value>;

/// `spec` is the full resolved spec: given to [`crate::Experiment::parse`], it makes the same run. The trace hash is a
/// string of hexadecimal digits, because JSON's numbers lose digits in many readers.
pub(crate) fn manifest(spec: &Spec, json: &Value, options: RunOptions, ended: &Ended, rows: &Rows) -> Value {
    let Ended {
        outcome,
        stopped,
        warnings,
        unfinished,
        wall_seconds,
    } = ended;
    let counters = &outcome.counters;
    let (from, to) = outcome.window();
    json!({
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
        "counters": {
            "packet_hops": counters.packet_hops,
            "timers": counters.timers,
            "windows": counters.windows,
            "drops": counters.drops,
            "marks": counters.marks,
            "timeouts": counters.timeouts,
        },
        "trace_hash": outcome.trace_hash.map(|hash| format!("{hash:016x}")),
        "threads": options.threads,
        "wall_seconds": wall_seconds,
        "rows": rows,
        "spec": json,
    })
}
