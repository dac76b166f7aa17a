//! Positions in the data that a subflow sends (RFC 9293, section 3.3.1).

/// The bytes of a subflow that are acknowledged and sent.
#[derive(Default)]
pub struct SendSequence {
    /// First byte that is not acknowledged (`SND.UNA`).
    una: u64,
    /// Next byte to send (`SND.NXT`).
    nxt: u64,
}

impl SendSequence {
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
        let mut seq = SendSequence::default();
        assert_eq!(seq.expand(u32::MAX), u64::MAX, "one byte before the first");
        for _ in 0..80_000 {
            seq.extend(u16::MAX);
        }
        let una = (1 << 32) - 100;
        seq.advance(una);
        assert_eq!(seq.expand(50), (1 << 32) + 50);
        assert_eq!(seq.expand(una as u32 - 7), una - 7);
    }
}
