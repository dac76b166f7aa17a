//! RTT samples: what an acknowledgement shows about the round-trip time (RFC 6298, section 3; RFC
//! 7323, section 4).

use weft_transports::Profile;

use super::ack_event::AckEvent;
use super::connection::ConnectionSender;
use super::subflow::SubflowSender;

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
