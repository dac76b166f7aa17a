//! Loss detection and recovery: fast recovery (RFC 5681, RFC 6582, RFC 6675, RFC 8985), recovery
//! after a timeout (RFC 5682), and undo.

use weft_cc::CongestionControl;
use weft_spec::{Profile, Recovery};

use crate::engine::Context;
use crate::packet::{DSACK, Packet};

use super::connection::ConnectionSender;
use super::loss_probe::ProbeAck;
use super::prr::Prr;
use super::state::Frto;
use super::subflow::SubflowSender;
use super::timer::TimerPurpose;
use super::undo::Undo;
use super::verdict::{FastVerdict, TimeoutAck, Verdict, judge, judge_fast};

/// Marks the segments as lost that RACK considers lost, and enters fast recovery at the first loss.
/// If a segment may still be only late, sets the timer to the end of the reordering window.
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
        let deadline = due.saturating_add(profile.timer_slack.0).max(cx.now + 1);
        subflow.timer.set(deadline, slot, cx);
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
    let undo = Undo::arm(subflow.seq.nxt(), None);
    subflow.state.enter_fast_recovery(subflow.seq.nxt(), undo);
    subflow.probe.cancel();
    subflow.count_fast_retransmit();
    if profile.recovery == Recovery::Rack {
        subflow.arm(slot, cx);
    }
    connection.congestion.set_in_recovery(s, true);
    connection.notify_cc(cx.now, |cc, windows| cc.on_fast_retransmit(windows, s));
    if profile.prr {
        let target = connection.windows()[s].cwnd;
        let prr = Prr::new(target, subflow.segments.len(), subflow.stats().packets_sent);
        subflow.state.reduce_rate(prr);
    }
}

/// Ends a recovery: all data that was outstanding when it began is acknowledged.
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

/// Handles an acknowledgement of all bytes before `ack` in fast recovery, which has `advanced` or
/// not.
#[inline(always)]
pub fn on_ack_in_fast_recovery(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    ack: u64,
    advanced: bool,
) {
    match judge_fast(&subflow.state, profile, ack, advanced) {
        FastVerdict::Complete => exit_recovery(connection, subflow),
        FastVerdict::NextHole => {
            subflow.segments.mark_head_lost();
            subflow.state.force_retransmission(true);
        }
        FastVerdict::Continue => {}
    }
}

/// Handles an acknowledgement in the recovery from a timeout.
#[cold]
pub fn on_ack_after_timeout(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    timeout_ack: &TimeoutAck<'_>,
    now: u64,
) {
    if subflow.state.awaits_new_data() {
        subflow.state.set_frto(Frto::Possible);
    }
    match judge(&subflow.state, profile, subflow.seq.nxt(), timeout_ack) {
        Verdict::Spurious => undo_recovery(connection, subflow, now),
        // The window grows first; whether there is new data is checked after that.
        Verdict::TryNewData => subflow.state.await_new_data(subflow.seq.nxt()),
        Verdict::Complete => exit_recovery(connection, subflow),
        Verdict::LossIsReal => subflow.state.set_frto(Frto::Off),
        Verdict::Continue => {}
    }
}

/// Handles an acknowledgement of all bytes before `ack` while a loss probe is outstanding. If the
/// probe repaired a loss, congestion control is notified of one loss (RFC 8985, section 7.4).
pub fn on_probe_acknowledged(
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

/// Handles a D-SACK (RFC 2883).
#[cold]
pub fn on_dsack(connection: &mut ConnectionSender, subflow: &mut SubflowSender, packet: &Packet, now: u64) {
    debug_assert!(packet.flags & DSACK != 0);
    subflow
        .reordering
        .rack
        .on_dsack(subflow.seq.una(), subflow.seq.nxt());
    if subflow.state.undo.on_dsack() {
        undo_recovery(connection, subflow, now);
    }
}
