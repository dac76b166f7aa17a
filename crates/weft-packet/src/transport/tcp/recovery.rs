//! Loss detection and recovery: fast recovery (RFC 5681, RFC 6582, RFC 6675, RFC 8985), recovery
//! after a timeout (RFC 5682), and undo.

use weft_cc::CongestionControl;
use weft_transports::{Profile, Recovery};

use crate::engine::Context;

use super::ack_event::AckEvent;
use super::connection::ConnectionSender;
use super::loss_detection::ProbeAck;
use super::send_data::SendSequence;
use super::state::{Frto, Prr, SubflowState, Undo};
use super::subflow::SubflowSender;
use super::timers::TimerPurpose;

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
        Recovery::NewReno => on_duplicate_without_sack(subflow, profile),
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
    if event.advances() {
        subflow.reordering.forget_segments_left();
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

/// Handles a duplicate acknowledgement without SACK. The first two may each send a new segment (RFC
/// 5681, section 3.2, step 1). The third one starts fast retransmit (RFC 5681, section 3.2, step 2),
/// unless the acknowledgement covers only data that was sent before the last recovery began. It may
/// then answer a retransmission (RFC 6582, section 3.2, step 2).
fn on_duplicate_without_sack(subflow: &mut SubflowSender, profile: &Profile) {
    let recover = subflow.state.recover();
    let beyond = recover == 0 || subflow.seq.una() > recover;
    if subflow.state.is_open() && subflow.reordering.indicates_loss() && beyond {
        subflow.segments.mark_head_lost();
        subflow.reordering.on_head_lost();
    }
    let has_left = subflow.state.is_fast_recovery()
        || subflow.segments.any_lost()
        || profile.loss.limited_transmit && beyond;
    // After a timeout, a duplicate means that new data of F-RTO has arrived (`tcp_process_loss`).
    let answers_new_data = profile.options.frto && subflow.seq.nxt() > recover;
    if has_left && !subflow.state.is_loss_recovery() || subflow.state.is_loss_recovery() && answers_new_data {
        subflow.reordering.on_segment_left(subflow.segments.len());
    }
}

/// The consequence of an acknowledgement in fast recovery (RFC 6582, section 3.2, step 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastVerdict {
    /// The recovery was spurious: its effects are undone.
    Spurious,
    /// All data that was outstanding when the recovery began is acknowledged.
    Complete,
    /// A partial acknowledgement reveals the next hole.
    NextHole,
    /// The recovery continues.
    Continue,
}

/// The consequence of an acknowledgement after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The timeout was spurious: its effects are undone.
    Spurious,
    /// The sender sends new data instead of retransmissions, to find out (RFC 5682, section 3.1,
    /// step 2b).
    TryNewData,
    /// All data that was outstanding when the recovery began is acknowledged.
    Complete,
    /// The loss was real (RFC 5682, section 3.1, step 3a).
    LossIsReal,
    /// The recovery continues.
    Continue,
}

/// Returns what follows from an acknowledgement in fast recovery. See RFC 6582, section 3.2, step 3,
/// and RFC 6675, section 5, step A. `retransmitting` is true if retransmissions are outstanding, of
/// which the acknowledgement of an original says nothing unless it ends the recovery
/// (`tcp_try_undo_partial`, `tcp_try_undo_recovery`). The timestamps of both must differ, which the
/// clock of a fast network does not ensure.
#[inline(always)]
pub fn judge_fast(
    state: &SubflowState,
    profile: &Profile,
    event: &AckEvent,
    retransmitting: bool,
) -> FastVerdict {
    let is_complete = event.ack() >= state.recover();
    if echoes_first_copy(state, profile, event)
        && state.undo.timestamps_differ()
        && (is_complete || !retransmitting)
    {
        FastVerdict::Spurious
    } else if is_complete {
        FastVerdict::Complete
    } else if event.advances() && profile.loss.recovery == Recovery::NewReno {
        FastVerdict::NextHole
    } else {
        FastVerdict::Continue
    }
}

