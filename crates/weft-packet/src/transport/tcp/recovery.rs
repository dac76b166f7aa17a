//! Loss detection and recovery: fast recovery (RFC 5681, RFC 6582, RFC 6675, RFC 8985), recovery
//! after a timeout (RFC 5682), and undo.

use weft_cc::CongestionControl;
use weft_transports::{Profile, Recovery};

use crate::engine::Context;

use super::ack_event::AckEvent;
use super::connection::ConnectionSender;
use super::loss_probe::ProbeAck;
use super::newreno;
use super::prr::Prr;
use super::state::Frto;
use super::subflow::SubflowSender;
use super::timer::TimerPurpose;
use super::undo::Undo;
use super::verdict::{FastVerdict, Verdict, judge, judge_fast};

/// Marks the segments as lost that RACK considers lost, and enters fast recovery at the first loss.
/// If a segment may still be only late, sets the timer to the end of the reordering window (RFC 8985,
/// section 6.2, step 5).
pub fn detect_rack_losses(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    slot: u32,
    cx: &mut Context<'_>,
) {
    let certain = !subflow.state.is_open() || subflow.segments.sacked() >= subflow.reordering.threshold();
    let rack = &subflow.reordering.rack;
    if !certain && rack.is_scattered() {
        return;
    }
    let (min_rtt, srtt) = (subflow.rtt.min_rtt_or_zero(), subflow.rtt.srtt());
    let window = rack.window(subflow.segments.reordered(), certain, min_rtt, srtt);
    let due = subflow.segments.rack_mark_lost(window, cx.now);
    enter_if_lost(connection, subflow, profile, slot, cx);
    if due != u64::MAX {
        subflow.timer.set_purpose(TimerPurpose::ReorderTimeout);
        let deadline = due.saturating_add(profile.loss.timer_slack.0).max(cx.now + 1);
        subflow.timer.set(deadline, slot, cx);
    }
}

/// Marks the first segment as lost if duplicate acknowledgements without RACK indicate a loss (RFC
/// 6675, section 5, step 1).
#[inline(always)]
pub fn detect_losses_by_duplicates(subflow: &mut SubflowSender, profile: &Profile, event: &AckEvent) {
    if event.advances() {
        return;
    }
    match profile.loss.recovery {
        Recovery::NewReno => newreno::on_duplicate(subflow, profile),
        Recovery::Sack if subflow.state.is_open() && subflow.reordering.indicates_loss() => {
            subflow.segments.mark_head_lost();
        }
        Recovery::Sack | Recovery::Rack => {}
    }
}

/// Enters fast recovery if a segment is lost and no recovery is in progress.
#[inline(always)]
pub fn enter_if_lost(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    slot: u32,
    cx: &mut Context<'_>,
) {
    if subflow.state.is_open() && subflow.segments.any_lost() {
        enter_recovery(connection, subflow, profile, slot, cx);
    }
}

/// Enters fast recovery, which ends with the data sent so far, and reduces the window once (RFC 6675,
/// section 5, step 4). With proportional rate reduction, `RecoverFS` is all that is outstanding,
/// also what was sacked before, as in RFC 6937 (unlike RFC 9937, section 6).
#[cold]
fn enter_recovery(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    slot: u32,
    cx: &mut Context<'_>,
) {
    let s = subflow.index() as usize;
    connection.congestion.save_prior(s);
    let undo = Undo::arm(subflow.seq.nxt(), subflow.segments.head_sent_once());
    subflow.state.enter_fast_recovery(subflow.seq.nxt(), undo);
    subflow.probe.cancel();
    subflow.count_fast_retransmit();
    if profile.loss.recovery == Recovery::Rack {
        subflow.arm(slot, cx);
    }
    connection.congestion.set_in_recovery(s, true);
    connection.notify_cc(cx.now, |cc, windows| cc.on_fast_retransmit(windows, s));
    if profile.options.prr {
        let target = connection.windows()[s].cwnd.max(1.0);
        let prr = Prr::new(target, subflow.segments.len(), subflow.stats().packets_sent);
        subflow.state.reduce_rate(prr);
    }
}

