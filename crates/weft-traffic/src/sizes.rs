//! Sizes of flows: a constant, or a distribution.

use std::fmt;
use std::sync::Arc;

use rand::RngExt;
use rand_distr::{Distribution, Exp, Pareto};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::{JsonSchema, json_schema};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Table;
use weft_spec::{Entry, Parsed, Size, SpecError, entries, find, inline_schema, refuse, to_table};

use crate::empirical::Empirical;

/// All distributions of sizes.
pub const SIZES: &[Entry<dyn SizeSampler>] = entries! {
    "constant" => Constant.check, "one size";
    "uniform" => Uniform.check, "every whole number of bytes between two sizes equally likely";
    "exponential" => Exponential.check, "exponential with a given mean";
    "pareto" => BoundedPareto.check, "Pareto with a given shape and mean, with or without an upper bound";
    "empirical" => Empirical.check, "a cumulative distribution: a workload by name, a file, or points";
};

/// Maximum size in bytes, because a connection cannot number more data. Larger draws, from
/// distributions without an upper bound, count as this size.
pub(crate) const MAX_SIZE: f64 = 1e12;

/// A distribution of sizes with its fields set.
pub trait SizeSampler: Send + Sync + fmt::Debug {
    /// Checks the fields, and derives others from them.
    ///
    /// # Errors
    /// Returns an error for a field that is out of range, with its path.
    fn check(&mut self) -> Result<(), SpecError>;
    /// Returns the mean in bytes; infinite if there is none.
    fn mean(&self) -> f64;
    /// Returns a random size in bytes, which may have a fraction.
    fn sample(&self, rng: &mut Xoshiro256PlusPlus) -> f64;
}

/// A flow's size in a spec: a size such as "128KB", or a table with the kind of a distribution and
/// its fields.
#[derive(Clone, Debug)]
pub struct SizeDistribution {
    kind: &'static str,
    /// All fields, defaults filled in.
    params: Table,
    sampler: Arc<dyn SizeSampler>,
}

impl SizeDistribution {
    /// Creates the distribution of this kind.
    ///
    /// # Errors
    /// Returns an error if there is no such kind or a field is wrong; its path is relative to the
    /// table.
    pub fn new(kind: &str, params: &Table) -> Result<Self, SpecError> {
        let entry = find(SIZES, "kind", kind)?;
        let Parsed { params, value } =
            (entry.parse)(params).map_err(|error| error.with_known_fields(&["kind"]))?;
        Ok(Self {
            kind: entry.name,
            params,
            sampler: Arc::from(value),
        })
    }

    /// Returns a random size in whole bytes, at least 1 B and at most 1 TB.
    pub fn sample(&self, rng: &mut Xoshiro256PlusPlus) -> Size {
        Size(self.sampler.sample(rng).round().clamp(1.0, MAX_SIZE) as u64)
    }

    /// Returns the mean in bytes; infinite if there is none.
    pub fn mean(&self) -> f64 {
        self.sampler.mean()
    }
}

impl PartialEq for SizeDistribution {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.params) == (other.kind, &other.params)
    }
}

/// One size for all flows.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Constant {
    /// Size of every flow.
    size: Size,
}

impl SizeSampler for Constant {
    fn check(&mut self) -> Result<(), SpecError> {
        in_range("size", self.size)
    }
    fn mean(&self) -> f64 {
        self.size.0 as f64
    }
    fn sample(&self, _: &mut Xoshiro256PlusPlus) -> f64 {
        self.mean()
    }
}

/// Uniform distribution between two sizes, both included.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Uniform {
    /// Smallest size.
    min: Size,
    /// Largest size.
    max: Size,
}

impl SizeSampler for Uniform {
    fn check(&mut self) -> Result<(), SpecError> {
        in_range("min", self.min)?;
        in_range("max", self.max)?;
        if self.max < self.min {
            let allowed = format!("at least min, {}", self.min);
            return refuse("max", self.max, allowed);
        }
        Ok(())
    }
    fn mean(&self) -> f64 {
        f64::midpoint(self.min.0 as f64, self.max.0 as f64)
    }
    fn sample(&self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        rng.random_range(self.min.0..=self.max.0) as f64
    }
}

/// Exponential distribution; draws above 1 TB count as 1 TB.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Exponential {
    /// Mean size.
    mean: Size,
}

impl SizeSampler for Exponential {
    fn check(&mut self) -> Result<(), SpecError> {
        in_range("mean", self.mean)
    }
    fn mean(&self) -> f64 {
        self.mean.0 as f64
    }
    fn sample(&self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        // The mean is above 0, so the rate is a positive number.
        Exp::new(1.0 / self.mean()).map_or(0.0, |exp| exp.sample(rng))
    }
}

/// Pareto distribution: P(X > x) = (L / x)^shape from L on, truncated at an upper bound if there is
/// one. L follows from the mean. Draws above 1 TB count as 1 TB.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BoundedPareto {
    /// Exponent of the tail. Without an upper bound it must be above 1, or the mean would be
    /// infinite.
    #[schemars(range(min = 0.01, max = 100.0))]
    shape: f64,
    /// Mean size, with the upper bound taken into account.
    mean: Size,
    /// Upper bound; by default none.
    max: Option<Size>,
    /// The lower bound L in bytes.
    #[serde(skip)]
    min: f64,
}

