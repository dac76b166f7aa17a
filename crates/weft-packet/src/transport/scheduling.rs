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

/// What a connection's subflows were given and have not sent yet.
pub struct Queues {
    /// Chunks before this are in the connection's own send buffer, or were.
    written: u32,
    /// Chunks to be given again, because the subflow that held them does not answer (`__mptcp_retransmit_pending_data`).
    returned: VecDeque<u32>,
    /// A subflow's each.
    of: Vec<Queue>,
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
    /// `tcp_sndbuf_expand`).
    fn expand(&mut self, subflow: &Subflow, window: &Window, mss: u32) {
        if self.buffer == 0 || self.len == 0 && subflow.may_send(window) {
            let segment = (mss + 640).next_power_of_two() + 256;
            let wanted = 2.0 * window.cwnd.max(LEAST_WINDOW) * f64::from(segment);
            self.buffer = self.buffer.max(wanted.min(LARGEST_BUFFER) as u32);
        }
    }
}

/// What the scheduler reads whether the socket is paced or not, in bytes per second.
fn pacing_rate(window: &Window, subflow: &Subflow, mss: u32) -> f64 {
    rate(window, subflow.segments.len()) * f64::from(mss)
}

/// Bytes of a connection's queues, with `subflows`, a run of chunks each.
pub fn bytes(subflows: u32) -> usize {
    size_of::<Queues>() + subflows as usize * (size_of::<Queue>() + 4 * size_of::<(u32, u32)>())
}

impl Queues {
    /// Nothing given yet.
    pub fn new(subflows: u32) -> Self {
        Self {
            written: 0,
            returned: VecDeque::new(),
            of: vec![Queue::default(); subflows as usize],
        }
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
        while let Some(chunk) = self.of[s as usize].pop() {
            self.returned.push_back(chunk);
        }
    }
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
        let given = self.queues.as_deref().is_some_and(|it| it.of[s as usize].len > 0);
        given
            && window.established
            && subflow.held & (WAITS | ASIDE) == 0
            && subflow.may_send(window)
            && (!subflow.segments.any_to_resend() || subflow.hold)
    }

    /// Chunks that subflow `s` was given and has not sent.
    pub fn given(&self, s: usize) -> u32 {
        self.queues.as_deref().map_or(0, |it| it.of[s].len)
    }

    /// Was subflow `s` given something that it has not sent?
    pub fn holds(&self, s: usize) -> bool {
        self.queues.as_deref().is_some_and(|it| it.of[s].len > 0)
    }

    /// The next chunk that subflow `s` was given.
    pub fn take_given(&mut self, s: u32) -> Option<u32> {
        self.queues.as_deref_mut()?.of[s as usize].pop()
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
        let mut first = [None, None];
        let mut buffer = OWN_BUFFER;
        for (s, queue) in queues.of.iter_mut().enumerate() {
            let (window, subflow) = (&self.windows[s], &subflows[s]);
            if !window.established || subflow.held & (DRAINS | ASIDE) != 0 {
                continue;
            }
            queue.expand(subflow, window, mss);
            buffer = buffer.saturating_add(queue.buffer);
            if queue.is_stale(subflow) {
                continue;
            }
            if queue.pace == 0.0 {
                queue.pace = pacing_rate(window, subflow, mss);
            }
            let linger = f64::from(queue.memory(subflow, mss)) / queue.pace;
            let best = &mut first[usize::from(!window.active)];
            if best.is_none_or(|(_, least)| linger < least) {
                *best = Some((s, linger));
            }
        }
        let (s, _) = first[0].or(first[1])?;
        // The application is asked for more once a third of the connection's buffer is free (`sk_stream_is_writeable`).
        let holds = (buffer / mss).max(1);
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
        while left > 0 && queue.memory(&subflows[s], mss) < queue.buffer {
            let some = fragment.min(left);
            left -= some;
            for _ in 0..some {
                let chunk = queues.returned.pop_front().unwrap_or_else(|| {
                    self.next += 1;
                    self.next - 1
                });
                queue.push(chunk);
            }
        }
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
                    queues.of[s].push(chunk);
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
            u64::MAX >> (64 - n)
        } else {
            1 << (slot - first)
        };
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
        let mut queues = Queues::new(3);
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
