//! Profiles: all settings of a TCP sender and receiver apart from congestion control.

mod groups;
mod patch;
mod simulators;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use weft_spec::{HostJitter, Hosts, Qdisc, Size, SpecError, Time, conflict, refuse};

use crate::FctFrom;

pub use groups::{
    AckSettings, ConnectionSettings, HandshakeSettings, JoinSettings, LossSettings, MarkSettings,
    RecoveryOptions, RtoSettings, SegmentSizes, WindowSettings,
};
pub use patch::ProfilePatch;

/// Maximum size of a packet on the wire, data or ACK: the limit of the length fields of IPv4 and
/// IPv6.
const MAX_WIRE_SIZE: u32 = 65_535;

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

/// The condition on which a congestion window may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowValidation {
    /// Linux: the window has limited the sender within the last window of data. In slow start, a
    /// window below twice the packets that were outstanding then also grows
    /// (`tcp_is_cwnd_limited`).
    Linux,
    /// Simulators: at least half of the window is in flight when an acknowledgement arrives.
    HalfUsed,
}

/// The estimator of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RtoEstimator {
    /// RFC 6298, section 2.
    Rfc6298,
    /// Linux's `tcp_rtt_estimator`.
    Linux,
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

/// A named set of transport settings. A spec can set each field of the groups on its own
/// (`transports.NAME.tcp.FIELD`).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Profile {
    /// The sizes of packets.
    #[serde(flatten)]
    pub sizes: SegmentSizes,
    /// The congestion window at the beginning, the condition of its growth, and pacing.
    #[serde(flatten)]
    pub window: WindowSettings,
    /// The retransmission timeout.
    #[serde(flatten)]
    pub rto: RtoSettings,
    /// The detection of losses.
    #[serde(flatten)]
    pub loss: LossSettings,
    /// Options of the recovery from a loss.
    #[serde(flatten)]
    pub options: RecoveryOptions,
    /// The acknowledgements of a receiver.
    #[serde(flatten)]
    pub acks: AckSettings,
    /// The reaction to marks.
    #[serde(flatten)]
    pub marks: MarkSettings,
    /// The handshake of a subflow.
    #[serde(flatten)]
    pub handshake: HandshakeSettings,
    /// The joins of additional subflows.
    #[serde(flatten)]
    pub joins: JoinSettings,
    /// A connection with all its subflows.
    #[serde(flatten)]
    pub connection: ConnectionSettings,
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

/// Hosts whose flows do not lock to each other's phases.
const LINUX_HOSTS: Hosts = Hosts {
    jitter: Some(HostJitter::Packet),
    clock_ppm: Some(100),
    qdisc: Some(Qdisc::Fq),
    bql_limit: Some(BQL_LIMIT),
    tso: false,
    gro_flush_timeout: Time(0),
};

