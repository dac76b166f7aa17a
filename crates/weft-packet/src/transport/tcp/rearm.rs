//! Deadlines of a sender's timer: the RTO (RFC 6298), a tail loss probe (RFC 8985, section 7), or
//! the end of a reordering window (RFC 8985, section 6.2, step 5).

use crate::engine::Context;

use super::subflow::SubflowSender;
use super::timer::TimerPurpose;

impl SubflowSender {
    /// Restarts the timer: for a loss probe while no segment is missing, if the profile has probes,
    /// else for the RTO.
    #[inline(always)]
    pub fn arm(&mut self, slot: u32, cx: &mut Context<'_>) {
        let mut wait = self.rtt.rto();
        let mut purpose = TimerPurpose::Retransmit;
        if self.probe.is_enabled()
            && self.state.is_open()
            && self.segments.sacked() == 0
            && !self.probe.is_outstanding()
        {
            // At most the RTO; without a sample there is none to go by (RFC 8985, section 7.2).
            let srtt = self.rtt.srtt();
            if srtt > 0 {
                wait = wait.min(self.probe.pto(srtt));
                purpose = TimerPurpose::LossProbe;
            }
        }
        self.timer.set_purpose(purpose);
        self.timer.set(cx.now + wait, slot, cx);
    }

    /// Returns when a probe is due according to the last transmission: new data restarts its timer,
    /// but not beyond the RTO of the first segment (RFC 8985, section 7.2). This is computed when
    /// the timer fires, so that sending costs nothing.
    pub fn loss_probe_due(&self) -> u64 {
        let wait = self.probe.pto(self.rtt.srtt());
        let rto = self.segments.head_sent_at().saturating_add(self.rtt.rto());
        self.segments.tail_sent_at().saturating_add(wait).min(rto)
    }

    /// Restarts the retransmission timer as it would run without a probe: from the last
    /// transmission of the first segment (`tcp_rearm_rto`).
    pub fn rearm_rto(&mut self, slot: u32, cx: &mut Context<'_>) {
        let deadline = self.segments.head_sent_at().saturating_add(self.rtt.rto());
        self.timer.set_purpose(TimerPurpose::Retransmit);
        self.timer.set(deadline.max(cx.now + 1), slot, cx);
    }
}
