//! How much memory there is, so that a run that needs more is refused instead of killed.

use std::{fmt, fs};

use rustix::process::{Resource, getrlimit};

/// The memory that an experiment may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// As much as the machine has free when it is looked at.
    Free,
    /// Any amount: the user forces the run.
    Any,
}

/// More memory than there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    needed: u64,
    free: u64,
}

impl Room {
    /// Bytes that may be taken.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Any => u64::MAX,
            Self::Free => free(),
        }
    }

    /// Is there room for this many bytes?
    ///
    /// # Errors
    /// There is not.
    pub fn check(self, needed: u64) -> Result<(), Full> {
        /// What fits anywhere is not worth a look at the machine.
        const LITTLE: u64 = 64 << 20;
        if needed <= LITTLE {
            return Ok(());
        }
        let free = self.bytes();
        if needed <= free {
            return Ok(());
        }
        Err(Full { needed, free })
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [needed, free] = [self.needed, self.free].map(|bytes| bytes as f64 / 1e9);
        write!(
            f,
            "needs about {needed:.1} GB of memory, and {free:.1} GB are free (--force runs it anyway)"
        )
    }
}

/// Bytes that this process may still take: of the machine's memory without swap, of its control group's, of its own limit.
fn free() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| available(&text));
    // As a container sees its own group.
    let group = |file: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/memory.{file}"));
        text.ok().and_then(|text| text.trim().parse::<u64>().ok())
    };
    let group = group("max").map(|most| most.saturating_sub(group("current").unwrap_or(0)));
    let own = getrlimit(Resource::As).current;
    [machine, group, own]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(u64::MAX)
}

/// `MemAvailable` of `/proc/meminfo` in bytes: "an estimate of how much memory is available for starting new applications,
/// without swapping" (proc(5)).
fn available(meminfo: &str) -> Option<u64> {
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
        assert_eq!(available(text), Some(2 << 20));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn more_than_there_is_is_refused_with_both_numbers_unless_forced() {
        let full = Room::Free.check(u64::MAX).unwrap_err().to_string();
        assert!(
            full.starts_with("needs about 18446744073.7 GB of memory, and "),
            "{full}"
        );
        assert!(Room::Any.check(u64::MAX).is_ok());
        assert!(Room::Free.check(1 << 20).is_ok());
    }
}
