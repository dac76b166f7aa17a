//! The number of threads with which a run is fastest.
//!
//! The number of threads that have work depends on the traffic as well as on the network. A run
//! therefore starts with one thread, and its first slices decide.

use std::fs;
use std::thread::available_parallelism;

use weft_run::Progress;

/// Minimum estimated rest of a run, in seconds, for which it is restarted with more threads.
const MIN_REMAINING_S: f64 = 1.0;

/// Maximum time that a restart may waste, relative to the estimated rest of a run.
const MAX_WASTE: f64 = 0.04;

/// Seconds per unit of the times in `/proc/stat` (proc(5), `USER_HZ`).
const TICK_S: f64 = 0.01;

/// Returns the number of threads that are worthwhile, of `busy` threads that would have work, for a
/// run that got this far with one thread. `idle_cores` is the number of cores that were idle.
pub(crate) fn choose_threads(busy: usize, progress: &Progress, idle_cores: f64) -> usize {
    let left = progress.wall_seconds * (1.0 / progress.fraction.max(1e-9) - 1.0);
    if left < MIN_REMAINING_S || progress.wall_seconds > MAX_WASTE * left {
        return 1;
    }
    // A thread that shares its core keeps all other threads waiting at every barrier.
    busy.clamp(1, 1 + idle_cores.round() as usize)
}

/// Measures how many cores are idle while a run has one thread.
pub(crate) struct IdleMeter {
    /// Idle time of the cores at the start; `None` if the system does not tell.
    start: Option<u64>,
}

impl IdleMeter {
    /// Starts to measure.
    pub(crate) fn new() -> Self {
        Self { start: idle_ticks() }
    }

    /// Returns the mean number of cores that were idle in the `seconds` since the start. If the system
    /// does not tell, returns the number of the other cores.
    pub(crate) fn idle_cores(&self, seconds: f64) -> f64 {
        let others = available_parallelism().map_or(1, usize::from) - 1;
        let ticks = self.start.zip(idle_ticks());
        let idle = ticks.map(|(start, now)| now.saturating_sub(start) as f64 * TICK_S / seconds.max(TICK_S));
        idle.map_or(others as f64, |idle| idle.min(others as f64))
    }
}

/// Returns the idle time of all cores on which this process may run, in units of [`TICK_S`].
fn idle_ticks() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let stat = fs::read_to_string("/proc/stat").ok()?;
    sum_idle(&stat, allowed)
}

/// Returns the sum of the idle times in the text of `/proc/stat`, over the cores of a list such as
/// `0-3,8`.
fn sum_idle(stat: &str, cores: &str) -> Option<u64> {
    let ranges: Option<Vec<(u32, u32)>> = cores.trim().split(',').map(range).collect();
    let ranges = ranges?;
    let mut sum = None;
    for line in stat.lines() {
        let mut fields = line.split_ascii_whitespace();
        let core = fields
            .next()
            .and_then(|name| name.strip_prefix("cpu")?.parse().ok());
        let is_counted = |core: u32| ranges.iter().any(|&(first, last)| (first..=last).contains(&core));
        if core.is_some_and(is_counted) {
            // user, nice, system, idle
            *sum.get_or_insert(0) += fields.nth(3)?.parse::<u64>().ok()?;
        }
    }
    sum
}

/// Parses a number, or a range such as `0-3`.
fn range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use weft_spec::Time;

    use super::*;

    fn chosen(busy: usize, fraction: f64, wall_seconds: f64, idle_cores: f64) -> usize {
        let progress = Progress {
            fraction,
            simulated: Time(1),
            packet_hops: 0,
            wall_seconds,
        };
        choose_threads(busy, &progress, idle_cores)
    }

    #[test]
    fn little_work_and_a_short_run_get_one() {
        assert_eq!(chosen(0, 0.01, 1.0, 3.0), 1);
        assert_eq!(chosen(500, 0.01, 0.005, 3.0), 1);
        assert_eq!(chosen(500, 0.01, 1.0, 3.0), 4);
    }

    #[test]
    fn a_restart_wastes_a_small_part_of_the_run() {
        assert_eq!(chosen(500, 0.03, 1.0, 1.0), 2);
        assert_eq!(chosen(500, 0.05, 1.0, 1.0), 1);
    }

    #[test]
    fn threads_get_idle_cores_only() {
        assert_eq!(chosen(500, 0.01, 1.0, 0.0), 1);
        assert_eq!(chosen(500, 0.01, 1.0, 0.4), 1);
        assert_eq!(chosen(500, 0.01, 1.0, 0.7), 2);
        assert_eq!(chosen(2, 0.01, 1.0, 7.0), 2);
    }

    #[test]
    fn idle_times_are_those_of_the_allowed_cores() {
        let stat = "cpu  9 9 9 900 9\ncpu0 1 2 3 10 5\ncpu1 1 2 3 200 5\ncpu2 1 2 3 3000 5\nintr 7 7 7 7\n";
        assert_eq!(sum_idle(stat, "\t0-1\n"), Some(210));
        assert_eq!(sum_idle(stat, "0,2"), Some(3010));
        assert_eq!(sum_idle(stat, "5"), None);
        assert_eq!(sum_idle(stat, "x"), None);
    }
}
