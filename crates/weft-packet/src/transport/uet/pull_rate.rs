//! The rate of pulls of a receiver whose network is oversubscribed. Marks and trims inside the network lower
//! it, so that the credit of all receivers together fits the network.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::wire::Data;

/// Shortest interval, and the range of its random part, in sixteenths of the round-trip time of the network.
const MIN_INTERVAL: u64 = 18;
const INTERVAL_RANGE: u64 = 12;

/// Share of the network's capacity per host that pulls may use at least.
const MIN_SHARE: f64 = 0.9;
/// Average share of marks above which the rate falls, and how much it falls for each unit above.
const MARK_TARGET: f64 = 0.3;
const MARK_GAIN: f64 = 0.5;
/// Weight of the last interval in the average share of marks.
const MARK_WEIGHT: f64 = 0.5;
/// First increase. It doubles in each interval without a mark or a decrease.
const STEP: f64 = 0.01;
/// Number of intervals after which a step is larger than any decrease.
const MAX_DOUBLINGS: i32 = 10;

/// The rate of pulls as a share of the rate of the link, and what it is computed from.
pub struct PullRate {
    share: f64,
    min: f64,
    /// Average share of marked packets.
    marks: f64,
    /// Number of intervals since the last decrease.
    increases: i32,
    interval: Interval,
    network_rtt: u64,
    random: SplitMix64,
    /// True while the timer of the interval is set.
    pub is_running: bool,
}

/// The packets of an interval.
#[derive(Default)]
struct Interval {
    packets: u32,
    marked: u32,
    trimmed_at_last_hop: u32,
    trimmed_before: u32,
}

impl PullRate {
    /// Creates the rate of a network of this oversubscription, at first the full rate.
    pub fn new(oversubscription: f64, network_rtt: u64, seed: u64) -> Self {
        Self {
            share: 1.0,
            min: (MIN_SHARE / oversubscription).min(1.0),
            marks: 0.0,
            increases: 0,
            interval: Interval::default(),
            network_rtt,
            random: SplitMix64::seed_from_u64(seed),
            is_running: false,
        }
    }

    /// Counts a data packet or a request to send.
    pub fn on_packet(&mut self, data: &Data) {
        let interval = &mut self.interval;
        interval.packets += 1;
        interval.marked += u32::from(data.ce && !data.trimmed && !data.is_rts);
        if data.trimmed_at_last_hop {
            interval.trimmed_at_last_hop += 1;
        } else if data.trimmed {
            interval.trimmed_before += 1;
        }
    }

    /// Returns the length of the next interval.
    pub fn next_interval(&mut self) -> u64 {
        let unit = self.network_rtt / 16;
        MIN_INTERVAL * unit + self.random.next_u64() % (INTERVAL_RANGE * unit).max(1)
    }

    /// Changes the rate at the end of an interval. Returns false if the next interval would change nothing
    /// unless a packet arrives.
    pub fn on_interval(&mut self) -> bool {
        let Interval {
            packets,
            marked,
            trimmed_at_last_hop,
            trimmed_before,
        } = std::mem::take(&mut self.interval);
        let full = packets - trimmed_at_last_hop - trimmed_before;
        let marks = if full == 0 {
            0.0
        } else {
            f64::from(marked) / f64::from(full)
        };
        let mut decreases = false;
        if trimmed_before > 0 {
            self.share -= f64::from(trimmed_before) / f64::from(packets);
            decreases = true;
        }
        self.marks += MARK_WEIGHT * (marks - self.marks);
        if self.marks > MARK_TARGET {
            self.share *= 1.0 - MARK_GAIN * (self.marks - MARK_TARGET);
            decreases = true;
        }
        if decreases {
            self.increases = 0;
        } else {
            let doublings = self.increases.min(MAX_DOUBLINGS);
            self.share += if marked == 0 {
                STEP * f64::from(1 << doublings)
            } else {
                STEP
            };
            self.increases += 1;
        }
        self.share = self.share.clamp(self.min, 1.0);
        packets > 0 || self.share < 1.0
    }

    /// Returns the time of a grant at this rate, given its time at the full rate.
    pub fn scale(&self, time: u64) -> u64 {
        (time as f64 / self.share) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: u64 = 16_000;

    fn data(ce: bool, trimmed: bool, trimmed_at_last_hop: bool) -> Data {
        Data {
            psn: 0,
            ev: 0,
            pull_target: 0,
            ack_at_once: false,
            retransmission: false,
            is_rts: false,
            ce,
            trimmed,
            trimmed_at_last_hop,
        }
    }

    fn interval(rate: &mut PullRate, packets: &[(usize, Data)]) -> f64 {
        for (count, data) in packets {
            (0..*count).for_each(|_| rate.on_packet(data));
        }
        rate.on_interval();
        rate.share
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value} instead of {expected}");
    }

    #[test]
    fn trims_inside_the_network_take_their_share_of_the_rate() {
        let mut rate = PullRate::new(4.0, RTT, 1);
        let packets = [
            (60, data(false, false, false)),
            (20, data(false, true, false)),
            (20, data(false, true, true)),
        ];
        near(interval(&mut rate, &packets), 0.8);
        near(interval(&mut rate, &packets), 0.6);
    }

    #[test]
    fn marks_above_the_target_lower_the_rate() {
        let mut rate = PullRate::new(4.0, RTT, 1);
        // The average is half of the share of marks in the first interval.
        let packets = [(20, data(false, false, false)), (80, data(true, false, false))];
        near(interval(&mut rate, &packets), 1.0 - 0.5 * 0.1);
        near(interval(&mut rate, &packets), 0.95 * (1.0 - 0.5 * 0.3));
        // Marks of trimmed packets do not count.
        let mut rate = PullRate::new(4.0, RTT, 1);
        near(interval(&mut rate, &[(10, data(true, true, true))]), 1.0);
    }

    #[test]
    fn increases_double_without_marks_and_stay_small_with_them() {
        let mut rate = PullRate::new(4.0, RTT, 1);
        near(interval(&mut rate, &[(1, data(false, true, false))]), 0.225);
        let (plain, marked) = (
            [(10, data(false, false, false))],
            [(1, data(true, false, false)), (9, data(false, false, false))],
        );
        near(interval(&mut rate, &plain), 0.235);
        near(interval(&mut rate, &plain), 0.255);
        near(interval(&mut rate, &marked), 0.265);
        near(interval(&mut rate, &plain), 0.345);
    }

    #[test]
    fn the_rate_stays_between_its_bounds() {
        let mut rate = PullRate::new(8.0, RTT, 1);
        for _ in 0..5 {
            near(interval(&mut rate, &[(1, data(false, true, false))]), 0.9 / 8.0);
        }
        for _ in 0..20 {
            interval(&mut rate, &[(1, data(false, false, false))]);
        }
        near(rate.share, 1.0);
        assert_eq!(rate.scale(1000), 1000);
        assert!(!rate.on_interval());
    }

    #[test]
    fn intervals_have_the_range_of_the_simulator() {
        let mut rate = PullRate::new(4.0, RTT, 7);
        let lengths: Vec<u64> = (0..1000).map(|_| rate.next_interval()).collect();
        let (min, max) = (*lengths.iter().min().unwrap(), *lengths.iter().max().unwrap());
        assert!((18_000..18_100).contains(&min), "{min}");
        assert!((29_900..30_000).contains(&max), "{max}");
    }
}
