//! A sender's timer. It has one of several purposes: retransmission (RFC 6298), tail loss probe
//! (RFC 8985, section 7), or the end of a reordering window (RFC 8985, section 6.2, step 5).

use weft_cc::CongestionControl;
use weft_spec::{Profile, Recovery};

use crate::engine::Context;

use super::connection::ConnectionSender;
use super::host::{Host, TimerKind, timer_key};
use super::output::{send_new, transmit};
use super::recovery::detect_rack_losses;
use super::subflow::{State, SubflowSender};
use super::undo::Undo;

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
    fn loss_probe_due(&self) -> u64 {
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
            cx.set_timer(deadline, timer_key(TimerKind::Subflow, slot));
        }
    }

    /// Restarts the retransmission timer as it would run without a probe: from the last
    /// transmission of the first segment (`tcp_rearm_rto`).
    fn rearm_rto(&mut self, slot: u32, cx: &mut Context<'_>) {
        self.timer_purpose = TimerPurpose::Retransmit;
        let deadline = self.segments.head_sent_at().saturating_add(self.rtt.rto());
        self.set_deadline(deadline.max(cx.now + 1), slot, cx);
    }
}

impl Host {
    /// Handles a subflow's timer.
    pub(super) fn subflow_timer(&mut self, slot: u32, cx: &mut Context<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        if cx.now != subflow.timer {
            return;
        }
        subflow.timer = u64::MAX;
        if subflow.deadline > cx.now {
            if subflow.deadline != u64::MAX {
                let deadline = subflow.deadline;
                subflow.set_deadline(deadline, slot, cx);
            }
            return;
        }
        match subflow.state {
            State::Closed => {}
            State::SynSent | State::PreEstablished => self.syn_timed_out(slot, cx),
            _ if subflow.segments.is_empty() => {}
            _ => match subflow.timer_purpose {
                TimerPurpose::Retransmit => self.on_timeout(slot, cx),
                TimerPurpose::LossProbe | TimerPurpose::DelayedAckProbe => self.send_loss_probe(slot, cx),
                TimerPurpose::ReorderTimeout => self.on_reorder_timeout(slot, cx),
            },
        }
    }

    /// Handles the expiry of the retransmission timer (RFC 6298, section 5; RFC 5681, section 3.1).
    fn on_timeout(&mut self, slot: u32, cx: &mut Context<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection;
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let s = subflow.index;
        subflow.stats.timeouts += 1;
        let repeated = subflow.state == State::Loss && subflow.una_at_timeout == subflow.una;
        // "the value of ssthresh is held constant" if the segment timed out before (RFC 5681,
        // section 3.1). Linux also holds it if this window has been reduced for a loss already.
        let reduced = subflow.state == State::Recovery && profile.recovery != Recovery::NewReno;
        if !repeated && !reduced {
            subflow.undo = Undo::arm(&mut connection.windows[s as usize], subflow.nxt);
            subflow.undo.head_sent_at = subflow.segments.head_sent_once().unwrap_or(u64::MAX);
        }
        subflow.frto = profile.frto
            && profile.recovery != Recovery::NewReno
            && (repeated || subflow.state == State::Open);
        subflow.una_at_timeout = subflow.una;
        // With RACK, segments sent just before may still arrive (RFC 8985, section 6.3).
        let recent = match profile.recovery {
            Recovery::Rack => subflow.rtt.srtt(),
            Recovery::NewReno | Recovery::Sack => 0,
        };
        subflow.segments.mark_all_lost(cx.now.saturating_sub(recent));
        subflow.dupacks = 0;
        subflow.reno_sacked = 0;
        subflow.prr_active = false;
        subflow.frto_waiting = false;
        subflow.force_retransmit = true;
        subflow.tlp_high_seq = 0;
        subflow.state = State::Loss;
        subflow.recover = subflow.nxt;
        subflow.rtt.back_off();
        subflow.arm(slot, cx);
        connection.windows[s as usize].in_recovery = true;
        let first = !repeated && !reduced;
        connection
            .notify_cc_and_check_suppression(cx.now, |cc, windows| cc.on_timeout(windows, s as usize, first));
        if profile.reinject && connection.uses_send_queues() {
            let first = connection.first_subflow as usize;
            let subflows = &self.subflows[first..][..connection.windows.len()];
            connection.reinject_on_timeout(s, subflows, repeated, profile.mss);
        } else if profile.reinject && connection.windows.len() > 1 {
            connection.queue_reinjection(s, subflow.segments.unsacked_chunks());
        }
        connection.check_all_subflows = true;
        self.transmit_pending(index, slot, cx);
    }

