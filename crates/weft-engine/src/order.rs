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
/// a window are. Each bucket is a slice of the window, so few keys remain to be exchanged.
pub fn sort_uniform_keys(
    keys: &mut Vec<u64>,
    Scratch {
        sorted: scratch,
        starts,
    }: &mut Scratch,
    bits: u32,
) {
    if keys.len() < FEW {
        keys.sort_unstable();
        return;
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
    let mut highest = 0;
    for i in 0..scratch.len() {
        let key = scratch[i];
        if key >= highest {
            highest = key;
            continue;
        }
        let mut hole = i;
        while hole > 0 && scratch[hole - 1] > key {
            scratch[hole] = scratch[hole - 1];
            hole -= 1;
        }
        scratch[hole] = key;
    }
    std::mem::swap(keys, scratch);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts(bits in 1_u32..45, keys in prop::collection::vec(any::<u64>(), 0..700)) {
            let mut keys: Vec<u64> = keys.into_iter().map(|k| k & ((1 << bits) - 1)).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            let mut scratch = Scratch::new();
            scratch.sorted = vec![7; 3];
            scratch.starts.fill(5);
            sort_uniform_keys(&mut keys, &mut scratch, bits);
            prop_assert_eq!(keys, expected);
        }
    }
}
