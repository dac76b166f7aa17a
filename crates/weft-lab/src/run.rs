//! What a run yields, in memory and on disk.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::Error;

/// Tables and manifest of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// `flows`, `subflows`, `queues`, `links`, `traces`, `jobs`, `suppressions`, in this order; all are always there, if without rows. Their columns:
    #[doc = include_str!("tables/columns.md")]
    pub tables: Vec<(&'static str, RecordBatch)>,
    /// Name, resolved spec, seed, version, counters, end of simulated time, whether partial, when the spec's stop was reached,
    /// warnings, trace hash, wall-clock seconds.
    pub manifest: serde_json::Value,
}

impl Run {
    /// Writes `TABLE.parquet` for each table and `manifest.json` into a new folder `dir`, all or nothing: everything is
    /// written into a folder beside it, which takes its name at the end.
    ///
    /// # Errors
    /// [`Error::Output`]: `dir` exists and is not an empty folder, or cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), Error> {
        let failed = |problem: String| Error::Output {
            path: dir.to_owned(),
            problem,
        };
        let dir =
            std::path::absolute(dir).map_err(|error| failed(format!("no path to a folder: {error}")))?;
        let Some(parent) = dir.parent() else {
            return Err(failed(
                "is the root; allowed: a folder that does not exist yet, or an empty one".into(),
            ));
        };
        check_free(&dir).map_err(failed)?;
        self.write_beside(&dir, parent)
            .map_err(|error| failed(format!("cannot be written: {error}")))
    }

    fn write_beside(&self, dir: &Path, parent: &Path) -> io::Result<()> {
        fs::create_dir_all(parent)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".weft-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777)); // the umask takes off the rest
        let beside = builder.tempdir_in(parent)?;
        for (name, table) in &self.tables {
            let file = File::create_new(beside.path().join(format!("{name}.parquet")))?;
            write_parquet(table, file)?;
        }
        let mut manifest = serde_json::to_string_pretty(&self.manifest)?;
        manifest.push('\n');
        fs::write(beside.path().join("manifest.json"), manifest)?;
        // Only an empty folder gives way; if one with files appeared meanwhile, this fails and nothing is lost.
        if dir.is_dir() {
            fs::remove_dir(dir)?;
        }
        fs::rename(beside.path(), dir)?;
        let _ = beside.keep(); // under its old name there is nothing left to clean up
        Ok(())
    }
}

fn check_free(dir: &Path) -> Result<(), String> {
    const ALLOWED: &str = "allowed: a folder that does not exist yet, or an empty one";
    match fs::read_dir(dir).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(format!("exists and is not empty; {ALLOWED}")),
        Ok(false) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(format!("is not a folder; {ALLOWED}"))
        }
        Err(error) => Err(format!("cannot be read: {error}; {ALLOWED}")),
    }
}

fn write_parquet(table: &RecordBatch, file: File) -> io::Result<()> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties))?;
    writer.write(table)?;
    writer.close()?;
    Ok(())
}