impl SizeSampler for BoundedPareto {
    fn check(&mut self) -> Result<(), SpecError> {
        in_range("mean", self.mean)?;
        if let Some(max) = self.max {
            in_range("max", max)?;
        }
        let (a, mean) = (self.shape, self.mean.0 as f64);
        self.min = match self.max {
            None if a <= 1.0 => {
                let given = format!("{a} without max has an infinite mean");
                return refuse("shape", given, "a number above 1");
            }
            None => mean * (a - 1.0) / a,
            Some(max) if max <= self.mean => {
                let allowed = format!("a size above the mean, {}", self.mean);
                return refuse("max", max, allowed);
            }
            Some(max) => {
                // The mean rises from 0 to `max` with the lower bound.
                let (mut low, mut high) = (0.0, mean);
                for _ in 0..200 {
                    let middle = f64::midpoint(low, high);
                    if bounded_mean(a, middle, max.0 as f64) < mean {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                high
            }
        };
        Ok(())
    }
    fn mean(&self) -> f64 {
        self.mean.0 as f64
    }
    fn sample(&self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        match self.max {
            None => Pareto::new(self.min, self.shape).map_or(0.0, |pareto| pareto.sample(rng)),
            Some(max) => {
                let u: f64 = rng.random();
                let beyond = (self.min / max.0 as f64).powf(self.shape);
                self.min * (1.0 - u * (1.0 - beyond)).powf(-1.0 / self.shape)
            }
        }
    }
}

/// Returns the mean of the Pareto distribution with exponent `a`, bounded to `min..max`.
fn bounded_mean(a: f64, min: f64, max: f64) -> f64 {
    let ratio = min / max;
    if (a - 1.0).abs() < 1e-9 {
        min * -ratio.ln() / (1.0 - ratio)
    } else {
        a / (a - 1.0) * min * (1.0 - ratio.powf(a - 1.0)) / (1.0 - ratio.powf(a))
    }
}

fn in_range(field: &str, size: Size) -> Result<(), SpecError> {
    size.above_zero(field)?;
    if size.0 as f64 > MAX_SIZE {
        return refuse(field, size, "at most 1TB");
    }
    Ok(())
}

impl Serialize for SizeDistribution {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.kind == "constant" {
            return self.params["size"].serialize(to);
        }
        let mut table = Table::from_iter([("kind".to_owned(), self.kind.into())]);
        table.extend(self.params.clone());
        table.serialize(to)
    }
}

impl<'de> Deserialize<'de> for SizeDistribution {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl<'de> Visitor<'de> for SizeVisitor {
            type Value = SizeDistribution;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a size with a unit, such as \"128KB\", or a table with the kind of a distribution",
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<SizeDistribution, E> {
                let size: Size = text.parse().map_err(E::custom)?;
                if size == Size(0) {
                    return Err(E::custom(SpecError::new("", "0B", "a size above 0")));
                }
                let params = to_table(&Constant { size });
                SizeDistribution::new("constant", &params).map_err(|error| error.to_serde_error())
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<SizeDistribution, E> {
                self.visit_f64(number as f64)
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<SizeDistribution, E> {
                let allowed = format!("{}", &self as &dyn serde::de::Expected);
                Err(E::custom(SpecError::new(
                    "",
                    format!("{number} is a bare number without a unit"),
                    allowed,
                )))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SizeDistribution, A::Error> {
                let mut table = Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                let names: Vec<_> = SIZES.iter().map(|entry| format!("{:?}", entry.name)).collect();
                match table.remove("kind") {
                    Some(toml::Value::String(kind)) => {
                        SizeDistribution::new(&kind, &table).map_err(|error| error.to_serde_error())
                    }
                    Some(other) => {
                        Err(SpecError::new("kind", other.to_string(), names.join(", ")).to_serde_error())
                    }
                    None => {
                        let remedy = format!("add it: {}", names.join(", "));
                        Err(SpecError::conflict("kind", "required field is missing", remedy).to_serde_error())
                    }
                }
            }
        }
        from.deserialize_any(SizeVisitor)
    }
}

inline_schema!(SizeDistribution, |generator| {
    let mut choices = vec![Size::json_schema(generator).to_value()];
    for entry in SIZES {
        let mut schema = (entry.schema)(generator).to_value();
        schema["properties"]["kind"] =
            serde_json::json!({ "description": entry.about, "type": "string", "const": entry.name });
        let mut required = vec![serde_json::Value::from("kind")];
        required.extend(schema["required"].as_array().cloned().unwrap_or_default());
        schema["required"] = required.into();
        let name = entry.name[..1].to_uppercase() + &entry.name[1..] + "Size";
        choices.push(serde_json::json!({ "$ref": format!("#/$defs/{name}") }));
        generator.definitions_mut().insert(name, schema);
    }
    json_schema!({ "anyOf": choices })
});
