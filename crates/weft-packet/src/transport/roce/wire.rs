//! Packets of the transport: the meaning of the fields that the engine leaves to it, and its flags.
//!
//! | field | data | ACK | NAK | CNP |
//! |---|---|---|---|---|
//! | `lo` | flow | flow | flow | flow |
//! | `seq` | packet sequence number (PSN) | next expected PSN | next expected PSN | |
//! | `chunk` | | | PSN of the packet that caused it | |
//! | `chunk`, `slot` | a note of the sender | the note of the packet that caused it | | |
//! | `hi` | 0, the subflow | | | |
//!
//! The note is the time at which the packet was sent, if the control reads delay. If it reads telemetry, the note has the node of
//! the sender in `chunk` and the number of the transmission in `slot`.

use crate::packet::{CE, DATA, ECT, Packet};
use crate::transport::contract::{flag, packet_of};

/// Bytes of ACK and NAK: Ethernet with its checksum (18), IPv4 (20), UDP (8), BTH (12), AETH (4) and ICRC (4). RETH and
/// VLAN tags are not modelled. (InfiniBand Architecture Specification, annex A17.)
const ACK_SIZE: u32 = 66;
/// Bytes of a congestion notification packet (CNP): the headers and 16 reserved bytes (annex A17.9.3).
const CNP_SIZE: u32 = 78;

/// Mask of the kind of a packet without payload.
const KIND: u16 = 3 << 1;
const ACK: u16 = 0;
const NAK: u16 = 1 << 1;
const CNP: u16 = 2 << 1;

/// Data: the receiver acknowledges the packet at once (`AckReq` of BTH).
const AT_ONCE: u16 = 1 << 5;
/// Data: a retransmission.
const RETRANSMISSION: u16 = 1 << 7;

/// A packet of this transport by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Data.
    Data(Data),
    /// An acknowledgement.
    Ack(Ack),
    /// A packet is missing.
    Nak(Nak),
    /// A congestion notification packet.
    Cnp,
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    pub psn: u32,
    pub ack_at_once: bool,
    pub retransmission: bool,
    pub ce: bool,
    /// The note of the sender that the acknowledgement returns, or 0.
    pub note: u64,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// All packets before this PSN have arrived.
    pub expected: u32,
    /// The note of the packet that caused it.
    pub note: u64,
    /// Bytes of the telemetry of that packet.
    pub telemetry: u32,
}

/// Returns the note of a packet that asks for telemetry: the node that sends it, and the number of the transmission.
pub fn telemetry_note(node: u32, number: u32) -> u64 {
    u64::from(number) << 32 | u64::from(node)
}

fn note_of(packet: &Packet) -> u64 {
    u64::from(packet.slot) << 32 | u64::from(packet.chunk)
}

/// A report of a missing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nak {
    /// The missing packet; all before it have arrived.
    pub expected: u32,
    /// The packet that arrived instead.
    pub trigger: u32,
}

impl Data {
    /// Returns the packet without its route, with additional flags. Switches may mark it if `is_capable`.
    pub fn packet(self, flow: u32, size: u16, more: u16, is_capable: bool) -> Packet {
        let flags = flag(is_capable, ECT)
            | flag(self.ack_at_once, AT_ONCE)
            | flag(self.retransmission, RETRANSMISSION);
        Packet {
            seq: self.psn,
            chunk: self.note as u32,
            slot: (self.note >> 32) as u32,
            ..packet_of(flow, size.into(), DATA | more | flags)
        }
    }
}

impl Ack {
    /// Returns the number of the transmission that caused it, if it has telemetry.
    pub fn number(self) -> u32 {
        (self.note >> 32) as u32
    }

    /// Returns the packet without its route.
    pub fn packet(self, flow: u32, class: u16) -> Packet {
        Packet {
            seq: self.expected,
            chunk: self.note as u32,
            slot: (self.note >> 32) as u32,
            ..packet_of(flow, ACK_SIZE + self.telemetry, class | ACK)
        }
    }
}

impl Nak {
    /// Returns the packet without its route.
    pub fn packet(self, flow: u32, class: u16) -> Packet {
        Packet {
            seq: self.expected,
            chunk: self.trigger,
            ..packet_of(flow, ACK_SIZE, class | NAK)
        }
    }
}

/// Returns a congestion notification packet without its route.
pub fn cnp_packet(flow: u32, class: u16) -> Packet {
    packet_of(flow, CNP_SIZE, class | CNP)
}

impl Content {
    /// Reads a packet.
    #[inline]
    pub fn read(packet: &Packet) -> Self {
        let has = |flag: u16| packet.flags & flag != 0;
        if has(DATA) {
            return Self::Data(Data {
                psn: packet.seq,
                ack_at_once: has(AT_ONCE),
                retransmission: has(RETRANSMISSION),
                ce: has(CE),
                note: note_of(packet),
            });
        }
        match packet.flags & KIND {
            ACK => Self::Ack(Ack {
                expected: packet.seq,
                note: note_of(packet),
                telemetry: u32::from(packet.size) - ACK_SIZE,
            }),
            NAK => Self::Nak(Nak {
                expected: packet.seq,
                trigger: packet.chunk,
            }),
            _ => Self::Cnp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::class_flags;

    #[test]
    fn packets_are_read_as_they_were_written() {
        for bits in 0..4_u32 {
            let data = Data {
                psn: u32::MAX - bits,
                ack_at_once: bits & 1 == 1,
                retransmission: bits & 2 == 2,
                ce: false,
                note: 5_000_000_007 * u64::from(bits),
            };
            let packet = data.packet(9, 1086, class_flags(7), true);
            assert_eq!(Content::read(&packet), Content::Data(data));
            let marked = Packet {
                flags: packet.flags | CE,
                ..packet
            };
            assert_eq!(Content::read(&marked), Content::Data(Data { ce: true, ..data }));
        }
        let nak = Nak {
            expected: 3,
            trigger: u32::MAX,
        };
        assert_eq!(Content::read(&nak.packet(9, 0)), Content::Nak(nak));
        let ack = Ack {
            expected: 70_000,
            note: (1 << 50) + 3,
            telemetry: 42,
        };
        assert_eq!(Content::read(&ack.packet(9, 0)), Content::Ack(ack));
        assert_eq!(Content::read(&cnp_packet(9, class_flags(1))), Content::Cnp);
    }
}
