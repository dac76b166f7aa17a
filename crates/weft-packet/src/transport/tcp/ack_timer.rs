//! The timer of delayed acknowledgements (RFC 5681, section 4.2).

use crate::engine::Context;

use super::deadline_timer::DeadlineTimer;
use super::timer_keys::{TcpTimer, timer_key};

/// The timer of a subflow's receiver. The maximum delay and the number of segments are settings (RFC
/// 5681, section 4.2, has 500 ms and two segments).
pub struct AckTimer {
    timer: DeadlineTimer,
    /// Time of the engine timer after the earliest one; `u64::MAX` if there is none.
    second: u64,
}

impl AckTimer {
    /// Creates a timer that is off.
    pub fn new() -> Self {
        Self {
            timer: DeadlineTimer::new(),
            second: u64::MAX,
        }
    }

    /// Returns true if no acknowledgement is due.
    #[inline(always)]
    pub fn is_off(&self) -> bool {
        self.timer.is_off()
    }

    /// Stops the timer.
    #[inline(always)]
    pub fn stop(&mut self) {
        self.timer.stop();
    }

    /// Sets the time by which an acknowledgement is due.
    #[inline(always)]
    pub fn set(&mut self, deadline: u64, slot: u32, cx: &mut Context<'_>) {
        let key = timer_key(TcpTimer::DelayedAck, slot);
        if let Some(second) = self.timer.set(deadline, key, cx) {
            self.second = second;
        }
    }

    /// Handles a timer of the engine. Returns true if the deadline has come.
    pub fn on_engine_timer(&mut self, slot: u32, cx: &mut Context<'_>) -> bool {
        let key = timer_key(TcpTimer::DelayedAck, slot);
        self.timer.on_engine_timer(&mut self.second, key, cx)
    }
}
