//! Exact reading and writing of numbers with units: in integers, never through a float.

use crate::{SpecError, refuse};

/// A kind of quantity and its units.
pub(crate) struct Dimension {
    /// Name in words, with its article.
    pub name: &'static str,
    /// Units and their values in the base unit (the one with value 1). The first `display_units`,
    /// largest first, are used for output.
    pub units: &'static [(&'static str, u64)],
    /// Number of `units` that Display uses.
    pub display_units: usize,
    /// Other spellings of units, which are accepted as input only.
    pub spellings: &'static [(&'static str, u64)],
    /// Minimum in the base unit.
    pub min: u64,
    /// Maximum in the base unit.
    pub max: u64,
    /// Examples for messages and the schema.
    pub examples: &'static [&'static str],
}

impl Dimension {
    /// Reads digits with an optional fraction, optional spaces, and a unit.
    ///
    /// # Errors
    /// Returns an error, without a path, if the text is not a number or its unit is missing or
    /// unknown. The value must not be negative, too small, too large, or finer than the base unit.
    pub fn parse(&self, text: &str) -> Result<u64, SpecError> {
        let refuse = |why: &str| refuse("", format!("{text:?} {why}"), self.allowed());
        let trimmed = text.trim();
        let (negative, rest) = match trimmed.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, trimmed),
        };
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let (number, unit) = (&rest[..end], rest[end..].trim_start());
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
            return refuse(&format!("is not {}", self.name));
        }
        if unit.is_empty() {
            return refuse("is a bare number without a unit");
        }
        // Programs write small numbers so: Python has "2e-06" for 0.000002.
        let after_e = unit.strip_prefix(['e', 'E']).unwrap_or_default();
        if after_e
            .trim_start_matches(['+', '-'])
            .starts_with(|c: char| c.is_ascii_digit())
        {
            return refuse("has an exponent instead of all digits");
        }
        let mut accepted = self.units.iter().chain(self.spellings);
        let Some(&(_, worth)) = accepted.find(|(name, _)| *name == unit) else {
            return refuse(&format!("has the unit {unit:?}"));
        };
        if negative {
            return refuse("is negative");
        }
        let fraction = fraction.trim_end_matches('0');
        let too_large = || format!("is more than {}", format_quantity(self.max, self));
        let whole = match whole.trim_start_matches('0') {
            "" => 0,
            digits => match digits.parse::<u128>() {
                Ok(n) if n <= u128::from(u64::MAX) => n * u128::from(worth),
                _ => return refuse(&too_large()),
            },
        };
        let Some(part) = exact_fraction(fraction, worth) else {
            let (base, _) = self
                .units
                .iter()
                .find(|(_, worth)| *worth == 1)
                .unwrap_or(&("unit", 1));
            return refuse(&format!("is not a whole number of {base}"));
        };
        match u64::try_from(whole + part) {
            Ok(n) if n < self.min => refuse(&format!("is less than {}", format_quantity(self.min, self))),
            Ok(n) if n <= self.max => Ok(n),
            _ => refuse(&too_large()),
        }
    }

    /// Returns a description of the allowed values.
    pub fn allowed(&self) -> String {
        let units: Vec<_> = self.units.iter().map(|(name, _)| *name).collect();
        format!(
            "{} with a unit, such as {:?} (units: {})",
            self.name,
            self.examples[0],
            units.join(", ")
        )
    }

    /// Returns a regular expression (ECMA 262) of the strings that [`Dimension::parse`] accepts.
    pub fn pattern(&self) -> String {
        let accepted = self.units.iter().chain(self.spellings);
        let units: Vec<_> = accepted.map(|(name, _)| *name).collect();
        format!(r"^[0-9]+(\.[0-9]+)? *({})$", units.join("|"))
    }
}

/// Returns `0.FRACTION * worth` if that is a whole number. Beyond 24 decimals no product with a
/// unit below 2^47 stays within 128 bits.
fn exact_fraction(fraction: &str, worth: u64) -> Option<u128> {
    if fraction.is_empty() {
        return Some(0);
    }
    if fraction.len() > 24 {
        return None;
    }
    let product = fraction.parse::<u128>().ok()? * u128::from(worth);
    let power = 10u128.pow(fraction.len() as u32);
    product.is_multiple_of(power).then_some(product / power)
}

/// Returns `value` in the unit that needs the fewest digits without a fraction.
pub(crate) fn format_quantity(value: u64, dimension: &Dimension) -> String {
    let shown = &dimension.units[..dimension.display_units];
    if value == 0 {
        // "0s", "0B": the shortest of the units used for output and, among equals, the first.
        let (name, _) = shown
            .iter()
            .min_by_key(|(name, _)| name.len())
            .unwrap_or(&dimension.units[0]);
        return format!("0{name}");
    }
    shown
        .iter()
        .filter(|(_, worth)| value.is_multiple_of(*worth))
        .map(|(name, worth)| {
            let space = if name.len() > 4 { " " } else { "" }; // a word, not an abbreviation
            format!("{}{space}{name}", value / worth)
        })
        .min_by_key(String::len)
        .unwrap_or_default()
}

/// Implements the JSON Schema of a type that a spec writes as one value. It stands where the type is used.
#[macro_export]
macro_rules! inline_schema {
    ($type:ident, |$generator:pat_param| $schema:expr) => {
        impl ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema($generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $schema
            }
        }
    };
}

/// Implements serde and JSON Schema of a quantity as a string with a unit.
macro_rules! impl_quantity_serde {
    ($type:ident, $dimension:ident) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(crate::quantity::QuantityVisitor(&$dimension, std::marker::PhantomData))
            }
        }

        $crate::inline_schema!($type, |_| schemars::json_schema!({
            "type": "string",
            "pattern": $dimension.pattern(),
            "examples": $dimension.examples,
        }));
    };
}
pub(crate) use impl_quantity_serde;

/// A serde visitor of a quantity, with a helpful error for anything other than a string.
pub(crate) struct QuantityVisitor<T>(pub &'static Dimension, pub std::marker::PhantomData<T>);

impl<T: std::str::FromStr<Err = SpecError>> serde::de::Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.allowed())
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }
    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        Err(E::custom(SpecError::new(
            "",
            format!("{number} is a bare number without a unit"),
            self.0.allowed(),
        )))
    }
}
