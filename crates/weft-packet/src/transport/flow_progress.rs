//! The progress of a flow at its sender and at its receiver, for transports that have a flow per connection.

/// Ports of a host. Those from the 64th on are one port here, so that a flow waits for one of them at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortSet(u64);

impl PortSet {
    /// No port.
    pub const NONE: Self = Self(0);
    /// All ports.
    pub const ALL: Self = Self(u64::MAX);

    const fn bit(port: u32) -> u64 {
        1 << if port < 63 { port } else { 63 }
    }

    /// Returns true if no port is in the set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if a port is in the set.
    #[inline]
    pub const fn contains(self, port: u32) -> bool {
        self.0 & Self::bit(port) != 0
    }

    /// Returns true if `other` has all ports of this set.
    #[inline]
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Adds a port.
    #[inline]
    pub const fn insert(&mut self, port: u32) {
        self.0 |= Self::bit(port);
    }

    /// Removes a port.
    #[inline]
    pub const fn remove(&mut self, port: u32) {
        self.0 &= !Self::bit(port);
    }
}

/// The progress of a flow at its sender.
pub struct SenderProgress {
    /// Index of the flow.
    pub flow: u32,
    /// Time at which the flow was opened.
    pub opened: u64,
    /// Time at which the acknowledgement of all its data arrived.
    pub acked: Option<u64>,
    /// True if the latencies of the flow are recorded.
    pub has_latencies: bool,
    /// The ports for which the flow waits; all of them until its rate allows a packet.
    pub waits: PortSet,
    /// True if the timer of timeouts is set.
    pub has_timer: bool,
}

impl SenderProgress {
    /// Returns the progress of a flow that opens now.
    pub const fn new(flow: u32, now: u64, has_latencies: bool) -> Self {
        Self {
            flow,
            opened: now,
            acked: None,
            has_latencies,
            waits: PortSet::NONE,
            has_timer: false,
        }
    }

    /// Returns true if an acknowledgement of all data has arrived.
    #[inline]
    pub const fn is_acked(&self) -> bool {
        self.acked.is_some()
    }
}

/// The data of a flow that its receiver has.
pub struct ReceiverProgress {
    /// Index of the flow.
    pub flow: u32,
    /// Number of data packets that arrived.
    pub packets: u64,
    /// Number of different ones that were accepted.
    pub chunks: u64,
    /// Payload bytes of the accepted ones.
    pub bytes: u64,
    /// Time at which the last of them arrived.
    pub last: u64,
    /// Number of payload bytes at which the host is to be notified.
    pub notify_at: u64,
}

impl ReceiverProgress {
    /// Returns the progress of a flow of which nothing has arrived.
    pub const fn new(flow: u32, notify_at: u64) -> Self {
        Self {
            flow,
            packets: 0,
            chunks: 0,
            bytes: 0,
            last: 0,
            notify_at,
        }
    }

    /// Counts a new packet with this payload in bytes.
    #[inline]
    pub const fn accept(&mut self, payload: u64, now: u64) {
        self.chunks += 1;
        self.bytes += payload;
        self.last = now;
    }
}
