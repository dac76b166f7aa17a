//! The constants that all flows of a transport share, and the division of data into packets.

use weft_spec::Size;
use weft_transports::{RoceConfig, RoceControl, TransportConfig};

use crate::packet::class_flags;

use super::wire::HEADER;

/// The constants of a transport.
pub struct Params {
    pub config: RoceConfig,
    /// Payload bytes of a full packet.
    pub payload: u64,
    /// Maximum number of packets that are not acknowledged.
    pub window: u32,
    /// True if switches may mark packets.
    pub is_ecn_capable: bool,
    /// Flags of the traffic class of packets of senders and of receivers.
    pub class: u16,
    pub ack_class: u16,
}

impl Params {
    /// Computes the constants of a transport of this kind.
    pub fn new(transport: &TransportConfig, config: RoceConfig) -> Self {
        Self::with_classes(config, [transport.class, transport.ack_class])
    }

    fn with_classes(config: RoceConfig, [class, ack_class]: [u8; 2]) -> Self {
        let packets = |window: Size| u32::try_from(window.0 / u64::from(config.mtu)).unwrap_or(u32::MAX);
        Self {
            payload: u64::from(config.mtu - HEADER),
            window: config.window.map_or(u32::MAX, packets),
            is_ecn_capable: config.control == RoceControl::Dcqcn,
            class: class_flags(class),
            ack_class: class_flags(ack_class),
            config,
        }
    }

    /// Returns the constants of a transport of the first class.
    #[cfg(test)]
    pub fn for_tests(config: RoceConfig) -> Self {
        Self::with_classes(config, [0, 0])
    }

    /// Returns the size on the wire of packet `psn` of a flow of `size` bytes; `None` if the flow has no end.
    pub fn packet_size(&self, psn: u32, size: Option<u64>) -> u16 {
        let before = u64::from(psn) * self.payload;
        let payload = size.map_or(self.payload, |size| self.payload.min(size - before));
        (payload + u64::from(HEADER)) as u16
    }
}
