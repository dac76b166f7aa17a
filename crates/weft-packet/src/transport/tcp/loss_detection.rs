//! Signs of loss and of reordering on a subflow: duplicate acknowledgements (RFC 5681, section 3.2;
//! RFC 6675, section 2), RACK's reordering window (RFC 8985, section 6.2), and tail loss probes
//! (RFC 8985, section 7).

use weft_transports::{Profile, Recovery};

/// Number of recoveries without a reported duplicate after which the window is reset.
const REO_WND_PERSIST: u32 = 16;

/// Maximum of the window, in quarters of the minimum RTT.
const MAX_REO_WND_MULT: u32 = 255;

/// The reordering that one subflow has observed on its path.
#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// The window in quarters of the minimum RTT (`RACK.reo_wnd_mult`).
    reo_wnd_mult: u32,
    /// Value of `reo_wnd_mult` at the beginning.
    min_mult: u32,
    /// Number of recoveries for which the window stays this wide (`RACK.reo_wnd_persist`).
    reo_wnd_persist: u32,
    /// The window does not grow until this byte is acknowledged (`RACK.dsack_round`).
    dsack_round: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            reo_wnd_mult: 1,
            min_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: 0,
        }
    }
}

impl Rack {
    /// Returns the state of a subflow whose packets overtake each other from the beginning: the
    /// window always has its maximum.
    pub fn for_scattered() -> Self {
        Self {
            reo_wnd_mult: MAX_REO_WND_MULT,
            min_mult: MAX_REO_WND_MULT,
            ..Self::default()
        }
    }

    /// Returns true if a segment is lost only after as many packets have overtaken it as the
    /// duplicate threshold says.
    pub fn is_scattered(&self) -> bool {
        self.min_mult == MAX_REO_WND_MULT
    }

    /// Handles a D-SACK (RFC 8985, section 6.2, step 4): a segment was retransmitted needlessly. "Grow the reordering window per
    /// round that sees DSACK."
    pub fn on_dsack(&mut self, una: u64, nxt: u64) {
        if una >= self.dsack_round {
            self.dsack_round = nxt;
            self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(MAX_REO_WND_MULT);
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    /// Handles the end of a recovery (RFC 8985, section 6.2, step 4). "Reset the window after 16 DSACK-free recoveries."
    pub fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = self.min_mult;
        }
    }

    /// Returns the window (RFC 8985, section 6.2, step 4), in the unit of the RTTs. `certain` is true during a recovery, or if as
    /// many segments are sacked as the duplicate threshold says.
    pub fn window(&self, reordered: bool, certain: bool, min_rtt: u64, srtt: u64) -> u64 {
        if !reordered && certain && !self.is_scattered() {
            return 0;
        }
        (min_rtt / 4).saturating_mul(self.reo_wnd_mult.into()).min(srtt)
    }
}

/// The duplicate acknowledgements of a subflow, and the reordering that its path has shown.
pub struct Reordering {
    /// Number of consecutive duplicate acknowledgements.
    dupacks: u32,
    /// Number of duplicate acknowledgements that indicates a loss (`DupThresh`).
    threshold: u32,
    /// Segments that have left the network according to duplicate acknowledgements, without SACK
    /// (Linux's `tcp_add_reno_sack`).
    reno_sacked: u32,
    /// RACK's reordering window.
    pub rack: Rack,
}

impl Reordering {
    /// Creates the state of a subflow with this profile.
    pub fn from_profile(profile: &Profile) -> Self {
        Self {
            dupacks: 0,
            threshold: profile.loss.dupack_threshold,
            reno_sacked: 0,
            rack: Rack::default(),
        }
    }

    /// Expects packets to overtake each other from the beginning: only this many duplicate
    /// acknowledgements indicate a loss.
    pub fn expect_scattering(&mut self, threshold: u32) {
        self.threshold = threshold;
        self.rack = Rack::for_scattered();
    }

    /// Returns the number of consecutive duplicate acknowledgements.
    pub fn dupacks(&self) -> u32 {
        self.dupacks
    }

    /// Returns the number of duplicate acknowledgements that indicates a loss.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Returns true if duplicate acknowledgements indicate a loss.
    pub fn indicates_loss(&self) -> bool {
        self.dupacks >= self.threshold
    }

