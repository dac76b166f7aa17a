//! Hosts: what all transports of a host share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Size, SpecError, Time};

/// Bytes that a card may hold.
const NIC_LIMITS: std::ops::RangeInclusive<u64> = 1..=1 << 30;

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
    /// How a host's sockets share its port. Profile `linux`: `fq`, but `switch` where `queues.host` says what such a queue does;
    /// `amp-2019`: `switch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<Nic>,
    /// What a port takes of its host's data before sockets wait for it, unless `nic` is `switch`: about what the card holds
    /// (Linux's byte queue limits). 16KB in all profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic_limit: Option<Size>,
}

/// How a host's sockets share its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Nic {
    /// They send as their windows allow into a queue like a switch's, which marks and drops.
    Switch,
    /// Nothing is marked or dropped: a socket waits while the port is full. Those that wait send two packets each in turn, as under Linux'
    /// fq.
    Fq,
    /// The same, but whoever began to wait first sends all that it has first.
    Fifo,
}

impl Hosts {
    /// Are all settings within their ranges?
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn check(&self) -> Result<(), SpecError> {
        if let Some(jitter) = self.jitter.filter(|&jitter| jitter > MAX_JITTER) {
            let allowed = format!("0s to {MAX_JITTER}");
            return Err(SpecError::new("jitter", jitter.to_string(), allowed));
        }
        if let Some(limit) = self.nic_limit.filter(|limit| !NIC_LIMITS.contains(&limit.0)) {
            let [least, most] = [NIC_LIMITS.start(), NIC_LIMITS.end()].map(|&bytes| Size(bytes));
            let allowed = format!("{least} to {most}");
            return Err(SpecError::new("nic_limit", limit.to_string(), allowed));
        }
        Ok(())
    }

    /// Is nothing stated?
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
