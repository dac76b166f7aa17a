//! What Linux's MPTCP packet scheduler has given to subflows, in send queues that their buffers bound, and whose turn is next
//! (`mptcp_subflow_get_send` in net/mptcp/protocol.c, buffers as in `net/ipv4/tcp_input.c`, kernel 6.x).

use std::collections::VecDeque;

use weft_cc::Window;

use super::pacing::rate;
use super::subflow::{BlockReasons, State, SubflowSender};

/// Bytes given to one subflow at a time (`MPTCP_SEND_BURST_SIZE`), in two fragments, between which its memory is looked at
/// (`__subflow_push_pending`).
pub const BURST: u32 = 65_428;

/// Memory that a segment takes in a queue beside its payload: `truesize` of a buffer for headers alone.
pub const SKB_OVERHEAD: u32 = 896;

/// The window for which autotuning provides at least (`TCP_INIT_CWND`).
const MIN_SNDBUF_CWND: f64 = 10.0;

/// The largest send buffer (`tcp_wmem`, third value), and what a connection has beside its subflows' (the first).
const MAX_SNDBUF: f64 = 4_194_304.0;
const MIN_SNDBUF: u32 = 4096;

/// After this many timeouts in a row another subflow gets the data that this one holds. Linux counts periods of the connection's own timer, of some
/// 200 ms each, and does so at the fifth without an answer (`mptcp_pm_subflow_chk_stale`).
pub const STALE_LOSS_COUNT: u32 = 3;

/// The rank of a subflow that is given nothing.
pub const INELIGIBLE: u64 = u64::MAX;

/// What a connection's subflows were given and have not sent yet.
///
/// Who is given the next burst is looked for at every acknowledgement, which changes the answer for one subflow. So each one's rank is
/// kept, and computed anew only when it may have changed.
pub struct SendQueues {
    /// Chunks before this are in the connection's own send buffer, or were: the application has handed them over.
    pub written: u32,
    /// Bytes of all send buffers.
    sndbuf_total: u32,
    /// Chunks that the connection's own send buffer takes.
    pub sndbuf_chunks: u32,
    /// Segments of bursts that a subflow's send buffer has room for beyond two windows.
    extra_segments: f64,
    /// Bit `s`: has subflow `s`, or its window, changed since its rank was computed?
    pub stale_keys: u64,
    /// Bit `s`: is subflow `s` without anything to send? Its buffer grows with its window.
    empty: u64,
    /// The subflow of the lowest rank is given the next burst: by when it would have sent all it holds, suppressed ones last;
    /// [`NOBODY`] if it is given nothing.
    pub keys: Box<[u64]>,
    /// The first subflow of the lowest rank.
    pub best: usize,
    /// Has its rank risen, so that it is to be looked for?
    best_grew: bool,
    /// A subflow's each.
    pub subflows: Box<[SendQueue]>,
    /// Chunks to be given again, because the subflow that held them does not answer (`__mptcp_retransmit_pending_data`).
    pub to_reassign: VecDeque<u32>,
}

/// What a subflow was given and has not sent yet.
#[derive(Clone, Default)]
pub struct SendQueue {
    /// Chunks, from and to.
    runs: VecDeque<(u32, u32)>,
    pub len: u32,
    /// Mean of its pacing rates at the bursts that it was given, in bytes per second (`avg_pacing_rate`); 0 before the first look.
    pub avg_pacing_rate: f64,
    /// Its send buffer in bytes of memory (`sk_sndbuf`); it never shrinks.
    pub sndbuf: u32,
    /// As much of it as [`Queues::buffers`] contains.
    sndbuf_added: u32,
    /// Timeouts in a row.
    pub timeouts: u32,
}

