//! TIMELY, which sets the rate of a flow by its round-trip time: Mittal et al., "TIMELY: RTT-based Congestion Control for
//! the Datacenter", SIGCOMM 2015, algorithm 1; and the rule with one fixed point of Zhu et al., "ECN or Delay: Lessons
//! Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016, section 5.
//!
//! Rates are in bits per second, times in picoseconds.

use weft_transports::{RoceConfig, TimelyConfig, TimelyUpdates};

use super::rate::RateControl;

/// An acknowledgement that reports the round-trip time of a packet.
#[derive(Clone, Copy)]
pub struct Sample {
    /// All packets before this one have arrived.
    pub expected: u32,
    /// The next packet that was never sent.
    pub sent: u32,
    pub rtt: u64,
}

/// The state of a flow.
#[derive(Clone)]
pub struct Timely {
    config: TimelyConfig,
    is_patched: bool,
    /// Factor beta of a decrease.
    beta: f64,
    line_rate: f64,
    min_rate: f64,
    rate: f64,
    /// Number of packets per segment.
    segment: u32,
    /// The acknowledgement of a packet after this number changes the rate.
    update_after: u32,
    previous: Option<f64>,
    /// Average of the differences of round-trip times.
    difference: f64,
    /// Number of increases in a row.
    increases: u32,
}

impl Timely {
    /// Creates the state of a flow that begins at this rate.
    pub fn new(config: &RoceConfig, is_patched: bool, line_rate: f64, rate: f64) -> Self {
        let timely = config.timely.unwrap_or_default();
        let segment = timely.segment.0.div_ceil(u64::from(config.mtu));
        let segment = u32::try_from(segment).unwrap_or(u32::MAX);
        Self {
            config: timely,
            is_patched,
            beta: timely.beta(is_patched),
            line_rate,
            min_rate: (config.min_rate.0 as f64).min(line_rate),
            rate: rate.min(line_rate),
            segment,
            update_after: match timely.updates {
                TimelyUpdates::Segment => segment - 1,
                TimelyUpdates::RoundTrip => 0,
            },
            previous: None,
            difference: 0.0,
            increases: 0,
        }
    }

    /// Handles an acknowledgement. The first one of each segment, or of each round trip, changes the rate.
    pub fn on_ack(&mut self, sample: Sample) {
        if sample.expected <= self.update_after {
            return;
        }
        self.update_after = match self.config.updates {
            TimelyUpdates::Segment => sample.expected.saturating_add(self.segment - 1),
            TimelyUpdates::RoundTrip => sample.sent,
        };
        let rtt = sample.rtt as f64;
        if let Some(previous) = self.previous.replace(rtt) {
            let gain = self.config.gain;
            self.difference = (1.0 - gain) * self.difference + gain * (rtt - previous);
            let gradient = self.difference / self.config.min_rtt.0 as f64;
            let rate = self.next_rate(rtt, gradient);
            self.rate = rate.clamp(self.min_rate, self.line_rate);
        }
    }

    fn next_rate(&mut self, rtt: f64, gradient: f64) -> f64 {
        let (low, high) = (self.config.low.0 as f64, self.config.high.0 as f64);
        let counts_all = self.config.updates == TimelyUpdates::RoundTrip;
        if rtt < low {
            let step = if counts_all { self.step() } else { 1.0 };
            self.increases = if counts_all { self.increases + 1 } else { 0 };
            return self.rate + step * self.delta();
        }
        if rtt > high {
            self.increases = 0;
            return self.rate * (1.0 - self.beta * (1.0 - high / rtt));
        }
        if self.is_patched {
            self.increases = 0;
            let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            let excess = (rtt - low) / low;
            return self.delta() * (1.0 - weight) + self.rate * (1.0 - self.beta * weight * excess);
        }
        if gradient <= 0.0 {
            let step = self.step();
            self.increases += 1;
            return self.rate + step * self.delta();
        }
        self.increases = 0;
        self.rate * (1.0 - self.beta * gradient)
    }

    /// Returns the number of steps of an increase; more than one is hyperactive increase.
    fn step(&self) -> f64 {
        if self.increases < self.config.hyper_after {
            1.0
        } else {
            f64::from(self.config.hyper_steps)
        }
    }

    fn delta(&self) -> f64 {
        self.config.increase.0 as f64
    }
}

impl RateControl for Timely {
    fn rate(&mut self, _: u64) -> f64 {
        self.rate
    }

    fn on_sent(&mut self, _: u16, _: u64) {}

