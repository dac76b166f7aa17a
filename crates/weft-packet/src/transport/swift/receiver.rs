//! The receiver of a flow, which acknowledges each packet.

use crate::packet::Packet;
use crate::transport::arrivals::Arrivals;
use crate::transport::endpoint::flows::ReceiverFlow;
use crate::transport::spray::HEADER;

use super::protocol::SwiftProtocol;
use super::wire::{Ack, Data};

/// The receiver of a flow.
pub type Receiver = ReceiverFlow<SwiftProtocol>;

/// The state of a receiver.
#[derive(Default)]
pub struct SwiftReceiver {
    pub arrivals: Arrivals,
    /// Number of packets that have arrived and that the host has not processed.
    pub unprocessed: u32,
}

impl Receiver {
    /// Handles a packet that arrived at this time. Returns the acknowledgement.
    pub fn on_data(&mut self, packet: &Packet, arrived: u64, now: u64) -> Packet {
        let data = Data::read(packet);
        if !self.state.arrivals.has(data.psn) {
            self.state.arrivals.insert(data.psn);
            self.accept(u64::from(packet.size) - u64::from(HEADER), now);
        }
        let ack = Ack {
            expected: self.state.arrivals.next(),
            trigger: data.psn,
            sent: data.sent,
            host_time: now - arrived,
        };
        Packet {
            route: self.route,
            ..ack.packet(packet.lo, self.params.ack_class)
        }
    }
}
