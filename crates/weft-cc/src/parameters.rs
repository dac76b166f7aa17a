//! Parameters of algorithms: numbers, each a named field with its type, its default, its allowed values and
//! one line about it. The registry, and so the schema, the Python models and the daemon's configuration, take
//! them from the field.

use std::fmt;

/// Declares a file's `Parameters`: a line about each field, then `name: type = default, allowed;`.
///
/// A `u32` goes with [`Allowed::Whole`], a `bool` with [`Allowed::Switch`] and a default of `0.0` or `1.0`.
macro_rules! parameters {
    ($(#[doc = $about:literal] $field:ident: $kind:ty = $default:expr, $allowed:expr;)*) => {
        /// What can be set.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Parameters {
            $(#[doc = $about] pub $field: $kind,)*
        }

        impl Parameters {
            /// What the registry shows of each field, in order.
            pub const ALL: &[$crate::Parameter] = &[$($crate::Parameter {
                name: stringify!($field),
                default: $default,
                allowed: $allowed,
                about: $about.trim_ascii(),
            },)*];

            /// The fields by name.
            pub(crate) fn of(value: impl Fn(&str) -> f64) -> Self {
                let _ = &value;
                Self { $($field: $crate::parameters::Value::of(value(stringify!($field))),)* }
            }
        }

        impl Default for Parameters {
            fn default() -> Self {
                Self { $($field: $crate::parameters::Value::of($default),)* }
            }
        }
    };
}
pub(crate) use parameters;

/// A field's type.
pub(crate) trait Value {
    /// From the number that a spec gives.
    fn of(number: f64) -> Self;
}

impl Value for f64 {
    fn of(number: f64) -> Self {
        number
    }
}

impl Value for u32 {
    fn of(number: f64) -> Self {
        number as u32
    }
}

impl Value for bool {
    fn of(number: f64) -> Self {
        number != 0.0
    }
}

/// One number that an algorithm takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// What a spec calls it.
    pub name: &'static str,
    /// Its value where a spec says nothing.
    pub default: f64,
    /// Which values it may have.
    pub allowed: Allowed,
    /// One line: what it does, its unit, its source.
    pub about: &'static str,
}

/// The values a parameter may have, bounds included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowed {
    /// Any number between the two.
    Number(f64, f64),
    /// A whole number between the two.
    Whole(u32, u32),
    /// 0 switches off what the number is for; otherwise any number between the two.
    ZeroOrNumber(f64, f64),
    /// 0 (no) or 1 (yes).
    Switch,
}

impl Allowed {
    /// The least allowed value.
    pub fn min(self) -> f64 {
        match self {
            Self::Number(min, _) => min,
            Self::Whole(min, _) => f64::from(min),
            Self::ZeroOrNumber(..) | Self::Switch => 0.0,
        }
    }

    /// The greatest allowed value.
    pub fn max(self) -> f64 {
        match self {
            Self::Number(_, max) | Self::ZeroOrNumber(_, max) => max,
            Self::Whole(_, max) => f64::from(max),
            Self::Switch => 1.0,
        }
    }

    /// Is `value` allowed? NaN and infinities never are.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Self::Number(min, max) => (min..=max).contains(&value),
            Self::Whole(min, max) => {
                (f64::from(min)..=f64::from(max)).contains(&value) && value.fract() == 0.0
            }
            Self::ZeroOrNumber(min, max) => value == 0.0 || (min..=max).contains(&value),
            Self::Switch => value == 0.0 || value == 1.0,
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(min, max) => write!(f, "a number from {min} to {max}"),
            Self::Whole(min, max) => write!(f, "a whole number from {min} to {max}"),
            Self::ZeroOrNumber(min, max) => write!(f, "0 or a number from {min} to {max}"),
            Self::Switch => write!(f, "0 or 1"),
        }
    }
}
