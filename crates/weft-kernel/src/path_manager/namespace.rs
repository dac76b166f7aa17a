//! Network namespaces: what is opened inside one stays there, wherever it is used.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use nix::sched::{CloneFlags, setns};
use nix::sys::statfs::{NSFS_MAGIC, statfs};
use serde::{Deserialize, Serialize};

/// Folder in which `ip netns` keeps the names.
pub const NAMED: &str = "/run/netns";
const OWN: &str = "/proc/self/ns/net";

/// A network namespace: the process's own, or one by name as `ip netns` knows it or by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace(Option<PathBuf>);

impl Namespace {
    /// The one the process lives in.
    pub fn current() -> Self {
        Self(None)
    }

    /// Returns the namespace with a name (`/run/netns/NAME`) or absolute path.
    pub fn named(name: impl AsRef<Path>) -> Self {
        Self(Some(Path::new(NAMED).join(name)))
    }

    /// All that have a name now.
    pub fn all_named() -> Vec<Self> {
        let entries = std::fs::read_dir(NAMED).into_iter().flatten().flatten();
        entries.map(|entry| Self::named(entry.file_name())).collect()
    }

    /// Path for messages and for the saved settings; empty for the process's own.
    pub fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(""))
    }

    /// Distinguishes a namespace from another one that has its name later; none while there is no such.
    pub fn identity(&self) -> Option<(u64, u64)> {
        let Some(path) = &self.0 else {
            return Some((0, 0));
        };
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }

    /// Whether its name is an empty file: `ip netns add` makes the name before it mounts the namespace there.
    pub fn is_placeholder(&self) -> bool {
        let Some(path) = &self.0 else {
            return false;
        };
        let is_empty =
            std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0);
        is_empty && !self.is_namespace()
    }

    /// Whether the file is on the kernel's file system of namespaces. False if there is none.
    pub fn is_namespace(&self) -> bool {
        let path = self.0.as_deref().unwrap_or(Path::new(OWN));
        statfs(path).is_ok_and(|fs| fs.filesystem_type() == NSFS_MAGIC)
    }

    /// The number by which the kernel knows it.
    pub fn inode(&self) -> Option<u64> {
        let path = self.0.as_deref().unwrap_or(Path::new(OWN));
        Some(std::fs::metadata(path).ok()?.ino())
    }

    /// Runs `work` inside, on a thread of its own, since a thread's namespace is its own affair.
    ///
    /// # Errors
    /// The namespace cannot be entered, or `work` fails.
    pub fn run_in<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let Some(path) = &self.0 else {
            return work();
        };
        let entered = |error: io::Error| {
            io::Error::new(
                error.kind(),
                format!("network namespace {}: {error}", path.display()),
            )
        };
        let file = File::open(path).map_err(entered)?;
        thread::scope(|scope| {
            let worker = thread::Builder::new().spawn_scoped(scope, || {
                setns(&file, CloneFlags::CLONE_NEWNET).map_err(|errno| entered(errno.into()))?;
                work()
            })?;
            worker
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the work in a namespace panicked")))
        })
    }
}
