//! HPCC, which sets window and rate of a flow by the utilisation of the links of its path: Li et al., "HPCC: High Precision
//! Congestion Control", SIGCOMM 2019, algorithm 1.
//!
//! Windows are in bytes on the wire, rates in bits per second, times in picoseconds.

use weft_transports::{HpccConfig, RoceConfig};

use crate::engine::route::Route;
use crate::engine::{HopRecord, PathRecord};

use super::rate::RateControl;

/// Units of bytes sent and of queues in the paper's header, at this rate in bits per second.
const SENT_UNIT: u64 = 128;
const QUEUE_UNIT: u64 = 80;
const UNIT_RATE: u64 = 25_000_000_000;

/// An acknowledgement with the telemetry of the packet that caused it.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// All packets before this one have arrived.
    pub expected: u32,
    /// The next packet that was never sent.
    pub sent: u32,
    /// Number of the transmission.
    pub number: u32,
    pub path: &'a PathRecord,
}

/// The state of a flow.
#[derive(Clone)]
pub struct Hpcc {
    config: HpccConfig,
    /// Base round-trip time T, and the rate of the first link.
    rtt: f64,
    line_rate: f64,
    /// Additive increase, and the smallest and the largest window.
    increase: f64,
    least: f64,
    most: f64,
    /// Window W, and the one of the last round trip, `W_c`.
    window: f64,
    reference: f64,
    /// Average utilisation U of the most loaded link.
    utilisation: f64,
    /// Number of additive increases in a row.
    stage: u32,
    /// An acknowledgement beyond this packet ends a round trip.
    update_after: u32,
    /// Telemetry of the last acknowledgement, of the path since `path_since`.
    last: Option<PathRecord>,
    route: Route,
    /// Number of the next transmission, and of the first one on the path.
    number: u32,
    path_since: u32,
    /// Time and size of the last packet that was sent.
    pub sent_at: u64,
    pub sent_size: u16,
}

impl Hpcc {
    /// Creates the state of a flow that begins at this rate.
    pub fn new(config: &RoceConfig, line_rate: f64, rate: f64) -> Self {
        let hpcc = config.hpcc.unwrap_or_default();
        let rtt = hpcc.rtt.0 as f64;
        let bytes = |rate: f64| rate * rtt / 8e12;
        let window = bytes(rate.min(line_rate));
        Self {
            config: hpcc,
            rtt,
            line_rate,
            increase: bytes(hpcc.increase.map_or(0.0, |rate| rate.0 as f64)),
            least: bytes((config.min_rate.0 as f64).min(line_rate)),
            most: bytes(line_rate),
            window,
            reference: window,
            utilisation: 1.0,
            stage: 0,
            update_after: 0,
            last: None,
            route: Route::default(),
            number: 0,
            path_since: 0,
            sent_at: 0,
            sent_size: 0,
        }
    }

    /// Returns the window in bytes.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Returns the number of a transmission that is sent now.
    pub fn next_number(&mut self, route: Route) -> u32 {
        if self.route != route {
            (self.route, self.path_since, self.last) = (route, self.number, None);
        }
        self.number += 1;
        self.number - 1
    }

    /// Handles an acknowledgement (procedure `NewAck`). The first one of a path is only stored.
    pub fn on_report(&mut self, report: Report<'_>) {
        if report.number < self.path_since {
            return;
        }
        let is_round = report.expected > self.update_after;
        if is_round {
            self.update_after = report.sent;
        }
        let path = *report.path;
        if let Some(last) = self.last.replace(path)
            && last.hops().len() == path.hops().len()
            && self.measure(last.hops(), path.hops())
        {
            self.set_window(is_round);
        }
    }

    /// Averages the utilisation of the most loaded link (function `MeasureInflight`). Returns false if no time has passed at
    /// a port.
    fn measure(&mut self, last: &[HopRecord], hops: &[HopRecord]) -> bool {
        let (mut highest, mut tau) = (0.0, 0.0);
        for (last, hop) in last.iter().zip(hops) {
            let (last, hop) = (self.read(*last), self.read(*hop));
            if hop.time == last.time {
                return false;
            }
            let rate = hop.rate.0 as f64;
            let time = (hop.time - last.time) as f64;
            let waiting = hop.queue.min(last.queue) as f64 * 8e12 / (rate * self.rtt);
            let load = waiting + (hop.sent - last.sent) as f64 * 8e12 / (time * rate);
            if load > highest {
                (highest, tau) = (load, time);
            }
        }
        let weight = tau.min(self.rtt) / self.rtt;
        self.utilisation = (1.0 - weight) * self.utilisation + weight * highest;
        !hops.is_empty()
    }

    /// Returns a record as the header of a packet has it.
    fn read(&self, hop: HopRecord) -> HopRecord {
        if !self.config.quantised {
            return hop;
        }
        let scale = (hop.rate.0 / UNIT_RATE).max(1);
        let floor = |value: u64, unit: u64| value - value % unit;
        HopRecord {
            time: floor(hop.time, 1_000),
            sent: floor(hop.sent, SENT_UNIT * scale),
            queue: floor(hop.queue, QUEUE_UNIT * scale),
            rate: hop.rate,
        }
    }

    /// Sets the window (function `ComputeWind`). The reference changes once per round trip.
    fn set_window(&mut self, is_round: bool) {
        let target = self.config.utilisation;
        let (window, stage) = if self.utilisation >= target || self.stage >= self.config.max_stage {
            (self.reference * target / self.utilisation + self.increase, 0)
        } else {
            (self.reference + self.increase, self.stage + 1)
        };
        self.window = window.clamp(self.least, self.most);
        if is_round {
            (self.reference, self.stage) = (self.window, stage);
        }
    }
}

