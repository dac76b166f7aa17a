//! Transmission: a sender first retransmits lost segments and then sends new data, as windows
//! allow.

use weft_cc::{CongestionControl, Echo, Elapsed};
use weft_spec::Rate;
use weft_transports::TcpConfig;

use crate::engine::Context;
use crate::packet::{ECT, Packet, RETRANSMIT};
use crate::transport::nic::Nics;
use crate::transport::state::HostContext;

use super::admission::Admission;
use super::congestion::restart_after_idle;
use super::connection::{Candidates, ConnectionSender};
use super::endpoint::TcpEndpoint;
use super::segments::Segment;
use super::subflow::{BlockReasons, SubflowSender};
use super::timers::{TcpTimer, TimerPurpose, timer_key};
use super::wire::{CWR, LAST, PUSH};

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
        let tcp = self.shared.tcp(connection.transport);
        let header = tcp.profile.sizes.header;
        let (first, n) = (connection.first_subflow, connection.windows().len());
        let subflows = &mut self.subflows[first as usize..][..n];
        let (nics, cx) = cx.nics();
        let admission = self.admission;
        let s = (slot - first) as usize;
        output(admission, nics, connection, subflows, s, header, cx).retransmit_lost();
        if connection.rotation.checks_all() {
            connection.rotation.set_checks_all(connection.joins.holds_back());
            for s in 0..n {
                output(admission, nics, connection, subflows, s, header, cx).retransmit_lost();
            }
            send_new_data(admission, nics, connection, subflows, tcp, Candidates::All, cx);
        } else {
            send_new_data(admission, nics, connection, subflows, tcp, Candidates::One(s), cx);
        }
    }
}

/// Sends new data on the candidates among a connection's subflows, as the scheduler selects them, as
/// long as windows allow it.
#[inline(always)]
fn send_new_data(
    admission: Admission,
    nics: &mut Nics,
    connection: &mut ConnectionSender,
    subflows: &mut [SubflowSender],
    tcp: &TcpConfig,
    candidates: Candidates,
    cx: &mut Context<'_>,
) {
    while connection.has_sendable() {
        let Some(s) = connection.next_subflow(tcp.scheduler, candidates, subflows) else {
            return;
        };
        let n = subflows.len();
        let mut output = output(
            admission,
            nics,
            connection,
            subflows,
            s,
            tcp.profile.sizes.header,
            cx,
        );
        if !output.admit() {
            continue;
        }
        let Some(chunk) = output.connection.take_chunk(s as u32) else {
            return;
        };
        output.connection.rotation.on_send(candidates, n);
        output.send_new(chunk);
    }
}

/// Returns the output of subflow `s` of a connection.
#[inline(always)]
fn output<'a, 'e>(
    admission: Admission,
    nics: &'a mut Nics,
    connection: &'a mut ConnectionSender,
    subflows: &'a mut [SubflowSender],
    s: usize,
    header: u32,
    cx: &'a mut Context<'e>,
) -> Output<'a, 'e> {
    Output {
        admission,
        nics,
        slot: connection.first_subflow + s as u32,
        connection,
        subflow: &mut subflows[s],
        header,
        cx,
    }
}

/// The output of a subflow during a callback: all that the transmission of its packets needs.
pub struct Output<'a, 'e> {
    /// The causes that may hold packets back, and the NICs of the host.
    pub admission: Admission,
    pub nics: &'a mut Nics,
    pub connection: &'a mut ConnectionSender,
    pub subflow: &'a mut SubflowSender,
    /// Slot of the subflow at this host.
    pub slot: u32,
    /// Header bytes of a data packet.
    pub header: u32,
    pub cx: &'a mut Context<'e>,
}

impl Output<'_, '_> {
    /// Returns true if the host accepts a packet now. Otherwise the subflow waits.
    #[inline(always)]
    pub fn admit(&mut self) -> bool {
        let place = (self.slot, self.header);
        self.admission
            .admit(self.nics, self.connection, self.subflow, place, self.cx)
    }

    /// Retransmits lost segments as the window allows.
    #[inline(always)]
    pub fn retransmit_lost(&mut self) {
        if self.subflow.segments.any_to_retransmit() {
            // The callee gets a bundle of its own, so that this one can stay in registers.
            let output = Output {
                admission: self.admission,
                nics: self.nics,
                connection: self.connection,
                subflow: self.subflow,
                slot: self.slot,
                header: self.header,
                cx: self.cx,
            };
            output.retransmit_segments();
        }
    }

