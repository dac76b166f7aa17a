//! Hosts: what all transports of a host share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Size, SpecError, Time};

/// Bytes that a card may hold.
const NIC_LIMITS: std::ops::RangeInclusive<u64> = 1..=1 << 30;

/// Longer than any host takes to send a packet.
const MAX_JITTER: Time = Time::from_ms(1);

/// Longer than any card delays an interrupt.
const MAX_GRO: Time = Time::from_ms(1);

/// What hosts do apart from their transports. Fields that are left out are as in the profile of the
/// transports; if transports have different profiles, as in `linux`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// A packet that finds its host's port idle is sent after a random time, uniform up to this, because a
    /// host's processing time varies. Packets keep their order. Profile `linux`: 500ns; `amp-2019`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Time>,
    /// How a host's sockets share its port. `switch`: they send into a queue like a switch's, which marks and
    /// drops. `fq`: nothing is marked or dropped, and sockets wait while the port is full; waiting sockets
    /// send two packets each in turn. `fifo`: likewise, but the socket that has waited longest sends all its
    /// data first. Profile `linux`: `fq`, or `switch` if `queues.host` is stated; `amp-2019`: `switch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<Nic>,
    /// How much of its host's data a port holds before sockets wait, unless `nic` is `switch`. It corresponds
    /// to Linux's byte queue limits. 16KB in all profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic_limit: Option<Size>,
    /// TCP segmentation offload: a subflow hands its card bursts of up to 64 KB, and waits until a third of its
    /// window is free (Linux's `tcp_tso_should_defer`). Off in all profiles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tso: bool,
    /// Generic receive offload: a receiver merges segments of a subflow, up to 64 KB, if each arrives within this
    /// time of the one before, and acknowledges them once. `0s` in all profiles: none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gro: Time,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(time: &Time) -> bool {
    time.0 == 0
}

/// How a host's sockets share its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Nic {
    /// They send as their windows allow, into a queue like a switch's, which marks and drops.
    Switch,
    /// Nothing is marked or dropped: a socket waits while the port is full. Waiting sockets send two packets
    /// each in turn, as under Linux's fq.
    Fq,
    /// The same, but the socket that has waited longest sends all its data first.
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
        if self.gro > MAX_GRO {
            let allowed = format!("0s to {MAX_GRO}");
            return Err(SpecError::new("gro", self.gro.to_string(), allowed));
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
