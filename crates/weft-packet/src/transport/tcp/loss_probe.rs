//! Tail loss probes (RFC 8985, section 7).

use weft_transports::{Profile, Recovery};

/// The loss probes of a subflow.
pub struct LossProbe {
    /// Time that a probe waits in addition to two RTTs; `u64::MAX` if the profile has no probes.
    slack: u64,
    /// The next byte to send after the outstanding probe (`TLP.end_seq`); 0 if no probe is
    /// outstanding.
    tlp_high_seq: u64,
    /// True if the probe was a retransmission (`TLP.is_retrans`).
    is_retrans: bool,
}

/// The answer of an acknowledgement to the outstanding probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeAck {
    /// No answer: the probe stays outstanding.
    Nothing,
    /// No segment was lost.
    NoLoss,
    /// The probe repaired a loss.
    RepairedLoss,
}

impl LossProbe {
    /// Creates the state of a subflow with this profile.
    pub fn from_profile(profile: &Profile) -> Self {
        let slack = if profile.loss.tail_loss_probe && profile.loss.recovery == Recovery::Rack {
            profile.loss.timer_slack.0.min(u64::MAX / 4)
        } else {
            u64::MAX
        };
        Self {
            slack,
            tlp_high_seq: 0,
            is_retrans: false,
        }
    }

    /// Returns true if the profile has probes.
    #[inline(always)]
    pub fn is_enabled(&self) -> bool {
        self.slack != u64::MAX
    }

    /// Returns true if a probe is outstanding.
    #[inline(always)]
    pub fn is_outstanding(&self) -> bool {
        self.tlp_high_seq != 0
    }

    /// Returns the probe timeout: "PTO = 2 * SRTT" (section 7.2) and the timer's slack.
    /// The profile must have probes.
    #[inline(always)]
    pub fn pto(&self, srtt: u64) -> u64 {
        2 * srtt + self.slack
    }

    /// Records a probe, after which `nxt` is the next byte to send.
    pub fn on_sent(&mut self, nxt: u64, is_retrans: bool) {
        self.tlp_high_seq = nxt;
        self.is_retrans = is_retrans;
    }

    /// Drops the record of the outstanding probe.
    pub fn cancel(&mut self) {
        self.tlp_high_seq = 0;
    }

    /// Handles an acknowledgement of all bytes before `ack` while a probe is outstanding (RFC
    /// 8985, section 7.4.2). `is_duplicate` is true if it reports that both copies have arrived.
    pub fn on_ack(&mut self, ack: u64, is_duplicate: bool) -> ProbeAck {
        if ack < self.tlp_high_seq {
            return ProbeAck::Nothing;
        }
        let repaired = self.is_retrans && !is_duplicate;
        if repaired && ack == self.tlp_high_seq {
            // Which copy was acknowledged is not known yet.
            return ProbeAck::Nothing;
        }
        self.cancel();
        if repaired {
            ProbeAck::RepairedLoss
        } else {
            ProbeAck::NoLoss
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what an acknowledgement shows about a probe that ends at byte 1000, and whether the
    /// probe is outstanding after it.
    fn answer(is_retrans: bool, ack: u64, is_duplicate: bool) -> (ProbeAck, bool) {
        let mut probe = LossProbe::from_profile(&Profile::linux());
        probe.on_sent(1000, is_retrans);
        (probe.on_ack(ack, is_duplicate), probe.is_outstanding())
    }

    #[test]
    fn a_probe_of_new_data_repairs_nothing() {
        assert_eq!(answer(false, 999, false), (ProbeAck::Nothing, true));
        assert_eq!(answer(false, 1000, false), (ProbeAck::NoLoss, false));
        assert_eq!(answer(false, 1001, false), (ProbeAck::NoLoss, false));
    }

    /// An acknowledgement beyond `TLP.end_seq` without a report of a duplicate shows that the first
    /// copy was lost.
    #[test]
    fn a_retransmission_repairs_a_loss_unless_both_copies_arrive() {
        assert_eq!(answer(true, 1000, false), (ProbeAck::Nothing, true));
        assert_eq!(answer(true, 1000, true), (ProbeAck::NoLoss, false));
        assert_eq!(answer(true, 1001, false), (ProbeAck::RepairedLoss, false));
        assert_eq!(answer(true, 1001, true), (ProbeAck::NoLoss, false));
    }
}
