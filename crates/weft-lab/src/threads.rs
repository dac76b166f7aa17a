//! The number of threads with which a run is fastest.
//!
//! The number of threads that have work depends on the traffic as well as on the network. A run
//! therefore starts with one thread, and its first slices decide.

use std::fs;
use std::thread::available_parallelism;

use weft_run::Progress;

/// Minimum estimated rest of a run, in seconds, for which it is restarted with more threads.
const MIN_REMAINING_S: f64 = 1.0;

/// Returns the number of threads that are worthwhile, of `busy` threads that would have work, for a
/// run that got this far with one.
pub(crate) fn choose_threads(busy: usize, progress: &Progress) -> usize {
    let left = progress.wall_seconds * (1.0 / progress.fraction.max(1e-9) - 1.0);
    if left < MIN_REMAINING_S {
        return 1;
    }
    busy.clamp(1, idle_cores())
}

/// Returns the number of idle cores. A thread that shares its core keeps all other threads waiting
/// at every barrier.
fn idle_cores() -> usize {
    let cores = available_parallelism().map_or(1, usize::from);
    // The load average of the last minute; 0 if it cannot be read.
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let busy: f64 = load
        .split(' ')
        .next()
        .and_then(|minute| minute.parse().ok())
        .unwrap_or(0.0);
    cores.saturating_sub(busy.round() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use weft_spec::Time;

    use super::*;

    fn chosen(busy: usize, wall_seconds: f64) -> usize {
        let progress = Progress {
            fraction: 0.01,
            simulated: Time(1),
            packet_hops: 0,
            wall_seconds,
        };
        choose_threads(busy, &progress)
    }

    #[test]
    fn little_work_and_a_short_run_get_one() {
        assert_eq!(chosen(0, 1.0), 1);
        assert_eq!(chosen(500, 0.005), 1);
        assert!(chosen(500, 1.0) >= 1);
    }
}
