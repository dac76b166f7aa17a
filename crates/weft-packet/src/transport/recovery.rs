//! How a loss is found and repaired: fast recovery (RFC 5681, RFC 6582, RFC 6675, RFC 8985), recovery after a
//! timeout (RFC 5682), and undoing.

use weft_cc::CongestionControl;
use weft_spec::{Profile, Recovery};

use crate::engine::Context;
use crate::engine::packet::{DSACK, Packet, RETRANSMIT};

use super::connection::ConnectionSender;
use super::prr::Prr;
use super::segments::Acked;
use super::subflow::{State, SubflowSender};
use super::timers::TimerPurpose;
use super::undo::Undo;

/// An acknowledgement of everything up to `ack`, as a recovery sees it.
pub struct RecoveryAck<'a> {
    pub packet: &'a Packet,
    pub ack: u64,
    /// Did it advance?
    pub advanced: bool,
    /// What it covers cumulatively and selectively for the first time.
    pub acked: &'a Acked,
    pub sacked: &'a Acked,
}

/// Takes for lost what RACK says, waits for the end of the reordering window if something may yet be only late, and enters fast
/// recovery if it is the first loss.
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
        subflow.timer_purpose = TimerPurpose::ReorderTimeout;
        let deadline = due.saturating_add(profile.timer_slack.0).max(cx.now + 1);
        subflow.set_deadline(deadline, slot, cx);
    }
}

/// Fast retransmit, if something is lost that was not known to be.
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
    subflow.tlp_high_seq = 0;
    subflow.stats.fast_retransmits += 1;
    subflow.undo = Undo::arm(&connection.windows[s], subflow.nxt);
    if profile.recovery == Recovery::Rack {
        subflow.arm(slot, cx);
    }
    connection.windows[s].in_recovery = true;
    connection.notify_cc(cx.now, |cc, windows| cc.on_fast_retransmit(windows, s));
    if profile.proportional_rate_reduction {
        subflow.prr_active = true;
        let target = connection.windows[s].cwnd;
        subflow.prr = Prr::new(target, subflow.segments.len(), subflow.stats.packets_sent);
    }
}

/// A recovery ends: all that was outstanding when it began is acknowledged.
fn exit_recovery(connection: &mut ConnectionSender, subflow: &mut SubflowSender) {
    subflow.state = State::Open;
    subflow.reno_sacked = 0;
    subflow.prr_active = false;
    subflow.frto_waiting = false;
    subflow.force_retransmit = false;
    subflow.rack.on_recovered();
    connection.windows[subflow.index as usize].in_recovery = false;
}

/// Nothing was lost after all.
fn undo_recovery(connection: &mut ConnectionSender, subflow: &mut SubflowSender) {
    let window = &mut connection.windows[subflow.index as usize];
    subflow.undo.restore(window);
    if subflow.state != State::Open {
        subflow.segments.unmark_lost();
        exit_recovery(connection, subflow);
    }
}

/// An acknowledgement came while a recovery is under way.
#[cold]
pub fn on_ack_in_recovery(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    recovery_ack: &RecoveryAck<'_>,
) {
    subflow.frto_waiting = false;
    if subflow.state == State::Loss && was_spurious(subflow, profile, recovery_ack) {
        undo_recovery(connection, subflow);
    } else if subflow.state == State::Loss && subflow.frto && frto_try_new_data(subflow, recovery_ack) {
        // The window has still to grow; whether there is new data is seen then.
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

/// Was the timeout spurious? So it was if the first acknowledgement after it echoes what was sent before it (RFC 3522, section
/// 3.2), or covers what was never sent again (RFC 5682, section 3.1, step 3b).
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

/// F-RTO (RFC 5682, section 3.1): the first acknowledgement that advances makes the sender try new data instead of
/// retransmissions (step 2b), unless it is a duplicate or tells of holes, which says that the loss was real (step 3a).
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

/// The receiver reported a duplicate (RFC 2883).
#[cold]
pub fn on_dsack(connection: &mut ConnectionSender, subflow: &mut SubflowSender, packet: &Packet) {
    debug_assert!(packet.flags & DSACK != 0);
    subflow.rack.on_dsack(subflow.una, subflow.nxt);
    if subflow.undo.on_dsack() {
        undo_recovery(connection, subflow);
    }
}
