//! The round-trip times of a flow, and its timeout (RFC 6298, section 2). Times are in picoseconds.

use weft_transports::SwiftConfig;

/// Largest number of times that a timeout doubles.
const MAX_DOUBLINGS: u32 = 16;

/// Estimates of a flow.
#[derive(Default)]
pub struct RoundTrips {
    /// Smoothed round-trip time and its variation; 0 without a sample.
    pub srtt: f64,
    variation: f64,
    /// Number of timeouts since the last acknowledgement.
    pub timeouts: u32,
}

impl RoundTrips {
    /// Adds a round-trip time.
    pub fn add(&mut self, rtt: f64) {
        self.timeouts = 0;
        if self.srtt == 0.0 {
            (self.srtt, self.variation) = (rtt, rtt / 2.0);
            return;
        }
        self.variation += ((rtt - self.srtt).abs() - self.variation) / 4.0;
        self.srtt += (rtt - self.srtt) / 8.0;
    }

    /// Returns the timeout.
    pub fn rto(&self, config: &SwiftConfig) -> u64 {
        let rto = if self.srtt == 0.0 {
            config.initial_rto.0
        } else {
            ((self.srtt + 4.0 * self.variation) as u64).max(config.min_rto.0)
        };
        rto.saturating_mul(1 << self.timeouts.min(MAX_DOUBLINGS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_samples_and_doubles() {
        let config = SwiftConfig::default();
        let mut times = RoundTrips::default();
        assert_eq!(times.rto(&config), 1_000_000_000);
        times.add(80e6);
        assert_eq!(times.rto(&config), 240_000_000);
        times.add(160e6);
        // A variation of 40 + (80 - 40) / 4 and a mean of 90 us.
        assert_eq!(times.rto(&config), 290_000_000);
        times.timeouts = 3;
        assert_eq!(times.rto(&config), 8 * 290_000_000);
        for _ in 0..100 {
            times.add(10e6);
        }
        assert_eq!(times.rto(&config), config.min_rto.0);
    }
}
