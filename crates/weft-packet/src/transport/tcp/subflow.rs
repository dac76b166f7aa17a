//! The sender of a subflow (RFC 8684, section 1.3): its state, sequence numbers, segments and timer,
//! the counters of its record, and its gate: the reasons that block its new data, its burst
//! (`tcp_tso_should_defer`) and its departure time (`tcp_update_skb_after_send`).

use weft_cc::Window;
use weft_transports::Profile;

use crate::engine::Context;

use super::congestion::{CwndUsage, Outstanding, Rounds};
use super::loss_detection::{LossProbe, Reordering};
use super::path::SubflowPath;
use super::rtt::RttEstimator;
use super::segments::Segments;
use super::send_data::SendSequence;
use super::state::SubflowState;
use super::timers::{SubflowTimer, TimerPurpose};

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

impl SubflowSender {
    /// Restarts the timer: for a loss probe while no segment is missing, if the profile has probes,
    /// else for the RTO.
    #[inline(always)]
    pub fn arm(&mut self, slot: u32, cx: &mut Context<'_>) {
        let mut wait = self.rtt.rto();
        let mut purpose = TimerPurpose::Retransmit;
        if self.probe.is_enabled()
            && self.state.is_open()
            && self.segments.sacked() == 0
            && !self.probe.is_outstanding()
        {
            // At most the RTO; without a sample there is none to go by (RFC 8985, section 7.2).
            let srtt = self.rtt.srtt();
            if srtt > 0 {
                wait = wait.min(self.probe.pto(srtt));
                purpose = TimerPurpose::LossProbe;
            }
        }
        self.timer.set_purpose(purpose);
        self.timer.set(cx.now + wait, slot, cx);
    }

    /// Returns when a probe is due according to the last transmission: new data restarts its timer,
    /// but not beyond the RTO of the first segment (RFC 8985, section 7.2). This is computed when
    /// the timer fires, so that sending costs nothing.
    pub fn loss_probe_due(&self) -> u64 {
        let wait = self.probe.pto(self.rtt.srtt());
        let rto = self.segments.head_sent_at().saturating_add(self.rtt.rto());
        self.segments.tail_sent_at().saturating_add(wait).min(rto)
    }

    /// Restarts the retransmission timer as it would run without a probe: from the last
    /// transmission of the first segment (`tcp_rearm_rto`).
    pub fn rearm_rto(&mut self, slot: u32, cx: &mut Context<'_>) {
        let deadline = self.segments.head_sent_at().saturating_add(self.rtt.rto());
        self.timer.set_purpose(TimerPurpose::Retransmit);
        self.timer.set(deadline.max(cx.now + 1), slot, cx);
    }
}

/// The reasons for which a subflow may send no new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockReasons(u8);

impl BlockReasons {
    /// The subflow waits for the NIC of its host or for pacing, as a flow that Linux calls throttled.
    pub const THROTTLED: Self = Self(1);
    /// Other subflows have replaced this one, which closes when all that it has sent is acknowledged.
    pub const DRAINING: Self = Self(2);
    /// The subflow waits until its window allows a longer burst (`tcp_tso_should_defer`).
    pub const TSO_DEFERRED: Self = Self(4);
    /// The path monitor has not selected the subflow, because its path is slow or other subflows suffice.
    pub const NOT_SELECTED: Self = Self(8);

    /// The union of both sets.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The reasons that block new data of a subflow, its burst (TSO) and its departure time (fq).
#[derive(Default)]
pub struct SendGate {
    reasons: BlockReasons,
    /// Packets that are left of the burst which was handed to the NIC.
    burst_left: u32,
    /// True if the packet that was admitted last ends a burst of several packets.
    ends_burst: bool,
    /// Earliest time at which pacing allows the next packet; 0 if the subflow is not paced.
    earliest_departure: u64,
}

impl SendGate {
    /// Returns true if nothing blocks the subflow.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.reasons.0 == 0
    }

    /// Returns true if any of the reasons holds.
    #[inline(always)]
    pub fn is_blocked_by(&self, reasons: BlockReasons) -> bool {
        self.reasons.0 & reasons.0 != 0
    }

    /// Adds a reason.
    #[inline(always)]
    pub fn block(&mut self, reason: BlockReasons) {
        self.reasons.0 |= reason.0;
    }

    /// Removes a reason. Returns whether it held.
    #[inline(always)]
    pub fn unblock(&mut self, reason: BlockReasons) -> bool {
        let held = self.is_blocked_by(reason);
        self.reasons.0 &= !reason.0;
        held
    }

    /// Takes a packet of the burst that was handed over whole. Returns false if none is left.
    #[inline(always)]
    pub fn take_from_burst(&mut self) -> bool {
        if self.burst_left == 0 {
            return false;
        }
        self.burst_left -= 1;
        self.ends_burst = self.burst_left == 0;
        true
    }

    /// Returns true if the packet that was admitted last ends a burst of several packets.
    #[inline(always)]
    pub fn ends_burst(&self) -> bool {
        self.ends_burst
    }

    /// Starts a burst, of which `left` packets follow the first one.
    #[inline(always)]
    pub fn start_burst(&mut self, left: u32) {
        (self.burst_left, self.ends_burst) = (left, false);
    }

    /// Handles an acknowledgement if data leaves in bursts: the window may now allow a longer one.
    #[inline(always)]
    pub fn on_ack(&mut self) {
        self.reasons.0 &= !BlockReasons::TSO_DEFERRED.0;
        self.burst_left = 0;
    }

    /// Returns the earliest time at which pacing allows the next packet.
    #[inline(always)]
    pub fn earliest_departure(&self) -> u64 {
        self.earliest_departure
    }

    /// Lets the next packet leave at `now`: the packet that is sent is not paced.
    pub fn skip_pacing(&mut self, now: u64) {
        self.earliest_departure = now;
    }

    /// Updates the departure time of the next packet when a packet is sent at `now`, which takes
    /// this interval. Half of a packet's delay beyond its departure time is made up for
    /// (`tcp_update_skb_after_send`).
    pub fn pace(&mut self, interval: u64, now: u64) {
        let due = self.earliest_departure.max(now);
        let late = due - self.earliest_departure;
        self.earliest_departure = due.saturating_add(interval - late.min(interval / 2));
    }
}

/// A set of subflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubflowMask(u64);

impl SubflowMask {
    /// Returns true if the set contains subflow `s`.
    pub fn contains(self, s: u32) -> bool {
        self.0 >> s & 1 == 1
    }

    /// Returns true if the set has no subflow.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds subflow `s`.
    pub fn insert(&mut self, s: u32) {
        self.0 |= 1 << s;
    }

    /// Returns the union of both sets.
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if a subflow is in both sets.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl FromIterator<u32> for SubflowMask {
    fn from_iter<I: IntoIterator<Item = u32>>(subflows: I) -> Self {
        let mut mask = Self::default();
        subflows.into_iter().for_each(|s| mask.insert(s));
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_packet_of_several_ends_a_burst() {
        let mut gate = SendGate::default();
        for packets in [1, 3, 1, 2] {
            gate.start_burst(packets - 1);
            assert!(!gate.ends_burst(), "the first of {packets}");
            for left in (0..packets - 1).rev() {
                assert!(gate.take_from_burst());
                assert_eq!(gate.ends_burst(), left == 0, "{left} of {packets} are left");
            }
            assert!(!gate.take_from_burst());
        }
    }
}
