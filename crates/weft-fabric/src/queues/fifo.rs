//! A FIFO with a limit and a marking threshold.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::QueueParameters;

/// A FIFO that drops above `limit` and marks from `mark` on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fifo {}

impl Fifo {
    pub(crate) const ABOUT: &str = "a FIFO per port with a limit and a marking threshold (default)";
}

impl QueueParameters for Fifo {}
