//! RDMA over converged Ethernet, version 2 (`RoCEv2`). A flow has one path and is paced. DCQCN controls its
//! rate (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015). Lost packets are
//! sent again with all later ones (go-back-N), or alone (selective repeat).

mod dcqcn;
mod go_back_n;
mod params;
mod protocol;
mod rate;
mod receiver;
mod recovery;
mod selective_repeat;
mod sender;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;

use weft_run::WireFormat;
use weft_transports::{Roce, RoceConfig, TransportConfig};

use super::contract::{ENTRY_BYTES, RecordedState, Transport, TransportKind};
use super::endpoint::FlowEndpoint;
use super::shared::Shared;
use protocol::RoceProtocol;
use receiver::Receiver;
use sender::Sender;
use wire::HEADER;

/// Returns the parameters of a transport of this kind.
fn config(transport: &TransportConfig) -> Option<RoceConfig> {
    transport.parameters_of().copied()
}

impl TransportKind for Roce {
    /// The connection exists before its flows, so that there is no handshake.
    fn wire_format(&self, transport: &TransportConfig) -> WireFormat {
        let mtu = config(transport).map_or(HEADER, |roce| roce.mtu);
        WireFormat::new(mtu - HEADER, HEADER)
    }

    fn open_flow_bytes(&self, _: &TransportConfig) -> u64 {
        (size_of::<Sender>() + size_of::<Receiver>() + 2 * ENTRY_BYTES) as u64
    }

    fn recorded_state(&self, _: &TransportConfig) -> RecordedState {
        RecordedState::Samples
    }

    fn create(&self, shared: &Arc<Shared>, host: u32, kind: usize) -> Box<dyn Transport> {
        Box::new(FlowEndpoint::<RoceProtocol>::new(Arc::clone(shared), host, kind))
    }
}
