//! Whether the memory that the service may use is enough for the configured number of connections.

use std::fs;
use std::path::Path;

use tracing::warn;

use crate::config::Config;

/// Warns if the map of connections may take more than half of the memory of the daemon's control group.
pub(super) fn check(config: &Config) {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = limits_of(&own).filter_map(|limit| fs::read_to_string(limit).ok());
    let limit = limit.filter_map(|limit| limit.trim().parse().ok()).min();
    if let Some(warning) = warning(config.congestion.max_connections, limit) {
        warn!("{warning}");
    }
}

/// Files with the memory limits that apply to a process, from its `/proc/PID/cgroup`.
fn limits_of(cgroups: &str) -> impl Iterator<Item = std::path::PathBuf> {
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::/"));
    let all = own.into_iter().flat_map(|own| Path::new(own).ancestors());
    all.map(|group| Path::new("/sys/fs/cgroup").join(group).join("memory.max"))
}

fn warning(max_connections: u32, limit: Option<u64>) -> Option<String> {
    let needed = u64::from(max_connections) * CONNECTION_BYTES;
    let limit = limit.filter(|limit| needed > limit / 2)?;
    Some(format!(
        "congestion.max_connections: {max_connections} connections take {} MB of the {} MB that the service may use; raise MemoryMax",
        needed >> 20,
        limit >> 20
    ))
}

/// Kernel memory of a connection in the map.
const CONNECTION_BYTES: u64 = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_takes_more_than_half_of_the_limit_is_reported() {
        assert_eq!(warning(1 << 16, Some(512 << 20)), None);
        assert_eq!(warning(1 << 20, None), None);
        let warning = warning(1 << 20, Some(512 << 20)).unwrap();
        assert!(warning.contains("take 2048 MB of the 512 MB"), "{warning}");
    }

    #[test]
    fn limits_of_all_groups_above_apply() {
        let limits: Vec<_> = limits_of("0::/system.slice/weftd.service\n").collect();
        let paths = ["system.slice/weftd.service/", "system.slice/", ""];
        let paths = paths.map(|group| Path::new("/sys/fs/cgroup").join(group).join("memory.max"));
        assert_eq!(limits, paths);
    }
}