    fn on_notification(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use weft_spec::{Size, Time};

    use super::*;

    const US: u64 = 1_000_000;
    const LINE: f64 = 10e9;

    fn flow(timely: TimelyConfig, is_patched: bool) -> Timely {
        let config = RoceConfig {
            mtu: 1_000,
            timely: Some(timely),
            ..RoceConfig::default()
        };
        Timely::new(&config, is_patched, LINE, 1e9)
    }

    /// A flow with a gain of 1, whose gradient is that of the last two samples, and segments of one packet.
    fn simple(is_patched: bool) -> Timely {
        let timely = TimelyConfig {
            segment: Size(1_000),
            gain: 1.0,
            ..TimelyConfig::default()
        };
        flow(timely, is_patched)
    }

    fn feed(flow: &mut Timely, rtts: &[u64]) -> f64 {
        for rtt in rtts {
            let expected = flow.update_after + 1;
            flow.on_ack(Sample {
                expected,
                sent: expected + 9,
                rtt: rtt * US,
            });
        }
        flow.rate
    }

    fn assert_close(measured: f64, expected: f64) {
        assert!(
            (measured / expected - 1.0).abs() < 1e-12,
            "{measured} instead of {expected}"
        );
    }

    #[test]
    fn rates_follow_thresholds_and_gradient() {
        assert_close(feed(&mut simple(false), &[40]), 1e9);
        assert_close(feed(&mut simple(false), &[40, 45]), 1.01e9);
        // 1 - 0.8 (1 - 500 / 1000)
        assert_close(feed(&mut simple(false), &[40, 1_000]), 0.6e9);
        // A gradient of 5 / 20.
        assert_close(feed(&mut simple(false), &[60, 65]), 0.8e9);
        assert_close(feed(&mut simple(false), &[60, 60]), 1.01e9);
        // A gradient of 10 would make the rate negative.
        assert_close(feed(&mut simple(false), &[60, 260]), 10e6);
    }

    #[test]
    fn the_average_of_differences_has_a_gain() {
        let mut flow = flow(
            TimelyConfig {
                segment: Size(1),
                ..TimelyConfig::default()
            },
            false,
        );
        feed(&mut flow, &[60, 64, 62]);
        // 0.875 x 4, and then 0.125 x 3.5 - 0.875 x 2, in microseconds
        assert_close(flow.difference, -1.3125e6);
    }

    #[test]
    fn increases_in_a_row_become_hyperactive_between_the_thresholds() {
        let mut flow = simple(false);
        assert_close(feed(&mut flow, &[60, 60, 60, 60, 60, 60]), 1.05e9);
        assert_close(feed(&mut flow, &[60]), 1.10e9);
        assert_close(feed(&mut flow, &[40]), 1.11e9);
        flow.difference = 0.0;
        flow.previous = Some(60.0 * US as f64);
        assert_close(feed(&mut flow, &[60]), 1.12e9);
        // Updates per round trip count all increases.
        let mut flow = simple(false);
        flow.config.updates = TimelyUpdates::RoundTrip;
        assert_close(feed(&mut flow, &[40, 40, 40, 40, 40, 40, 40]), 1.10e9);
    }

    #[test]
    fn the_patched_rule_weighs_increase_and_decrease() {
        // A gradient of 0: half of the step, and a decrease by 0.008 / 2 x (75 - 50) / 50.
        assert_close(feed(&mut simple(true), &[75, 75]), 5e6 + 1e9 * 0.998);
        // Gradients of 1/4 and more only decrease, of -1/4 and less only increase.
        assert_close(feed(&mut simple(true), &[70, 75]), 1e9 * 0.996);
        assert_close(feed(&mut simple(true), &[80, 75]), 1.01e9);
        assert_close(feed(&mut simple(true), &[60, 45]), 1.01e9);
    }

    #[test]
    fn the_rate_changes_once_per_segment_or_round_trip() {
        let ack = |expected, sent| Sample {
            expected,
            sent,
            rtt: 40 * US,
        };
        let mut per_segment = flow(TimelyConfig::default(), false);
        assert_eq!(per_segment.segment, 16);
        per_segment.on_ack(ack(15, 90));
        assert_eq!(per_segment.previous, None);
        per_segment.on_ack(ack(16, 90));
        assert_eq!((per_segment.previous, per_segment.update_after), (Some(40e6), 31));
        let mut per_round = flow(
            TimelyConfig {
                updates: TimelyUpdates::RoundTrip,
                low: Time::from_us(50),
                ..TimelyConfig::default()
            },
            false,
        );
        per_round.on_ack(ack(1, 90));
        assert_eq!(per_round.update_after, 90);
        per_round.on_ack(ack(90, 180));
        assert_close(per_round.rate, 1e9);
        per_round.on_ack(ack(91, 180));
        assert_close(per_round.rate, 1.01e9);
    }
}
