//! Entries of registries by name, with the parameters that differ from their defaults. A spec has either
//! the name, or a table with the name and the parameters.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Table;

/// Name of the kind of queues that a spec has if it names none.
const DEFAULT_QUEUE_KIND: &str = "fifo";

/// Congestion control by name, with the parameters that differ from their defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cc {
    /// Name of the algorithm.
    pub name: String,
    /// Its parameters by name.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, f64>,
}

/// Declares a type of named entries whose parameters the registry knows. `$expecting` describes the name in
/// messages.
macro_rules! named {
    ($(#[$about:meta])* $type:ident, $schema:literal, $expecting:literal) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        #[schemars(rename = $schema)]
        pub struct $type {
            /// Name of the entry.
            pub name: String,
            /// Its parameters.
            #[serde(flatten)]
            #[schemars(with = "BTreeMap<String, serde_json::Value>")]
            pub params: Table,
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let (name, params) = from.deserialize_any(NamedVisitor {
                    expecting: concat!($expecting, ", or a table with name and parameters"),
                    parameters: Table::new(),
                })?;
                Ok(Self { name, params })
            }
        }
    };
}

named!(
    /// A path policy by name, with the parameters that differ from their defaults.
    PathPolicySpec,
    "PathPolicy",
    "the name of a path policy"
);

named!(
    /// A kind of queue by name, with the parameters that differ from their defaults.
    QueueKindSpec,
    "QueueKind",
    "the name of a kind of queue"
);

impl Cc {
    /// Returns true if no congestion control is given.
    pub fn is_absent(&self) -> bool {
        self.name.is_empty() && self.parameters.is_empty()
    }
}

impl QueueKindSpec {
    /// Returns true if this is the default kind.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for QueueKindSpec {
    fn default() -> Self {
        Self {
            name: DEFAULT_QUEUE_KIND.to_owned(),
            params: Table::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Cc {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (name, parameters) = from.deserialize_any(NamedVisitor {
            expecting: "the name of an algorithm, or a table with name and parameters",
            parameters: BTreeMap::new(),
        })?;
        Ok(Self { name, parameters })
    }
}

/// A visitor that reads a name, or a table with the name and parameters.
struct NamedVisitor<P> {
    expecting: &'static str,
    parameters: P,
}

impl<'de, V: Deserialize<'de>, P: Extend<(String, V)> + IntoIterator<Item = (String, V)>> Visitor<'de>
    for NamedVisitor<P>
{
    type Value = (String, P);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok((name.to_owned(), self.parameters))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut name = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "name" {
                name = Some(map.next_value()?);
            } else {
                self.parameters.extend([(key, map.next_value()?)]);
            }
        }
        let name = name.ok_or_else(|| serde::de::Error::missing_field("name"))?;
        Ok((name, self.parameters))
    }
}
