//! Swift: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020.
//! A flow has one path. The delays of the fabric and of the receiving host limit its window; below one packet it is
//! paced.

mod control;
mod flight;
mod processor;
mod protocol;
mod receiver;
mod round_trips;
mod sender;
#[cfg(test)]
mod tests;
mod wire;

use weft_transports::Swift;

use super::endpoint::ProtocolKind;
use protocol::SwiftProtocol;

impl ProtocolKind for Swift {
    type Protocol = SwiftProtocol;
}
