//! The packet: what crosses links, in 40 bytes.

use super::route::Route;

/// A packet in flight. The meaning of `seq` to `hi` is the transport's; the engine reads `time`, `route`, `size` and
/// the flags [`ECT`], [`CE`], [`PROTECTED`] and [`DATA`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Arrival at the next node, in picoseconds.
    pub time: u64,
    /// Ports still to take.
    pub route: Route,
    /// Endpoint at the destination host.
    pub slot: u32,
    /// Data: low 32 bits of the first payload byte's sequence number. ACK: of the next byte expected.
    pub seq: u32,
    /// Data: low 32 bits of the chunk's number in the connection. ACK: of the next chunk expected.
    pub chunk: u32,
    /// Data, SYN, SYN/ACK: flow. ACK: start of the selective acknowledgement (`lo == hi`: none).
    pub lo: u32,
    /// Data, SYN, SYN/ACK: subflow. ACK: end of the selective acknowledgement, exclusive.
    pub hi: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Bits below.
    pub flags: u16,
}

/// Carries payload: counted per flow.
pub const DATA: u16 = 1;
/// Opens a subflow.
pub const SYN: u16 = 1 << 1;
/// Acknowledges.
pub const ACK: u16 = 1 << 2;
/// ECN-capable transport.
pub const ECT: u16 = 1 << 3;
/// Congestion experienced.
pub const CE: u16 = 1 << 4;
/// ECN echo.
pub const ECE: u16 = 1 << 5;
/// Congestion window reduced.
pub const CWR: u16 = 1 << 6;
/// The last chunk of the connection: acknowledged at once.
pub const LAST: u16 = 1 << 7;
/// Neither dropped nor marked.
pub const PROTECTED: u16 = 1 << 8;
/// Where an ACK's count of marks (0 to 3) starts.
pub const COUNT_SHIFT: u16 = 9;
/// The count's bits, after shifting.
pub const COUNT_MASK: u16 = 3;
/// Has the size of an acknowledgement and changes nothing at either end: part of a handshake.
pub const CONTROL_ONLY: u16 = 1 << 11;
/// Data: was sent before. ACK: what it echoes by RFC 7323's rule was.
pub const RETRANSMIT: u16 = 1 << 12;
/// An ACK of what the receiver had already (RFC 2883's D-SACK).
pub const DSACK: u16 = 1 << 13;
/// Data: the last segment that the subflow has to send at this time (PSH, RFC 9293, section 3.9.1.2).
pub const PUSH: u16 = 1 << 14;
