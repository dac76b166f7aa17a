//! The sender of a subflow.

use weft_cc::Window;
use weft_spec::Profile;

use super::gate::SendGate;
use super::loss_probe::LossProbe;
use super::path::SubflowPath;
use super::reordering::Reordering;
use super::rounds::Rounds;
use super::rtt::RttEstimator;
use super::segments::Segments;
use super::state::SubflowState;
use super::timer::SubflowTimer;

/// The sender of a subflow. Its window is kept by the connection, together with those of the other
/// subflows.
pub struct SubflowSender {
    /// Slot of the connection at this host.
    pub connection: u32,
    /// Number of the subflow in its connection.
    pub index: u32,
    /// Slot of the subflow's receiver at the other host.
    pub peer: u32,
    /// State of the subflow.
    pub state: SubflowState,
    /// Whether the subflow may hand packets to its host.
    pub gate: SendGate,
    /// Path to the other host.
    pub path: SubflowPath,
    /// First byte that is not acknowledged.
    pub una: u64,
    /// Next byte to send.
    pub nxt: u64,
    /// Rounds, and cuts because of marks.
    pub rounds: Rounds,
    /// Signs of loss and reordering.
    pub reordering: Reordering,
    /// Outstanding segments.
    pub segments: Segments,
    /// RTT and RTO.
    pub rtt: RttEstimator,
    /// Tail loss probes.
    pub probe: LossProbe,
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
            state: SubflowState::new(),
            gate: SendGate::default(),
            path,
            una: 0,
            nxt: 0,
            rounds: Rounds::default(),
            reordering: Reordering::from_profile(profile),
            segments: Segments::default(),
            rtt: RttEstimator::from_profile(profile),
            probe: LossProbe::from_profile(profile),
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
        self.segments.pipe().saturating_sub(self.reordering.reno_sacked())
    }

    /// Returns true if the window allows another packet.
    #[inline(always)]
    pub fn may_send(&self, window: &Window) -> bool {
        if let Some(prr) = self.state.prr() {
            return self.pipe() < prr.cwnd();
        }
        f64::from(self.pipe()) + 1.0 <= window.cwnd
    }

    /// Handles an acknowledgement during a recovery with proportional rate reduction.
    pub fn on_prr_ack(&mut self, delivered: u32, progress: bool) {
        let pipe = self.pipe();
        if let Some(prr) = self.state.prr_mut() {
            prr.on_ack(delivered, pipe, progress, self.stats.packets_sent);
        }
    }

    /// Expands the low 32 bits of a sequence number to the 64-bit number that is nearest to `una`.
    #[inline(always)]
    pub fn expand_seq(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.una as u32).cast_signed();
        self.una.wrapping_add_signed(i64::from(ahead))
    }
}
