//! Profiles: all settings of a TCP sender and receiver apart from congestion control.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::Table;

use crate::{HostJitter, Hosts, Qdisc, Size, SpecError, Time, from_table, to_table};

/// Maximum size of a packet on the wire, data or ACK: the limit of the length fields of IPv4 and
/// IPv6.
const MAX_WIRE_SIZE: u32 = 65_535;

/// Start of a flow's completion time, which ends when the receiver has the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FctFrom {
    /// The flow's start: the first SYN is sent.
    Open,
    /// The arrival of subflow 0's SYN/ACK.
    Established,
}

/// How a subflow recovers from loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// RFC 6582: cumulative acknowledgements only.
    NewReno,
    /// RFC 6675, with selective acknowledgements (RFC 2018).
    Sack,
    /// RFC 8985, also with selective acknowledgements: a segment or retransmission is lost once a
    /// later one has overtaken it by more than a reordering window.
    Rack,
}

/// The end of a round of DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoundEnd {
    /// Data sent after its start is acknowledged.
    Rfc8257,
    /// All data sent before its start is acknowledged.
    Linux,
}

/// A named set of transport settings. A spec can set each field on its own
/// (`transports.NAME.tcp.FIELD`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// Each switch is a setting of its own with a name of its own; none is a state that excludes
// another.
#[allow(clippy::struct_excessive_bools)]
pub struct Profile {
    /// Payload bytes of a full segment.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub mss: u32,
    /// Header bytes on the wire of a data packet, in addition to its payload.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub header: u32,
    /// Bytes on the wire of a packet without payload: SYN, SYN/ACK, ACK.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub ack_size: u32,
    /// Bytes that each packet, with data or without, takes on the wire in addition to `header` or
    /// `ack_size`. Ethernet has 24B: preamble and start of frame 8, check sequence 4, gap 12 (IEEE
    /// 802.3). Queues limited in bytes and the bytes of links include them.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub framing: u32,
    /// Initial congestion window in packets, at least 1.
    #[schemars(range(min = 1))]
    pub initial_cwnd: f64,
    /// Initial slow-start threshold in packets, at least 1, or "unlimited".
    #[serde(with = "packets_or_unlimited")]
    #[schemars(schema_with = "packets_or_unlimited::schema")]
    pub initial_ssthresh: f64,
    /// Whether the round trip of the handshake is the first RTT sample.
    pub sample_handshake_rtt: bool,
    /// RTO before the first RTT sample (RFC 6298, rule 2.1).
    pub initial_rto: Time,
    /// Minimum of the RTO, or of RTO - SRTT with `min_rto_beyond_srtt`.
    pub min_rto: Time,
    /// If true, `min_rto` is the minimum of RTO - SRTT, as in Linux. If false, it is the minimum of
    /// the RTO itself (RFC 6298, rule 2.4). The difference matters if round trips are as long as
    /// the minimum RTO. It is off in every profile.
    pub min_rto_beyond_srtt: bool,
    /// Maximum of the RTO.
    pub max_rto: Time,
    /// Loss recovery: "newreno" (RFC 6582, the variant in which each partial acknowledgement restarts the
    /// timer), "sack" (RFC 6675) or "rack" (RFC 8985).
    pub recovery: Recovery,
    /// Whether recovery "rack" sends a probe two RTTs after the last acknowledgement, so that a
    /// loss at the tail does not wait for the RTO (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// Additional delay of a tail loss probe and of the reordering timer; in Linux two ticks of its
    /// clock.
    pub timer_slack: Time,
    /// Whether packets of a subflow are paced as under Linux's fq: two windows per round trip in
    /// slow start, 1.2 afterwards, from the eleventh packet on. A rate set by congestion control
    /// applies even if this is off.
    pub pacing: bool,
    /// Whether fast recovery reduces the data in flight gradually instead of by a pause (PRR, RFC
    /// 6937).
    pub prr: bool,
    /// Whether a sender with selective acknowledgements tries new data after a timeout, and undoes
    /// a spurious timeout (F-RTO, RFC 5682).
    pub frto: bool,
    /// Whether packets have timestamps (RFC 7323). With them, acknowledgements of retransmissions
    /// give RTT samples and show which copy they acknowledge, so that a spurious timeout is undone
    /// (RFC 3522).
    pub timestamps: bool,
    /// Number of duplicate acknowledgements that start fast retransmit.
    #[schemars(range(min = 1))]
    pub dupack_threshold: u32,
    /// Whether each of the first duplicate acknowledgements lets the sender send a new segment (RFC
    /// 3042).
    pub limited_transmit: bool,
    /// Number of full segments per acknowledgement; 1 acknowledges each segment.
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// Maximum delay of an acknowledgement.
    pub delayed_ack_timeout: Time,
    /// Number of segments that are acknowledged without delay when a subflow starts, after a pause
    /// of the minimum RTO, and after a duplicate (Linux's quick acknowledgements).
    pub quick_acks: u32,
    /// Whether a segment with PSH is acknowledged as soon as the application has read everything that has
    /// arrived. PSH marks the last segment that a subflow has to send (Linux since 6.6, `ICSK_ACK_PUSHED`).
    /// If this is off, its acknowledgement may be delayed like any other.
    pub ack_pushed: bool,
    /// Whether the window may grow between a cut for a mark and the end of that window.
    pub grow_after_mark: bool,
    /// The end of a round of DCTCP. With "rfc8257", a round ends when data sent after its start is acknowledged
    /// (section 3.3, step 3). With "linux", it ends once all data sent before its start is acknowledged.
    pub round_end: RoundEnd,
    /// Whether rounds and marks still have an effect once all data of a connection has been handed
    /// to subflows.
    pub react_after_last_data: bool,
    /// Whether SYN and SYN/ACK are exempt from drops and marks.
    pub protect_handshake: bool,
    /// Whether the following packets are sent: the last acknowledgement of a subflow's handshake
    /// and, once all data has been handed out, its FIN, FIN/ACK and last acknowledgement. They have
    /// no effect and are not retransmitted, but take space in queues.
    pub full_handshakes: bool,
    /// Number of timeouts of a SYN that do not double the RTO (Linux since 6.5).
    pub syn_linear_timeouts: u32,
    /// Whether joins follow RFC 8684, sections 3.1 and 3.2. They start once data of subflow 0 is
    /// acknowledged. A joined subflow carries data once the last acknowledgement of its own
    /// handshake is acknowledged.
    pub confirmed_joins: bool,
    /// Maximum of the random delay of a join, uniform and counted from when the join may start.
    pub join_delay: Time,
    /// Receive buffer of a connection, at most 2^30 bytes, which its subflows share; it limits the
    /// data in flight at connection level.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub receive_buffer: u64,
    /// Whether a timeout of a subflow sends its outstanding data on the other subflows as well.
    pub reinject: bool,
    /// Whether a connection ends when acknowledgements on any subflows cover its data (RFC 8684,
    /// section 3.3.2). If this is off, it ends when all data of each subflow is acknowledged.
    pub complete_on_data_ack: bool,
    /// Whether new data waits if round-robin reaches a subflow whose SYN/ACK has not arrived. If
    /// this is off, the subflow is skipped.
    pub round_robin_waits_for_join: bool,
    /// Whether to imitate a fault of the simulator of AMP's authors; off in every profile. Data
    /// that arrived out of order on a subflow advances the subflow only when the connection's own
    /// order advances. A retransmission before that is acknowledged as a duplicate, and the subflow
    /// waits for another timeout. It excludes `reinject` and path monitoring, because that
    /// simulator does not send data on two subflows.
    pub stall_on_held_data: bool,
    /// Start of the FCT: when the flow opens and sends its first SYN ("open"), or when subflow 0's
    /// SYN/ACK arrives ("established"). The FCT ends when the receiver has the last byte.
    pub fct_from: FctFrom,
}

