//! The sender of a flow.

use std::sync::Arc;

use weft_run::{ControlCounters, SubflowRecord};

use crate::packet::Packet;
use crate::transport::endpoint::FlowSender;
use crate::transport::flow_progress::SenderProgress;
use crate::transport::shared::Shared;
use crate::transport::spray::{FlowData, HEADER, PathsAhead, Records, State};
use crate::transport::tracer::SenderState;

use super::control::{AckSample, CongestionControl, NackSample};
use super::credit::{Backlog, Credit};
use super::load_balancer::{Balancer, Feedback};
use super::nscc::Nscc;
use super::params::Params;
use super::paths::EvRoutes;
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
pub struct Sender {
    pub params: Arc<Params>,
    routes: EvRoutes,
    /// The EVs of the next packets, if the host has several links.
    ahead: Option<Box<PathsAhead>>,
    balancer: Balancer,
    /// The window, unless only credit limits the flow, and the credit, unless only the window does.
    window: Option<Nscc>,
    credit: Option<Credit>,
    records: Records,
    flight: Flight,
    pub data: FlowData,
    last_request: Option<u64>,
    pub progress: SenderProgress,
    pub counters: SenderCounters,
}

/// The counters of a sender.
#[derive(Default)]
pub struct SenderCounters {
    /// Number of retransmissions and of timeouts.
    pub retransmitted: u64,
    pub timeouts: u64,
    /// Number of acknowledgements that reported a mark.
    pub marked: u64,
    /// Number of ACKs, NACKs and pulls that arrived, and of requests to send.
    pub acks: u64,
    pub nacks: u64,
    pub pulls: u64,
    pub rts: u64,
    /// Number of requests to send that were sent again.
    pub repeated_rts: u64,
}