impl SendQueue {
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
        self.timeouts >= STALE_LOSS_COUNT
            && subflow.state == State::Loss
            && subflow.una_at_timeout == subflow.una
    }

    pub fn chunks(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().flat_map(|&(from, to)| from..to)
    }

    /// Memory that it takes (`sk_wmem_queued`): of what is not acknowledged, too.
    pub fn memory(&self, subflow: &SubflowSender, mss: u32) -> u32 {
        (self.len + subflow.segments.len()) * (mss + SKB_OVERHEAD)
    }

    /// The buffer grows to two windows where it, and not the window, holds data back (`tcp_should_expand_sndbuf`,
    /// `tcp_sndbuf_expand`); or to more whole windows, with room for the segments `ahead`.
    #[inline(always)]
    fn expanded_sndbuf(
        &self,
        window: &Window,
        subflow: &SubflowSender,
        mss: u32,
        extra_segments: f64,
    ) -> u32 {
        if self.sndbuf == 0 || self.len == 0 && subflow.may_send(window) {
            let segment = (mss + 640).next_power_of_two() + 256;
            let cwnd = window.cwnd.max(MIN_SNDBUF_CWND);
            let mut windows = 2.0;
            if extra_segments > 0.0 {
                windows += (extra_segments / cwnd.floor()).ceil();
            }
            let wanted = windows * cwnd * f64::from(segment);
            return self.sndbuf.max(wanted.min(MAX_SNDBUF) as u32);
        }
        self.sndbuf
    }

    /// What its buffer adds to the connection's.
    #[inline(always)]
    fn sndbuf_share(&self, window: &Window, subflow: &SubflowSender, mss: u32, extra_segments: f64) -> u32 {
        if is_eligible(window, subflow) {
            self.expanded_sndbuf(window, subflow, mss, extra_segments)
        } else {
            0
        }
    }

    /// See [`Queues::ranks`].
    #[inline(always)]
    fn key(&self, window: &Window, subflow: &SubflowSender, mss: u32) -> u64 {
        if !is_eligible(window, subflow) || self.is_stale(subflow) {
            return INELIGIBLE;
        }
        let linger = f64::from(self.memory(subflow, mss)) / self.avg_pacing_rate;
        // Numbers that are not negative are in the order of their bits.
        linger.to_bits() | u64::from(!window.active) << 63
    }
}

/// Might the subflow be given data?
#[inline(always)]
fn is_eligible(window: &Window, subflow: &SubflowSender) -> bool {
    window.established
        && !subflow
            .blocked
            .contains_any(BlockReasons::DRAINING.or(BlockReasons::NOT_SELECTED))
}

/// What the scheduler reads whether the socket is paced or not, in bytes per second.
pub fn pacing_rate(window: &Window, subflow: &SubflowSender, mss: u32) -> f64 {
    rate(window, subflow.segments.len()) * f64::from(mss)
}

/// Bytes of a connection's queues, with `subflows`, a run of chunks each.
pub fn bytes(subflows: u32) -> usize {
    let each = size_of::<SendQueue>() + size_of::<u64>() + 4 * size_of::<(u32, u32)>();
    size_of::<SendQueues>() + subflows as usize * each
}

impl SendQueues {
    /// Nothing given yet; of [`extra_sndbuf_bursts`](weft_cc::CongestionControl::extra_sndbuf_bursts).
    pub fn new(subflows: u32, extra_sndbuf_bursts: u32, mss: u32) -> Self {
        Self {
            written: 0,
            sndbuf_total: MIN_SNDBUF,
            sndbuf_chunks: 0,
            extra_segments: f64::from(extra_sndbuf_bursts * BURST.div_ceil(mss)),
            stale_keys: full_mask(subflows),
            empty: full_mask(subflows),
            keys: vec![INELIGIBLE; subflows as usize].into(),
            best: 0,
            best_grew: false,
            subflows: vec![SendQueue::default(); subflows as usize].into(),
            to_reassign: VecDeque::new(),
        }
    }

    /// Any of the subflows may have changed.
    pub fn invalidate_keys(&mut self) {
        self.stale_keys = full_mask(self.subflows.len() as u32);
    }

    pub fn push(&mut self, s: usize, chunk: u32) {
        self.subflows[s].push(chunk);
        self.empty &= !(1 << s);
    }

    pub fn pop(&mut self, s: usize) -> Option<u32> {
        let queue = &mut self.subflows[s];
        let chunk = queue.pop();
        self.empty |= u64::from(queue.len == 0) << s;
        chunk
    }

    /// Computes the ranks of those that may have changed, and of those whose buffers grow.
    #[inline(always)]
    pub fn update_keys(&mut self, windows: &[Window], subflows: &[SubflowSender], mss: u32) {
        let mut idle = self.empty & !self.stale_keys;
        while idle != 0 {
            let s = idle.trailing_zeros() as usize;
            idle &= idle - 1;
            let queue = &self.subflows[s];
            let grows = queue.sndbuf_added != 0
                && queue.expanded_sndbuf(&windows[s], &subflows[s], mss, self.extra_segments)
                    != queue.sndbuf_added;
            self.stale_keys |= u64::from(grows) << s;
        }
        while self.stale_keys != 0 {
            let s = self.stale_keys.trailing_zeros() as usize;
            self.stale_keys &= self.stale_keys - 1;
            self.update_key(s, &windows[s], &subflows[s], mss);
        }
        if self.best_grew {
            self.best_grew = false;
            let mut lowest = INELIGIBLE;
            for (s, &key) in self.keys.iter().enumerate() {
                if key < lowest {
                    (self.best, lowest) = (s, key);
                }
            }
        }
        debug_assert!(self.is_current(windows, subflows, mss));
    }