/// A profile with its name.
pub struct NamedProfile {
    /// Name in a spec.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Packet scheduler of transports that do not name one.
    pub scheduler: &'static str,
    /// Function that creates the profile.
    pub build: fn() -> Profile,
    /// Settings of hosts with this profile.
    pub hosts: Hosts,
}

/// Bytes that a NIC accepts: about ten full packets.
const BQL_LIMIT: Size = Size(16_000);

/// All profiles, the default first.
pub const PROFILES: &[NamedProfile] = &[
    NamedProfile {
        name: "linux",
        about: "a stock Linux sender and receiver: initial cwnd 10, RACK-TLP, delayed ACKs, minimum RTO 200 ms (default)",
        scheduler: "linux",
        build: Profile::linux,
        hosts: Hosts {
            jitter: Some(HostJitter::Packet),
            clock_ppm: Some(100),
            qdisc: Some(Qdisc::Fq),
            bql_limit: Some(BQL_LIMIT),
            tso: false,
            gro_flush_timeout: Time(0),
        },
    },
    NamedProfile {
        name: "amp-2019",
        about: "the simulator of AMP's authors: initial cwnd 1, NewReno, initial RTO 1.5 s, no handshake sample",
        scheduler: "round-robin",
        build: Profile::amp_2019,
        hosts: Hosts {
            jitter: Some(HostJitter::Time(Time(0))),
            clock_ppm: Some(0),
            qdisc: Some(Qdisc::Switch),
            bql_limit: Some(BQL_LIMIT),
            tso: false,
            gro_flush_timeout: Time(0),
        },
    },
];

