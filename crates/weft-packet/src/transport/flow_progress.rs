//! The progress of a flow at its sender and at its receiver, for transports that have a flow per connection.

/// The progress of a flow at its sender.
pub struct SenderProgress {
    pub flow: u32,
    /// Time at which the flow was opened, and at which the acknowledgement of all its data arrived.
    pub opened: u64,
    pub acked: Option<u64>,
    /// True if the latencies of the flow are recorded.
    pub has_latencies: bool,
    /// True if the flow waits for the NIC, or until its rate allows a packet.
    pub waits: bool,
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
            waits: false,
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
    pub flow: u32,
    /// Number of data packets that arrived, and of different ones that were accepted.
    pub packets: u64,
    pub chunks: u64,
    /// Payload bytes of the accepted ones, and when the last of them arrived.
    pub bytes: u64,
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
