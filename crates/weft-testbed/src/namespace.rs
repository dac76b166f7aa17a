//! Network namespaces without names: they live as long as this process holds them, so nothing is left of them when it ends,
//! however it ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// A network namespace.
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// A new one, with nothing in it but a loopback interface.
    pub fn new() -> io::Result<Self> {
        thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            Self::current()
        })
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the thread that makes a namespace panicked")))
    }

    /// The calling thread's.
    pub fn current() -> io::Result<Self> {
        Ok(Self {
            file: File::open("/proc/thread-self/ns/net")?,
        })
    }

    /// Moves the calling thread here.
    pub fn enter(&self) -> io::Result<()> {
        setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
    }
}

impl AsRawFd for Namespace {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
