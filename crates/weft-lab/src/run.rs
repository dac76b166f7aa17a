//! What a run yields.

use std::path::Path;

use arrow_array::RecordBatch;

use crate::Error;

/// Tables and manifest of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// `flows`, `subflows`, `queues`, `links`, `traces`, in this order; all are always there, if without rows.
    pub tables: Vec<(&'static str, RecordBatch)>,
    /// Name, resolved spec, seed, version, counters, end of simulated time, whether partial, trace hash, wall-clock seconds.
    pub manifest: serde_json::Value,
}

impl Run {
    /// Writes `TABLE.parquet` for each table and `manifest.json` into a new folder `dir`, all or nothing.
    ///
    /// # Errors
    /// [`Error::Output`]: `dir` exists and is not an empty folder, or cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        Err(Error::Output {
            path: dir.to_owned(),
            problem: "nothing can be written yet".into(),
        })
    }
}
