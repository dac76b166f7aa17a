//! The sender of a flow.

use std::sync::Arc;

use weft_run::{ControlCounters, SubflowRecord};
use weft_transports::{RoceControl, RoceRetransmission};

use crate::engine::route::Route;
use crate::packet::Packet;
use crate::transport::endpoint::FlowSender;
use crate::transport::flow_progress::SenderProgress;
use crate::transport::shared::Shared;
use crate::transport::tracer::SenderState;

use super::dcqcn::Dcqcn;
use super::go_back_n::GoBackN;
use super::params::Params;
use super::rate::{FixedRate, Pace, RateController};
use super::recovery::{Flight, Recovery};
use super::selective_repeat::SelectiveRepeat;
use super::wire::{Data, HEADER, Nak};

/// The sender of a flow.
pub struct Sender {
    pub params: Arc<Params>,
    route: Route,
    pace: Pace,
    recovery: Recovery,
    flight: Flight,
    /// Bytes of the flow, if it has a size, and the number of its packets, if known.
    size: Option<u64>,
    total: Option<u32>,
    /// Time of the timeout, if any packet is on its way.
    deadline: Option<u64>,
    pub progress: SenderProgress,
    pub counters: SenderCounters,
}

/// The counters of a sender.
#[derive(Default)]
pub struct SenderCounters {
    /// Number of retransmissions and of timeouts.
    pub retransmitted: u64,
    pub timeouts: u64,
    pub control: ControlCounters,
}

impl Sender {
    /// Creates the sender of a flow of this size. `line_rate` is the rate of its first link in bits per second.
    pub fn new(
        params: Arc<Params>,
        route: Route,
        line_rate: f64,
        size: Option<u64>,
        progress: SenderProgress,
    ) -> Self {
        let config = &params.config;
        let control = match config.control {
            RoceControl::Dcqcn => {
                let rate = config.initial_rate.map_or(line_rate, |rate| rate.0 as f64);
                RateController::Dcqcn(Dcqcn::new(*config, line_rate, rate))
            }
            RoceControl::None => RateController::Fixed(FixedRate(line_rate)),
        };
        let recovery = match config.retransmission {
            RoceRetransmission::GoBackN => Recovery::GoBackN(GoBackN::default()),
            RoceRetransmission::SelectiveRepeat => Recovery::SelectiveRepeat(SelectiveRepeat::default()),
        };
        let total = size.map(|size| size.div_ceil(params.payload) as u32);
        Self {
            params,
            route,
            pace: Pace::new(control, line_rate, progress.opened),
            recovery,
            flight: Flight { una: 0, sent: 0 },
            size,
            total,
            deadline: None,
            progress,
            counters: SenderCounters {
                control: ControlCounters {
                    cnps: Some(0),
                    ..ControlCounters::default()
                },
                ..SenderCounters::default()
            },
        }
    }

    /// Ends the flow if all of its data has been acknowledged. Returns true if it has.
    fn finish(&mut self, now: u64) -> bool {
        let is_done = self.total == Some(self.flight.una);
        if is_done {
            self.progress.acked = Some(now);
            self.deadline = None;
        }
        is_done
    }

    /// Returns true if a new packet may be sent.
    fn may_send_new(&self) -> bool {
        let Flight { una, sent } = self.flight;
        self.total.is_none_or(|total| sent < total) && sent - una < self.params.window
    }

    /// Handles an acknowledgement of all packets before `expected`. Returns true if all data has been
    /// acknowledged now.
    pub fn on_ack(&mut self, expected: u32, now: u64) -> bool {
        self.counters.control.acks += 1;
        self.advance(expected, now)
    }

    fn advance(&mut self, expected: u32, now: u64) -> bool {
        if self.progress.is_acked() || expected <= self.flight.una {
            return false;
        }
        self.flight.una = expected;
        self.recovery.get().on_ack(expected);
        let is_outstanding = expected < self.flight.sent;
        self.deadline = is_outstanding.then(|| now + self.params.config.rto.0);
        self.finish(now)
    }

