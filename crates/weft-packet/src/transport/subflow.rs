//! The sending half of a subflow.

use weft_cc::Round;
use weft_spec::Profile;

use crate::engine::route::Route;

use super::rtt::RttEstimator;
use super::segments::Segments;

/// Where a subflow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not opened yet, or closed.
    Closed,
    /// SYN sent.
    SynSent,
    /// Established, nothing lost.
    Open,
    /// Fast recovery, until `recover` is acknowledged.
    Recovery,
    /// After a timeout, until `recover` is acknowledged.
    Loss,
}

/// The sending half of a subflow. Its window is the connection's, beside those of its siblings.
pub struct Subflow {
    /// Connection at this host.
    pub connection: u32,
    /// Which of the connection's subflows.
    pub index: u32,
    /// The receiving half at the other host.
    pub peer: u32,
    /// Where it is.
    pub state: State,
    /// Is the next data packet to carry CWR (RFC 3168)?
    pub send_cwr: bool,
    /// Is the next retransmission to go whatever the window?
    pub urgent: bool,
    /// Ports to the other host.
    pub route: Route,
    /// First byte not acknowledged.
    pub una: u64,
    /// Next byte to send.
    pub nxt: u64,
    /// The round ends when this is acknowledged.
    pub round_end: u64,
    /// No further cut for a mark until something beyond this is acknowledged.
    pub cut_end: u64,
    /// Recovery ends when this is acknowledged.
    pub recover: u64,
    /// The round so far.
    pub round: Round,
    /// Duplicate acknowledgements in a row.
    pub dupacks: u32,
    /// Segments that duplicate acknowledgements tell have left the network (no SACK).
    pub departed: u32,
    /// What is outstanding.
    pub segments: Segments,
    /// RTT and RTO.
    pub rtt: RttEstimator,
    /// When the retransmission timer expires; `u64::MAX` if it is off.
    pub deadline: u64,
    /// The earliest timer set with the engine that has not fired; `u64::MAX` if there is none.
    pub timer: u64,
    /// When the SYN was sent, for the handshake's RTT; `u64::MAX` if it was sent more than once.
    pub syn_sent: u64,
    /// Counters.
    pub stats: Stats,
}

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// When the handshake completed; `u64::MAX` if it did not.
    pub established: u64,
    /// Data packets, retransmissions included.
    pub packets_sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Packets acknowledged with a mark.
    pub marked: u64,
    /// Recovery episodes.
    pub fast_retransmits: u64,
    /// Timeouts with data outstanding.
    pub timeouts: u64,
    /// Timeouts of the SYN.
    pub syn_timeouts: u64,
}

impl Subflow {
    /// Not opened yet.
    pub fn new(connection: u32, index: u32, route: Route, profile: &Profile) -> Self {
        Self {
            connection,
            index,
            peer: u32::MAX,
            state: State::Closed,
            send_cwr: false,
            urgent: false,
            route,
            una: 0,
            nxt: 0,
            round_end: 0,
            cut_end: 0,
            recover: 0,
            round: Round::default(),
            dupacks: 0,
            departed: 0,
            segments: Segments::default(),
            rtt: RttEstimator::new(profile.initial_rto.0, profile.min_rto.0, profile.max_rto.0),
            deadline: u64::MAX,
            timer: u64::MAX,
            syn_sent: u64::MAX,
            stats: Stats {
                established: u64::MAX,
                ..Stats::default()
            },
        }
    }

    /// Packets in the network as far as the sender can tell.
    #[inline(always)]
    pub fn pipe(&self) -> u32 {
        self.segments.pipe().saturating_sub(self.departed)
    }

    /// The 64-bit sequence number that `low` abbreviates: the one nearest to `una`.
    #[inline(always)]
    pub fn widen(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.una as u32).cast_signed();
        self.una.wrapping_add_signed(i64::from(ahead))
    }
}
