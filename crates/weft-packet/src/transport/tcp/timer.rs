//! Deadline and purpose of a sender's timer. The engine's timer is not moved with the deadline.

use crate::engine::Context;

use super::deadline_timer::DeadlineTimer;
use super::timer_keys::{TcpTimer, timer_key};

/// The purpose of a subflow's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerPurpose {
    /// Retransmission, also of a SYN or of the third packet of a join.
    Retransmit,
    /// A tail loss probe.
    LossProbe,
    /// A tail loss probe that has also waited for a delayed acknowledgement.
    DelayedAckProbe,
    /// The end of a reordering window.
    ReorderTimeout,
}

/// The timer of a subflow.
pub struct SubflowTimer {
    timer: DeadlineTimer,
    purpose: TimerPurpose,
}

impl SubflowTimer {
    /// Creates a timer that is off.
    pub fn new() -> Self {
        Self {
            timer: DeadlineTimer::new(),
            purpose: TimerPurpose::Retransmit,
        }
    }

    /// Returns true if the timer does not run.
    #[inline(always)]
    pub fn is_off(&self) -> bool {
        self.timer.is_off()
    }

    /// Returns the purpose.
    #[inline(always)]
    pub fn purpose(&self) -> TimerPurpose {
        self.purpose
    }

    /// Changes the purpose and keeps the deadline.
    #[inline(always)]
    pub fn set_purpose(&mut self, purpose: TimerPurpose) {
        self.purpose = purpose;
    }

    /// Stops the timer.
    #[inline(always)]
    pub fn stop(&mut self) {
        self.timer.stop();
    }

    /// Moves the deadline.
    #[inline(always)]
    pub fn set(&mut self, deadline: u64, slot: u32, cx: &mut Context<'_>) {
        self.timer.set(deadline, timer_key(TcpTimer::Subflow, slot), cx);
    }

    /// Handles a timer of the engine. Returns true if the deadline has come.
    pub fn on_engine_timer(&mut self, slot: u32, cx: &mut Context<'_>) -> bool {
        // An engine timer that was set before the earliest one is ignored when it fires.
        let mut second = u64::MAX;
        self.timer
            .on_engine_timer(&mut second, timer_key(TcpTimer::Subflow, slot), cx)
    }
}
