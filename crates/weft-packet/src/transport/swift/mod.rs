//! Swift: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020.
//! The delays of the fabric and of the receiving host limit the window of a flow; below one packet it is paced. A flow
//! has one path, or several subflows with a path, windows and losses of their own, which share only its data.

mod control;
mod flight;
mod processor;
mod protocol;
mod receiver;
mod round_trips;
mod sender;
mod subflow;
#[cfg(test)]
mod tests;
mod wire;

use weft_transports::Swift;

use super::endpoint::ProtocolKind;
use protocol::SwiftProtocol;

impl ProtocolKind for Swift {
    type Protocol = SwiftProtocol;
}
