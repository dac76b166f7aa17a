//! The clock by which the NIC of a host takes timestamps, with the errors of hardware.

use weft_paths::draw;
use weft_transports::TimestampErrors;

use crate::engine::clock_offset;

use super::shared::Shared;

const PPB_PER_PPM: u32 = 1_000;
const PPB: i128 = 1_000_000_000;
/// Domain tag that separates these draws from others of the same host.
const TIMESTAMPS: u64 = 0x7469_6d65;

/// The clock of a host. What it shows at a time depends on the seed, the host and the time alone.
pub struct HostClock {
    errors: TimestampErrors,
    /// Part by which the clock is too fast, in parts per billion.
    offset: i128,
    seed: u64,
    node: u32,
}

impl HostClock {
    /// Creates the clock of the host with this index; `None` if timestamps are exact.
    pub fn new(errors: TimestampErrors, shared: &Shared, host: u32) -> Option<Box<Self>> {
        if errors == TimestampErrors::default() {
            return None;
        }
        let (seed, node) = (shared.seed, shared.fabric.hosts[host as usize]);
        let offset = clock_offset(seed, node, errors.clock_error * PPB_PER_PPM).into();
        Some(Box::new(Self {
            errors,
            offset,
            seed,
            node,
        }))
    }

    /// Returns the difference of the timestamps of two times, at least 0. All are in picoseconds.
    #[cold]
    #[inline(never)]
    pub fn between(&self, from: u64, to: u64) -> u64 {
        (self.timestamp(to) - self.timestamp(from)).max(0) as u64
    }

    fn timestamp(&self, time: u64) -> i128 {
        let time_of_clock = i128::from(time) + (i128::from(time) * self.offset).div_euclid(PPB);
        let step = i128::from(self.errors.step.0.max(1));
        (time_of_clock + self.noise(time)).div_euclid(step) * step
    }

    fn noise(&self, time: u64) -> i128 {
        if self.errors.noise.0 == 0 {
            return 0;
        }
        let bits = draw(&[self.seed, TIMESTAMPS, self.node.into(), time]);
        let deviation = self.errors.noise.0 as f64;
        (deviation * standard_normal(bits)).floor() as i128
    }
}

/// Converts uniform bits to a number of the standard normal distribution, by the method of Box and Muller.
fn standard_normal(bits: u64) -> f64 {
    let uniform = |bits: u32| (f64::from(bits) + 0.5) / (1_u64 << 32) as f64;
    let (first, second) = (uniform((bits >> 32) as u32), uniform(bits as u32));
    (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos()
}

#[cfg(test)]
mod tests {
    use weft_spec::Time;

    use super::*;

    fn clock(errors: TimestampErrors, offset: i128) -> HostClock {
        HostClock {
            errors,
            offset,
            seed: 7,
            node: 3,
        }
    }

    #[test]
    fn a_clock_of_steps_rounds_each_timestamp_down() {
        let step = TimestampErrors {
            step: Time(8_000),
            ..TimestampErrors::default()
        };
        let clock = clock(step, 0);
        assert_eq!(clock.between(0, 7_999), 0);
        assert_eq!(clock.between(7_999, 8_000), 8_000);
        assert_eq!(clock.between(8_001, 31_000), 16_000);
    }

    #[test]
    fn a_fast_clock_shows_longer_differences() {
        let clock = clock(TimestampErrors::default(), 100_000);
        assert_eq!(clock.between(5_000_000_000, 5_050_000_000), 50_005_000);
    }

    #[test]
    fn noise_has_its_mean_and_deviation_and_one_value_per_time() {
        let noise = TimestampErrors {
            noise: Time(1_000_000),
            ..TimestampErrors::default()
        };
        let clock = clock(noise, 0);
        let values: Vec<f64> = (0..20_000).map(|time| clock.noise(time) as f64 / 1e6).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
        assert!(
            mean.abs() < 0.03 && (square - 1.0).abs() < 0.03,
            "{mean} {square}"
        );
        let largest = values.iter().copied().fold(0.0, f64::max);
        assert!((3.2..5.5).contains(&largest), "{largest}");
        assert_eq!(clock.between(77, 77), 0);
        assert_eq!(clock.timestamp(77), clock.timestamp(77));
    }
}
