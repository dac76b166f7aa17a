//! Round-trip time and retransmission timeout (RFC 6298, or Linux's `tcp_rtt_estimator`).

use weft_transports::{Profile, RtoEstimator};

use super::send_data::SendSequence;

/// The estimator of one subflow, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttEstimator {
    srtt: u64,
    /// RTTVAR; with Linux's estimator four times the mean deviation (`mdev_us`).
    rttvar: u64,
    rto: u64,
    /// The smallest sample; `u64::MAX` before the first one.
    min_rtt: u64,
    min_rto: u64,
    max_rto: u64,
    linux: Option<Spread>,
}

/// The part of the RTO beyond SRTT in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spread {
    /// The spread (`rttvar_us`).
    rttvar: u64,
    /// Largest deviation of this round trip, and at least the minimum RTO (`mdev_max_us`).
    max_mdev: u64,
    /// The round trip ends when data beyond this byte is acknowledged (`rtt_seq`).
    end: u64,
}

impl Spread {
    /// Handles a sample after which the mean deviation is `mdev / 4` (`tcp_rtt_estimator`). The
    /// spread is the largest deviation of a round trip. Per round trip it falls by at most a quarter
    /// of the difference.
    #[inline(always)]
    fn update(&mut self, mdev: u64, min_rto: u64, seq: &SendSequence) {
        if mdev > self.max_mdev {
            self.max_mdev = mdev;
            self.rttvar = self.rttvar.max(mdev);
        }
        if seq.una() > self.end {
            self.rttvar -= self.rttvar.saturating_sub(self.max_mdev) / 4;
            self.end = seq.nxt();
            self.max_mdev = min_rto;
        }
    }
}

impl RttEstimator {
    /// Creates the estimator of a profile.
    pub fn from_profile(profile: &Profile) -> Self {
        let [initial, min, max] = [profile.rto.initial_rto, profile.rto.min_rto, profile.rto.max_rto];
        let linux = Spread {
            rttvar: 0,
            max_mdev: 0,
            end: 0,
        };
        Self {
            linux: (profile.rto.rto_estimator == RtoEstimator::Linux).then_some(linux),
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
            max_rto,
            linux: None,
        }
    }

    /// Takes a sample (RFC 6298, section 2, rules 2.2 and 2.3; alpha = 1/8, beta = 1/4, K = 4; the
    /// clock's granularity is negligible). The bounds are settings (RFC 6298, section 2, rules 2.4
    /// and 2.5). In Linux, the lower bound applies only to the variance's part
    /// (`tcp_rtt_estimator`, `__tcp_set_rto`).
    #[inline(always)]
    pub fn sample(&mut self, rtt: u64, seq: &SendSequence) {
        self.update_min(rtt);
        if self.linux.is_some() {
            self.sample_linux(rtt, seq);
            return;
        }
        if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            self.rttvar = (3 * self.rttvar + self.srtt.abs_diff(rtt)) / 4;
            self.srtt = (7 * self.srtt + rtt) / 8;
        }
        self.rto = (self.srtt + 4 * self.rttvar).clamp(self.min_rto, self.max_rto);
    }

    /// Takes a sample as Linux does. A deviation that is larger than the mean, because the RTT has
    /// fallen, has a weight of 1/32 instead of 1/4.
    #[inline(always)]
    fn sample_linux(&mut self, rtt: u64, seq: &SendSequence) {
        let Some(linux) = &mut self.linux else {
            return;
        };
        if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = 2 * rtt;
            linux.rttvar = self.rttvar.max(self.min_rto);
            linux.max_mdev = linux.rttvar;
            linux.end = seq.nxt();
        } else {
            let mean = self.rttvar / 4;
            let deviation = self.srtt.abs_diff(rtt);
            if deviation <= mean {
                self.rttvar -= mean - deviation;
            } else {
                let weight = if rtt < self.srtt { 8 } else { 1 };
                self.rttvar += (deviation - mean) / weight;
            }
            linux.update(self.rttvar, self.min_rto, seq);
            self.srtt = (7 * self.srtt + rtt) / 8;
        }
        self.rto = (self.srtt + linux.rttvar).min(self.max_rto);
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
                e.sample(s, &SendSequence::from_profile(&Profile::linux()));
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
        e.sample(10, &SendSequence::from_profile(&Profile::linux()));
        assert_eq!(e.rto(), 200);
    }

    /// Samples of Linux 6.18 with a minimum RTO of 5 ms, of a flow whose queue of 20 packets fills
    /// and drains at 2 Mbps. The columns are the sample, the bytes acknowledged and sent, and the
    /// estimates `mdev_us`, `rttvar_us` and `srtt_us / 8` after it. Linux has whole microseconds,
    /// shifted by 2 and 3 bits.
    #[test]
    fn estimates_are_those_that_linux_recorded() {
        let profile = Profile::linux().with(|p| p.rto.min_rto = weft_spec::Time::from_ms(5));
        let mut e = RttEstimator::from_profile(&profile);
        let mut samples = 0;
        for (line, text) in (2..).zip(include_str!("rtt/samples.csv").lines().skip(1)) {
            let cells: Vec<u64> = text.split(',').map(|cell| cell.parse().unwrap()).collect();
            let [rtt, acked, sent, mdev, spread, srtt] = cells[..] else {
                panic!("line {line}")
            };
            let mut seq = SendSequence::from_profile(&Profile::linux());
            while seq.nxt() < sent {
                seq.extend((sent - seq.nxt()).min(10_000) as u16);
            }
            seq.advance(acked);
            e.sample(rtt * 1_000_000, &seq);
            let found = [e.rttvar, e.linux.unwrap().rttvar, e.srtt].map(|ps| ps / 1_000_000);
            let most = found
                .iter()
                .zip([mdev, spread, srtt])
                .map(|(a, b)| a.abs_diff(b))
                .max();
            assert!(most.unwrap() <= 20, "line {line}: {text}: {found:?}");
            samples += 1;
        }
        assert!(samples > 400);
    }

    /// `__tcp_set_rto`: the RTO exceeds SRTT by the minimum, however long round trips are.
    #[test]
    fn in_linux_the_minimum_comes_on_top_of_the_round_trip() {
        const MS: u64 = 1_000_000_000;
        let mut e = RttEstimator::from_profile(&Profile::linux());
        let mut seq = SendSequence::from_profile(&Profile::linux());
        for (rtt, rto) in [(210, 630), (210, 1)] {
            seq.extend(1448);
            e.sample(rtt * MS, &seq);
            seq.advance(seq.nxt());
            assert!(e.rto() >= rto * MS);
        }
        for _ in 0..100 {
            seq.extend(1448);
            seq.advance(seq.nxt());
            e.sample(210 * MS, &seq);
        }
        assert_eq!(e.rto() / MS, 410);
    }
}
