//! What a sender does on acknowledgements and timeouts, and how it sends.

use weft_cc::{Ack, CongestionControl, Echo, Elapsed};
use weft_spec::{Profile, Recovery};

use crate::engine::At;
use crate::engine::packet::{AGAIN, COUNT_MASK, COUNT_SHIFT, CWR, DATA, DUPLICATE, ECE, ECT, LAST, Packet};

use super::connection::{Connection, UNLIMITED};
use super::host::Host;
use super::nic::Lines;
use super::recovery::{News, enter_if_lost, lose_overtaken, on_duplicate, on_news};
use super::scattering::close_drained;
use super::segments::{Acked, Segment};
use super::subflow::{DRAINS, State, Subflow};
use super::timers::on_probe_acknowledged;

/// Packets that an acknowledgement reports as marked, of `acked` that it acknowledges.
#[inline(always)]
fn marked(echo: Echo, flags: u16, acked: u32) -> u32 {
    match echo {
        _ if flags & ECE == 0 => 0,
        Echo::Off => 0,
        Echo::Classic | Echo::Dctcp => acked,
        Echo::Count => u32::from(flags >> COUNT_SHIFT & COUNT_MASK).min(acked),
    }
}

/// Packets that a duplicate reports as marked: the one that made the receiver send it, or as many as it counts.
#[inline(always)]
fn marked_by_duplicate(echo: Echo, flags: u16) -> u32 {
    marked(
        echo,
        flags,
        if echo == Echo::Count { COUNT_MASK.into() } else { 1 },
    )
}

