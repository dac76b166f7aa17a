//! Hashes of events for traces, and of choices that look random but depend only on the seed.

/// Mixes a word into a running hash.
pub fn mix(hash: &mut u64, word: u64) {
    *hash = (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
}

/// Spreads a mixed hash over all 64 bits.
fn finish(mut hash: u64) -> u64 {
    hash ^= hash >> 30;
    hash = hash.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash ^= hash >> 27;
    hash = hash.wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ hash >> 31
}

/// Returns the time, from 0 to `max`, that node `node` takes to process the `n`-th packet of a
/// port.
pub fn processing_time(seed: u64, node: u32, n: u64, max: u64) -> u64 {
    let mut hash = seed;
    mix(&mut hash, u64::from(node) << 32 | 0x7072_6F63);
    mix(&mut hash, n);
    ((u128::from(finish(hash)) * (u128::from(max) + 1)) >> 64) as u64
}

/// Returns the offset of node `node`'s clock, uniform from `-max` to `max`.
pub fn clock_offset(seed: u64, node: u32, max: u32) -> i64 {
    let mut hash = seed;
    mix(&mut hash, u64::from(node) << 32 | 0x636C_636B);
    let range = 2 * u128::from(max) + 1;
    ((u128::from(finish(hash)) * range) >> 64) as i64 - i64::from(max)
}

/// The stream of random numbers of the queue that feeds `link`.
pub fn queue_stream(seed: u64, link: u32) -> u64 {
    let mut hash = seed;
    mix(&mut hash, u64::from(link) << 32 | 0x7175_6575);
    hash
}

/// The stream of random numbers of the losses of `link`.
pub fn loss_stream(seed: u64, link: u32) -> u64 {
    let mut hash = seed;
    mix(&mut hash, u64::from(link) << 32 | 0x6C6F_7373);
    hash
}

/// The `n`-th number of a stream, uniform from 0 up to, but excluding, 1.
pub fn uniform(stream: u64, n: u64) -> f64 {
    let mut hash = stream;
    mix(&mut hash, n);
    (finish(hash) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The part of [`tie_rank`] that depends on the seed and on the link's number in the fabric.
pub fn link_hash(seed: u64, link: u32) -> u64 {
    let mut hash = seed;
    mix(&mut hash, link.into());
    hash
}

/// The rank of a link at `time`. Of the packets that reach a node at the same time over different
/// links, the one over the link of the lowest rank is processed first.
pub fn tie_rank(link_hash: u64, time: u64) -> u64 {
    let mut hash = link_hash;
    mix(&mut hash, time);
    finish(hash)
}
