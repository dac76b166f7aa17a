//! The settings of a profile, in groups. A spec has the fields of all groups side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Recovery, RoundEnd, RtoEstimator, WindowValidation};
use crate::FctFrom;
use crate::fields::{bytes, packets_or_unlimited};
use weft_spec::{Size, Time};

/// The sizes of packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SegmentSizes {
    /// Payload bytes of a full segment.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub mss: u32,
    /// Header bytes on the wire of a data packet, in addition to its payload. Ethernet's preamble, check
    /// sequence and gap are 24B more, also of `ack_size` (IEEE 802.3).
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub header: u32,
    /// Bytes on the wire of a packet without payload: SYN, SYN/ACK, ACK.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub ack_size: u32,
}

/// The congestion window at the beginning, the condition of its growth, and pacing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowSettings {
    /// Initial congestion window in packets.
    #[schemars(range(min = 1, max = 1e9))]
    pub initial_cwnd: f64,
    /// Initial slow-start threshold in packets, at least 1, or "unlimited".
    #[serde(with = "packets_or_unlimited")]
    #[schemars(schema_with = "packets_or_unlimited::schema")]
    pub initial_ssthresh: f64,
    /// Whether packets of a subflow are paced as under Linux's fq: two windows per round trip in
    /// slow start, 1.2 afterwards, from the eleventh packet on. A rate set by congestion control
    /// applies even if this is off.
    pub pacing: bool,
    /// Condition on which the window may grow. With "linux", the window has stopped the sender within the last window of
    /// data, and not the application, a receive window or the NIC of the host. In slow start, a window below twice the
    /// packets outstanding may also grow (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`). With "half-used", at least half of
    /// the window is in flight when the acknowledgement arrives.
    pub window_validation: WindowValidation,
    /// Whether the windows of `reno`, `cubic` and `dctcp` decay while nothing is sent, as with Linux's setting of this
    /// name (RFC 2861). Each RTO halves the window, from the second one on and down to `initial_cwnd`. Other algorithms
    /// keep their windows, as those of `weftd` do.
    pub slow_start_after_idle: bool,
    /// Whether, without selective acknowledgements, an acknowledgement after a timeout counts as all segments that it
    /// covers and that no duplicate has counted, as in Linux (`tcp_remove_reno_sacks`), and not as one (RFC 3465, section
    /// 2.3).
    pub count_all_after_timeout: bool,
}

/// The retransmission timeout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtoSettings {
    /// RTO before the first RTT sample (RFC 6298, rule 2.1).
    pub initial_rto: Time,
    /// Minimum of the RTO, or of its part for the variance with `rto_estimator = "linux"`.
    pub min_rto: Time,
    /// Estimator of the RTO. With "rfc6298", it is SRTT + 4 RTTVAR, but at least `min_rto` (rules 2.3
    /// and 2.4). With "linux", it is SRTT plus the largest mean deviation of the last round trip, or
    /// plus `min_rto` if that is more. The difference matters if round trips are not much shorter
    /// than `min_rto`.
    pub rto_estimator: RtoEstimator,
    /// Maximum of the RTO.
    pub max_rto: Time,
}

/// The detection of losses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossSettings {
    /// Loss recovery: "newreno" (RFC 6582, the variant in which each partial acknowledgement restarts the
    /// timer), "sack" (RFC 6675) or "rack" (RFC 8985). With "sack", a retransmission is lost if data
    /// that was sent after it is sacked, as in Linux until 4.3.
    pub recovery: Recovery,
    /// Whether recovery "rack" sends a probe two RTTs after the last acknowledgement, so that a
    /// loss at the tail does not wait for the RTO (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// Additional delay of a tail loss probe and of the reordering timer; in Linux two ticks of its
    /// clock.
    pub timer_slack: Time,
    /// Number of duplicate acknowledgements that start fast retransmit.
    #[schemars(range(min = 1))]
    pub dupack_threshold: u32,
    /// Whether each of the first duplicate acknowledgements lets the sender send a new segment (RFC
    /// 3042).
    pub limited_transmit: bool,
}