impl Host {
    /// An acknowledgement arrived.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, packet: &Packet, at: &mut At<'_>) {
        let slot = packet.slot;
        let subflow = &mut self.subflows[slot as usize];
        let index = subflow.connection;
        let connection = &mut self.connections[index as usize];
        if matches!(subflow.state, State::Closed | State::SynSent | State::Confirming) {
            return;
        }
        let mut joins = false;
        if packet.chunk > connection.una {
            // A full receive window may have held back any subflow.
            connection.look_at_all |= connection.next - connection.una >= connection.receive_window;
            connection.una = packet.chunk;
            joins = connection.una >= connection.join_at;
        }
        let ack = subflow.widen(packet.seq);
        if ack > subflow.una && ack <= subflow.nxt {
            self.on_new_ack(packet, ack, at);
        } else if ack == subflow.una && !subflow.segments.is_empty() {
            self.on_duplicate_ack(packet, at);
        }
        if joins {
            self.open_joins(index, at);
        }
        let connection = &self.connections[index as usize];
        if connection.una != connection.total || !self.finish_if_done(index, at) {
            self.pump(index, slot, at);
            let subflow = &mut self.subflows[slot as usize];
            if subflow.hold && subflow.nxt == subflow.recover {
                // There was no new data to try: the conventional recovery goes on (RFC 5682, section 3.1, step 2b).
                subflow.hold = false;
                subflow.frto = false;
                self.pump(index, slot, at);
            }
        }
    }

    #[inline(always)]
    fn on_new_ack(&mut self, packet: &Packet, ack: u64, at: &mut At<'_>) {
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let s = subflow.index as usize;
        let used = subflow.pipe();
        let missing = subflow.segments.missing();
        let acked = subflow
            .segments
            .acknowledge(packet.seq, at.now, subflow.rtt.least_or_none());
        subflow.una = ack;
        let sacked = if packet.lo == packet.hi {
            Acked::default()
        } else {
            sack(subflow, packet, profile, at.now)
        };
        let rtt = sample(connection, subflow, profile, packet, &acked, &sacked, at.now);
        subflow.dupacks = 0;
        let departed = subflow.departed;
        subflow.departed = departed
            .saturating_sub(acked.packets - 1)
            .min(subflow.segments.len());
        if subflow.probe_end != 0 {
            let duplicate = packet.flags & DUPLICATE != 0;
            on_probe_acknowledged(connection, subflow, ack, duplicate, at.now);
        }
        if packet.flags & DUPLICATE != 0 && profile.recovery == Recovery::Rack {
            on_duplicate(connection, subflow, packet);
        }
        let recovering = subflow.state;
        if recovering != State::Open {
            let news = News {
                packet,
                ack,
                advanced: true,
                acked: &acked,
                sacked: &sacked,
            };
            on_news(connection, subflow, profile, &news);
        }
        let mut drained = false;
        if subflow.segments.is_empty() {
            subflow.deadline = u64::MAX;
            drained = subflow.held & DRAINS != 0 && !connection.holds(s);
        } else {
            subflow.arm(packet.slot, at);
        }
        if profile.recovery == Recovery::Rack && subflow.segments.any_out_of_order() {
            lose_overtaken(connection, subflow, profile, packet.slot, at);
        }
        // What was sacked before has been counted (RFC 6675 has it leave the pipe then). Without selective acknowledgements one that
        // fills a hole counts as one segment (RFC 5681, equation 2; RFC 3465, section 2.3).
        let delivered = acked.delivered + sacked.delivered;
        let counted = if profile.recovery == Recovery::NewReno && recovering != State::Open {
            1
        } else {
            delivered
        };
        let marked = marked(connection.echo, packet.flags, delivered);
        subflow.round.acked += delivered;
        subflow.round.marked += marked;
        subflow.stats.marked += u64::from(marked);
        let reacts = profile.react_to_the_last || connection.has_more();
        if ack >= subflow.round_end + u64::from(profile.round_ends_beyond) {
            end_round(connection, subflow, reacts, at.now);
        }
        // A window far from used is not grown (RFC 7661).
        let limited = f64::from(used * 2) >= connection.windows[s].cwnd;
        let after_cut = profile.grow_after_mark || ack > subflow.cut_end;
        let report = Ack {
            acked: counted,
            marked,
            may_grow: counted > 0 && subflow.state != State::Recovery && limited && after_cut,
            rtt,
            now: Elapsed(at.now - connection.opened),
        };
        connection.report(at.now, |cc, windows| cc.on_ack(windows, s, report));
        if reacts {
            cut_if_marked(connection, subflow, packet, ack, at.now);
        }
        enter_if_lost(connection, subflow, profile, packet.slot, at);
        if subflow.reducing {
            let delivered = if profile.recovery == Recovery::NewReno {
                acked.packets.saturating_sub(departed).max(1)
            } else {
                delivered
            };
            let progress = subflow.segments.missing() <= missing;
            subflow.reduce(delivered, progress);
        }
        if drained {
            close_drained(connection, subflow, at.now);
        }
    }

    fn on_duplicate_ack(&mut self, packet: &Packet, at: &mut At<'_>) {
        let now = at.now;
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let s = subflow.index as usize;
        let mut sacked = Acked::default();
        if packet.lo != packet.hi {
            sacked = sack(subflow, packet, profile, now);
            // Sent before the first segment was sent last, so that the timer runs for that.
            if sacked.first < subflow.segments.head_sent_at() && profile.recovery == Recovery::Rack {
                sample(
                    connection,
                    subflow,
                    profile,
                    packet,
                    &Acked::default(),
                    &sacked,
                    now,
                );
                subflow.arm(packet.slot, at);
            }
        }
        if subflow.probe_end != 0 && sacked.delivered == 0 {
            // Both copies of the probe have arrived (RFC 8985, section 7.4.2).
            on_probe_acknowledged(connection, subflow, subflow.una, true, now);
        }
        if packet.flags & DUPLICATE != 0 && profile.recovery == Recovery::Rack {
            on_duplicate(connection, subflow, packet);
        }
        // Only what tells something new counts (RFC 6675, section 2, "DupAck").
        let counts = profile.recovery == Recovery::NewReno || sacked.delivered > 0;
        subflow.dupacks += u32::from(counts);
        if subflow.state != State::Open {
            let news = News {
                packet,
                ack: subflow.una,
                advanced: false,
                acked: &Acked::default(),
                sacked: &sacked,
            };
            on_news(connection, subflow, profile, &news);
        }
        if profile.recovery == Recovery::Rack && subflow.segments.any_out_of_order() {
            lose_overtaken(connection, subflow, profile, packet.slot, at);
        }
        let marked = marked_by_duplicate(connection.echo, packet.flags);
        subflow.round.acked += sacked.delivered;
        subflow.round.marked += marked.min(sacked.delivered);
        let report = Ack {
            acked: sacked.delivered,
            marked,
            may_grow: false,
            rtt: 0.0,
            now: Elapsed(now - connection.opened),
        };
        connection.report(now, |cc, windows| cc.on_ack(windows, s, report));
        if profile.react_to_the_last || connection.has_more() {
            let ack = subflow.una;
            cut_if_marked(connection, subflow, packet, ack, now);
        }
        match profile.recovery {
            Recovery::NewReno => count_duplicate(subflow, profile),
            Recovery::Sack if subflow.state == State::Open && subflow.dupacks >= subflow.dupack_threshold => {
                subflow.segments.lose_first();
            }
            Recovery::Sack | Recovery::Rack => {}
        }
        enter_if_lost(connection, subflow, profile, packet.slot, at);
        if subflow.reducing {
            let delivered = if profile.recovery == Recovery::NewReno {
                1
            } else {
                sacked.delivered
            };
            subflow.reduce(delivered, false);
        }
    }

    /// Sends what windows allow: subflow `slot`'s lost segments, then new data by the scheduler.
    ///
    /// Only `slot` can have gained room, unless `look_at_all` says otherwise: at the end of a round, when algorithms
    /// change other subflows' windows, when a subflow opens or times out, and when the receive window was full.
    #[inline(always)]
    pub(super) fn pump(&mut self, index: u32, slot: u32, at: &mut At<'_>) {
        if self.connections[index as usize].traced {
            self.pump_on_record(index, slot, at);
        } else {
            self.send_what_may_go(index, slot, at);
        }
    }

    #[cold]
    fn pump_on_record(&mut self, index: u32, slot: u32, at: &mut At<'_>) {
        self.note_changes(index, at.now);
        self.send_what_may_go(index, slot, at);
        let connection = &self.connections[index as usize];
        if !connection.gives() {
            let &Connection { flow, next, .. } = connection;
            self.note_sent(flow, next, at.now);
        }
    }

    #[inline(always)]
    fn send_what_may_go(&mut self, index: u32, slot: u32, at: &mut At<'_>) {
        let connection = &mut self.connections[index as usize];
        if connection.gives() {
            self.send_what_was_given(index, slot, at);
            return;
        }
        if self.subflows[slot as usize].segments.any_to_resend() {
            resend(
                &mut self.lines,
                connection,
                &mut self.subflows[slot as usize],
                self.shared.transports[connection.transport as usize]
                    .profile
                    .header,
                slot,
                at,
            );
        }
        let transport = &self.shared.transports[connection.transport as usize];
        let profile = &transport.profile;
        let first = connection.first as usize;
        if connection.look_at_all {
            let n = connection.windows.len();
            connection.look_at_all = connection.awaits_join;
            for s in 0..n {
                if self.subflows[first + s].segments.any_to_resend() {
                    resend(
                        &mut self.lines,
                        connection,
                        &mut self.subflows[first + s],
                        profile.header,
                        (first + s) as u32,
                        at,
                    );
                }
            }
            while connection.has_data() {
                let Some(s) = connection.pick(transport.scheduler, &self.subflows[first..first + n]) else {
                    break;
                };
                let subflow = &mut self.subflows[first + s];
                if !self.lines.admit(connection, subflow, (first + s) as u32, at) {
                    continue;
                }
                let Some(chunk) = connection.take_chunk(s as u32) else {
                    break;
                };
                send_new(
                    connection,
                    subflow,
                    chunk,
                    profile.mss,
                    profile.header,
                    (first + s) as u32,
                    at,
                );
            }
            return;
        }
        let s = slot as usize - first;
        while connection.has_data() && connection.has_room(s, &self.subflows[slot as usize]) {
            let subflow = &mut self.subflows[slot as usize];
            if !self.lines.admit(connection, subflow, slot, at) {
                break;
            }
            let Some(chunk) = connection.take_chunk(s as u32) else {
                break;
            };
            connection.turn = if s + 1 == connection.windows.len() {
                0
            } else {
                s as u32 + 1
            };
            send_new(connection, subflow, chunk, profile.mss, profile.header, slot, at);
        }
    }

    /// Closes a connection whose data is all acknowledged. Is it over?
    pub(super) fn finish_if_done(&mut self, index: u32, at: &mut At<'_>) -> bool {
        let connection = &self.connections[index as usize];
        if connection.una != connection.total || connection.total == UNLIMITED {
            return false;
        }
        if connection.finished != u64::MAX {
            return true;
        }
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let outstanding = |s: &Subflow| !s.segments.is_empty();
        if !profile.ends_by_data_ack && self.subflows_of(connection).iter().any(outstanding) {
            return false;
        }
        let connection = &mut self.connections[index as usize];
        if connection.traced {
            self.end_trace(index, at.now);
        }
        let connection = &mut self.connections[index as usize];
        connection.finished = at.now;
        connection.note_suppression(at.now);
        connection.reinject = std::collections::VecDeque::new();
        connection.queues = None;
        let first = connection.first as usize;
        for s in 0..connection.windows.len() {
            let subflow = &mut self.subflows[first + s];
            subflow.state = State::Closed;
            subflow.deadline = u64::MAX;
            subflow.segments.clear();
            if connection.windows[s].established {
                connection.windows[s].established = false;
                connection.cc.on_close(&mut connection.windows, s);
            }
        }
        let flow = connection.flow;
        self.ended.push(index);
        self.acknowledged(flow, at);
        true
    }
}

