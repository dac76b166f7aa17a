//! A sender's handling of acknowledgements: one event goes through one sequence of rules.

use weft_cc::{Ack, CongestionControl, Elapsed};
use weft_transports::{Profile, Recovery, RoundEnd, WindowValidation};

use crate::engine::Context;
use crate::packet::Packet;
use crate::transport::state::HostContext;

use super::ack_event::AckEvent;
use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::recovery::{
    detect_losses_by_duplicates, detect_rack_losses, enter_if_lost, on_ack_in_recovery, on_dsack,
    on_probe_acknowledged,
};
use super::scatter_phase::close_drained;
use super::state::Frto;
use super::subflow::{BlockReasons, SubflowSender};
use super::wire::{DSACK, has_sack_block};

impl TcpEndpoint {
    /// Handles an acknowledgement.
    #[inline(always)]
    pub fn on_ack(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let slot = packet.slot;
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection();
        let connection = &mut self.connections[index as usize];
        if !subflow.state.is_established() {
            return;
        }
        self.admission.on_ack(subflow);
        let mut joins = false;
        if connection.data.is_advanced_by(packet.chunk) {
            // A full receive window may have blocked any subflow.
            let was_full = connection.data.advance(packet.chunk);
            connection.rotation.check_all_if(was_full);
            joins = connection.joins.starts_at(packet.chunk);
        }
        let ack = subflow.seq.expand(packet.seq);
        if ack > subflow.seq.una() && ack <= subflow.seq.nxt() {
            self.on_new_ack(packet, ack, cx);
        } else if ack == subflow.seq.una() {
            if !subflow.segments.is_empty() {
                self.on_duplicate_ack(packet, cx);
            } else if subflow.probe.is_outstanding() || packet.flags & DSACK != 0 {
                self.on_late_duplicate(packet, cx);
            }
        } else if ack < subflow.seq.una() && (packet.flags & DSACK != 0 || has_sack_block(packet)) {
            self.on_overtaken_ack(packet, cx);
        }
        if joins {
            self.open_joins(index, cx);
        }
        let connection = &self.connections[index as usize];
        if !connection.data.is_acknowledged() || !self.finish_if_done(index, cx) {
            self.transmit_pending(index, slot, cx);
            let subflow = &mut self.subflows[slot as usize];
            if subflow.state.awaits_new_data() && subflow.seq.nxt() == subflow.state.recover() {
                // Without new data to send, the conventional recovery continues (RFC 5682, section
                // 3.1, step 2b).
                subflow.state.set_frto(Frto::Off);
                self.transmit_pending(index, slot, cx);
            }
        }
    }

    /// Handles an acknowledgement of new data.
    #[inline(always)]
    fn on_new_ack(&mut self, packet: &Packet, ack: u64, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection() as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        validate_cwnd(connection, subflow, profile);
        let echo = connection.congestion.echo();
        let event = AckEvent::advance(subflow, packet, ack, profile, echo, cx.now);
        apply_rules(connection, subflow, profile, &event, packet.slot, cx);
    }

    /// Handles a duplicate acknowledgement (RFC 5681, section 2).
    fn on_duplicate_ack(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection() as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        validate_cwnd(connection, subflow, profile);
        let echo = connection.congestion.echo();
        let event = AckEvent::duplicate(subflow, packet, profile, echo, cx.now);
        apply_rules(connection, subflow, profile, &event, packet.slot, cx);
    }

    /// Handles an acknowledgement without new information that arrives while nothing is
    /// outstanding: it reports that retransmitted data had arrived before.
    #[cold]
    fn on_late_duplicate(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection() as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        let event = AckEvent::late_duplicate(subflow, packet);
        on_probe_acknowledged(connection, subflow, &event, cx.now);
        on_dsack(connection, subflow, profile, &event, cx.now);
    }

