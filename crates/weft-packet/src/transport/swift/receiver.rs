//! The receiver of a flow, which acknowledges each packet.

use crate::packet::Packet;
use crate::transport::arrivals::Arrivals;
use crate::transport::endpoint::flows::ReceiverFlow;
use crate::transport::host_clock::HostClock;
use crate::transport::spray::HEADER;

use super::protocol::SwiftProtocol;
use super::subflow::SubflowReceivers;
use super::wire::{Ack, Data, SubflowData};

/// The receiver of a flow.
pub type Receiver = ReceiverFlow<SwiftProtocol>;

/// The state of a receiver.
#[derive(Default)]
pub struct SwiftReceiver {
    pub arrivals: Arrivals,
    /// Number of packets that have arrived and that the host has not processed.
    pub unprocessed: u32,
    /// The subflows, if there are several.
    pub several: Option<Box<SubflowReceivers>>,
    /// The clock of the host; `None` if it has no errors.
    pub clock: Option<Box<HostClock>>,
}

impl SwiftReceiver {
    /// Returns the time for which a packet that arrived at a time has been at the host, as the host measures it.
    #[inline]
    fn host_time(&self, arrived: u64, now: u64) -> u64 {
        match &self.clock {
            Some(clock) => clock.between(arrived, now),
            None => now - arrived,
        }
    }
}

impl Receiver {
    /// Counts a packet that arrives.
    pub fn count(&mut self, packet: &Packet) {
        self.packets += 1;
        if let Some(several) = &mut self.state.several {
            several.subflows[packet.hi as usize].packets += 1;
        }
    }

    /// Handles a packet that arrived at this time. Returns the acknowledgement.
    pub fn on_data(&mut self, packet: &Packet, arrived: u64, now: u64) -> Packet {
        if self.state.several.is_some() {
            return self.on_subflow_data(packet, arrived, now);
        }
        let data = Data::read(packet);
        if !self.state.arrivals.has(data.psn) {
            self.state.arrivals.insert(data.psn);
            self.accept(u64::from(packet.size) - u64::from(HEADER), now);
        }
        let ack = Ack {
            expected: self.state.arrivals.next(),
            trigger: data.psn,
            sent: data.sent,
            host_time: self.state.host_time(arrived, now),
        };
        Packet {
            route: self.route,
            ..ack.packet(packet.lo, self.params.ack_class)
        }
    }

    #[inline(never)]
    fn on_subflow_data(&mut self, packet: &Packet, arrived: u64, now: u64) -> Packet {
        let data = SubflowData::read(packet, now);
        let host_time = self.state.host_time(arrived, now);
        let Some(several) = &mut self.state.several else {
            return Packet::default();
        };
        let subflow = &mut several.subflows[data.subflow as usize];
        let is_new = !subflow.arrivals.has(data.psn);
        if is_new {
            subflow.arrivals.insert(data.psn);
            several.chunks.insert(data.chunk);
        }
        let ack = Ack {
            expected: subflow.arrivals.next(),
            trigger: data.psn,
            sent: data.sent,
            host_time,
        };
        let ack = Packet {
            route: subflow.route,
            ..ack.packet_of_subflow(packet.lo, data.subflow, self.params.ack_class)
        };
        if is_new {
            self.accept(u64::from(packet.size) - u64::from(HEADER), now);
        }
        ack
    }
}
