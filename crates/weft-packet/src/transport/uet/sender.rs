//! The sender of a flow.

use weft_transports::UetConfig;

use crate::packet::Packet;
use crate::transport::endpoint::Sending;
use crate::transport::endpoint::flows::SenderFlow;
use crate::transport::shared::Shared;
use crate::transport::spray::{HEADER, NextPacket, Records, State};

use super::control::{AckSample, CongestionControl, NackSample};
use super::credit::{Backlog, Credit};
use super::load_balancer::{Balancer, Feedback};
use super::nscc::Nscc;
use super::params::longest_window;
use super::paths::EvRoutes;
use super::protocol::UetProtocol;
use super::wire::{Ack, Data, Nack, expand};

/// Bytes that a flow without a size has to send.
const ENDLESS: i64 = i64::MAX / 4;

/// The bytes of a flow that are in flight.
#[derive(Default)]
struct Flight {
    bytes: i64,
    /// Bytes that the receiver has reported, modulo 2^32.
    received: u32,
}

impl Flight {
    /// Returns the number of bytes that this report of the receiver adds, which are no longer in flight.
    fn on_report(&mut self, received: u32) -> i64 {
        let bytes = i64::from(received.wrapping_sub(self.received).cast_signed()).max(0);
        self.received = self.received.wrapping_add(bytes as u32);
        self.bytes -= bytes;
        bytes
    }
}

/// The sender of a flow.
pub type Sender = SenderFlow<UetProtocol>;

/// The state of a sender.
pub struct UetSender {
    pub routes: EvRoutes,
    pub balancer: Balancer,
    /// The window, unless only credit limits the flow, and the credit, unless only the window does.
    window: Option<Nscc>,
    credit: Option<Credit>,
    pub records: Records,
    flight: Flight,
    last_request: Option<u64>,
    /// Number of acknowledgements that reported a mark.
    pub marked: u64,
    /// Number of pulls that arrived, of requests to send, and of those that were sent again.
    pub pulls: u64,
    pub rts: u64,
    pub repeated_rts: u64,
}

impl UetSender {
    /// Creates the state of a flow that begins.
    pub fn new(config: &UetConfig, routes: EvRoutes, balancer: Balancer) -> Self {
        let window_packets = longest_window(config) / i64::from(config.mtu) + 1;
        let control = config.control;
        Self {
            routes,
            balancer,
            window: control
                .has_window()
                .then(|| Nscc::new(config, config.mtu - HEADER)),
            credit: control.has_credit().then(|| Credit::new(config)),
            records: Records::new(4 * window_packets as usize),
            flight: Flight::default(),
            last_request: None,
            marked: 0,
            pulls: 0,
            rts: 0,
            repeated_rts: 0,
        }
    }

    fn stop_speculating(&mut self) {
        if let Some(credit) = &mut self.credit {
            credit.stop_speculating();
        }
    }

    /// Returns true if window and credit allow a packet of this size.
    #[inline]
    fn allows(&self, size: i64) -> bool {
        let fits = |window: &Nscc| self.flight.bytes + size <= window.window();
        self.window.as_ref().is_none_or(fits) && self.credit.as_ref().is_none_or(Credit::allows)
    }
}

/// A packet that has timed out.
pub struct Expired {
    /// Its size.
    pub size: i64,
    /// True if other packets waited to be sent again before it.
    pub had_queue: bool,
    /// True if nothing has been granted, so that the packet does not ask for the NIC.
    pub is_speculating: bool,
}

impl Sender {
    /// Returns the window in packets; `None` if there is none.
    pub fn window_packets(&self) -> Option<f64> {
        let window = self.state.window.as_ref()?.window();
        Some(window as f64 / f64::from(self.params.config.mtu))
    }

    /// Returns the bytes of packets that were not sent, headers included.
    fn backlog(&self) -> i64 {
        let unsent = self.data.unsent_bytes();
        unsent.map_or(ENDLESS, u64::cast_signed)
    }

