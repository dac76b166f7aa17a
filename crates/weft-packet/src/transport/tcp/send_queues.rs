//! Chunks that Linux's MPTCP packet scheduler has assigned to subflows, in send queues bounded by
//! their buffers. Scheduling keys determine the next subflow (`mptcp_subflow_get_send` in
//! net/mptcp/protocol.c, buffers as in `net/ipv4/tcp_input.c`, kernel 6.x).

use std::collections::VecDeque;

use weft_cc::Window;

use super::gate::BlockReasons;
use super::rate::rate;
use super::subflow::SubflowSender;

/// Bytes assigned to one subflow at a time (`MPTCP_SEND_BURST_SIZE`), in two fragments; the
/// subflow's memory is checked between them (`__subflow_push_pending`).
pub const BURST: u32 = 65_428;

/// Memory that a segment takes in a queue besides its payload: the `truesize` of a buffer that
/// holds only headers.
pub const SKB_OVERHEAD: u32 = 896;

/// Smallest window, in packets, for which autotuning provides a buffer (`TCP_INIT_CWND`).
const MIN_SNDBUF_CWND: f64 = 10.0;

/// Largest send buffer (`tcp_wmem`, third value), and the connection's own buffer, in addition to
/// those of its subflows (the first value).
const MAX_SNDBUF: f64 = 4_194_304.0;
const MIN_SNDBUF: u32 = 4096;

/// Number of consecutive timeouts after which another subflow gets the data that is queued on this
/// one. Linux counts periods of the connection's own timer, of about 200 ms each, and reassigns the
/// data at the fifth period without an answer (`mptcp_pm_subflow_chk_stale`).
pub const STALE_LOSS_COUNT: u32 = 3;

/// Key of a subflow to which no data may be assigned.
const INELIGIBLE: u64 = u64::MAX;

/// Chunks that were assigned to a connection's subflows and not sent yet.
///
/// The subflow that gets the next burst is determined at every acknowledgement, which changes the
/// key of one subflow. The key of each subflow is therefore kept, and recomputed only if it may
/// have changed.
pub struct SendQueues {
    /// Chunks before this one are in the connection's own send buffer, or were: the application has
    /// handed them over.
    written: u32,
    /// Bytes of all send buffers.
    sndbuf_total: u32,
    /// Chunks that fit into the connection's own send buffer.
    sndbuf_chunks: u32,
    /// Segments for which a subflow's send buffer has space beyond two windows.
    extra_segments: f64,
    /// Bit `s` is set if subflow `s`, or its window, has changed since its key was computed.
    stale_keys: u64,
    /// Bit `s` is set if subflow `s` has nothing to send. Its buffer grows with its window.
    empty: u64,
    /// Keys by subflow; the subflow with the lowest key gets the next burst. A key is the time
    /// after which the subflow would have sent all that it holds. It is larger for suppressed
    /// subflows than for others, and [`INELIGIBLE`] if no data may be assigned.
    keys: Box<[u64]>,
    /// The first subflow with the lowest key.
    best: usize,
    /// True if the key of `best` has grown since it was chosen, so that the lowest key must be
    /// determined.
    best_grew: bool,
    /// One send queue per subflow, indexed by subflow number.
    subflows: Box<[SendQueue]>,
    /// Chunks to assign again, because the subflow that held them does not answer
    /// (`__mptcp_retransmit_pending_data`).
    to_reassign: VecDeque<u32>,
}

/// Chunks that were assigned to a subflow and not sent yet.
#[derive(Clone, Default)]
pub struct SendQueue {
    /// Ranges of chunks: the first one and the one after the last.
    runs: VecDeque<(u32, u32)>,
    /// Number of chunks.
    len: u32,
    /// Mean of the subflow's pacing rates at the bursts that were assigned to it, in bytes per
    /// second (`avg_pacing_rate`); 0 before the first one.
    avg_pacing_rate: f64,
    /// The subflow's send buffer in bytes of memory (`sk_sndbuf`), which never shrinks.
    sndbuf: u32,
    /// The part of the send buffer that [`SendQueues::sndbuf_total`] contains.
    sndbuf_added: u32,
    /// Number of consecutive timeouts.
    timeouts: u32,
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

    /// Returns the number of chunks.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns true if no chunk is queued.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the subflow's send buffer in bytes of memory.
    #[inline(always)]
    pub fn sndbuf(&self) -> u32 {
        self.sndbuf
    }

    /// Returns true if the subflow gets no data, because it has not answered for
    /// [`STALE_LOSS_COUNT`] timeouts.
    pub fn is_stale(&self, subflow: &SubflowSender) -> bool {
        self.timeouts >= STALE_LOSS_COUNT && subflow.state.timed_out_at(subflow.seq.una())
    }

    /// Returns the chunks in order.
    pub fn chunks(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().flat_map(|&(from, to)| from..to)
    }

    /// Returns the memory that the queue takes (`sk_wmem_queued`), including sent segments that are
    /// not acknowledged.
    pub fn memory(&self, subflow: &SubflowSender, mss: u32) -> u32 {
        (self.len + subflow.segments.len()) * (mss + SKB_OVERHEAD)
    }

    /// Returns the size to which the buffer grows. It grows to two windows if the buffer, and not
    /// the window, holds data back (`tcp_should_expand_sndbuf`, `tcp_sndbuf_expand`), or to more
    /// whole windows if they are needed for `extra_segments`.
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

    /// Returns the bytes that the subflow's buffer adds to the connection's.
    #[inline(always)]
    fn sndbuf_share(&self, window: &Window, subflow: &SubflowSender, mss: u32, extra_segments: f64) -> u32 {
        if is_eligible(window, subflow) {
            self.expanded_sndbuf(window, subflow, mss, extra_segments)
        } else {
            0
        }
    }

