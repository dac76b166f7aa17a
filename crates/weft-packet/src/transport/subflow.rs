//! The sending half of a subflow.

use weft_cc::{Round, Window};
use weft_spec::Profile;

use crate::engine::route::Route;

use super::prr::Prr;
use super::rack::Rack;
use super::rtt::RttEstimator;
use super::segments::Segments;
use super::timers::{Alarm, probe_slack};
use super::undo::Undo;
use super::wandering::Wandering;

/// A subflow waits for its host's card, or for its pace.
pub const WAITS: u8 = 1;
/// Others have taken over from a subflow, which closes when all it has sent is acknowledged.
pub const DRAINS: u8 = 2;
/// A subflow waits until its window has room for a longer burst.
pub const DEFERS: u8 = 4;
/// The path of a subflow is slow, or others are enough.
pub const ASIDE: u8 = 8;

/// Where a subflow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not opened yet, or closed.
    Closed,
    /// SYN sent.
    SynSent,
    /// A join whose third packet of the handshake is not acknowledged yet.
    Confirming,
    /// Established, nothing lost.
    Open,
    /// Fast recovery, until `recover` is acknowledged.
    Recovery,
    /// After a timeout, until `recover` is acknowledged.
    Loss,
}

/// The sending half of a subflow. Its window is the connection's, beside those of its siblings.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Subflow {
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
    pub urgent: bool,
    /// Do retransmissions wait for the acknowledgements of new data (F-RTO)?
    pub hold: bool,
    /// Is the window reduced bit by bit?
    pub reducing: bool,
    /// Is a timeout still to be held for spurious or not?
    pub frto: bool,
    /// Did the probe send something again?
    pub probe_again: bool,
    /// What the timer is for.
    pub alarm: Alarm,
    /// Why it takes no new data: [`WAITS`], [`DRAINS`], [`DEFERS`], [`ASIDE`].
    pub held: u8,
    /// Packets of the burst that its card was handed which have not left yet.
    pub burst: u32,
    /// When its pace lets the next packet leave; 0 if it is not paced.
    pub may_leave: u64,
    /// Ports to the other host.
    pub route: Route,
    /// What changes them from packet to packet, if anything does.
    pub wandering: Option<Box<Wandering>>,
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
    pub departed: u32,
    /// What is outstanding.
    pub segments: Segments,
    /// RTT and RTO.
    pub rtt: RttEstimator,
    /// What a probe waits beside two RTTs; `u64::MAX` if there are none.
    pub probe_slack: u64,
    /// A probe is out, and this was the next byte to send after it; 0 if none is.
    pub probe_end: u64,
    /// First byte not acknowledged at the last timeout.
    pub timed_out: u64,
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
            hold: false,
            reducing: false,
            frto: false,
            probe_again: false,
            alarm: Alarm::Retransmit,
            held: 0,
            burst: 0,
            may_leave: 0,
            route,
            wandering: None,
            una: 0,
            nxt: 0,
            round_end: 0,
            cut_end: 0,
            recover: 0,
            round: Round::default(),
            dupacks: 0,
            dupack_threshold: profile.dupack_threshold,
            departed: 0,
            segments: Segments::default(),
            rtt: RttEstimator::of(profile),
            probe_slack: probe_slack(profile),
            probe_end: 0,
            timed_out: u64::MAX,
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
        self.segments.pipe().saturating_sub(self.departed)
    }

    /// Does the window let another packet go?
    #[inline(always)]
    pub fn may_send(&self, window: &Window) -> bool {
        if self.reducing {
            return self.pipe() < self.prr.limit;
        }
        f64::from(self.pipe()) + 1.0 <= window.cwnd
    }

    /// An acknowledgement during a recovery that reduces the window bit by bit.
    pub fn reduce(&mut self, delivered: u32, progress: bool) {
        let pipe = self.pipe();
        self.prr
            .on_ack(delivered, pipe, progress, self.stats.packets_sent);
    }

    /// The 64-bit sequence number that `low` abbreviates: the one nearest to `una`.
    #[inline(always)]
    pub fn widen(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.una as u32).cast_signed();
        self.una.wrapping_add_signed(i64::from(ahead))
    }
}
