//! NDP (Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance",
//! SIGCOMM 2017). A sender sends a window at once; then the receiver pulls packets at the rate of its link. The
//! receiver reports trimmed packets, and each packet has its own path.

mod pacer;
mod params;
mod paths;
mod protocol;
mod receiver;
mod scoreboard;
mod sender;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;

use weft_run::WireFormat;
use weft_transports::{Ndp, NdpConfig, TransportConfig};

use super::contract::{ENTRY_BYTES, Transport, TransportKind};
use super::endpoint::FlowEndpoint;
use super::shared::Shared;
use super::spray::HEADER;
use crate::engine::route::Route;
use params::Params;
use protocol::NdpProtocol;
use receiver::Receiver;
use sender::Sender;

/// Returns the parameters of a transport of this kind.
fn config(transport: &TransportConfig) -> Option<NdpConfig> {
    transport.parameters_of().copied()
}

impl TransportKind for Ndp {
    /// NDP sends data without a handshake (section 3.2).
    fn wire_format(&self, transport: &TransportConfig) -> WireFormat {
        let mtu = config(transport).map_or(HEADER, |ndp| ndp.mtu);
        WireFormat {
            paths: None,
            ..WireFormat::new(mtu - HEADER, HEADER)
        }
    }

    fn packets(&self, transport: &TransportConfig, bytes: u64) -> u64 {
        config(transport).map_or(bytes, |ndp| Params::segments(&ndp).count(bytes))
    }

    /// Routes and the order of all paths at both ends, and the scores of paths at the sender.
    fn open_flow_bytes(&self, transport: &TransportConfig) -> u64 {
        let paths = config(transport).map_or(0, |ndp| ndp.paths as usize);
        let per_path = 2 * (size_of::<Route>() + 2) + scoreboard::BYTES_PER_PATH;
        (size_of::<Sender>() + size_of::<Receiver>() + 2 * ENTRY_BYTES + paths * per_path) as u64
    }

    fn create(&self, shared: &Arc<Shared>, host: u32, kind: usize) -> Box<dyn Transport> {
        Box::new(FlowEndpoint::<NdpProtocol>::new(Arc::clone(shared), host, kind))
    }
}
