//! A source without congestion control. While it is on, it sends packets of one size at a constant
//! rate, and it retransmits nothing. The receiver sends one packet once all data has arrived.

mod protocol;
mod schedule;
#[cfg(test)]
mod tests;

use weft_transports::ConstantRate;

use super::endpoint::ProtocolKind;
use protocol::SourceProtocol;

impl ProtocolKind for ConstantRate {
    type Protocol = SourceProtocol;
}
