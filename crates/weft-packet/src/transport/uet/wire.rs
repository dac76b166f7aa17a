//! Packets of the transport: the meaning of the fields that the engine leaves to it, and its flags.
//!
//! | field | data, RTS | ACK | NACK | pull |
//! |---|---|---|---|---|
//! | `lo` | flow | flow | flow | flow |
//! | `seq` | packet sequence number (PSN) | low halves of the cumulative and of the triggering PSN | PSN | |
//! | `chunk` | pull target | bytes received | | granted quanta |
//! | `slot` | entropy value (EV) | low half of the bitmap | EV | |
//! | `hi` | 0, the subflow | high half of the bitmap | | |
//!
//! An ACK has neither an EV nor the reference of its bitmap. The sender knows the EV of each PSN, and the
//! reference follows from the other fields.

use crate::packet::{CE, DATA, ECT, Packet, TRIMMED_AT_LAST_HOP};
use crate::transport::contract::{flag, packet_of};
use crate::transport::spray::HEADER;

/// Mask of the kind of a packet without payload.
const KIND: u16 = 3 << 1;
const ACK: u16 = 0;
const NACK: u16 = 1 << 1;
const PULL: u16 = 2 << 1;
const RTS: u16 = 3 << 1;

/// Data: the receiver acknowledges the packet at once. ACK: the bitmap begins at the triggering PSN.
const AT_ONCE: u16 = 1 << 5;
/// ACK and NACK: the packet that caused it had a CE mark.
const ECHO: u16 = 1 << 6;
/// Data: a retransmission. ACK: the packet that caused it was one.
const RETRANSMISSION: u16 = 1 << 7;
/// ACK: it answers an RTS. NACK: the last switch trimmed the packet.
const RTS_OR_LAST_HOP: u16 = 1 << 9;

/// A packet of this transport by what it is.
pub enum Content {
    /// Data, also if it was trimmed, and requests to send.
    Data(Data),
    /// An acknowledgement.
    Ack(Ack),
    /// A report of a trimmed packet.
    Nack(Nack),
    /// The highest granted credit in quanta.
    Pull(u32),
}

/// A data packet or a request to send (RTS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Each flag is a bit of the packet.
#[allow(clippy::struct_excessive_bools)]
pub struct Data {
    pub psn: u32,
    pub ev: u16,
    pub pull_target: u32,
    pub ack_at_once: bool,
    pub retransmission: bool,
    pub is_rts: bool,
    pub ce: bool,
    pub trimmed: bool,
    pub trimmed_at_last_hop: bool,
}

/// The fields of an acknowledgement, with the low halves of its PSNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Each flag is a bit of the packet.
#[allow(clippy::struct_excessive_bools)]
pub struct Ack {
    /// All PSNs before this one have arrived.
    pub cumulative: u16,
    /// The PSN that caused the acknowledgement.
    pub trigger: u16,
    /// Bit `i`: the PSN `i` after the reference has arrived.
    pub bitmap: u64,
    /// True if the reference is the triggering PSN.
    pub from_trigger: bool,
    /// Bytes received, without duplicates, modulo 2^32.
    pub received: u32,
    pub ecn_echo: bool,
    pub retransmission: bool,
    pub of_rts: bool,
}

/// A report that a packet was trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    pub psn: u32,
    pub ev: u16,
    pub ecn_echo: bool,
    pub last_hop: bool,
}

impl Data {
    /// Returns the packet without its route.
    pub fn packet(&self, flow: u32, size: u16, class: u16) -> Packet {
        let kind = if self.is_rts { RTS } else { DATA | ECT };
        let flags = flag(self.ack_at_once, AT_ONCE) | flag(self.retransmission, RETRANSMISSION);
        Packet {
            seq: self.psn,
            chunk: self.pull_target,
            slot: self.ev.into(),
            ..packet_of(flow, size.into(), class | kind | flags)
        }
    }
}

impl Ack {
    /// Returns the reference of the bitmap of an acknowledgement with these PSNs.
    pub fn reference(from_trigger: bool, trigger: u32, cumulative: u32) -> u32 {
        if from_trigger {
            trigger
        } else {
            trigger.saturating_sub(63).max(cumulative + 1)
        }
    }

    /// Returns the packet without its route.
    pub fn packet(&self, flow: u32, class: u16) -> Packet {
        Packet {
            seq: u32::from(self.cumulative) << 16 | u32::from(self.trigger),
            chunk: self.received,
            slot: self.bitmap as u32,
            hi: (self.bitmap >> 32) as u32,
            ..control(
                flow,
                class,
                ACK | flag(self.from_trigger, AT_ONCE)
                    | flag(self.ecn_echo, ECHO)
                    | flag(self.retransmission, RETRANSMISSION)
                    | flag(self.of_rts, RTS_OR_LAST_HOP),
            )
        }
    }
}

