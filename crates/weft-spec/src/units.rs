//! Quantities with units. In a spec they are strings with a unit ("10Gbps", "2us", "128KB", "100 packets").

/// A time or a duration in picoseconds: exact for the serialisation of a byte at every usual rate, 213 days at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The end of time.
    pub const MAX: Time = Time(u64::MAX);
    /// Whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Time(ns * 1_000)
    }
    /// Whole microseconds.
    pub const fn from_us(us: u64) -> Self {
        Time(us * 1_000_000)
    }
    /// Whole milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Time(ms * 1_000_000_000)
    }
    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }
}

/// A link rate in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A size in bytes. KB, MB, GB are powers of 1000; KiB, MiB, GiB of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A queue threshold: packets or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many packets, whatever their size.
    Packets(u32),
    /// So many bytes on the wire.
    Bytes(u64),
}