    /// Returns the segments that have left the network according to duplicate acknowledgements.
    #[inline(always)]
    pub fn reno_sacked(&self) -> u32 {
        self.reno_sacked
    }

    /// Handles an acknowledgement that advances by this many segments and leaves `outstanding`.
    /// Returns the segments that had left the network according to duplicates before.
    #[inline(always)]
    pub fn on_advance(&mut self, packets: u32, outstanding: u32) -> u32 {
        let before = self.reno_sacked;
        self.dupacks = 0;
        self.reno_sacked = before.saturating_sub(packets - 1).min(outstanding);
        before
    }

    /// Counts a duplicate acknowledgement, if it counts.
    pub fn on_duplicate(&mut self, counts: bool) {
        self.dupacks += u32::from(counts);
    }

    /// Counts the duplicates that made the first segment count as lost, except the last one, as
    /// segments that have left the network.
    pub fn on_head_lost(&mut self) {
        self.reno_sacked = self.threshold - 1;
    }

    /// Counts a segment that has left the network, of those outstanding. They are subtracted from
    /// the pipe instead of inflating the window (RFC 5681, section 3.2, steps 3 and 4).
    pub fn on_segment_left(&mut self, outstanding: u32) {
        self.reno_sacked = (self.reno_sacked + 1).min(outstanding);
    }

    /// Counts no segment any more as having left the network (`tcp_reset_reno_sack`).
    pub fn forget_segments_left(&mut self) {
        self.reno_sacked = 0;
    }

    /// Handles the end of a recovery.
    pub fn on_recovered(&mut self) {
        self.reno_sacked = 0;
        self.rack.on_recovered();
    }

    /// Handles a timeout.
    pub fn on_timeout(&mut self) {
        self.dupacks = 0;
        self.reno_sacked = 0;
    }
}

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

    /// Duplicates before a timeout say nothing about what is sent after it.
    #[test]
    fn a_timeout_ends_the_count_of_duplicates() {
        let mut reordering = Reordering::from_profile(&Profile::linux());
        reordering.on_duplicate(true);
        reordering.on_segment_left(3);
        assert_eq!((reordering.dupacks(), reordering.reno_sacked()), (1, 1));
        reordering.on_timeout();
        assert_eq!((reordering.dupacks(), reordering.reno_sacked()), (0, 0));
    }

    #[test]
    fn the_window_is_a_quarter_of_the_minimum_rtt_or_nothing() {
        let rack = Rack::default();
        let table = [
            // reordered, certain, window
            (false, false, 25),
            (false, true, 0),
            (true, false, 25),
            (true, true, 25),
        ];
        for (reordered, certain, window) in table {
            assert_eq!(
                rack.window(reordered, certain, 100, 400),
                window,
                "{reordered}, {certain}"
            );
        }
    }

    #[test]
    fn duplicates_widen_it_once_a_round_up_to_the_smoothed_rtt() {
        let mut rack = Rack::default();
        rack.on_dsack(10, 50);
        rack.on_dsack(20, 60);
        assert_eq!(rack.window(true, true, 100, 400), 50);
        rack.on_dsack(50, 90);
        assert_eq!(rack.window(true, true, 100, 400), 75);
        assert_eq!(rack.window(true, true, 100, 60), 60);
    }

    #[test]
    fn what_is_scattered_has_a_smoothed_rtt_of_time() {
        let mut rack = Rack::for_scattered();
        for _ in 0..20 {
            for (reordered, certain) in [(false, false), (false, true), (true, true)] {
                assert_eq!(rack.window(reordered, certain, 100, 400), 400);
            }
            rack.on_recovered();
        }
    }

    #[test]
    fn sixteen_recoveries_without_duplicates_narrow_it() {
        let mut rack = Rack::default();
        rack.on_dsack(0, 50);
        for recoveries in 1..=16 {
            assert_eq!(
                rack.window(true, true, 100, 400),
                50,
                "after {} recoveries",
                recoveries - 1
            );
            rack.on_recovered();
        }
        assert_eq!(rack.window(true, true, 100, 400), 25);
    }

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
