//! Loss detection and recovery: fast recovery (RFC 5681, RFC 6582, RFC 6675, RFC 8985), recovery
//! after a timeout (RFC 5682), and undo.

use weft_cc::CongestionControl;
use weft_spec::{Profile, Recovery};

use crate::engine::Context;
use crate::packet::{DSACK, Packet, RETRANSMIT};

use super::connection::ConnectionSender;
use super::loss_probe::ProbeAck;
use super::prr::Prr;
use super::segments::Acked;
use super::subflow::{State, SubflowSender};
use super::timer::TimerPurpose;
use super::undo::Undo;

/// An acknowledgement of all bytes before `ack` during a recovery.
pub struct RecoveryAck<'a> {
    pub packet: &'a Packet,
    pub ack: u64,
    /// True if the acknowledgement advanced.
    pub advanced: bool,
    /// Segments covered cumulatively for the first time, and selectively.
    pub acked: &'a Acked,
    pub sacked: &'a Acked,
}

/// Marks the segments as lost that RACK considers lost, and enters fast recovery at the first loss.
/// If a segment may still be only late, sets the timer to the end of the reordering window.
pub fn detect_rack_losses(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    slot: u32,
    cx: &mut Context<'_>,
) {
    let certain = subflow.state != State::Open || subflow.segments.sacked() >= subflow.dupack_threshold;
    if !certain && subflow.rack.is_scattered() {
        return;
    }
    let (min_rtt, srtt) = (subflow.rtt.min_rtt_or_zero(), subflow.rtt.srtt());
    let window = subflow
        .rack
        .window(subflow.segments.reordered(), certain, min_rtt, srtt);
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
    if subflow.state == State::Open && subflow.segments.any_lost() {
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
    let s = subflow.index as usize;
    subflow.state = State::Recovery;
    subflow.recover = subflow.nxt;
    subflow.force_retransmit = true;
    subflow.probe.cancel();
    subflow.stats.fast_retransmits += 1;
    subflow.undo = Undo::arm(&mut connection.windows[s], subflow.nxt);
    if profile.recovery == Recovery::Rack {
        subflow.arm(slot, cx);
    }
    connection.windows[s].in_recovery = true;
    connection.notify_cc(cx.now, |cc, windows| cc.on_fast_retransmit(windows, s));
    if profile.prr {
        subflow.prr_active = true;
        let target = connection.windows[s].cwnd;
        subflow.prr = Prr::new(target, subflow.segments.len(), subflow.stats.packets_sent);
    }
}

/// Ends a recovery: all data that was outstanding when it began is acknowledged.
fn exit_recovery(connection: &mut ConnectionSender, subflow: &mut SubflowSender) {
    subflow.state = State::Open;
    subflow.reno_sacked = 0;
    subflow.prr_active = false;
    subflow.frto_waiting = false;
    subflow.force_retransmit = false;
    subflow.rack.on_recovered();
    connection.windows[subflow.index as usize].in_recovery = false;
}

/// Undoes a recovery, because nothing was lost.
fn undo_recovery(connection: &mut ConnectionSender, subflow: &mut SubflowSender, now: u64) {
    let s = subflow.index as usize;
    subflow.undo.armed = false;
    if subflow.state != State::Open {
        subflow.segments.unmark_lost();
        exit_recovery(connection, subflow);
    }
    connection.notify_cc_and_check_suppression(now, |cc, windows| cc.on_undo(windows, s));
}

/// Handles an acknowledgement during a recovery.
#[cold]
pub fn on_ack_in_recovery(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    recovery_ack: &RecoveryAck<'_>,
    now: u64,
) {
    subflow.frto_waiting = false;
    if subflow.state == State::Loss && was_spurious(subflow, profile, recovery_ack) {
        undo_recovery(connection, subflow, now);
    } else if subflow.state == State::Loss && subflow.frto && frto_try_new_data(subflow, recovery_ack) {
        // The window grows first; whether there is new data is checked after that.
        subflow.frto_waiting = true;
    } else if recovery_ack.ack >= subflow.recover {
        exit_recovery(connection, subflow);
    } else if subflow.state == State::Recovery
        && profile.recovery == Recovery::NewReno
        && recovery_ack.advanced
    {
        // A partial acknowledgement reveals the next hole (RFC 6582, section 3.2).
        subflow.segments.mark_head_lost();
        subflow.force_retransmit = true;
    }
}

/// Returns true if the timeout was spurious. The first acknowledgement after it then echoes an
/// earlier segment (RFC 3522, section 3.2) or covers data that was never retransmitted (RFC 5682,
/// section 3.1, step 3b).
fn was_spurious(subflow: &SubflowSender, profile: &Profile, recovery_ack: &RecoveryAck<'_>) -> bool {
    let undo = &subflow.undo;
    if !undo.armed {
        return false;
    }
    let of_the_first_copy = profile.timestamps
        && recovery_ack.advanced
        && recovery_ack.packet.flags & RETRANSMIT == 0
        && recovery_ack.ack <= undo.end;
    let original_arrived = subflow.frto
        && (recovery_ack.acked.first != u64::MAX && recovery_ack.ack <= subflow.recover
            || recovery_ack.sacked.first != u64::MAX
                && subflow.expand_seq(recovery_ack.packet.hi) <= subflow.recover);
    of_the_first_copy || original_arrived
}

/// Applies F-RTO (RFC 5682, section 3.1): the first acknowledgement that advances makes the sender
/// send new data instead of retransmissions (step 2b). A duplicate, or an acknowledgement that
/// reports holes, shows that the loss was real (step 3a).
fn frto_try_new_data(subflow: &mut SubflowSender, recovery_ack: &RecoveryAck<'_>) -> bool {
    if subflow.nxt > subflow.recover {
        subflow.frto &= recovery_ack.advanced && recovery_ack.sacked.delivered == 0;
        return false;
    }
    if !recovery_ack.advanced || recovery_ack.ack >= subflow.recover {
        return false;
    }
    subflow.recover = subflow.nxt;
    true
}

/// Handles an acknowledgement of all bytes before `ack` while a loss probe is outstanding. A loss
/// that the probe repaired counts as one loss (RFC 8985, section 7.4).
pub fn on_probe_acknowledged(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    ack: u64,
    is_duplicate: bool,
    now: u64,
) {
    if subflow.probe.on_ack(ack, is_duplicate) == ProbeAck::RepairedLoss {
        let s = subflow.index as usize;
        subflow.stats.fast_retransmits += 1;
        connection.windows[s].save_prior();
        connection.notify_cc(now, |cc, windows| cc.on_fast_retransmit(windows, s));
    }
}

/// Handles a D-SACK (RFC 2883).
#[cold]
pub fn on_dsack(connection: &mut ConnectionSender, subflow: &mut SubflowSender, packet: &Packet, now: u64) {
    debug_assert!(packet.flags & DSACK != 0);
    subflow.rack.on_dsack(subflow.una, subflow.nxt);
    if subflow.undo.on_dsack() {
        undo_recovery(connection, subflow, now);
    }
}
