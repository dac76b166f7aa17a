//! Deadlines of a sender's timer: the RTO (RFC 6298), a tail loss probe (RFC 8985, section 7), or
//! the end of a reordering window (RFC 8985, section 6.2, step 5).

use crate::engine::Context;

use super::subflow::{State, SubflowSender};
use super::timer::TimerPurpose;
use super::timer_keys::{TcpTimer, timer_key};

impl SubflowSender {
    /// Restarts the timer: for a loss probe while no segment is missing, if the profile has probes,
    /// else for the RTO.
    #[inline(always)]
    pub fn arm(&mut self, slot: u32, cx: &mut Context<'_>) {
        let mut wait = self.rtt.rto();
        self.timer_purpose = TimerPurpose::Retransmit;
        if self.tlp_slack != u64::MAX
            && self.state == State::Open
            && self.segments.sacked() == 0
            && self.tlp_high_seq == 0
        {
            // "PTO = 2 * SRTT", at most the RTO; without a sample there is none to go by (RFC 8985, section 7.2).
            let srtt = self.rtt.srtt();
            if srtt > 0 {
                wait = wait.min(2 * srtt + self.tlp_slack);
                self.timer_purpose = TimerPurpose::LossProbe;
            }
        }
        self.set_deadline(cx.now + wait, slot, cx);
    }

    /// Returns when a probe is due according to the last transmission: new data restarts its timer,
    /// but not beyond the RTO of the first segment (RFC 8985, section 7.2). This is computed when
    /// the timer fires, so that sending costs nothing.
    pub fn loss_probe_due(&self) -> u64 {
        let wait = 2 * self.rtt.srtt() + self.tlp_slack;
        let rto = self.segments.head_sent_at().saturating_add(self.rtt.rto());
        self.segments.tail_sent_at().saturating_add(wait).min(rto)
    }

    /// Moves the deadline. The engine's timer is moved only if it would fire too late: an earlier
    /// one fires, finds that the deadline is later, and is set again.
    #[inline(always)]
    pub fn set_deadline(&mut self, deadline: u64, slot: u32, cx: &mut Context<'_>) {
        self.deadline = deadline;
        if self.timer > deadline {
            self.timer = deadline;
            cx.set_timer(deadline, timer_key(TcpTimer::Subflow, slot));
        }
    }

    /// Restarts the retransmission timer as it would run without a probe: from the last
    /// transmission of the first segment (`tcp_rearm_rto`).
    pub fn rearm_rto(&mut self, slot: u32, cx: &mut Context<'_>) {
        self.timer_purpose = TimerPurpose::Retransmit;
        let deadline = self.segments.head_sent_at().saturating_add(self.rtt.rto());
        self.set_deadline(deadline.max(cx.now + 1), slot, cx);
    }
}
