//! The interface of congestion control at senders, which limits the rate of a flow.

use super::dcqcn::Dcqcn;
use super::hpcc::{Hpcc, Report};
use super::timely::{Sample, Timely};

/// A congestion control of senders. Times are in picoseconds, rates in bits per second.
pub trait RateControl {
    /// Returns the rate at which the next packet is sent.
    fn rate(&mut self, now: u64) -> f64;

    /// Records that a packet of this size was sent.
    fn on_sent(&mut self, bytes: u16, now: u64);

    /// Handles a congestion notification.
    fn on_notification(&mut self, now: u64);
}

/// A rate that does not change.
#[derive(Clone)]
pub struct FixedRate(pub f64);

impl RateControl for FixedRate {
    fn rate(&mut self, _: u64) -> f64 {
        self.0
    }

    fn on_sent(&mut self, _: u16, _: u64) {}

    fn on_notification(&mut self, _: u64) {}
}

/// The congestion control of a flow.
#[derive(Clone)]
pub enum RateController {
    Dcqcn(Dcqcn),
    Timely(Timely),
    Hpcc(Box<Hpcc>),
    Fixed(FixedRate),
}

impl RateController {
    /// Returns the congestion control.
    pub fn get(&mut self) -> &mut dyn RateControl {
        match self {
            Self::Dcqcn(control) => control,
            Self::Timely(control) => control,
            Self::Hpcc(control) => control.as_mut(),
            Self::Fixed(control) => control,
        }
    }
}

/// The pace of a flow's packets.
pub struct Pace {
    control: RateController,
    line_rate: f64,
    /// Time from which on the rate allows the next packet.
    next_at: u64,
}

impl Pace {
    /// Returns the pace of a flow that opens now, on a NIC with this rate in bits per second.
    pub const fn new(control: RateController, line_rate: f64, now: u64) -> Self {
        Self {
            control,
            line_rate,
            next_at: now,
        }
    }

    /// Returns the time from which on the rate allows the next packet.
    pub const fn next_at(&self) -> u64 {
        self.next_at
    }

    /// Records that a packet of this size is sent now.
    pub fn on_sent(&mut self, size: u16, now: u64) {
        let rate = self.control.get().rate(now);
        self.control.get().on_sent(size, now);
        self.next_at = self.after(size, now, rate);
    }

    /// Returns the time from which on a rate allows the packet after one of this size.
    fn after(&self, size: u16, sent: u64, rate: f64) -> u64 {
        if rate < self.line_rate {
            sent + (f64::from(size) * 8e12 / rate) as u64
        } else {
            sent
        }
    }

    /// Returns the rate in bits per second, without a change of the state.
    pub fn rate(&self, now: u64) -> f64 {
        self.control.clone().get().rate(now)
    }

    /// Handles the round-trip time of an acknowledgement, if the congestion control reads it.
    pub fn on_ack(&mut self, sample: Sample) {
        if let RateController::Timely(control) = &mut self.control {
            control.on_ack(sample);
        }
    }

    /// Handles telemetry. The new rate is also that of the wait after the last packet.
    pub fn on_report(&mut self, report: Report<'_>) {
        let RateController::Hpcc(control) = &mut self.control else {
            return;
        };
        control.on_report(report);
        let (sent, size, rate) = (control.sent_at, control.sent_size, control.rate(control.sent_at));
        self.next_at = self.after(size, sent, rate);
    }

    /// Returns the congestion control if it reads telemetry.
    pub fn hpcc(&mut self) -> Option<&mut Hpcc> {
        match &mut self.control {
            RateController::Hpcc(control) => Some(control),
            _ => None,
        }
    }

    /// Returns the window in bytes, if the congestion control has one.
    #[inline]
    pub fn window(&self) -> Option<f64> {
        match &self.control {
            RateController::Hpcc(control) => Some(control.window()),
            _ => None,
        }
    }

    /// Handles a congestion notification.
    pub fn on_notification(&mut self, now: u64) {
        self.control.get().on_notification(now);
    }
}
