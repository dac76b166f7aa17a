//! Timers of TCP and their keys. The deadline of a timer moves more often than the timer of the engine.
//! A sender's timer has a purpose; a receiver's delays acknowledgements (RFC 5681, section 4.2).

use crate::engine::Context;

/// Timers of TCP. A key has the timer in its upper half and an index in its lower half; the other
/// numbers belong to the host ([`HostTimer`](crate::transport::HostTimer)).
#[derive(Clone, Copy)]
pub enum TcpTimer {
    /// A subflow joins. Index: subflow.
    Join = 2,
    /// Retransmission, loss probe or end of a reordering window. Index: subflow.
    Subflow = 3,
    /// Delayed acknowledgement. Index: receiver of the subflow.
    DelayedAck = 4,
    /// A subflow closes. Index: subflow.
    Close = 7,
    /// Pacing allows the next packet. Index: subflow.
    Pace = 9,
    /// An application has written a chunk. Index: flow.
    Write = 10,
    /// The path monitor checks the paths. Index: connection.
    PathMonitor = 11,
}

/// Returns the key of a timer.
pub fn timer_key(timer: TcpTimer, index: u32) -> u64 {
    (timer as u64) << 32 | u64::from(index)
}

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
