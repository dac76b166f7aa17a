//! An acknowledgement as its sender sees it: what it reports, and the state that it found. It is
//! built once, and the rules of [`ack`](super::ack) and [`recovery`](super::recovery) read it.

use weft_cc::Echo;
use weft_transports::{Profile, Recovery};

use crate::packet::{Packet, RETRANSMIT};

use super::segments::Acked;
use super::subflow::SubflowSender;
use super::wire::{COUNT_MASK, COUNT_SHIFT, DSACK, ECE, has_sack_block};

/// An acknowledgement, after its segments were marked as delivered.
#[derive(Clone, Copy)]
pub struct AckEvent {
    kind: AckKind,
    /// All bytes before this one have arrived.
    ack: u64,
    flags: u16,
    /// End of the selectively acknowledged range (low 32 bits).
    sack_end: u32,
    /// Segments covered cumulatively for the first time.
    acked: Acked,
    /// Segments covered selectively for the first time.
    sacked: Acked,
    /// Number of packets that it reports as marked.
    marked: u32,
    before: StateBefore,
}

/// Whether an acknowledgement covers more bytes than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckKind {
    /// The acknowledgement covers more bytes.
    Advance,
    /// The acknowledgement covers no more bytes. With `samples_rtt`, it still gives an RTT sample and
    /// restarts the timer.
    Duplicate { samples_rtt: bool },
}

/// The state of a subflow before an acknowledgement that advances. It is not read for a duplicate.
#[derive(Clone, Copy, Default)]
struct StateBefore {
    /// Packets in the network.
    pipe: u32,
    /// Segments that were lost and not retransmitted.
    lost_unsent: u32,
    /// Segments that had left the network according to duplicates.
    reno_sacked: u32,
    /// True if, without selective acknowledgements, the acknowledgement counts as all segments that no
    /// duplicate has counted, and not as one.
    counts_all: bool,
}

impl AckEvent {
    /// Applies an acknowledgement that advances: all bytes before `ack` have arrived.
    #[inline(always)]
    pub fn advance(
        subflow: &mut SubflowSender,
        packet: &Packet,
        ack: u64,
        profile: &Profile,
        echo: Echo,
        now: u64,
    ) -> Self {
        let mut before = StateBefore {
            pipe: subflow.pipe(),
            lost_unsent: subflow.segments.lost_unsent(),
            reno_sacked: 0,
            counts_all: subflow.state.is_open()
                || profile.window.count_all_after_timeout && subflow.state.is_loss_recovery(),
        };
        let min_rtt = subflow.rtt.min_rtt_or_zero();
        let acked = subflow.segments.acknowledge(packet.seq, now, min_rtt);
        subflow.seq.advance(ack);
        let sacked = apply_sack(subflow, packet, profile, now);
        before.reno_sacked = subflow
            .reordering
            .on_advance(acked.packets, subflow.segments.len());
        Self {
            kind: AckKind::Advance,
            ack,
            flags: packet.flags,
            sack_end: packet.hi,
            marked: marked(echo, packet.flags, acked.delivered + sacked.delivered),
            acked,
            sacked,
            before,
        }
    }

    /// Applies an acknowledgement that does not advance.
    #[inline(always)]
    pub fn duplicate(
        subflow: &mut SubflowSender,
        packet: &Packet,
        profile: &Profile,
        echo: Echo,
        now: u64,
    ) -> Self {
        let sacked = apply_sack(subflow, packet, profile, now);
        // The sacked segment was sent before the last transmission of the first segment, for which
        // the timer therefore runs.
        let samples_rtt =
            sacked.first < subflow.segments.head_sent_at() && profile.loss.recovery == Recovery::Rack;
        // Only an acknowledgement with new information counts (RFC 6675, section 2, "DupAck").
        let counts = profile.loss.recovery == Recovery::NewReno || sacked.delivered > 0;
        subflow.reordering.on_duplicate(counts);
        // It reports the mark of one packet, or the number that it counts.
        let max_marked = if echo == Echo::Count { COUNT_MASK.into() } else { 1 };
        Self {
            kind: AckKind::Duplicate { samples_rtt },
            ack: subflow.seq.una(),
            flags: packet.flags,
            sack_end: packet.hi,
            marked: marked(echo, packet.flags, max_marked),
            acked: Acked::default(),
            sacked,
            before: StateBefore::default(),
        }
    }

