//! The constants that all flows of a transport share, and the division of data into packets.

use weft_transports::{ConstantRateConfig, TransportConfig};

use crate::packet::class_flags;

/// The constants of a transport.
pub struct Params {
    pub config: ConstantRateConfig,
    /// Bytes of a full packet's payload, and of the headers of each packet.
    pub payload: u32,
    pub header: u32,
    /// Flags of the traffic class of packets of senders and of receivers.
    pub class: u16,
    pub ack_class: u16,
}

impl Params {
    /// Computes the constants of a transport; `None` if it is of another kind.
    pub fn new(transport: &TransportConfig) -> Option<Self> {
        let config: ConstantRateConfig = transport.parameters_of().copied()?;
        let sizes = transport.sizes();
        Some(Self {
            config,
            payload: sizes.payload,
            header: sizes.header,
            class: class_flags(transport.class),
            ack_class: class_flags(transport.ack_class),
        })
    }

    /// Returns the number of packets of this many bytes.
    pub fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.payload.into())
    }

    /// Returns the size on the wire of packet `n` of a flow of `size` bytes; `None` if the flow has no end.
    pub fn packet_size(&self, n: u64, size: Option<u64>) -> u16 {
        let full = u64::from(self.payload);
        let payload = size.map_or(full, |size| full.min(size - n * full));
        payload as u16 + self.header as u16
    }
}
