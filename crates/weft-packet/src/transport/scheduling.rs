//! Linux's MPTCP packet scheduler (`mptcp_subflow_get_send` in net/mptcp/protocol.c, kernel 6.x). The other
//! schedulers hand out a packet when a window has room.
//!
//! This one gives data to subflows' send queues before their windows have room for it, and data stays with
//! its subflow. Short flows are therefore spread before suppression can act, and data of other subflows may
//! wait for a slow one.

use std::collections::VecDeque;

use weft_cc::Window;

use crate::engine::At;

use super::connection::Connection;
use super::host::Host;
use super::pacing::rate;
use super::sending::{resend, send_new};
use super::subflow::{ASIDE, DRAINS, State, Subflow, WAITS};

/// Bytes given to one subflow at a time (`MPTCP_SEND_BURST_SIZE`), in two fragments, between which its memory is looked at
/// (`__subflow_push_pending`).
const BURST: u32 = 65_428;

/// Memory that a segment takes in a queue beside its payload: `truesize` of a buffer for headers alone.
const SEGMENT_MEMORY: u32 = 896;

/// The window for which autotuning provides at least (`TCP_INIT_CWND`).
const LEAST_WINDOW: f64 = 10.0;

/// The largest send buffer (`tcp_wmem`, third value), and what a connection has beside its subflows' (the first).
const LARGEST_BUFFER: f64 = 4_194_304.0;
const OWN_BUFFER: u32 = 4096;

/// After this many timeouts in a row another subflow gets the data that this one holds. Linux counts periods of the connection's own timer, of some
/// 200 ms each, and does so at the fifth without an answer (`mptcp_pm_subflow_chk_stale`).
const STALE: u32 = 3;

/// The rank of a subflow that is given nothing.
const NOBODY: u64 = u64::MAX;

/// What a connection's subflows were given and have not sent yet.
///
/// Who is given the next burst is looked for at every acknowledgement, which changes the answer for one subflow. So each one's rank is
/// kept, and computed anew only when it may have changed.
pub struct Queues {
    /// Chunks before this are in the connection's own send buffer, or were.
    written: u32,
    /// Bytes of all send buffers.
    buffers: u32,
    /// Chunks that the connection's own send buffer takes.
    room: u32,
    /// Segments of bursts that a subflow's send buffer has room for beyond two windows.
    ahead: f64,
    /// Bit `s`: has subflow `s`, or its window, changed since its rank was computed?
    changed: u64,
    /// Bit `s`: is subflow `s` without anything to send? Its buffer grows with its window.
    empty: u64,
    /// The subflow of the lowest rank is given the next burst: by when it would have sent all it holds, suppressed ones last;
    /// [`NOBODY`] if it is given nothing.
    ranks: Box<[u64]>,
    /// The first subflow of the lowest rank.
    first: usize,
    /// Has its rank risen, so that it is to be looked for?
    risen: bool,
    /// A subflow's each.
    of: Box<[Queue]>,
    /// Chunks to be given again, because the subflow that held them does not answer (`__mptcp_retransmit_pending_data`).
    returned: VecDeque<u32>,
}

/// What a subflow was given and has not sent yet.
#[derive(Clone, Default)]
struct Queue {
    /// Chunks, from and to.
    runs: VecDeque<(u32, u32)>,
    len: u32,
    /// Mean of its pacing rates at the bursts that it was given, in bytes per second (`avg_pacing_rate`); 0 before the first look.
    pace: f64,
    /// Its send buffer in bytes of memory (`sk_sndbuf`); it never shrinks.
    buffer: u32,
    /// As much of it as [`Queues::buffers`] contains.
    counted: u32,
    /// Timeouts in a row.
    timeouts: u32,
}

