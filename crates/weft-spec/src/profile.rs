//! A profile: everything about a TCP sender and receiver that is not congestion control.

use crate::Time;

/// From which moment a flow's completion time is counted; it ends when the last data is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FctFrom {
    /// The flow's start: the first SYN is sent.
    Open,
    /// The arrival of subflow 0's SYN/ACK.
    Established,
}

/// How a subflow recovers from loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 6582: cumulative acknowledgements only.
    NewReno,
    /// RFC 6675's pipe over RFC 2018's selective acknowledgements.
    Sack,
}

/// A named set of transport settings, every field of which a spec can set on its own (`transports.NAME.tcp.FIELD`).
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Header bytes on the wire of a data packet, beside its payload.
    pub header: u32,
    /// Bytes on the wire of a packet without payload: SYN, SYN/ACK, ACK.
    pub ack_size: u32,
    /// Initial congestion window in packets.
    pub initial_cwnd: f64,
    /// Initial slow-start threshold in packets.
    pub initial_ssthresh: f64,
    /// Is the handshake's round trip a first RTT sample?
    pub sample_handshake_rtt: bool,
    /// RTO before the first RTT sample (RFC 6298, rule 2.1).
    pub initial_rto: Time,
    /// Lower bound of the RTO.
    pub min_rto: Time,
    /// Upper bound of the RTO.
    pub max_rto: Time,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Duplicate acknowledgements that start fast retransmit.
    pub dupack_threshold: u32,
    /// RFC 3042: send a new segment on each of the first duplicate acknowledgements.
    pub limited_transmit: bool,
    /// Acknowledge every n-th full segment; 1 is no delay.
    pub ack_every: u32,
    /// A delayed acknowledgement is sent after this at the latest.
    pub delayed_ack_timeout: Time,
    /// Segments acknowledged at once when a subflow starts (Linux's quick acknowledgements).
    pub quick_acks: u32,
    /// May the window grow between a cut for a mark and the end of that window?
    pub grow_after_mark: bool,
    /// SYN and SYN/ACK are neither dropped nor marked.
    pub protect_handshake: bool,
    /// Joins start after a uniformly random delay up to this once subflow 0 is established.
    pub join_delay: Time,
    /// Shared receive buffer of a connection in bytes; limits the data in flight at connection level.
    pub receive_buffer: u64,
    /// Give data outstanding on a subflow that timed out to the others too.
    pub reinject: bool,
    /// Where FCT starts.
    pub fct_from: FctFrom,
}

impl Profile {
    /// A stock Linux sender as the simulator models it: no RACK, no TLP, no F-RTO, no pacing, no auto-tuning.
    pub fn linux() -> Self {
        Self {
            mss: 1448,
            header: 66,
            ack_size: 66,
            initial_cwnd: 10.0,
            initial_ssthresh: f64::INFINITY,
            sample_handshake_rtt: true,
            initial_rto: Time::from_ms(1_000),
            min_rto: Time::from_ms(200),
            max_rto: Time::from_ms(120_000),
            recovery: Recovery::Sack,
            dupack_threshold: 3,
            limited_transmit: true,
            ack_every: 2,
            delayed_ack_timeout: Time::from_ms(40),
            quick_acks: 16,
            grow_after_mark: false,
            protect_handshake: false,
            join_delay: Time(0),
            receive_buffer: 6 << 20,
            reinject: true,
            fct_from: FctFrom::Open,
        }
    }

    /// What the simulator of AMP's authors did in 2019.
    pub fn amp_2019() -> Self {
        Self {
            mss: 1400,
            header: 62,
            ack_size: 42,
            initial_cwnd: 1.0,
            initial_ssthresh: 65_535.0 / 1400.0,
            sample_handshake_rtt: false,
            initial_rto: Time::from_ms(1_500),
            min_rto: Time::from_ms(200),
            max_rto: Time::from_ms(60_000),
            recovery: Recovery::NewReno,
            dupack_threshold: 3,
            limited_transmit: false,
            ack_every: 1,
            delayed_ack_timeout: Time::from_ms(200),
            quick_acks: 0,
            grow_after_mark: true,
            protect_handshake: true,
            join_delay: Time::from_us(49),
            receive_buffer: 1 << 30,
            reinject: false,
            fct_from: FctFrom::Established,
        }
    }
}
