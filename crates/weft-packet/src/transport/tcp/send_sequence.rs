//! Positions in the data that a subflow sends (RFC 9293, section 3.3.1).

use weft_transports::Profile;

use super::send_buffers::max_segments;

/// The bytes of a subflow that are acknowledged and sent.
pub struct SendSequence {
    /// First byte that is not acknowledged (`SND.UNA`).
    una: u64,
    /// Next byte to send (`SND.NXT`).
    nxt: u64,
    /// Bytes that may be unacknowledged: whole segments.
    window: u64,
    /// Segments that the send buffer holds at its maximum.
    max_segments: u32,
}

impl SendSequence {
    /// Creates the sequence of a subflow of which nothing is sent. Its window is what the receiver's
    /// buffer takes, and at most what the send buffer holds at its maximum. A smaller send buffer
    /// limits no window: autotuning makes it hold two windows or more (`tcp_sndbuf_expand`).
    pub fn from_profile(profile: &Profile) -> Self {
        let (mss, buffers) = (profile.sizes.mss, &profile.connection);
        let received = buffers.subflow_receive_buffer / u64::from(mss);
        let sent = max_segments(buffers.send_buffer, mss);
        Self {
            una: 0,
            nxt: 0,
            window: received.min(sent) * u64::from(mss),
            max_segments: u32::try_from(sent).unwrap_or(u32::MAX),
        }
    }

    /// Returns true if the buffers of both ends have space for another segment.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.nxt - self.una < self.window
    }

    /// Returns the number of segments that the send buffer holds at its maximum.
    #[inline(always)]
    pub fn max_segments(&self) -> u32 {
        self.max_segments
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

    fn sequence(receive_buffer: u64, send_buffer: u64) -> SendSequence {
        SendSequence::from_profile(&Profile::linux().with(|p| {
            p.connection.subflow_receive_buffer = receive_buffer;
            p.connection.send_buffer = send_buffer;
        }))
    }

    #[test]
    fn numbers_are_expanded_beyond_32_bits() {
        let mut seq = sequence(1 << 40, 1 << 40);
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
        let mut seq = sequence(3 * 1448 + 1447, 4 << 20);
        let sent = std::iter::from_fn(|| seq.has_room().then(|| seq.extend(1448)));
        assert_eq!(sent.take(10).count(), 3);
        seq.advance(1448);
        assert!(seq.has_room());
        seq.extend(1448);
        assert!(!seq.has_room());
    }
}
