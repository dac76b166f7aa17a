//! The sender of a flow.

use weft_transports::{RoceConfig, RoceControl, RoceRetransmission};

use crate::engine::PathRecord;
use crate::packet::Packet;
use crate::transport::contract::{TELEMETRY, flag};
use crate::transport::endpoint::Sending;
use crate::transport::endpoint::flows::SenderFlow;
use crate::transport::port_set::PortSet;

use super::dcqcn::Dcqcn;
use super::go_back_n::GoBackN;
use super::hpcc::{Hpcc, Report};
use super::protocol::RoceProtocol;
use super::rate::{FixedRate, Pace, RateController};
use super::recovery::{Flight, Recovery};
use super::selective_repeat::SelectiveRepeat;
use super::timely::{Sample, Timely};
use super::wire::{Ack, Data, Nak, telemetry_note};

/// The sender of a flow.
pub type Sender = SenderFlow<RoceProtocol>;

/// The state of a sender.
pub struct RoceSender {
    pub pace: Pace,
    recovery: Recovery,
    /// All packets before this one have arrived.
    pub una: u32,
    /// Maximum number of packets that are not acknowledged.
    window: u32,
    /// Time of the timeout, if any packet is on its way.
    pub deadline: Option<u64>,
    /// Number of congestion notifications that arrived.
    pub cnps: u64,
}

/// A packet that may be sent.
#[derive(Clone, Copy)]
pub enum Next {
    /// One that was sent before.
    Again(u32),
    /// The next new one, of this size.
    New(u16),
}

impl RoceSender {
    /// Creates the state of a flow that opens now. `line_rate` is the rate of its first link in bits per second.
    pub fn new(config: &RoceConfig, line_rate: f64, now: u64) -> Self {
        let rate = config.initial_rate.map_or(line_rate, |rate| rate.0 as f64);
        let control = match config.control {
            RoceControl::Dcqcn => RateController::Dcqcn(Dcqcn::new(*config, line_rate, rate)),
            RoceControl::Timely => RateController::Timely(Timely::new(config, false, line_rate, rate)),
            RoceControl::PatchedTimely => RateController::Timely(Timely::new(config, true, line_rate, rate)),
            RoceControl::Hpcc => RateController::Hpcc(Box::new(Hpcc::new(config, line_rate, rate))),
            RoceControl::None => RateController::Fixed(FixedRate(line_rate)),
        };
        let recovery = match config.retransmission {
            RoceRetransmission::GoBackN => Recovery::GoBackN(GoBackN::default()),
            RoceRetransmission::SelectiveRepeat => Recovery::SelectiveRepeat(SelectiveRepeat::default()),
        };
        let packets = |bytes: u64| u32::try_from(bytes / u64::from(config.mtu)).unwrap_or(u32::MAX);
        Self {
            pace: Pace::new(control, line_rate, now),
            recovery,
            una: 0,
            window: config.window.map_or(u32::MAX, |window| packets(window.0)),
            deadline: None,
            cnps: 0,
        }
    }
}

impl Sender {
    fn flight(&self) -> Flight {
        Flight {
            una: self.state.una,
            sent: self.data.sent() as u32,
        }
    }

    /// Returns the next packet that may be sent, whatever the rate.
    #[inline]
    pub fn next_psn(&mut self) -> Option<Next> {
        let flight = self.flight();
        if let Some(psn) = self.state.recovery.next(flight) {
            return Some(Next::Again(psn));
        }
        let size = self.data.next_size()?;
        let in_flight = flight.sent - flight.una;
        let bytes = || f64::from(in_flight) * f64::from(self.params.full_size);
        let is_open = self.state.pace.window().is_none_or(|window| bytes() < window);
        (in_flight < self.state.window && is_open).then_some(Next::New(size))
    }

    /// Returns the next packet, which is sent now.
    pub fn take_packet(&mut self, next: Next, sending: &Sending<'_>) -> Packet {
        let (psn, size) = match next {
            Next::Again(psn) => {
                self.state.recovery.get().on_resent(psn);
                self.counters.retransmitted += 1;
                // The size of a flow that was stopped does not matter, because it has none.
                (psn, self.data.packet_size(psn.into()))
            }
            Next::New(size) => (self.data.count() as u32, size),
        };
        let (now, config) = (sending.now, &self.params.config);
        if self.state.deadline.is_none() {
            self.state.deadline = Some(now + config.rto.0);
        }
        let is_ecn_capable = config.control == RoceControl::Dcqcn;
        let reads_delay = config.control.reads_delay();
        let number = self.state.pace.hpcc().map(|hpcc| hpcc.next_number(self.route));
        let note = match number {
            Some(number) => telemetry_note(sending.node(), number),
            None if reads_delay => now,
            None => 0,
        };
        self.state.pace.on_sent(size, now);
        let data = Data {
            psn,
            ack_at_once: self.next_psn().is_none(),
            retransmission: matches!(next, Next::Again(_)),
            ce: false,
            note,
        };
        let flags = self.params.class | flag(number.is_some(), TELEMETRY);
        Packet {
            route: self.route,
            ..data.packet(self.flow, size, flags, is_ecn_capable)
        }
    }

    /// Handles an acknowledgement, with the telemetry of the packet that caused it. Returns true if all data has been
    /// acknowledged now.
    pub fn on_ack(&mut self, ack: Ack, path: Option<&PathRecord>, now: u64) -> bool {
        self.counters.acks += 1;
        if !self.is_acked() {
            let (expected, sent) = (ack.expected, self.data.sent() as u32);
            match path {
                Some(path) => {
                    self.state.pace.on_report(Report {
                        expected,
                        sent,
                        number: ack.number(),
                        path,
                    });
                    // The flow then waits again, until the new rate allows a packet.
                    if self.waits == PortSet::ALL {
                        self.waits = PortSet::NONE;
                    }
                }
                None => self.state.pace.on_ack(Sample {
                    expected,
                    sent,
                    rtt: now - ack.note,
                }),
            }
        }
        self.advance(ack.expected, now)
    }

    fn advance(&mut self, expected: u32, now: u64) -> bool {
        if self.is_acked() || expected <= self.state.una {
            return false;
        }
        self.state.una = expected;
        self.state.recovery.get().on_ack(expected);
        let is_outstanding = u64::from(expected) < self.data.sent();
        self.state.deadline = is_outstanding.then(|| now + self.params.config.rto.0);
        self.data.total() == Some(expected.into())
    }

    /// Handles the report of a missing packet.
    pub fn on_nak(&mut self, nak: Nak, now: u64) {
        self.counters.nacks += 1;
        self.advance(nak.expected, now);
        // An earlier report may arrive later if routes change.
        if !self.is_acked() && nak.expected == self.state.una {
            let flight = self.flight();
            self.state.recovery.get().on_nak(nak, flight);
        }
    }

    /// Handles a congestion notification packet.
    pub fn on_cnp(&mut self, now: u64) {
        self.state.cnps += 1;
        self.state.pace.on_notification(now);
    }

    /// Handles the timer of timeouts.
    pub fn on_timer(&mut self, now: u64) {
        if self.is_acked() || self.state.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.counters.timeouts += 1;
        let flight = self.flight();
        self.state.recovery.get().on_timeout(flight);
        // The next packet that is sent sets the time of the next timeout.
        self.state.deadline = None;
    }
}
