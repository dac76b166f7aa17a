//! The available memory, so that a run that needs more is refused instead of killed.

use std::path::{Component, Path};
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
            "needs about {needed:.1} GB of memory, and {available:.1} GB is free (--force runs it anyway)"
        )
    }
}

/// Returns the bytes that this process may still use: the minimum of the machine's memory without
/// swap, of its control groups and of its own limit.
fn available_bytes() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| mem_available(&text));
    let groups = fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| groups_available(Path::new("/sys/fs/cgroup"), &text));
    let limit = getrlimit(Resource::As).current;
    [machine, groups, limit]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(u64::MAX)
}

/// Returns the bytes that the control groups of version 2 leave to a process, or `None` if none has a
/// limit. A limit applies to all groups below it, so the group of the process and all groups above it
/// count: Slurm, systemd and containers set their limits at different heights.
///
/// `root` is the mount point, `membership` the text of `/proc/PID/cgroup` (cgroups(7)): a line
/// `0::PATH`, whose path begins at the root of the process's namespace of groups.
fn groups_available(root: &Path, membership: &str) -> Option<u64> {
    let path = membership.lines().find_map(|line| line.strip_prefix("0::"))?;
    let value = |group: &Path, file: &str| -> Option<u64> {
        let text = fs::read_to_string(group.join(file)).ok()?;
        text.trim().parse().ok() // "max": no limit
    };
    let mut group = root.to_path_buf();
    // A path that leaves the namespace has `..`, which leads out of the mount point.
    let names = Path::new(path)
        .components()
        .filter(|component| matches!(component, Component::Normal(_)));
    let mut least: Option<u64> = None;
    for name in [None].into_iter().chain(names.map(Some)) {
        group.extend(name);
        if let Some(max) = value(&group, "memory.max") {
            let free = max.saturating_sub(value(&group, "memory.current").unwrap_or(0));
            least = Some(least.map_or(free, |least| least.min(free)));
        }
    }
    least
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
    fn the_lowest_limit_up_to_the_root_counts() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let job = root.join("slurm/job_7");
        fs::create_dir_all(job.join("step_0")).unwrap();
        let write = |group: &Path, file: &str, text: &str| fs::write(group.join(file), text).unwrap();
        let membership = "12:cpu:/other\n0::/slurm/job_7/step_0\n";
        assert_eq!(groups_available(root, membership), None);
        write(&job.join("step_0"), "memory.max", "max\n");
        assert_eq!(groups_available(root, membership), None);
        write(&job, "memory.max", "5000\n");
        write(&job, "memory.current", "1000\n");
        assert_eq!(groups_available(root, membership), Some(4000));
        write(root, "memory.max", "9000\n");
        assert_eq!(groups_available(root, membership), Some(4000));
        write(&root.join("slurm"), "memory.max", "6000\n");
        write(&root.join("slurm"), "memory.current", "7000\n");
        assert_eq!(groups_available(root, membership), Some(0));
        assert_eq!(groups_available(root, "0::/../../slurm\n"), Some(0));
        assert_eq!(groups_available(root, "0::/\n"), Some(9000));
        assert_eq!(groups_available(root, "4:memory:/old\n"), None);
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
