//! Expiry of a sender's timer: retransmission (RFC 6298, section 5), tail loss probe (RFC 8985,
//! section 7.3), end of a reordering window (RFC 8985, section 6.2, step 5).

use weft_cc::CongestionControl;
use weft_transports::Recovery;

use super::endpoint::TcpEndpoint;
use super::output::Output;
use super::recovery::detect_rack_losses;
use super::state::Undo;
use super::subflow::SubflowSender;
use super::timers::TimerPurpose;
use crate::transport::state::HostContext;

impl TcpEndpoint {
    /// Handles a subflow's timer.
    pub(super) fn subflow_timer(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        if !subflow.timer.on_engine_timer(slot, cx) {
            return;
        }
        if subflow.state.is_syn_sent() || subflow.state.is_pre_established() {
            self.syn_timed_out(slot, cx);
            return;
        }
        if subflow.state.is_closed() || subflow.segments.is_empty() {
            return;
        }
        match subflow.timer.purpose() {
            TimerPurpose::Retransmit => self.on_timeout(slot, cx),
            TimerPurpose::LossProbe | TimerPurpose::DelayedAckProbe => self.on_probe_timer(slot, cx),
            TimerPurpose::ReorderTimeout => self.on_reorder_timeout(slot, cx),
        }
    }

    /// Handles the expiry of the retransmission timer (RFC 6298, section 5, rules 5.4 to
    /// 5.6; RFC 5681, section 3.1).
    fn on_timeout(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection();
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        let s = subflow.index();
        subflow.count_timeout();
        let repeated = subflow.state.timed_out_at(subflow.seq.una());
        // "the value of ssthresh is held constant" if the segment timed out before (RFC 5681,
        // section 3.1). Linux also holds it if this window has been reduced for a loss already.
        let reduced = subflow.state.is_fast_recovery() && profile.loss.recovery != Recovery::NewReno;
        let is_new_episode = !repeated && !reduced;
        let undo = is_new_episode.then(|| {
            let head_sent_at = subflow.segments.head_sent_once();
            connection.congestion.save_prior(s as usize);
            Undo::arm(subflow.seq.nxt(), head_sent_at)
        });
        let has_frto = profile.options.frto && (repeated || subflow.state.is_open());
        // With RACK, segments sent just before may still arrive (RFC 8985, section 6.3). Its RTT is
        // that of delivered data, and 0 before (`tcp_rack_skb_timeout`).
        let recent = match profile.loss.recovery {
            Recovery::Rack => subflow.segments.rack_rtt(),
            Recovery::NewReno | Recovery::Sack => 0,
        };
        subflow.segments.mark_all_lost(cx.now.saturating_sub(recent));
        if subflow.state.is_open() && subflow.segments.sacked() >= subflow.reordering.threshold() {
            subflow.segments.limit_reordering(subflow.reordering.threshold());
        }
        subflow.reordering.on_timeout();
        subflow.probe.cancel();
        subflow
            .state
            .enter_loss_recovery(subflow.seq.una(), subflow.seq.nxt(), has_frto, undo);
        subflow.rtt.back_off();
        subflow.path.on_timeout(is_new_episode, cx.now);
        subflow.arm(slot, cx);
        connection.congestion.set_in_recovery(s as usize, true);
        connection.notify_cc_and_check_suppression(cx.now, |cc, windows| {
            cc.on_timeout(windows, s as usize, is_new_episode);
        });
        if profile.connection.reinject && connection.uses_send_queues() {
            let first = connection.first_subflow as usize;
            let subflows = &self.subflows[first..][..connection.windows().len()];
            connection.reinject_on_timeout(s, subflows, repeated, profile.sizes.mss);
        } else if profile.connection.reinject && connection.windows().len() > 1 {
            connection.queue_reinjection(s, subflow.segments.unsacked_chunks());
        }
        connection.rotation.set_checks_all(true);
        self.transmit_pending(index, slot, cx);
    }