    /// Returns true if no packet of this size may follow.
    fn is_last(&self, size: u16) -> bool {
        let full = |window: &Nscc| self.state.flight.bytes + i64::from(size) >= window.window();
        self.data.is_sent()
            || self.state.credit.as_ref().is_some_and(|credit| !credit.allows())
            || self.state.window.as_ref().is_some_and(full)
    }

    fn ask(&mut self, waiting: u32) -> u32 {
        if self.state.credit.is_none() {
            return 0;
        }
        let backlog = Backlog {
            new: self.backlog(),
            queued: self.state.records.queued().1,
            window: self.state.window.as_ref().map(Nscc::window),
            waiting,
        };
        let mtu = self.params.config.mtu.into();
        self.state
            .credit
            .as_mut()
            .map_or(0, |credit| credit.ask(&backlog, mtu))
    }

    /// Returns a request to send, unless the last one was sent less than a round-trip time ago.
    pub fn take_request(&mut self, now: u64, shared: &Shared) -> Option<Packet> {
        let limited = self.state.window.is_some() || !self.params.config.simulator_quirks;
        let rtt = self.params.config.network_rtt.0;
        if limited && self.state.last_request.is_some_and(|last| now < last + rtt) {
            return None;
        }
        self.state.last_request = Some(now);
        self.state.rts += 1;
        let ev = self.state.balancer.choose();
        let psn = self.state.records.push(HEADER as u16, true, ev, now);
        let data = Data {
            psn,
            ev,
            pull_target: self.state.credit.as_ref().map_or(0, Credit::target),
            ack_at_once: true,
            retransmission: false,
            is_rts: true,
            ce: false,
            trimmed: false,
            trimmed_at_last_hop: false,
        };
        Some(Packet {
            route: self.state.routes.route(ev, shared),
            ..data.packet(self.flow, HEADER as u16, self.params.class)
        })
    }

    /// Handles an acknowledgement. Returns true if all data has been acknowledged now.
    pub fn on_ack(&mut self, ack: &Ack, now: u64) -> bool {
        self.counters.acks += 1;
        self.state.marked += u64::from(ack.ecn_echo);
        if self.is_acked() {
            return false;
        }
        let next = self.state.records.next();
        let (cumulative, trigger) = (expand(ack.cumulative, next), expand(ack.trigger, next));
        let bytes = self.state.flight.on_report(ack.received);
        let sample = AckSample {
            now,
            bytes,
            rtt: self.rtt(trigger, ack.retransmission, now),
            marked: ack.ecn_echo,
            of_rts: ack.of_rts,
        };
        let delay = match &mut self.state.window {
            Some(window) => window.measure(&sample),
            None => 0,
        };
        let reference = Ack::reference(ack.from_trigger, trigger, cumulative);
        let ev = self.state.records.ev(trigger);
        self.state.flight.bytes += self
            .state
            .records
            .acknowledge_all(cumulative, reference, ack.bitmap);
        if let Some(ev) = ev {
            let feedback = if ack.ecn_echo {
                Feedback::Marked
            } else {
                Feedback::Good
            };
            self.state.balancer.on_feedback(ev, feedback, now);
        }
        if let Some(window) = &mut self.state.window {
            window.on_ack(&sample, delay, self.state.flight.bytes);
        }
        self.state.stop_speculating();
        let chunks = u64::from(cumulative) - self.state.rts.min(cumulative.into());
        self.data.is_within(chunks)
    }

    /// Returns the round-trip time of a packet, unless more than one of its transmissions may have caused
    /// the acknowledgement.
    fn rtt(&self, psn: u32, of_retransmission: bool, now: u64) -> Option<u64> {
        let record = self.state.records.get(psn)?;
        let is_known = record.state == State::Sent
            && match record.sends {
                1 => !of_retransmission,
                2 => of_retransmission,
                _ => false,
            };
        is_known.then(|| now - record.sent)
    }