impl SenderCounters {
    /// Returns the counts of packets without payload.
    pub fn control(&self) -> ControlCounters {
        ControlCounters {
            acks: self.acks,
            nacks: self.nacks,
            pulls: Some(self.pulls),
            rts: Some(self.rts),
            repeated_rts: Some(self.repeated_rts),
            cnps: None,
        }
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
    /// Creates the sender of a flow of this size.
    pub fn new(
        params: Arc<Params>,
        routes: EvRoutes,
        ahead: Option<Box<PathsAhead>>,
        balancer: Balancer,
        size: Option<u64>,
        progress: SenderProgress,
    ) -> Self {
        let window_packets = params.max_window(params.network_rtt) / params.mtu + 1;
        Self {
            ahead,
            routes,
            balancer,
            window: params.config.control.has_window().then(|| Nscc::new(&params)),
            credit: params.config.control.has_credit().then(|| Credit::new(&params)),
            records: Records::new(4 * window_packets as usize),
            flight: Flight::default(),
            data: FlowData::new(size, &params.segments),
            last_request: None,
            progress,
            counters: SenderCounters::default(),
            params,
        }
    }

    /// Returns the window in packets; `None` if there is none.
    pub fn window_packets(&self) -> Option<f64> {
        let window = self.window.as_ref()?.window();
        Some(window as f64 / self.params.mtu as f64)
    }

    fn finish(&mut self, now: u64) {
        self.progress.acked = Some(now);
        self.records.clear();
        self.routes.clear();
    }

    /// Returns the size of the next new packet.
    fn new_size(&self) -> Option<u16> {
        self.data.next_size(&self.params.segments)
    }

    /// Returns the bytes of packets that were not sent, headers included.
    fn backlog(&self) -> i64 {
        let unsent = self.data.unsent_bytes(&self.params.segments);
        unsent.map_or(ENDLESS, u64::cast_signed)
    }

    /// Returns true if no packet of this size may follow.
    fn is_last(&self, size: u16) -> bool {
        let full = |window: &Nscc| self.flight.bytes + i64::from(size) >= window.window();
        self.backlog() == 0
            || self.credit.as_ref().is_some_and(|credit| !credit.allows())
            || self.window.as_ref().is_some_and(full)
    }

    fn ask(&mut self, waiting: u32) -> u32 {
        let backlog = Backlog {
            new: self.backlog(),
            queued: self.records.queued().1,
            window: self.window.as_ref().map(Nscc::window),
            waiting,
        };
        let mtu = self.params.mtu;
        self.credit.as_mut().map_or(0, |credit| credit.ask(&backlog, mtu))
    }

    /// Returns a request to send, unless the last one was sent less than a round-trip time ago.
    pub fn take_request(&mut self, now: u64, shared: &Shared) -> Option<Packet> {
        let limited = self.window.is_some() || !self.params.config.simulator_quirks;
        let rtt = self.params.network_rtt;
        if limited && self.last_request.is_some_and(|last| now < last + rtt) {
            return None;
        }
        self.last_request = Some(now);
        self.counters.rts += 1;
        let ev = self.balancer.choose();
        let psn = self.records.push(HEADER as u16, true, ev, now);
        let data = Data {
            psn,
            ev,
            pull_target: self.credit.as_ref().map_or(0, Credit::target),
            ack_at_once: true,
            retransmission: false,
            is_rts: true,
            ce: false,
            trimmed: false,
            trimmed_at_last_hop: false,
        };
        Some(Packet {
            route: self.routes.route(ev, shared),
            ..data.packet(self.progress.flow, HEADER as u16, self.params.class)
        })
    }

    /// Handles an acknowledgement. Returns true if all data has been acknowledged now.
    pub fn on_ack(&mut self, ack: &Ack, now: u64) -> bool {
        self.counters.acks += 1;
        self.counters.marked += u64::from(ack.ecn_echo);
        if self.progress.is_acked() {
            return false;
        }
        let next = self.records.next();
        let (cumulative, trigger) = (expand(ack.cumulative, next), expand(ack.trigger, next));
        let bytes = self.flight.on_report(ack.received);
        let sample = AckSample {
            now,
            bytes,
            rtt: self.rtt(trigger, ack.retransmission, now),
            marked: ack.ecn_echo,
            of_rts: ack.of_rts,
        };
        let delay = match &mut self.window {
            Some(window) => window.measure(&sample, &self.params),
            None => 0,
        };
        let reference = Ack::reference(ack.from_trigger, trigger, cumulative);
        let ev = self.records.ev(trigger);
        self.flight.bytes += self.records.acknowledge_all(cumulative, reference, ack.bitmap);
        if let Some(ev) = ev {
            let feedback = if ack.ecn_echo {
                Feedback::Marked
            } else {
                Feedback::Good
            };
            self.balancer.on_feedback(ev, feedback, now);
        }
        if let Some(window) = &mut self.window {
            window.on_ack(&sample, delay, self.flight.bytes, &self.params);
        }
        self.stop_speculating();
        let chunks = u64::from(cumulative) - self.counters.rts.min(cumulative.into());
        let is_done = self.data.is_within(chunks);
        if is_done {
            self.finish(now);
        }
        is_done
    }

    /// Returns the round-trip time of a packet, unless more than one of its transmissions may have caused
    /// the acknowledgement.
    fn rtt(&self, psn: u32, of_retransmission: bool, now: u64) -> Option<u64> {
        let record = self.records.get(psn)?;
        let is_known = record.state == State::Sent
            && match record.sends {
                1 => !of_retransmission,
                2 => of_retransmission,
                _ => false,
            };
        is_known.then(|| now - record.sent)
    }

    fn stop_speculating(&mut self) {
        if let Some(credit) = &mut self.credit {
            credit.stop_speculating();
        }
    }

    /// Handles the report of a trimmed packet: the packet waits to be sent again. Returns false if the report
    /// is outdated.
    pub fn on_nack(&mut self, nack: Nack, now: u64) -> bool {
        self.counters.nacks += 1;
        let record = self.records.get(nack.psn).copied();
        let Some(record) = record.filter(|record| record.state == State::Sent) else {
            return false;
        };
        let bytes = i64::from(record.size);
        if let Some(window) = &mut self.window {
            let sample = NackSample {
                now,
                bytes,
                rtt: self.params.config.simulator_quirks.then(|| now - record.sent),
                in_flight: self.flight.bytes,
                reduces: self.credit.is_none() || !nack.last_hop,
            };
            window.on_nack(&sample, &self.params);
        }
        self.flight.bytes -= bytes;
        self.stop_speculating();
        self.records.queue(nack.psn);
        true
    }

    /// Tells the load balancer of a trimmed packet.
    pub fn on_trimmed_path(&mut self, nack: Nack, now: u64) {
        let feedback = match (nack.last_hop, nack.ecn_echo) {
            (false, _) => Feedback::Trimmed,
            (true, true) => Feedback::Marked,
            (true, false) => Feedback::Good,
        };
        self.balancer.on_feedback(nack.ev, feedback, now);
    }

    /// Handles granted credit. Returns true if it is new.
    pub fn on_pull(&mut self, granted: u32) -> bool {
        self.counters.pulls += 1;
        self.stop_speculating();
        let credit = self.credit.as_mut();
        credit.is_some_and(|credit| credit.on_pull(granted)) && !self.progress.is_acked()
    }

    /// Handles the timer. Returns what follows if a packet has timed out.
    pub fn on_timer(&mut self, now: u64) -> Option<Expired> {
        if self.progress.is_acked() || self.deadline()? > now {
            return None;
        }
        let (_, psn) = self.records.oldest()?;
        let record = *self.records.get(psn)?;
        self.counters.timeouts += 1;
        let ev = if self.params.config.simulator_quirks {
            Some(0)
        } else {
            self.records.ev(psn)
        };
        if let Some(ev) = ev {
            self.balancer.on_feedback(ev, Feedback::TimedOut, now);
        }
        let bytes = i64::from(record.size);
        if let Some(window) = &mut self.window {
            window.on_timeout(bytes, &self.params);
            if !record.is_rts {
                self.flight.bytes -= bytes;
            }
        }
        let had_queue = self.records.queued().0 > 0;
        self.records.queue(psn);
        let is_speculating = self.credit.as_ref().is_some_and(Credit::is_speculating);
        if had_queue {
            self.stop_speculating();
        }
        Some(Expired {
            size: bytes,
            had_queue,
            is_speculating,
        })
    }

    /// Returns true if credit limits the flow.
    pub fn has_credit(&self) -> bool {
        self.credit.is_some()
    }

    /// Returns true if a packet of this size may not be sent.
    pub fn is_blocked(&self, size: i64) -> bool {
        let full = self
            .window
            .as_ref()
            .map(|window| window.window() < size + self.flight.bytes);
        full.unwrap_or(false) || self.credit.as_ref().is_some_and(|credit| !credit.allows())
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
        if self.progress.is_acked() {
            return false;
        }
        let queued = self.records.first_queued().map(|(_, record)| record.size);
        let Some(size) = queued.or_else(|| self.new_size()) else {
            return false;
        };
        let has_window = self
            .window
            .as_ref()
            .is_none_or(|window| self.flight.bytes + i64::from(size) <= window.window());
        has_window && self.credit.as_ref().is_none_or(Credit::allows)
    }

    fn next_port(&mut self, shared: &Shared) -> Option<u32> {
        let waits = self.progress.waits;
        if self.ahead.is_none() {
            return (waits.is_empty() && self.may_send()).then_some(0);
        }
        if !self.may_send() {
            return None;
        }
        let mut ahead = self.ahead.take()?;
        let port = ahead.next_port(waits, || {
            let ev = self.balancer.choose();
            (self.routes.route(ev, shared).next(shared.hops).0, ev)
        });
        self.ahead = Some(ahead);
        port
    }

    fn take_packet(&mut self, now: u64, port: u32, waiting: u32, shared: &Shared) -> Option<Packet> {
        let ahead = self.ahead.as_mut().and_then(|ahead| ahead.take(port, None));
        let ev = ahead.unwrap_or_else(|| self.balancer.choose());
        let (psn, size, is_rts, retransmission) = if let Some((psn, record)) = self.records.first_queued() {
            self.records.resend_first(psn, ev, now);
            let count = if record.is_rts {
                &mut self.counters.repeated_rts
            } else {
                &mut self.counters.retransmitted
            };
            *count += 1;
            (psn, record.size, record.is_rts, true)
        } else {
            let size = self.new_size()?;
            self.data.count();
            (self.records.push(size, false, ev, now), size, false, false)
        };
        if !is_rts {
            self.flight.bytes += i64::from(size);
        }
        if let Some(credit) = &mut self.credit {
            credit.charge(size);
        }
        let ack_at_once = retransmission || self.is_last(size);
        let data = Data {
            psn,
            ev,
            pull_target: self.ask(waiting),
            ack_at_once,
            retransmission,
            is_rts,
            ce: false,
            trimmed: false,
            trimmed_at_last_hop: false,
        };
        Some(Packet {
            route: self.routes.route(ev, shared),
            ..data.packet(self.progress.flow, size, self.params.class)
        })
    }

    fn deadline(&mut self) -> Option<u64> {
        let (sent, _) = self.records.oldest()?;
        Some(sent + self.params.config.rto.0)
    }

    fn stop(&mut self, now: u64) -> bool {
        if self.progress.is_acked() || !self.data.stop() {
            return false;
        }
        let is_acked = self.records.is_empty();
        if is_acked {
            self.finish(now);
        }
        is_acked
    }

    fn reroute(&mut self, shared: &Shared) {
        self.routes.clear();
        if let Some(ahead) = &mut self.ahead {
            ahead.reroute(shared);
        }
    }

    fn sent(&self) -> u64 {
        self.data.sent()
    }

    fn total(&self) -> Option<u64> {
        self.data.total()
    }

    fn record(&self) -> SubflowRecord {
        let counters = &self.counters;
        SubflowRecord {
            packets_sent: self.data.sent() + counters.retransmitted,
            retransmitted: counters.retransmitted,
            timeouts: counters.timeouts,
            marked: Some(counters.marked),
            control: Some(counters.control()),
            cwnd: self.window_packets().unwrap_or(0.0),
            ..SubflowRecord::default()
        }
    }

    fn state(&self, _: u64) -> Option<SenderState> {
        Some(SenderState {
            cwnd: self.window_packets(),
            rate: None,
        })
    }
}
