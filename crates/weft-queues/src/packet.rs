//! The packet: what crosses links, in 40 bytes.

use crate::route::Route;

/// A packet in flight. The engine reads `time`, `route`, `size` and the flags [`ECT`], [`CE`],
/// [`PROTECTED`], [`DATA`], [`TRIMMED`], [`TRIMMED_AT_LAST_HOP`] and [`CLASS`]. The other fields and flags belong to the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Time of arrival at the next node in picoseconds.
    pub time: u64,
    /// Ports that the packet still has to take.
    pub route: Route,
    /// Slot of the receiver or sender at the destination host.
    pub slot: u32,
    /// A sequence number of the transport.
    pub seq: u32,
    /// A second sequence number of the transport.
    pub chunk: u32,
    /// A number of the transport. Of a [counted](DATA) packet: the first half of the key of its
    /// drops.
    pub lo: u32,
    /// A number of the transport. Of a [counted](DATA) packet: the second half of the key of its
    /// drops.
    pub hi: u32,
    /// Size on the wire in bytes.
    pub size: u16,
    /// The flags below, and those of the transport.
    pub flags: u16,
}

/// The packet carries payload. The engine counts its drops by `lo` and `hi`.
pub const DATA: u16 = 1;
/// ECN-capable transport (RFC 3168).
pub const ECT: u16 = 1 << 3;
/// Congestion experienced (RFC 3168): a CE mark.
pub const CE: u16 = 1 << 4;
/// The packet is neither dropped nor marked nor lost.
pub const PROTECTED: u16 = 1 << 8;
/// A queue has cut the packet to its header. The packet keeps all other fields and flags.
pub const TRIMMED: u16 = 1 << 11;
/// Next to [`TRIMMED`]: the queue feeds the last link of the route. Otherwise the flag belongs to the
/// transport.
pub const TRIMMED_AT_LAST_HOP: u16 = 1 << 10;
/// Position of the traffic class in the flags.
const CLASS_SHIFT: u32 = 12;
/// The traffic class, for queues that have classes.
pub const CLASS: u16 = 7 << CLASS_SHIFT;

/// Returns the flags of packets of traffic class `class`, which is below 8.
pub const fn class_flags(class: u8) -> u16 {
    (class as u16) << CLASS_SHIFT
}

/// Returns the traffic class in the flags of a packet.
pub const fn class_of(flags: u16) -> usize {
    ((flags & CLASS) >> CLASS_SHIFT) as usize
}

impl Packet {
    /// Returns the traffic class.
    pub fn class(&self) -> usize {
        class_of(self.flags)
    }

    /// Returns true if the packet is a header without its payload.
    pub fn is_trimmed(&self) -> bool {
        self.flags & TRIMMED != 0
    }
}

const _: () = assert!(size_of::<Packet>() == 40);
