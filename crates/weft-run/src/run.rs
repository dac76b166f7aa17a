//! The results of a run, in memory and on disk.

use std::path::Path;

use arrow_array::RecordBatch;

use crate::Error;
use crate::folder::Folder;

/// Tables and manifest of a run.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The tables `flows`, `subflows`, `queues`, `links`, `traces`, `jobs`, `suppressions`, in this
    /// order; all are always present, possibly without rows. Their columns:
    #[doc = include_str!("tables/columns.md")]
    pub tables: Vec<(&'static str, RecordBatch)>,
    /// Name, resolved spec, seed, version, counters, end of simulated time, whether the run is
    /// partial, the time at which the spec's stop was reached, warnings, trace hash, wall-clock
    /// seconds.
    pub manifest: serde_json::Value,
}

impl RunResult {
    /// Writes `TABLE.parquet` for each table and `manifest.json` into a new folder `dir`, all or
    /// nothing. Everything is written to a staging folder with the same parent, which is renamed at
    /// the end.
    ///
    /// # Errors
    /// Returns [`Error::Output`] if `dir` exists and is not an empty folder, or cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        let mut folder = Folder::begin(dir)?;
        folder.append(&self.tables)?;
        folder.finish(&self.manifest)
    }
}

/// A run whose tables are on disk, in a folder that is removed unless it is kept.
pub struct UnsavedRun {
    /// The manifest, like [`RunResult::manifest`].
    pub manifest: serde_json::Value,
    /// The folder; `None` if there is nothing to keep.
    pub folder: Option<Folder>,
}

impl UnsavedRun {
    /// Writes the manifest and gives the folder its name.
    ///
    /// # Errors
    /// Returns [`Error::Output`] if the folder cannot be written, or if its name is no longer free.
    pub fn keep(self) -> Result<(), Error> {
        match self.folder {
            Some(folder) => folder.finish(&self.manifest),
            None => Ok(()),
        }
    }
}
