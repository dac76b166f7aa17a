//! Cuts a run into slices of simulated time that take a fraction of a second each, so that progress can be
//! shown and a run can be stopped. The cuts do not change the results.

use std::time::Duration;

use weft_spec::Time;

/// Wall-clock time that a slice should take.
const TARGET: Duration = Duration::from_millis(75);
/// Progress is reported when at least this much wall-clock time has passed.
const TELL: Duration = Duration::from_millis(50);
/// No slice is more than this part of the whole, so that a quiet stretch does not make one that extends far beyond it.
const LARGEST: u64 = 100;

/// The slices of one run.
pub(crate) struct Slices {
    whole: u64,
    /// No slice goes beyond a multiple of this.
    stride: u64,
    window: u64,
    now: u64,
    slice: u64,
    untold: Duration,
}

impl Slices {
    /// `window` is what the simulator processes at a time: slices end with one, because cutting it costs time.
    pub fn new(whole: Time, window: Time) -> Self {
        let window = window.0.max(1);
        Self {
            whole: whole.0,
            stride: u64::MAX,
            window,
            now: 0,
            slice: window,
            untold: Duration::ZERO,
        }
    }

    /// No slice goes beyond a multiple of `stride`, but for the end of a window that it cuts.
    pub fn stopping_at(self, stride: Time) -> Self {
        let stride = stride.0.max(1).next_multiple_of(self.window);
        Self { stride, ..self }
    }

    /// Is now a multiple of the stride, or the end?
    pub fn at_stop(&self) -> bool {
        self.now.is_multiple_of(self.stride) || self.now >= self.whole
    }

    /// The end of the next slice; none when the run is over.
    pub fn next(&mut self) -> Option<Time> {
        if self.now >= self.whole {
            return None;
        }
        let windows = (self.now / self.window).saturating_add((self.slice / self.window).max(1));
        let stop = (self.now / self.stride + 1).saturating_mul(self.stride);
        self.now = windows.saturating_mul(self.window).min(self.whole).min(stop);
        Some(Time(self.now))
    }

    /// Notes how far the slice came, which may be less than its end.
    pub fn reached(&mut self, now: Time) {
        self.now = now.0;
    }

    /// Notes how long the slice took. Is it time to report progress?
    pub fn took(&mut self, elapsed: Duration) -> bool {
        let wanted = TARGET.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        let largest = (self.whole / LARGEST).max(self.window);
        self.slice = ((self.slice as f64 * wanted.clamp(0.1, 2.0)) as u64).clamp(self.window, largest);
        self.untold += elapsed;
        let tell = self.untold >= TELL || self.now >= self.whole;
        if tell {
            self.untold = Duration::ZERO;
        }
        tell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a whole of 10^9, windows of 1000, in which `cost` wall-clock seconds a unit pass; returns the slices'
    /// wall-clock seconds and the times at which progress was reported.
    fn run(cost: impl Fn(u64) -> f64) -> (Vec<f64>, Vec<u64>) {
        let mut slices = Slices::new(Time(1_000_000_000), Time(1_000));
        let (mut took, mut told, mut before) = (Vec::new(), Vec::new(), 0);
        while let Some(Time(end)) = slices.next() {
            let seconds = cost(before) * (end - before) as f64;
            took.push(seconds);
            if slices.took(Duration::from_secs_f64(seconds)) {
                told.push(end);
            }
            assert!(end.is_multiple_of(1_000), "no window is cut");
            before = end;
        }
        assert_eq!(before, 1_000_000_000);
        assert_eq!(told.last(), Some(&1_000_000_000), "the end is told");
        (took, told)
    }

    #[test]
    fn slices_of_a_steady_run_take_50_to_100_ms() {
        let (took, _) = run(|_| 1e-7); // 100 s in all
        let steady = &took[20..took.len() - 1]; // after it has doubled from one window
        assert!(steady.iter().all(|s| (0.05..0.1).contains(s)), "{steady:?}");
    }

    #[test]
    fn a_burst_after_a_quiet_stretch_is_met_by_smaller_slices() {
        let (took, _) = run(|now| if now < 500_000_000 { 1e-12 } else { 1e-6 }); // 500 s in the second half
        let slow = took.iter().filter(|s| **s > 0.2).count();
        assert!(slow <= 3, "{slow} slices took longer than 0.2 s");
    }

    #[test]
    fn a_run_of_a_moment_has_few_slices_and_tells_its_end_only() {
        let (took, told) = run(|_| 1e-12); // 1 ms in all
        assert!(
            took.len() < 120 && told.len() == 1,
            "{} slices, told {told:?}",
            took.len()
        );
    }

    #[test]
    fn a_slice_is_never_less_than_a_window() {
        let mut slices = Slices::new(Time(10_500), Time(1_000));
        for end in (1_000..=10_000).step_by(1_000).chain([10_500]) {
            assert_eq!(slices.next(), Some(Time(end)));
            assert!(slices.took(Duration::from_secs(10)));
        }
        assert_eq!(slices.next(), None);
    }
}
