//! What a sender does on acknowledgements and timeouts, and how it sends.

use weft_cc::{Ack, CongestionControl, Echo, Elapsed};
use weft_spec::Recovery;

use crate::engine::At;
use crate::engine::packet::{COUNT_MASK, COUNT_SHIFT, CWR, DATA, ECE, ECT, LAST, Packet};

use super::connection::{Connection, UNLIMITED};
use super::host::{Host, TimerKind, timer_key};
use super::segments::Segment;
use super::subflow::{State, Subflow};

impl Subflow {
    /// Starts the retransmission timer anew. The engine's timer is moved only when it would come too late: an earlier one
    /// finds on firing that the deadline has moved on.
    #[inline(always)]
    pub fn arm(&mut self, slot: u32, at: &mut At<'_>) {
        self.deadline = at.now + self.rtt.rto();
        if self.timer > self.deadline {
            self.timer = self.deadline;
            at.set_timer(self.deadline, timer_key(TimerKind::Retransmit, slot));
        }
    }
}

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
        if matches!(subflow.state, State::Closed | State::SynSent) {
            return;
        }
        if packet.chunk > connection.una {
            // A full receive window may have held back any subflow.
            connection.look_at_all |= connection.next - connection.una >= connection.receive_window;
            connection.una = packet.chunk;
        }
        let ack = subflow.widen(packet.seq);
        if ack > subflow.una && ack <= subflow.nxt {
            self.on_new_ack(packet, ack, at);
        } else if ack == subflow.una && !subflow.segments.is_empty() {
            self.on_duplicate_ack(packet, at.now);
        }
        let connection = &self.connections[index as usize];
        if connection.una != connection.total || !self.finish_if_done(index, at) {
            self.pump(index, slot, at);
        }
    }

    #[inline(always)]
    fn on_new_ack(&mut self, packet: &Packet, ack: u64, at: &mut At<'_>) {
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection as usize];
        let transport = &self.shared.transports[connection.transport as usize];
        let profile = &transport.profile;
        let s = subflow.index as usize;
        let used = subflow.pipe();
        let acked = subflow.segments.acknowledge(packet.seq);
        subflow.una = ack;
        let mut rtt = 0.0;
        if acked.sent_at != u64::MAX {
            subflow.rtt.sample(at.now - acked.sent_at);
            let window = &mut connection.windows[s];
            window.srtt = subflow.rtt.srtt() as f64 * 1e-12;
            rtt = (at.now - acked.sent_at) as f64 * 1e-12;
            if rtt < window.min_rtt || window.min_rtt == 0.0 {
                window.min_rtt = rtt;
            }
        }
        if subflow.segments.is_empty() {
            subflow.deadline = u64::MAX;
        } else {
            subflow.arm(packet.slot, at);
        }
        subflow.dupacks = 0;
        subflow.departed = subflow
            .departed
            .saturating_sub(acked.packets - 1)
            .min(subflow.segments.len());
        if packet.lo != packet.hi {
            subflow
                .segments
                .sack(packet.lo, packet.hi, profile.dupack_threshold);
        }
        if profile.recovery == Recovery::Rack {
            subflow.segments.lose_overtaken();
        }
        match subflow.state {
            State::Recovery | State::Loss if ack >= subflow.recover => {
                subflow.state = State::Open;
                subflow.departed = 0;
                connection.windows[s].in_recovery = false;
            }
            // A partial acknowledgement tells of the next hole (RFC 6582, section 3.2).
            State::Recovery if profile.recovery == Recovery::NewReno => {
                subflow.segments.lose_first();
                subflow.urgent = true;
            }
            _ => {}
        }
        let marked = marked(connection.echo, packet.flags, acked.packets);
        subflow.round.acked += acked.packets;
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
            acked: acked.packets,
            marked,
            may_grow: subflow.state != State::Recovery && limited && after_cut,
            rtt,
            now: Elapsed(at.now - connection.opened),
        };
        connection.report(at.now, |cc, windows| cc.on_ack(windows, s, report));
        if reacts {
            cut_if_marked(connection, subflow, packet, ack, at.now);
        }
        enter_recovery_if_lost(connection, subflow, at.now);
    }

    fn on_duplicate_ack(&mut self, packet: &Packet, now: u64) {
        let subflow = &mut self.subflows[packet.slot as usize];
        let connection = &mut self.connections[subflow.connection as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        subflow.dupacks += 1;
        if packet.lo != packet.hi {
            subflow
                .segments
                .sack(packet.lo, packet.hi, profile.dupack_threshold);
        }
        if profile.recovery == Recovery::Rack {
            subflow.segments.lose_overtaken();
        }
        let report = Ack {
            acked: 0,
            marked: marked_by_duplicate(connection.echo, packet.flags),
            may_grow: false,
            rtt: 0.0,
            now: Elapsed(now - connection.opened),
        };
        let s = subflow.index as usize;
        connection.report(now, |cc, windows| cc.on_ack(windows, s, report));
        if profile.react_to_the_last || connection.has_more() {
            let ack = subflow.una;
            cut_if_marked(connection, subflow, packet, ack, now);
        }
        if subflow.state == State::Open && subflow.dupacks >= profile.dupack_threshold {
            subflow.segments.lose_first();
            if profile.recovery == Recovery::NewReno {
                subflow.departed = profile.dupack_threshold - 1;
            }
        }
        if profile.recovery == Recovery::NewReno
            && (subflow.state == State::Recovery
                || subflow.dupacks == profile.dupack_threshold
                || profile.limited_transmit)
            && subflow.state != State::Loss
        {
            subflow.departed = (subflow.departed + 1).min(subflow.segments.len());
        }
        enter_recovery_if_lost(connection, subflow, now);
    }

    /// The retransmission timer expired (RFC 6298, section 5; RFC 5681, section 3.1).
    pub(super) fn on_timeout(&mut self, slot: u32, at: &mut At<'_>) {
        let subflow = &mut self.subflows[slot as usize];
        if subflow.segments.is_empty() || matches!(subflow.state, State::Closed | State::SynSent) {
            return;
        }
        let index = subflow.connection;
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let s = subflow.index;
        subflow.stats.timeouts += 1;
        subflow.rtt.back_off();
        subflow.arm(slot, at);
        subflow.segments.lose_all();
        subflow.dupacks = 0;
        subflow.departed = 0;
        subflow.state = State::Loss;
        subflow.recover = subflow.nxt;
        connection.windows[s as usize].in_recovery = true;
        // Every timeout counts as its segment's first, repeated ones too.
        let first = true;
        connection.report_and_look(at.now, |cc, windows| cc.on_timeout(windows, s as usize, first));
        if profile.reinject && connection.windows.len() > 1 {
            let una = connection.una;
            let waiting = &mut connection.reinject;
            for chunk in subflow.segments.unsacked_chunks().filter(|&chunk| chunk >= una) {
                if !waiting.iter().any(|&(c, _)| c == chunk) {
                    waiting.push_back((chunk, s));
                }
            }
        }
        connection.look_at_all = true;
        self.pump(index, slot, at);
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
        let Connection { flow, next, .. } = self.connections[index as usize];
        self.note_sent(flow, next, at.now);
    }

    #[inline(always)]
    fn send_what_may_go(&mut self, index: u32, slot: u32, at: &mut At<'_>) {
        let connection = &mut self.connections[index as usize];
        if self.subflows[slot as usize].segments.any_to_resend() {
            resend(
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
                let Some(chunk) = connection.take_chunk(s as u32) else {
                    break;
                };
                let subflow = &mut self.subflows[first + s];
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
            let Some(chunk) = connection.take_chunk(s as u32) else {
                break;
            };
            let subflow = &mut self.subflows[slot as usize];
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

/// Fast retransmit, if something is lost that was not known to be.
#[inline(always)]
fn enter_recovery_if_lost(connection: &mut Connection, subflow: &mut Subflow, now: u64) {
    if subflow.state == State::Open && subflow.segments.any_lost() {
        subflow.state = State::Recovery;
        subflow.recover = subflow.nxt;
        subflow.urgent = true;
        subflow.stats.fast_retransmits += 1;
        let s = subflow.index as usize;
        connection.windows[s].in_recovery = true;
        connection.report(now, |cc, windows| cc.on_fast_retransmit(windows, s));
    }
}

/// Sends lost segments again as far as the window allows. The first one of a recovery goes at once (RFC 6675, section 5,
/// step 4.3), and so does the one that a partial acknowledgement asks for (RFC 6582).
fn resend(connection: &mut Connection, subflow: &mut Subflow, header: u32, slot: u32, at: &mut At<'_>) {
    let cwnd = connection.windows[subflow.index as usize].cwnd;
    while subflow.urgent || f64::from(subflow.pipe()) + 1.0 <= cwnd {
        subflow.urgent = false;
        let Some(segment) = subflow.segments.resend(at.now) else {
            return;
        };
        subflow.stats.retransmitted += 1;
        transmit(connection, subflow, &segment, header, slot, at);
    }
}

#[inline(always)]
fn send_new(
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

#[inline(always)]
fn transmit(
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
    subflow.stats.packets_sent += 1;
    if subflow.deadline == u64::MAX {
        subflow.arm(slot, at);
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
