//! The choice between all threads and one thread for the partitions of a run.
//!
//! If other processes use the cores, or if windows hold a few events, threads wait for each other
//! longer than they work. The partitions are then faster on one thread. Which one is faster shows
//! only in the run: the speed of both is measured, and the slower one is tried now and then.
//!
//! Another process may stop a thread for most of a phase, or for none of it. The speed of a mode is
//! therefore a mean over several phases. While the one thread has to wait for a core, more threads are
//! not tried: a single window may then take longer than a short run. Nor are they tried while windows
//! hold so few events that a barrier takes longer than the events.

use std::fs;
use std::time::Duration;

/// Duration of the first phase of a run, on one thread: a run that is over by then starts no
/// threads, which may have to wait for a busy core.
const FIRST_PHASE: Duration = Duration::from_millis(20);

/// Duration of the first phase after a change, and of a trial.
const TRIAL: Duration = Duration::from_millis(5);

/// Maximum duration of a phase. Each phase starts its threads.
const MAX_PHASE: Duration = Duration::from_millis(40);

/// Time with the faster mode, relative to that of the last trial, after which there is another trial.
const TRIAL_INTERVAL: u32 = 30;

/// Factor by which each failed trial in a row lengthens the time until the next one, and the maximum of
/// their product.
const BACK_OFF: u32 = 2;
const MAX_BACK_OFF: u32 = 4;

/// Time constant of the mean cost of a mode: a phase that ended this long ago has 1/e of its weight.
const MEMORY: Duration = Duration::from_millis(100);

/// Maximum part of a phase for which the one thread may wait for a core if more threads are to be tried.
/// Next to a busy loop it is about a half.
const MAX_WAIT: f64 = 0.2;

/// Minimum mean number of events per window if more threads are to be tried. One thread processes as many in
/// about 5 us; a barrier takes about 1 us.
const MIN_EVENTS_PER_WINDOW: u64 = 200;

/// Whether the partitions run on all threads or on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All threads, which wait for each other after every window.
    Parallel,
    /// One thread for all partitions.
    Sequential,
}

/// The cost of a mode: its events and their time, weighted by [`MEMORY`].
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    events: f64,
    nanoseconds: f64,
}

impl Cost {
    /// Returns the nanoseconds per event; `None` if the mode was not tried.
    fn per_event(self) -> Option<f64> {
        (self.nanoseconds > 0.0).then(|| self.nanoseconds / self.events.max(f64::MIN_POSITIVE))
    }
}

/// The choice of the mode, over all phases of a run.
#[derive(Debug)]
pub struct ThreadChoice {
    mode: Mode,
    /// Cost of each mode.
    costs: [Cost; 2],
    /// Time left in the phase.
    left: Duration,
    /// Duration of the phase.
    phase: Duration,
    /// Events, windows and time of the phase so far.
    events: u64,
    windows: u64,
    elapsed: Duration,
    /// Time for which the thread had waited for a core when the phase began.
    waited_before: Duration,
    /// Time until the next trial.
    until_trial: Duration,
    /// Factor of the time until the next trial after a failed one.
    back_off: u32,
    /// True if the phase is a trial of the mode that was slower.
    is_trial: bool,
    /// Maximum number of windows per phase, for tests.
    max_windows: u64,
}

