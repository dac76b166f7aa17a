//! The interface of loss recovery at senders, which chooses the packets that are sent again.

use super::go_back_n::GoBackN;
use super::selective_repeat::SelectiveRepeat;
use super::wire::Nak;

/// The packets that were sent and may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// All packets before this one have arrived.
    pub una: u32,
    /// The next packet that was never sent.
    pub sent: u32,
}

/// A loss recovery of senders.
pub trait LossRecovery {
    /// Returns the packet that is sent again next; `None` if a new one may be sent.
    fn next(&mut self, flight: Flight) -> Option<u32>;

    /// Records that a packet was sent again.
    fn on_resent(&mut self, psn: u32);

    /// Records that all packets before `una` have arrived.
    fn on_ack(&mut self, una: u32);

    /// Handles the report of a missing packet.
    fn on_nak(&mut self, nak: Nak, flight: Flight);

    /// Handles a timeout.
    fn on_timeout(&mut self, flight: Flight);
}

/// The loss recovery of a flow.
pub enum Recovery {
    GoBackN(GoBackN),
    SelectiveRepeat(SelectiveRepeat),
}

impl Recovery {
    /// Returns the packet that is sent again next, as [`LossRecovery::next`] does. (It is asked before each packet, so
    /// the call is not indirect.)
    #[inline]
    pub fn next(&mut self, flight: Flight) -> Option<u32> {
        match self {
            Self::GoBackN(recovery) => recovery.next(flight),
            Self::SelectiveRepeat(recovery) => recovery.next(flight),
        }
    }

    /// Returns the loss recovery.
    pub fn get(&mut self) -> &mut dyn LossRecovery {
        match self {
            Self::GoBackN(recovery) => recovery,
            Self::SelectiveRepeat(recovery) => recovery,
        }
    }
}