impl Profile {
    /// A stock Linux sender in the simulator's model: no auto-tuning, and pacing only if requested.
    pub fn linux() -> Self {
        Self {
            mss: 1448,
            header: 66,
            ack_size: 66,
            framing: 0,
            initial_cwnd: 10.0,
            initial_ssthresh: f64::INFINITY,
            sample_handshake_rtt: true,
            initial_rto: Time::from_ms(1_000),
            min_rto: Time::from_ms(200),
            min_rto_beyond_srtt: false,
            max_rto: Time::from_ms(120_000),
            recovery: Recovery::Rack,
            tail_loss_probe: true,
            timer_slack: Time::from_ms(2),
            pacing: false,
            prr: true,
            frto: true,
            timestamps: true,
            dupack_threshold: 3,
            limited_transmit: true,
            ack_every: 2,
            delayed_ack_timeout: Time::from_ms(40),
            quick_acks: 16,
            ack_pushed: true,
            grow_after_mark: false,
            round_end: RoundEnd::Linux,
            react_after_last_data: true,
            protect_handshake: false,
            full_handshakes: false,
            syn_linear_timeouts: 4,
            confirmed_joins: true,
            join_delay: Time(0),
            receive_buffer: 6 << 20,
            reinject: true,
            complete_on_data_ack: true,
            round_robin_waits_for_join: false,
            stall_on_held_data: false,
            fct_from: FctFrom::Open,
        }
    }

    /// The transport in the simulator of AMP's authors of 2019.
    pub fn amp_2019() -> Self {
        Self {
            mss: 1400,
            header: 62,
            ack_size: 42,
            framing: 0,
            initial_cwnd: 1.0,
            initial_ssthresh: 65_535.0 / 1400.0,
            sample_handshake_rtt: false,
            initial_rto: Time::from_ms(1_500),
            min_rto: Time::from_ms(200),
            min_rto_beyond_srtt: false,
            max_rto: Time::from_ms(60_000),
            recovery: Recovery::NewReno,
            tail_loss_probe: false,
            timer_slack: Time(0),
            pacing: false,
            prr: false,
            frto: false,
            timestamps: false,
            dupack_threshold: 3,
            limited_transmit: false,
            ack_every: 1,
            delayed_ack_timeout: Time::from_ms(200),
            quick_acks: 0,
            ack_pushed: false,
            grow_after_mark: true,
            round_end: RoundEnd::Rfc8257,
            react_after_last_data: false,
            protect_handshake: true,
            full_handshakes: true,
            syn_linear_timeouts: 0,
            confirmed_joins: false,
            join_delay: Time::from_us(49),
            receive_buffer: 1 << 30,
            reinject: false,
            complete_on_data_ack: false,
            round_robin_waits_for_join: true,
            stall_on_held_data: false,
            fct_from: FctFrom::Established,
        }
    }
}

impl Profile {
    /// Returns the size of a full segment on the wire, in bytes.
    pub fn wire_size(&self) -> u32 {
        self.mss.saturating_add(self.header).saturating_add(self.framing)
    }

    /// Returns the size of a packet without payload on the wire, in bytes.
    pub fn ack_wire_size(&self) -> u32 {
        self.ack_size.saturating_add(self.framing)
    }

    /// Returns the profile with the framing counted in the headers.
    #[must_use]
    pub fn with_framing_in_headers(self) -> Self {
        Self {
            header: self.header.saturating_add(self.framing),
            ack_size: self.ack_wire_size(),
            framing: 0,
            ..self
        }
    }

