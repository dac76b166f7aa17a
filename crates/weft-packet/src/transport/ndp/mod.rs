//! NDP (Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance",
//! SIGCOMM 2017). A sender sends a window at once; then the receiver pulls packets at the rate of its link. The
//! receiver reports trimmed packets, and each packet has its own path.

mod pacer;
mod paths;
mod protocol;
mod receiver;
mod scoreboard;
mod sender;
#[cfg(test)]
mod tests;
mod wire;

use weft_transports::Ndp;

use super::endpoint::ProtocolKind;
use protocol::NdpProtocol;

impl ProtocolKind for Ndp {
    type Protocol = NdpProtocol;
}