/// A round ended: congestion control may suppress or release, unless nobody `reacts` any more.
fn end_round(connection: &mut Connection, subflow: &mut Subflow, reacts: bool, now: u64) {
    let round = std::mem::take(&mut subflow.round);
    subflow.round_end = subflow.nxt;
    if !reacts {
        return;
    }
    let s = subflow.index as usize;
    connection.report_and_look(now, |cc, windows| cc.on_round(windows, s, round));
    connection.look_at_all = true;
}

/// The first mark of what was sent after the last cut makes the algorithm cut. What was sent before saw the queue as it was
/// before, to the last segment (RFC 8257, section 3.3, step 3), and RFC 3168's echo lasts until CWR has arrived.
#[inline(always)]
fn cut_if_marked(connection: &mut Connection, subflow: &mut Subflow, packet: &Packet, ack: u64, now: u64) {
    let echoed = packet.flags & ECE != 0;
    if echoed && ack > subflow.cut_end && !matches!(subflow.state, State::Recovery | State::Loss) {
        subflow.cut_end = subflow.nxt;
        subflow.send_cwr = true;
        let s = subflow.index as usize;
        connection.report(now, |cc, windows| cc.on_mark(windows, s));
    }
}

/// A duplicate without selective acknowledgements. The third one starts fast retransmit, but not where the acknowledgement covers
/// no more than what was sent when the last recovery began: it may answer what was sent again (RFC 6582, section 3.2, step 1).
fn count_duplicate(subflow: &mut Subflow, profile: &Profile) {
    let beyond = subflow.recover == 0 || subflow.una > subflow.recover;
    if subflow.state == State::Open && subflow.dupacks >= subflow.dupack_threshold && beyond {
        subflow.segments.lose_first();
        subflow.departed = subflow.dupack_threshold - 1;
    }
    if (subflow.state == State::Recovery || subflow.segments.any_lost() || profile.limited_transmit && beyond)
        && subflow.state != State::Loss
    {
        subflow.departed = (subflow.departed + 1).min(subflow.segments.len());
    }
}