    /// Handles the report of a missing packet.
    pub fn on_nak(&mut self, nak: Nak, now: u64) {
        self.counters.control.nacks += 1;
        self.advance(nak.expected, now);
        // An earlier report may arrive later if routes change.
        if !self.progress.is_acked() && nak.expected == self.flight.una {
            self.recovery.get().on_nak(nak, self.flight);
        }
    }

    /// Handles a congestion notification packet.
    pub fn on_cnp(&mut self, now: u64) {
        if let Some(cnps) = &mut self.counters.control.cnps {
            *cnps += 1;
        }
        self.pace.on_notification(now);
    }

    /// Handles the timer of timeouts.
    pub fn on_timer(&mut self, now: u64) {
        if self.progress.is_acked() || self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.counters.timeouts += 1;
        self.recovery.get().on_timeout(self.flight);
        // The next packet that is sent sets the time of the next timeout.
        self.deadline = None;
    }

    /// Returns the payload of a packet of this size.
    pub fn payload(size: u16) -> u64 {
        u64::from(size) - u64::from(HEADER)
    }
}

impl FlowSender for Sender {
    fn progress(&self) -> &SenderProgress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut SenderProgress {
        &mut self.progress
    }

    fn full_packet(&self) -> (u16, u32) {
        (self.params.class, self.params.config.mtu)
    }

    fn may_send(&mut self) -> bool {
        !self.progress.is_acked() && (self.recovery.get().next(self.flight).is_some() || self.may_send_new())
    }

    fn next_at(&self) -> u64 {
        self.pace.next_at()
    }

    fn next_port(&mut self, shared: &Shared) -> Option<u32> {
        let may_send = self.progress.waits.is_empty() && self.may_send();
        may_send.then(|| self.route.next(shared.hops).0)
    }

    fn take_packet(&mut self, now: u64, _: u32, _: u32, _: &Shared) -> Option<Packet> {
        let again = self.recovery.get().next(self.flight);
        let psn = match again {
            Some(psn) => {
                self.recovery.get().on_resent(psn);
                self.counters.retransmitted += 1;
                psn
            }
            None if self.may_send_new() => {
                self.flight.sent += 1;
                self.flight.sent - 1
            }
            None => return None,
        };
        if self.deadline.is_none() {
            self.deadline = Some(now + self.params.config.rto.0);
        }
        // The size of a flow that was stopped does not matter, because it has none.
        let size = self.params.packet_size(psn, self.size);
        self.pace.on_sent(size, now);
        let data = Data {
            psn,
            ack_at_once: !self.may_send(),
            retransmission: again.is_some(),
            ce: false,
        };
        let Params {
            class,
            is_ecn_capable,
            ..
        } = *self.params;
        Some(Packet {
            route: self.route,
            ..data.packet(self.progress.flow, size, class, is_ecn_capable)
        })
    }

    fn deadline(&mut self) -> Option<u64> {
        self.deadline
    }

    fn stop(&mut self, now: u64) -> bool {
        let sent = self.flight.sent;
        if self.progress.is_acked() || self.total.is_some_and(|total| sent >= total) {
            return false;
        }
        self.total = Some(sent);
        self.finish(now)
    }

    fn reroute(&mut self, shared: &Shared) {
        self.route = shared.route_of_flow(self.progress.flow, false);
    }

    fn sent(&self) -> u64 {
        self.flight.sent.into()
    }

    fn total(&self) -> Option<u64> {
        self.total.map(u64::from)
    }

    fn record(&self) -> SubflowRecord {
        let counters = &self.counters;
        SubflowRecord {
            packets_sent: self.sent() + counters.retransmitted,
            retransmitted: counters.retransmitted,
            timeouts: counters.timeouts,
            acked_bytes: self.movable_bytes(),
            control: Some(counters.control),
            ..SubflowRecord::default()
        }
    }

    fn state(&self, now: u64) -> Option<SenderState> {
        Some(SenderState {
            cwnd: None,
            rate: Some(self.pace.rate(now)),
        })
    }

    fn movable_bytes(&self) -> Option<u64> {
        let bytes = u64::from(self.flight.una) * self.params.payload;
        Some(self.size.map_or(bytes, |size| bytes.min(size)))
    }

    fn set_route(&mut self, route: Route) {
        self.route = route;
    }
}
