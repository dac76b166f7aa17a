//! Packets of the transport: the meaning of the fields that the engine leaves to it.
//!
//! | field | data | ACK |
//! |---|---|---|
//! | `lo` | flow | flow |
//! | `seq` | packet sequence number (PSN) | next expected PSN |
//! | `chunk`, `slot` | time at which the packet was sent | `chunk`: PSN that arrived |
//! | `slot`, `hi` | `hi`: 0, the subflow | time at which the packet that arrived was sent, and its time at the host |
//!
//! Of a flow with several subflows, sequence numbers are those of the subflow, and times are in nanoseconds:
//!
//! | field | data | ACK |
//! |---|---|---|
//! | `chunk` | number of the packet in the flow | PSN that arrived |
//! | `slot` | time at which the packet was sent | time at which the packet that arrived was sent |
//! | `hi` | subflow | subflow, and the time of that packet at the host |

use crate::packet::{DATA, Packet};
use crate::transport::contract::packet_of;
use crate::transport::spray::HEADER;

/// Number of bits of the time in an acknowledgement, in picoseconds. It wraps after 17.6 s.
const TIME_BITS: u32 = 44;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
/// Unit of the time at the host in picoseconds, and its largest value, 1.05 ms.
const NS: u64 = 1_000;
const HOST_BITS: u32 = u64::BITS - TIME_BITS;
const MAX_HOST_NS: u64 = (1 << HOST_BITS) - 1;

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    pub psn: u32,
    /// Time at which it was sent.
    pub sent: u64,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// All packets before this PSN have arrived.
    pub expected: u32,
    /// The PSN that arrived.
    pub trigger: u32,
    /// Time at which that packet was sent.
    pub sent: u64,
    /// Time that the packet spent at the receiving host.
    pub host_time: u64,
}

/// Returns the time of a packet of a flow with several subflows, as its header has it.
pub const fn in_whole_ns(time: u64) -> u64 {
    time - time % NS
}

/// A data packet of a flow with several subflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubflowData {
    pub subflow: u32,
    pub psn: u32,
    /// Number of the packet in the flow.
    pub chunk: u32,
    /// Time at which it was sent, in whole nanoseconds. It wraps after 4.29 s.
    pub sent: u64,
}

impl SubflowData {
    /// Returns the packet without its route.
    pub fn packet(self, flow: u32, size: u16, class: u16) -> Packet {
        Packet {
            seq: self.psn,
            chunk: self.chunk,
            slot: (self.sent / NS) as u32,
            hi: self.subflow,
            ..packet_of(flow, size.into(), DATA | class)
        }
    }

    /// Reads a data packet that arrives now.
    pub fn read(packet: &Packet, now: u64) -> Self {
        Self {
            subflow: packet.hi,
            psn: packet.seq,
            chunk: packet.chunk,
            sent: sent_at(packet.slot, now),
        }
    }
}

/// Returns the time whose last 32 bits in nanoseconds are known, at most 4.29 s before now.
fn sent_at(bits: u32, now: u64) -> u64 {
    let now = now / NS;
    let age = (now as u32).wrapping_sub(bits);
    (now - u64::from(age)) * NS
}

impl Data {
    /// Returns the packet without its route.
    pub fn packet(self, flow: u32, size: u16, class: u16) -> Packet {
        Packet {
            seq: self.psn,
            chunk: self.sent as u32,
            slot: (self.sent >> 32) as u32,
            ..packet_of(flow, size.into(), DATA | class)
        }
    }

    /// Reads a data packet.
    pub fn read(packet: &Packet) -> Self {
        Self {
            psn: packet.seq,
            sent: u64::from(packet.slot) << 32 | u64::from(packet.chunk),
        }
    }
}

impl Ack {
    /// Returns the packet without its route.
    pub fn packet(self, flow: u32, class: u16) -> Packet {
        let times = self.host_ns() << TIME_BITS | self.sent & TIME_MASK;
        Packet {
            seq: self.expected,
            chunk: self.trigger,
            slot: times as u32,
            hi: (times >> 32) as u32,
            ..packet_of(flow, HEADER, class)
        }
    }

    fn host_ns(&self) -> u64 {
        (self.host_time / NS).min(MAX_HOST_NS)
    }

    /// Returns the packet of a subflow of a flow with several, without its route.
    pub fn packet_of_subflow(self, flow: u32, subflow: u32, class: u16) -> Packet {
        Packet {
            seq: self.expected,
            chunk: self.trigger,
            slot: (self.sent / NS) as u32,
            hi: subflow << HOST_BITS | self.host_ns() as u32,
            ..packet_of(flow, HEADER, class)
        }
    }

    /// Reads an acknowledgement of a flow with several subflows, which arrives now. Also returns the subflow.
    pub fn read_of_subflow(packet: &Packet, now: u64) -> (u32, Self) {
        let ack = Self {
            expected: packet.seq,
            trigger: packet.chunk,
            sent: sent_at(packet.slot, now),
            host_time: (u64::from(packet.hi) & MAX_HOST_NS) * NS,
        };
        (packet.hi >> HOST_BITS, ack)
    }

    /// Reads an acknowledgement that arrives now.
    pub fn read(packet: &Packet, now: u64) -> Self {
        let times = u64::from(packet.hi) << 32 | u64::from(packet.slot);
        let age = now.wrapping_sub(times) & TIME_MASK;
        Self {
            expected: packet.seq,
            trigger: packet.chunk,
            sent: now - age,
            host_time: (times >> TIME_BITS) * NS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_were_written() {
        for sent in [0, 5_000_000_007, (1 << 50) + 3] {
            let data = Data { psn: 70_000, sent };
            assert_eq!(Data::read(&data.packet(9, 1086, 0)), data);
            let ack = Ack {
                expected: 3,
                trigger: u32::MAX,
                sent,
                host_time: 7_000,
            };
            assert_eq!(Ack::read(&ack.packet(9, 0), sent + 16_000_000_000_000), ack);
        }
        for sent in [0, 5_000_000_000, 9_000_000_007_000] {
            let data = SubflowData {
                subflow: 63,
                psn: 70_000,
                chunk: u32::MAX,
                sent,
            };
            let later = sent + 4_294_967_295_999;
            assert_eq!(SubflowData::read(&data.packet(9, 1086, 0), later), data);
            let ack = Ack {
                expected: 3,
                trigger: u32::MAX,
                sent,
                host_time: 1_048_575_000,
            };
            let packet = ack.packet_of_subflow(9, 63, 0);
            assert_eq!(Ack::read_of_subflow(&packet, later), (63, ack));
        }
        let slow = Ack {
            expected: 0,
            trigger: 0,
            sent: 0,
            host_time: 2_000_000_999,
        };
        let read = Ack::read(&slow.packet(9, 0), 3_000_000_000);
        assert_eq!(read.host_time, 1_048_575_000);
    }
}