    /// Computes the rank of subflow `s`.
    #[inline(always)]
    fn update_key(&mut self, s: usize, window: &Window, subflow: &SubflowSender, mss: u32) {
        let queue = &mut self.subflows[s];
        let before_added = queue.sndbuf_added;
        queue.sndbuf_added = queue.sndbuf_share(window, subflow, mss, self.extra_segments);
        queue.sndbuf = queue.sndbuf.max(queue.sndbuf_added);
        if queue.sndbuf_added != before_added {
            self.sndbuf_total = self.sndbuf_total - before_added + queue.sndbuf_added;
            self.sndbuf_chunks = (self.sndbuf_total / mss).max(1);
        }
        if queue.avg_pacing_rate == 0.0 && is_eligible(window, subflow) && !queue.is_stale(subflow) {
            queue.avg_pacing_rate = pacing_rate(window, subflow, mss);
        }
        let key = queue.key(window, subflow, mss);
        let before = std::mem::replace(&mut self.keys[s], key);
        if s == self.best {
            self.best_grew |= key > before;
        } else if (key, s) < (self.keys[self.best], self.best) {
            self.best = s;
        }
    }

    /// Would computing anything anew change it?
    fn is_current(&self, windows: &[Window], subflows: &[SubflowSender], mss: u32) -> bool {
        let lowest = self.keys[self.best];
        (0..subflows.len()).all(|s| {
            let (queue, window, subflow) = (&self.subflows[s], &windows[s], &subflows[s]);
            queue.sndbuf_share(window, subflow, mss, self.extra_segments) == queue.sndbuf_added
                && queue.key(window, subflow, mss) == self.keys[s]
                && (lowest < self.keys[s]
                    || lowest == self.keys[s] && (self.best <= s || lowest == INELIGIBLE))
        })
    }

    /// Is a chunk to be given, or was it given and not sent?
    fn contains(&self, chunk: u32) -> bool {
        let runs = self.subflows.iter().flat_map(|queue| &queue.runs);
        self.to_reassign.contains(&chunk) || runs.into_iter().any(|&(from, to)| (from..to).contains(&chunk))
    }

    /// What subflow `s` holds is to be given anew, and what it has sent, unless a copy of that waits already.
    pub fn requeue(&mut self, s: u32, sent: impl Iterator<Item = u32>) {
        for chunk in sent {
            if !self.contains(chunk) {
                self.to_reassign.push_back(chunk);
            }
        }
        while let Some(chunk) = self.pop(s as usize) {
            self.to_reassign.push_back(chunk);
        }
        self.invalidate_keys();
    }

    /// Nothing before `una` and nothing of `arrived`, which is in order, is given or sent any more.
    pub fn drop_acked(&mut self, una: u32, arrived: &[u32]) {
        let waits = |chunk: &u32| *chunk >= una && arrived.binary_search(chunk).is_err();
        self.to_reassign.retain(waits);
        for s in 0..self.subflows.len() {
            let kept: Vec<u32> = self.subflows[s].chunks().filter(waits).collect();
            if kept.len() < self.subflows[s].len as usize {
                while self.pop(s).is_some() {}
                for chunk in kept {
                    self.push(s, chunk);
                }
            }
        }
        self.invalidate_keys();
    }
}

/// A bit for each of `subflows`.
pub fn full_mask(subflows: u32) -> u64 {
    u64::MAX >> (64 - subflows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_chunk_waits_twice() {
        let mut queues = SendQueues::new(3, 0, 1448);
        queues.to_reassign.push_back(7);
        queues.subflows[1].push(5);
        queues.subflows[1].push(6);
        queues.requeue(0, [4, 5, 6, 7, 8].into_iter());
        assert_eq!(queues.to_reassign, [7, 4, 8]);
        queues.requeue(1, [4, 9].into_iter());
        assert_eq!(queues.to_reassign, [7, 4, 8, 9, 5, 6]);
        queues.requeue(2, [5, 9].into_iter());
        assert_eq!(queues.to_reassign, [7, 4, 8, 9, 5, 6]);
    }

    #[test]
    fn what_has_arrived_waits_nowhere() {
        let mut queues = SendQueues::new(3, 0, 1448);
        queues.to_reassign.extend([7, 4]);
        for chunk in [5, 6, 9] {
            queues.push(1, chunk);
        }
        queues.push(2, 8);
        queues.drop_acked(5, &[6, 8]);
        assert_eq!(queues.to_reassign, [7]);
        assert!(queues.subflows[1].chunks().eq([5, 9]) && queues.subflows[1].len == 2);
        assert_eq!((queues.subflows[2].len, queues.empty), (0, 0b101));
    }
}
