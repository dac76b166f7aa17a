//! The forms of a profile's values in a spec.

/// Serde functions for bytes as a size with a unit.
pub mod bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use crate::Size;

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