    /// The first retransmission of a recovery is sent immediately (RFC 6675, section 5, step 4.3),
    /// and so is the one that a partial acknowledgement asks for (RFC 6582).
    fn retransmit_segments(mut self) {
        if self.subflow.state.awaits_new_data() {
            return;
        }
        while self.subflow.state.forces_retransmission()
            || self
                .subflow
                .may_send(&self.connection.windows()[self.subflow.index() as usize])
        {
            if self.subflow.segments.any_to_retransmit() && !self.admit() {
                return;
            }
            self.subflow.state.force_retransmission(false);
            let Some(segment) = self.subflow.segments.retransmit(self.cx.now) else {
                return;
            };
            self.subflow.count_retransmission();
            self.transmit(&segment);
        }
    }

    /// Sends a chunk for the first time on this subflow.
    #[inline(always)]
    pub fn send_new(&mut self, chunk: u32) {
        if self.subflow.segments.is_empty() && self.connection.congestion.sees_idle_times() {
            self.end_idle_time();
        }
        let subflow = &mut *self.subflow;
        let len = self.connection.data.chunk_len(chunk);
        let seq = subflow.seq.nxt() as u32;
        let segment = subflow.segments.push(seq, chunk, len, self.cx.now);
        subflow.seq.extend(len);
        self.transmit(&segment);
    }

    /// Notifies congestion control that the subflow, which has nothing outstanding, sends after an
    /// idle time (`tcp_event_data_sent`), and reduces the window if that exceeds an RTO
    /// (`tcp_slow_start_after_idle_check`).
    #[cold]
    fn end_idle_time(&mut self) {
        let (connection, subflow, now) = (&mut *self.connection, &mut *self.subflow, self.cx.now);
        let Some(last_sent) = subflow.segments.last_sent_at() else {
            return;
        };
        let (s, idle) = (subflow.index() as usize, now - last_sent);
        if subflow.state.is_open()
            && let Some((window, least)) = connection.congestion.idle_window(s)
        {
            restart_after_idle(window, idle, subflow.rtt.rto(), least);
        }
        let elapsed = Elapsed(now - connection.lifetime.opened());
        connection.notify_cc(now, |cc, windows| {
            cc.on_restart(windows, s, Elapsed(idle).seconds(), elapsed);
        });
    }

    /// Transmits a segment.
    #[inline(always)]
    pub fn transmit(&mut self, segment: &Segment) {
        let Self {
            connection,
            subflow,
            cx,
            ..
        } = self;
        let mut flags = connection.options.data_flags;
        let (echo, is_new) = (connection.congestion.echo(), !segment.was_sent_before());
        if echo.covers_all_packets() || echo != Echo::Off && is_new {
            flags |= ECT;
            // As `tcp_ecn_send` of Linux does.
            if is_new && subflow.rounds.take_cwr() {
                flags |= CWR;
            }
        }
        let mut flow = connection.flow;
        if connection.data.is_last(segment.chunk) {
            flags |= LAST;
            flow = connection.data.flow_of(segment.chunk).unwrap_or(flow);
            connection.begin_close(cx);
        }
        if connection.options.sets_push
            && segment.seq.wrapping_add(u32::from(segment.len)) == subflow.seq.nxt() as u32
            && (connection.has_sent_all(subflow.index() as usize) || subflow.gate.ends_burst())
        {
            flags |= PUSH;
        }
        if !is_new {
            flags |= RETRANSMIT;
            subflow.state.undo.on_retransmit(cx.now);
        }
        subflow.count_sent();
        // The timer runs while data is outstanding (RFC 6298, section 5, rule 5.1).
        if subflow.timer.is_off() || subflow.timer.purpose() == TimerPurpose::DelayedAckProbe {
            subflow.arm(self.slot, cx);
        }
        cx.send(&Packet {
            time: 0,
            route: subflow.path.next_route(cx.now, || {
                subflow.segments.len() == 1 && !segment.was_sent_before()
            }),
            slot: subflow.peer(),
            seq: segment.seq,
            chunk: segment.chunk,
            lo: flow,
            hi: subflow.index(),
            size: (u32::from(segment.len) + self.header) as u16,
            flags,
        });
    }
}

