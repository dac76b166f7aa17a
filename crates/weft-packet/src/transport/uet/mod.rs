//! The Ultra Ethernet transport (UET). Entropy values spray packets over paths, and the receiver reports
//! trimmed packets. A window of the sender (NSCC), credit of the receiver (RCCC), or both limit a flow. The
//! laws are those of the public descriptions of Ultra Ethernet and of the UEC's simulator.

mod control;
mod credit;
mod load_balancer;
mod nscc;
mod pacer;
mod params;
mod paths;
mod protocol;
mod pull_rate;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;

use weft_run::WireFormat;
use weft_transports::{TransportConfig, Uet, UetConfig};

use super::contract::{ENTRY_BYTES, RecordedState, Transport, TransportKind};
use super::endpoint::FlowEndpoint;
use super::shared::Shared;
use super::spray::HEADER;
use crate::engine::route::Route;
use params::Params;
use protocol::UetProtocol;
use receiver::Receiver;
use sender::Sender;

/// Returns the parameters of a transport of this kind.
fn config(transport: &TransportConfig) -> Option<UetConfig> {
    transport.parameters_of().copied()
}

impl TransportKind for Uet {
    /// The first packets of a flow establish its state at the receiver, so that there is no handshake.
    fn wire_format(&self, transport: &TransportConfig) -> WireFormat {
        let (mtu, message) = config(transport).map_or((HEADER, None), |uet| {
            (uet.mtu, uet.message_size.map(|size| size.0))
        });
        WireFormat {
            message,
            paths: None,
            ..WireFormat::new(mtu - HEADER, HEADER)
        }
    }

    fn packets(&self, transport: &TransportConfig, bytes: u64) -> u64 {
        config(transport).map_or(bytes, |uet| Params::segments(&uet).count(bytes))
    }

    /// Routes of all entropy values, and a penalty for each.
    fn open_flow_bytes(&self, transport: &TransportConfig) -> u64 {
        let evs = config(transport).map_or(0, |uet| uet.entropies as usize);
        let routes = evs * (2 * size_of::<Route>() + 1);
        (size_of::<Sender>() + size_of::<Receiver>() + 2 * ENTRY_BYTES + routes) as u64
    }

    /// Credit of the receiver is neither a window nor a rate.
    fn recorded_state(&self, transport: &TransportConfig) -> RecordedState {
        match config(transport) {
            Some(uet) if uet.control.has_window() => RecordedState::Samples,
            _ => RecordedState::Nothing,
        }
    }

    fn create(&self, shared: &Arc<Shared>, host: u32, kind: usize) -> Box<dyn Transport> {
        Box::new(FlowEndpoint::<UetProtocol>::new(Arc::clone(shared), host, kind))
    }
}
