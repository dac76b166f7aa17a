//! Random draws by hash: each is a pure function of its inputs.

/// Returns a hash of `words`, uniform in 64 bits.
pub fn draw(words: &[u64]) -> u64 {
    let mixed = words.iter().copied().reduce(mix).unwrap_or(0);
    scatter(mixed)
}

/// Returns the seed of the draws of a run with this seed. Seeds below 512 are used unchanged. In
/// larger seeds, bits would overlap with those that number flows and nodes: runs whose seeds differ
/// by 512 would have the same draws for other flows.
pub fn draw_seed(seed: u64) -> u64 {
    if seed < 512 { seed } else { scatter(seed) }
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Spreads a mixed hash over all 64 bits: the finaliser of `SplitMix64`.
fn scatter(mut hash: u64) -> u64 {
    hash ^= hash >> 30;
    hash = hash.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash ^= hash >> 27;
    hash = hash.wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ hash >> 31
}

/// Converts 32 uniform bits to a number below `n`.
pub(crate) fn uniform_below(bits: u32, n: u64) -> u64 {
    ((u128::from(bits) * u128::from(n)) >> 32) as u64
}