impl TcpEndpoint {
    /// Sends what a subflow may send in its turn at the NIC.
    pub fn send_in_turn(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        subflow.gate.unblock(BlockReasons::THROTTLED);
        let connection = subflow.connection();
        self.transmit_pending(connection, slot, cx);
    }

    /// Handles the timer of a paced subflow: its next packet may be sent.
    pub(super) fn on_pacing_timer(&mut self, slot: u32, cx: &mut HostContext<'_, '_>) {
        let subflow = &mut self.subflows[slot as usize];
        if subflow.gate.earliest_departure() == cx.now && subflow.gate.unblock(BlockReasons::THROTTLED) {
            let connection = subflow.connection();
            self.transmit_pending(connection, slot, cx);
        }
    }
}

/// Bits per byte times picoseconds per second.
const BITS_PER_BYTE_PS: u128 = 8 * 1_000_000_000_000;

/// Returns the number of chunks of `mss` bytes that an application with this rate has written after
/// `elapsed` picoseconds.
fn chunks_written_by(elapsed: u64, rate: Rate, mss: u32) -> u64 {
    (u128::from(elapsed) * u128::from(rate.0) / (BITS_PER_BYTE_PS * u128::from(mss))) as u64
}

/// Returns the picoseconds that it takes to write this many chunks.
fn write_time(chunks: u64, rate: Rate, mss: u32) -> u64 {
    let bits = u128::from(chunks) * u128::from(mss) * BITS_PER_BYTE_PS;
    u64::try_from(bits.div_ceil(u128::from(rate.0))).unwrap_or(u64::MAX)
}

impl TcpEndpoint {
    /// Handles the timer of an application that has written another chunk, which may be sent.
    #[cold]
    pub(super) fn on_application_write(&mut self, flow: u32, cx: &mut HostContext<'_, '_>) {
        let Some(&index) = self.slots.senders.get(&flow) else {
            return;
        };
        let Some(rate) = self.shared.flow(flow).rate else {
            return;
        };
        let connection = &mut self.connections[index as usize];
        if connection.data.written() >= connection.data.total() {
            return; // stopped, or all there is
        }
        let mss = self.shared.tcp(connection.transport).profile.sizes.mss;
        let chunks = chunks_written_by(cx.now - connection.lifetime.opened(), rate, mss);
        connection.data.set_written(chunks);
        if connection.data.written() < connection.data.total() {
            let next = connection
                .lifetime
                .opened()
                .saturating_add(write_time(chunks + 1, rate, mss));
            cx.set_timer(next, timer_key(TcpTimer::Write, flow));
        }
        self.send_written(index, cx);
    }

    /// Sends what the application of a connection has written, as windows allow.
    pub(super) fn send_written(&mut self, index: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &mut self.connections[index as usize];
        connection.rotation.set_checks_all(true);
        let first = connection.first_subflow;
        self.transmit_pending(index, first, cx);
    }

    /// Sets the number of chunks that the application of a flow has written.
    #[cfg(test)]
    pub(super) fn set_written(&mut self, flow: u32, chunks: u64, cx: &mut HostContext<'_, '_>) {
        let index = self.slots.senders[&flow];
        self.connections[index as usize].data.set_written(chunks);
        self.send_written(index, cx);
    }

    /// Makes a subflow active, or a backup.
    #[cfg(test)]
    pub(super) fn set_active(&mut self, flow: u32, subflow: usize, active: bool) {
        let index = self.slots.senders[&flow];
        let connection = &mut self.connections[index as usize];
        let set = |windows: &mut [weft_cc::Window]| windows[subflow].active = active;
        connection.congestion.notify(|_, windows| set(windows));
        connection.rotation.set_checks_all(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_written_when_its_time_has_come_and_not_before() {
        for rate in [10_000, 50_000_000, 3_333_333_333, 100_000_000_000_000] {
            let rate = Rate(rate);
            for chunks in [1, 2, 7, 100_000] {
                let time = write_time(chunks, rate, 1_460);
                assert!(chunks_written_by(time, rate, 1_460) >= chunks);
                assert!(chunks_written_by(time - 1, rate, 1_460) < chunks);
            }
        }
    }

    /// 1,250 bytes at 10 Mbps take a millisecond.
    #[test]
    fn the_time_is_that_of_the_bits() {
        assert_eq!(write_time(3, Rate(10_000_000), 1_250), 3_000_000_000);
    }
}
