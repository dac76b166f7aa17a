//! The forms of values in a spec that their types do not have.

use toml::{Table, Value};

/// Returns a function that tells whether the table `name` of `given` has a field.
pub fn given_in<'a>(given: &'a Table, name: &str) -> impl Fn(&str) -> bool + use<'a> {
    let table = given.get(name).and_then(Value::as_table);
    move |field| table.is_some_and(|table| table.contains_key(field))
}

/// Returns true for the value of a field that has no default before the network is known.
pub fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Serde functions for bytes as a size with a unit.
pub mod bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use weft_spec::Size;

    pub fn serialize<N: Copy + Into<u64>, S: Serializer>(bytes: &N, to: S) -> Result<S::Ok, S::Error> {
        Size((*bytes).into()).serialize(to)
    }

    pub fn deserialize<'de, N: TryFrom<u64>, D: Deserializer<'de>>(from: D) -> Result<N, D::Error> {
        let size = Size::deserialize(from)?;
        N::try_from(size.0).map_err(|_| {
            D::Error::custom(format!(
                "{size} is too large; allowed: a size of at most {}B",
                u32::MAX
            ))
        })
    }
}

/// Serde functions for a number of packets, with infinity as "unlimited".
pub mod packets_or_unlimited {
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref)] // The shape that serde's `with` calls.
    pub fn serialize<S: Serializer>(packets: &f64, to: S) -> Result<S::Ok, S::Error> {
        if packets.is_infinite() {
            to.serialize_str("unlimited")
        } else {
            to.serialize_f64(*packets)
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        struct Packets;
        impl Visitor<'_> for Packets {
            type Value = f64;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of packets, or \"unlimited\"")
            }
            fn visit_f64<E: Error>(self, packets: f64) -> Result<f64, E> {
                Ok(packets)
            }
            fn visit_i64<E: Error>(self, packets: i64) -> Result<f64, E> {
                Ok(packets as f64)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
                match text {
                    "unlimited" => Ok(f64::INFINITY),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        from.deserialize_any(Packets)
    }

    pub fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "number", "minimum": 1 }, { "const": "unlimited" }] })
    }
}
