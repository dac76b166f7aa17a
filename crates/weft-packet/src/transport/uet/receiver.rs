//! The receiver of a flow: what has arrived, and the packets that it answers with.

use crate::transport::arrivals::Arrivals;
use crate::transport::endpoint::flows::ReceiverFlow;
use crate::transport::spray::HEADER;

use super::paths::EvRoutes;
use super::protocol::UetProtocol;
use super::wire::{Ack, Data, Nack};

/// The receiver of a flow.
pub type Receiver = ReceiverFlow<UetProtocol>;

/// The state of a receiver.
pub struct UetReceiver {
    /// Routes of answers.
    pub routes: EvRoutes,
    arrivals: Arrivals,
    /// Bytes since the last acknowledgement.
    unacked: u32,
    /// True if the sender waits for an acknowledgement of what has not arrived in order.
    pending: bool,
    /// PSNs of requests to send.
    requests: Vec<u32>,
    pub grants: Grants,
}

impl UetReceiver {
    /// Creates the state of a flow of which nothing has arrived.
    pub fn new(routes: EvRoutes) -> Self {
        Self {
            routes,
            arrivals: Arrivals::default(),
            unacked: 0,
            pending: false,
            requests: Vec::new(),
            grants: Grants::default(),
        }
    }

    /// Returns the number of packets with data before the first missing one.
    pub fn next_chunk(&self) -> u32 {
        let next = self.arrivals.next();
        next - self.requests.iter().filter(|&&psn| psn < next).count() as u32
    }
}

/// The credit of a flow at its receiver in quanta, from the same 0 at both ends.
#[derive(Default)]
pub struct Grants {
    pub granted: i64,
    pub requested: i64,
    /// True if the flow is in the list of flows that need credit.
    pub is_active: bool,
    /// Number of entries of the flow in the lists of the pacer.
    pub entries: u32,
    /// Entropy value of the last pull.
    pub ev: u16,
}

/// An answer to a packet.
pub enum Answer {
    None,
    Ack(Ack),
    Nack(Nack),
}

impl Receiver {
    /// Handles a packet of this size. Returns the answer.
    pub fn on_data(&mut self, data: &Data, size: u16, now: u64) -> Answer {
        if data.trimmed {
            return self.on_trimmed(data);
        }
        let is_new = !self.state.arrivals.has(data.psn);
        if !data.is_rts {
            self.state.unacked += u32::from(size);
            self.packets += 1;
        }
        if !is_new {
            self.state.unacked = 0;
            return self.ack(data, data.ce, data.ce || data.ack_at_once);
        }
        let is_first = self.chunks == 0 && self.state.requests.is_empty();
        let mut forced = is_first || data.is_rts;
        if data.is_rts {
            self.state.requests.push(data.psn);
        } else {
            self.accept(u64::from(u32::from(size) - HEADER), now);
        }
        if data.ack_at_once {
            (forced, self.state.pending) = (true, true);
        }
        let is_next = data.psn == self.state.arrivals.next();
        self.state.arrivals.insert(data.psn);
        if is_next && self.state.pending && !self.state.arrivals.is_out_of_order() {
            (forced, self.state.pending) = (true, false);
        }
        if forced || data.ce || self.state.unacked >= self.params.config.ack_bytes {
            self.state.unacked = 0;
            return self.ack(data, data.ce, data.ce || data.ack_at_once);
        }
        Answer::None
    }

    /// Returns the bytes of all data packets with their headers, without duplicates, modulo 2^32.
    fn wire_bytes(&self) -> u32 {
        (self.bytes + self.chunks * u64::from(HEADER)) as u32
    }

    fn on_trimmed(&self, data: &Data) -> Answer {
        if self.state.arrivals.has(data.psn) {
            return self.ack(data, false, false);
        }
        Answer::Nack(Nack {
            psn: data.psn,
            ev: data.ev,
            ecn_echo: data.ce,
            last_hop: data.trimmed_at_last_hop,
        })
    }

    fn ack(&self, data: &Data, ecn_echo: bool, from_trigger: bool) -> Answer {
        let cumulative = self.state.arrivals.next();
        let reference = Ack::reference(from_trigger, data.psn, cumulative);
        Answer::Ack(Ack {
            cumulative: cumulative as u16,
            trigger: data.psn as u16,
            bitmap: self.state.arrivals.bitmap(reference),
            from_trigger,
            received: self.wire_bytes(),
            ecn_echo,
            retransmission: data.retransmission,
            of_rts: data.is_rts,
        })
    }
}
