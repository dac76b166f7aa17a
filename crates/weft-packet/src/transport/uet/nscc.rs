//! NSCC, the congestion control of senders by signals of the network: delay and marks.

use weft_transports::UetConfig;

use super::control::{AckSample, CongestionControl, NackSample};
use super::params::{bytes_in, max_window};

/// Weight of a new delay in the average.
const DELAY_WEIGHT: f64 = 0.0125;
/// Delay below which there is no queue in picoseconds.
const NO_QUEUE: u64 = 1_000_000;
/// Factor of the excess of the average delay in a decrease, and the largest decrease.
const DECREASE: f64 = 0.8;
const MIN_FACTOR: f64 = 0.5;

/// The reference network: 100 Gbps and 12 us.
const REFERENCE_BYTES: f64 = 150_000.0;
const REFERENCE_RTT_PS: f64 = 12e6;

/// The state of a flow. Bytes are truncated after each update.
pub struct Nscc {
    window: i64,
    max_window: i64,
    /// Smallest round-trip time seen, and the average queueing delay.
    base_rtt: u64,
    average_delay: u64,
    /// Bytes of increase times bytes of window that have not been applied.
    increase: i64,
    /// Bytes received since increases were applied, and the time at which the increase per round-trip time
    /// was.
    since_adjustment: i64,
    last_adjustment: u64,
    last_decrease: u64,
    /// Bytes received without a queue, and whether the window grows with each byte.
    without_queue: i64,
    grows_fast: bool,
    quick: QuickAdapt,
    gains: Gains,
}

/// The state of quick adaptation, which sets the window to what was received in a round.
#[derive(Default)]
struct QuickAdapt {
    /// End of the round; 0 before the first one.
    end: u64,
    /// Bytes received in the round.
    received: i64,
    /// True if a packet was trimmed.
    trigger: bool,
    /// Bytes that were sent before the last cut, and how many of them are known to have arrived.
    to_ignore: i64,
    ignored: i64,
}

/// The constants of a transport. Times are in picoseconds.
struct Gains {
    config: UetConfig,
    mtu: i64,
    target_delay: u64,
    /// Increase per byte and picosecond below the target (alpha).
    proportional: f64,
    /// Increase per byte at or above the target without a mark (fi).
    fair: f64,
    /// Increase per round-trip time of the network (eta).
    per_rtt: f64,
    /// Increase per byte if there is no queue.
    fast: f64,
}

impl Gains {
    fn new(config: &UetConfig, payload: u32) -> Self {
        let mss = f64::from(payload);
        let target = config.target_delay.0 as f64;
        let scale = bytes_in(config.network_rtt.0, config) as f64 / REFERENCE_BYTES;
        Self {
            config: *config,
            mtu: config.mtu.into(),
            target_delay: config.target_delay.0,
            proportional: 4.0 * mss * scale * (target / REFERENCE_RTT_PS) / target,
            fair: 5.0 * mss * scale,
            per_rtt: 0.15 * mss * scale,
            fast: 0.25 * scale,
        }
    }
}

impl Nscc {
    /// Creates the state of a flow that begins.
    pub fn new(config: &UetConfig, payload: u32) -> Self {
        let base_rtt = config.network_rtt.0;
        let max_window = max_window(base_rtt, config);
        Self {
            window: config
                .initial_window
                .map_or(max_window, |window| window.0.cast_signed()),
            max_window,
            base_rtt,
            average_delay: 0,
            increase: 0,
            since_adjustment: 0,
            last_adjustment: 0,
            last_decrease: 0,
            without_queue: 0,
            grows_fast: false,
            quick: QuickAdapt::default(),
            gains: Gains::new(config, payload),
        }
    }

