//! Selects the subflow with the lowest key, as Linux's `mptcp_subflow_get_send` does with
//! `linger_time`. Keys are stored, and recomputed only if they may have changed.

/// The rank of a subflow for the next burst; the lowest key gets it. A key is the time after which
/// the subflow would have sent all its queued data (`linger_time`). It is larger for backup subflows than for others,
/// and largest for subflows to which no data may be assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64);

/// The bit of keys of backup subflows.
const BACKUP: u64 = 1 << 63;

impl Key {
    /// The key of a subflow to which no data may be assigned.
    pub const INELIGIBLE: Self = Self(u64::MAX);

    /// Creates the key of a subflow that would have sent everything after `linger`, in any unit,
    /// which is not negative.
    #[inline(always)]
    pub fn eligible(linger: f64, is_backup: bool) -> Self {
        // Numbers that are not negative are in the order of their bits.
        Self(linger.to_bits() | if is_backup { BACKUP } else { 0 })
    }
}

/// The keys of subflows, and the first subflow with the lowest one. The user recomputes
/// [stale](Self::take_stale) keys before asking for the [best](Self::best) subflow.
pub struct BestOf {
    /// Keys by subflow.
    keys: Box<[Key]>,
    /// Bit `s` is set if the key of subflow `s` may have changed since it was computed.
    stale: u64,
    /// The first subflow with the lowest key, unless `best_grew`.
    best: usize,
    /// True if the key of `best` has grown since it was chosen, so that the lowest key must be
    /// determined.
    best_grew: bool,
}

impl BestOf {
    /// Creates stale keys of this many subflows, 1 to 64.
    pub fn new(subflows: u32) -> Self {
        Self {
            keys: vec![Key::INELIGIBLE; subflows as usize].into(),
            stale: full_mask(subflows),
            best: 0,
            best_grew: false,
        }
    }

    /// Marks the keys of these subflows as stale, one bit each.
    #[inline(always)]
    pub fn invalidate(&mut self, subflows: u64) {
        self.stale |= subflows;
    }

    /// Marks all keys as stale.
    pub fn invalidate_all(&mut self) {
        self.stale = full_mask(self.keys.len() as u32);
    }

    /// Returns the subflows with stale keys, one bit each.
    #[inline(always)]
    pub fn stale(&self) -> u64 {
        self.stale
    }

    /// Takes the first subflow with a stale key, whose key the caller updates.
    #[inline(always)]
    pub fn take_stale(&mut self) -> Option<usize> {
        if self.stale == 0 {
            return None;
        }
        let s = self.stale.trailing_zeros() as usize;
        self.stale &= self.stale - 1;
        Some(s)
    }

    /// Updates the key of subflow `s`.
    #[inline(always)]
    pub fn update(&mut self, s: usize, key: Key) {
        let before = std::mem::replace(&mut self.keys[s], key);
        if s == self.best {
            self.best_grew |= key > before;
        } else {
            let lowest = self.keys[self.best];
            if key < lowest || key == lowest && s < self.best {
                self.best = s;
            }
        }
    }

    /// Returns the first subflow with the lowest key; `None` if no data may be assigned to any. No
    /// key may be stale.
    #[inline(always)]
    pub fn best(&mut self) -> Option<usize> {
        debug_assert_eq!(self.stale, 0);
        if self.best_grew {
            self.best_grew = false;
            let mut lowest = Key::INELIGIBLE;
            for (s, &key) in self.keys.iter().enumerate() {
                if key < lowest {
                    (self.best, lowest) = (s, key);
                }
            }
        }
        (self.keys[self.best] != Key::INELIGIBLE).then_some(self.best)
    }

    /// Returns true if the key of subflow `s` is this one.
    pub fn has(&self, s: usize, key: Key) -> bool {
        self.keys[s] == key
    }
}

/// Returns a mask with a bit set for each of `subflows` subflows, 1 to 64.
pub fn full_mask(subflows: u32) -> u64 {
    u64::MAX >> (64 - subflows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first subflow with the lowest key, by sorting.
    fn sorted(keys: &[Key]) -> Option<usize> {
        let eligible = (0..keys.len()).filter(|&s| keys[s] != Key::INELIGIBLE);
        eligible.min_by_key(|&s| (keys[s], s))
    }

    #[test]
    fn keys_are_in_the_order_of_lingers_and_backups_come_last() {
        let keys = [
            Key::eligible(0.0, false),
            Key::eligible(1e-9, false),
            Key::eligible(2.5, false),
            Key::eligible(f64::INFINITY, false),
            Key::eligible(0.0, true),
            Key::eligible(2.5, true),
            Key::INELIGIBLE,
        ];
        assert!(keys.is_sorted() && keys.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_best_is_the_first_with_the_lowest_key_after_any_updates() {
        let mut best_of = BestOf::new(5);
        let mut keys = [Key::INELIGIBLE; 5];
        while best_of.take_stale().is_some() {}
        assert_eq!(best_of.best(), None);
        let mut state = 1_u64;
        for step in 0..2_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
            let (s, linger) = ((state >> 40) as usize % 5, (state >> 50) % 4);
            keys[s] = match linger {
                3 => Key::INELIGIBLE,
                linger => Key::eligible(linger as f64, state >> 33 & 1 == 1),
            };
            best_of.invalidate(1 << s);
            assert_eq!(best_of.take_stale(), Some(s));
            best_of.update(s, keys[s]);
            if state >> 34 & 1 == 1 {
                assert_eq!(best_of.best(), sorted(&keys), "step {step}");
            }
        }
        best_of.invalidate_all();
        assert_eq!(best_of.stale(), 0b1_1111);
    }
}