impl Queue {
    fn push(&mut self, chunk: u32) {
        self.len += 1;
        match self.runs.back_mut() {
            Some(last) if last.1 == chunk => last.1 = chunk + 1,
            _ => self.runs.push_back((chunk, chunk + 1)),
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let run = self.runs.front_mut()?;
        let chunk = run.0;
        run.0 += 1;
        if run.0 == run.1 {
            self.runs.pop_front();
        }
        self.len -= 1;
        Some(chunk)
    }

    /// Has it not answered for long, so that it is to get nothing?
    fn is_stale(&self, subflow: &Subflow) -> bool {
        self.timeouts >= STALE && subflow.state == State::Loss && subflow.timed_out == subflow.una
    }

    fn chunks(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().flat_map(|&(from, to)| from..to)
    }

    /// Memory that it takes (`sk_wmem_queued`): of what is not acknowledged, too.
    fn memory(&self, subflow: &Subflow, mss: u32) -> u32 {
        (self.len + subflow.segments.len()) * (mss + SEGMENT_MEMORY)
    }

    /// The buffer grows to two windows where it, and not the window, holds data back (`tcp_should_expand_sndbuf`,
    /// `tcp_sndbuf_expand`); or to more whole windows, with room for the segments `ahead`.
    #[inline(always)]
    fn expanded(&self, window: &Window, subflow: &Subflow, mss: u32, ahead: f64) -> u32 {
        if self.buffer == 0 || self.len == 0 && subflow.may_send(window) {
            let segment = (mss + 640).next_power_of_two() + 256;
            let cwnd = window.cwnd.max(LEAST_WINDOW);
            let mut windows = 2.0;
            if ahead > 0.0 {
                windows += (ahead / cwnd.floor()).ceil();
            }
            let wanted = windows * cwnd * f64::from(segment);
            return self.buffer.max(wanted.min(LARGEST_BUFFER) as u32);
        }
        self.buffer
    }

    /// What its buffer adds to the connection's.
    #[inline(always)]
    fn share(&self, window: &Window, subflow: &Subflow, mss: u32, ahead: f64) -> u32 {
        if takes_part(window, subflow) {
            self.expanded(window, subflow, mss, ahead)
        } else {
            0
        }
    }

    /// See [`Queues::ranks`].
    #[inline(always)]
    fn rank(&self, window: &Window, subflow: &Subflow, mss: u32) -> u64 {
        if !takes_part(window, subflow) || self.is_stale(subflow) {
            return NOBODY;
        }
        let linger = f64::from(self.memory(subflow, mss)) / self.pace;
        // Numbers that are not negative are in the order of their bits.
        linger.to_bits() | u64::from(!window.active) << 63
    }
}

/// Might the subflow be given data?
#[inline(always)]
fn takes_part(window: &Window, subflow: &Subflow) -> bool {
    window.established && subflow.held & (DRAINS | ASIDE) == 0
}

/// What the scheduler reads whether the socket is paced or not, in bytes per second.
fn pacing_rate(window: &Window, subflow: &Subflow, mss: u32) -> f64 {
    rate(window, subflow.segments.len()) * f64::from(mss)
}

/// Bytes of a connection's queues, with `subflows`, a run of chunks each.
pub fn bytes(subflows: u32) -> usize {
    let each = size_of::<Queue>() + size_of::<u64>() + 4 * size_of::<(u32, u32)>();
    size_of::<Queues>() + subflows as usize * each
}

impl Queues {
    /// Nothing given yet; of [`bursts_ahead`](weft_cc::CongestionControl::bursts_ahead).
    pub fn new(subflows: u32, bursts_ahead: u32, mss: u32) -> Self {
        Self {
            written: 0,
            buffers: OWN_BUFFER,
            room: 0,
            ahead: f64::from(bursts_ahead * BURST.div_ceil(mss)),
            changed: all(subflows),
            empty: all(subflows),
            ranks: vec![NOBODY; subflows as usize].into(),
            first: 0,
            risen: false,
            of: vec![Queue::default(); subflows as usize].into(),
            returned: VecDeque::new(),
        }
    }

    /// Any of the subflows may have changed.
    pub fn forget_ranks(&mut self) {
        self.changed = all(self.of.len() as u32);
    }

