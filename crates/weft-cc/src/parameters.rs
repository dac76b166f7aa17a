//! Parameters of algorithms. Each is a number in a named field with a type, a default, a range and
//! a line of description. The registry takes parameters from the field, and so do the schema, the
//! Python models and the daemon's configuration.

use std::fmt;

/// Declares the `Parameters` of an algorithm: for each field a line of description, then `name:
/// type = default, allowed;`.
///
/// A `u32` needs [`ParameterRange::Integer`], a `bool` needs [`ParameterRange::Bool`] and a default
/// of `0.0` or `1.0`.
macro_rules! parameters {
    ($(#[doc = $about:literal] $field:ident: $kind:ty = $default:expr, $allowed:expr;)*) => {
        /// The parameters of the algorithm.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Parameters {
            $(#[doc = $about] pub $field: $kind,)*
        }

        impl Parameters {
            /// The description of each field in the registry, in order.
            pub const ALL: &[$crate::Parameter] = &[$($crate::Parameter {
                name: stringify!($field),
                default: $default,
                allowed: $allowed,
                about: $about.trim_ascii(),
            },)*];

            /// Creates the parameters from values by name.
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

/// The type of a field.
pub(crate) trait Value {
    /// Converts the number that a spec gives.
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

/// The description of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name in a spec.
    pub name: &'static str,
    /// Value if a spec does not set the parameter.
    pub default: f64,
    /// Range of allowed values.
    pub allowed: ParameterRange,
    /// One line: its meaning, its unit, its source.
    pub about: &'static str,
}

/// The values that a parameter may have, bounds included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterRange {
    /// Any number in this range.
    Float(f64, f64),
    /// A whole number in this range.
    Integer(u32, u32),
    /// 0, which switches the feature off, or any number in this range.
    ZeroOrFloat(f64, f64),
    /// 0 (no) or 1 (yes).
    Bool,
}

impl ParameterRange {
    /// Returns the smallest allowed value.
    pub fn min(self) -> f64 {
        match self {
            Self::Float(min, _) => min,
            Self::Integer(min, _) => f64::from(min),
            Self::ZeroOrFloat(..) | Self::Bool => 0.0,
        }
    }

    /// Returns the largest allowed value.
    pub fn max(self) -> f64 {
        match self {
            Self::Float(_, max) | Self::ZeroOrFloat(_, max) => max,
            Self::Integer(_, max) => f64::from(max),
            Self::Bool => 1.0,
        }
    }

    /// Returns true if `value` is allowed. NaN and infinities are never allowed.
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
