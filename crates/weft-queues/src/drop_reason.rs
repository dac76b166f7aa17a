//! The reasons for which packets are dropped or lost.

/// The reason for which a packet is dropped or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The queue, or the packet's class of it, has reached its limit.
    #[default]
    Limit,
    /// The queue of headers of a queue that trims has reached its limit.
    Headers,
    /// The part of a shared buffer that the packet may use has no room.
    Buffer,
    /// The packet is to be marked, but is not ECN-capable.
    NotEct,
    /// RED has chosen the packet.
    Red,
    /// The queueing delay has been above the target of `CoDel` for an interval.
    CoDel,
    /// The packet's class has been paused for longer than a watchdog allows.
    Watchdog,
    /// The link is down.
    LinkDown,
    /// The link has lost the packet.
    Loss,
    /// There is no route over which a header could go back to its sender.
    NoRoute,
}

impl DropReason {
    /// Returns the name of the reason in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Headers => "headers",
            Self::Buffer => "buffer",
            Self::NotEct => "not-ect",
            Self::Red => "red",
            Self::CoDel => "codel",
            Self::Watchdog => "watchdog",
            Self::LinkDown => "link-down",
            Self::Loss => "loss",
            Self::NoRoute => "no-route",
        }
    }
}
