//! The data of a flow at its sender: how much of it there is, and how much was sent.

use super::HEADER;
use super::segments::Segments;

/// The data of a flow in packets.
pub struct FlowData {
    /// Bytes of the flow, if it has a size, and the number of all packets, if known.
    size: Option<u64>,
    total: Option<u64>,
    sent: u64,
}

impl FlowData {
    /// Creates the data of a flow of this many bytes, of which nothing was sent; `None` if the flow has no end yet.
    pub fn new(size: Option<u64>, segments: &Segments) -> Self {
        Self {
            size,
            total: size.map(|size| segments.count(size)),
            sent: 0,
        }
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
    pub fn is_sent(&self) -> bool {
        self.total.is_some_and(|total| self.sent >= total)
    }

    /// Returns true if the number of packets is known and at most `packets`.
    pub fn is_within(&self, packets: u64) -> bool {
        self.total.is_some_and(|total| packets >= total)
    }

    /// Returns the size on the wire of the next new packet; `None` if there is none.
    pub fn next_size(&self, segments: &Segments) -> Option<u16> {
        if self.is_sent() {
            return None;
        }
        Some((segments.payload(self.sent, self.size) + u64::from(HEADER)) as u16)
    }

    /// Counts a new packet.
    pub fn count(&mut self) {
        self.sent += 1;
    }

    /// Returns the payload bytes of the first `packets` packets.
    pub fn bytes_before(&self, packets: u64, segments: &Segments) -> u64 {
        let bytes = segments.bytes_before(packets);
        self.size.map_or(bytes, |size| bytes.min(size))
    }

    /// Returns the bytes of packets that were not sent, headers included; `None` if the flow has no end yet.
    pub fn unsent_bytes(&self, segments: &Segments) -> Option<u64> {
        let left = self.total?.saturating_sub(self.sent);
        // A flow without a size that was stopped has sent everything.
        let Some(size) = self.size.filter(|_| left > 0) else {
            return Some(0);
        };
        Some(size - segments.bytes_before(self.sent) + left * u64::from(HEADER))
    }

    /// Ends the data with the last packet that was sent. Returns false if no packet was left anyway.
    pub fn stop(&mut self) -> bool {
        let is_stopped = !self.is_sent();
        if is_stopped {
            self.total = Some(self.sent);
        }
        is_stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments() -> Segments {
        Segments::new(1000, None)
    }

    fn sizes(data: &mut FlowData) -> Vec<u16> {
        let mut sizes = Vec::new();
        while let Some(size) = data.next_size(&segments()) {
            sizes.push(size);
            data.count();
        }
        sizes
    }

    #[test]
    fn packets_and_unsent_bytes_add_up() {
        let mut data = FlowData::new(Some(2500), &segments());
        assert_eq!(data.unsent_bytes(&segments()), Some(2500 + 3 * 64));
        data.count();
        assert_eq!(data.unsent_bytes(&segments()), Some(1500 + 2 * 64));
        assert_eq!(sizes(&mut data), [1064, 564]);
        assert_eq!((data.sent(), data.unsent_bytes(&segments())), (3, Some(0)));
        assert!(data.is_sent() && data.is_within(3) && !data.is_within(2));
        assert!(!data.stop());
    }

    #[test]
    fn a_flow_without_a_size_ends_when_stopped() {
        let mut data = FlowData::new(None, &segments());
        assert_eq!((data.total(), data.unsent_bytes(&segments())), (None, None));
        assert_eq!(data.next_size(&segments()), Some(1064));
        data.count();
        assert!(data.stop() && !data.stop());
        assert_eq!((data.total(), data.unsent_bytes(&segments())), (Some(1), Some(0)));
        assert_eq!(data.next_size(&segments()), None);
    }

    #[test]
    fn a_flow_with_a_size_may_be_stopped_early() {
        let mut data = FlowData::new(Some(2500), &segments());
        data.count();
        assert!(data.stop());
        assert_eq!((data.total(), data.unsent_bytes(&segments())), (Some(1), Some(0)));
    }
}
