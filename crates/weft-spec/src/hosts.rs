//! Hosts: what all transports of a host share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SpecError, Time};

/// Longer than any host takes to send a packet.
const MAX_JITTER: Time = Time::from_ms(1);

/// What hosts do beside their transports. What is left out is as in the profile of all transports; where they have different
/// ones, as in `linux`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// A packet that finds its host's port idle is sent after a random time, uniform up to this: what a host takes to process a
    /// packet is never quite the same. Packets keep their order. Profile `linux`: 500ns; `amp-2019`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
}

impl Hosts {
    /// Are all settings within their ranges?
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn check(&self) -> Result<(), SpecError> {
        match self.jitter {
            Some(jitter) if jitter > MAX_JITTER => Err(SpecError::new(
                "jitter",
                jitter.to_string(),
                format!("0s to {MAX_JITTER}"),
            )),
            _ => Ok(()),
        }
    }

    /// Is nothing stated?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
