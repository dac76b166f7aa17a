//! Slices of simulated time, each of which takes a fraction of a second, so that progress can be
//! shown and a run can be stopped. Slices do not change the results.

use std::time::Duration;

use weft_spec::Time;

/// Wall-clock time that a slice is meant to take.
const TARGET: Duration = Duration::from_millis(75);
/// Minimum wall-clock time between progress reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);
/// Minimum number of slices per run. A stretch with few events then does not lead to a slice that
/// extends far into a stretch with many.
const MIN_SLICES: u64 = 100;

/// The slices of one run.
pub(crate) struct Slices {
    duration: u64,
    /// A slice ends at each multiple of this time at the latest.
    stride: u64,
    window: u64,
    now: u64,
    slice: u64,
    since_report: Duration,
}

impl Slices {
    /// Divides a run. `window` is the lookahead window of the simulator: slices end with a window,
    /// because cutting one costs time.
    pub fn new(duration: Time, window: Time) -> Self {
        let window = window.0.max(1);
        Self {
            duration: duration.0,
            stride: u64::MAX,
            window,
            now: 0,
            slice: window,
            since_report: Duration::ZERO,
        }
    }

    /// Limits slices to multiples of `stride`, apart from the end of a window that contains one.
    pub fn with_checkpoints(self, stride: Time) -> Self {
        let stride = stride.0.max(1).next_multiple_of(self.window);
        Self { stride, ..self }
    }

    /// Returns true at a multiple of the stride and at the end.
    pub fn at_checkpoint(&self) -> bool {
        self.now.is_multiple_of(self.stride) || self.now >= self.duration
    }

    /// Returns the end of the next slice; `None` when the run is over.
    pub fn next(&mut self) -> Option<Time> {
        if self.now >= self.duration {
            return None;
        }
        let windows = (self.now / self.window).saturating_add((self.slice / self.window).max(1));
        let stop = (self.now / self.stride + 1).saturating_mul(self.stride);
        self.now = windows.saturating_mul(self.window).min(self.duration).min(stop);
        Some(Time(self.now))
    }

    /// Returns the time that the run has reached.
    pub fn now(&self) -> Time {
        Time(self.now)
    }

    /// Sets the time that the slice reached, which may be before its end.
    pub fn advance_to(&mut self, now: Time) {
        self.now = now.0;
    }

    /// Adds the time that the slice took. Returns true if progress is to be reported.
    pub fn record_elapsed(&mut self, elapsed: Duration) -> bool {
        let wanted = TARGET.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        let largest = (self.duration / MIN_SLICES).max(self.window);
        self.slice = ((self.slice as f64 * wanted.clamp(0.1, 2.0)) as u64).clamp(self.window, largest);
        self.since_report += elapsed;
        let report = self.since_report >= REPORT_INTERVAL || self.now >= self.duration;
        if report {
            self.since_report = Duration::ZERO;
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a run of 10^9 units with windows of 1000 units, each of which takes `cost` seconds
    /// of wall-clock time. Returns the wall-clock seconds of the slices and the times at which
    /// progress was reported.
    fn run(cost: impl Fn(u64) -> f64) -> (Vec<f64>, Vec<u64>) {
        let mut slices = Slices::new(Time(1_000_000_000), Time(1_000));
        let (mut took, mut reported, mut before) = (Vec::new(), Vec::new(), 0);
        while let Some(Time(end)) = slices.next() {
            let seconds = cost(before) * (end - before) as f64;
            took.push(seconds);
            if slices.record_elapsed(Duration::from_secs_f64(seconds)) {
                reported.push(end);
            }
            assert!(end.is_multiple_of(1_000), "no window is cut");
            before = end;
        }
        assert_eq!(before, 1_000_000_000);
        assert_eq!(reported.last(), Some(&1_000_000_000), "the end is reported");
        (took, reported)
    }

    #[test]
    fn slices_of_a_steady_run_take_50_to_100_ms() {
        let (took, _) = run(|_| 1e-7); // 100 s in total
        let steady = &took[20..took.len() - 1]; // after it has doubled, starting with one window
        assert!(steady.iter().all(|s| (0.05..0.1).contains(s)), "{steady:?}");
    }

    #[test]
    fn a_burst_after_a_quiet_stretch_is_met_by_smaller_slices() {
        let (took, _) = run(|now| if now < 500_000_000 { 1e-12 } else { 1e-6 }); // 500 s in the second half
        let slow = took.iter().filter(|s| **s > 0.2).count();
        assert!(slow <= 3, "{slow} slices took longer than 0.2 s");
    }

    #[test]
    fn a_run_of_a_moment_has_few_slices_and_reports_its_end_only() {
        let (took, reported) = run(|_| 1e-12); // 1 ms in total
        assert!(
            took.len() < 120 && reported.len() == 1,
            "{} slices, reported {reported:?}",
            took.len()
        );
    }

    #[test]
    fn a_slice_is_never_less_than_a_window() {
        let mut slices = Slices::new(Time(10_500), Time(1_000));
        for end in (1_000..=10_000).step_by(1_000).chain([10_500]) {
            assert_eq!(slices.next(), Some(Time(end)));
            assert!(slices.record_elapsed(Duration::from_secs(10)));
        }
        assert_eq!(slices.next(), None);
    }
}
