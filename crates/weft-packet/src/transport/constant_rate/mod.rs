//! A source without congestion control. While it is on, it sends packets of one size at a constant
//! rate, and it retransmits nothing. The receiver sends one packet once all data has arrived.

mod params;
mod protocol;
mod receiver;
mod schedule;
mod sender;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use weft_run::{KindSettings, TransportConfig, WireFormat};

use super::contract::{ENTRY_BYTES, Transport, TransportKind};
use super::endpoint::FlowEndpoint;
use super::shared::Shared;
use protocol::SourceProtocol;
use receiver::Receiver;
use sender::Sender;

/// Sources at a constant rate.
pub struct ConstantRate;

/// Returns the payload of a full packet in bytes.
fn payload(transport: &TransportConfig) -> u32 {
    transport.profile.sizes.mss
}

impl TransportKind for ConstantRate {
    fn name(&self) -> &'static str {
        "constant-rate"
    }

    fn about(&self) -> &'static str {
        "packets at a constant rate, on and off, without congestion control or retransmissions"
    }

    /// The last packet of a flow may have a single byte. The receiver's packet has none.
    fn packet_sizes(&self, transport: &TransportConfig) -> (u32, u32) {
        let header = transport.profile.sizes.header;
        (header, payload(transport) + header)
    }

    /// A source sends at its rate, also if its link is faster.
    fn wire_format(&self, transport: &TransportConfig) -> WireFormat {
        let schedule = match transport.settings {
            KindSettings::ConstantRate(schedule) => Some(schedule),
            _ => None,
        };
        WireFormat {
            schedule,
            ..WireFormat::new(payload(transport), transport.profile.sizes.header)
        }
    }

    fn packets(&self, transport: &TransportConfig, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(payload(transport)))
    }

    fn open_flow_bytes(&self, _: &TransportConfig) -> u64 {
        (size_of::<Sender>() + size_of::<Receiver>() + 2 * ENTRY_BYTES) as u64
    }

    fn create(&self, shared: &Arc<Shared>, host: u32, kind: usize) -> Box<dyn Transport> {
        Box::new(FlowEndpoint::<SourceProtocol>::new(
            Arc::clone(shared),
            host,
            kind,
        ))
    }
}
