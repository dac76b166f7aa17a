//! A walk over all EVs without feedback.

use rand_xoshiro::SplitMix64;

use super::{Feedback, LoadBalancer, below};

/// In each round, the XOR of a counter and a new random number visits each EV once.
pub struct Oblivious {
    evs: u32,
    next: u32,
    mask: u16,
}

impl Oblivious {
    /// Creates a walk over this many EVs, a power of two.
    pub fn new(evs: u32, random: &mut SplitMix64) -> Self {
        let mask = below(evs, random);
        Self { evs, next: 0, mask }
    }
}

impl LoadBalancer for Oblivious {
    fn choose(&mut self, random: &mut SplitMix64) -> u16 {
        if self.next == self.evs {
            self.next = 0;
            self.mask = below(self.evs, random);
        }
        let ev = self.next as u16 ^ self.mask;
        self.next += 1;
        ev
    }

    fn on_feedback(&mut self, _: u16, _: Feedback, _: u64) {}
}