    fn push(&mut self, s: usize, chunk: u32) {
        self.of[s].push(chunk);
        self.empty &= !(1 << s);
    }

    fn pop(&mut self, s: usize) -> Option<u32> {
        let queue = &mut self.of[s];
        let chunk = queue.pop();
        self.empty |= u64::from(queue.len == 0) << s;
        chunk
    }

    /// Computes the ranks of those that may have changed, and of those whose buffers grow.
    #[inline(always)]
    fn look(&mut self, windows: &[Window], subflows: &[Subflow], mss: u32) {
        let mut idle = self.empty & !self.changed;
        while idle != 0 {
            let s = idle.trailing_zeros() as usize;
            idle &= idle - 1;
            let queue = &self.of[s];
            let grows = queue.counted != 0
                && queue.expanded(&windows[s], &subflows[s], mss, self.ahead) != queue.counted;
            self.changed |= u64::from(grows) << s;
        }
        while self.changed != 0 {
            let s = self.changed.trailing_zeros() as usize;
            self.changed &= self.changed - 1;
            self.rank(s, &windows[s], &subflows[s], mss);
        }
        if self.risen {
            self.risen = false;
            let mut least = NOBODY;
            for (s, &rank) in self.ranks.iter().enumerate() {
                if rank < least {
                    (self.first, least) = (s, rank);
                }
            }
        }
        debug_assert!(self.is_current(windows, subflows, mss));
    }

    /// Computes the rank of subflow `s`.
    #[inline(always)]
    fn rank(&mut self, s: usize, window: &Window, subflow: &Subflow, mss: u32) {
        let queue = &mut self.of[s];
        let counted = queue.counted;
        queue.counted = queue.share(window, subflow, mss, self.ahead);
        queue.buffer = queue.buffer.max(queue.counted);
        if queue.counted != counted {
            self.buffers = self.buffers - counted + queue.counted;
            self.room = (self.buffers / mss).max(1);
        }
        if queue.pace == 0.0 && takes_part(window, subflow) && !queue.is_stale(subflow) {
            queue.pace = pacing_rate(window, subflow, mss);
        }
        let rank = queue.rank(window, subflow, mss);
        let before = std::mem::replace(&mut self.ranks[s], rank);
        if s == self.first {
            self.risen |= rank > before;
        } else if (rank, s) < (self.ranks[self.first], self.first) {
            self.first = s;
        }
    }

    /// Would computing anything anew change it?
    fn is_current(&self, windows: &[Window], subflows: &[Subflow], mss: u32) -> bool {
        let lowest = self.ranks[self.first];
        (0..subflows.len()).all(|s| {
            let (queue, window, subflow) = (&self.of[s], &windows[s], &subflows[s]);
            queue.share(window, subflow, mss, self.ahead) == queue.counted
                && queue.rank(window, subflow, mss) == self.ranks[s]
                && (lowest < self.ranks[s]
                    || lowest == self.ranks[s] && (self.first <= s || lowest == NOBODY))
        })
    }

    /// The chunks that the application has handed over: what it stops at has them before.
    pub fn written(&self) -> u32 {
        self.written
    }

    /// Is a chunk to be given, or was it given and not sent?
    fn waits(&self, chunk: u32) -> bool {
        let runs = self.of.iter().flat_map(|queue| &queue.runs);
        self.returned.contains(&chunk) || runs.into_iter().any(|&(from, to)| (from..to).contains(&chunk))
    }

    /// What subflow `s` holds is to be given anew, and what it has sent, unless a copy of that waits already.
    fn take_back(&mut self, s: u32, sent: impl Iterator<Item = u32>) {
        for chunk in sent {
            if !self.waits(chunk) {
                self.returned.push_back(chunk);
            }
        }
        while let Some(chunk) = self.pop(s as usize) {
            self.returned.push_back(chunk);
        }
        self.forget_ranks();
    }
}

/// A bit for each of `subflows`.
fn all(subflows: u32) -> u64 {
    u64::MAX >> (64 - subflows)
}

impl Connection {
    /// Is data given to subflows before they can send it?
    #[inline(always)]
    pub fn gives(&self) -> bool {
        self.queues.is_some()
    }

