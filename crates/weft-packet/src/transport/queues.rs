//! What Linux's MPTCP packet scheduler has given to subflows, in send queues that their buffers bound, and whose turn is next
//! (`mptcp_subflow_get_send` in net/mptcp/protocol.c, buffers as in `net/ipv4/tcp_input.c`, kernel 6.x).

use std::collections::VecDeque;

use weft_cc::Window;

use super::pacing::rate;
use super::subflow::{DRAINING, NOT_SELECTED, State, SubflowSender};

/// Bytes given to one subflow at a time (`MPTCP_SEND_BURST_SIZE`), in two fragments, between which its memory is looked at
/// (`__subflow_push_pending`).
pub const BURST: u32 = 65_428;

/// Memory that a segment takes in a queue beside its payload: `truesize` of a buffer for headers alone.
pub const SEGMENT_MEMORY: u32 = 896;

/// The window for which autotuning provides at least (`TCP_INIT_CWND`).
const LEAST_WINDOW: f64 = 10.0;

/// The largest send buffer (`tcp_wmem`, third value), and what a connection has beside its subflows' (the first).
const LARGEST_BUFFER: f64 = 4_194_304.0;
const OWN_BUFFER: u32 = 4096;

/// After this many timeouts in a row another subflow gets the data that this one holds. Linux counts periods of the connection's own timer, of some
/// 200 ms each, and does so at the fifth without an answer (`mptcp_pm_subflow_chk_stale`).
pub const STALE: u32 = 3;

/// The rank of a subflow that is given nothing.
pub const NOBODY: u64 = u64::MAX;

/// What a connection's subflows were given and have not sent yet.
///
/// Who is given the next burst is looked for at every acknowledgement, which changes the answer for one subflow. So each one's rank is
/// kept, and computed anew only when it may have changed.
pub struct Queues {
    /// Chunks before this are in the connection's own send buffer, or were: the application has handed them over.
    pub written: u32,
    /// Bytes of all send buffers.
    buffers: u32,
    /// Chunks that the connection's own send buffer takes.
    pub room: u32,
    /// Segments of bursts that a subflow's send buffer has room for beyond two windows.
    ahead: f64,
    /// Bit `s`: has subflow `s`, or its window, changed since its rank was computed?
    pub changed: u64,
    /// Bit `s`: is subflow `s` without anything to send? Its buffer grows with its window.
    empty: u64,
    /// The subflow of the lowest rank is given the next burst: by when it would have sent all it holds, suppressed ones last;
    /// [`NOBODY`] if it is given nothing.
    pub ranks: Box<[u64]>,
    /// The first subflow of the lowest rank.
    pub first: usize,
    /// Has its rank risen, so that it is to be looked for?
    risen: bool,
    /// A subflow's each.
    pub of: Box<[Queue]>,
    /// Chunks to be given again, because the subflow that held them does not answer (`__mptcp_retransmit_pending_data`).
    pub returned: VecDeque<u32>,
}

/// What a subflow was given and has not sent yet.
#[derive(Clone, Default)]
pub struct Queue {
    /// Chunks, from and to.
    runs: VecDeque<(u32, u32)>,
    pub len: u32,
    /// Mean of its pacing rates at the bursts that it was given, in bytes per second (`avg_pacing_rate`); 0 before the first look.
    pub pace: f64,
    /// Its send buffer in bytes of memory (`sk_sndbuf`); it never shrinks.
    pub buffer: u32,
    /// As much of it as [`Queues::buffers`] contains.
    counted: u32,
    /// Timeouts in a row.
    pub timeouts: u32,
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
    pub fn is_stale(&self, subflow: &SubflowSender) -> bool {
        self.timeouts >= STALE && subflow.state == State::Loss && subflow.una_at_timeout == subflow.una
    }

    pub fn chunks(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().flat_map(|&(from, to)| from..to)
    }

    /// Memory that it takes (`sk_wmem_queued`): of what is not acknowledged, too.
    pub fn memory(&self, subflow: &SubflowSender, mss: u32) -> u32 {
        (self.len + subflow.segments.len()) * (mss + SEGMENT_MEMORY)
    }

