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

use weft_run::{KindSettings, NdpConfig, TransportConfig, WireFormat};
use weft_spec::{QueueSize, Size, TransportSpec};

use super::contract::{ENTRY_BYTES, Transport, TransportKind};
use super::endpoint::FlowEndpoint;
use super::shared::Shared;
use super::spray::HEADER;
use crate::engine::route::Route;
use params::Params;
use protocol::NdpProtocol;
use receiver::Receiver;
use sender::Sender;

/// Payload bytes of the paper's packets (section 6.2).
const PAYLOAD: u64 = 9_000;

/// NDP.
pub struct Ndp;

/// Returns the settings of a transport of this kind.
fn config(transport: &TransportConfig) -> Option<NdpConfig> {
    match transport.settings {
        KindSettings::Ndp(config) => Some(config),
        _ => None,
    }
}

impl TransportKind for Ndp {
    fn name(&self) -> &'static str {
        "ndp"
    }

    fn about(&self) -> &'static str {
        "NDP: a first window at line rate, then packets that the receiver pulls; sprayed packets, trimming"
    }

    fn packet_sizes(&self, transport: &TransportConfig) -> (u32, u32) {
        (HEADER, config(transport).map_or(HEADER, |ndp| ndp.mtu))
    }

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

    fn uses_headers(&self) -> bool {
        true
    }

    fn expects_trimming(&self) -> bool {
        true
    }

    /// Returns as many bytes of headers as of data. Next to 8 packets of 9,000 bytes, that is 1,125 headers
    /// of 64 bytes (section 3.2.4).
    fn header_limit(&self, spec: &TransportSpec, limit: QueueSize, size: Size) -> Option<QueueSize> {
        let mtu = spec.ndp.as_ref().and_then(|ndp| ndp.mtu);
        let payload = mtu.map_or(PAYLOAD, |mtu| mtu.0.saturating_sub(HEADER.into()));
        Some(match limit {
            QueueSize::Packets(packets) => {
                let headers = u64::from(packets).saturating_mul(payload) / size.0;
                QueueSize::Packets(u32::try_from(headers).unwrap_or(u32::MAX).max(1))
            }
            QueueSize::Bytes(bytes) => QueueSize::Bytes(bytes.max(size.0)),
        })
    }

    fn create(&self, shared: &Arc<Shared>, host: u32, kind: usize) -> Box<dyn Transport> {
        Box::new(FlowEndpoint::<NdpProtocol>::new(Arc::clone(shared), host, kind))
    }
}
