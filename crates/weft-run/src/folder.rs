//! A folder of results on disk that is either complete or absent. Everything is written to a
//! staging folder in the same parent, which is renamed at the end.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::Error;

/// A folder that is being written.
pub struct Folder {
    dir: PathBuf,
    staging: TempDir,
    /// Lock that is held while the folder is being written; the kernel releases it when the process
    /// ends for any reason.
    _lock: File,
    tables: Vec<(&'static str, ArrowWriter<File>)>,
}

impl Folder {
    /// Begins the folder `dir`, which must be absent or empty.
    ///
    /// # Errors
    /// Returns [`Error::Output`] if the folder exists and is not empty, or if its parent cannot be
    /// written.
    pub fn begin(dir: &Path) -> Result<Self, Error> {
        let failed = |problem: String| Error::Output {
            path: dir.to_owned(),
            problem,
        };
        let absolute =
            std::path::absolute(dir).map_err(|error| failed(format!("no path to a folder: {error}")))?;
        let Some(parent) = absolute.parent() else {
            return Err(failed(
                "is the root; allowed: a folder that does not exist yet, or an empty one".into(),
            ));
        };
        check_free(&absolute).map_err(failed)?;
        let written = |error: io::Error| failed(format!("cannot be written: {error}"));
        fs::create_dir_all(parent).map_err(written)?;
        remove_abandoned(parent);
        let (staging, lock) = create_staging_dir(parent).map_err(written)?;
        Ok(Self {
            dir: absolute,
            staging,
            _lock: lock,
            tables: Vec::new(),
        })
    }

    /// Appends rows, those of each table as a row group of its file.
    ///
    /// # Errors
    /// Returns [`Error::Output`] if the rows cannot be written.
    pub fn append(&mut self, tables: &[(&'static str, RecordBatch)]) -> Result<(), Error> {
        self.try_append(tables).map_err(|error| self.failed(&error))
    }

    /// Writes the manifest and gives the folder its name.
    ///
    /// # Errors
    /// Returns [`Error::Output`] if the folder cannot be written.
    pub fn finish(mut self, manifest: &serde_json::Value) -> Result<(), Error> {
        self.try_finish(manifest).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::Output {
            path: self.dir.clone(),
            problem: format!("cannot be written: {error}"),
        }
    }

    fn try_append(&mut self, tables: &[(&'static str, RecordBatch)]) -> io::Result<()> {
        for (name, rows) in tables {
            let known = self.tables.iter().position(|(table, _)| table == name);
            let index = known.unwrap_or(self.tables.len());
            if known.is_none() {
                let file = File::create_new(self.staging.path().join(format!("{name}.parquet")))?;
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
                let writer = ArrowWriter::try_new(file, rows.schema(), Some(properties.build()))?;
                self.tables.push((name, writer));
            }
            let (_, writer) = &mut self.tables[index];
            if rows.num_rows() > 0 {
                writer.write(rows)?;
                writer.flush()?; // no row waits in memory for more rows
            }
        }
        Ok(())
    }

    fn try_finish(&mut self, manifest: &serde_json::Value) -> io::Result<()> {
        for (_, writer) in self.tables.drain(..) {
            writer.close()?;
        }
        let mut manifest = serde_json::to_string_pretty(manifest)?;
        manifest.push('\n');
        fs::write(self.staging.path().join("manifest.json"), manifest)?;
        // Only an empty folder is replaced. If a folder with files was created in the meantime,
        // this fails and no file is lost.
        if self.dir.is_dir() {
            fs::remove_dir(&self.dir)?;
        }
        fs::rename(self.staging.path(), &self.dir)?;
        self.staging.disable_cleanup(true); // nothing with the old name is left to clean up
        Ok(())
    }
}

/// Prefix of the names of staging folders.
const PREFIX: &str = ".weft-";

/// Creates a locked staging folder in `parent`.
fn create_staging_dir(parent: &Path) -> io::Result<(TempDir, File)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777)); // less the umask
    loop {
        let folder = builder.tempdir_in(parent)?;
        let lock = File::open(folder.path())?;
        // On a file system without locks, no other process can hold one, and abandoned folders are
        // not removed.
        let _ = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        // Between the creation and the lock, another process may have removed the folder as
        // abandoned.
        if folder.path().exists() {
            return Ok((folder, lock));
        }
    }
}

/// Removes staging folders in `parent` whose process was killed: those without a lock.
fn remove_abandoned(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder
            && let Ok(lock) = File::open(entry.path())
            && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            let _ = fs::remove_dir_all(entry.path()); // another process may be removing it
        }
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
