//! The sender of a flow.

use weft_transports::SwiftConfig;

use crate::engine::route::Route;
use crate::packet::Packet;
use crate::transport::endpoint::Sending;
use crate::transport::endpoint::flows::SenderFlow;
use crate::transport::host_clock::HostClock;
use crate::transport::port_set::PortSet;

use super::control::{DelayWindow, FabricTarget, Moment, Sample};
use super::flight::Flight;
use super::protocol::SwiftProtocol;
use super::round_trips::RoundTrips;
use super::subflow::Chunks;
use super::wire::{Ack, Data, SubflowData, in_whole_ns};

/// The sender of a flow, or of one of its subflows.
pub type Sender = SenderFlow<SwiftProtocol>;

/// The state of a sender.
pub struct SwiftSender {
    target: FabricTarget,
    /// The windows of the fabric and of the receiving host. The smaller one limits the flow.
    fabric: DelayWindow,
    host: DelayWindow,
    /// Average delay of the receiving host in picoseconds; `None` without a sample.
    host_delay: Option<f64>,
    /// The clock of the host; `None` if it has no errors.
    clock: Option<Box<HostClock>>,
    pub round_trips: RoundTrips,
    pub flight: Flight,
    /// The numbers of the packets in the flow; `None` if it has one subflow.
    pub chunks: Option<Box<Chunks>>,
    /// Route of the last packet, and its number of links.
    route: Route,
    hops: u32,
    /// Time at which the last packet was sent, and from which on the window allows the next one if it is below one packet.
    last_sent: u64,
    pub next_at: u64,
    /// Time of the timeout, if any packet is on its way.
    pub deadline: Option<u64>,
    /// Number of decreases because of packets that later ones overtook.
    pub recoveries: u64,
}

/// A packet that may be sent.
#[derive(Clone, Copy)]
pub enum Next {
    /// One that is lost.
    Again(u32),
    /// The next new one, of this size.
    New(u16),
}

impl SwiftSender {
    /// Creates the state of a flow that begins.
    pub fn new(config: &SwiftConfig, clock: Option<Box<HostClock>>) -> Self {
        Self {
            target: FabricTarget::new(config),
            fabric: DelayWindow::new(config),
            host: DelayWindow::new(config),
            host_delay: None,
            clock,
            round_trips: RoundTrips::default(),
            flight: Flight::default(),
            chunks: (config.subflows > 1).then(Box::default),
            route: Route::default(),
            hops: 0,
            last_sent: 0,
            next_at: 0,
            deadline: None,
            recoveries: 0,
        }
    }

    /// Returns the window in packets.
    pub fn window(&self) -> f64 {
        self.fabric.packets().min(self.host.packets())
    }

    /// Returns the time between two packets, 0 unless the window is below one packet.
    fn gap(&self, config: &SwiftConfig) -> u64 {
        let window = self.window();
        if window >= 1.0 {
            return 0;
        }
        let rtt = if self.round_trips.srtt == 0.0 {
            config.base_target.0 as f64
        } else {
            self.round_trips.srtt
        };
        (rtt / window) as u64
    }

    #[inline(always)]
    fn change_windows(&mut self, ack: &Ack, acked: u32, now: u64, config: &SwiftConfig) {
        let at = self.moment(now);
        let rtt = match &self.clock {
            Some(clock) => clock.between(ack.sent, now),
            None => now - ack.sent,
        };
        let fabric = Sample {
            delay: rtt.saturating_sub(ack.host_time) as f64,
            target: self.target.delay(self.fabric.packets(), self.hops),
        };
        self.fabric.on_ack(fabric, acked, at, config);
        let measured = ack.host_time as f64;
        let average = self.host_delay.map_or(measured, |average| {
            average + config.endpoint_gain * (measured - average)
        });
        self.host_delay = Some(average);
        let host = Sample {
            delay: average,
            target: config.endpoint_target().0 as f64,
        };
        self.host.on_ack(host, acked, at, config);
        self.round_trips.add(rtt as f64);
    }

    fn moment(&self, now: u64) -> Moment {
        Moment {
            now,
            srtt: self.round_trips.srtt,
        }
    }
}

impl Sender {
    /// Returns the next packet that may be sent, whatever the pace.
    #[inline]
    pub fn next_psn(&self) -> Option<Next> {
        let window = self.state.window();
        if window >= 1.0 && f64::from(self.state.flight.in_flight()) + 1.0 > window {
            return None;
        }
        match self.state.flight.first_lost() {
            Some(psn) => Some(Next::Again(psn)),
            None => self.data.next_size().map(Next::New),
        }
    }