    /// Checks that a sender and a receiver can work with these settings.
    ///
    /// # Errors
    /// Returns an error for the first field out of its range.
    pub fn check(&self) -> Result<(), SpecError> {
        let refuse = |field: &str, given: String, allowed: &str| Err(SpecError::new(field, given, allowed));
        if self.mss == 0 {
            return refuse("mss", "0B".into(), "a size above 0");
        }
        if self.wire_size() > MAX_WIRE_SIZE {
            let around = self.header.saturating_add(self.framing);
            let given = format!(
                "{}B with {around}B of header and framing exceed {MAX_WIRE_SIZE}B on the wire",
                self.mss
            );
            return refuse(
                "mss",
                given,
                &format!("at most {}B", MAX_WIRE_SIZE.saturating_sub(around)),
            );
        }
        if !(1..=MAX_WIRE_SIZE).contains(&self.ack_size) {
            return refuse(
                "ack_size",
                Size(self.ack_size.into()).to_string(),
                &format!("1B to {MAX_WIRE_SIZE}B"),
            );
        }
        if self.ack_wire_size() > MAX_WIRE_SIZE {
            let given = format!("{}B with {}B of framing", self.ack_size, self.framing);
            let allowed = MAX_WIRE_SIZE.saturating_sub(self.framing);
            return refuse("ack_size", given, &format!("1B to {allowed}B"));
        }
        if !(1.0..=MAX_WINDOW).contains(&self.initial_cwnd) {
            return refuse(
                "initial_cwnd",
                self.initial_cwnd.to_string(),
                &format!("1 to {MAX_WINDOW} packets"),
            );
        }
        if self.initial_ssthresh.is_nan() || self.initial_ssthresh < 1.0 {
            return refuse(
                "initial_ssthresh",
                self.initial_ssthresh.to_string(),
                "at least 1 packet, or \"unlimited\"",
            );
        }
        if self.min_rto == Time(0) {
            return refuse("min_rto", "0s".into(), "a time above 0");
        }
        if self.min_rto > self.max_rto {
            let given = format!("{} is above max_rto ({})", self.min_rto, self.max_rto);
            return refuse("min_rto", given, &format!("at most {}", self.max_rto));
        }
        if self.initial_rto == Time(0) || self.initial_rto > self.max_rto {
            return refuse(
                "initial_rto",
                self.initial_rto.to_string(),
                &format!("above 0s, at most {}", self.max_rto),
            );
        }
        if self.dupack_threshold == 0 {
            return refuse("dupack_threshold", "0".into(), "at least 1");
        }
        if self.ack_every == 0 {
            return refuse("ack_every", "0".into(), "at least 1");
        }
        if self.ack_every > 1 && self.delayed_ack_timeout == Time(0) {
            return refuse(
                "delayed_ack_timeout",
                format!("0s with ack_every = {}", self.ack_every),
                "a time above 0",
            );
        }
        if self.receive_buffer < self.mss.into() {
            let given = format!("{} is less than one segment", Size(self.receive_buffer));
            return refuse("receive_buffer", given, &format!("at least {}B", self.mss));
        }
        if self.receive_buffer > MAX_WINDOW_BYTES {
            let given = Size(self.receive_buffer).to_string();
            return refuse(
                "receive_buffer",
                given,
                &format!("at most {MAX_WINDOW_BYTES}B (RFC 7323, section 2.3)"),
            );
        }
        if self.stall_on_held_data && self.reinject {
            // Subflows with data that is out of the connection's order would wait for each other
            // for ever.
            return Err(SpecError::conflict(
                "stall_on_held_data",
                "excludes reinject, because that simulator does not send data on two subflows",
                "set one of the two to false",
            ));
        }
        Ok(())
    }
}

/// Maximum window in packets, which no window reaches: at 1448 bytes per packet it is 1.5 TB.
const MAX_WINDOW: f64 = 1e9;

/// Maximum window in bytes: "the maximum window [is] 2^30". Beyond it, sequence numbers of 32 bits
/// do not distinguish old from new data (RFC 7323, section 2.3).
const MAX_WINDOW_BYTES: u64 = 1 << 30;

/// Settings that differ from those of a profile: any fields of [`Profile`], unchecked until they
/// are applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProfilePatch(pub Table);

impl ProfilePatch {
    /// Returns `base` with these settings.
    ///
    /// # Errors
    /// Returns an error for an unknown field, a wrong type or a value out of range.
    pub fn apply(&self, base: &Profile) -> Result<Profile, SpecError> {
        let mut fields = to_table(base);
        fields.extend(self.0.clone());
        let profile: Profile = from_table(&fields)?;
        profile.check()?;
        Ok(profile)
    }
}

/// The schema of [`Profile`] with every field optional.
impl JsonSchema for ProfilePatch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ProfilePatch".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Profile::json_schema(generator);
        schema.remove("required");
        schema.insert(
            "description".into(),
            "Settings that differ from the profile's.".into(),
        );
        schema
    }
}

/// Serde functions for bytes as a size with a unit.
mod bytes {
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
mod packets_or_unlimited {
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
