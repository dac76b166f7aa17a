//! Deadline and purpose of a sender's timer. The engine's timer is not moved with the deadline.

use crate::engine::Context;

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

/// The timer of a subflow. Its deadline moves with nearly every packet, the engine's timer does
/// not: one that fires early finds that the deadline is later, and is set again.
pub struct SubflowTimer {
    /// Time at which the timer expires; `u64::MAX` if it is off.
    deadline: u64,
    /// Time of the earliest engine timer that has not fired; `u64::MAX` if there is none.
    armed: u64,
    purpose: TimerPurpose,
}

impl SubflowTimer {
    /// Creates a timer that is off.
    pub fn new() -> Self {
        Self {
            deadline: u64::MAX,
            armed: u64::MAX,
            purpose: TimerPurpose::Retransmit,
        }
    }

    /// Returns true if the timer does not run.
    #[inline(always)]
    pub fn is_off(&self) -> bool {
        self.deadline == u64::MAX
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
        self.deadline = u64::MAX;
    }

    /// Moves the deadline. The engine's timer is moved only if it would fire too late.
    #[inline(always)]
    pub fn set(&mut self, deadline: u64, slot: u32, cx: &mut Context<'_>) {
        self.deadline = deadline;
        if self.armed > deadline {
            self.armed = deadline;
            cx.set_timer(deadline, timer_key(TcpTimer::Subflow, slot));
        }
    }

    /// Handles a timer of the engine. Returns true if the deadline has come.
    pub fn has_expired(&mut self, slot: u32, cx: &mut Context<'_>) -> bool {
        if cx.now != self.armed {
            return false;
        }
        self.armed = u64::MAX;
        if self.deadline <= cx.now {
            return true;
        }
        if !self.is_off() {
            self.set(self.deadline, slot, cx);
        }
        false
    }
}
