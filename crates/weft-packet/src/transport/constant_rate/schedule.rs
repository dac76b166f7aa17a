//! The times at which a source sends: packets at equal distances of the time during which it is on.

use weft_paths::draw;
use weft_transports::ConstantRateConfig;

/// Distinguishes the random numbers of sources from others of the run.
const STREAM: u64 = 0x6F6E_6F66;

/// The schedule of a source.
pub struct Schedule {
    config: ConstantRateConfig,
    /// Seed of the durations.
    seed: u64,
    flow: u64,
    /// Bits of a packet on the wire.
    bits: u128,
    /// Number of packets sent.
    packets: u64,
    /// Number of the current period of activity.
    period: u64,
    /// Time at which this period begins in picoseconds.
    begin: u64,
    /// Time before it during which the source was on, and its duration in picoseconds.
    before: u64,
    duration: u64,
}

impl Schedule {
    /// Creates the schedule of a flow that begins at `begin`, with packets of this size on the wire.
    pub fn new(config: ConstantRateConfig, seed: u64, flow: u64, begin: u64, packet: u32) -> Self {
        let mut schedule = Self {
            config,
            seed,
            flow,
            bits: u128::from(packet) * 8,
            packets: 0,
            period: 0,
            begin,
            before: 0,
            duration: 0,
        };
        schedule.duration = schedule.on(0);
        schedule
    }

    /// Returns the time of the next packet in picoseconds, and counts it.
    pub fn next_time(&mut self) -> u64 {
        let on = self.bits * u128::from(self.packets) * 1_000_000_000_000;
        let on = u64::try_from(on / u128::from(self.config.rate.0)).unwrap_or(u64::MAX);
        self.packets += 1;
        while on - self.before >= self.duration {
            let off = self.duration_of(self.config.off.0, 2 * self.period + 1);
            self.before += self.duration;
            self.begin = self.begin.saturating_add(self.duration).saturating_add(off);
            self.period += 1;
            self.duration = self.on(self.period);
        }
        self.begin.saturating_add(on - self.before)
    }

    /// Returns the duration of a period of activity.
    fn on(&self, period: u64) -> u64 {
        match self.config.on {
            Some(on) => self.duration_of(on.0, 2 * period).max(1),
            None => u64::MAX,
        }
    }

    /// Returns a duration with this mean: the mean itself, or an exponential draw.
    fn duration_of(&self, mean: u64, number: u64) -> u64 {
        if !self.config.random {
            return mean;
        }
        let bits = draw(&[self.seed, STREAM, self.flow, number]);
        let uniform = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        (-(1.0 - uniform).ln() * mean as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use weft_spec::{Rate, Time};

    use super::*;

    fn config(on: Option<Time>, off: Time, random: bool) -> ConstantRateConfig {
        ConstantRateConfig {
            packet_size: 1514,
            rate: Rate(1_000_000_000),
            on,
            off,
            random,
        }
    }

    /// Returns the time of packet `n` of 1000 bytes, which take 8 us at 1 Gbps.
    fn time_of(config: ConstantRateConfig, flow: u64, n: u64) -> u64 {
        let mut schedule = Schedule::new(config, 7, flow, 500, 1_000);
        (0..n).for_each(|_| {
            schedule.next_time();
        });
        schedule.next_time()
    }

    #[test]
    fn packets_do_not_drift() {
        let rate = Rate(3_000_000_000);
        let config = ConstantRateConfig {
            packet_size: 1514,
            rate,
            ..config(None, Time(0), false)
        };
        // A packet takes 2 2/3 us.
        assert_eq!(time_of(config, 0, 1), 500 + 2_666_666);
        assert_eq!(time_of(config, 0, 3_000_000), 500 + 8_000_000_000_000);
    }

    /// The time on is not a multiple of the time of a packet, and the mean rate is exact.
    #[test]
    fn times_on_and_off_give_an_exact_mean_rate() {
        let config = config(Some(Time::from_us(20)), Time::from_us(30), false);
        for (n, us) in [(0, 0), (1, 8), (2, 16), (3, 54), (4, 62), (5, 100), (500, 10_000)] {
            assert_eq!(time_of(config, 0, n), 500 + us * 1_000_000, "packet {n}");
        }
    }

    /// The standard error of the mean of 20,000 pairs of durations is about 0.6 %.
    #[test]
    fn random_times_have_their_means_and_differ_by_flow() {
        let config = config(Some(Time::from_us(80)), Time::from_us(240), true);
        let end = time_of(config, 1, 200_000) as f64;
        let expected = 200_000.0 * 8e6 * 4.0;
        assert!((end / expected - 1.0).abs() < 0.02, "{end} instead of {expected}");
        assert_ne!(time_of(config, 1, 100), time_of(config, 2, 100));
    }
}