    fn lower_base_rtt(&mut self, rtt: u64) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            self.max_window = max_window(rtt, &self.gains.config);
        }
    }

    fn clip(&mut self) {
        self.window = self.window.min(self.max_window).max(self.gains.mtu);
    }

    fn average(&mut self, delay: u64, marked: bool) {
        // A long delay without a mark has another cause than a queue.
        let delay = if !marked && delay > self.gains.target_delay {
            0.25 * self.base_rtt as f64
        } else {
            delay as f64
        };
        let average = self.average_delay as f64;
        self.average_delay = (DELAY_WEIGHT * delay + (1.0 - DELAY_WEIGHT) * average) as u64;
    }

    /// Returns true if the window was cut, or if the signal is older than the last cut.
    fn quick_adapt(&mut self, signal: &QuickSignal) -> bool {
        let quick = &mut self.quick;
        let mut acted = false;
        if quick.ignored < quick.to_ignore && signal.marked {
            acted = true;
        } else if signal.now > quick.end {
            let congested = quick.trigger || signal.trimmed || signal.delay > 4 * self.gains.target_delay;
            if quick.end != 0 && congested && quick.received < self.max_window / 8 {
                self.window = quick.received.max(self.gains.mtu);
                quick.to_ignore = signal.in_flight;
                quick.ignored = 0;
                quick.trigger = false;
                acted = true;
            }
            quick.received = 0;
            quick.end = signal.now + self.base_rtt + self.gains.target_delay;
        }
        if acted {
            (self.increase, self.since_adjustment) = (0, 0);
        }
        acted
    }

    /// Grows the window by each byte while there is no queue. Returns true if it does.
    fn grow_fast(&mut self, delay: u64, bytes: i64) -> bool {
        if delay >= NO_QUEUE {
            (self.without_queue, self.grows_fast) = (0, false);
            return false;
        }
        self.without_queue += bytes;
        self.grows_fast = self.grows_fast || self.without_queue > self.window;
        if self.grows_fast {
            self.window += (self.gains.fast * bytes as f64) as i64;
        }
        self.grows_fast
    }

    fn decrease(&mut self, now: u64) {
        (self.without_queue, self.grows_fast) = (0, false);
        let (average, target) = (self.average_delay, self.gains.target_delay);
        if average > target && now - self.last_decrease > self.base_rtt {
            let excess = (average - target) as f64 / average as f64;
            let factor = (1.0 - DECREASE * excess).max(MIN_FACTOR);
            self.window = ((self.window as f64 * factor) as i64).max(self.gains.mtu);
            self.last_decrease = now;
        }
    }

    fn apply_increase(&mut self, now: u64) {
        self.window += self.increase / self.window;
        if now - self.last_adjustment >= self.gains.config.network_rtt.0 {
            self.window += self.gains.per_rtt as i64;
            self.last_adjustment = now;
        }
        (self.increase, self.since_adjustment) = (0, 0);
    }
}

/// A signal for quick adaptation.
struct QuickSignal {
    now: u64,
    trimmed: bool,
    marked: bool,
    delay: u64,
    in_flight: i64,
}

impl CongestionControl for Nscc {
    fn window(&self) -> i64 {
        self.window
    }

    fn measure(&mut self, ack: &AckSample) -> u64 {
        self.quick.received += ack.bytes;
        self.since_adjustment += ack.bytes;
        self.quick.ignored += ack.bytes;
        let Some(rtt) = ack.rtt else {
            return self.average_delay;
        };
        if !ack.of_rts {
            self.lower_base_rtt(rtt);
        }
        let Some(delay) = rtt.checked_sub(self.base_rtt) else {
            return self.average_delay;
        };
        self.average(delay, ack.marked);
        delay
    }

    fn on_ack(&mut self, ack: &AckSample, delay: u64, in_flight: i64) {
        let signal = QuickSignal {
            now: ack.now,
            trimmed: false,
            marked: ack.marked,
            delay,
            in_flight,
        };
        if self.quick_adapt(&signal) {
            return;
        }
        let is_late = delay >= self.gains.target_delay;
        match (ack.marked, is_late) {
            (false, true) => self.increase += (self.gains.fair * ack.bytes as f64) as i64,
            (false, false) => {
                if !self.grow_fast(delay, ack.bytes) {
                    let left = (self.gains.target_delay - delay) as f64;
                    self.increase += (self.gains.proportional * ack.bytes as f64 * left) as i64;
                }
            }
            (true, true) => self.decrease(ack.now),
            // The load balancer changes the path.
            (true, false) => {}
        }
        self.clip();
        let is_due = self.since_adjustment > 8 * self.gains.mtu
            || ack.now - self.last_adjustment > self.gains.config.network_rtt.0;
        if is_due {
            self.apply_increase(ack.now);
        }
        self.clip();
    }

    fn on_nack(&mut self, nack: &NackSample) {
        if let Some(rtt) = nack.rtt {
            self.lower_base_rtt(rtt);
        }
        self.quick.ignored += nack.bytes;
        self.average(self.gains.config.network_rtt.0, true);
        self.quick.trigger = true;
        let signal = QuickSignal {
            now: nack.now,
            trimmed: true,
            marked: true,
            delay: 0,
            in_flight: nack.in_flight,
        };
        if !self.quick_adapt(&signal) && nack.reduces {
            self.window -= nack.bytes;
            self.clip();
        }
    }

    fn on_timeout(&mut self, bytes: i64) {
        self.window = (self.window - bytes).max(self.gains.mtu);
    }
}