    /// Was subflow `s` given something that its window has room for?
    fn has_given(&self, s: u32, subflow: &Subflow) -> bool {
        let window = &self.windows[s as usize];
        self.given(s as usize) > 0
            && window.established
            && subflow.held & (WAITS | ASIDE) == 0
            && subflow.may_send(window)
            && (!subflow.segments.any_to_resend() || subflow.hold)
    }

    /// Chunks that subflow `s` was given and has not sent.
    pub fn given(&self, s: usize) -> u32 {
        self.queues.as_deref().map_or(0, |it| it.of[s].len)
    }

    /// The next chunk that subflow `s` was given.
    pub fn take_given(&mut self, s: u32) -> Option<u32> {
        self.queues.as_deref_mut()?.pop(s as usize)
    }

    /// Gives a burst to the subflow that would have sent all it holds first; suppressed ones, which the kernel calls backup, only if no
    /// other is there. Returns which; none if there is no data, or that subflow's send buffer is full, whatever room others have.
    fn give(&mut self, subflows: &[Subflow], mss: u32) -> Option<usize> {
        let queues = self.queues.as_deref_mut()?;
        if !queues.returned.is_empty() {
            let una = self.una;
            queues.returned.retain(|&chunk| chunk >= una);
        }
        if queues.returned.is_empty() && self.next >= self.written {
            return None;
        }
        queues.look(&self.windows, subflows, mss);
        let s = queues.first;
        if queues.ranks[s] == NOBODY {
            return None;
        }
        // The application is asked for more once a third of the connection's buffer is free (`sk_stream_is_writeable`).
        let holds = queues.room;
        let written = queues.written.max(self.next) - self.una;
        if written <= holds - holds / 3 {
            queues.written = self.una.saturating_add(holds).min(self.written);
        }
        let ready = queues.written.saturating_sub(self.next);
        let ready = ready.min(self.receive_window.saturating_sub(self.next - self.una));
        let queue = &mut queues.of[s];
        let memory = queue.memory(&subflows[s], mss);
        let available = queues.returned.len() as u32 + ready;
        if available == 0 || memory >= queue.buffer {
            return None;
        }
        let (old, new) = (f64::from(memory), f64::from(BURST));
        let pace = pacing_rate(&self.windows[s], &subflows[s], mss);
        queue.pace = (queue.pace * old + pace * new) / (old + new);
        let burst = (BURST / mss).max(1);
        // A fragment is given whole, but no more than a buffer of tiny segments.
        let fragment = burst.div_ceil(2).min(queue.buffer / (mss + SEGMENT_MEMORY) + 1);
        let mut left = burst.min(available);
        while left > 0 && queues.of[s].memory(&subflows[s], mss) < queues.of[s].buffer {
            let some = fragment.min(left);
            left -= some;
            for _ in 0..some {
                let chunk = queues.returned.pop_front().unwrap_or_else(|| {
                    self.next += 1;
                    self.next - 1
                });
                queues.push(s, chunk);
            }
        }
        queues.changed |= 1 << s;
        Some(s)
    }

    /// Subflow `s` timed out. What is missing of the connection's oldest fragment is for whoever has nothing else to do
    /// (`mptcp_subflow_get_retrans`, `__mptcp_retrans`); all it holds for the others, where it does not answer any more.
    pub fn reinject_given(&mut self, s: u32, subflows: &[Subflow], repeated: bool, mss: u32) {
        let Some(queues) = self.queues.as_deref_mut() else {
            return;
        };
        let subflow = &subflows[s as usize];
        let queue = &mut queues.of[s as usize];
        queue.timeouts = if repeated { queue.timeouts + 1 } else { 1 };
        let oldest = self.una..self.una.saturating_add((BURST / mss).max(1).div_ceil(2));
        let sent = subflow.segments.unsacked_chunks();
        let held = sent.chain(queue.chunks());
        self.reinject.clear();
        self.reinject.extend(
            held.filter(|chunk| oldest.contains(chunk))
                .map(|chunk| (chunk, s)),
        );
        let answers = |other: usize| {
            other != s as usize
                && self.windows[other].established
                && !queues.of[other].is_stale(&subflows[other])
        };
        if queues.of[s as usize].timeouts == STALE && (0..subflows.len()).any(answers) {
            self.reinject.clear();
            self.return_given(s, subflow, 0);
        }
    }

