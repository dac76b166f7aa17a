//! The sort of a node's arrivals: a bucket sort for nearly uniform keys.

/// Number of keys below which the standard library's sort is used.
const FEW: usize = 24;

/// Maximum number of buckets.
const BUCKETS: usize = 512;

/// Memory of the sort, kept between calls.
pub struct Scratch {
    sorted: Vec<u64>,
    /// The first position of each bucket.
    starts: Box<[u32; BUCKETS]>,
}

impl Scratch {
    /// Creates scratch memory. Its content has no meaning between two calls.
    pub fn new() -> Self {
        Self {
            sorted: Vec::new(),
            starts: Box::new([0; BUCKETS]),
        }
    }
}

/// Sorts keys of at most `bits` bits that are nearly uniformly distributed, as arrival times within
/// a window are. Each bucket is a slice of the window, so few keys remain to be exchanged. Returns true if
/// two keys differ in their lowest `low_bits` bits only.
pub fn sort_uniform_keys(
    keys: &mut Vec<u64>,
    Scratch {
        sorted: scratch,
        starts,
    }: &mut Scratch,
    bits: u32,
    low_bits: u32,
) -> bool {
    let low = (1 << low_bits) - 1;
    if keys.len() < FEW {
        keys.sort_unstable();
        return keys.windows(2).any(|pair| pair[1] <= pair[0] | low);
    }
    let buckets = keys.len().next_power_of_two().min(BUCKETS);
    let starts = &mut starts[..buckets];
    starts.fill(0);
    let shift = bits.saturating_sub(buckets.trailing_zeros());
    let bucket = |key: u64| (key >> shift) as usize & (buckets - 1);
    for &key in &*keys {
        starts[bucket(key)] += 1;
    }
    let mut sum = 0;
    for start in starts.iter_mut() {
        sum += std::mem::replace(start, sum);
    }
    scratch.resize(keys.len(), 0);
    for &key in &*keys {
        let to = &mut starts[bucket(key)];
        scratch[*to as usize] = key;
        *to += 1;
    }
    // The highest key so far, with all low bits set.
    let mut highest = scratch[0] | low;
    let mut any_close = false;
    for i in 1..scratch.len() {
        let key = scratch[i];
        if key > highest {
            highest = key | low;
        } else {
            any_close |= insert_last(&mut scratch[..=i], low);
        }
    }
    std::mem::swap(keys, scratch);
    any_close
}

/// Moves the last key to its position among the other keys, which are sorted. Returns true if it differs from
/// a neighbour in the bits of `low` only.
#[inline(never)]
fn insert_last(keys: &mut [u64], low: u64) -> bool {
    let last = keys.len() - 1;
    let key = keys[last];
    let mut hole = last;
    while hole > 0 && keys[hole - 1] > key {
        keys[hole] = keys[hole - 1];
        hole -= 1;
    }
    keys[hole] = key;
    let is_close = |other: Option<&u64>| other.is_some_and(|&other| other ^ key <= low);
    is_close(keys.get(hole + 1)) || hole > 0 && is_close(keys.get(hole - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts(bits in 1_u32..45, low in 0_u32..30, keys in prop::collection::vec(any::<u64>(), 0..700)) {
            let mut keys: Vec<u64> = keys.into_iter().map(|k| k & ((1 << bits) - 1)).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            let mut scratch = Scratch::new();
            scratch.sorted = vec![7; 3];
            scratch.starts.fill(5);
            let any_close = sort_uniform_keys(&mut keys, &mut scratch, bits, low);
            prop_assert_eq!(any_close, expected.windows(2).any(|pair| pair[0] >> low == pair[1] >> low));
            prop_assert_eq!(keys, expected);
        }
    }
}
