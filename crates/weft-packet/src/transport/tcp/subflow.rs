//! The sender of a subflow.

use weft_cc::Window;
use weft_spec::Profile;

use super::gate::SendGate;
use super::loss_probe::LossProbe;
use super::path::SubflowPath;
use super::prr::Prr;
use super::rack::Rack;
use super::rounds::Rounds;
use super::rtt::RttEstimator;
use super::segments::Segments;
use super::timer::SubflowTimer;
use super::undo::Undo;

/// The state of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Closed, or not opened yet.
    Closed,
    /// SYN sent.
    SynSent,
    /// A join whose third handshake packet is not acknowledged yet (RFC 8684, figure 8).
    PreEstablished,
    /// Established, nothing lost.
    Open,
    /// Fast recovery, until `recover` is acknowledged.
    Recovery,
    /// After a timeout, until `recover` is acknowledged.
    Loss,
}

/// The sender of a subflow. Its window is kept by the connection, together with those of the other
/// subflows.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct SubflowSender {
    /// Slot of the connection at this host.
    pub connection: u32,
    /// Number of the subflow in its connection.
    pub index: u32,
    /// Slot of the subflow's receiver at the other host.
    pub peer: u32,
    /// State of the subflow.
    pub state: State,
    /// True if the next retransmission is sent even if the window does not allow it.
    pub force_retransmit: bool,
    /// True if retransmissions wait for the acknowledgements of new data (F-RTO).
    pub frto_waiting: bool,
    /// True if proportional rate reduction is active.
    pub prr_active: bool,
    /// True while a timeout may still prove spurious (F-RTO).
    pub frto: bool,
    /// Whether the subflow may hand packets to its host.
    pub gate: SendGate,
    /// Path to the other host.
    pub path: SubflowPath,
    /// First byte that is not acknowledged.
    pub una: u64,
    /// Next byte to send.
    pub nxt: u64,
    /// Recovery ends when this byte is acknowledged.
    pub recover: u64,
    /// Rounds, and cuts because of marks.
    pub rounds: Rounds,
    /// Number of consecutive duplicate acknowledgements.
    pub dupacks: u32,
    /// Number of duplicate acknowledgements that indicates a loss.
    pub dupack_threshold: u32,
    /// Segments that have left the network according to duplicate acknowledgements, without SACK
    /// (Linux's `tcp_add_reno_sack`).
    pub reno_sacked: u32,
    /// Outstanding segments.
    pub segments: Segments,
    /// RTT and RTO.
    pub rtt: RttEstimator,
    /// Tail loss probes.
    pub probe: LossProbe,
    /// First byte that was not acknowledged at the last timeout.
    pub una_at_timeout: u64,
    /// RACK's reordering window.
    pub rack: Rack,
    /// State of the current rate reduction.
    pub prr: Prr,
    /// State to restore if nothing was lost.
    pub undo: Undo,
    /// The timer.
    pub timer: SubflowTimer,
    /// Time at which the first SYN was sent.
    pub syn_sent: u64,
    /// Counters.
    pub stats: Stats,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Time at which the handshake completed; `u64::MAX` if it did not.
    pub established: u64,
    /// Data packets sent, including retransmissions.
    pub packets_sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Packets acknowledged with a mark.
    pub marked: u64,
    /// Number of fast recoveries.
    pub fast_retransmits: u64,
    /// Timeouts with data outstanding.
    pub timeouts: u64,
    /// Timeouts of the SYN.
    pub syn_timeouts: u64,
}

impl SubflowSender {
    /// Creates a subflow that is not opened yet.
    pub fn new(connection: u32, index: u32, path: SubflowPath, profile: &Profile) -> Self {
        Self {
            connection,
            index,
            peer: u32::MAX,
            state: State::Closed,
            force_retransmit: false,
            frto_waiting: false,
            prr_active: false,
            frto: false,
            gate: SendGate::default(),
            path,
            una: 0,
            nxt: 0,
            recover: 0,
            rounds: Rounds::default(),
            dupacks: 0,
            dupack_threshold: profile.dupack_threshold,
            reno_sacked: 0,
            segments: Segments::default(),
            rtt: RttEstimator::from_profile(profile),
            probe: LossProbe::from_profile(profile),
            una_at_timeout: u64::MAX,
            rack: Rack::default(),
            prr: Prr::default(),
            undo: Undo::default(),
            timer: SubflowTimer::new(),
            syn_sent: 0,
            stats: Stats {
                established: u64::MAX,
                ..Stats::default()
            },
        }
    }

    /// Returns the packets in the network as far as the sender can tell.
    #[inline(always)]
    pub fn pipe(&self) -> u32 {
        self.segments.pipe().saturating_sub(self.reno_sacked)
    }

    /// Returns true if the window allows another packet.
    #[inline(always)]
    pub fn may_send(&self, window: &Window) -> bool {
        if self.prr_active {
            return self.pipe() < self.prr.cwnd;
        }
        f64::from(self.pipe()) + 1.0 <= window.cwnd
    }

    /// Handles an acknowledgement during a recovery with proportional rate reduction.
    pub fn on_prr_ack(&mut self, delivered: u32, progress: bool) {
        let pipe = self.pipe();
        self.prr
            .on_ack(delivered, pipe, progress, self.stats.packets_sent);
    }

    /// Expands the low 32 bits of a sequence number to the 64-bit number that is nearest to `una`.
    #[inline(always)]
    pub fn expand_seq(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.una as u32).cast_signed();
        self.una.wrapping_add_signed(i64::from(ahead))
    }
}
