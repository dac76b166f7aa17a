//! Load balancing: which entropy value (EV) a packet carries. The EV names its path.

mod bitmap;
mod mixed;
mod oblivious;
mod reps;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use weft_transports::UetLoadBalancing;

use bitmap::Bitmap;
use mixed::Mixed;
use oblivious::Oblivious;
use reps::Reps;

/// The fate of a packet with an EV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// A packet arrived without a mark.
    Good,
    /// A packet arrived with a mark.
    Marked,
    /// A packet was trimmed before the last hop.
    Trimmed,
    /// A packet timed out.
    TimedOut,
}

/// A load balancer of a flow.
pub trait LoadBalancer {
    /// Returns the EV of the next packet.
    fn choose(&mut self, random: &mut SplitMix64) -> u16;

    /// Records the fate of a packet with this EV at `now`.
    fn on_feedback(&mut self, ev: u16, feedback: Feedback, now: u64);
}

/// The load balancer of a flow with its random numbers.
pub struct Balancer {
    random: SplitMix64,
    kind: Kind,
}

enum Kind {
    Oblivious(Oblivious),
    Bitmap(Bitmap),
    Reps(Reps),
    Mixed(Mixed),
}

impl Balancer {
    /// Creates the load balancer of a flow with this many EVs, a power of two.
    pub fn new(kind: UetLoadBalancing, evs: u32, seed: u64) -> Self {
        let mut random = SplitMix64::seed_from_u64(seed);
        let walk = Oblivious::new(evs, &mut random);
        let kind = match kind {
            UetLoadBalancing::Oblivious => Kind::Oblivious(walk),
            UetLoadBalancing::Bitmap => Kind::Bitmap(Bitmap::new(evs, walk)),
            UetLoadBalancing::Reps => Kind::Reps(Reps::new(evs)),
            UetLoadBalancing::Mixed => Kind::Mixed(Mixed::new(Bitmap::new(evs, walk))),
        };
        Self { random, kind }
    }

    /// Returns the EV of the next packet.
    pub fn choose(&mut self) -> u16 {
        let random = &mut self.random;
        match &mut self.kind {
            Kind::Oblivious(balancer) => balancer.choose(random),
            Kind::Bitmap(balancer) => balancer.choose(random),
            Kind::Reps(balancer) => balancer.choose(random),
            Kind::Mixed(balancer) => balancer.choose(random),
        }
    }

    /// Records the fate of a packet with this EV at `now`.
    pub fn on_feedback(&mut self, ev: u16, feedback: Feedback, now: u64) {
        match &mut self.kind {
            Kind::Oblivious(balancer) => balancer.on_feedback(ev, feedback, now),
            Kind::Bitmap(balancer) => balancer.on_feedback(ev, feedback, now),
            Kind::Reps(balancer) => balancer.on_feedback(ev, feedback, now),
            Kind::Mixed(balancer) => balancer.on_feedback(ev, feedback, now),
        }
    }
}

/// Returns a uniform number below `n`, a power of two of at most 65,536.
fn below(n: u32, random: &mut SplitMix64) -> u16 {
    (random.next_u32() & (n - 1)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [UetLoadBalancing; 4] = [
        UetLoadBalancing::Oblivious,
        UetLoadBalancing::Bitmap,
        UetLoadBalancing::Reps,
        UetLoadBalancing::Mixed,
    ];

    #[test]
    fn every_balancer_uses_all_evs_and_no_other() {
        for kind in KINDS {
            for evs in [1, 2, 128] {
                let mut balancer = Balancer::new(kind, evs, 5);
                let mut counts = vec![0; evs as usize];
                for _ in 0..100 * evs {
                    counts[usize::from(balancer.choose())] += 1;
                }
                assert!(counts.iter().all(|&count| count > 40), "{kind:?}: {counts:?}");
            }
        }
    }

    /// Walks visit every EV once per round, in an order that changes.
    #[test]
    fn a_walk_visits_each_ev_once() {
        for kind in [
            UetLoadBalancing::Oblivious,
            UetLoadBalancing::Bitmap,
            UetLoadBalancing::Mixed,
        ] {
            let mut balancer = Balancer::new(kind, 64, 5);
            let mut rounds = Vec::new();
            for _ in 0..4 {
                let round: Vec<u16> = (0..64).map(|_| balancer.choose()).collect();
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..64).collect::<Vec<u16>>(), "{kind:?}");
                rounds.push(round);
            }
            assert!(rounds[1..].iter().any(|round| *round != rounds[0]), "{kind:?}");
        }
    }
}
