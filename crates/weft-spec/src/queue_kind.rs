//! Kinds of queues, by name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Table;

use crate::experiment::Named;

/// Name of the kind that a spec has if it names none.
const DEFAULT: &str = "fifo";

/// A kind of queue by name, with the parameters that differ from their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "QueueKind")]
pub struct QueueKindSpec {
    /// Name of the kind.
    pub name: String,
    /// Its parameters.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: Table,
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
            name: DEFAULT.to_owned(),
            params: Table::new(),
        }
    }
}

impl<'de> Deserialize<'de> for QueueKindSpec {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (name, params) = from.deserialize_any(Named {
            expecting: "the name of a kind of queue, or a table with name and parameters",
            parameters: Table::new(),
        })?;
        Ok(Self { name, params })
    }
}
