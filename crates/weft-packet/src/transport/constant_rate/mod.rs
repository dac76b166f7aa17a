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

use weft_run::WireFormat;
use weft_transports::{ConstantRate, ConstantRateConfig, TransportConfig};

use super::contract::{ENTRY_BYTES, Transport, TransportKind};
use super::endpoint::FlowEndpoint;
use super::shared::Shared;
use protocol::SourceProtocol;
use receiver::Receiver;
use sender::Sender;

/// Returns the parameters of a transport of this kind.
fn config(transport: &TransportConfig) -> Option<ConstantRateConfig> {
    transport.parameters_of().copied()
}

impl TransportKind for ConstantRate {
    /// A source sends at its rate, also if its link is faster.
    fn wire_format(&self, transport: &TransportConfig) -> WireFormat {
        let sizes = transport.sizes();
        WireFormat {
            schedule: config(transport),
            ..WireFormat::new(sizes.payload, sizes.header)
        }
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