/// Options of the recovery from a loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryOptions {
    /// Whether fast recovery reduces the data in flight gradually instead of by a pause (PRR, RFC
    /// 6937).
    pub prr: bool,
    /// Whether a sender tries new data after a timeout, and undoes a spurious timeout (F-RTO, RFC 5682;
    /// without selective acknowledgements as well, as in Linux).
    pub frto: bool,
    /// Whether packets have timestamps (RFC 7323). With them, acknowledgements of retransmissions
    /// give RTT samples and show which copy they acknowledge, so that a spurious timeout or
    /// fast retransmit is undone (RFC 3522).
    pub timestamps: bool,
}

/// The acknowledgements of a receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckSettings {
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
}

/// The reaction to marks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkSettings {
    /// Whether the window may grow between a cut for a mark and the end of that window.
    pub grow_after_mark: bool,
    /// The end of a round of DCTCP. With "rfc8257", a round ends when data sent after its start is acknowledged
    /// (section 3.3, step 3). With "linux", it ends once all data sent before its start is acknowledged.
    pub round_end: RoundEnd,
    /// Whether rounds and marks still have an effect once all data of a connection has been handed
    /// to subflows.
    pub react_after_last_data: bool,
}

/// The handshake of a subflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandshakeSettings {
    /// Whether the round trip of the handshake is the first RTT sample.
    pub sample_handshake_rtt: bool,
    /// Whether SYN and SYN/ACK are exempt from drops and marks.
    pub protect_handshake: bool,
    /// Whether the following packets are sent: the last acknowledgement of a subflow's handshake
    /// and, once all data has been handed out, its FIN, FIN/ACK and last acknowledgement. They have
    /// no effect and are not retransmitted, but take space in queues.
    pub full_handshakes: bool,
    /// Number of timeouts of a SYN that do not double the RTO (Linux since 6.5).
    pub syn_linear_timeouts: u32,
}

/// The joins of additional subflows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinSettings {
    /// Whether joins follow RFC 8684, sections 3.1 and 3.2. They start once data of subflow 0 is
    /// acknowledged. A joined subflow carries data once the last acknowledgement of its own
    /// handshake is acknowledged.
    pub confirmed_joins: bool,
    /// Maximum of the random delay of a join, uniform and counted from when the join may start.
    pub join_delay: Time,
    /// Whether new data waits if round-robin reaches a subflow whose SYN/ACK has not arrived. If
    /// this is off, the subflow is skipped.
    pub round_robin_waits_for_join: bool,
}

/// A connection with all its subflows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionSettings {
    /// Receive buffer of a connection, at most 2^30 bytes, which its subflows share; it limits the
    /// data in flight at connection level.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub receive_buffer: u64,
    /// Receive buffer of a subflow, at most 2^30 bytes, which limits its unacknowledged data. MPTCP has
    /// none (RFC 8684, section 3.3.4), but some simulators have. The default limits nothing.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub subflow_receive_buffer: u64,
    /// Maximum send buffer of a subflow in bytes of memory, at most 2^30 (the third value of Linux's
    /// `tcp_wmem`). It holds sent data until it is acknowledged: 4MiB have space for 2880 segments of
    /// 1448 bytes, because every 45 of them take 896 bytes more. Up to this size the buffer grows with
    /// the window, and does not limit it. The buffer of a connection is the sum of those of its subflows, and 4 KB.
    /// Simulators have none; 1GiB limits nothing.
    #[serde(with = "bytes")]
    #[schemars(with = "Size")]
    pub send_buffer: u64,
    /// Whether a timeout of a subflow sends its outstanding data on the other subflows as well.
    pub reinject: bool,
    /// Whether a connection ends when acknowledgements on any subflows cover its data (RFC 8684,
    /// section 3.3.2). If this is off, it ends when all data of each subflow is acknowledged.
    pub complete_on_data_ack: bool,
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
