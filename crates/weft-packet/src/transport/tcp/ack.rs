//! A sender's handling of acknowledgements.

use weft_cc::{Ack, CongestionControl, Echo, Elapsed};
use weft_spec::{Profile, Recovery, RoundEnd};

use crate::packet::{COUNT_MASK, COUNT_SHIFT, DSACK, ECE, Packet, RETRANSMIT};
use crate::transport::state::HostContext;

use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::gate::BlockReasons;
use super::newreno;
use super::recovery::{
    detect_rack_losses, enter_if_lost, on_ack_after_timeout, on_ack_in_fast_recovery, on_dsack,
    on_probe_acknowledged,
};
use super::scatter_phase::close_drained;
use super::segments::Acked;
use super::state::Frto;
use super::subflow::SubflowSender;
use super::verdict::TimeoutAck;

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

/// Returns the number of packets that a duplicate acknowledgement reports as marked: one, or the
/// number that it counts.
#[inline(always)]
fn marked_by_duplicate(echo: Echo, flags: u16) -> u32 {
    marked(
        echo,
        flags,
        if echo == Echo::Count { COUNT_MASK.into() } else { 1 },
    )
}

impl TcpEndpoint {
    /// Handles an acknowledgement.
    #[inline(always)]
    pub fn on_ack(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let slot = packet.slot;
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection();
        let connection = &mut self.connections[index as usize];
        if !subflow.state.is_established() {
            return;
        }
        self.qdisc.on_ack(subflow);
        let mut joins = false;
        if connection.data.is_advanced_by(packet.chunk) {
            // A full receive window may have blocked any subflow.
            let was_full = connection.data.advance(packet.chunk);
            connection.rotation.check_all_if(was_full);
            joins = connection.joins.starts_at(packet.chunk);
        }
        let ack = subflow.seq.expand(packet.seq);
        if ack > subflow.seq.una() && ack <= subflow.seq.nxt() {
            self.on_new_ack(packet, ack, cx);
        } else if ack == subflow.seq.una() {
            if !subflow.segments.is_empty() {
                self.on_duplicate_ack(packet, cx);
            } else if subflow.probe.is_outstanding() || packet.flags & DSACK != 0 {
                self.on_late_duplicate(packet, cx);
            }
        }
        if joins {
            self.open_joins(index, cx);
        }
        let connection = &self.connections[index as usize];
        if !connection.data.is_acknowledged() || !self.finish_if_done(index, cx) {
            self.transmit_pending(index, slot, cx);
            let subflow = &mut self.subflows[slot as usize];
            if subflow.state.awaits_new_data() && subflow.seq.nxt() == subflow.state.recover() {
                // Without new data to send, the conventional recovery continues (RFC 5682, section
                // 3.1, step 2b).
                subflow.state.set_frto(Frto::Off);
                self.transmit_pending(index, slot, cx);
            }
        }
    }