    /// Handles an acknowledgement that another one has overtaken: what it reports beyond holes may
    /// reveal losses, and that data arrived twice. It changes no window (`old_ack` in `tcp_ack`).
    #[cold]
    fn on_overtaken_ack(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let slot = packet.slot;
        let subflow = &mut self.subflows[slot as usize];
        let connection = &mut self.connections[subflow.connection() as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        validate_cwnd(connection, subflow, profile);
        let event = AckEvent::overtaken(subflow, packet, profile, cx.now);
        on_dsack(connection, subflow, profile, &event, cx.now);
        on_ack_in_recovery(connection, subflow, profile, &event, cx.now);
        detect_losses(connection, subflow, profile, slot, cx);
        enter_if_lost(connection, subflow, profile, slot, cx);
    }
}

/// Records whether the window has limited the sender, if the profile asks for it.
#[inline(always)]
fn validate_cwnd(connection: &ConnectionSender, subflow: &mut SubflowSender, profile: &Profile) {
    if profile.window.window_validation == WindowValidation::Linux {
        subflow.validate_cwnd(&connection.windows()[subflow.index() as usize]);
    }
}

/// Applies the rules for an acknowledgement in the order of Linux's `tcp_ack`. The segments that it
/// covers are marked already.
#[inline(always)]
fn apply_rules(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    event: &AckEvent,
    slot: u32,
    cx: &mut Context<'_>,
) {
    let now = cx.now;
    let rtt = if event.samples_rtt() {
        sample_rtt(connection, subflow, profile, event, now)
    } else {
        0.0
    };
    on_probe_acknowledged(connection, subflow, event, now);
    on_dsack(connection, subflow, profile, event, now);
    let recovers = subflow.state.is_fast_recovery();
    on_ack_in_recovery(connection, subflow, profile, event, now);
    let drained = event.samples_rtt() && restart_timer(connection, subflow, slot, cx);
    if recovers || subflow.segments.any_out_of_order() {
        detect_losses(connection, subflow, profile, slot, cx);
    }
    count_marks(subflow, event);
    // In some profiles, rounds and marks have no effect once subflows have all data.
    let reacts = profile.marks.react_after_last_data || connection.data.has_unsent();
    end_round_if_over(connection, subflow, profile, event, reacts, now);
    notify_of_ack(connection, subflow, profile, event, rtt, now);
    if reacts {
        cut_if_marked(connection, subflow, event, now);
    }
    detect_losses_by_duplicates(subflow, profile, event);
    enter_if_lost(connection, subflow, profile, slot, cx);
    reduce_rate(subflow, profile, event);
    if drained {
        close_drained(connection, subflow, now);
    }
}

/// Restarts the timer, or stops it if nothing is outstanding (RFC 6298, section 5, rules 5.2 and
/// 5.3). Every partial acknowledgement restarts it, not only the first one (RFC 6582, section 3.2,
/// step 3), which is the slow-but-steady variant. Returns true if the subflow must close: other
/// subflows have replaced it, and nothing is outstanding or queued.
#[inline(always)]
fn restart_timer(
    connection: &ConnectionSender,
    subflow: &mut SubflowSender,
    slot: u32,
    cx: &mut Context<'_>,
) -> bool {
    if subflow.segments.is_empty() {
        subflow.timer.stop();
        subflow.gate.is_blocked_by(BlockReasons::DRAINING) && connection.queued(subflow.index() as usize) == 0
    } else {
        subflow.arm(slot, cx);
        false
    }
}

/// Marks segments as lost by RACK. Needed if segments have arrived out of order, and at each acknowledgement of a fast recovery,
/// also the last one: a retransmission may have overtaken all that is outstanding (`tcp_fastretrans_alert`).
#[inline(always)]
fn detect_losses(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    slot: u32,
    cx: &mut Context<'_>,
) {
    if profile.loss.recovery == Recovery::Rack {
        detect_rack_losses(connection, subflow, profile, slot, cx);
    }
}

/// Counts the segments that are newly known to be delivered, and those of them that were marked.
#[inline(always)]
fn count_marks(subflow: &mut SubflowSender, event: &AckEvent) {
    let marked = event.newly_marked();
    subflow.rounds.count(event.delivered(), marked);
    subflow.count_marked(marked);
}

/// Ends the round if the acknowledgement covers its data.
#[inline(always)]
fn end_round_if_over(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    event: &AckEvent,
    reacts: bool,
    now: u64,
) {
    let beyond = profile.marks.round_end == RoundEnd::Rfc8257 || connection.congestion.rounds_end_beyond();
    if event.advances() && subflow.rounds.is_ended_by(event.ack(), beyond) {
        count_send_buffer(connection, subflow, event, now);
        end_round(connection, subflow, reacts, now);
    }
}

/// Counts a round as limited by the send buffer if this was full until the acknowledgement arrived,
/// and the application has more data.
#[inline(always)]
fn count_send_buffer(connection: &ConnectionSender, subflow: &mut SubflowSender, event: &AckEvent, now: u64) {
    let held = subflow.segments.len() + event.acked().packets;
    if held >= subflow.seq.max_segments() && connection.data.has_unsent_written() {
        subflow.count_sndbuf_limited(now);
    }
}

/// Ends a round, at which congestion control may suppress or release subflows, unless `reacts` is
/// false.
fn end_round(connection: &mut ConnectionSender, subflow: &mut SubflowSender, reacts: bool, now: u64) {
    let round = subflow.rounds.start_next(subflow.seq.nxt(), now);
    subflow.path.on_round(round, subflow.segments.is_empty(), now);
    if !reacts {
        return;
    }
    let s = subflow.index() as usize;
    connection.notify_cc_and_check_suppression(now, |cc, windows| cc.on_round(windows, s, round));
    connection.rotation.set_checks_all(true);
}

/// Notifies congestion control of the acknowledgement. It gets no RTT sample from a duplicate, and
/// no window grows at one.
#[inline(always)]
fn notify_of_ack(
    connection: &mut ConnectionSender,
    subflow: &SubflowSender,
    profile: &Profile,
    event: &AckEvent,
    rtt: f64,
    now: u64,
) {
    let s = subflow.index() as usize;
    let acked = event.cc_acked(profile);
    let window = &connection.windows()[s];
    let is_used = match profile.window.window_validation {
        WindowValidation::Linux => subflow.usage.is_cwnd_limited(window),
        WindowValidation::HalfUsed => event.was_half_used(window.cwnd),
    };
    let after_cut = profile.marks.grow_after_mark || subflow.rounds.is_after_cut(event.ack());
    let report = Ack {
        acked,
        marked: event.marked(),
        may_grow: acked > 0
            && (event.advances() || grows_by_sack(subflow, profile, event))
            && !subflow.state.is_fast_recovery()
            && is_used
            && after_cut,
        rtt: if event.advances() { rtt } else { 0.0 },
        now: Elapsed(now - connection.lifetime.opened()),
    };
    connection.notify_cc_of_ack(now, s, report);
}

/// Returns true if the window grows by what an acknowledgement reports beyond holes: once packets
/// are reordered by more than the duplicate threshold (`tcp_may_raise_cwnd`).
fn grows_by_sack(subflow: &SubflowSender, profile: &Profile, event: &AckEvent) -> bool {
    profile.loss.recovery == Recovery::Rack
        && event.sacked().delivered > 0
        && subflow.segments.reordering() > subflow.reordering.threshold()
}

/// Makes the algorithm cut at the first mark of data that was sent after the last cut. Earlier
/// data, to the last segment, saw the queue as it was before the cut (RFC 8257, section 3.3, step
/// 3). RFC 3168's echo lasts until CWR has arrived.
#[inline(always)]
fn cut_if_marked(connection: &mut ConnectionSender, subflow: &mut SubflowSender, event: &AckEvent, now: u64) {
    let counts = event.echoes_mark()
        && subflow.rounds.is_after_cut(event.ack())
        && !(subflow.state.is_fast_recovery() || subflow.state.is_loss_recovery());
    let s = subflow.index() as usize;
    if counts && connection.congestion.reacts_to_mark(s) {
        subflow.rounds.on_cut(subflow.seq.nxt());
        connection.notify_cc(now, |cc, windows| cc.on_mark(windows, s));
    }
}

/// Updates the window of a recovery with proportional rate reduction.
#[inline(always)]
fn reduce_rate(subflow: &mut SubflowSender, profile: &Profile, event: &AckEvent) {
    if subflow.state.prr().is_some() {
        let progress = event.makes_progress(subflow.segments.lost_unsent());
        subflow.on_prr_ack(event.prr_delivered(profile), progress);
    }
}

/// Takes an RTT sample if the acknowledgement allows one, and returns it in seconds, else 0. The
/// estimator's sample is that of the first segment newly acknowledged (RFC 7323, section 4.3); the
/// sample for the minimum and for congestion control is that of the last one.
///
/// An acknowledgement of retransmitted data gives no sample (Karn; RFC 6298, section 3), because data behind it may have
/// waited for it, unless timestamps show which copy was acknowledged.
#[inline(always)]
pub fn sample_rtt(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    event: &AckEvent,
    now: u64,
) -> f64 {
    let (acked, sacked) = (event.acked(), event.sacked());
    let (first, last) = if acked.first != u64::MAX && !acked.retransmitted {
        (acked.first, acked.last)
    } else if sacked.first != u64::MAX && !sacked.retransmitted {
        (sacked.first, sacked.last)
    } else if profile.options.timestamps && acked.retransmitted {
        let echoes_retransmission = event.echoes_retransmission();
        let head = acked.head_retransmitted_at;
        let Some(sent) = sent_by_timestamps(subflow, echoes_retransmission, head, now) else {
            return 0.0;
        };
        (sent, sent)
    } else {
        return 0.0;
    };
    subflow.rtt.sample(now - first, &subflow.seq);
    subflow.rtt.update_min(now - last);
    let (srtt, min_rtt) = (seconds(subflow.rtt.srtt()), seconds(subflow.rtt.min_rtt()));
    connection
        .congestion
        .set_rtt(subflow.index() as usize, srtt, min_rtt);
    seconds(now - last)
}

/// Converts a time below 2^63 picoseconds to seconds. The conversion from a signed number is one
/// instruction, that from an unsigned number is seven.
#[inline(always)]
fn seconds(picoseconds: u64) -> f64 {
    picoseconds.cast_signed() as f64 * 1e-12
}

/// Returns when the acknowledged copy of a retransmitted segment was sent, as timestamps show it.
/// `head_retransmitted_at` is the time of the last transmission of the first segment.
#[cold]
fn sent_by_timestamps(
    subflow: &SubflowSender,
    echoes_retransmission: bool,
    head_retransmitted_at: u64,
    now: u64,
) -> Option<u64> {
    if echoes_retransmission {
        // If there were several retransmissions, an earlier one may have arrived. The last one has
        // not if less time than any RTT has passed since it was sent.
        let last = head_retransmitted_at;
        (last != u64::MAX && now - last >= subflow.rtt.min_rtt_or_zero()).then_some(last)
    } else {
        let undo = &subflow.state.undo;
        let is_first_copy =
            subflow.state.is_loss_recovery() && undo.end().is_some_and(|end| subflow.seq.una() <= end);
        undo.head_sent_at().filter(|_| is_first_copy)
    }
}