/// All profiles, the default first.
pub const PROFILES: &[NamedProfile] = &[
    NamedProfile {
        name: "linux",
        about: "a stock Linux sender and receiver: initial cwnd 10, RACK-TLP, delayed ACKs, minimum RTO 200 ms (default)",
        scheduler: "linux",
        build: Profile::linux,
        hosts: LINUX_HOSTS,
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
    NamedProfile {
        name: "htsim-2011",
        about: "htsim in the data-centre study of multipath TCP: initial cwnd 2, NewReno, initial RTO 3 s",
        scheduler: "round-robin",
        build: Profile::htsim_2011,
        hosts: LINUX_HOSTS,
    },
    NamedProfile {
        name: "ns2-2019",
        about: "ns-2's FullTcp in the paper of MPTCP_OPN: initial cwnd 2, selective acknowledgements, RTO from 200 ms",
        scheduler: "round-robin",
        build: Profile::ns2_2019,
        hosts: LINUX_HOSTS,
    },
    NamedProfile {
        name: "ns-3.21",
        about: "ns-3.21 in the paper of AMP-FG: initial cwnd 1, NewReno, an acknowledgement per packet",
        scheduler: "round-robin",
        build: Profile::ns_3_21,
        hosts: LINUX_HOSTS,
    },
];

impl Profile {
    /// A stock Linux sender in the simulator's model: no auto-tuning of the receive buffer, and pacing only if requested.
    pub fn linux() -> Self {
        Self {
            sizes: SegmentSizes {
                mss: 1448,
                header: 66,
                ack_size: 66,
            },
            window: WindowSettings {
                initial_cwnd: 10.0,
                initial_ssthresh: f64::INFINITY,
                pacing: false,
                window_validation: WindowValidation::Linux,
                slow_start_after_idle: true,
                count_all_after_timeout: true,
            },
            rto: RtoSettings {
                initial_rto: Time::from_ms(1_000),
                min_rto: Time::from_ms(200),
                rto_estimator: RtoEstimator::Linux,
                max_rto: Time::from_ms(120_000),
            },
            loss: LossSettings {
                recovery: Recovery::Rack,
                tail_loss_probe: true,
                timer_slack: Time::from_ms(2),
                dupack_threshold: 3,
                limited_transmit: true,
            },
            options: RecoveryOptions {
                prr: true,
                frto: true,
                timestamps: true,
            },
            acks: AckSettings {
                ack_every: 2,
                delayed_ack_timeout: Time::from_ms(40),
                quick_acks: 16,
                ack_pushed: true,
            },
            marks: MarkSettings {
                grow_after_mark: false,
                round_end: RoundEnd::Linux,
                react_after_last_data: true,
            },
            handshake: HandshakeSettings {
                sample_handshake_rtt: true,
                protect_handshake: false,
                full_handshakes: false,
                syn_linear_timeouts: 4,
            },
            joins: JoinSettings {
                confirmed_joins: true,
                join_delay: Time(0),
                round_robin_waits_for_join: false,
            },
            connection: ConnectionSettings {
                receive_buffer: 6 << 20,
                subflow_receive_buffer: MAX_WINDOW_BYTES,
                send_buffer: 4 << 20,
                reinject: true,
                complete_on_data_ack: true,
                stall_on_held_data: false,
                fct_from: FctFrom::Open,
            },
        }
    }

    /// The transport in the simulator of AMP's authors of 2019.
    pub fn amp_2019() -> Self {
        Self {
            sizes: SegmentSizes {
                mss: 1400,
                header: 62,
                ack_size: 42,
            },
            window: WindowSettings {
                initial_cwnd: 1.0,
                initial_ssthresh: 65_535.0 / 1400.0,
                pacing: false,
                window_validation: WindowValidation::HalfUsed,
                slow_start_after_idle: false,
                count_all_after_timeout: false,
            },
            rto: RtoSettings {
                initial_rto: Time::from_ms(1_500),
                min_rto: Time::from_ms(200),
                rto_estimator: RtoEstimator::Rfc6298,
                max_rto: Time::from_ms(60_000),
            },
            loss: LossSettings {
                recovery: Recovery::NewReno,
                tail_loss_probe: false,
                timer_slack: Time(0),
                dupack_threshold: 3,
                limited_transmit: false,
            },
            options: RecoveryOptions {
                prr: false,
                frto: false,
                timestamps: false,
            },
            acks: AckSettings {
                ack_every: 1,
                delayed_ack_timeout: Time::from_ms(200),
                quick_acks: 0,
                ack_pushed: false,
            },
            marks: MarkSettings {
                grow_after_mark: true,
                round_end: RoundEnd::Rfc8257,
                react_after_last_data: false,
            },
            handshake: HandshakeSettings {
                sample_handshake_rtt: false,
                protect_handshake: true,
                full_handshakes: true,
                syn_linear_timeouts: 0,
            },
            joins: JoinSettings {
                confirmed_joins: false,
                join_delay: Time::from_us(49),
                round_robin_waits_for_join: true,
            },
            connection: ConnectionSettings {
                receive_buffer: 1 << 30,
                subflow_receive_buffer: MAX_WINDOW_BYTES,
                send_buffer: MAX_WINDOW_BYTES,
                reinject: false,
                complete_on_data_ack: false,
                stall_on_held_data: false,
                fct_from: FctFrom::Established,
            },
        }
    }
}

impl Profile {
    /// Returns the size of a full segment on the wire, in bytes.
    pub fn wire_size(&self) -> u32 {
        self.sizes.mss.saturating_add(self.sizes.header)
    }

    /// Returns the profile with a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Checks that a sender and a receiver can work with these settings.
    ///
    /// # Errors
    /// Returns an error for the first field out of its range.
    pub fn check(&self) -> Result<(), SpecError> {
        Size(self.sizes.mss.into()).above_zero("mss")?;
        if self.wire_size() > MAX_WIRE_SIZE {
            let SegmentSizes { mss, header, .. } = self.sizes;
            let given = format!("{mss}B with {header}B of header exceed {MAX_WIRE_SIZE}B on the wire");
            let allowed = format!("at most {}B", MAX_WIRE_SIZE.saturating_sub(header));
            return refuse("mss", given, allowed);
        }
        if !(1..=MAX_WIRE_SIZE).contains(&self.sizes.ack_size) {
            return refuse(
                "ack_size",
                Size(self.sizes.ack_size.into()),
                format!("1B to {MAX_WIRE_SIZE}B"),
            );
        }
        if self.window.initial_ssthresh.is_nan() || self.window.initial_ssthresh < 1.0 {
            return refuse(
                "initial_ssthresh",
                self.window.initial_ssthresh,
                "at least 1 packet, or \"unlimited\"",
            );
        }
        self.rto.min_rto.above_zero("min_rto")?;
        if self.rto.min_rto > self.rto.max_rto {
            let given = format!("{} is above max_rto ({})", self.rto.min_rto, self.rto.max_rto);
            return refuse("min_rto", given, format!("at most {}", self.rto.max_rto));
        }
        if self.rto.initial_rto == Time(0) || self.rto.initial_rto > self.rto.max_rto {
            return refuse(
                "initial_rto",
                self.rto.initial_rto,
                format!("above 0s, at most {}", self.rto.max_rto),
            );
        }
        if self.acks.ack_every > 1 && self.acks.delayed_ack_timeout == Time(0) {
            return refuse(
                "delayed_ack_timeout",
                format!("0s with ack_every = {}", self.acks.ack_every),
                "a time above 0",
            );
        }
        for (field, buffer) in [
            ("receive_buffer", self.connection.receive_buffer),
            ("subflow_receive_buffer", self.connection.subflow_receive_buffer),
            ("send_buffer", self.connection.send_buffer),
        ] {
            if buffer < self.sizes.mss.into() {
                let given = format!("{} is less than one segment", Size(buffer));
                return refuse(field, given, format!("at least {}B", self.sizes.mss));
            }
            if buffer > MAX_WINDOW_BYTES {
                let given = Size(buffer).to_string();
                return refuse(
                    field,
                    given,
                    format!("at most {MAX_WINDOW_BYTES}B (RFC 7323, section 2.3)"),
                );
            }
        }
        if self.connection.stall_on_held_data && self.connection.reinject {
            // Subflows with data that is out of the connection's order would wait for each other
            // for ever.
            return conflict(
                "stall_on_held_data",
                "excludes reinject, because that simulator does not send data on two subflows",
                "set one of the two to false",
            );
        }
        Ok(())
    }
}

/// Maximum window in bytes: "the maximum window `[is]` 2^30". Beyond it, sequence numbers of 32 bits
/// do not distinguish old from new data (RFC 7323, section 2.3).
const MAX_WINDOW_BYTES: u64 = 1 << 30;
