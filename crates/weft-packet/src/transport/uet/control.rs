//! The interface of congestion control at senders, which limits the bytes in flight by a window.

/// The content of an acknowledgement.
pub struct AckSample {
    pub now: u64,
    /// Bytes that have arrived since the last acknowledgement.
    pub bytes: i64,
    /// Round-trip time of the packet that caused it; `None` if that is not known.
    pub rtt: Option<u64>,
    /// True if that packet had a mark.
    pub marked: bool,
    /// True if that packet was a request to send.
    pub of_rts: bool,
}

/// The content of a report of a trimmed packet.
pub struct NackSample {
    pub now: u64,
    /// Bytes of the packet.
    pub bytes: i64,
    /// Time since the packet was sent, if it may lower the base round-trip time.
    pub rtt: Option<u64>,
    /// Bytes in flight, the packet included.
    pub in_flight: i64,
    /// True if the window shrinks by the packet.
    pub reduces: bool,
}

/// A congestion control of senders.
pub trait CongestionControl {
    /// Returns the window in bytes.
    fn window(&self) -> i64;

    /// Counts the bytes of an acknowledgement, and returns the queueing delay in picoseconds, before the
    /// acknowledged packets are removed from those in flight.
    fn measure(&mut self, ack: &AckSample) -> u64;

    /// Changes the window by an acknowledgement with this queueing delay.
    fn on_ack(&mut self, ack: &AckSample, delay: u64, in_flight: i64);

    /// Changes the window by a trimmed packet, which still counts as in flight.
    fn on_nack(&mut self, nack: &NackSample);

    /// Changes the window by a timeout of a packet of this size.
    fn on_timeout(&mut self, bytes: i64);
}
