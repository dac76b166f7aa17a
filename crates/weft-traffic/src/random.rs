//! Random numbers of a pattern.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};
use weft_spec::Time;

/// A stream for each traffic entry of an experiment, so that a new entry does not change the others' flows.
pub(crate) fn stream(seed: u64, entry: u32) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(key(seed, entry))
}

fn key(seed: u64, entry: u32) -> u64 {
    seed ^ SplitMix64::seed_from_u64(entry.into()).next_u64()
}

/// A stream for each thing that an entry makes while the experiment runs, so that every host can work out the n-th.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RngStreams(u64);

impl RngStreams {
    /// Of a traffic entry.
    pub fn new(seed: u64, entry: u32) -> Self {
        // Two rounds of mixing keep these apart from the entry's own stream.
        Self(SplitMix64::seed_from_u64(key(seed, entry) ^ 0x7072_6F67_7261_6D73).next_u64())
    }

    /// The n-th.
    pub fn nth(self, n: u32) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.0 ^ SplitMix64::seed_from_u64(n.into()).next_u64())
    }
}

/// Uniform from 0 to `most`.
pub(crate) fn uniform_up_to(most: Time, rng: &mut impl Rng) -> Time {
    if most == Time(0) {
        most
    } else {
        Time(rng.random_range(0..=most.0))
    }
}

/// A permutation of 0 to n-1 that moves every element, uniform among all such; `n` is not 1. Redrawing until nothing
/// stays in place takes e draws on average.
pub(crate) fn derangement(n: u32, rng: &mut impl Rng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    loop {
        order.shuffle(rng);
        if order.iter().enumerate().all(|(i, &to)| i as u32 != to) {
            return order;
        }
    }
}