impl ThreadChoice {
    /// Creates the choice of a run that has not begun.
    pub fn new() -> Self {
        Self {
            mode: Mode::Sequential,
            costs: [Cost::default(); 2],
            left: FIRST_PHASE,
            phase: FIRST_PHASE,
            events: 0,
            windows: 0,
            elapsed: Duration::ZERO,
            waited_before: time_waited(),
            until_trial: Duration::ZERO,
            back_off: 1,
            is_trial: false,
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

    /// Records the events and windows of a part of the phase, and how long it took. At the end of a phase,
    /// `waited` gives the total time that this thread has waited for a core.
    pub fn record(
        &mut self,
        events: u64,
        windows: u64,
        elapsed: Duration,
        waited: impl FnOnce() -> Duration,
    ) {
        self.events += events;
        self.windows += windows;
        self.elapsed += elapsed;
        self.left = self.left.saturating_sub(elapsed);
        if self.left == Duration::ZERO || self.max_windows < u64::MAX {
            self.end_phase(waited());
        }
    }

    fn end_phase(&mut self, waited_so_far: Duration) {
        let other = match self.mode {
            Mode::Parallel => Mode::Sequential,
            Mode::Sequential => Mode::Parallel,
        };
        let elapsed = std::mem::take(&mut self.elapsed);
        let waited_before = std::mem::replace(&mut self.waited_before, waited_so_far);
        let waited = waited_so_far.saturating_sub(waited_before);
        let events = std::mem::take(&mut self.events);
        let windows = std::mem::take(&mut self.windows);
        self.add_cost(events, elapsed);
        let [cost, other_cost] = [self.mode, other].map(|mode| self.costs[mode as usize].per_event());
        let is_slower = other_cost.is_none_or(|other| cost.is_some_and(|cost| cost > other));
        let is_trial_due = self.until_trial <= elapsed;
        let was_trial = std::mem::take(&mut self.is_trial);
        let is_hopeless = waited > elapsed.mul_f64(MAX_WAIT) || events < windows * MIN_EVENTS_PER_WINDOW;
        if self.max_windows < u64::MAX {
            self.mode = other;
        } else if self.mode == Mode::Sequential && is_hopeless && (is_slower || is_trial_due) {
            self.phase = (2 * self.phase).min(MAX_PHASE);
        } else if is_slower {
            // A window may take longer than a trial, if a busy core keeps a thread from running.
            self.until_trial = self.back_off * TRIAL_INTERVAL * elapsed.max(TRIAL);
            self.back_off = if was_trial {
                (self.back_off * BACK_OFF).min(MAX_BACK_OFF)
            } else {
                1
            };
            (self.mode, self.phase) = (other, TRIAL);
        } else if is_trial_due {
            self.until_trial = TRIAL_INTERVAL * TRIAL;
            self.is_trial = true;
            (self.mode, self.phase) = (other, TRIAL);
        } else {
            self.until_trial -= elapsed;
            self.phase = (2 * self.phase).min(MAX_PHASE);
        }
        self.left = self.phase;
    }

    /// Adds a phase to the cost of its mode.
    fn add_cost(&mut self, events: u64, elapsed: Duration) {
        let weight = (-elapsed.as_secs_f64() / MEMORY.as_secs_f64()).exp();
        for cost in &mut self.costs {
            cost.events *= weight;
            cost.nanoseconds *= weight;
        }
        let cost = &mut self.costs[self.mode as usize];
        cost.events += events as f64;
        cost.nanoseconds += elapsed.as_nanos() as f64;
    }
}

/// Returns the time for which this thread has waited for a core (`sched-stats.rst` of Linux); 0 if the
/// system does not tell.
pub fn time_waited() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = text.split(' ').nth(1).and_then(|field| field.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
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
            choice.record(events as u64, 1, elapsed, || Duration::ZERO);
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
            choice.record(1, 1, Duration::from_millis(1), || Duration::ZERO);
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
        let [parallel, sequential] = times(1_700.0, busy_before);
        assert!(sequential < 0.05 * parallel, "{sequential} of {parallel} ms");
    }

    #[test]
    fn a_trial_that_takes_long_is_repeated_late() {
        let mut choice = ThreadChoice::new();
        choice.record(20_000_000, 1, FIRST_PHASE, || Duration::ZERO);
        assert_eq!(choice.phase().0, Mode::Parallel);
        choice.record(1, 1, Duration::from_millis(100), || Duration::ZERO);
        assert_eq!(choice.phase().0, Mode::Sequential);
        let mut sequential = Duration::ZERO;
        while choice.phase().0 == Mode::Sequential {
            let left = choice.phase().1;
            choice.record(left.as_nanos() as u64, 1, left, || Duration::ZERO);
            sequential += left;
        }
        assert!(sequential >= Duration::from_secs(3), "{sequential:?}");
    }

    #[test]
    fn more_threads_wait_until_a_core_is_free() {
        let mut choice = ThreadChoice::new();
        let mut waited = time_waited();
        for _ in 0..10 {
            let left = choice.phase().1;
            waited += left / 2;
            choice.record(1_000, 1, left, || waited);
            assert_eq!(choice.phase().0, Mode::Sequential);
        }
        let left = choice.phase().1;
        choice.record(1_000, 1, left, || waited);
        assert_eq!(choice.phase().0, Mode::Parallel);
    }

    #[test]
    fn windows_with_few_events_get_one_thread() {
        for (events, expected) in [(199, Mode::Sequential), (200, Mode::Parallel)] {
            let mut choice = ThreadChoice::new();
            choice.record(1_000 * events, 1_000, FIRST_PHASE, || Duration::ZERO);
            assert_eq!(choice.phase().0, expected, "{events} events per window");
        }
    }

    #[test]
    fn one_unlucky_phase_does_not_change_the_mode() {
        let mut choice = ThreadChoice::new();
        choice.record(20_000, 1, FIRST_PHASE, || Duration::ZERO);
        choice.record(1_000, 1, TRIAL, || Duration::ZERO);
        for n in 0..4 {
            let (mode, left, _) = choice.phase();
            assert_eq!(mode, Mode::Sequential);
            let speed = if n == 2 { 0.05 } else { 1.0 };
            choice.record((left.as_micros() as f64 * speed) as u64, 1, left, || {
                Duration::ZERO
            });
        }
        assert_eq!(choice.phase().0, Mode::Sequential);
    }
}
