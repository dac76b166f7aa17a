//! The packet: what crosses links, in 40 bytes.

use super::route::Route;

/// A packet in flight. The fields from `seq` to `hi` belong to the transport. The engine reads
/// `time`, `route`, `size` and the flags [`ECT`], [`CE`], [`PROTECTED`] and [`DATA`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Time of arrival at the next node in picoseconds.
    pub time: u64,
    /// Ports that the packet still has to take.
    pub route: Route,
    /// Slot of the receiver or sender at the destination host.
    pub slot: u32,
    /// Data: low 32 bits of the sequence number of the first payload byte. ACK: of the next byte
    /// expected.
    pub seq: u32,
    /// Data: low 32 bits of the chunk's number in the connection. ACK: of the next chunk expected.
    pub chunk: u32,
    /// Data, SYN, SYN/ACK: flow. ACK: start of the SACK block (`lo == hi` if there is none).
    pub lo: u32,
    /// Data, SYN, SYN/ACK: subflow. ACK: end of the SACK block, exclusive.
    pub hi: u32,
    /// Size on the wire in bytes.
    pub size: u16,
    /// The flags below.
    pub flags: u16,
}

/// The packet carries payload. The engine counts its drops by flow and subflow.
pub const DATA: u16 = 1;
/// The packet opens a subflow.
pub const SYN: u16 = 1 << 1;
/// The packet acknowledges data.
pub const ACK: u16 = 1 << 2;
/// ECN-capable transport (RFC 3168).
pub const ECT: u16 = 1 << 3;
/// Congestion experienced (RFC 3168): a CE mark.
pub const CE: u16 = 1 << 4;
/// ECN echo (RFC 3168).
pub const ECE: u16 = 1 << 5;
/// Congestion window reduced (RFC 3168).
pub const CWR: u16 = 1 << 6;
/// The packet carries the last chunk of the connection and is acknowledged immediately.
pub const LAST: u16 = 1 << 7;
/// The packet is neither dropped nor marked.
pub const PROTECTED: u16 = 1 << 8;
/// Position of the count of marks (0 to 3) in the flags of an ACK.
pub const COUNT_SHIFT: u16 = 9;
/// Mask of the count of marks after shifting.
pub const COUNT_MASK: u16 = 3;
/// The packet is part of a handshake, has the size of an ACK and changes nothing at its
/// destination.
pub const CONTROL_ONLY: u16 = 1 << 11;
/// Data: the packet is a retransmission. ACK: the packet that it echoes by the rule of RFC 7323 was
/// one.
pub const RETRANSMIT: u16 = 1 << 12;
/// The ACK reports data that the receiver already had (D-SACK, RFC 2883).
pub const DSACK: u16 = 1 << 13;
/// Data: the last segment that the subflow has to send at this time (PSH, RFC 9293, section 3.9.1.2).
pub const PUSH: u16 = 1 << 14;
