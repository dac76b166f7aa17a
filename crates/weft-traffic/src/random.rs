//! Random streams of patterns.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};
use weft_spec::Time;

/// Identifies the random streams of a traffic entry. It is a hash of the entry's name, so that neither
/// new entries nor another order of the entries changes the flows of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamId(u64);

impl StreamId {
    /// The 64-bit FNV-1a hash of `name`.
    pub fn of_name(name: &str) -> Self {
        Self(name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        }))
    }

    /// Returns the identity of the entry's n-th flow.
    pub fn flow_id(self, n: u32) -> u64 {
        self.0.wrapping_add(n.into())
    }

    fn key(self, seed: u64) -> u64 {
        seed ^ SplitMix64::seed_from_u64(self.0).next_u64()
    }
}

/// The stream of what a traffic entry draws before the run.
pub(crate) fn stream(seed: u64, entry: StreamId) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(entry.key(seed))
}

/// The streams of a traffic entry, one per loop, sender or job. Each host computes those that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RngStreams(u64);

impl RngStreams {
    /// Returns the streams of a traffic entry.
    pub fn new(seed: u64, entry: StreamId) -> Self {
        // Two rounds of mixing keep these apart from the entry's own stream.
        Self(SplitMix64::seed_from_u64(entry.key(seed) ^ 0x7072_6F67_7261_6D73).next_u64())
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

/// Returns true if a random delay up to `jitter` decides whether a flow that would open at `start` opens
/// before `end`.
pub(crate) fn jitter_decides(start: Time, jitter: Time, end: Time) -> bool {
    start < end && start.0.saturating_add(jitter.0) >= end.0
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
