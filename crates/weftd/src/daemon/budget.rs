//! Limits of the processor time that a flood of events can take. weftd has real-time priority, so that it would take it from all.

use std::thread::sleep;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

use super::MILLISECOND;

/// Time that handling the events of one namespace takes: at most a part of all time, except for bursts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    /// Nanoseconds spent that are not paid off yet, at the time `at`.
    debt: u64,
    at: u64,
}

impl Budget {
    /// Records that handling events took until `now` from `began`.
    pub fn spend(&mut self, began: u64, now: u64) {
        self.debt = self.debt_at(now) + now.saturating_sub(began);
        self.at = now;
    }

    /// The time from which more events may be handled. Until then they wait in the socket, where the kernel counts those that do not
    /// fit as lost.
    pub fn ready_at(&self) -> u64 {
        self.at + PART * self.debt.saturating_sub(BURST)
    }

    fn debt_at(&self, now: u64) -> u64 {
        self.debt.saturating_sub(now.saturating_sub(self.at) / PART)
    }
}

/// Makes the calling thread sleep now and then, however much there is to do. Other programs need the processor, and the kernel kills a thread
/// with real-time priority that does not sleep within `LimitRTTIME`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rest {
    sleeps: i64,
    awake_since: u64,
}

impl Rest {
    /// Sleeps if the thread has not slept for too long.
    pub fn take_if_due(&mut self, now: u64) {
        let sleeps = getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.voluntary_context_switches());
        if sleeps != self.sleeps {
            (self.sleeps, self.awake_since) = (sleeps, now);
        } else if now.saturating_sub(self.awake_since) > MAX_AWAKE {
            sleep(REST);
        }
    }
}

/// One part in so many of the time is for the events of one namespace.
const PART: u64 = 5;
/// Time that events may take at once.
const BURST: u64 = 50 * MILLISECOND;
/// Time without sleep after which there is a rest, and its length.
const MAX_AWAKE: u64 = 20 * MILLISECOND;
const REST: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_gets_its_part_and_a_burst_waits_for_nothing() {
        let (mut budget, mut now, mut busy) = (Budget::default(), 1_000 * MILLISECOND, 0);
        budget.spend(now - 40 * MILLISECOND, now);
        assert!(budget.ready_at() <= now, "a burst");
        // Turns of 3 ms without a pause for 20 s.
        let end = now + 20_000 * MILLISECOND;
        while now < end {
            if budget.ready_at() <= now {
                now += 3 * MILLISECOND;
                busy += 3 * MILLISECOND;
                budget.spend(now - 3 * MILLISECOND, now);
            } else {
                now = budget.ready_at();
            }
        }
        let part = busy as f64 / 20e9;
        assert!((0.18..0.22).contains(&part), "{part}");
        // It is paid off once the flood is over.
        budget.spend(now + 10_000 * MILLISECOND, now + 10_001 * MILLISECOND);
        assert!(budget.ready_at() <= now + 10_001 * MILLISECOND);
    }

    #[test]
    fn a_thread_that_never_sleeps_is_made_to() {
        let clock = super::super::now;
        let (mut rest, began) = (Rest::default(), clock());
        let slept = || {
            getrusage(UsageWho::RUSAGE_THREAD)
                .unwrap()
                .voluntary_context_switches()
        };
        let before = slept();
        while clock() < began + 300 * MILLISECOND {
            rest.take_if_due(clock());
        }
        // About 300 ms / 21 ms; fewer if others have the processor meanwhile.
        assert!(slept() - before >= 3, "{}", slept() - before);
    }
}
