//! A folder of results on disk that is either complete or absent. Everything is written to a
//! staging folder in the same parent, which is renamed at the end.
//!
//! Users who may write in the parent can replace the staging folder by a link. Files are therefore
//! created relative to the folder's descriptor, which always leads to the folder that was made
//! here.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::Error;

/// A folder that is being written.
pub struct Folder {
    dir: PathBuf,
    /// Name of `dir` in `parent`.
    name: OsString,
    /// Descriptor of the folder in which the staging folder and `dir` are.
    parent: File,
    staging: TempDir,
    /// Descriptor of the staging folder. It is locked while the folder is being written; the kernel
    /// releases the lock when the process ends for any reason.
    locked: File,
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
        let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Err(failed(
                "is the root; allowed: a folder that does not exist yet, or an empty one".into(),
            ));
        };
        check_free(&absolute).map_err(failed)?;
        let written = |error: io::Error| failed(format!("cannot be written: {error}"));
        fs::create_dir_all(parent).map_err(written)?;
        remove_abandoned(parent);
        let (staging, locked) = create_staging_dir(parent).map_err(written)?;
        Ok(Self {
            name: name.to_owned(),
            parent: File::open(parent).map_err(written)?,
            dir: absolute,
            staging,
            locked,
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
                let file = self.create(&format!("{name}.parquet"))?;
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
        self.create("manifest.json")?.write_all(manifest.as_bytes())?;
        if !is_same(&self.locked, self.staging.path()) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, REPLACED));
        }
        // Only an empty folder is replaced. If a folder with files was created in the meantime,
        // this fails and no file is lost.
        if self.dir.is_dir() {
            unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR)?;
        }
        let staging = self.staging.path().file_name().unwrap_or_default();
        renameat(&self.parent, staging, &self.parent, &self.name)?;
        self.staging.disable_cleanup(true); // nothing with the old name is left to clean up
        Ok(())
    }

    /// Creates a file in the staging folder.
    fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.locked, name, flags, Mode::from_raw_mode(0o666))?; // less the umask
        Ok(File::from(file))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Removes no folder that another user put in place of the staging folder.
        if !is_same(&self.locked, self.staging.path()) {
            self.staging.disable_cleanup(true);
        }
    }
}

const REPLACED: &str = "another user has replaced a folder that was just made";

/// Opens a folder that belongs to the user of this process and is not a link.
fn open_own(folder: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let mut options = File::options();
    let folder = options
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(folder)?;
    if folder.metadata()?.uid() != geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, REPLACED));
    }
    Ok(folder)
}

/// Returns true if the path still leads to the open folder and is not a link.
fn is_same(open: &File, path: &Path) -> bool {
    let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    matches!((open.metadata(), fs::symlink_metadata(path)), (Ok(a), Ok(b)) if same(&a, &b))
}

/// Prefix of the names of staging folders.
const PREFIX: &str = ".weft-";

/// Creates a locked staging folder in `parent`.
fn create_staging_dir(parent: &Path) -> io::Result<(TempDir, File)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777)); // less the umask
    // Until it is locked, the folder looks abandoned, and another process may lock and remove it.
    loop {
        let folder = builder.tempdir_in(parent)?;
        let lock = match open_own(folder.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        // On a file system without locks, no other process can hold one, and abandoned folders are
        // not removed.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
            && is_same(&lock, folder.path())
        {
            return Ok((folder, lock));
        }
    }
}

/// Removes staging folders of this user in `parent` whose process was killed: those without a lock.
fn remove_abandoned(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        if let Ok(lock) = open_own(&entry.path())
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A user who may write in the parent moves the staging folder away during a run and puts a link
    /// to another folder in its place.
    #[test]
    fn a_link_in_place_of_the_staging_folder_is_not_followed() {
        let (parent, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kept = target.path().join("manifest.json");
        fs::write(&kept, "kept").unwrap();
        let folder = Folder::begin(&parent.path().join("out")).unwrap();
        let staging = folder.staging.path().to_owned();
        fs::rename(&staging, parent.path().join("moved")).unwrap();
        symlink(target.path(), &staging).unwrap();
        let error = folder.finish(&serde_json::Value::Null).unwrap_err().to_string();
        assert!(error.contains("another user has replaced"), "{error}");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
        assert!(!parent.path().join("out").exists());
    }

    /// Runs that end in the same parent begin while others remove what was abandoned there.
    #[test]
    fn folders_that_begin_at_once_do_not_remove_each_other() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for n in 0..500 {
                        let folder = Folder::begin(&parent.join(format!("{thread}-{n}"))).unwrap();
                        folder.finish(&serde_json::Value::Null).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent).unwrap().count(), 4 * 500);
    }

    #[test]
    fn a_link_named_like_an_abandoned_folder_is_not_followed() {
        let (parent, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = parent.path().join(".weft-link");
        symlink(target.path(), &link).unwrap();
        fs::create_dir(parent.path().join(".weft-abandoned")).unwrap();
        let folder = Folder::begin(&parent.path().join("out")).unwrap();
        folder.finish(&serde_json::Value::Null).unwrap();
        assert!(target.path().is_dir() && link.is_symlink());
        assert!(!parent.path().join(".weft-abandoned").exists());
    }
}