    /// What subflow `s` was given is to be given anew, if it was sent from byte `from` on or not at all.
    pub fn return_given(&mut self, s: u32, subflow: &Subflow, from: u64) {
        let Some(queues) = self.queues.as_deref_mut() else {
            return;
        };
        let una = self.una;
        let sent = subflow
            .segments
            .unsacked_chunks_from(from.max(subflow.una) as u32);
        queues.take_back(s, sent.filter(|&chunk| chunk >= una));
    }

    /// A subflow that holds nothing takes what another timed out on; a suppressed one only if all are.
    fn relieve(&mut self, s: usize, subflow: &Subflow) {
        let Some(queues) = self.queues.as_deref() else {
            return;
        };
        let idle = subflow.segments.is_empty() && queues.of[s].len == 0 && self.windows[s].established;
        if idle && (self.windows[s].active || self.active() == 0) {
            while let Some(chunk) = self.take_reinjected(s as u32) {
                if let Some(queues) = &mut self.queues {
                    queues.push(s, chunk);
                    queues.changed |= 1 << s;
                }
            }
        }
    }
}

impl Host {
    /// Gives out what subflows' send buffers take, and sends what windows allow: of `slot`, of those that got something, and of all
    /// where any may have gained room.
    pub(super) fn send_what_was_given(&mut self, index: u32, slot: u32, at: &mut At<'_>) {
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.transports[connection.transport as usize].profile;
        let (mss, header) = (profile.mss, profile.header);
        let (first, n) = (connection.first, connection.windows.len());
        let subflows = &mut self.subflows[first as usize..][..n];
        let mut look = if connection.look_at_all {
            all(n as u32)
        } else {
            1 << (slot - first)
        };
        if let Some(queues) = &mut connection.queues {
            queues.changed |= look;
            if connection.suppresses_within_rounds {
                queues.forget_ranks();
            }
        }
        connection.look_at_all = false;
        while let Some(s) = connection.give(subflows, mss) {
            look |= 1 << s;
        }
        let mut sent = Vec::new();
        while look != 0 {
            let s = look.trailing_zeros();
            look &= look - 1;
            let (subflow, slot) = (&mut subflows[s as usize], first + s);
            if subflow.segments.any_to_resend() {
                resend(&mut self.lines, connection, subflow, header, slot, at);
            }
            if !connection.reinject.is_empty() {
                connection.relieve(s as usize, subflow);
            }
            while connection.has_given(s, subflow) && self.lines.admit(connection, subflow, slot, at) {
                let Some(chunk) = connection.take_given(s) else {
                    break;
                };
                send_new(connection, subflow, chunk, mss, header, slot, at);
                if connection.traced {
                    sent.push(chunk);
                }
            }
        }
        let flow = connection.flow;
        for chunk in sent {
            self.note_chunk_sent(flow, chunk, at.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_chunk_waits_twice() {
        let mut queues = Queues::new(3, 0, 1448);
        queues.returned.push_back(7);
        queues.of[1].push(5);
        queues.of[1].push(6);
        queues.take_back(0, [4, 5, 6, 7, 8].into_iter());
        assert_eq!(queues.returned, [7, 4, 8]);
        queues.take_back(1, [4, 9].into_iter());
        assert_eq!(queues.returned, [7, 4, 8, 9, 5, 6]);
        queues.take_back(2, [5, 9].into_iter());
        assert_eq!(queues.returned, [7, 4, 8, 9, 5, 6]);
    }
}
