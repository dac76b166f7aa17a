//! How many threads make a run faster.
//!
//! Threads meet at a barrier after every window of simulated time. In a small network a window holds a few events, and
//! waiting for each other takes longer than the events: two threads are then slower than one. How many packet-hops a window
//! holds depends on the traffic as much as on the network, so a run begins with one thread and its first moments tell.

use std::fs;
use std::thread::available_parallelism;

use weft_packet::Counters;

use crate::Progress;

/// Packet-hops of a window that are worth a thread of their own: some 10 us of work beside the microsecond or so of a
/// barrier.
const WORTH: u64 = 200;
/// A run that ends sooner than this many seconds is not begun anew.
const LONG: f64 = 1.0;

/// How many threads are worthwhile for a run that has come so far with one.
pub(crate) fn worthwhile(counters: &Counters, progress: &Progress) -> usize {
    let left = progress.wall_seconds * (1.0 / progress.fraction.max(1e-9) - 1.0);
    if left < LONG {
        return 1;
    }
    let hops = counters.packet_hops / counters.windows.max(1);
    ((hops / WORTH) as usize).clamp(1, idle_cores())
}

/// Cores that nobody else uses. A thread that shares its core keeps all others waiting at every barrier.
fn idle_cores() -> usize {
    let cores = available_parallelism().map_or(1, usize::from);
    // The mean of the last minute; what cannot be read counts as none.
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

    fn chosen(packet_hops: u64, wall_seconds: f64) -> usize {
        let counters = Counters {
            packet_hops,
            windows: 1_000,
            ..Counters::default()
        };
        let progress = Progress {
            fraction: 0.01,
            simulated: Time(1),
            packet_hops,
            wall_seconds,
        };
        worthwhile(&counters, &progress)
    }

    #[test]
    fn a_window_with_little_in_it_and_a_short_run_get_one() {
        assert_eq!(chosen(50_000, 1.0), 1);
        assert_eq!(chosen(100_000_000, 0.005), 1);
        assert!(chosen(100_000_000, 1.0) >= 1);
    }
}
