//! The ports at which a flow waits.

/// Ports of a host. Those from the 64th on are one port here, so that a flow waits for one of them at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortSet(u64);

impl PortSet {
    /// No port.
    pub const NONE: Self = Self(0);
    /// All ports.
    pub const ALL: Self = Self(u64::MAX);

    const fn bit(port: u32) -> u64 {
        1 << if port < 63 { port } else { 63 }
    }

    /// Returns true if no port is in the set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if a port is in the set.
    #[inline]
    pub const fn contains(self, port: u32) -> bool {
        self.0 & Self::bit(port) != 0
    }

    /// Returns true if `other` has all ports of this set.
    #[inline]
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Adds a port.
    #[inline]
    pub const fn insert(&mut self, port: u32) {
        self.0 |= Self::bit(port);
    }

    /// Removes a port.
    #[inline]
    pub const fn remove(&mut self, port: u32) {
        self.0 &= !Self::bit(port);
    }
}
