//! The packet of `weft-queues` and its flags, and the flag that all transports share. The module `wire` of a
//! transport says what the other fields and flags mean in its packets.

pub use weft_engine::packet::{
    CE, CLASS, DATA, ECT, PROTECTED, Packet, TRIMMED, TRIMMED_AT_LAST_HOP, class_flags, class_of,
};

/// Data: the packet is a retransmission. ACK of TCP: the packet that it echoes by the rule of RFC 7323
/// was one.
pub const RETRANSMIT: u16 = 1 << 7;