    #[inline(always)]
    fn on_new_ack(&mut self, packet: &Packet, ack: u64, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection() as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let s = subflow.index() as usize;
        let used = subflow.pipe();
        let lost_before = subflow.segments.lost_unsent();
        let acked = subflow
            .segments
            .acknowledge(packet.seq, cx.now, subflow.rtt.min_rtt_or_zero());
        subflow.seq.advance(ack);
        let sacked = if packet.lo == packet.hi {
            Acked::default()
        } else {
            apply_sack(subflow, packet, profile, cx.now)
        };
        let rtt = sample_rtt(connection, subflow, profile, packet, &acked, &sacked, cx.now);
        let reno_sacked = subflow
            .reordering
            .on_advance(acked.packets, subflow.segments.len());
        if subflow.probe.is_outstanding() {
            let duplicate = packet.flags & DSACK != 0;
            on_probe_acknowledged(connection, subflow, ack, duplicate, cx.now);
        }
        if packet.flags & DSACK != 0 && profile.recovery == Recovery::Rack {
            on_dsack(connection, subflow, packet, cx.now);
        }
        let was_open = subflow.state.is_open();
        if subflow.state.is_fast_recovery() {
            on_ack_in_fast_recovery(connection, subflow, profile, ack, true);
        } else if !was_open {
            let timeout_ack = timeout_ack(subflow, packet, Some(ack), &acked, &sacked);
            on_ack_after_timeout(connection, subflow, profile, &timeout_ack, cx.now);
        }
        let mut drained = false;
        if subflow.segments.is_empty() {
            subflow.timer.stop();
            drained = subflow.gate.is_blocked_by(BlockReasons::DRAINING) && connection.queued(s) == 0;
        } else {
            subflow.arm(packet.slot, cx);
        }
        if profile.recovery == Recovery::Rack && subflow.segments.any_out_of_order() {
            detect_rack_losses(connection, subflow, profile, packet.slot, cx);
        }
        // Segments that were sacked before have been counted: RFC 6675 removes them from the pipe
        // then. Without selective acknowledgements, an acknowledgement that fills a hole counts as
        // one segment (RFC 5681, equation 2; RFC 3465, section 2.3).
        let delivered = acked.delivered + sacked.delivered;
        let counted = if profile.recovery == Recovery::NewReno && !was_open {
            1
        } else {
            delivered
        };
        let marked = marked(connection.congestion.echo(), packet.flags, delivered);
        subflow.rounds.count(delivered, marked);
        subflow.count_marked(marked);
        let reacts = profile.react_after_last_data || connection.data.has_unsent();
        let beyond = profile.round_end == RoundEnd::Rfc8257;
        if subflow.rounds.is_ended_by(ack, beyond) {
            end_round(connection, subflow, reacts, cx.now);
        }
        // A window that is used only in part is not grown (RFC 7661).
        let limited = f64::from(used * 2) >= connection.windows()[s].cwnd;
        let after_cut = profile.grow_after_mark || subflow.rounds.is_after_cut(ack);
        let report = Ack {
            acked: counted,
            marked,
            may_grow: counted > 0 && !subflow.state.is_fast_recovery() && limited && after_cut,
            rtt,
            now: Elapsed(cx.now - connection.lifetime.opened()),
        };
        connection.notify_cc(cx.now, |cc, windows| cc.on_ack(windows, s, report));
        if reacts {
            cut_if_marked(connection, subflow, packet, ack, cx.now);
        }
        enter_if_lost(connection, subflow, profile, packet.slot, cx);
        if subflow.state.prr().is_some() {
            let delivered = if profile.recovery == Recovery::NewReno {
                acked.packets.saturating_sub(reno_sacked).max(1)
            } else {
                delivered
            };
            let progress = subflow.segments.lost_unsent() <= lost_before;
            subflow.on_prr_ack(delivered, progress);
        }
        if drained {
            close_drained(connection, subflow, cx.now);
        }
    }