impl Nack {
    /// Returns the packet without its route.
    pub fn packet(self, flow: u32, class: u16) -> Packet {
        Packet {
            seq: self.psn,
            slot: self.ev.into(),
            ..control(
                flow,
                class,
                NACK | flag(self.ecn_echo, ECHO) | flag(self.last_hop, RTS_OR_LAST_HOP),
            )
        }
    }
}

/// Returns a pull without its route.
pub fn pull_packet(granted: u32, flow: u32, class: u16) -> Packet {
    Packet {
        chunk: granted,
        ..control(flow, class, PULL)
    }
}

fn control(flow: u32, class: u16, flags: u16) -> Packet {
    packet_of(flow, HEADER, class | flags)
}

impl Content {
    /// Reads a packet.
    #[inline]
    pub fn read(packet: &Packet) -> Self {
        let has = |flag: u16| packet.flags & flag != 0;
        if has(DATA) || packet.flags & KIND == RTS {
            return Self::Data(Data {
                psn: packet.seq,
                ev: packet.slot as u16,
                pull_target: packet.chunk,
                ack_at_once: has(AT_ONCE),
                retransmission: has(RETRANSMISSION),
                is_rts: !has(DATA),
                ce: has(CE),
                trimmed: packet.is_trimmed(),
                trimmed_at_last_hop: has(TRIMMED_AT_LAST_HOP),
            });
        }
        match packet.flags & KIND {
            ACK => Self::Ack(Ack {
                cumulative: (packet.seq >> 16) as u16,
                trigger: packet.seq as u16,
                bitmap: u64::from(packet.hi) << 32 | u64::from(packet.slot),
                from_trigger: has(AT_ONCE),
                received: packet.chunk,
                ecn_echo: has(ECHO),
                retransmission: has(RETRANSMISSION),
                of_rts: has(RTS_OR_LAST_HOP),
            }),
            NACK => Self::Nack(Nack {
                psn: packet.seq,
                ev: packet.slot as u16,
                ecn_echo: has(ECHO),
                last_hop: has(RTS_OR_LAST_HOP),
            }),
            _ => Self::Pull(packet.chunk),
        }
    }
}

/// Returns the PSN below `next` whose low half is `low`, and which is at most 65,536 below it.
pub fn expand(low: u16, next: u32) -> u32 {
    next.wrapping_sub(u32::from((next as u16).wrapping_sub(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_were_written() {
        for bits in 0..32_u32 {
            let bit = |n: u32| bits >> n & 1 == 1;
            let data = Data {
                psn: 70_000 + bits,
                ev: 127,
                pull_target: u32::MAX - bits,
                ack_at_once: bit(0),
                retransmission: bit(1),
                is_rts: bit(2),
                ce: false,
                trimmed: false,
                trimmed_at_last_hop: false,
            };
            let Content::Data(read) = Content::read(&data.packet(9, 4150, 0)) else {
                panic!("data {bits}");
            };
            assert_eq!(read, data);
            let ack = Ack {
                cumulative: 65_535,
                trigger: 3,
                bitmap: 0x8000_0001_4000_0002 | u64::from(bits) << 16,
                from_trigger: bit(0),
                received: 1 << 31,
                ecn_echo: bit(1),
                retransmission: bit(2),
                of_rts: bit(3),
            };
            let Content::Ack(read) = Content::read(&ack.packet(9, 0)) else {
                panic!("ACK {bits}");
            };
            assert_eq!(read, ack);
            let nack = Nack {
                psn: bits,
                ev: 65_535,
                ecn_echo: bit(0),
                last_hop: bit(1),
            };
            let Content::Nack(read) = Content::read(&nack.packet(9, 0)) else {
                panic!("NACK {bits}");
            };
            assert_eq!(read, nack);
        }
        assert!(matches!(Content::read(&pull_packet(17, 9, 0)), Content::Pull(17)));
    }

    #[test]
    fn a_low_half_names_the_nearest_number_below() {
        for (number, next) in [
            (0, 1),
            (65_530, 65_540),
            (65_537, 65_540),
            (5, 65_540),
            (1 << 30, (1 << 30) + 1),
        ] {
            assert_eq!(expand(number as u16, next), number);
        }
        // A cumulative PSN may equal the next one.
        assert_eq!(expand(7, 7), 7);
    }
}
