//! The purpose of a sender's timer, and its slack.

use weft_spec::{Profile, Recovery};

/// The purpose of a subflow's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerPurpose {
    /// Retransmission, also of a SYN or of the third packet of a join.
    Retransmit,
    /// A tail loss probe.
    LossProbe,
    /// A tail loss probe that has also waited for a delayed acknowledgement.
    DelayedAckProbe,
    /// The end of a reordering window.
    ReorderTimeout,
}

/// Returns the slack of a profile's loss probes; `u64::MAX` if it has none.
pub fn tlp_slack(profile: &Profile) -> u64 {
    if profile.tail_loss_probe && profile.recovery == Recovery::Rack {
        profile.timer_slack.0.min(u64::MAX / 4)
    } else {
        u64::MAX
    }
}
