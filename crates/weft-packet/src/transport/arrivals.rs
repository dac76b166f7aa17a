//! The packets that a receiver has: the next expected one, and later ones as bits.

use std::collections::VecDeque;

/// The sequence numbers (PSNs) that have arrived.
#[derive(Default)]
pub struct Arrivals {
    /// All PSNs before this one have arrived.
    next: u32,
    /// Number of PSNs after `next` that have arrived.
    out_of_order: u32,
    /// Bits of the PSNs from `next / 64 * 64` on.
    words: VecDeque<u64>,
}

impl Arrivals {
    /// Returns the next expected PSN.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Returns true if a PSN has arrived.
    pub fn has(&self, psn: u32) -> bool {
        psn < self.next || self.word(psn / 64) >> (psn % 64) & 1 == 1
    }

    /// Returns true if a PSN after the next expected one has arrived.
    pub fn is_out_of_order(&self) -> bool {
        self.out_of_order > 0
    }

    /// Records the arrival of a PSN that has not arrived before.
    pub fn insert(&mut self, psn: u32) {
        let word = (psn / 64 - self.next / 64) as usize;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (psn % 64);
        if psn != self.next {
            self.out_of_order += 1;
            return;
        }
        loop {
            self.next += 1;
            if self.next.is_multiple_of(64) {
                self.words.pop_front();
            }
            if self.word(self.next / 64) >> (self.next % 64) & 1 == 0 {
                break;
            }
            self.out_of_order -= 1;
        }
    }

    /// Returns the bits of the 64 PSNs from `from` on.
    pub fn bitmap(&self, from: u32) -> u64 {
        let (word, shift) = (from / 64, from % 64);
        let low = self.word(word) >> shift;
        if shift == 0 {
            low
        } else {
            low | self.word(word + 1) << (64 - shift)
        }
    }

    /// Returns a word of bits. All PSNs of earlier words have arrived.
    fn word(&self, word: u32) -> u64 {
        let first = self.next / 64;
        if word < first {
            return u64::MAX;
        }
        self.words.get((word - first) as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn arrivals_equal_a_set(order in Just((0..150_u32).collect::<Vec<_>>()).prop_shuffle(), from in 0..200_u32) {
            let (mut arrivals, mut set) = (Arrivals::default(), BTreeSet::new());
            for psn in order {
                prop_assert!(!arrivals.has(psn));
                arrivals.insert(psn);
                set.insert(psn);
                let next = (0..=150).find(|psn| !set.contains(psn)).unwrap();
                prop_assert_eq!(arrivals.next(), next);
                prop_assert_eq!(arrivals.is_out_of_order(), set.iter().any(|&psn| psn > next));
                let bits = (0..64).filter(|bit| set.contains(&(from + bit)));
                prop_assert_eq!(arrivals.bitmap(from), bits.fold(0, |bits, bit| bits | 1 << bit));
                prop_assert!(set.iter().all(|&psn| arrivals.has(psn)));
            }
        }
    }
}