    /// Handles the report of a trimmed packet: the packet waits to be sent again. Returns false if the report
    /// is outdated.
    pub fn on_nack(&mut self, nack: Nack, now: u64) -> bool {
        self.counters.nacks += 1;
        let record = self.state.records.get(nack.psn).copied();
        let Some(record) = record.filter(|record| record.state == State::Sent) else {
            return false;
        };
        let bytes = i64::from(record.size);
        if let Some(window) = &mut self.state.window {
            let sample = NackSample {
                now,
                bytes,
                rtt: self.params.config.simulator_quirks.then(|| now - record.sent),
                in_flight: self.state.flight.bytes,
                reduces: self.state.credit.is_none() || !nack.last_hop,
            };
            window.on_nack(&sample);
        }
        self.state.flight.bytes -= bytes;
        self.state.stop_speculating();
        self.state.records.queue(nack.psn);
        true
    }

    /// Tells the load balancer of a trimmed packet.
    pub fn on_trimmed_path(&mut self, nack: Nack, now: u64) {
        let feedback = match (nack.last_hop, nack.ecn_echo) {
            (false, _) => Feedback::Trimmed,
            (true, true) => Feedback::Marked,
            (true, false) => Feedback::Good,
        };
        self.state.balancer.on_feedback(nack.ev, feedback, now);
    }

    /// Handles granted credit. Returns true if it is new.
    pub fn on_pull(&mut self, granted: u32) -> bool {
        self.state.pulls += 1;
        self.state.stop_speculating();
        let credit = self.state.credit.as_mut();
        credit.is_some_and(|credit| credit.on_pull(granted)) && !self.is_acked()
    }

    /// Handles the timer. Returns what follows if a packet has timed out.
    pub fn on_timer(&mut self, now: u64) -> Option<Expired> {
        let (sent, psn) = self.state.records.oldest()?;
        if self.is_acked() || sent + self.params.config.rto.0 > now {
            return None;
        }
        let record = *self.state.records.get(psn)?;
        self.counters.timeouts += 1;
        let ev = if self.params.config.simulator_quirks {
            Some(0)
        } else {
            self.state.records.ev(psn)
        };
        if let Some(ev) = ev {
            self.state.balancer.on_feedback(ev, Feedback::TimedOut, now);
        }
        let bytes = i64::from(record.size);
        if let Some(window) = &mut self.state.window {
            window.on_timeout(bytes);
            if !record.is_rts {
                self.state.flight.bytes -= bytes;
            }
        }
        let had_queue = self.state.records.queued().0 > 0;
        self.state.records.queue(psn);
        let is_speculating = self.state.credit.as_ref().is_some_and(Credit::is_speculating);
        if had_queue {
            self.state.stop_speculating();
        }
        Some(Expired {
            size: bytes,
            had_queue,
            is_speculating,
        })
    }

    /// Returns true if credit limits the flow.
    pub fn has_credit(&self) -> bool {
        self.state.credit.is_some()
    }

    /// Returns true if a packet of this size may not be sent.
    pub fn is_blocked(&self, size: i64) -> bool {
        !self.state.allows(size)
    }

    /// Returns the next packet that may be sent.
    #[inline]
    pub fn next_packet(&mut self) -> Option<NextPacket> {
        let next = self.state.records.next_packet(&self.data)?;
        self.state.allows(next.size.into()).then_some(next)
    }

    /// Returns the next packet, which is sent now.
    #[inline]
    pub fn take_packet(&mut self, next: NextPacket, sending: &Sending<'_>) -> Packet {
        let ev = self.next_path(sending.port, None);
        let state = &mut self.state;
        let psn = state.records.send(next, &mut self.data, ev, sending.now);
        let retransmission = next.again.is_some();
        if next.is_rts {
            state.repeated_rts += 1;
        } else {
            self.counters.retransmitted += u64::from(retransmission);
            state.flight.bytes += i64::from(next.size);
        }
        if let Some(credit) = &mut state.credit {
            credit.charge(next.size);
        }
        let ack_at_once = retransmission || self.is_last(next.size);
        let data = Data {
            psn,
            ev,
            pull_target: self.ask(sending.waiting),
            ack_at_once,
            retransmission,
            is_rts: next.is_rts,
            ce: false,
            trimmed: false,
            trimmed_at_last_hop: false,
        };
        Packet {
            route: self.state.routes.route(ev, sending.shared),
            ..data.packet(self.flow, next.size, self.params.class)
        }
    }
}
