//! The sender of a subflow (RFC 8684, section 1.3): its state, sequence numbers, segments and timer,
//! and the counters of its record.

use weft_cc::Window;
use weft_transports::Profile;

use super::cwnd_usage::{CwndUsage, Outstanding};
use super::gate::SendGate;
use super::loss_probe::LossProbe;
use super::path::SubflowPath;
use super::reordering::Reordering;
use super::rounds::Rounds;
use super::rtt::RttEstimator;
use super::segments::Segments;
use super::send_sequence::SendSequence;
use super::state::SubflowState;
use super::timer::SubflowTimer;

/// The sender of a subflow. Its window is kept by the connection, together with those of the other
/// subflows.
pub struct SubflowSender {
    id: SubflowId,
    /// State of the subflow.
    pub state: SubflowState,
    /// Whether the subflow may hand packets to its host.
    pub gate: SendGate,
    /// Path to the other host.
    pub path: SubflowPath,
    /// Bytes that are acknowledged and sent.
    pub seq: SendSequence,
    /// The use of the window.
    pub usage: CwndUsage,
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
    stats: Stats,
}

/// The numbers that identify a subflow at its hosts.
struct SubflowId {
    /// Slot of the connection at this host.
    connection: u32,
    /// Number of the subflow in its connection.
    index: u32,
    /// Slot of the subflow's receiver at the other host.
    peer: u32,
}

/// Counters of a sender, and the times of its handshake.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Time at which the first SYN was sent.
    pub first_syn_at: u64,
    /// Time at which the handshake completed; `None` if it did not.
    pub established: Option<u64>,
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
    /// Time in rounds at whose end the send buffer was full, in picoseconds (`tcpi_sndbuf_limited`).
    pub sndbuf_limited: u64,
}

impl SubflowSender {
    /// Creates a subflow that is not opened yet.
    pub fn new(connection: u32, index: u32, path: SubflowPath, profile: &Profile) -> Self {
        Self {
            id: SubflowId {
                connection,
                index,
                peer: u32::MAX,
            },
            state: SubflowState::new(),
            gate: SendGate::default(),
            path,
            seq: SendSequence::from_profile(profile),
            usage: CwndUsage::default(),
            rounds: Rounds::default(),
            reordering: Reordering::from_profile(profile),
            segments: Segments::default(),
            rtt: RttEstimator::from_profile(profile),
            probe: LossProbe::from_profile(profile),
            timer: SubflowTimer::new(),
            stats: Stats::default(),
        }
    }

    /// Returns the packets in the network as far as the sender can tell.
    #[inline(always)]
    pub fn pipe(&self) -> u32 {
        self.segments.pipe().saturating_sub(self.reordering.reno_sacked())
    }

    /// Returns true if the window allows another packet. In a recovery with proportional rate
    /// reduction its window counts; after it, the target is the window (RFC 9937, section 6). A
    /// window between 0 and 1 allows one packet, which pacing delays.
    #[inline(always)]
    pub fn may_send(&self, window: &Window) -> bool {
        if let Some(prr) = self.state.prr() {
            return self.pipe() < prr.cwnd();
        }
        f64::from(self.pipe()) + 1.0 <= window.cwnd || (self.pipe() == 0 && window.cwnd > 0.0)
    }

    /// Records whether the window limits the sender, before an acknowledgement is applied.
    #[inline(always)]
    pub fn validate_cwnd(&mut self, window: &Window) {
        let outstanding = Outstanding {
            una: self.seq.una(),
            nxt: self.seq.nxt(),
            packets: self.segments.len(),
        };
        self.usage.validate(!self.may_send(window), &outstanding);
    }

    /// Handles an acknowledgement during a recovery with proportional rate reduction.
    pub fn on_prr_ack(&mut self, delivered: u32, progress: bool) {
        let pipe = self.pipe();
        if let Some(prr) = self.state.prr_mut() {
            prr.on_ack(delivered, pipe, progress, self.stats.packets_sent);
        }
    }

    /// Returns the slot of the connection at this host.
    #[inline(always)]
    pub fn connection(&self) -> u32 {
        self.id.connection
    }

    /// Returns the number of the subflow in its connection.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.id.index
    }

    /// Returns the slot of the subflow's receiver at the other host; `u32::MAX` before the SYN/ACK.
    #[inline(always)]
    pub fn peer(&self) -> u32 {
        self.id.peer
    }

    /// Sets the slot of the subflow's receiver at the other host.
    pub fn set_peer(&mut self, peer: u32) {
        self.id.peer = peer;
    }

    /// Returns the counters.
    #[inline(always)]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Records that a SYN is sent.
    pub fn on_syn_sent(&mut self, now: u64) {
        if self.stats.syn_timeouts == 0 {
            self.stats.first_syn_at = now;
        }
        self.state.on_syn_sent();
    }

    /// Opens the subflow: its handshake is complete.
    pub fn on_established(&mut self, now: u64) {
        self.stats.established = Some(now);
        self.state.open();
    }

    /// Counts a data packet that is sent.
    #[inline(always)]
    pub fn count_sent(&mut self) {
        self.stats.packets_sent += 1;
    }

    /// Counts a retransmission.
    pub fn count_retransmission(&mut self) {
        self.stats.retransmitted += 1;
    }

    /// Counts packets that were acknowledged with a mark.
    #[inline(always)]
    pub fn count_marked(&mut self, packets: u32) {
        self.stats.marked += u64::from(packets);
    }

    /// Counts a fast recovery.
    pub fn count_fast_retransmit(&mut self) {
        self.stats.fast_retransmits += 1;
    }

    /// Counts a timeout with data outstanding.
    pub fn count_timeout(&mut self) {
        self.stats.timeouts += 1;
    }

    /// Counts the round that ends at `now` as limited by the send buffer.
    pub fn count_sndbuf_limited(&mut self, now: u64) {
        let started = self.stats.established.unwrap_or(now).max(self.rounds.started());
        self.stats.sndbuf_limited += now - started;
    }

    /// Counts a timeout of the SYN.
    pub fn count_syn_timeout(&mut self) {
        self.stats.syn_timeouts += 1;
    }

    /// Frees the memory of a subflow whose slot is free.
    pub fn free(&mut self) {
        self.stats = Stats::default();
        self.segments.clear();
    }
}
