//! A calendar queue of rings: which rings have arrivals in which window.
//!
//! A ring with packets is scheduled once, in the window of its first arrival. The near future is a
//! circular array of bitmaps, one per window, with one bit per ring. To schedule a ring sets a bit,
//! and the rings of a window come out sorted. Later windows are in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of windows in the circular array.
const BUCKETS: u64 = 64;

/// The calendar of one partition. Windows are numbered from 0 and only move forward.
pub struct Calendar {
    /// `bits[bucket * words ..][.. words]`: the rings scheduled in the bucket's window.
    bits: Vec<u64>,
    words: usize,
    /// Bit `bucket` is set if any ring is scheduled there.
    occupied: u64,
    /// The first window of the circular array.
    first: u64,
    beyond: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Calendar {
    /// Creates an empty calendar for `rings` rings.
    pub fn new(rings: usize) -> Self {
        let words = rings.div_ceil(64);
        Self {
            bits: vec![0; words * BUCKETS as usize],
            words,
            occupied: 0,
            first: 0,
            beyond: BinaryHeap::new(),
        }
    }

    /// Schedules `ring` in `window`, which is not in the past.
    #[inline(always)]
    pub fn schedule(&mut self, window: u64, ring: u32) {
        if window - self.first < BUCKETS {
            self.set(window, ring);
        } else {
            self.beyond.push(Reverse((window, ring)));
        }
    }

    #[inline(always)]
    fn set(&mut self, window: u64, ring: u32) {
        let bucket = window % BUCKETS;
        self.occupied |= 1 << bucket;
        self.bits[bucket as usize * self.words + ring as usize / 64] |= 1 << (ring % 64);
    }

    /// The first window in which a ring is scheduled.
    pub fn next(&self) -> Option<u64> {
        if self.occupied == 0 {
            return self.beyond.peek().map(|Reverse((window, _))| *window);
        }
        let ahead = self
            .occupied
            .rotate_right((self.first % BUCKETS) as u32)
            .trailing_zeros();
        Some(self.first + u64::from(ahead))
    }

    /// Moves the start of the circular array to `window`, which is not after [`next`](Self::next).
    pub fn advance(&mut self, window: u64) {
        self.first = window;
        while let Some(&Reverse((w, ring))) = self.beyond.peek() {
            if w - window >= BUCKETS {
                break;
            }
            self.beyond.pop();
            self.set(w, ring);
        }
    }

    /// Number of words of a window's bitmap.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Takes word `word` of the first window's bitmap: bit `b` is ring `word * 64 + b`.
    #[inline(always)]
    pub fn take_word(&mut self, word: usize) -> u64 {
        std::mem::take(&mut self.bits[(self.first % BUCKETS) as usize * self.words + word])
    }

    /// Returns true if a ring is scheduled in the first window, and resets the answer until one is
    /// scheduled there once more.
    pub fn take_occupied(&mut self) -> bool {
        let bit = 1 << (self.first % BUCKETS);
        let was = self.occupied & bit != 0;
        self.occupied &= !bit;
        was
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_come_out_in_order_with_their_rings() {
        let mut calendar = Calendar::new(130);
        let scheduled = [
            (0, 3),
            (0, 129),
            (5, 64),
            (63, 0),
            (64, 1),
            (1_000_000, 7),
            (1_000_000, 8),
        ];
        for (window, ring) in scheduled {
            calendar.schedule(window, ring);
        }
        let mut seen = Vec::new();
        while let Some(window) = calendar.next() {
            calendar.advance(window);
            assert!(calendar.take_occupied());
            for word in 0..calendar.words() {
                let mut bits = calendar.take_word(word);
                while bits != 0 {
                    seen.push((window, word as u32 * 64 + bits.trailing_zeros()));
                    bits &= bits - 1;
                }
            }
        }
        assert_eq!(seen, scheduled);
    }
}
