//! TCP's packets: the meaning of the fields that the engine leaves to the transport, their flags, and
//! which kind of packet the flags stand for.
//!
//! | field | data | ACK | SYN | SYN/ACK | `DATA_FIN` |
//! |---|---|---|---|---|---|
//! | `slot` | of the receiver | of the sender | of the sender | of the sender | of the receiver |
//! | `seq` | low 32 bits of the sequence number of the first payload byte | of the next byte expected | path changes of the subflow | slot of the receiver | |
//! | `chunk` | low 32 bits of the chunk's number in the connection | of the next chunk expected | number of the transmission | of the SYN that it answers | number of chunks |
//! | `lo` | flow | start of the SACK block | flow | flow | flow |
//! | `hi` | subflow | end of the SACK block, exclusive; `lo` if there is none | subflow | subflow | subflow |
//!
//! Other control packets have the fields of a SYN without `seq` and `chunk`. Some bits of the flags have
//! one meaning in data and another in an ACK or a control packet.

use weft_cc::Echo;
use weft_run::PacketKind;
use weft_transports::Profile;

use crate::packet::{CE, CLASS, DATA, ECT, PROTECTED, Packet, TRIMMED, class_flags};

/// The packet is a control packet: neither data nor an acknowledgement of data.
pub const SYN: u16 = 1 << 1;
/// The packet acknowledges data, or answers a control packet.
pub const ACK: u16 = 1 << 2;
/// ACK: ECN echo (RFC 3168).
pub const ECE: u16 = 1 << 5;
/// Data: the last segment that the subflow has to send at this time (PSH, RFC 9293, section
/// 3.9.1.2).
pub const PUSH: u16 = ECE;
/// Data: congestion window reduced (RFC 3168).
pub const CWR: u16 = 1 << 6;
/// ACK: the receiver already had data that arrived (D-SACK, RFC 2883).
pub const DSACK: u16 = CWR;
/// Position of the count of marks (0 to 3) in the flags of an ACK.
pub const COUNT_SHIFT: u16 = 9;
/// Mask of the count of marks after shifting.
pub const COUNT_MASK: u16 = 3;
/// Data: the packet carries the last chunk of the connection and is acknowledged immediately.
pub const LAST: u16 = 1 << COUNT_SHIFT;
/// Control packet: it changes nothing at its destination, but may be answered.
const INERT: u16 = 1 << (COUNT_SHIFT + 1);

/// Flags of the reply to a SYN.
pub const SYN_ACK: u16 = SYN | ACK;
/// Flags of the last acknowledgement of a handshake, or of a close.
pub const HANDSHAKE_ACK: u16 = SYN | INERT;
/// Flags of the third packet of a join.
pub const JOIN_ACK: u16 = SYN | CWR;
/// Flags of the fourth packet of a join, which acknowledges the third.
pub const JOIN_CONFIRMED: u16 = JOIN_ACK | ACK;
/// Flags of the packet that announces how much data a stopped flow has: a `DATA_FIN` without data.
pub const DATA_FIN: u16 = SYN | ECE;
/// Flags of a FIN.
pub const FIN: u16 = HANDSHAKE_ACK | LAST;
/// Flags of the answer to a FIN.
pub const FIN_ACK: u16 = FIN | ACK;

/// Returns the kind of a packet of TCP. Returns `None` if TCP has no such packet.
#[inline(always)]
pub fn kind(packet: &Packet) -> Option<PacketKind> {
    if packet.flags & DATA != 0 {
        Some(PacketKind::Data)
    } else if packet.flags & SYN == 0 {
        Some(PacketKind::Ack)
    } else {
        control_kind(packet.flags & !(CLASS | TRIMMED | PROTECTED | ECT | CE))
    }
}

fn control_kind(flags: u16) -> Option<PacketKind> {
    match flags {
        SYN => Some(PacketKind::Syn),
        SYN_ACK => Some(PacketKind::SynAck),
        HANDSHAKE_ACK => Some(PacketKind::HandshakeAck),
        JOIN_ACK => Some(PacketKind::JoinAck),
        JOIN_CONFIRMED => Some(PacketKind::JoinConfirmed),
        DATA_FIN => Some(PacketKind::DataFin),
        FIN => Some(PacketKind::Fin),
        FIN_ACK => Some(PacketKind::FinAck),
        _ => None,
    }
}

/// Returns the flag of packets without data.
pub fn control_ect(echo: Echo) -> u16 {
    if echo.covers_all_packets() { ECT } else { 0 }
}

/// Returns a control packet with these flags of a flow's subflow, without its route, slot and numbers.
/// Queues neither drop nor mark it if the profile protects handshakes.
pub fn control(flags: u16, (flow, subflow): (u32, u32), class: u8, profile: &Profile, echo: Echo) -> Packet {
    let protection = if profile.handshake.protect_handshake {
        PROTECTED
    } else {
        0
    };
    Packet {
        lo: flow,
        hi: subflow,
        size: profile.sizes.ack_size as u16,
        flags: flags | class_flags(class) | protection | control_ect(echo),
        ..Packet::default()
    }
}

/// Returns true if an ACK reports a range of out-of-order bytes, `lo..hi`.
#[inline(always)]
pub fn has_sack_block(ack: &Packet) -> bool {
    ack.lo != ack.hi
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_packets_keep_their_kind() {
        let kinds = [
            (SYN, PacketKind::Syn),
            (SYN_ACK, PacketKind::SynAck),
            (HANDSHAKE_ACK, PacketKind::HandshakeAck),
            (JOIN_ACK, PacketKind::JoinAck),
            (JOIN_CONFIRMED, PacketKind::JoinConfirmed),
            (DATA_FIN, PacketKind::DataFin),
            (FIN, PacketKind::Fin),
            (FIN_ACK, PacketKind::FinAck),
        ];
        let mut profile = Profile::linux();
        for protected in [false, true] {
            profile.handshake.protect_handshake = protected;
            for (flags, expected) in kinds {
                let packet = control(flags, (5, 2), 7, &profile, Echo::Dctcp);
                assert_eq!(
                    kind(&Packet {
                        flags: packet.flags | CE,
                        ..packet
                    }),
                    Some(expected)
                );
                assert_eq!(kind(&packet), Some(expected));
                assert_eq!(packet.flags & PROTECTED != 0, protected);
                assert_eq!((packet.lo, packet.hi, packet.class()), (5, 2, 7));
            }
        }
    }
}