    /// Handles the timer of a tail loss probe: sends the probe, or sets the timer again.
    fn on_probe_timer(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        let connection = &self.connections[subflow.connection() as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        match subflow.probe_verdict(profile.rto.min_rto.0, cx.now) {
            ProbeVerdict::Rearm => subflow.rearm_rto(slot, cx),
            ProbeVerdict::WaitUntil(due) => subflow.timer.set(due, slot, cx),
            ProbeVerdict::WaitForDelayedAck(due) => {
                subflow.timer.set_purpose(TimerPurpose::DelayedAckProbe);
                subflow.timer.set(due, slot, cx);
            }
            ProbeVerdict::Send => self.send_loss_probe(slot, cx),
        }
    }

    /// Sends a tail loss probe: one segment of new data, whatever the window, or else a
    /// retransmission of the last segment (RFC 8985, section 7.3). The RTO runs from then on.
    fn send_loss_probe(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection();
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        subflow.timer.set_purpose(TimerPurpose::Retransmit);
        let s = subflow.index();
        let new = if connection.uses_send_queues() {
            connection.dequeue(s)
        } else if connection.windows()[s as usize].active && connection.has_sendable() {
            connection.take_chunk(s)
        } else {
            None
        };
        let queued = new.filter(|_| connection.options.traced && connection.uses_send_queues());
        let flow = connection.flow;
        let (nics, engine) = cx.nics();
        let mut output = Output {
            admission: self.admission,
            nics,
            connection,
            subflow,
            slot,
            header: profile.sizes.header,
            cx: engine,
        };
        let is_retrans = new.is_none() && output.retransmit_last();
        if let Some(chunk) = new {
            output.send_new(chunk);
        }
        subflow.probe.on_sent(subflow.seq.nxt(), is_retrans);
        subflow.timer.set(cx.now + subflow.rtt.rto(), slot, cx);
        if let Some(chunk) = queued {
            let now = cx.now;
            cx.host.latencies().record_chunk_sent(flow, chunk, now);
        }
        self.transmit_pending(index, slot, cx);
    }

    /// Handles the end of a reordering window: segments that are still missing are lost.
    fn on_reorder_timeout(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection();
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        subflow.rearm_rto(slot, cx);
        detect_rack_losses(connection, subflow, profile, slot, cx);
        self.transmit_pending(index, slot, cx);
    }
}

/// The consequence of an expired timer of a loss probe.
enum ProbeVerdict {
    /// No probe: the retransmission timer runs.
    Rearm,
    /// The probe is due later, because data was sent since.
    WaitUntil(u64),
    /// The acknowledgement of a single segment may be delayed until then.
    WaitForDelayedAck(u64),
    /// The probe is sent.
    Send,
}

impl SubflowSender {
    /// Decides on a probe whose timer has expired. RFC 8985, section 7.2, gives a single segment the
    /// maximum delay of an acknowledgement in addition, which the sender does not know.
    fn probe_verdict(&self, min_rto: u64, now: u64) -> ProbeVerdict {
        if !self.state.is_open() || self.segments.sacked() > 0 || self.probe.is_outstanding() {
            return ProbeVerdict::Rearm;
        }
        if self.timer.purpose() != TimerPurpose::LossProbe {
            return ProbeVerdict::Send;
        }
        let due = self.loss_probe_due();
        if due > now {
            return ProbeVerdict::WaitUntil(due);
        }
        if self.segments.len() == 1 {
            // Linux allows the minimum RTO for the acknowledgement of a single segment.
            let (rto, srtt) = (self.rtt.rto(), self.rtt.srtt());
            let waited = rto.min(self.probe.pto(srtt));
            let longer = rto.min(2 * srtt + min_rto);
            if longer > waited {
                return ProbeVerdict::WaitForDelayedAck(now + longer - waited);
            }
        }
        ProbeVerdict::Send
    }
}

impl Output<'_, '_> {
    /// Retransmits the last segment as a loss probe. Returns false if the receiver holds it.
    fn retransmit_last(&mut self) -> bool {
        let Some(segment) = self.subflow.segments.probe(self.cx.now) else {
            return false;
        };
        self.subflow.count_retransmission();
        self.transmit(&segment);
        true
    }
}