/// Notes what an acknowledgement reports beyond a hole.
#[cold]
fn sack(subflow: &mut Subflow, packet: &Packet, profile: &Profile, now: u64) -> Acked {
    let sacked = subflow
        .segments
        .sack(packet.lo, packet.hi, now, subflow.rtt.least_or_none());
    if sacked.delivered > 0 && profile.recovery == Recovery::Sack {
        subflow.segments.judge(subflow.dupack_threshold);
    }
    sacked
}

/// Takes an RTT sample if the acknowledgement allows one, and returns it in seconds, else 0. The estimator's is that of the first
/// segment newly acknowledged (RFC 7323, section 4.3), the minimum's and congestion control's that of the last.
///
/// Where something acknowledged was sent again it gives none (Karn), because what follows may have waited behind it, unless
/// timestamps tell which copy it was.
#[inline(always)]
fn sample(
    connection: &mut Connection,
    subflow: &mut Subflow,
    profile: &Profile,
    packet: &Packet,
    acked: &Acked,
    sacked: &Acked,
    now: u64,
) -> f64 {
    let (first, last) = if acked.first != u64::MAX && !acked.again {
        (acked.first, acked.last)
    } else {
        let Some(it) = sent_again(subflow, profile, packet, acked, sacked, now) else {
            return 0.0;
        };
        it
    };
    subflow.rtt.sample(now - first);
    subflow.rtt.note(now - last);
    let window = &mut connection.windows[subflow.index as usize];
    window.srtt = subflow.rtt.srtt() as f64 * 1e-12;
    window.min_rtt = subflow.rtt.least() as f64 * 1e-12;
    (now - last) as f64 * 1e-12
}

