//! RDMA over converged Ethernet, version 2 (`RoCEv2`). A flow has one path and is paced. DCQCN controls its
//! rate (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015), or TIMELY or HPCC. Lost packets are
//! sent again with all later ones (go-back-N), or alone (selective repeat).

mod dcqcn;
mod go_back_n;
mod hpcc;
mod protocol;
mod rate;
mod receiver;
mod recovery;
mod selective_repeat;
mod sender;
#[cfg(test)]
mod tests;
mod timely;
mod wire;

use weft_transports::Roce;

use super::endpoint::ProtocolKind;
use protocol::RoceProtocol;

impl ProtocolKind for Roce {
    type Protocol = RoceProtocol;
}