    /// Sends a tail loss probe: one segment of new data, whatever the window, or else the last
    /// segment again (RFC 8985, section 7.3). The RTO runs from then on.
    fn send_loss_probe(&mut self, slot: u32, cx: &mut Context<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection;
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        if subflow.state != State::Open || subflow.segments.sacked() > 0 || subflow.tlp_high_seq != 0 {
            subflow.rearm_rto(slot, cx);
            return;
        }
        let due = subflow.loss_probe_due();
        if due > cx.now && subflow.timer_purpose == TimerPurpose::LossProbe {
            subflow.set_deadline(due, slot, cx);
            return;
        }
        if subflow.timer_purpose == TimerPurpose::LossProbe && subflow.segments.len() == 1 {
            // The acknowledgement of a single segment may be delayed: Linux allows the minimum RTO for it.
            let (rto, two) = (subflow.rtt.rto(), 2 * subflow.rtt.srtt());
            let waited = rto.min(two + subflow.tlp_slack);
            let longer = rto.min(two + profile.min_rto.0);
            if longer > waited {
                subflow.timer_purpose = TimerPurpose::DelayedAckProbe;
                let deadline = cx.now + longer - waited;
                subflow.set_deadline(deadline, slot, cx);
                return;
            }
        }
        subflow.tlp_retrans = false;
        subflow.timer_purpose = TimerPurpose::Retransmit;
        let s = subflow.index;
        let new = if connection.uses_send_queues() {
            connection.dequeue(s)
        } else if connection.windows[s as usize].active && connection.has_sendable() {
            connection.take_chunk(s)
        } else {
            None
        };
        let queued = new.filter(|_| connection.traced && connection.uses_send_queues());
        if let Some(chunk) = new {
            send_new(connection, subflow, chunk, profile.mss, profile.header, slot, cx);
        } else if let Some(segment) = subflow.segments.probe(cx.now) {
            subflow.tlp_retrans = true;
            subflow.stats.retransmitted += 1;
            transmit(connection, subflow, &segment, profile.header, slot, cx);
        }
        subflow.tlp_high_seq = subflow.nxt;
        let deadline = cx.now + subflow.rtt.rto();
        subflow.set_deadline(deadline, slot, cx);
        if let Some(chunk) = queued {
            let flow = connection.flow;
            self.record_chunk_sent(flow, chunk, cx.now);
        }
        self.transmit_pending(index, slot, cx);
    }

    /// Handles the end of a reordering window: segments that are still missing are lost.
    fn on_reorder_timeout(&mut self, slot: u32, cx: &mut Context<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection;
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        subflow.rearm_rto(slot, cx);
        detect_rack_losses(connection, subflow, profile, slot, cx);
        self.transmit_pending(index, slot, cx);
    }
}

/// Returns the slack of a profile's loss probes; `u64::MAX` if it has none.
pub fn tlp_slack(profile: &Profile) -> u64 {
    if profile.tail_loss_probe && profile.recovery == Recovery::Rack {
        profile.timer_slack.0.min(u64::MAX / 4)
    } else {
        u64::MAX
    }
}

/// Handles an acknowledgement of all bytes before `ack` while a loss probe is outstanding (RFC
/// 8985, section 7.4).
pub fn on_probe_acknowledged(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    ack: u64,
    duplicate: bool,
    now: u64,
) {
    if ack < subflow.tlp_high_seq {
        return;
    }
    if subflow.tlp_retrans && !duplicate {
        if ack == subflow.tlp_high_seq {
            // Which copy was acknowledged is not known yet.
            return;
        }
        // The probe repaired a loss, which counts as one loss.
        let s = subflow.index as usize;
        subflow.stats.fast_retransmits += 1;
        connection.windows[s].save_prior();
        connection.notify_cc(now, |cc, windows| cc.on_fast_retransmit(windows, s));
    }
    subflow.tlp_high_seq = 0;
}