    fn on_duplicate_ack(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let now = cx.now;
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection() as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let s = subflow.index() as usize;
        let mut sacked = Acked::default();
        if packet.lo != packet.hi {
            sacked = apply_sack(subflow, packet, profile, now);
            // The sacked segment was sent before the last transmission of the first segment, for
            // which the timer therefore runs.
            if sacked.first < subflow.segments.head_sent_at() && profile.recovery == Recovery::Rack {
                sample_rtt(
                    connection,
                    subflow,
                    profile,
                    packet,
                    &Acked::default(),
                    &sacked,
                    now,
                );
                subflow.arm(packet.slot, cx);
            }
        }
        on_copies(connection, subflow, profile, packet, sacked.delivered == 0, now);
        // Only an acknowledgement with new information counts (RFC 6675, section 2, "DupAck").
        let counts = profile.recovery == Recovery::NewReno || sacked.delivered > 0;
        subflow.reordering.on_duplicate(counts);
        if subflow.state.is_fast_recovery() {
            let una = subflow.seq.una();
            on_ack_in_fast_recovery(connection, subflow, profile, una, false);
        } else if subflow.state.is_loss_recovery() {
            let acked = Acked::default();
            let timeout_ack = timeout_ack(subflow, packet, None, &acked, &sacked);
            on_ack_after_timeout(connection, subflow, profile, &timeout_ack, cx.now);
        }
        if profile.recovery == Recovery::Rack && subflow.segments.any_out_of_order() {
            detect_rack_losses(connection, subflow, profile, packet.slot, cx);
        }
        let marked = marked_by_duplicate(connection.congestion.echo(), packet.flags);
        let marked_and_new = marked.min(sacked.delivered);
        subflow.rounds.count(sacked.delivered, marked_and_new);
        subflow.count_marked(marked_and_new);
        let report = Ack {
            acked: sacked.delivered,
            marked,
            may_grow: false,
            rtt: 0.0,
            now: Elapsed(now - connection.lifetime.opened()),
        };
        connection.notify_cc(now, |cc, windows| cc.on_ack(windows, s, report));
        if profile.react_after_last_data || connection.data.has_unsent() {
            let ack = subflow.seq.una();
            cut_if_marked(connection, subflow, packet, ack, now);
        }
        match profile.recovery {
            Recovery::NewReno => newreno::on_duplicate(subflow, profile),
            Recovery::Sack if subflow.state.is_open() && subflow.reordering.indicates_loss() => {
                subflow.segments.mark_head_lost();
            }
            Recovery::Sack | Recovery::Rack => {}
        }
        enter_if_lost(connection, subflow, profile, packet.slot, cx);
        if subflow.state.prr().is_some() {
            let delivered = if profile.recovery == Recovery::NewReno {
                1
            } else {
                sacked.delivered
            };
            subflow.on_prr_ack(delivered, false);
        }
    }

    /// Handles an acknowledgement without new information that arrives while nothing is
    /// outstanding: it reports that retransmitted data had arrived before.
    #[cold]
    fn on_late_duplicate(&mut self, packet: &Packet, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection() as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        on_copies(connection, subflow, profile, packet, true, cx.now);
    }
}

/// Handles what an acknowledgement that does not advance reports about retransmissions. With
/// `nothing_new`, both copies of a probe have arrived (RFC 8985, section 7.4.2).
#[inline(always)]
fn on_copies(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    packet: &Packet,
    nothing_new: bool,
    now: u64,
) {
    if subflow.probe.is_outstanding() && nothing_new {
        on_probe_acknowledged(connection, subflow, subflow.seq.una(), true, now);
    }
    if packet.flags & DSACK != 0 && profile.recovery == Recovery::Rack {
        on_dsack(connection, subflow, packet, now);
    }
}

/// Returns what an acknowledgement reports after a timeout: that all bytes before `ack` have
/// arrived, or nothing cumulative.
#[cold]
fn timeout_ack<'a>(
    subflow: &SubflowSender,
    packet: &Packet,
    ack: Option<u64>,
    acked: &'a Acked,
    sacked: &'a Acked,
) -> TimeoutAck<'a> {
    TimeoutAck {
        ack: ack.unwrap_or(subflow.seq.una()),
        advanced: ack.is_some(),
        echoes_retransmission: packet.flags & RETRANSMIT != 0,
        sacked_to: subflow.seq.expand(packet.hi),
        acked,
        sacked,
    }
}

/// Ends a round, at which congestion control may suppress or release subflows, unless `reacts` is
/// false.
fn end_round(connection: &mut ConnectionSender, subflow: &mut SubflowSender, reacts: bool, now: u64) {
    let round = subflow.rounds.start_next(subflow.seq.nxt());
    if !reacts {
        return;
    }
    let s = subflow.index() as usize;
    connection.notify_cc_and_check_suppression(now, |cc, windows| cc.on_round(windows, s, round));
    connection.rotation.set_checks_all(true);
}