    /// Describes an acknowledgement that does not advance and reports nothing new, while nothing is
    /// outstanding.
    pub fn late_duplicate(subflow: &SubflowSender, packet: &Packet) -> Self {
        Self {
            kind: AckKind::Duplicate { samples_rtt: false },
            ack: subflow.seq.una(),
            flags: packet.flags,
            sack_end: packet.hi,
            marked: 0,
            acked: Acked::default(),
            sacked: Acked::default(),
            before: StateBefore::default(),
        }
    }

    /// Applies an acknowledgement that was overtaken by one of more bytes. Its ranges are new
    /// information (`old_ack` in `tcp_ack`).
    pub fn overtaken(subflow: &mut SubflowSender, packet: &Packet, profile: &Profile, now: u64) -> Self {
        Self {
            sacked: apply_sack(subflow, packet, profile, now),
            ..Self::late_duplicate(subflow, packet)
        }
    }

    /// Returns true if the acknowledgement covers more bytes than the one before.
    #[inline(always)]
    pub fn advances(&self) -> bool {
        self.kind == AckKind::Advance
    }

    /// Returns the byte before which all bytes have arrived.
    #[inline(always)]
    pub fn ack(&self) -> u64 {
        self.ack
    }

    /// Returns the segments covered cumulatively for the first time.
    #[inline(always)]
    pub fn acked(&self) -> &Acked {
        &self.acked
    }

    /// Returns the segments covered selectively for the first time.
    #[inline(always)]
    pub fn sacked(&self) -> &Acked {
        &self.sacked
    }

    /// Returns the end of the selectively acknowledged range (low 32 bits).
    pub fn sack_end(&self) -> u32 {
        self.sack_end
    }

    /// Returns true if it reports data that the receiver already had (D-SACK).
    #[inline(always)]
    pub fn reports_duplicate(&self) -> bool {
        self.flags & DSACK != 0
    }

    /// Returns true if it echoes the timestamp of a retransmission.
    #[inline(always)]
    pub fn echoes_retransmission(&self) -> bool {
        self.flags & RETRANSMIT != 0
    }

    /// Returns true if it echoes a mark.
    #[inline(always)]
    pub fn echoes_mark(&self) -> bool {
        self.flags & ECE != 0
    }

    /// Returns true if an RTT sample is taken from it, if its segments allow one, and the timer is
    /// restarted.
    #[inline(always)]
    pub fn samples_rtt(&self) -> bool {
        match self.kind {
            AckKind::Advance => true,
            AckKind::Duplicate { samples_rtt } => samples_rtt,
        }
    }

    /// Returns whether it shows that both copies of a loss probe have arrived; `None` if it shows
    /// nothing about a probe. A duplicate does if it reports nothing new (RFC 8985, section 7.4.2).
    #[inline(always)]
    pub fn probe_arrived_twice(&self) -> Option<bool> {
        match self.kind {
            AckKind::Advance => Some(self.reports_duplicate()),
            AckKind::Duplicate { .. } => (self.sacked.delivered == 0).then_some(true),
        }
    }

    /// Returns the number of segments that the receiver was not known to hold, and of those that it
    /// reports as duplicates: "A spurious retransmission is delivered" (`tcp_dsack_seen`). A
    /// duplicate is always one segment.
    #[inline(always)]
    pub fn delivered(&self) -> u32 {
        self.acked.delivered + self.sacked.delivered + u32::from(self.reports_duplicate())
    }

    /// Returns the number of packets that it reports as marked.
    #[inline(always)]
    pub fn marked(&self) -> u32 {
        self.marked
    }

    /// Returns the number of segments that are newly known to be delivered with a mark.
    #[inline(always)]
    pub fn newly_marked(&self) -> u32 {
        match self.kind {
            AckKind::Advance => self.marked,
            AckKind::Duplicate { .. } => self.marked.min(self.sacked.delivered),
        }
    }