/// Returns what follows from an acknowledgement after a timeout.
pub fn judge(state: &SubflowState, profile: &Profile, seq: &SendSequence, event: &AckEvent) -> Verdict {
    let recover = state.recover();
    let has_frto = state.frto() != Frto::Off;
    let has_new_data = seq.nxt() > recover;
    if is_spurious(state, profile, seq, event) {
        Verdict::Spurious
    } else if has_frto && !has_new_data && event.advances() && event.ack() < recover {
        Verdict::TryNewData
    } else if event.ack() >= recover {
        Verdict::Complete
    } else if has_frto && has_new_data && !(event.advances() && event.sacked().delivered == 0) {
        // A duplicate, or an acknowledgement that reports holes.
        Verdict::LossIsReal
    } else {
        Verdict::Continue
    }
}

/// Returns true if the timeout was spurious. The first acknowledgement after it then echoes an
/// earlier segment (RFC 3522, section 3.2) or covers data that was never retransmitted (RFC 5682,
/// section 3.1, step 3b).
fn is_spurious(state: &SubflowState, profile: &Profile, seq: &SendSequence, event: &AckEvent) -> bool {
    if state.undo.end().is_none() {
        return false;
    }
    let recover = state.recover();
    // Without selective acknowledgements, one that also covers a retransmission may be the answer to it
    // (`tcp_clean_rtx_queue`).
    let is_sure = profile.loss.recovery != Recovery::NewReno || !event.acked().retransmitted;
    let original_arrived = state.frto() != Frto::Off
        && (event.acked().first != u64::MAX && is_sure && event.ack() <= recover
            || event.sacked().first != u64::MAX && seq.expand(event.sack_end()) <= recover);
    echoes_first_copy(state, profile, event) || original_arrived
}

/// Returns true if timestamps show that an acknowledgement answers a segment that was sent before
/// the recovery, which can be undone (RFC 3522, section 3.2; `tcp_packet_delayed`).
#[inline(always)]
fn echoes_first_copy(state: &SubflowState, profile: &Profile, event: &AckEvent) -> bool {
    profile.options.timestamps
        && event.advances()
        && !event.echoes_retransmission()
        && state.undo.end().is_some_and(|end| event.ack() <= end)
}

#[cfg(test)]
mod tests {
    use crate::transport::tcp::segments::Acked;

    use super::*;

    /// Positions after this many bytes were sent.
    fn sent(bytes: u16) -> SendSequence {
        let mut seq = SendSequence::from_profile(&Profile::linux());
        seq.extend(bytes);
        seq
    }

    /// Segments that were sent once, at time 1.
    fn once(delivered: u32) -> Acked {
        Acked {
            delivered,
            first: 1,
            last: 1,
            ..Acked::default()
        }
    }

    fn fast() -> SubflowState {
        let mut state = SubflowState::new();
        state.enter_fast_recovery(1000, Undo::default());
        state
    }

    /// A timeout when 1000 bytes were outstanding, which can be undone.
    fn timed_out(frto: Frto) -> SubflowState {
        let mut state = SubflowState::new();
        let undo = Undo::arm(1000, None);
        state.enter_loss_recovery(0, 1000, false, Some(undo));
        state.set_frto(frto);
        state
    }

    /// An acknowledgement of retransmissions alone.
    fn advance(ack: u64) -> AckEvent {
        let retransmitted = Acked {
            retransmitted: true,
            ..Acked::default()
        };
        AckEvent::for_test(ack, true, retransmitted, retransmitted, 0)
    }

    #[test]
    fn fast_recovery_ends_with_the_data_that_was_outstanding() {
        for (recovery, partial) in [
            (Recovery::NewReno, FastVerdict::NextHole),
            (Recovery::Sack, FastVerdict::Continue),
            (Recovery::Rack, FastVerdict::Continue),
        ] {
            let profile = Profile::linux().with(|p| p.loss.recovery = recovery);
            let judge = |event: AckEvent| judge_fast(&fast(), &profile, &event, false);
            assert_eq!(judge(advance(999)), partial);
            assert_eq!(judge(advance(1000)), FastVerdict::Complete);
        }
    }

