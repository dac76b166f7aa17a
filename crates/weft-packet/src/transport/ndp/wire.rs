//! Packets of the transport: the meaning of the fields that the engine leaves to it, and its flags.
//!
//! | field | data | ACK, NACK | pull |
//! |---|---|---|---|
//! | `lo` | flow | flow | flow |
//! | `seq` | packet sequence number (PSN) | PSN that caused it | |
//! | `chunk` | | pull counter | pull counter |
//! | `slot` | path of the packet | path of that packet | |
//! | `hi` | 0, the subflow | next expected PSN | next expected PSN |
//!
//! The pull counter of an ACK or a NACK saves a pull if the pacer would send one at once (section 3.2, footnotes 2
//! and 4).

use crate::packet::{DATA, Packet, RETRANSMIT};
use crate::transport::contract::{flag, packet_of};
use crate::transport::spray::HEADER;

/// Mask of the kind of a packet without payload.
const KIND: u16 = 3 << 1;
const ACK: u16 = 0;
const NACK: u16 = 1 << 1;
const PULL: u16 = 2 << 1;

/// Data: the last packet that the flow has to send.
const LAST: u16 = 1 << 5;

/// A packet of this transport by what it is.
pub enum Content {
    /// Data, also if it was trimmed.
    Data(Data),
    /// An acknowledgement of a packet.
    Ack(Report),
    /// A report that a packet was trimmed.
    Nack(Report),
    /// The pull counter.
    Pull { pulls: u32, next: u32 },
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    pub psn: u32,
    pub path: u16,
    pub last: bool,
    pub retransmission: bool,
    pub trimmed: bool,
}

/// The fields of an acknowledgement, or of the report of a trimmed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    pub psn: u32,
    pub path: u16,
    /// Number of packets that the receiver has pulled.
    pub pulls: u32,
    /// All PSNs before this one have arrived.
    pub next: u32,
}

impl Data {
    /// Returns the packet without its route.
    pub fn packet(&self, flow: u32, size: u16, class: u16) -> Packet {
        let own = flag(self.last, LAST) | flag(self.retransmission, RETRANSMIT);
        Packet {
            seq: self.psn,
            slot: self.path.into(),
            ..packet_of(flow, size.into(), DATA | class | own)
        }
    }
}

impl Report {
    /// Returns the acknowledgement, or the report of a trimmed packet, without its route.
    pub fn packet(&self, trimmed: bool, flow: u32, class: u16) -> Packet {
        Packet {
            seq: self.psn,
            slot: self.path.into(),
            ..control(
                flow,
                class,
                if trimmed { NACK } else { ACK },
                self.pulls,
                self.next,
            )
        }
    }
}

/// Returns a pull without its route.
pub fn pull_packet(pulls: u32, next: u32, flow: u32, class: u16) -> Packet {
    control(flow, class, PULL, pulls, next)
}

fn control(flow: u32, class: u16, kind: u16, pulls: u32, next: u32) -> Packet {
    Packet {
        chunk: pulls,
        hi: next,
        ..packet_of(flow, HEADER, class | kind)
    }
}

impl Content {
    /// Reads a packet.
    #[inline]
    pub fn read(packet: &Packet) -> Self {
        let has = |flag: u16| packet.flags & flag != 0;
        let (psn, path) = (packet.seq, packet.slot as u16);
        if has(DATA) {
            return Self::Data(Data {
                psn,
                path,
                last: has(LAST),
                retransmission: has(RETRANSMIT),
                trimmed: packet.is_trimmed(),
            });
        }
        let (pulls, next) = (packet.chunk, packet.hi);
        let report = Report {
            psn,
            path,
            pulls,
            next,
        };
        match packet.flags & KIND {
            ACK => Self::Ack(report),
            NACK => Self::Nack(report),
            _ => Self::Pull { pulls, next },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_were_written() {
        for bits in 0..4_u32 {
            let data = Data {
                psn: 70_000 + bits,
                path: 65_535,
                last: bits & 1 != 0,
                retransmission: bits & 2 != 0,
                trimmed: false,
            };
            let Content::Data(read) = Content::read(&data.packet(9, 9064, 0)) else {
                panic!("data {bits}");
            };
            assert_eq!(read, data);
        }
        let report = Report {
            psn: u32::MAX,
            path: 7,
            pulls: 1 << 31,
            next: 70_000,
        };
        for trimmed in [false, true] {
            let (Content::Ack(read) | Content::Nack(read)) = Content::read(&report.packet(trimmed, 9, 0))
            else {
                panic!("{trimmed}");
            };
            assert_eq!(read, report);
            let is_nack = matches!(Content::read(&report.packet(trimmed, 9, 0)), Content::Nack(_));
            assert_eq!(is_nack, trimmed);
        }
        let pull = Content::read(&pull_packet(17, 4, 9, 0));
        assert!(matches!(pull, Content::Pull { pulls: 17, next: 4 }));
    }
}
