//! A set of subflows of a connection, one bit each.

/// A set of subflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubflowMask(u64);

impl SubflowMask {
    /// Returns true if the set contains subflow `s`.
    pub fn contains(self, s: u32) -> bool {
        self.0 >> s & 1 == 1
    }

    /// Returns true if the set has no subflow.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds subflow `s`.
    pub fn insert(&mut self, s: u32) {
        self.0 |= 1 << s;
    }

    /// Returns the union of both sets.
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if a subflow is in both sets.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl FromIterator<u32> for SubflowMask {
    fn from_iter<I: IntoIterator<Item = u32>>(subflows: I) -> Self {
        let mut mask = Self::default();
        subflows.into_iter().for_each(|s| mask.insert(s));
        mask
    }
}
