//! A walk over all EVs without feedback.

use super::{Feedback, LoadBalancer, Random};

/// In each round, the XOR of a counter and a new random number visits each EV once.
pub struct Oblivious {
    evs: u32,
    next: u32,
    mask: u16,
}

impl Oblivious {
    /// Creates a walk over this many EVs, a power of two.
    pub fn new(evs: u32, random: &mut Random) -> Self {
        let mask = random.below(evs);
        Self { evs, next: 0, mask }
    }
}

impl LoadBalancer for Oblivious {
    fn choose(&mut self, random: &mut Random) -> u16 {
        if self.next == self.evs {
            self.next = 0;
            self.mask = random.below(self.evs);
        }
        let ev = self.next as u16 ^ self.mask;
        self.next += 1;
        ev
    }

    fn on_feedback(&mut self, _: u16, _: Feedback, _: u64) {}
}
