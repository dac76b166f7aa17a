//! The reaction point of DCQCN: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
//! 2015, section 3.1.
//!
//! Nothing happens between two packets of a flow that another host could observe. The expirations of timers
//! are therefore computed when the rate is used or cut, in their order.

use weft_transports::RoceConfig;

use super::rate::RateControl;

/// The state of a flow. Rates are in bits per second, times in picoseconds.
#[derive(Clone)]
pub struct Dcqcn {
    config: RoceConfig,
    /// Rate of the link of the host.
    line_rate: f64,
    /// Current rate and target rate.
    rate: f64,
    target: f64,
    /// Reduction factor; the next cut is half of it.
    alpha: f64,
    /// Number of expirations of timer and byte counter since the last cut, and bytes since the counter
    /// expired.
    timer: u32,
    counter: u32,
    bytes: u64,
    /// Times at which the factor was updated and the timer expired; `None` before the first notification.
    since: Option<Since>,
}

/// The beginnings of the current periods.
#[derive(Clone, Copy)]
struct Since {
    alpha: u64,
    timer: u64,
}

impl Dcqcn {
    /// Creates the state of a flow that begins at this rate.
    pub fn new(config: RoceConfig, line_rate: f64, rate: f64) -> Self {
        let rate = rate.min(line_rate);
        Self {
            config,
            line_rate,
            rate,
            target: rate,
            alpha: 1.0,
            timer: 0,
            counter: 0,
            bytes: 0,
            since: None,
        }
    }

    /// Processes the timers that have expired by `now`.
    fn advance(&mut self, now: u64) {
        let Some(mut since) = self.since else {
            return;
        };
        let interval = self.config.increase_interval.0;
        while now - since.timer >= interval {
            since.timer += interval;
            self.timer += 1;
            self.increase();
            if self.rate >= self.line_rate {
                // Further expirations change nothing but their number.
                let more = (now - since.timer) / interval;
                since.timer += more * interval;
                self.timer = self.timer.saturating_add(more as u32);
            }
        }
        self.since = Some(since);
    }

    /// Decays the factor by the periods without a notification until `now`.
    fn decay(&mut self, now: u64) {
        let Some(since) = &mut self.since else {
            return;
        };
        let interval = self.config.alpha_interval.0;
        let periods = (now - since.alpha) / interval;
        since.alpha += periods * interval;
        let periods = i32::try_from(periods).unwrap_or(i32::MAX);
        self.alpha *= (1.0 - self.config.gain).powi(periods);
    }

    /// Increases the rate after an expiration of the timer or of the byte counter.
    fn increase(&mut self) {
        let (timer, counter, threshold) = (self.timer, self.counter, self.config.fast_recovery);
        if timer.min(counter) > threshold {
            let steps = f64::from(timer.min(counter) - threshold);
            self.target += steps * self.config.hyper_increase.0 as f64;
        } else if timer.max(counter) > threshold {
            self.target += self.config.increase.0 as f64;
        }
        self.target = self.target.min(self.line_rate);
        self.rate = 0.5 * (self.target + self.rate);
    }

    /// Smallest rate after a cut.
    fn min_rate(&self) -> f64 {
        (self.config.min_rate.0 as f64).min(self.line_rate)
    }
}

impl RateControl for Dcqcn {
    fn rate(&mut self, now: u64) -> f64 {
        self.advance(now);
        self.rate
    }

    fn on_sent(&mut self, bytes: u16, now: u64) {
        if self.since.is_none() {
            return;
        }
        self.advance(now);
        self.bytes += u64::from(bytes);
        while self.bytes >= self.config.byte_counter {
            self.bytes -= self.config.byte_counter;
            self.counter += 1;
            self.increase();
        }
    }

    fn on_notification(&mut self, now: u64) {
        self.advance(now);
        self.decay(now);
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - 0.5 * self.alpha)).max(self.min_rate());
        self.alpha = (1.0 - self.config.gain) * self.alpha + self.config.gain;
        (self.timer, self.counter, self.bytes) = (0, 0, 0);
        self.since = Some(Since {
            alpha: now,
            timer: now,
        });
    }
}

#[cfg(test)]
mod tests {
    use weft_spec::Time;

    use super::*;

    const US: u64 = 1_000_000;
    const LINE: f64 = 40e9;

    fn config() -> RoceConfig {
        RoceConfig {
            increase_interval: Time::from_us(60),
            ..RoceConfig::default()
        }
    }