    /// Returns the number of segments by which congestion control may grow the window.
    ///
    /// Segments that were sacked before have been counted: RFC 6675 removes them from the pipe
    /// then. Without selective acknowledgements, an acknowledgement that fills a hole counts as one
    /// segment (RFC 5681, section 3.1, equation (2); RFC 3465, section 2.3). One after duplicates
    /// counts as the segments that these did not count, and if the profile says so one after a timeout
    /// does, too (`tcp_remove_reno_sacks`).
    #[inline(always)]
    pub fn cc_acked(&self, profile: &Profile) -> u32 {
        if !self.advances() || profile.loss.recovery != Recovery::NewReno {
            self.delivered()
        } else if self.before.counts_all {
            self.beyond_duplicates()
        } else {
            1
        }
    }

    /// Returns the number of segments that an acknowledgement covers and that duplicates did not
    /// count, at least 1: the acknowledgement fills a hole.
    fn beyond_duplicates(&self) -> u32 {
        self.acked.packets.saturating_sub(self.before.reno_sacked).max(1)
    }

    /// Returns the number of segments that have left the network, for proportional rate reduction.
    /// Without selective acknowledgements, each duplicate stands for one segment.
    #[inline(always)]
    pub fn prr_delivered(&self, profile: &Profile) -> u32 {
        match self.kind {
            _ if profile.loss.recovery != Recovery::NewReno => self.delivered(),
            AckKind::Advance => self.beyond_duplicates(),
            AckKind::Duplicate { .. } => 1,
        }
    }

    /// Returns true if at least half of this window was used before (RFC 7661, section 4.2).
    #[inline(always)]
    pub fn was_half_used(&self, cwnd: f64) -> bool {
        f64::from(self.before.pipe * 2) >= cwnd
    }

    /// Returns true if the acknowledgement advanced and no more segments than before, `lost_unsent`,
    /// wait for a retransmission.
    #[inline(always)]
    pub fn makes_progress(&self, lost_unsent: u32) -> bool {
        self.advances() && lost_unsent <= self.before.lost_unsent
    }
}

/// Returns the number of packets that an acknowledgement reports as marked, of the `acked` packets
/// that it covers.
#[inline(always)]
fn marked(echo: Echo, flags: u16, acked: u32) -> u32 {
    match echo {
        _ if flags & ECE == 0 => 0,
        Echo::Off => 0,
        Echo::Classic | Echo::Dctcp => acked,
        Echo::Count => u32::from(flags >> COUNT_SHIFT & COUNT_MASK).min(acked),
    }
}

/// Records the range beyond a hole that an acknowledgement reports, if it reports one.
#[inline(always)]
fn apply_sack(subflow: &mut SubflowSender, packet: &Packet, profile: &Profile, now: u64) -> Acked {
    if has_sack_block(packet) {
        record_sack(subflow, packet, profile, now)
    } else {
        Acked::default()
    }
}

#[cold]
fn record_sack(subflow: &mut SubflowSender, packet: &Packet, profile: &Profile, now: u64) -> Acked {
    let min_rtt = subflow.rtt.min_rtt_or_zero();
    let sacked = subflow.segments.sack(packet.lo, packet.hi, now, min_rtt);
    if sacked.delivered > 0 && profile.loss.recovery == Recovery::Sack {
        subflow
            .segments
            .mark_lost_by_dupthresh(subflow.reordering.threshold());
        if subflow.state.is_fast_recovery() {
            subflow.segments.mark_lost_retransmissions();
        }
    }
    sacked
}

#[cfg(test)]
impl AckEvent {
    /// Creates an acknowledgement after which all bytes before `ack` have arrived and which covers
    /// these segments. `echo` says whether it echoes a retransmission.
    pub fn for_test(
        ack: u64,
        echoes_retransmission: bool,
        acked: Acked,
        sacked: Acked,
        sack_end: u32,
    ) -> Self {
        Self {
            kind: AckKind::Advance,
            ack,
            flags: if echoes_retransmission { RETRANSMIT } else { 0 },
            sack_end,
            acked,
            sacked,
            marked: 0,
            before: StateBefore::default(),
        }
    }
}