impl RateControl for Hpcc {
    fn rate(&mut self, _: u64) -> f64 {
        (self.window * 8e12 / self.rtt).min(self.line_rate)
    }

    fn on_sent(&mut self, bytes: u16, now: u64) {
        (self.sent_at, self.sent_size) = (now, bytes);
    }

    fn on_notification(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use weft_spec::{Rate, Time};

    use super::*;
    use crate::engine::route::HopBits;

    const US: u64 = 1_000_000;
    const LINE: f64 = 10e9;
    /// Bytes of a round trip of 10 us at the rate of the link.
    const VOLUME: f64 = 12_500.0;
    const STEP: f64 = 125.0;

    fn flow(config: HpccConfig) -> Hpcc {
        let config = RoceConfig {
            hpcc: Some(HpccConfig {
                rtt: Time(10 * US),
                increase: Some(Rate(100_000_000)),
                ..config
            }),
            ..RoceConfig::default()
        };
        let mut flow = Hpcc::new(&config, LINE, LINE / 2.0);
        flow.next_number(Route::default());
        flow
    }

    fn hop(time: u64, sent: u64, queue: u64) -> HopRecord {
        HopRecord {
            time: time * US,
            sent,
            queue,
            rate: Rate(10_000_000_000),
        }
    }

    /// Feeds an acknowledgement that ends a round trip, or does not.
    fn feed(flow: &mut Hpcc, hops: &[HopRecord], is_round: bool) {
        let expected = flow.update_after + u32::from(is_round);
        flow.on_report(Report {
            expected,
            sent: expected + 9,
            number: 0,
            path: &PathRecord::of(hops),
        });
    }

    fn assert_close(measured: f64, expected: f64) {
        assert!(
            (measured / expected - 1.0).abs() < 1e-12,
            "{measured} instead of {expected}"
        );
    }

    #[test]
    fn the_window_follows_the_most_loaded_port() {
        let mut flow = flow(HpccConfig::default());
        feed(&mut flow, &[hop(0, 0, 0), hop(2, 0, 2_500)], true);
        assert_close(flow.window(), VOLUME / 2.0);
        // Loads of 0.5 for 5 us, and of 1 with a fifth of a round trip in the queue.
        feed(&mut flow, &[hop(5, 3_125, 0), hop(7, 6_250, 5_000)], false);
        assert_close(flow.utilisation, 0.5 * 1.0 + 0.5 * 1.2);
        assert_close(flow.window(), VOLUME / 2.0 * 0.95 / 1.1 + STEP);
        // The reference is as before within the round trip.
        feed(&mut flow, &[hop(10, 6_250, 0), hop(12, 12_500, 2_500)], true);
        let load = 0.5 * 1.1 + 0.5 * 1.2;
        let window = VOLUME / 2.0 * 0.95 / load + STEP;
        assert_close(flow.window(), window);
        // A longer time than a round trip counts as one.
        feed(&mut flow, &[hop(40, 6_250, 0), hop(42, 50_000, 0)], true);
        assert_close(flow.utilisation, 1.0);
        assert_close(flow.window(), window * 0.95 + STEP);
    }

    #[test]
    fn an_idle_path_adds_for_some_rounds_and_then_multiplies() {
        let mut flow = flow(HpccConfig {
            max_stage: 2,
            ..HpccConfig::default()
        });
        let half = |n: u64| [hop(10 * n, 6_250 * n, 0)];
        feed(&mut flow, &half(0), true);
        for n in 1..=2 {
            feed(&mut flow, &half(n), true);
            assert_close(flow.window(), VOLUME / 2.0 + n as f64 * STEP);
        }
        feed(&mut flow, &half(3), true);
        assert_close(flow.window(), (VOLUME / 2.0 + 2.0 * STEP) * 0.95 / 0.5 + STEP);
        feed(&mut flow, &half(4), true);
        // Windows stay at most those of the link.
        feed(&mut flow, &half(5), true);
        feed(&mut flow, &half(6), true);
        assert_close(flow.window(), VOLUME);
        assert_close(flow.rate(0), LINE);
    }

    #[test]
    fn a_new_path_begins_a_new_comparison() {
        let mut flow = flow(HpccConfig::default());
        let other = Route::from_ports(&[1, 0], HopBits::new(4)).unwrap();
        feed(&mut flow, &[hop(0, 0, 0)], true);
        assert_eq!(flow.next_number(other), 1);
        feed(&mut flow, &[hop(5, 6_250, 0)], true);
        assert_eq!((flow.last, flow.path_since), (None, 1));
        assert_close(flow.window(), VOLUME / 2.0);
    }

    #[test]
    fn quantised_telemetry_is_rounded_down() {
        let flow = flow(HpccConfig {
            quantised: true,
            ..HpccConfig::default()
        });
        let fast = HopRecord {
            time: 1_999,
            sent: 1_100,
            queue: 1_090,
            rate: Rate(100_000_000_000),
        };
        let read = flow.read(fast);
        assert_eq!((read.time, read.sent, read.queue), (1_000, 1_024, 960));
        let read = flow.read(hop(0, 1_100, 1_090));
        assert_eq!((read.sent, read.queue), (1_024, 1_040));
    }
}
