//! Quantities with units. In a spec they are strings with a unit ("10Gbps", "2us", "128KB", "100
//! packets").

use std::cmp::Ordering;
use std::{fmt, str::FromStr};

use crate::quantity::{Dimension, format_quantity, impl_quantity_serde};
use crate::{SpecError, refuse};

/// A time or a duration in picoseconds, exact for the serialisation of a byte at every usual rate.
/// The maximum is 213 days; in a spec it is a million seconds, so that a simulator can add several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The maximum time.
    pub const MAX: Time = Time(u64::MAX);
    /// Creates a time of whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Time(ns * 1_000)
    }
    /// Creates a time of whole microseconds.
    pub const fn from_us(us: u64) -> Self {
        Time(us * 1_000_000)
    }
    /// Creates a time of whole milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Time(ms * 1_000_000_000)
    }
    /// Returns the time in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// Checks that the time of a field is above 0.
    ///
    /// # Errors
    /// Returns an error with the path `field` if it is 0.
    pub fn above_zero(self, field: &str) -> Result<(), SpecError> {
        match self.0 {
            0 => refuse(field, "0s", "a time above 0"),
            _ => Ok(()),
        }
    }
}

/// A link rate in bits per second. In a spec it is 10 kbps to 100 Tbps, so that a packet's
/// serialisation time is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A size in bytes, in a spec at most a million TB. KB, MB, GB are powers of 1000; KiB, MiB, GiB of
/// 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl Size {
    /// Checks that the size of a field is above 0.
    ///
    /// # Errors
    /// Returns an error with the path `field` if it is 0.
    pub fn above_zero(self, field: &str) -> Result<(), SpecError> {
        match self.0 {
            0 => refuse(field, "0B", "a size above 0"),
            _ => Ok(()),
        }
    }
}

/// A queue threshold in packets or bytes. Packets and bytes cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSize {
    /// Number of packets of any size.
    Packets(u32),
    /// Number of bytes on the wire.
    Bytes(u64),
}

pub(crate) const TIME: Dimension = Dimension {
    name: "a time",
    // Largest first: Display takes the first that divides. "min" is accepted as input, but "90s"
    // reads better than "1.5min".
    units: &[
        ("s", 1_000_000_000_000),
        ("ms", 1_000_000_000),
        ("us", 1_000_000),
        ("ns", 1_000),
        ("ps", 1),
        ("min", 60_000_000_000_000),
    ],
    display_units: 5,
    // The signs U+00B5 (micro) and U+03BC (the Greek letter), which look alike.
    spellings: &[("\u{b5}s", 1_000_000), ("\u{3bc}s", 1_000_000)],
    min: 0,
    max: 1_000_000_000_000_000_000,
    examples: &["2us", "1.5ms", "20s"],
};

const RATE: Dimension = Dimension {
    name: "a rate",
    units: &[
        ("Tbps", 1_000_000_000_000),
        ("Gbps", 1_000_000_000),
        ("Mbps", 1_000_000),
        ("kbps", 1_000),
        ("bps", 1),
        ("Kbps", 1_000),
    ],
    display_units: 5,
    spellings: &[
        ("Tbit/s", 1_000_000_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000),
        ("kbit/s", 1_000),
        ("bit/s", 1),
    ],
    min: 10_000,
    max: 100_000_000_000_000,
    examples: &["10Gbps", "100Mbps"],
};

const SIZE: Dimension = Dimension {
    name: "a size",
    units: &[
        ("TiB", 1 << 40),
        ("TB", 1_000_000_000_000),
        ("GiB", 1 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("KB", 1_000),
        ("B", 1),
        ("kB", 1_000),
    ],
    display_units: 9,
    spellings: &[],
    min: 0,
    max: 1_000_000_000_000_000_000,
    examples: &["128KB", "64KiB", "1448B"],
};

const PACKETS: Dimension = Dimension {
    name: "a number of packets",
    units: &[("packets", 1), ("packet", 1)],
    display_units: 1,
    spellings: &[],
    min: 0,
    max: u32::MAX as u64,
    examples: &["100 packets"],
};

/// The dimension for messages and the schema only: [`QueueSize::from_str`] reads one of the two
/// above.
const QUEUE_SIZE: Dimension = Dimension {
    name: "packets or bytes",
    units: &[
        ("packets", 1),
        ("packet", 1),
        ("B", 1),
        ("KB", 1),
        ("MB", 1),
        ("GB", 1),
        ("TB", 1),
        ("kB", 1),
        ("KiB", 1),
        ("MiB", 1),
        ("GiB", 1),
        ("TiB", 1),
    ],
    display_units: 0,
    spellings: &[],
    min: 0,
    max: u64::MAX,
    examples: &["100 packets", "150KB"],
};

impl PartialOrd for QueueSize {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Packets(one), Self::Packets(other)) => Some(one.cmp(other)),
            (Self::Bytes(one), Self::Bytes(other)) => Some(one.cmp(other)),
            _ => None,
        }
    }
}

/// Implements the text form of a quantity of one dimension.
macro_rules! impl_quantity {
    ($type:ident, $dimension:ident) => {
        impl FromStr for $type {
            type Err = SpecError;
            fn from_str(text: &str) -> Result<Self, SpecError> {
                $dimension.parse(text).map(Self)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&format_quantity(self.0, &$dimension))
            }
        }

        impl_quantity_serde!($type, $dimension);
    };
}

impl_quantity!(Time, TIME);
impl_quantity!(Rate, RATE);
impl_quantity!(Size, SIZE);
impl_quantity_serde!(QueueSize, QUEUE_SIZE);

impl FromStr for QueueSize {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let trimmed = text.trim_end();
        let amount = if trimmed.ends_with("packets") || trimmed.ends_with("packet") {
            PACKETS.parse(text).map(|n| QueueSize::Packets(n as u32))
        } else {
            SIZE.parse(text).map(QueueSize::Bytes)
        };
        // An error of any kind lists both kinds of threshold as allowed.
        amount.map_err(|error| SpecError {
            allowed: QUEUE_SIZE.allowed(),
            ..error
        })
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueSize::Packets(1) => f.write_str("1 packet"),
            QueueSize::Packets(n) => write!(f, "{n} packets"),
            QueueSize::Bytes(n) => Size(*n).fmt(f),
        }
    }
}
