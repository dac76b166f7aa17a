//! The constants that all flows of a transport share.

use weft_transports::{NdpConfig, TransportConfig};

use crate::packet::class_flags;
use crate::transport::spray::{HEADER, Segments};

/// Maximum number of packets whose paths a sender remembers.
const MAX_REMEMBERED: u64 = 4096;

/// The constants of a transport.
pub struct Params {
    pub config: NdpConfig,
    /// The division of data into packets.
    pub segments: Segments,
    /// Flags of the traffic class of packets of senders and of receivers.
    pub class: u16,
    pub ack_class: u16,
}

impl Params {
    /// Returns the division of data into packets.
    pub fn segments(config: &NdpConfig) -> Segments {
        Segments::new(u64::from(config.mtu - HEADER), None)
    }

    /// Computes the constants of a transport of this kind.
    pub fn new(transport: &TransportConfig, config: NdpConfig) -> Self {
        Self {
            segments: Self::segments(&config),
            class: class_flags(transport.class),
            ack_class: class_flags(transport.ack_class),
            config,
        }
    }

    /// Returns the number of packets whose paths a sender remembers: those that may be sent before the first one
    /// times out.
    pub fn remembered(&self) -> u64 {
        let NdpConfig {
            initial_window,
            rto,
            rate,
            mtu,
            ..
        } = self.config;
        let bytes = u128::from(rto.0) * u128::from(rate.0) / 8_000_000_000_000;
        let packets = u64::try_from(bytes / u128::from(mtu)).unwrap_or(u64::MAX);
        packets.saturating_add(initial_window.into()).min(MAX_REMEMBERED)
    }
}
