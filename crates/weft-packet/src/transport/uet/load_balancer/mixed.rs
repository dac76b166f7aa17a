//! Reuses good EVs, without a limit on their number. If there is none, the bitmap chooses.

use std::collections::VecDeque;

use rand_xoshiro::SplitMix64;

use super::bitmap::Bitmap;
use super::{Feedback, LoadBalancer};

/// The EVs that were good, and the bitmap.
pub struct Mixed {
    good: VecDeque<u16>,
    bitmap: Bitmap,
}

impl Mixed {
    /// Creates a load balancer without good EVs.
    pub fn new(bitmap: Bitmap) -> Self {
        Self {
            good: VecDeque::new(),
            bitmap,
        }
    }
}

impl LoadBalancer for Mixed {
    fn choose(&mut self, random: &mut SplitMix64) -> u16 {
        match self.good.pop_front() {
            Some(ev) => ev,
            None => self.bitmap.choose(random),
        }
    }

    fn on_feedback(&mut self, ev: u16, feedback: Feedback, now: u64) {
        if feedback == Feedback::Good {
            self.good.push_back(ev);
        }
        self.bitmap.on_feedback(ev, feedback, now);
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::super::oblivious::Oblivious;
    use super::*;

    #[test]
    fn good_evs_come_before_the_bitmap() {
        let mut random = SplitMix64::seed_from_u64(3);
        let walk = Oblivious::new(64, &mut random);
        let mut mixed = Mixed::new(Bitmap::new(64, walk));
        for ev in [9, 9, 4] {
            mixed.on_feedback(ev, Feedback::Good, 0);
        }
        let chosen: Vec<u16> = (0..3).map(|_| mixed.choose(&mut random)).collect();
        assert_eq!(chosen, [9, 9, 4]);
        mixed.on_feedback(7, Feedback::TimedOut, 0);
        let round: Vec<u16> = (0..63).map(|_| mixed.choose(&mut random)).collect();
        assert!(!round.contains(&7), "{round:?}");
    }
}
