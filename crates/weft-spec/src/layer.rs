//! Settings of layers, the stages of a network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Mark, QueueSize, Rate};

/// The links of one layer in one direction. Fields that are left out are as without the entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Rate of each link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Capacity of the queues at the heads of the links, as in `queues`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueSize>,
    /// Marking threshold K of these queues, as in `queues`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}
