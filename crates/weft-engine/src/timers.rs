//! Timers after the current window.
//!
//! Timers of the near future, such as those of a NIC, are in a timer wheel by their windows. They are
//! unsorted: the few of a window are sorted when the window is processed. Later timers, such as
//! retransmission timeouts, are in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A timer. The endpoint or the engine gives the key a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// Time in picoseconds.
    pub time: u64,
    /// Node, numbered over all partitions.
    pub node: u32,
    /// Key.
    pub key: u64,
}

/// Number of windows in the wheel.
const WHEEL_SLOTS: u64 = 64;

/// The timers of one partition. Windows only move forward.
pub struct Timers {
    /// Length of a window in picoseconds.
    window: u64,
    /// `wheel[w % WHEEL_SLOTS]`: the timers of window `w`.
    wheel: Vec<Vec<Timer>>,
    /// Bit `slot` is set if that slot has a timer.
    occupied: u64,
    /// The first window of the wheel.
    first: u64,
    beyond: BinaryHeap<Reverse<Timer>>,
}

impl Timers {
    /// Creates an empty wheel for windows of this length.
    pub fn new(window: u64) -> Self {
        Self {
            window,
            wheel: vec![Vec::new(); WHEEL_SLOTS as usize],
            occupied: 0,
            first: 0,
            beyond: BinaryHeap::new(),
        }
    }

    /// Sets a timer. If its time is in the past, it is due in the first window.
    pub fn push(&mut self, timer: Timer) {
        let window = (timer.time / self.window).max(self.first);
        if window - self.first < WHEEL_SLOTS {
            self.insert(window, timer);
        } else {
            self.beyond.push(Reverse(timer));
        }
    }

    fn insert(&mut self, window: u64, timer: Timer) {
        let slot = window % WHEEL_SLOTS;
        self.occupied |= 1 << slot;
        self.wheel[slot as usize].push(timer);
    }

    /// The first window with a timer.
    pub fn next(&self) -> Option<u64> {
        if self.occupied == 0 {
            return self.beyond.peek().map(|Reverse(timer)| timer.time / self.window);
        }
        let ahead = self
            .occupied
            .rotate_right((self.first % WHEEL_SLOTS) as u32)
            .trailing_zeros();
        Some(self.first + u64::from(ahead))
    }

    /// Moves the start of the wheel to `window`, which is not after [`next`](Self::next). Moves the
    /// timers of this window that are due before `end` to `due`, in no particular order.
    pub fn take(&mut self, window: u64, end: u64, due: &mut Vec<Timer>) {
        self.first = window;
        while let Some(&Reverse(timer)) = self.beyond.peek() {
            let its_window = timer.time / self.window;
            if its_window - window >= WHEEL_SLOTS {
                break;
            }
            self.beyond.pop();
            self.insert(its_window, timer);
        }
        let slot = window % WHEEL_SLOTS;
        if self.occupied & 1 << slot == 0 {
            return;
        }
        let wheel = &mut self.wheel[slot as usize];
        let kept = due.len() + wheel.len();
        due.extend(wheel.iter().filter(|timer| timer.time < end));
        if due.len() == kept {
            wheel.clear();
            self.occupied &= !(1 << slot);
        } else {
            wheel.retain(|timer| timer.time >= end);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whenever timers are set, each window has its own, and a window that is cut short has
        /// those before the cut.
        #[test]
        fn they_come_in_their_windows(
            window in 1_u64..40,
            sets in prop::collection::vec((0_u64..9000, any::<bool>()), 1..80),
            cut in 0_u64..40,
        ) {
            let mut timers = Timers::new(window);
            let mut left: Vec<Timer> = Vec::new();
            let (mut now, mut sets) = (0, sets.into_iter());
            loop {
                for (ahead, more) in sets.by_ref() {
                    let timer = Timer { time: now + ahead, node: left.len() as u32, key: ahead };
                    timers.push(timer);
                    left.push(timer);
                    if !more {
                        break;
                    }
                }
                let Some(next) = timers.next() else { break };
                prop_assert_eq!(Some(next), left.iter().map(|timer| timer.time / window).min());
                let ends = (next + 1) * window;
                for end in [ends.saturating_sub(cut).max(next * window), ends] {
                    let mut due = Vec::new();
                    timers.take(next, end, &mut due);
                    due.sort_unstable();
                    let mut expected: Vec<Timer> = left.iter().copied().filter(|timer| timer.time < end).collect();
                    expected.sort_unstable();
                    prop_assert_eq!(due, expected);
                    left.retain(|timer| timer.time >= end);
                    now = end;
                }
            }
            prop_assert!(left.is_empty());
        }
    }
}
