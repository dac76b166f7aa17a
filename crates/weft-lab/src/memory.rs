//! The available memory, so that a run that needs more is refused instead of killed.

use std::{fmt, fs};

use rustix::process::{Resource, getrlimit};

/// The memory that an experiment may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryBudget {
    /// The memory that the machine has free at the time of the check.
    Available,
    /// Unlimited memory: the user forces the run.
    Unlimited,
}

/// The error of a run that needs more memory than is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InsufficientMemory {
    needed: u64,
    available: u64,
}

impl MemoryBudget {
    /// Returns the number of bytes that may be used.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Unlimited => u64::MAX,
            Self::Available => available_bytes(),
        }
    }

    /// Checks that this many bytes are available.
    ///
    /// # Errors
    /// Returns an error if fewer bytes are available.
    pub fn check(self, needed: u64) -> Result<(), InsufficientMemory> {
        /// Bytes that fit into any machine and need no check.
        const UNCHECKED_BYTES: u64 = 64 << 20;
        if needed <= UNCHECKED_BYTES {
            return Ok(());
        }
        let available = self.bytes();
        if needed <= available {
            return Ok(());
        }
        Err(InsufficientMemory { needed, available })
    }
}

impl fmt::Display for InsufficientMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [needed, available] = [self.needed, self.available].map(|bytes| bytes as f64 / 1e9);
        write!(
            f,
            "needs about {needed:.1} GB of memory, and {available:.1} GB are free (--force runs it anyway)"
        )
    }
}

/// Returns the bytes that this process may still use: the minimum of the machine's memory without
/// swap, of its control group and of its own limit.
fn available_bytes() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| mem_available(&text));
    // The path at which a container sees its own group.
    let group = |file: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/memory.{file}"));
        text.ok().and_then(|text| text.trim().parse::<u64>().ok())
    };
    let group = group("max").map(|max| max.saturating_sub(group("current").unwrap_or(0)));
    let limit = getrlimit(Resource::As).current;
    [machine, group, limit]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(u64::MAX)
}

/// `MemAvailable` of `/proc/meminfo` in bytes: "an estimate of how much memory is available for
/// starting new applications, without swapping" (proc(5)).
fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_read_in_bytes() {
        let text = "MemTotal:       16384 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(mem_available(text), Some(2 << 20));
        assert_eq!(mem_available("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn more_than_there_is_is_refused_with_both_numbers_unless_forced() {
        let error = MemoryBudget::Available.check(u64::MAX).unwrap_err().to_string();
        assert!(
            error.starts_with("needs about 18446744073.7 GB of memory, and "),
            "{error}"
        );
        assert!(MemoryBudget::Unlimited.check(u64::MAX).is_ok());
        assert!(MemoryBudget::Available.check(1 << 20).is_ok());
    }
}
