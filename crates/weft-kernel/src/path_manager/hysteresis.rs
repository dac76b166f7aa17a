//! Hysteresis that keeps suppression and release from following each other at the pace of a bursty load.
//!
//! The kernel is notified of suppression at once, since other flows suffer until then. Release can wait: it costs only the connection itself.

/// Delays before the kernel is notified of a release, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hysteresis {
    /// Time for which the algorithm must request release without interruption.
    pub release_after: u64,
    /// Minimum duration of a suppression. It doubles with each suppression that follows within this time of the end of the
    /// previous one, up to eight times this value.
    pub min_cycle: u64,
}

/// Past suppressions of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct SuppressionHistory {
    suppressed: Option<u64>,
    released: Option<u64>,
    doublings: u32,
}

impl SuppressionHistory {
    /// Records that the kernel is notified of a suppression now.
    pub fn suppressed(&mut self, now: u64, hysteresis: &Hysteresis) {
        let soon = self.released.is_some_and(|at| now < at + hysteresis.min_cycle);
        self.doublings = if soon {
            (self.doublings + 1).min(DOUBLINGS)
        } else {
            0
        };
        self.suppressed = Some(now);
    }

    /// The kernel is notified of the release now.
    pub fn released(&mut self, now: u64) {
        self.released = Some(now);
    }

    /// Time at which the kernel may be notified of a release that has been requested since `since`.
    pub fn release_at(&self, since: u64, hysteresis: &Hysteresis) -> u64 {
        let held = self
            .suppressed
            .map_or(0, |at| at + (hysteresis.min_cycle << self.doublings));
        held.max(since + hysteresis.release_after)
    }
}

const DOUBLINGS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    const HYSTERESIS: Hysteresis = Hysteresis {
        release_after: 100,
        min_cycle: 500,
    };

    #[test]
    fn release_waits_for_the_request_and_for_the_cycle() {
        let mut history = SuppressionHistory::default();
        assert_eq!(history.release_at(10, &HYSTERESIS), 110);
        history.suppressed(1000, &HYSTERESIS);
        assert_eq!(history.release_at(1010, &HYSTERESIS), 1500);
        assert_eq!(history.release_at(1450, &HYSTERESIS), 1550);
    }

    #[test]
    fn suppressions_that_follow_soon_last_twice_as_long_each_up_to_eight_times() {
        let mut history = SuppressionHistory::default();
        let mut now = 0;
        let mut lasted = Vec::new();
        for _ in 0..5 {
            history.suppressed(now, &HYSTERESIS);
            let at = history.release_at(now, &HYSTERESIS);
            lasted.push(at - now);
            history.released(at);
            now = at + HYSTERESIS.min_cycle - 1;
        }
        assert_eq!(lasted, [500, 1000, 2000, 4000, 4000]);
        // A while without, and it is as at first.
        history.suppressed(now + 1, &HYSTERESIS);
        assert_eq!(history.release_at(now + 1, &HYSTERESIS), now + 501);
    }
}
