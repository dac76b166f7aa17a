//! Decisions about an acknowledgement in fast recovery (RFC 6582) and after a timeout: F-RTO (RFC
//! 5682) and the Eifel detection algorithm (RFC 3522). The module `recovery` applies them.

use weft_transports::{Profile, Recovery};

use super::ack_event::AckEvent;
use super::send_sequence::SendSequence;
use super::state::{Frto, SubflowState};

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
    let original_arrived = state.frto() != Frto::Off
        && (event.acked().first != u64::MAX && event.ack() <= recover
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
    use crate::transport::tcp::undo::Undo;

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