/// When what an acknowledgement covers was sent first and last, although some of it was sent again.
#[cold]
fn sent_again(
    subflow: &Subflow,
    profile: &Profile,
    packet: &Packet,
    acked: &Acked,
    sacked: &Acked,
    now: u64,
) -> Option<(u64, u64)> {
    if sacked.first != u64::MAX && !sacked.again {
        return Some((sacked.first, sacked.last));
    }
    if !profile.timestamps || !acked.again {
        return None;
    }
    let undo = &subflow.undo;
    let sent = if packet.flags & AGAIN != 0 {
        // Of several copies it may be an earlier one; sooner than ever it cannot be the last.
        let last = acked.head_again;
        (last != u64::MAX && now - last >= subflow.rtt.least_or_none()).then_some(last)
    } else {
        let first_copy = subflow.state == State::Loss && undo.armed && subflow.una <= undo.end;
        (first_copy && undo.head_sent_at != u64::MAX).then_some(undo.head_sent_at)
    };
    sent.map(|sent| (sent, sent))
}

/// Sends lost segments again as far as the window allows. The first one of a recovery goes at once (RFC 6675, section 5,
/// step 4.3), and so does the one that a partial acknowledgement asks for (RFC 6582).
pub fn resend(
    lines: &mut Lines,
    connection: &mut Connection,
    subflow: &mut Subflow,
    header: u32,
    slot: u32,
    at: &mut At<'_>,
) {
    if subflow.hold {
        return;
    }
    while subflow.urgent || subflow.may_send(&connection.windows[subflow.index as usize]) {
        if subflow.segments.any_to_resend() && !lines.admit(connection, subflow, slot, at) {
            return;
        }
        subflow.urgent = false;
        let Some(segment) = subflow.segments.resend(at.now) else {
            return;
        };
        subflow.stats.retransmitted += 1;
        transmit(connection, subflow, &segment, header, slot, at);
    }
}

/// Sends a chunk for the first time on this subflow.
#[inline(always)]
pub fn send_new(
    connection: &mut Connection,
    subflow: &mut Subflow,
    chunk: u32,
    mss: u32,
    header: u32,
    slot: u32,
    at: &mut At<'_>,
) {
    let len = connection.chunk_len(chunk, mss);
    let seq = subflow.nxt as u32;
    let segment = subflow.segments.push(seq, chunk, len, at.now);
    subflow.nxt += u64::from(len);
    transmit(connection, subflow, &segment, header, slot, at);
}

/// Puts a segment on the wire.
#[inline(always)]
pub fn transmit(
    connection: &mut Connection,
    subflow: &mut Subflow,
    segment: &Segment,
    header: u32,
    slot: u32,
    at: &mut At<'_>,
) {
    let mut flags = DATA;
    if connection.echo != Echo::Off {
        flags |= ECT;
        if subflow.send_cwr {
            flags |= CWR;
            subflow.send_cwr = false;
        }
    }
    if segment.chunk + 1 == connection.total {
        flags |= LAST;
        connection.start_to_close(at);
    }
    if segment.was_sent_before() {
        flags |= AGAIN;
        subflow.undo.on_copy();
    }
    subflow.stats.packets_sent += 1;
    if subflow.deadline == u64::MAX {
        subflow.arm(slot, at);
    }
    if let Some(wandering) = &mut subflow.wandering {
        subflow.route = wandering.next(at.now).unwrap_or(subflow.route);
    }
    at.send(&Packet {
        time: 0,
        route: subflow.route,
        slot: subflow.peer,
        seq: segment.seq,
        chunk: segment.chunk,
        lo: connection.flow,
        hi: subflow.index,
        size: (u32::from(segment.len) + header) as u16,
        flags,
    });
}
