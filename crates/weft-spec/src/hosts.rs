//! Settings of hosts, which all transports of a host share.

use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::QuantityVisitor;
use crate::units::TIME;
use crate::{Size, SpecError, Time, inline_schema, refuse};

/// Allowed numbers of bytes that a NIC accepts.
const BQL_LIMITS: std::ops::RangeInclusive<u64> = 1..=1 << 30;

/// Maximum jitter, longer than any host takes to send a packet.
const MAX_JITTER: Time = Time::from_ms(1);

/// Maximum difference of a clock in parts per million, larger than that of any real clock.
const MAX_CLOCK_PPM: u32 = 1_000;

/// Maximum flush timeout, longer than any NIC delays an interrupt.
const MAX_GRO_FLUSH_TIMEOUT: Time = Time::from_ms(1);

/// Settings of hosts, which all transports of a host share. The defaults are those of the
/// transports' profile, or those of `linux` if transports have different profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Maximum random delay of a packet that finds its host's port idle, uniformly distributed,
    /// because a host's processing time varies. Packets keep their order. `packet` is the time in
    /// which the host's link sends a full packet, but at least 500 ns. Profile `linux`: `packet`;
    /// `amp-2019`: none.
    pub jitter: Option<HostJitter>,
    /// Maximum difference of the clock of a host or a switch, and so of the rates at which it sends, in
    /// parts per million. The difference of each node is drawn at random, uniformly. Profile `linux`:
    /// 100, the tolerance of IEEE 802.3; `amp-2019`: 0.
    #[schemars(range(max = MAX_CLOCK_PPM))]
    pub clock_ppm: Option<u32>,
    /// Queueing discipline of a host's port, that is, how its sockets share the port. `switch`:
    /// sockets send into a queue like a switch's, which marks and drops. `fq`: no packet is marked
    /// or dropped, and sockets wait while the port is full; waiting sockets send two packets each
    /// in turn. `fifo`: as `fq`, but the socket that has waited longest sends all its data first.
    /// Profile `linux`: `fq`, or `switch` if the spec has `queues.host`; `amp-2019`: `switch`.
    pub qdisc: Option<Qdisc>,
    /// Data that a port accepts before sockets wait, unless `qdisc` is `switch`. It corresponds to
    /// Linux's byte queue limits. 16KB in all profiles.
    pub bql_limit: Option<Size>,
    /// Whether TCP segmentation offload is on: a subflow hands its NIC bursts of up to 64 KB, and
    /// waits until a third of its window is free (Linux's `tcp_tso_should_defer`). Off in all
    /// profiles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tso: bool,
    /// Generic receive offload: a receiver merges segments of a subflow, up to 64 KB, if each
    /// arrives within this time after the previous one, and acknowledges them once. All profiles
    /// have `0s`, which turns it off.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gro_flush_timeout: Time,
}

/// Upper bound of the random time that a host takes to send a packet; in a spec a time, or
/// "packet".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostJitter {
    /// The time in which the host's own link sends a full packet.
    Packet,
    /// The same time at every host.
    Time(Time),
}

impl HostJitter {
    const PACKET: &str = "packet";
}

impl Serialize for HostJitter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Packet => to.serialize_str(Self::PACKET),
            Self::Time(time) => time.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for HostJitter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(QuantityVisitor(&TIME, PhantomData))
    }
}

impl FromStr for HostJitter {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text == Self::PACKET {
            return Ok(Self::Packet);
        }
        text.parse().map(Self::Time)
    }
}

inline_schema!(
    HostJitter,
    |generator| json_schema!({ "anyOf": [Time::json_schema(generator), { "const": Self::PACKET }] })
);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(time: &Time) -> bool {
    time.0 == 0
}

/// Queueing discipline of a host's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Qdisc {
    /// Sockets send as their windows allow, into a queue like a switch's, which marks and drops.
    Switch,
    /// No packet is marked or dropped: a socket waits while the port is full. Waiting sockets send
    /// two packets each in turn, as under Linux's fq.
    Fq,
    /// As `Fq`, but the socket that has waited longest sends all its data first.
    Fifo,
}

impl Hosts {
    /// Checks that all settings are within their ranges.
    ///
    /// # Errors
    /// Returns an error for the first field out of its range.
    pub fn check(&self) -> Result<(), SpecError> {
        if let Some(HostJitter::Time(jitter)) = self.jitter
            && jitter > MAX_JITTER
        {
            let allowed = format!("0s to {MAX_JITTER}, or \"packet\"");
            return refuse("jitter", jitter, allowed);
        }
        if self.gro_flush_timeout > MAX_GRO_FLUSH_TIMEOUT {
            let allowed = format!("0s to {MAX_GRO_FLUSH_TIMEOUT}");
            return refuse("gro_flush_timeout", self.gro_flush_timeout, allowed);
        }
        if let Some(limit) = self.bql_limit.filter(|limit| !BQL_LIMITS.contains(&limit.0)) {
            let [least, most] = [BQL_LIMITS.start(), BQL_LIMITS.end()].map(|&bytes| Size(bytes));
            let allowed = format!("{least} to {most}");
            return refuse("bql_limit", limit, allowed);
        }
        Ok(())
    }

    /// Returns true if no field is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