    fn new() -> Dcqcn {
        Dcqcn::new(config(), LINE, LINE)
    }

    fn assert_close(measured: f64, expected: f64) {
        assert!(
            (measured / expected - 1.0).abs() < 1e-12,
            "{measured} instead of {expected}"
        );
    }

    /// Equation 1 with the initial factor of 1: the first notification halves the rate.
    #[test]
    fn a_notification_cuts_the_rate_by_half_of_the_factor() {
        let mut flow = new();
        assert_close(flow.rate(1_000 * US), LINE);
        flow.on_notification(1_000 * US);
        assert_close(flow.rate(1_000 * US), 20e9);
        assert_close(flow.target, 40e9);
        assert_close(flow.alpha, 1.0);
        flow.alpha = 0.5;
        flow.on_notification(1_000 * US);
        assert_close(flow.rate(1_000 * US), 15e9);
        assert_close(flow.target, 20e9);
        assert_close(flow.alpha, 0.5 * 255.0 / 256.0 + 1.0 / 256.0);
    }

    /// Equation 2: the factor decays once per period without a notification.
    #[test]
    fn the_factor_decays_without_notifications() {
        let mut flow = new();
        flow.on_notification(7);
        flow.decay(7 + 55 * US - 1);
        assert_close(flow.alpha, 1.0);
        flow.decay(7 + 55 * US);
        assert_close(flow.alpha, 255.0 / 256.0);
        flow.decay(7 + 55 * 300 * US);
        assert_close(flow.alpha, (255.0_f64 / 256.0).powi(300));
        // A notification begins a new period.
        flow.on_notification(7 + (55 * 300 + 54) * US);
        let before = flow.alpha;
        flow.decay(7 + (55 * 300 + 54 + 54) * US);
        assert_close(flow.alpha, before);
    }

    /// Equation 3: five expirations of the timer halve the distance to the target, the later ones first raise
    /// the target by 40 Mbps (equation 4).
    #[test]
    fn the_timer_recovers_fast_and_then_adds() {
        let mut flow = new();
        flow.on_notification(0);
        flow.rate = 10e9;
        flow.target = 30e9;
        let mut rate = 10e9;
        for expired in 1..=5_u64 {
            rate = f64::midpoint(rate, 30e9);
            assert_close(flow.rate(60 * US * expired), rate);
        }
        let mut target = 30e9;
        for expired in 6..=20_u64 {
            target += 40e6;
            rate = f64::midpoint(rate, target);
            assert_close(flow.rate(60 * US * expired), rate);
        }
        // Queries in between change nothing.
        let mut other = new();
        other.on_notification(0);
        (other.rate, other.target) = (10e9, 30e9);
        assert_close(other.rate(60 * US * 20 + 59 * US), rate);
    }

    /// Both counters beyond the threshold: the target rises by a multiple of the hyper increase.
    #[test]
    fn timer_and_byte_counter_together_increase_faster() {
        let mut flow = new();
        flow.on_notification(0);
        (flow.rate, flow.target) = (1e9, 1e9);
        for _ in 0..6 * 10_000 {
            flow.on_sent(1_000, 0);
        }
        assert_eq!((flow.counter, flow.bytes), (6, 0));
        assert_close(flow.target, 1e9 + 40e6);
        flow.rate(60 * US * 5);
        // Expirations 1 to 5 of the timer add 40 Mbps each, since the byte counter is beyond the threshold.
        assert_close(flow.target, 1e9 + 6.0 * 40e6);
        flow.rate(60 * US * 6);
        assert_close(flow.target, 1e9 + 6.0 * 40e6 + 400e6);
        for _ in 0..10_000 {
            flow.on_sent(1_000, 60 * US * 6);
        }
        assert_close(flow.target, 1e9 + 6.0 * 40e6 + 800e6);
        flow.rate(60 * US * 7);
        assert_close(flow.target, 1e9 + 6.0 * 40e6 + 1_600e6);
    }

    #[test]
    fn rates_stay_between_the_minimum_and_the_line_rate() {
        let mut flow = new();
        for n in 0..100 {
            flow.on_notification(50 * US * n);
        }
        assert_close(flow.rate(50 * US * 99), 10e6);
        assert_close(flow.rate(1_000_000 * US), LINE);
        assert!(flow.timer > 10_000);
        let mut slow = Dcqcn::new(config(), 1e6, 1e6);
        slow.on_notification(0);
        assert_close(slow.rate(0), 1e6);
    }
}
