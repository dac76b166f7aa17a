//! The windows of a flow for the delays of the fabric and of the receiving host. Both follow one rule, each with its own
//! target (Kumar et al., SIGCOMM 2020, sections 3.1 to 3.5 and algorithm 1). Delays are in picoseconds, windows in packets.

use weft_transports::SwiftConfig;

/// The target of the fabric's delay (sections 3.5 and 3.6).
pub struct FabricTarget {
    base: f64,
    per_hop: f64,
    /// Largest term of flow scaling.
    range: f64,
    /// The term is `alpha / sqrt(window) + offset`.
    alpha: f64,
    offset: f64,
}

impl FabricTarget {
    /// Creates the target of a transport.
    pub fn new(config: &SwiftConfig) -> Self {
        let range = config.flow_range().0 as f64;
        let low = 1.0 / config.flow_window_min.sqrt();
        let high = 1.0 / config.flow_window_max.sqrt();
        let alpha = range / (low - high);
        Self {
            base: config.base_target.0 as f64,
            per_hop: config.hop_target().0 as f64,
            range,
            alpha,
            offset: -alpha * high,
        }
    }

    /// Returns the target for a window on a path of this many links.
    pub fn delay(&self, window: f64, hops: u32) -> f64 {
        let flows = (self.alpha / window.sqrt() + self.offset).clamp(0.0, self.range);
        self.base + f64::from(hops) * self.per_hop + flows
    }
}

/// A delay and its target.
#[derive(Clone, Copy)]
pub struct Sample {
    pub delay: f64,
    pub target: f64,
}

/// The time of an event, and the smoothed round-trip time before it.
#[derive(Clone, Copy)]
pub struct Moment {
    pub now: u64,
    pub srtt: f64,
}

/// A window, which grows below the target of a delay, and shrinks above it at most once per round-trip time.
pub struct DelayWindow {
    packets: f64,
    /// Time of the last decrease; `None` before the first one.
    decreased_at: Option<u64>,
}

impl DelayWindow {
    /// Creates the window of a new flow.
    pub fn new(config: &SwiftConfig) -> Self {
        Self {
            packets: config.initial_window.clamp(config.min_window, config.max_window),
            decreased_at: None,
        }
    }

    /// Returns the window.
    pub fn packets(&self) -> f64 {
        self.packets
    }

    fn may_decrease(&self, at: Moment) -> bool {
        let since = |time: u64| (at.now - time) as f64;
        self.decreased_at.is_none_or(|time| since(time) >= at.srtt)
    }

    /// Changes the window by an acknowledgement of this many new packets.
    pub fn on_ack(&mut self, sample: Sample, acked: u32, at: Moment, config: &SwiftConfig) {
        let mut packets = self.packets;
        if sample.delay < sample.target {
            let increase = config.increase * f64::from(acked);
            packets += if packets >= 1.0 {
                increase / packets
            } else {
                increase
            };
        } else if self.may_decrease(at) {
            let excess = (sample.delay - sample.target) / sample.delay;
            packets *= (1.0 - config.beta * excess).max(1.0 - config.max_decrease);
        }
        self.set(packets, at, config);
    }

    /// Decreases the window by the largest share, because of a loss.
    pub fn on_loss(&mut self, at: Moment, config: &SwiftConfig) {
        if self.may_decrease(at) {
            self.set(self.packets * (1.0 - config.max_decrease), at, config);
        }
    }

    /// Sets the window to its minimum.
    pub fn reset(&mut self, at: Moment, config: &SwiftConfig) {
        self.set(config.min_window, at, config);
    }

    fn set(&mut self, packets: f64, at: Moment, config: &SwiftConfig) {
        let packets = packets.clamp(config.min_window, config.max_window);
        if packets < self.packets {
            self.decreased_at = Some(at.now);
        }
        self.packets = packets;
    }
}

#[cfg(test)]
mod tests {
    use weft_spec::Time;

    use super::*;

    const US: f64 = 1e6;

    fn config() -> SwiftConfig {
        SwiftConfig {
            base_target: Time::from_us(20),
            hop_target: Some(Time::from_us(3)),
            flow_range: Some(Time::from_us(100)),
            ..SwiftConfig::default()
        }
    }

    fn assert_close(measured: f64, expected: f64) {
        assert!(
            (measured / expected - 1.0).abs() < 1e-3,
            "{measured} instead of {expected}"
        );
    }

    fn at(now: u64) -> Moment {
        Moment { now, srtt: 10.0 * US }
    }

    /// The values of the flow term with htsim's parameters, computed by hand: alpha is 32.66 us, the offset -3.266 us.
    #[test]
    fn the_target_has_terms_for_hops_and_flows() {
        let target = FabricTarget::new(&config());
        for (window, term) in [
            (1.0, 29.394),
            (10.0, 7.0618),
            (50.0, 1.3529),
            (0.1, 100.0),
            (0.01, 100.0),
        ] {
            assert_close(target.delay(window, 0), (20.0 + term) * US);
        }
        assert_close(target.delay(100.0, 4), 32.0 * US);
        assert_close(target.delay(400.0, 0), 20.0 * US);
    }

    #[test]
    fn a_window_grows_by_the_increase_per_round_and_without_division_below_one() {
        let config = config();
        let mut window = DelayWindow::new(&config);
        let low = Sample {
            delay: 1.0 * US,
            target: 20.0 * US,
        };
        window.on_ack(low, 1, at(0), &config);
        assert_close(window.packets(), 10.1);
        window.on_ack(low, 2, at(0), &config);
        assert_close(window.packets(), 10.1 + 2.0 / 10.1);
        window.packets = 0.25;
        window.on_ack(low, 1, at(0), &config);
        assert_close(window.packets(), 1.25);
    }

    #[test]
    fn a_window_shrinks_by_the_excess_once_per_round_and_at_most_by_a_half() {
        let config = config();
        let mut window = DelayWindow::new(&config);
        let sample = |delay| Sample {
            delay: delay * US,
            target: 20.0 * US,
        };
        window.on_ack(sample(25.0), 1, at(100), &config);
        // 1 - 0.8 * 5 / 25
        assert_close(window.packets(), 8.4);
        window.on_ack(sample(400.0), 1, at(100 + 9_999_999), &config);
        window.on_loss(at(100 + 9_999_999), &config);
        assert_close(window.packets(), 8.4);
        window.on_ack(sample(400.0), 1, at(100 + 10_000_000), &config);
        assert_close(window.packets(), 4.2);
        window.on_loss(at(100 + 20_000_000), &config);
        assert_close(window.packets(), 2.1);
        window.reset(at(100 + 20_000_000), &config);
        assert_close(window.packets(), config.min_window);
    }
}
