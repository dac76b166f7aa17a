//! The timer of delayed acknowledgements.

use crate::engine::Context;

use super::timer_keys::{TcpTimer, timer_key};

/// The timer of a subflow's receiver. The engine's timers are not moved: one that fires early finds
/// that the deadline is later, and is set again.
pub struct AckTimer {
    /// Time at which a delayed acknowledgement is due; `u64::MAX` if none is.
    deadline: u64,
    /// Time of the earliest engine timer that has not fired; `u64::MAX` if there is none.
    armed: u64,
    /// Time of the engine timer after that; `u64::MAX` if there is none.
    second: u64,
}

impl AckTimer {
    /// Creates a timer that is off.
    pub fn new() -> Self {
        Self {
            deadline: u64::MAX,
            armed: u64::MAX,
            second: u64::MAX,
        }
    }

    /// Returns true if no acknowledgement is due.
    #[inline(always)]
    pub fn is_off(&self) -> bool {
        self.deadline == u64::MAX
    }

    /// Stops the timer.
    #[inline(always)]
    pub fn stop(&mut self) {
        self.deadline = u64::MAX;
    }

    /// Sets the time by which an acknowledgement is due.
    #[inline(always)]
    pub fn set(&mut self, deadline: u64, slot: u32, cx: &mut Context<'_>) {
        self.deadline = deadline;
        if self.armed > deadline {
            self.second = self.armed;
            self.armed = deadline;
            cx.set_timer(deadline, timer_key(TcpTimer::DelayedAck, slot));
        }
    }

    /// Handles a timer of the engine. Returns true if the deadline has come.
    pub fn has_expired(&mut self, slot: u32, cx: &mut Context<'_>) -> bool {
        if cx.now != self.armed {
            return false;
        }
        self.armed = std::mem::replace(&mut self.second, u64::MAX);
        if self.deadline <= cx.now {
            return true;
        }
        if !self.is_off() {
            self.set(self.deadline, slot, cx);
        }
        false
    }
}
