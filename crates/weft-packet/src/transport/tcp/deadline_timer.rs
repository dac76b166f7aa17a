//! A timer whose deadline moves more often than the timer of the engine.

use crate::engine::Context;

/// A deadline that moves with nearly every packet, and the engine's timer for it, which is not moved.
/// An engine timer that fires before the deadline is set again, to the deadline.
pub struct DeadlineTimer {
    /// Time at which the timer expires; `u64::MAX` if it is off.
    deadline: u64,
    /// Time of the earliest engine timer that has not fired; `u64::MAX` if there is none.
    armed: u64,
}

impl DeadlineTimer {
    /// Creates a timer that is off.
    pub fn new() -> Self {
        Self {
            deadline: u64::MAX,
            armed: u64::MAX,
        }
    }

    /// Returns true if the timer does not run.
    #[inline(always)]
    pub fn is_off(&self) -> bool {
        self.deadline == u64::MAX
    }

    /// Stops the timer.
    #[inline(always)]
    pub fn stop(&mut self) {
        self.deadline = u64::MAX;
    }

    /// Moves the deadline. An engine timer with this key is set only if the earliest one would fire
    /// too late, or if there is none. If one is set, returns the time of the next one (`u64::MAX` if
    /// there is none).
    #[inline(always)]
    pub fn set(&mut self, deadline: u64, key: u64, cx: &mut Context<'_>) -> Option<u64> {
        self.deadline = deadline;
        if self.armed <= deadline {
            return None;
        }
        cx.set_timer(deadline, key);
        Some(std::mem::replace(&mut self.armed, deadline))
    }

    /// Handles a timer of the engine, and sets another one if the deadline is later. Returns true if
    /// the deadline has come. `second` is the time of the engine timer after the earliest one;
    /// `u64::MAX` if there is none, or if it is ignored when it fires.
    pub fn on_engine_timer(&mut self, second: &mut u64, key: u64, cx: &mut Context<'_>) -> bool {
        if cx.now != self.armed {
            return false;
        }
        self.armed = std::mem::replace(second, u64::MAX);
        if self.deadline <= cx.now {
            return true;
        }
        if !self.is_off()
            && let Some(later) = self.set(self.deadline, key, cx)
        {
            *second = later;
        }
        false
    }
}