    /// Returns the next packet, which is sent now.
    pub fn take_packet(&mut self, next: Next, sending: &Sending<'_>) -> Packet {
        if self.state.chunks.is_some() {
            return self.take_subflow_packet(next, sending);
        }
        let now = sending.now;
        let (psn, size) = match next {
            Next::Again(psn) => {
                self.counters.retransmitted += 1;
                (psn, self.data.packet_size(psn.into()))
            }
            Next::New(size) => (self.data.count() as u32, size),
        };
        self.record_sent(psn, now, sending);
        let data = Data { psn, sent: now };
        Packet {
            route: self.route,
            ..data.packet(self.flow, size, self.params.class)
        }
    }

    /// Does the same for a subflow of a flow with several.
    #[inline(never)]
    fn take_subflow_packet(&mut self, next: Next, sending: &Sending<'_>) -> Packet {
        let state = &mut self.state;
        let Some(chunks) = &mut state.chunks else {
            return Packet::default();
        };
        let (psn, chunk) = match next {
            Next::Again(psn) => {
                self.counters.retransmitted += 1;
                (psn, chunks.get(psn - state.flight.una()))
            }
            Next::New(_) => {
                let chunk = self.data.count() as u32;
                chunks.push(chunk);
                (state.flight.next(), chunk)
            }
        };
        let data = SubflowData {
            subflow: self.subflow,
            psn,
            chunk,
            sent: in_whole_ns(sending.now),
        };
        self.record_sent(psn, data.sent, sending);
        Packet {
            route: self.route,
            ..data.packet(self.flow, self.data.packet_size(chunk.into()), self.params.class)
        }
    }

    /// Records that a packet is sent now, at `sent` on the clock of its header.
    #[inline(always)]
    fn record_sent(&mut self, psn: u32, sent: u64, sending: &Sending<'_>) {
        let now = sending.now;
        let state = &mut self.state;
        if state.route != self.route {
            (state.route, state.hops) = (self.route, self.route.len(sending.shared.hops));
        }
        state.flight.send(psn, sent);
        state.last_sent = now;
        state.next_at = now + state.gap(&self.params.config);
        if state.deadline.is_none() {
            state.deadline = Some(now + state.round_trips.rto(&self.params.config));
        }
    }

    /// Handles an acknowledgement. Returns true if all packets that were sent have been acknowledged now.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: Ack, now: u64) -> bool {
        self.counters.acks += 1;
        if self.is_acked() {
            return false;
        }
        let config = &self.params.config;
        let state = &mut self.state;
        let acked = state.flight.acknowledge(ack.expected, ack.trigger);
        state.change_windows(&ack, acked, now, config);
        if state.flight.lose_before(ack.sent) {
            state.recoveries += 1;
            let at = state.moment(now);
            state.fabric.on_loss(at, config);
        }
        if acked > 0 {
            let is_outstanding = !state.flight.is_empty();
            state.deadline = is_outstanding.then(|| now + state.round_trips.rto(config));
        }
        self.set_pace();
        self.state.flight.is_empty()
    }

    /// Does the same for a subflow of a flow with several.
    #[inline(never)]
    pub fn on_subflow_ack(&mut self, ack: Ack, now: u64) -> bool {
        let una = self.state.flight.una();
        let is_acked = self.on_ack(ack, now);
        if let Some(chunks) = &mut self.state.chunks {
            chunks.remove(self.state.flight.una() - una, &self.data);
        }
        is_acked
    }

    /// Ends the wait of a flow whose window allows a packet at once. A wait for the pace does not change otherwise.
    fn set_pace(&mut self) {
        let gap = self.state.gap(&self.params.config);
        let is_paced = self.waits == PortSet::ALL;
        if gap == 0 {
            self.state.next_at = 0;
            if is_paced {
                self.waits = PortSet::NONE;
            }
        } else if !is_paced {
            self.state.next_at = self.state.last_sent + gap;
        }
    }

    /// Handles the timer of timeouts.
    pub fn on_timer(&mut self, now: u64) {
        if self.is_acked() || self.state.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.counters.timeouts += 1;
        let config = &self.params.config;
        let state = &mut self.state;
        state.round_trips.timeouts += 1;
        let at = state.moment(now);
        if state.round_trips.timeouts >= config.reset_after {
            state.fabric.reset(at, config);
        } else {
            state.fabric.on_loss(at, config);
        }
        state.flight.lose_all();
        // The next packet that is sent sets the time of the next timeout.
        state.deadline = None;
        self.set_pace();
    }
}
