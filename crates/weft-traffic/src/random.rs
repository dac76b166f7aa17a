//! Random streams of patterns.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};
use weft_spec::Time;

/// Returns the random stream of a traffic entry. Each entry has its own, so that a new entry does
/// not change the flows of other entries.
pub(crate) fn stream(seed: u64, entry: u32) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(key(seed, entry))
}

fn key(seed: u64, entry: u32) -> u64 {
    seed ^ SplitMix64::seed_from_u64(entry.into()).next_u64()
}

/// Random streams of the flows and jobs that an entry creates during the run. Each has its own, so
/// that every host can compute the n-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RngStreams(u64);

impl RngStreams {
    /// Creates the streams of a traffic entry.
    pub fn new(seed: u64, entry: u32) -> Self {
        // Two rounds of mixing make these streams different from that of the entry.
        Self(SplitMix64::seed_from_u64(key(seed, entry) ^ 0x7072_6F67_7261_6D73).next_u64())
    }

    /// Returns the n-th stream.
    pub fn nth(self, n: u32) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.0 ^ SplitMix64::seed_from_u64(n.into()).next_u64())
    }
}

/// Returns a uniform random time from 0 to `most`.
pub(crate) fn uniform_up_to(most: Time, rng: &mut impl Rng) -> Time {
    if most == Time(0) {
        most
    } else {
        Time(rng.random_range(0..=most.0))
    }
}

/// Returns a random permutation of 0 to n-1 that moves every element, uniform among all such
/// permutations; `n` is not 1. Redrawing until no element stays takes e draws on average.
pub(crate) fn derangement(n: u32, rng: &mut impl Rng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    loop {
        order.shuffle(rng);
        if order.iter().enumerate().all(|(i, &to)| i as u32 != to) {
            return order;
        }
    }
}