    /// Returns the subflow's entry of [`SendQueues::keys`].
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

/// Returns true if data may be assigned to the subflow.
#[inline(always)]
fn is_eligible(window: &Window, subflow: &SubflowSender) -> bool {
    window.established
        && !subflow
            .gate
            .is_blocked_by(BlockReasons::DRAINING.or(BlockReasons::NOT_SELECTED))
}

/// Returns the pacing rate that the scheduler reads, whether the socket is paced or not, in bytes
/// per second.
pub fn pacing_rate(window: &Window, subflow: &SubflowSender, mss: u32) -> f64 {
    rate(window, subflow.segments.len()) * f64::from(mss)
}

/// Returns the bytes of the send queues of a connection with `subflows` subflows, one range of
/// chunks each.
pub fn bytes(subflows: u32) -> usize {
    let each = size_of::<SendQueue>() + size_of::<u64>() + 4 * size_of::<(u32, u32)>();
    size_of::<SendQueues>() + subflows as usize * each
}

impl SendQueues {
    /// Creates empty send queues; for `extra_sndbuf_bursts`, see
    /// [`CongestionControl`](weft_cc::CongestionControl::extra_sndbuf_bursts).
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

    /// Returns the queue of subflow `s`.
    #[inline(always)]
    pub fn queue(&self, s: usize) -> &SendQueue {
        &self.subflows[s]
    }

    /// Returns the subflow that gets the next burst; `None` if no subflow may be assigned data.
    #[inline(always)]
    pub fn best(&self) -> Option<usize> {
        (self.keys[self.best] != INELIGIBLE).then_some(self.best)
    }

    /// Returns the number of chunks that the application has handed over.
    #[inline(always)]
    pub fn written(&self) -> u32 {
        self.written
    }

    /// Asks the application for more data once a third of the connection's buffer is free
    /// (`sk_stream_is_writeable`). The application has `written` chunks; those before `una` are
    /// acknowledged, and `nxt` is the next one that was never assigned.
    #[inline(always)]
    pub fn fill_buffer(&mut self, una: u32, nxt: u32, written: u32) {
        let capacity = self.sndbuf_chunks;
        let held = self.written.max(nxt) - una;
        if held <= capacity - capacity / 3 {
            self.written = una.saturating_add(capacity).min(written);
        }
    }

    /// Returns the number of chunks to assign again.
    #[inline(always)]
    pub fn reassignable(&self) -> u32 {
        self.to_reassign.len() as u32
    }

    /// Takes the first chunk to assign again.
    #[inline(always)]
    pub fn take_reassignable(&mut self) -> Option<u32> {
        self.to_reassign.pop_front()
    }

    /// Drops the chunks before `una` from those to assign again.
    #[inline(always)]
    pub fn drop_acked_reassignable(&mut self, una: u32) {
        if !self.to_reassign.is_empty() {
            self.to_reassign.retain(|&chunk| chunk >= una);
        }
    }

    /// Counts a timeout of subflow `s`, which is `repeated` if the subflow has not answered since the
    /// one before. Returns the number of consecutive timeouts.
    pub fn count_timeout(&mut self, s: usize, repeated: bool) -> u32 {
        let queue = &mut self.subflows[s];
        queue.timeouts = if repeated { queue.timeouts + 1 } else { 1 };
        queue.timeouts
    }

    /// Updates the mean pacing rate of subflow `s`, which holds `memory` bytes and gets a burst while
    /// its pacing rate is `rate`.
    #[inline(always)]
    pub fn update_avg_pacing_rate(&mut self, s: usize, memory: u32, rate: f64) {
        let (old, new) = (f64::from(memory), f64::from(BURST));
        let queue = &mut self.subflows[s];
        queue.avg_pacing_rate = (queue.avg_pacing_rate * old + rate * new) / (old + new);
    }

    /// Marks the keys of these subflows as stale, one bit each.
    #[inline(always)]
    pub fn mark_stale(&mut self, subflows: u64) {
        self.stale_keys |= subflows;
    }

    /// Marks the keys of all subflows as stale.
    pub fn invalidate_keys(&mut self) {
        self.stale_keys = full_mask(self.subflows.len() as u32);
    }

    /// Appends a chunk to the queue of subflow `s`.
    pub fn push(&mut self, s: usize, chunk: u32) {
        self.subflows[s].push(chunk);
        self.empty &= !(1 << s);
    }

    /// Takes the first chunk in the queue of subflow `s`.
    pub fn pop(&mut self, s: usize) -> Option<u32> {
        let queue = &mut self.subflows[s];
        let chunk = queue.pop();
        self.empty |= u64::from(queue.len == 0) << s;
        chunk
    }

    /// Updates stale keys, the keys of subflows whose buffers grow, and the best subflow.
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

    /// Updates the key of subflow `s`.
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

    /// Returns true if recomputing the keys would change nothing.
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

    /// Returns true if a chunk waits to be assigned, or was assigned and not sent.
    fn contains(&self, chunk: u32) -> bool {
        let runs = self.subflows.iter().flat_map(|queue| &queue.runs);
        self.to_reassign.contains(&chunk) || runs.into_iter().any(|&(from, to)| (from..to).contains(&chunk))
    }

    /// Moves the chunks queued on subflow `s` to `to_reassign`, and also the chunks that it has
    /// `sent`, unless a chunk is queued already.
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

    /// Drops the chunks before `una` and the chunks in `arrived`, which is sorted, from all queues.
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

/// Returns a mask with a bit set for each of `subflows` subflows.
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
