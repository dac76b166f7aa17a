//! Parameters of algorithms: numbers, each a named field with its type, its default, its allowed values and
//! one line about it. The registry, and so the schema, the Python models and the daemon's configuration, take
//! them from the field.

use std::fmt;

/// Declares a file's `Parameters`: a line about each field, then `name: type = default, allowed;`.
///
/// A `u32` goes with [`ParameterRange::Integer`], a `bool` with [`ParameterRange::Bool`] and a default of `0.0` or `1.0`.
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
            pub(crate) fn from_lookup(value: impl Fn(&str) -> f64) -> Self {
                let _ = &value;
                Self { $($field: $crate::parameters::Value::from_number(value(stringify!($field))),)* }
            }
        }

        impl Default for Parameters {
            fn default() -> Self {
                Self { $($field: $crate::parameters::Value::from_number($default),)* }
            }
        }
    };
}
pub(crate) use parameters;

/// A field's type.
pub(crate) trait Value {
    /// From the number that a spec gives.
    fn from_number(number: f64) -> Self;
}

impl Value for f64 {
    fn from_number(number: f64) -> Self {
        number
    }
}

impl Value for u32 {
    fn from_number(number: f64) -> Self {
        number as u32
    }
}

impl Value for bool {
    fn from_number(number: f64) -> Self {
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
    pub allowed: ParameterRange,
    /// One line: what it does, its unit, its source.
    pub about: &'static str,
}

/// The values a parameter may have, bounds included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterRange {
    /// Any number between the two.
    Float(f64, f64),
    /// A whole number between the two.
    Integer(u32, u32),
    /// 0 switches off what the number is for; otherwise any number between the two.
    ZeroOrFloat(f64, f64),
    /// 0 (no) or 1 (yes).
    Bool,
}

impl ParameterRange {
    /// The least allowed value.
    pub fn min(self) -> f64 {
        match self {
            Self::Float(min, _) => min,
            Self::Integer(min, _) => f64::from(min),
            Self::ZeroOrFloat(..) | Self::Bool => 0.0,
        }
    }

    /// The greatest allowed value.
    pub fn max(self) -> f64 {
        match self {
            Self::Float(_, max) | Self::ZeroOrFloat(_, max) => max,
            Self::Integer(_, max) => f64::from(max),
            Self::Bool => 1.0,
        }
    }

    /// Is `value` allowed? NaN and infinities never are.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Self::Float(min, max) => (min..=max).contains(&value),
            Self::Integer(min, max) => {
                (f64::from(min)..=f64::from(max)).contains(&value) && value.fract() == 0.0
            }
            Self::ZeroOrFloat(min, max) => value == 0.0 || (min..=max).contains(&value),
            Self::Bool => value == 0.0 || value == 1.0,
        }
    }
}

impl fmt::Display for ParameterRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(min, max) => write!(f, "a number from {min} to {max}"),
            Self::Integer(min, max) => write!(f, "a whole number from {min} to {max}"),
            Self::ZeroOrFloat(min, max) => write!(f, "0 or a number from {min} to {max}"),
            Self::Bool => write!(f, "0 or 1"),
        }
    }
}
