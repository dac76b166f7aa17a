//! Transmission: a sender first retransmits lost segments and then sends new data, as windows
//! allow.

use weft_cc::Echo;

use crate::engine::Context;
use crate::packet::{CWR, DATA, ECT, LAST, PUSH, Packet, RETRANSMIT};
use crate::transport::state::HostContext;

use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::nic::HostQdisc;
use super::segments::Segment;
use super::subflow::SubflowSender;
use super::timer::TimerPurpose;

impl TcpEndpoint {
    /// Sends what windows allow: the lost segments of subflow `slot`, then new data, which the
    /// scheduler distributes.
    ///
    /// Only `slot` can have become able to send, unless all subflows are to be checked. It is set at
    /// the end of a round, when algorithms change the windows of other subflows, and when the
    /// receive window was full. It is also set when a subflow opens or times out.
    #[inline(always)]
    pub(super) fn transmit_pending(&mut self, index: u32, slot: u32, cx: &mut HostContext<'_, '_>) {
        if self.connections[index as usize].options.traced {
            self.transmit_pending_traced(index, slot, cx);
        } else {
            self.send_allowed(index, slot, cx);
        }
    }

    #[cold]
    fn transmit_pending_traced(&mut self, index: u32, slot: u32, cx: &mut HostContext<'_, '_>) {
        let now = cx.now;
        let connection = &self.connections[index as usize];
        let tracer = cx.host.tracer();
        tracer.record_changes(connection.flow, connection.windows(), now);
        self.send_allowed(index, slot, cx);
        let connection = &self.connections[index as usize];
        if !connection.uses_send_queues() {
            let latencies = cx.host.latencies();
            latencies.record_sent_until(connection.flow, connection.data.nxt(), now);
        }
    }

    #[inline(always)]
    fn send_allowed(&mut self, index: u32, slot: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &mut self.connections[index as usize];
        if connection.uses_send_queues() {
            self.schedule_and_send(index, slot, cx);
            return;
        }
        if self.subflows[slot as usize].segments.any_to_retransmit() {
            retransmit_lost(
                &mut self.qdisc,
                connection,
                &mut self.subflows[slot as usize],
                self.shared.transports[connection.transport as usize]
                    .profile
                    .header,
                slot,
                cx,
            );
        }
        let transport = &self.shared.transports[connection.transport as usize];
        let profile = &transport.profile;
        let first = connection.first_subflow as usize;
        if connection.rotation.checks_all() {
            let n = connection.windows().len();
            connection.rotation.set_checks_all(connection.joins.holds_back());
            for s in 0..n {
                if self.subflows[first + s].segments.any_to_retransmit() {
                    retransmit_lost(
                        &mut self.qdisc,
                        connection,
                        &mut self.subflows[first + s],
                        profile.header,
                        (first + s) as u32,
                        cx,
                    );
                }
            }
            while connection.has_sendable() {
                let Some(s) =
                    connection.select_subflow(transport.scheduler, &self.subflows[first..first + n])
                else {
                    break;
                };
                let subflow = &mut self.subflows[first + s];
                if !self.qdisc.admit(connection, subflow, (first + s) as u32, cx) {
                    continue;
                }
                let Some(chunk) = connection.take_chunk(s as u32) else {
                    break;
                };
                send_new(connection, subflow, chunk, profile.header, (first + s) as u32, cx);
            }
            return;
        }
        let s = slot as usize - first;
        while connection.has_sendable() && connection.can_send_new(s, &self.subflows[slot as usize]) {
            let subflow = &mut self.subflows[slot as usize];
            if !self.qdisc.admit(connection, subflow, slot, cx) {
                break;
            }
            let Some(chunk) = connection.take_chunk(s as u32) else {
                break;
            };
            connection.rotation.continue_after(s, connection.windows().len());
            send_new(connection, subflow, chunk, profile.header, slot, cx);
        }
    }
}

/// Retransmits lost segments as the window allows. The first retransmission of a recovery is sent
/// immediately (RFC 6675, section 5, step 4.3), and so is the one that a partial acknowledgement
/// asks for (RFC 6582).
pub fn retransmit_lost(
    qdisc: &mut HostQdisc,
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    header: u32,
    slot: u32,
    cx: &mut Context<'_>,
) {
    if subflow.state.awaits_new_data() {
        return;
    }
    while subflow.state.forces_retransmission()
        || subflow.may_send(&connection.windows()[subflow.index() as usize])
    {
        if subflow.segments.any_to_retransmit() && !qdisc.admit(connection, subflow, slot, cx) {
            return;
        }
        subflow.state.force_retransmission(false);
        let Some(segment) = subflow.segments.retransmit(cx.now) else {
            return;
        };
        subflow.count_retransmission();
        transmit(connection, subflow, &segment, header, slot, cx);
    }
}

/// Sends a chunk for the first time on this subflow.
#[inline(always)]
pub fn send_new(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    chunk: u32,
    header: u32,
    slot: u32,
    cx: &mut Context<'_>,
) {
    let len = connection.data.chunk_len(chunk);
    let seq = subflow.seq.nxt() as u32;
    let segment = subflow.segments.push(seq, chunk, len, cx.now);
    subflow.seq.extend(len);
    transmit(connection, subflow, &segment, header, slot, cx);
}

/// Transmits a segment.
#[inline(always)]
pub fn transmit(
    connection: &mut ConnectionSender,
    subflow: &mut SubflowSender,
    segment: &Segment,
    header: u32,
    slot: u32,
    cx: &mut Context<'_>,
) {
    let mut flags = DATA;
    if connection.congestion.echo() != Echo::Off {
        flags |= ECT;
        if subflow.rounds.take_cwr() {
            flags |= CWR;
        }
    }
    if connection.data.is_last(segment.chunk) {
        flags |= LAST;
        connection.begin_close(cx);
    }
    if connection.options.sets_push
        && segment.seq.wrapping_add(u32::from(segment.len)) == subflow.seq.nxt() as u32
        && connection.has_sent_all(subflow.index() as usize)
    {
        flags |= PUSH;
    }
    if segment.was_sent_before() {
        flags |= RETRANSMIT;
        subflow.state.undo.on_retransmit();
    }
    subflow.count_sent();
    if subflow.timer.is_off() || subflow.timer.purpose() == TimerPurpose::DelayedAckProbe {
        subflow.arm(slot, cx);
    }
    cx.send(&Packet {
        time: 0,
        route: subflow.path.next_route(cx.now),
        slot: subflow.peer(),
        seq: segment.seq,
        chunk: segment.chunk,
        lo: connection.flow,
        hi: subflow.index(),
        size: (u32::from(segment.len) + header) as u16,
        flags,
    });
}