/// Ends a recovery: all data that was outstanding when it began is acknowledged. The window is
/// `ssthresh` already, because it was never inflated (RFC 5681, section 3.2, step 6).
fn exit_recovery(connection: &mut ConnectionSender, subflow: &mut SubflowSender) {
    subflow.state.exit_recovery();
    subflow.reordering.on_recovered();
    connection
        .congestion
        .set_in_recovery(subflow.index() as usize, false);
}

/// Undoes a recovery, because nothing was lost.
fn undo_recovery(connection: &mut ConnectionSender, subflow: &mut SubflowSender, now: u64) {
    let s = subflow.index() as usize;
    subflow.state.undo.disarm();
    if !subflow.state.is_open() {
        subflow.segments.unmark_lost();
        exit_recovery(connection, subflow);
    }
    connection.notify_cc_and_check_suppression(now, |cc, windows| cc.on_undo(windows, s));
}

/// Handles an acknowledgement in fast recovery or in the recovery from a timeout.
#[inline(always)]
pub fn on_ack_in_recovery(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    event: &AckEvent,
    now: u64,
) {
    if subflow.state.is_fast_recovery() {
        on_ack_in_fast_recovery(connection, subflow, profile, event, now);
    } else if subflow.state.is_loss_recovery() {
        on_ack_after_timeout(connection, subflow, profile, *event, now);
    }
}

#[inline(always)]
fn on_ack_in_fast_recovery(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    event: &AckEvent,
    now: u64,
) {
    let retransmitting = subflow.segments.any_retransmitted();
    match judge_fast(&subflow.state, profile, event, retransmitting) {
        FastVerdict::Spurious => undo_recovery(connection, subflow, now),
        FastVerdict::Complete => exit_recovery(connection, subflow),
        FastVerdict::NextHole => {
            subflow.segments.mark_head_lost();
            subflow.state.force_retransmission(true);
        }
        FastVerdict::Continue => {}
    }
}

#[cold]
fn on_ack_after_timeout(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    event: AckEvent,
    now: u64,
) {
    if subflow.state.awaits_new_data() {
        subflow.state.set_frto(Frto::Possible);
    }
    match judge(&subflow.state, profile, &subflow.seq, &event) {
        Verdict::Spurious => undo_recovery(connection, subflow, now),
        // The window grows first; whether there is new data is checked after that.
        Verdict::TryNewData => subflow.state.await_new_data(subflow.seq.nxt()),
        Verdict::Complete => exit_recovery(connection, subflow),
        Verdict::LossIsReal => subflow.state.set_frto(Frto::Off),
        Verdict::Continue => {}
    }
}

/// Handles what an acknowledgement shows about the outstanding loss probe, if there is one. If the
/// probe repaired a loss, congestion control is notified of one loss.
#[inline(always)]
pub fn on_probe_acknowledged(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    event: &AckEvent,
    now: u64,
) {
    if subflow.probe.is_outstanding()
        && let Some(twice) = event.probe_arrived_twice()
    {
        judge_probe(connection, subflow, event.ack(), twice, now);
    }
}

/// Judges an outstanding probe. A loss that it repaired reduces the window (RFC 8985, section 7.4.2).
fn judge_probe(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    ack: u64,
    is_duplicate: bool,
    now: u64,
) {
    if subflow.probe.on_ack(ack, is_duplicate) == ProbeAck::RepairedLoss {
        let s = subflow.index() as usize;
        subflow.count_fast_retransmit();
        connection.congestion.save_prior(s);
        connection.notify_cc(now, |cc, windows| cc.on_fast_retransmit(windows, s));
    }
}

/// Handles a D-SACK (RFC 2883), if the acknowledgement has one.
#[inline(always)]
pub fn on_dsack(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    event: &AckEvent,
    now: u64,
) {
    if event.reports_duplicate() && profile.loss.recovery == Recovery::Rack {
        apply_dsack(connection, subflow, now);
    }
}

#[cold]
fn apply_dsack(connection: &mut ConnectionSender, subflow: &mut SubflowSender, now: u64) {
    // Without reordering, RACK was not the reason for the retransmission (`tcp_dsack_seen`).
    if subflow.segments.reordered() {
        let rack = &mut subflow.reordering.rack;
        rack.on_dsack(subflow.seq.una(), subflow.seq.nxt());
    }
    if subflow.state.undo.on_dsack() {
        undo_recovery(connection, subflow, now);
    }
}
