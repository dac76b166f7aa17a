//! How a number with a unit is read and written, exactly: in integers, never through a float.

use crate::SpecError;

/// A kind of quantity and its units.
pub(crate) struct Dimension {
    /// In words, with its article.
    pub name: &'static str,
    /// Units and what they are worth in the base unit (the one worth 1); the first `display_units`, largest first, are written.
    pub units: &'static [(&'static str, u64)],
    /// How many of `units` Display uses.
    pub display_units: usize,
    /// Least value in the base unit.
    pub min: u64,
    /// Greatest value in the base unit.
    pub max: u64,
    /// For messages and the schema.
    pub examples: &'static [&'static str],
}

impl Dimension {
    /// Reads digits, perhaps a fraction, perhaps spaces, and a unit.
    ///
    /// # Errors
    /// Without a path: no unit, a wrong one, negative, too small, too large, finer than the base unit, no number at all.
    pub fn parse(&self, text: &str) -> Result<u64, SpecError> {
        let refuse = |why: &str| Err(SpecError::new("", format!("{text:?} {why}"), self.allowed()));
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
        let Some(&(_, worth)) = self.units.iter().find(|(name, _)| *name == unit) else {
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

    /// What is allowed, in words.
    pub fn allowed(&self) -> String {
        let units: Vec<_> = self.units.iter().map(|(name, _)| *name).collect();
        format!(
            "{} with a unit, such as {:?} (units: {})",
            self.name,
            self.examples[0],
            units.join(", ")
        )
    }

    /// A regular expression (ECMA 262) of the strings that [`Dimension::parse`] understands.
    pub fn pattern(&self) -> String {
        let units: Vec<_> = self.units.iter().map(|(name, _)| *name).collect();
        format!(r"^[0-9]+(\.[0-9]+)? *({})$", units.join("|"))
    }
}

/// `0.FRACTION * worth` if that is whole. Beyond 24 decimals no product with a unit below 2^47 stays within 128 bits.
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

/// `value` in the unit that needs the fewest digits without a fraction.
pub(crate) fn format_quantity(value: u64, dimension: &Dimension) -> String {
    let shown = &dimension.units[..dimension.display_units];
    if value == 0 {
        // "0s", "0B": of the units worth writing the shortest and, among equals, the first.
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

/// Serde and JSON Schema of a quantity as a string with a unit.
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

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": $dimension.pattern(),
                    "examples": $dimension.examples,
                })
            }
        }
    };
}
pub(crate) use impl_quantity_serde;

/// Visits a quantity, so that anything other than a string gets a helpful error.
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
