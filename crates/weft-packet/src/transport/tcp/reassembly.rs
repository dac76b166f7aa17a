//! Data that a receiver holds out of order: bytes of a subflow, chunks of a connection.

use crate::engine::prefetch::prefetch;

/// Bytes received beyond the next expected one, as disjoint sorted ranges.
#[derive(Clone, Debug, Default)]
pub struct RangeSet(Vec<(u64, u64)>);

impl RangeSet {
    /// Prefetches the first range.
    #[inline(always)]
    pub fn prefetch(&self) {
        self.0.first().into_iter().for_each(prefetch);
    }

    /// Returns true if no byte is out of order.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the first range begins at `next`, so that nothing is missing before it.
    pub fn starts_at(&self, next: u64) -> bool {
        self.0.first().is_some_and(|&(start, _)| start == next)
    }

    /// Returns true if all of `lo..hi` is held.
    pub fn contains(&self, lo: u64, hi: u64) -> bool {
        let first = self.0.partition_point(|&(_, end)| end < hi);
        self.0.get(first).is_some_and(|&(start, _)| start <= lo)
    }

    /// Adds `lo..hi` and returns the range that now contains it.
    pub fn insert(&mut self, mut lo: u64, mut hi: u64) -> (u64, u64) {
        let first = self.0.partition_point(|&(_, end)| end < lo);
        let last = self.0.partition_point(|&(start, _)| start <= hi);
        if first < last {
            lo = lo.min(self.0[first].0);
            hi = hi.max(self.0[last - 1].1);
        }
        self.0.splice(first..last, [(lo, hi)]);
        (lo, hi)
    }

    /// Returns the next byte expected once everything before `next` has arrived, and removes the
    /// ranges before it.
    pub fn advance(&mut self, mut next: u64) -> u64 {
        let covered = self.0.iter().take_while(|&&(start, _)| start <= next).count();
        if covered > 0 {
            next = next.max(self.0[covered - 1].1);
            self.0.drain(..covered);
        }
        next
    }
}

/// Chunks received beyond the next expected one, on any subflow (RFC 8684, section 3.3.4): one bit
/// each in a growing ring.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    next: u32,
    /// One more than the highest chunk received.
    end: u32,
    bits: Box<[u64]>,
}

impl Chunks {
    /// Prefetches the memory that inserting `chunk` accesses.
    #[inline(always)]
    pub fn prefetch(&self, chunk: u32) {
        let mask = self.bits.len().wrapping_sub(1);
        self.bits
            .get((chunk / 64) as usize & mask)
            .into_iter()
            .for_each(prefetch);
    }

    /// Returns the next chunk expected.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Returns true if nothing is out of order.
    pub fn is_in_order(&self) -> bool {
        self.next >= self.end
    }

    /// Inserts chunk `chunk`. Returns `false` if it was held already.
    #[inline(always)]
    pub fn insert(&mut self, chunk: u32) -> bool {
        if chunk < self.next {
            return false;
        }
        while (chunk - self.next) as usize + 64 >= self.bits.len() * 64 {
            self.grow();
        }
        self.end = self.end.max(chunk + 1);
        let mask = self.bits.len() - 1;
        let word = &mut self.bits[(chunk / 64) as usize & mask];
        let bit = 1 << (chunk % 64);
        let new = *word & bit == 0;
        *word |= bit;
        if chunk == self.next {
            loop {
                let word = &mut self.bits[(self.next / 64) as usize & mask];
                let run = (*word >> (self.next % 64)).trailing_ones();
                let whole = self.next % 64 + run == 64;
                *word &= !(u64::MAX.checked_shr(64 - run).unwrap_or(0) << (self.next % 64));
                self.next += run;
                if !whole {
                    break;
                }
            }
        }
        new
    }

    #[cold]
    fn grow(&mut self) {
        let mut grown = vec![0; (self.bits.len() * 2).max(2)].into_boxed_slice();
        let first = self.next / 64;
        for word in first..first + self.bits.len() as u32 {
            grown[word as usize & (grown.len() - 1)] = self.bits[word as usize & (self.bits.len() - 1)];
        }
        self.bits = grown;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn islands_equal_a_set_of_bytes(ranges in prop::collection::vec((0_u64..60, 1_u64..9), 1..60)) {
            let mut held = RangeSet::default();
            let mut set = BTreeSet::new();
            let mut next = 0;
            for (lo, len) in ranges {
                let lo = lo.max(next);
                set.extend(lo..lo + len);
                let (start, end) = held.insert(lo, lo + len);
                prop_assert!(start <= lo && lo + len <= end);
                prop_assert!((start..end).all(|b| set.contains(&b)));
                prop_assert!(!set.contains(&end) && (start == next || !set.contains(&(start - 1))));
                next = held.advance(next);
                while set.remove(&next) {
                    prop_assert!(false, "byte {next} is held but not delivered");
                }
                let before: Vec<u64> = set.range(..next).copied().collect();
                for b in before {
                    set.remove(&b);
                }
            }
        }

        #[test]
        fn chunks_equal_a_set(order in prop::collection::vec(0_u32..700, 1..900)) {
            let mut chunks = Chunks::default();
            let mut set = BTreeSet::new();
            for chunk in order {
                prop_assert_eq!(chunks.insert(chunk), set.insert(chunk));
                let next = (0..701).find(|c| !set.contains(c)).unwrap_or(0);
                prop_assert_eq!(chunks.next(), next);
            }
        }
    }

    #[test]
    fn long_runs_in_order_stay_small() {
        let mut chunks = Chunks::default();
        for chunk in 0..10_000 {
            assert!(chunks.insert(chunk ^ 1));
        }
        assert_eq!((chunks.next(), chunks.bits.len()), (10_000, 2));
    }
}
