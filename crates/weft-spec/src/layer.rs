//! Settings of layers, the stages of a network, and of single links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Mark, QueueKindSpec, QueueSize, Rate};

/// Settings of the links of one layer in one direction, or of a single link. A missing field has the
/// value of the topology or of `queues`; that of a single link has the value of its layer, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Rate of each link.
    pub rate: Option<Rate>,
    /// Capacity of the queues that feed the links, as in `queues`.
    pub limit: Option<QueueSize>,
    /// Marking threshold K of these queues, as in `queues`.
    pub mark: Option<Mark>,
    /// Kind of these queues, as `kind` in `queues`.
    pub queue: Option<QueueKindSpec>,
}
