//! The packets of the transport: what the fields that the engine leaves to it mean, and its flags.
//!
//! | field | data | ACK | SYN, SYN/ACK |
//! |---|---|---|---|
//! | `seq` | low 32 bits of the sequence number of the first payload byte | of the next byte expected | |
//! | `chunk` | low 32 bits of the chunk's number in the connection | of the next chunk expected | |
//! | `lo` | flow | start of the SACK block | flow |
//! | `hi` | subflow | end of the SACK block, exclusive; `lo` if there is none | subflow |
//!
//! Some bits of the flags have one meaning in data and another in an ACK or a [`SYN`].

pub use weft_engine::packet::{
    CE, CLASS, DATA, ECT, PROTECTED, Packet, TRIMMED, TRIMMED_AT_LAST_HOP, class_flags,
};

/// The packet opens a subflow, or is another control packet.
pub const SYN: u16 = 1 << 1;
/// The packet acknowledges data.
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
/// Data: the packet is a retransmission. ACK: the packet that it echoes by the rule of RFC 7323 was
/// one.
pub const RETRANSMIT: u16 = 1 << 7;
/// Position of the count of marks (0 to 3) in the flags of an ACK.
pub const COUNT_SHIFT: u16 = 9;
/// Mask of the count of marks after shifting.
pub const COUNT_MASK: u16 = 3;
/// Data: the packet carries the last chunk of the connection and is acknowledged immediately.
pub const LAST: u16 = 1 << COUNT_SHIFT;
/// The packet, which also has [`SYN`], is part of a handshake, has the size of an ACK and changes
/// nothing at its destination.
pub const CONTROL_ONLY: u16 = 1 << (COUNT_SHIFT + 1);

/// Returns true if the packet has [`CONTROL_ONLY`].
pub fn is_control_only(packet: &Packet) -> bool {
    packet.flags & (DATA | SYN | CONTROL_ONLY) == SYN | CONTROL_ONLY
}
