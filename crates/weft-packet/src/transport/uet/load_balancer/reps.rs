//! REPS (Bonato et al., 2024): EVs of packets that arrived without a mark are used again.

use rand_xoshiro::SplitMix64;

use super::{Feedback, LoadBalancer, below};

/// Number of EVs that are kept.
const RING: usize = 8;
/// Time for which a timeout freezes the ring at least, in picoseconds.
const FREEZE: u64 = 10_000_000_000;
/// Number of random EVs after the ring was frozen.
const EXPLORED: u32 = 16;

/// The last EVs that were good.
pub struct Reps {
    evs: u32,
    ring: [Option<u16>; RING],
    /// EVs by their position, whether used or not.
    known: [u16; RING],
    /// Positions of the next write, and of the oldest EV that was not used.
    head: usize,
    oldest: usize,
    /// Number of EVs in the ring so far.
    written: u64,
    /// Number of random EVs to come.
    exploring: u32,
    /// Time from which the ring may be used as usual; `None` unless it is frozen.
    frozen_until: Option<u64>,
    /// Position of the next EV while frozen.
    cycle: usize,
}

impl Reps {
    /// Creates an empty ring.
    pub fn new(evs: u32) -> Self {
        Self {
            evs,
            ring: [None; RING],
            known: [0; RING],
            head: 0,
            oldest: 0,
            written: 0,
            exploring: 0,
            frozen_until: None,
            cycle: 0,
        }
    }

    fn keep(&mut self, ev: u16) {
        if self.ring[self.head].is_some() {
            // The ring is full: the EV replaces the oldest one.
            self.oldest = (self.head + 1) % RING;
        }
        self.ring[self.head] = Some(ev);
        self.known[self.head] = ev;
        self.head = (self.head + 1) % RING;
        self.written += 1;
    }
}

impl LoadBalancer for Reps {
    fn choose(&mut self, random: &mut SplitMix64) -> u16 {
        if self.exploring > 0 {
            self.exploring -= 1;
            return below(self.evs, random);
        }
        if self.frozen_until.is_some() {
            let known = self.written.min(RING as u64) as usize;
            if known == 0 {
                return below(self.evs, random);
            }
            self.cycle = (self.cycle + 1) % known;
            return self.known[self.cycle];
        }
        match self.ring[self.oldest].take() {
            Some(ev) => {
                self.oldest = (self.oldest + 1) % RING;
                ev
            }
            None => below(self.evs, random),
        }
    }

    fn on_feedback(&mut self, ev: u16, feedback: Feedback, now: u64) {
        if self.frozen_until.is_some_and(|end| now > end) {
            *self = Self {
                exploring: EXPLORED,
                ..Self::new(self.evs)
            };
        }
        match feedback {
            Feedback::Good => self.keep(ev),
            Feedback::TimedOut if self.frozen_until.is_none() && self.exploring == 0 => {
                self.frozen_until = Some(now + FREEZE);
            }
            Feedback::Marked | Feedback::Trimmed | Feedback::TimedOut => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    fn good(reps: &mut Reps, evs: impl IntoIterator<Item = u16>) {
        evs.into_iter()
            .for_each(|ev| reps.on_feedback(ev, Feedback::Good, 0));
    }

    /// Each good EV is used once, the oldest first. A ninth replaces the oldest.
    #[test]
    fn good_evs_are_used_once_in_their_order() {
        let (mut reps, mut random) = (Reps::new(1 << 16), SplitMix64::seed_from_u64(1));
        good(&mut reps, 1..=9);
        reps.on_feedback(77, Feedback::Marked, 0);
        reps.on_feedback(78, Feedback::Trimmed, 0);
        let chosen: Vec<u16> = (0..8).map(|_| reps.choose(&mut random)).collect();
        assert_eq!(chosen, (2..=9).collect::<Vec<u16>>());
        good(&mut reps, [40]);
        assert_eq!(reps.choose(&mut random), 40);
        assert!(reps.choose(&mut random) > 9, "a random one of 65,536");
    }

    #[test]
    fn a_timeout_freezes_the_ring_for_a_while() {
        let (mut reps, mut random) = (Reps::new(1 << 16), SplitMix64::seed_from_u64(1));
        good(&mut reps, 1..=3);
        reps.on_feedback(0, Feedback::TimedOut, 5);
        let mut frozen: Vec<u16> = (0..6).map(|_| reps.choose(&mut random)).collect();
        frozen.sort_unstable();
        assert_eq!(frozen, [1, 1, 2, 2, 3, 3]);
        reps.on_feedback(9, Feedback::Good, FREEZE + 6);
        let explored: Vec<u16> = (0..17).map(|_| reps.choose(&mut random)).collect();
        assert!(explored[..16].iter().all(|ev| *ev != 9), "{explored:?}");
        assert_eq!(explored[16], 9);
    }
}
