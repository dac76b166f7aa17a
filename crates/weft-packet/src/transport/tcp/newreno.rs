//! Loss detection without SACK (RFC 5681, section 3.2; RFC 6582).

use weft_transports::Profile;

use super::subflow::SubflowSender;

/// Handles a duplicate acknowledgement without SACK. The first two may each send a new segment (RFC
/// 5681, section 3.2, step 1). The third one starts fast retransmit (RFC 5681, section 3.2, step 2),
/// unless the acknowledgement covers only data that was sent before the last recovery began. It may
/// then answer a retransmission (RFC 6582, section 3.2, step 2).
pub fn on_duplicate(subflow: &mut SubflowSender, profile: &Profile) {
    let recover = subflow.state.recover();
    let beyond = recover == 0 || subflow.seq.una() > recover;
    if subflow.state.is_open() && subflow.reordering.indicates_loss() && beyond {
        subflow.segments.mark_head_lost();
        subflow.reordering.on_head_lost();
    }
    let has_left = subflow.state.is_fast_recovery()
        || subflow.segments.any_lost()
        || profile.loss.limited_transmit && beyond;
    if has_left && !subflow.state.is_loss_recovery() {
        subflow.reordering.on_segment_left(subflow.segments.len());
    }
}