    /// The buffer grows to two windows where it, and not the window, holds data back (`tcp_should_expand_sndbuf`,
    /// `tcp_sndbuf_expand`); or to more whole windows, with room for the segments `ahead`.
    #[inline(always)]
    fn expanded(&self, window: &Window, subflow: &SubflowSender, mss: u32, ahead: f64) -> u32 {
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
    fn share(&self, window: &Window, subflow: &SubflowSender, mss: u32, ahead: f64) -> u32 {
        if takes_part(window, subflow) {
            self.expanded(window, subflow, mss, ahead)
        } else {
            0
        }
    }

    /// See [`Queues::ranks`].
    #[inline(always)]
    fn rank(&self, window: &Window, subflow: &SubflowSender, mss: u32) -> u64 {
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
fn takes_part(window: &Window, subflow: &SubflowSender) -> bool {
    window.established && subflow.blocked & (DRAINING | NOT_SELECTED) == 0
}

/// What the scheduler reads whether the socket is paced or not, in bytes per second.
pub fn pacing_rate(window: &Window, subflow: &SubflowSender, mss: u32) -> f64 {
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

    pub fn push(&mut self, s: usize, chunk: u32) {
        self.of[s].push(chunk);
        self.empty &= !(1 << s);
    }

    pub fn pop(&mut self, s: usize) -> Option<u32> {
        let queue = &mut self.of[s];
        let chunk = queue.pop();
        self.empty |= u64::from(queue.len == 0) << s;
        chunk
    }

    /// Computes the ranks of those that may have changed, and of those whose buffers grow.
    #[inline(always)]
    pub fn look(&mut self, windows: &[Window], subflows: &[SubflowSender], mss: u32) {
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
    fn rank(&mut self, s: usize, window: &Window, subflow: &SubflowSender, mss: u32) {
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
    fn is_current(&self, windows: &[Window], subflows: &[SubflowSender], mss: u32) -> bool {
        let lowest = self.ranks[self.first];
        (0..subflows.len()).all(|s| {
            let (queue, window, subflow) = (&self.of[s], &windows[s], &subflows[s]);
            queue.share(window, subflow, mss, self.ahead) == queue.counted
                && queue.rank(window, subflow, mss) == self.ranks[s]
                && (lowest < self.ranks[s]
                    || lowest == self.ranks[s] && (self.first <= s || lowest == NOBODY))
        })
    }

    /// Is a chunk to be given, or was it given and not sent?
    fn waits(&self, chunk: u32) -> bool {
        let runs = self.of.iter().flat_map(|queue| &queue.runs);
        self.returned.contains(&chunk) || runs.into_iter().any(|&(from, to)| (from..to).contains(&chunk))
    }

    /// What subflow `s` holds is to be given anew, and what it has sent, unless a copy of that waits already.
    pub fn take_back(&mut self, s: u32, sent: impl Iterator<Item = u32>) {
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

    /// Nothing before `una` and nothing of `arrived`, which is in order, is given or sent any more.
    pub fn forget(&mut self, una: u32, arrived: &[u32]) {
        let waits = |chunk: &u32| *chunk >= una && arrived.binary_search(chunk).is_err();
        self.returned.retain(waits);
        for s in 0..self.of.len() {
            let kept: Vec<u32> = self.of[s].chunks().filter(waits).collect();
            if kept.len() < self.of[s].len as usize {
                while self.pop(s).is_some() {}
                for chunk in kept {
                    self.push(s, chunk);
                }
            }
        }
        self.forget_ranks();
    }
}

/// A bit for each of `subflows`.
pub fn all(subflows: u32) -> u64 {
    u64::MAX >> (64 - subflows)
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

    #[test]
    fn what_has_arrived_waits_nowhere() {
        let mut queues = Queues::new(3, 0, 1448);
        queues.returned.extend([7, 4]);
        for chunk in [5, 6, 9] {
            queues.push(1, chunk);
        }
        queues.push(2, 8);
        queues.forget(5, &[6, 8]);
        assert_eq!(queues.returned, [7]);
        assert!(queues.of[1].chunks().eq([5, 9]) && queues.of[1].len == 2);
        assert_eq!((queues.of[2].len, queues.empty), (0, 0b101));
    }
}
