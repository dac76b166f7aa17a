//! Keys of TCP's timers.

/// Timers of TCP. A key has the timer in its upper half and an index in its lower half; the other
/// numbers belong to the host ([`HostTimer`](crate::transport::HostTimer)).
#[derive(Clone, Copy)]
pub enum TcpTimer {
    /// A subflow joins. Index: subflow.
    Join = 2,
    /// Retransmission, loss probe or end of a reordering window. Index: subflow.
    Subflow = 3,
    /// Delayed acknowledgement. Index: receiver of the subflow.
    DelayedAck = 4,
    /// A subflow closes. Index: subflow.
    Close = 7,
    /// Pacing allows the next packet. Index: subflow.
    Pace = 9,
    /// An application has written a chunk. Index: flow.
    Write = 10,
    /// The path monitor checks the paths. Index: connection.
    PathMonitor = 11,
}

/// Returns the key of a timer.
pub fn timer_key(timer: TcpTimer, index: u32) -> u64 {
    (timer as u64) << 32 | u64::from(index)
}
