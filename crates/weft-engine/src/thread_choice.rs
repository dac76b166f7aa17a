//! The choice between all threads and one thread for the partitions of a run.
//!
//! If other processes use the cores, or if windows hold a few events, threads wait for each other
//! longer than they work. The partitions are then faster on one thread. Which one is faster shows
//! only in the run: the speed of both is measured, and the slower one is tried now and then.

use std::time::Duration;

/// Duration of the first phase of a run, on one thread: a run that is over by then starts no
/// threads, which may have to wait for a busy core.
const FIRST_PHASE: Duration = Duration::from_millis(20);

/// Duration of the first phase after a change, and of a trial.
const TRIAL: Duration = Duration::from_millis(5);

/// Maximum duration of a phase. Each phase starts its threads.
const MAX_PHASE: Duration = Duration::from_millis(40);

/// Time with the faster number of threads, relative to that of the last trial, after which there is
/// another trial.
const TRIAL_INTERVAL: u32 = 30;

/// Whether the partitions run on all threads or on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All threads, which wait for each other after every window.
    Parallel,
    /// One thread for all partitions.
    Sequential,
}

/// The choice of the mode, over all phases of a run.
#[derive(Debug)]
pub struct ThreadChoice {
    mode: Mode,
    /// Nanoseconds per event in the last phase of each mode; `None` if it was not tried.
    costs: [Option<f64>; 2],
    /// Time left in the phase.
    left: Duration,
    /// Duration of the phase.
    phase: Duration,
    /// Events and time of the phase so far.
    events: u64,
    elapsed: Duration,
    /// Time until the next trial.
    until_trial: Duration,
    /// Maximum number of windows per phase, for tests.
    max_windows: u64,
}

impl ThreadChoice {
    /// Creates the choice of a run that has not begun.
    pub fn new() -> Self {
        Self {
            mode: Mode::Sequential,
            costs: [None; 2],
            left: FIRST_PHASE,
            phase: FIRST_PHASE,
            events: 0,
            elapsed: Duration::ZERO,
            until_trial: Duration::ZERO,
            max_windows: u64::MAX,
        }
    }

    /// Creates a choice that changes the mode after every `windows` windows, so that tests do not
    /// depend on the time that phases take.
    #[cfg(test)]
    pub fn alternating(windows: u64) -> Self {
        Self {
            max_windows: windows,
            ..Self::new()
        }
    }

    /// Returns the mode, the time until the phase ends, and the number of windows after which it
    /// ends at the latest.
    pub fn phase(&self) -> (Mode, Duration, u64) {
        (self.mode, self.left, self.max_windows)
    }

    /// Records a part of the phase: the events that it processed and the time that it took.
    pub fn record(&mut self, events: u64, elapsed: Duration) {
        self.events += events;
        self.elapsed += elapsed;
        self.left = self.left.saturating_sub(elapsed);
        if self.left == Duration::ZERO || self.max_windows < u64::MAX {
            self.end_phase();
        }
    }

    fn end_phase(&mut self) {
        let other = match self.mode {
            Mode::Parallel => Mode::Sequential,
            Mode::Sequential => Mode::Parallel,
        };
        let elapsed = std::mem::take(&mut self.elapsed);
        let events = std::mem::take(&mut self.events);
        let cost = elapsed.as_nanos() as f64 / events.max(1) as f64;
        self.costs[self.mode as usize] = Some(cost);
        let is_slower = self.costs[other as usize].is_none_or(|other| cost > other);
        let is_trial_due = self.until_trial <= elapsed;
        if is_slower {
            // A window may take longer than a trial, if a busy core keeps a thread from running.
            self.until_trial = TRIAL_INTERVAL * elapsed.max(TRIAL);
        } else if is_trial_due {
            self.until_trial = TRIAL_INTERVAL * TRIAL;
        } else {
            self.until_trial -= elapsed;
        }
        if is_slower || is_trial_due || self.max_windows < u64::MAX {
            self.mode = other;
            self.phase = TRIAL;
        } else {
            self.phase = (2 * self.phase).min(MAX_PHASE);
        }
        self.left = self.phase;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a run of 2 s choose, whose events cost this many nanoseconds in each mode at a time in
    /// milliseconds. Returns the milliseconds in each mode, from a time on.
    fn times(from: f64, cost: impl Fn(f64) -> [f64; 2]) -> [f64; 2] {
        let mut choice = ThreadChoice::new();
        let (mut now, mut times) = (0.0, [0.0; 2]);
        while now < 2_000.0 {
            let (mode, left, _) = choice.phase();
            // Slices of at most 7 ms cut phases.
            let elapsed = left.min(Duration::from_millis(7));
            let events = elapsed.as_nanos() as f64 / cost(now)[mode as usize];
            choice.record(events as u64, elapsed);
            let ms = 1_000.0 * elapsed.as_secs_f64();
            now += ms;
            if now > from {
                times[mode as usize] += ms;
            }
        }
        times
    }

    #[test]
    fn a_short_run_starts_no_threads() {
        let mut choice = ThreadChoice::new();
        for _ in 0..19 {
            assert_eq!(choice.phase().0, Mode::Sequential);
            choice.record(1, Duration::from_millis(1));
        }
    }

    #[test]
    fn the_faster_mode_gets_nearly_all_time() {
        let [parallel, sequential] = times(0.0, |_| [10.0, 18.0]);
        assert!(sequential < 0.06 * parallel, "{sequential} of {parallel} ms");
        let [parallel, sequential] = times(0.0, |_| [300.0, 18.0]);
        assert!(parallel < 0.04 * sequential, "{parallel} of {sequential} ms");
    }

    #[test]
    fn the_choice_changes_when_a_core_gets_busy_or_free() {
        let busy_after = |now: f64| [if now < 1_000.0 { 10.0 } else { 90.0 }, 18.0];
        let [parallel, sequential] = times(1_100.0, busy_after);
        assert!(parallel < 0.05 * sequential, "{parallel} of {sequential} ms");
        let busy_before = |now: f64| [if now < 1_000.0 { 90.0 } else { 10.0 }, 18.0];
        let [parallel, sequential] = times(1_200.0, busy_before);
        assert!(sequential < 0.05 * parallel, "{sequential} of {parallel} ms");
    }

    #[test]
    fn a_trial_that_takes_long_is_repeated_late() {
        let mut choice = ThreadChoice::new();
        choice.record(20_000_000, FIRST_PHASE);
        assert_eq!(choice.phase().0, Mode::Parallel);
        choice.record(1, Duration::from_millis(100));
        assert_eq!(choice.phase().0, Mode::Sequential);
        let mut sequential = Duration::ZERO;
        while choice.phase().0 == Mode::Sequential {
            let left = choice.phase().1;
            choice.record(left.as_nanos() as u64, left);
            sequential += left;
        }
        assert!(sequential >= Duration::from_secs(3), "{sequential:?}");
    }
}