    /// The original of a segment arrives after its retransmission was sent.
    #[test]
    fn an_echo_of_the_first_copy_proves_a_fast_retransmit_spurious() {
        let mut state = SubflowState::new();
        let mut undo = Undo::arm(1000, Some(0));
        undo.on_retransmit(1_000_000_000);
        state.enter_fast_recovery(1000, undo);
        let first_copy = |ack| AckEvent::for_test(ack, false, once(1), Acked::default(), 0);
        let without = Profile::linux().with(|p| p.options.timestamps = false);
        for (profile, event, retransmitting, expected) in [
            (Profile::linux(), first_copy(1000), true, FastVerdict::Spurious),
            (Profile::linux(), first_copy(500), false, FastVerdict::Spurious),
            (Profile::linux(), first_copy(500), true, FastVerdict::Continue),
            (Profile::linux(), first_copy(1500), false, FastVerdict::Complete),
            (Profile::linux(), advance(1000), false, FastVerdict::Complete),
            (without, first_copy(1000), false, FastVerdict::Complete),
        ] {
            let verdict = judge_fast(&state, &profile, &event, retransmitting);
            assert_eq!(verdict, expected, "{}", event.ack());
        }
        // The clock has not ticked between both copies.
        let mut undo = Undo::arm(1000, Some(0));
        undo.on_retransmit(999_999_999);
        state.undo = undo;
        let verdict = judge_fast(&state, &Profile::linux(), &first_copy(1000), false);
        assert_eq!(verdict, FastVerdict::Complete);
    }

    #[test]
    fn frto_sends_new_data_and_judges_by_its_acknowledgements() {
        let profile = Profile::linux();
        let state = timed_out(Frto::Possible);
        let first = judge(&state, &profile, &sent(1000), &advance(100));
        assert_eq!(first, Verdict::TryNewData);
        let mut state = timed_out(Frto::Possible);
        state.await_new_data(1000);
        let late = AckEvent::for_test(200, true, Acked::default(), once(1), 1200);
        assert_eq!(judge(&state, &profile, &sent(1200), &late), Verdict::LossIsReal);
        let original = AckEvent::for_test(200, true, once(1), Acked::default(), 0);
        assert_eq!(judge(&state, &profile, &sent(1200), &original), Verdict::Spurious);
        let state = timed_out(Frto::Off);
        assert_eq!(judge(&state, &profile, &sent(1200), &original), Verdict::Continue);
    }

    /// RFC 5682, section 2.1, and `tcp_clean_rtx_queue`: without selective acknowledgements, originals next to a
    /// retransmission may have waited for it.
    #[test]
    fn without_sack_originals_next_to_a_retransmission_prove_nothing() {
        let mut state = timed_out(Frto::Possible);
        state.await_new_data(1000);
        let both = Acked {
            retransmitted: true,
            ..once(1)
        };
        let mixed = AckEvent::for_test(200, true, both, Acked::default(), 0);
        let originals = AckEvent::for_test(200, true, once(1), Acked::default(), 0);
        for (recovery, verdict) in [
            (Recovery::NewReno, Verdict::Continue),
            (Recovery::Rack, Verdict::Spurious),
        ] {
            let profile = Profile::linux().with(|p| p.loss.recovery = recovery);
            assert_eq!(judge(&state, &profile, &sent(1200), &mixed), verdict);
            assert_eq!(
                judge(&state, &profile, &sent(1200), &originals),
                Verdict::Spurious
            );
        }
    }

    #[test]
    fn an_echo_of_the_first_copy_proves_a_timeout_spurious_with_timestamps() {
        let state = timed_out(Frto::Off);
        let echo = AckEvent::for_test(100, false, Acked::default(), Acked::default(), 0);
        let without = Profile::linux().with(|p| p.options.timestamps = false);
        let seq = sent(1000);
        assert_eq!(judge(&state, &Profile::linux(), &seq, &echo), Verdict::Spurious);
        assert_eq!(judge(&state, &without, &seq, &echo), Verdict::Continue);
        let mut disarmed = timed_out(Frto::Off);
        disarmed.undo.disarm();
        assert_eq!(
            judge(&disarmed, &Profile::linux(), &seq, &echo),
            Verdict::Continue
        );
    }
}
