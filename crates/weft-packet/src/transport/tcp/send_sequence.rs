//! Positions in the data that a subflow sends (RFC 9293, section 3.3.1).

/// The bytes of a subflow that are acknowledged and sent.
pub struct SendSequence {
    /// First byte that is not acknowledged (`SND.UNA`).
    una: u64,
    /// Next byte to send (`SND.NXT`).
    nxt: u64,
    /// Bytes that may be unacknowledged: whole segments (`SND.WND`).
    window: u64,
}

impl SendSequence {
    /// Creates the sequence of a subflow of which nothing is sent, whose receiver has this buffer.
    pub fn new(receive_buffer: u64, mss: u32) -> Self {
        let mss = u64::from(mss);
        Self {
            una: 0,
            nxt: 0,
            window: receive_buffer / mss * mss,
        }
    }

    /// Returns true if the receiver has room for another segment.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.nxt - self.una < self.window
    }

    /// Returns the first byte that is not acknowledged.
    #[inline(always)]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Returns the next byte to send.
    #[inline(always)]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Records that all bytes before `ack` are acknowledged.
    #[inline(always)]
    pub fn advance(&mut self, ack: u64) {
        debug_assert!((self.una..=self.nxt).contains(&ack));
        self.una = ack;
    }

    /// Records that a segment of this many bytes is sent for the first time.
    #[inline(always)]
    pub fn extend(&mut self, len: u16) {
        self.nxt += u64::from(len);
    }

    /// Expands the low 32 bits of a sequence number to the 64-bit number that is nearest to `una`.
    #[inline(always)]
    pub fn expand(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.una as u32).cast_signed();
        self.una.wrapping_add_signed(i64::from(ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_expanded_beyond_32_bits() {
        let mut seq = SendSequence::new(1 << 40, 1448);
        assert_eq!(seq.expand(u32::MAX), u64::MAX, "one byte before the first");
        for _ in 0..80_000 {
            seq.extend(u16::MAX);
        }
        let una = (1 << 32) - 100;
        seq.advance(una);
        assert_eq!(seq.expand(50), (1 << 32) + 50);
        assert_eq!(seq.expand(una as u32 - 7), una - 7);
    }

    #[test]
    fn the_window_has_room_for_whole_segments() {
        let mut seq = SendSequence::new(3 * 1448 + 1447, 1448);
        let sent = std::iter::from_fn(|| seq.has_room().then(|| seq.extend(1448)));
        assert_eq!(sent.take(10).count(), 3);
        seq.advance(1448);
        assert!(seq.has_room());
        seq.extend(1448);
        assert!(!seq.has_room());
    }
}
