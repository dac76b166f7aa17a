//! Round-trip time and retransmission timeout (RFC 6298).

use weft_spec::Profile;

/// The estimator of one subflow, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttEstimator {
    srtt: u64,
    rttvar: u64,
    rto: u64,
    /// The smallest sample; `u64::MAX` before the first one.
    min_rtt: u64,
    min_rto: u64,
    /// Minimum by which the RTO exceeds `srtt`.
    min_rto_margin: u64,
    max_rto: u64,
}

impl RttEstimator {
    /// Creates the estimator of a profile.
    pub fn from_profile(profile: &Profile) -> Self {
        let [initial, min, max] = [profile.rto.initial_rto, profile.rto.min_rto, profile.rto.max_rto];
        Self {
            min_rto_margin: if profile.rto.min_rto_beyond_srtt { min.0 } else { 0 },
            ..Self::new(initial.0, min.0, max.0)
        }
    }

    /// Creates an estimator without samples, whose RTO is `initial_rto` (RFC 6298, section 2, rule
    /// 2.1, has one second).
    pub fn new(initial_rto: u64, min_rto: u64, max_rto: u64) -> Self {
        Self {
            srtt: 0,
            rttvar: 0,
            rto: initial_rto.min(max_rto),
            min_rtt: u64::MAX,
            min_rto,
            min_rto_margin: 0,
            max_rto,
        }
    }

    /// Takes a sample (RFC 6298, section 2, rules 2.2 and 2.3; alpha = 1/8, beta = 1/4, K = 4; the
    /// clock's granularity is negligible). The bounds are settings (RFC 6298, section 2, rules 2.4
    /// and 2.5). With `min_rto_beyond_srtt`, the lower bound applies only to the variance's part, as
    /// in Linux (`tcp_rtt_estimator`, `__tcp_set_rto`).
    #[inline(always)]
    pub fn sample(&mut self, rtt: u64) {
        self.update_min(rtt);
        if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            self.rttvar = (3 * self.rttvar + self.srtt.abs_diff(rtt)) / 4;
            self.srtt = (7 * self.srtt + rtt) / 8;
        }
        self.rto = (self.srtt + (4 * self.rttvar).max(self.min_rto_margin)).clamp(self.min_rto, self.max_rto);
    }

    /// Updates the minimum (RFC 8985, section 6.2, step 1) with an RTT that may be smaller than any
    /// sample: that of the last segment that an acknowledgement covers. It is the minimum of all
    /// samples, not of a window of time.
    #[inline(always)]
    pub fn update_min(&mut self, rtt: u64) {
        self.min_rtt = self.min_rtt.min(rtt);
    }

    /// Doubles the RTO after a timeout (RFC 6298, section 5, rule 5.5).
    pub fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.max_rto);
    }

    /// Returns the smoothed round-trip time; 0 before the first sample.
    pub fn srtt(&self) -> u64 {
        self.srtt
    }

    /// Returns the smallest sample; `u64::MAX` before the first one.
    pub fn min_rtt(&self) -> u64 {
        self.min_rtt
    }

    /// Returns the smallest sample; 0 before the first one, so that no RTT is smaller.
    pub fn min_rtt_or_zero(&self) -> u64 {
        if self.min_rtt == u64::MAX { 0 } else { self.min_rtt }
    }

    /// Returns the retransmission timeout.
    pub fn rto(&self) -> u64 {
        self.rto
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6298 rule by rule: (samples, srtt, rttvar, rto), all in the same unit, bounds 1 and 60,000.
    #[test]
    fn rules_as_a_table() {
        let table: [(&[u64], u64, u64, u64); 4] = [
            (&[], 0, 0, 3000),
            (&[800], 800, 400, 800 + 4 * 400),
            // rttvar = 3/4 * 400 + 1/4 * |800 - 1600|; srtt = 7/8 * 800 + 1/8 * 1600.
            (&[800, 1600], 900, 500, 900 + 4 * 500),
            (&[800, 1600, 900], 900, 375, 900 + 4 * 375),
        ];
        for (samples, srtt, rttvar, rto) in table {
            let mut e = RttEstimator::new(3000, 1, 60_000);
            for &s in samples {
                e.sample(s);
            }
            assert_eq!(
                (e.srtt, e.rttvar, e.rto),
                (srtt, rttvar, rto),
                "after {samples:?}"
            );
        }
    }

    #[test]
    fn timeouts_double_up_to_the_bound_and_a_sample_ends_the_backoff() {
        let mut e = RttEstimator::new(1_000, 200, 3_000);
        e.back_off();
        assert_eq!(e.rto(), 2_000);
        e.back_off();
        assert_eq!(e.rto(), 3_000);
        e.sample(10);
        assert_eq!(e.rto(), 200);
    }
}
