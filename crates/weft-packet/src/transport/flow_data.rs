//! The data of a flow at its sender: how much of it there is, and how much was sent.

use super::segments::Segments;

/// The data of a flow in packets.
pub struct FlowData {
    /// Bytes of the flow, if it has a size, and the number of all packets, if known.
    size: Option<u64>,
    total: Option<u64>,
    sent: u64,
    segments: Segments,
    /// Bytes of the headers of a packet.
    header: u32,
    /// Size on the wire of the next new packet; 0 if there is none.
    next_size: u16,
}

impl FlowData {
    /// Creates the data of a flow of this many bytes, of which nothing was sent; `None` if the flow has no end yet.
    pub fn new(size: Option<u64>, segments: Segments, header: u32) -> Self {
        let mut data = Self {
            size,
            total: size.map(|size| segments.count(size)),
            sent: 0,
            segments,
            header,
            next_size: 0,
        };
        data.set_next_size();
        data
    }

    #[inline]
    fn set_next_size(&mut self) {
        self.next_size = if self.is_sent() {
            0
        } else {
            self.packet_size(self.sent)
        };
    }

    /// Returns the number of packets; `None` if the flow has no end yet.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Returns the number of different packets that were sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns true if no packet is left to be sent for the first time.
    #[inline]
    pub fn is_sent(&self) -> bool {
        self.total.is_some_and(|total| self.sent >= total)
    }

    /// Returns true if the number of packets is known and at most `packets`.
    pub fn is_within(&self, packets: u64) -> bool {
        self.total.is_some_and(|total| packets >= total)
    }

    /// Returns the size on the wire of packet `n`, which is not after the end of the data.
    #[inline]
    pub fn packet_size(&self, n: u64) -> u16 {
        (self.segments.payload(n, self.size) + u64::from(self.header)) as u16
    }

    /// Returns the size on the wire of the next new packet; `None` if there is none.
    #[inline]
    pub fn next_size(&self) -> Option<u16> {
        (self.next_size > 0).then_some(self.next_size)
    }

    /// Counts a new packet. Returns its number.
    #[inline]
    pub fn count(&mut self) -> u64 {
        self.sent += 1;
        self.set_next_size();
        self.sent - 1
    }

    /// Returns the payload bytes of the first `packets` packets.
    pub fn bytes_before(&self, packets: u64) -> u64 {
        let bytes = self.segments.bytes_before(packets);
        self.size.map_or(bytes, |size| bytes.min(size))
    }

    /// Returns the bytes of packets that were not sent, headers included; `None` if the flow has no end yet.
    #[inline]
    pub fn unsent_bytes(&self) -> Option<u64> {
        let left = self.total?.saturating_sub(self.sent);
        // A flow without a size that was stopped has sent everything.
        let Some(size) = self.size.filter(|_| left > 0) else {
            return Some(0);
        };
        Some(size - self.segments.bytes_before(self.sent) + left * u64::from(self.header))
    }

    /// Ends the data with the last packet that was sent. Returns false if no packet was left anyway.
    pub fn stop(&mut self) -> bool {
        let is_stopped = !self.is_sent();
        if is_stopped {
            self.total = Some(self.sent);
            self.next_size = 0;
        }
        is_stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(size: Option<u64>) -> FlowData {
        FlowData::new(size, Segments::new(1000, None), 64)
    }

    fn sizes(data: &mut FlowData) -> Vec<u16> {
        let mut sizes = Vec::new();
        while let Some(size) = data.next_size() {
            sizes.push(size);
            data.count();
        }
        sizes
    }

    #[test]
    fn packets_and_unsent_bytes_add_up() {
        let mut data = data(Some(2500));
        assert_eq!(data.unsent_bytes(), Some(2500 + 3 * 64));
        data.count();
        assert_eq!(data.unsent_bytes(), Some(1500 + 2 * 64));
        assert_eq!(sizes(&mut data), [1064, 564]);
        assert_eq!((data.sent(), data.unsent_bytes()), (3, Some(0)));
        assert!(data.is_sent() && data.is_within(3) && !data.is_within(2));
        assert!(!data.stop());
    }

    #[test]
    fn a_flow_without_a_size_ends_when_stopped() {
        let mut data = data(None);
        assert_eq!((data.total(), data.unsent_bytes()), (None, None));
        assert_eq!(data.next_size(), Some(1064));
        data.count();
        assert!(data.stop() && !data.stop());
        assert_eq!((data.total(), data.unsent_bytes()), (Some(1), Some(0)));
        assert_eq!(data.next_size(), None);
    }

    #[test]
    fn a_flow_with_a_size_may_be_stopped_early() {
        let mut data = data(Some(2500));
        data.count();
        assert!(data.stop());
        assert_eq!((data.total(), data.unsent_bytes()), (Some(1), Some(0)));
    }
}