/// Makes the algorithm cut at the first mark of data that was sent after the last cut. Earlier
/// data, to the last segment, saw the queue as it was before the cut (RFC 8257, section 3.3, step
/// 3). RFC 3168's echo lasts until CWR has arrived.
#[inline(always)]
fn cut_if_marked(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    packet: &Packet,
    ack: u64,
    now: u64,
) {
    let echoed = packet.flags & ECE != 0;
    let counts = echoed
        && subflow.rounds.is_after_cut(ack)
        && !(subflow.state.is_fast_recovery() || subflow.state.is_loss_recovery());
    let s = subflow.index() as usize;
    if counts && connection.congestion.reacts_to_mark(s) {
        subflow.rounds.on_cut(subflow.seq.nxt());
        connection.notify_cc(now, |cc, windows| cc.on_mark(windows, s));
    }
}

/// Records the range beyond a hole that an acknowledgement reports.
#[cold]
fn apply_sack(subflow: &mut SubflowSender, packet: &Packet, profile: &Profile, now: u64) -> Acked {
    let sacked = subflow
        .segments
        .sack(packet.lo, packet.hi, now, subflow.rtt.min_rtt_or_zero());
    if sacked.delivered > 0 && profile.recovery == Recovery::Sack {
        subflow
            .segments
            .mark_lost_by_dupthresh(subflow.reordering.threshold());
    }
    sacked
}

/// Takes an RTT sample if the acknowledgement allows one, and returns it in seconds, else 0. The
/// estimator's sample is that of the first segment newly acknowledged (RFC 7323, section 4.3); the
/// sample for the minimum and for congestion control is that of the last one.
///
/// An acknowledgement of retransmitted data gives no sample (Karn), because data behind it may have
/// waited for it, unless timestamps show which copy was acknowledged.
#[inline(always)]
fn sample_rtt(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    profile: &Profile,
    packet: &Packet,
    acked: &Acked,
    sacked: &Acked,
    now: u64,
) -> f64 {
    let (first, last) = if acked.first != u64::MAX && !acked.retransmitted {
        (acked.first, acked.last)
    } else {
        let Some(sent) = sample_ambiguous_rtt(subflow, profile, packet, acked, sacked, now) else {
            return 0.0;
        };
        sent
    };
    subflow.rtt.sample(now - first);
    subflow.rtt.update_min(now - last);
    let srtt = subflow.rtt.srtt() as f64 * 1e-12;
    let min_rtt = subflow.rtt.min_rtt() as f64 * 1e-12;
    connection
        .congestion
        .set_rtt(subflow.index() as usize, srtt, min_rtt);
    (now - last) as f64 * 1e-12
}

/// Returns when the first and the last segment that an acknowledgement covers were sent, although
/// some of it was retransmitted.
#[cold]
fn sample_ambiguous_rtt(
    subflow: &SubflowSender,
    profile: &Profile,
    packet: &Packet,
    acked: &Acked,
    sacked: &Acked,
    now: u64,
) -> Option<(u64, u64)> {
    if sacked.first != u64::MAX && !sacked.retransmitted {
        return Some((sacked.first, sacked.last));
    }
    if !profile.timestamps || !acked.retransmitted {
        return None;
    }
    let sent = if packet.flags & RETRANSMIT != 0 {
        // Of several retransmissions, an earlier one may have arrived; if the time since the last
        // one is shorter than any RTT, the last one cannot have.
        let last = acked.head_retransmitted_at;
        (last != u64::MAX && now - last >= subflow.rtt.min_rtt_or_zero()).then_some(last)
    } else {
        let undo = &subflow.state.undo;
        let is_first_copy =
            subflow.state.is_loss_recovery() && undo.end().is_some_and(|end| subflow.seq.una() <= end);
        undo.head_sent_at().filter(|_| is_first_copy)
    };
    sent.map(|sent| (sent, sent))
}
