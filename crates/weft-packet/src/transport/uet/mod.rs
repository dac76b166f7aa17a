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

use weft_transports::Uet;

use super::endpoint::ProtocolKind;
use protocol::UetProtocol;

impl ProtocolKind for Uet {
    type Protocol = UetProtocol;
}
