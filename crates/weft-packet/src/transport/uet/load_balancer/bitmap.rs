//! A walk that skips EVs with penalties.

use rand_xoshiro::SplitMix64;

use super::oblivious::Oblivious;
use super::{Feedback, LoadBalancer};

/// The maximum penalty of an EV.
const MAX_PENALTY: u8 = 15;

/// A penalty for each EV.
pub struct Bitmap {
    walk: Oblivious,
    penalties: Box<[u8]>,
}

impl Bitmap {
    /// Creates a load balancer without penalties.
    pub fn new(evs: u32, walk: Oblivious) -> Self {
        Self {
            walk,
            penalties: vec![0; evs as usize].into(),
        }
    }
}

impl LoadBalancer for Bitmap {
    /// The first EV with a penalty that a search skips loses one point of it. If all have penalties, the
    /// search ends after a round.
    fn choose(&mut self, random: &mut SplitMix64) -> u16 {
        let mut ev = self.walk.choose(random);
        for skipped in 0..self.penalties.len() {
            let penalty = &mut self.penalties[usize::from(ev)];
            if *penalty == 0 {
                break;
            }
            if skipped == 0 {
                *penalty -= 1;
            }
            ev = self.walk.choose(random);
        }
        ev
    }

    fn on_feedback(&mut self, ev: u16, feedback: Feedback, _: u64) {
        let points = match feedback {
            Feedback::Good => return,
            Feedback::Marked => 1,
            Feedback::Trimmed => 4,
            Feedback::TimedOut => MAX_PENALTY,
        };
        let penalty = &mut self.penalties[usize::from(ev)];
        *penalty = (*penalty + points).min(MAX_PENALTY);
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn a_penalty_skips_an_ev_once_per_point() {
        for (feedback, points) in [
            (Feedback::Good, 0),
            (Feedback::Marked, 1),
            (Feedback::Trimmed, 4),
            (Feedback::TimedOut, 15),
        ] {
            let mut random = SplitMix64::seed_from_u64(3);
            let mut bitmap = Bitmap::new(16, Oblivious::new(16, &mut random));
            bitmap.on_feedback(5, feedback, 0);
            let mut skipped = 0;
            while bitmap.penalties[5] > 0 {
                // A round of the walk meets the EV once; the search chooses another one instead.
                let round: Vec<u16> = (0..15).map(|_| bitmap.choose(&mut random)).collect();
                assert!(!round.contains(&5), "{feedback:?}: {round:?}");
                skipped += 1;
                assert!(skipped < 40);
            }
            assert!(skipped >= points, "{feedback:?}: {skipped}");
        }
    }

    #[test]
    fn with_penalties_everywhere_some_ev_is_chosen() {
        let mut random = SplitMix64::seed_from_u64(3);
        let mut bitmap = Bitmap::new(4, Oblivious::new(4, &mut random));
        for ev in 0..4 {
            bitmap.on_feedback(ev, Feedback::Trimmed, 0);
        }
        bitmap.choose(&mut random);
        assert_eq!(bitmap.penalties.iter().map(|&p| u32::from(p)).sum::<u32>(), 15);
    }
}
