//! The sending half of a subflow.

use weft_cc::{Round, Window};
use weft_spec::Profile;

use crate::engine::route::Route;

use super::path_selector::PathSelector;
use super::prr::Prr;
use super::rack::Rack;
use super::rtt::RttEstimator;
use super::segments::Segments;
use super::timers::{TimerPurpose, tlp_slack};
use super::undo::Undo;

/// The reasons for which a subflow may send no new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockReasons(u8);

impl BlockReasons {
    /// The subflow waits for the card of its host or for its pace, as a flow that Linux calls throttled.
    pub const THROTTLED: Self = Self(1);
    /// Other subflows have replaced this one, which closes when all that it has sent is acknowledged.
    pub const DRAINING: Self = Self(2);
    /// The subflow waits until its window allows a longer burst (`tcp_tso_should_defer`).
    pub const TSO_DEFERRED: Self = Self(4);
    /// The path monitor has not selected the subflow, because its path is slow or other subflows suffice.
    pub const NOT_SELECTED: Self = Self(8);

    /// Whether there is no reason.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The union of both sets.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any of the reasons `other` holds.
    #[inline(always)]
    pub const fn contains_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Adds the reasons `other`.
    #[inline(always)]
    pub const fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Removes the reasons `other`.
    #[inline(always)]
    pub const fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

/// Where a subflow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not opened yet, or closed.
    Closed,
    /// SYN sent.
    SynSent,
    /// A join whose third packet of the handshake is not acknowledged yet.
    PreEstablished,
    /// Established, nothing lost.
    Open,
    /// Fast recovery, until `recover` is acknowledged.
    Recovery,
    /// After a timeout, until `recover` is acknowledged.
    Loss,
}

/// The sending half of a subflow. Its window is the connection's, beside those of its siblings.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct SubflowSender {
    /// Connection at this host.
    pub connection: u32,
    /// Number of the subflow in its connection.
    pub index: u32,
    /// The receiving half at the other host.
    pub peer: u32,
    /// Where it is.
    pub state: State,
    /// Is the next data packet to carry CWR (RFC 3168)?
    pub send_cwr: bool,
    /// Is the next retransmission to go whatever the window?
    pub force_retransmit: bool,
    /// Do retransmissions wait for the acknowledgements of new data (F-RTO)?
    pub frto_waiting: bool,
    /// Is the window reduced bit by bit?
    pub prr_active: bool,
    /// Is a timeout still to be held for spurious or not?
    pub frto: bool,
    /// Did the probe send something again?
    pub tlp_retrans: bool,
    /// What the timer is for.
    pub timer_purpose: TimerPurpose,
    /// Why it takes no new data: [`WAITS`], [`DRAINS`], [`DEFERS`], [`ASIDE`].
    pub blocked: BlockReasons,
    /// Packets of the burst that its card was handed which have not left yet.
    pub burst_left: u32,
    /// When its pace lets the next packet leave; 0 if it is not paced.
    pub earliest_departure: u64,
    /// Ports to the other host.
    pub route: Route,
    /// What changes them from packet to packet, if anything does.
    pub path_selector: Option<Box<PathSelector>>,
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
    /// How many of them indicate a loss.
    pub dupack_threshold: u32,
    /// Segments that have left the network according to duplicate acknowledgements (no SACK).
    pub reno_sacked: u32,
    /// What is outstanding.
    pub segments: Segments,
    /// RTT and RTO.
    pub rtt: RttEstimator,
    /// What a probe waits beside two RTTs; `u64::MAX` if there are none.
    pub tlp_slack: u64,
    /// A probe is out, and this was the next byte to send after it; 0 if none is.
    pub tlp_high_seq: u64,
    /// First byte not acknowledged at the last timeout.
    pub una_at_timeout: u64,
    /// The reordering window.
    pub rack: Rack,
    /// The reduction under way.
    pub prr: Prr,
    /// What to take back if nothing was lost.
    pub undo: Undo,
    /// When the timer expires; `u64::MAX` if it is off.
    pub deadline: u64,
    /// The earliest timer set with the engine that has not fired; `u64::MAX` if there is none.
    pub timer: u64,
    /// When the first SYN was sent.
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

impl SubflowSender {
    /// Not opened yet.
    pub fn new(connection: u32, index: u32, route: Route, profile: &Profile) -> Self {
        Self {
            connection,
            index,
            peer: u32::MAX,
            state: State::Closed,
            send_cwr: false,
            force_retransmit: false,
            frto_waiting: false,
            prr_active: false,
            frto: false,
            tlp_retrans: false,
            timer_purpose: TimerPurpose::Retransmit,
            blocked: BlockReasons::default(),
            burst_left: 0,
            earliest_departure: 0,
            route,
            path_selector: None,
            una: 0,
            nxt: 0,
            round_end: 0,
            cut_end: 0,
            recover: 0,
            round: Round::default(),
            dupacks: 0,
            dupack_threshold: profile.dupack_threshold,
            reno_sacked: 0,
            segments: Segments::default(),
            rtt: RttEstimator::from_profile(profile),
            tlp_slack: tlp_slack(profile),
            tlp_high_seq: 0,
            una_at_timeout: u64::MAX,
            rack: Rack::default(),
            prr: Prr::default(),
            undo: Undo::default(),
            deadline: u64::MAX,
            timer: u64::MAX,
            syn_sent: 0,
            stats: Stats {
                established: u64::MAX,
                ..Stats::default()
            },
        }
    }

    /// Packets in the network as far as the sender can tell.
    #[inline(always)]
    pub fn pipe(&self) -> u32 {
        self.segments.pipe().saturating_sub(self.reno_sacked)
    }

    /// Does the window let another packet go?
    #[inline(always)]
    pub fn may_send(&self, window: &Window) -> bool {
        if self.prr_active {
            return self.pipe() < self.prr.cwnd;
        }
        f64::from(self.pipe()) + 1.0 <= window.cwnd
    }

    /// An acknowledgement during a recovery that reduces the window bit by bit.
    pub fn on_prr_ack(&mut self, delivered: u32, progress: bool) {
        let pipe = self.pipe();
        self.prr
            .on_ack(delivered, pipe, progress, self.stats.packets_sent);
    }

    /// The 64-bit sequence number that `low` abbreviates: the one nearest to `una`.
    #[inline(always)]
    pub fn expand_seq(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.una as u32).cast_signed();
        self.una.wrapping_add_signed(i64::from(ahead))
    }
}
