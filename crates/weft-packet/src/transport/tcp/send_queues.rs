//! Chunks that Linux's MPTCP packet scheduler has assigned to subflows, in send queues bounded by
//! their buffers. Keys determine the subflow that gets the next burst: the one with the lowest
//! `linger_time` (`mptcp_subflow_get_send` in net/mptcp/protocol.c, kernel 6.x). Keys are stored, and
//! recomputed only if they may have changed.

use std::collections::VecDeque;
use std::ops::Range;

use weft_cc::Window;

use super::congestion::rate;
use super::send_data::{SKB_OVERHEAD, SendBuffers, SubflowBuffer};
use super::subflow::{BlockReasons, SubflowSender};

/// The rank of a subflow for the next burst; the lowest key gets it. A key is the time after which
/// the subflow would have sent all its queued data (`linger_time`). It is larger for backup subflows than for others,
/// and largest for subflows to which no data may be assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64);

/// The bit of keys of backup subflows.
const BACKUP: u64 = 1 << 63;

impl Key {
    /// The key of a subflow to which no data may be assigned.
    pub const INELIGIBLE: Self = Self(u64::MAX);

    /// Creates the key of a subflow that would have sent everything after `linger`, in any unit,
    /// which is not negative.
    #[inline(always)]
    pub fn eligible(linger: f64, is_backup: bool) -> Self {
        // Numbers that are not negative are in the order of their bits.
        Self(linger.to_bits() | if is_backup { BACKUP } else { 0 })
    }
}

/// The keys of subflows, and the first subflow with the lowest one. The user recomputes
/// [stale](Self::take_stale) keys before asking for the [best](Self::best) subflow.
pub struct BestOf {
    /// Keys by subflow.
    keys: Box<[Key]>,
    /// Bit `s` is set if the key of subflow `s` may have changed since it was computed.
    stale: u64,
    /// The first subflow with the lowest key, unless `best_grew`.
    best: usize,
    /// True if the key of `best` has grown since it was chosen, so that the lowest key must be
    /// determined.
    best_grew: bool,
}

impl BestOf {
    /// Creates stale keys of this many subflows, 1 to 64.
    pub fn new(subflows: u32) -> Self {
        Self {
            keys: vec![Key::INELIGIBLE; subflows as usize].into(),
            stale: full_mask(subflows),
            best: 0,
            best_grew: false,
        }
    }

    /// Marks the keys of these subflows as stale, one bit each.
    #[inline(always)]
    pub fn invalidate(&mut self, subflows: u64) {
        self.stale |= subflows;
    }

    /// Marks all keys as stale.
    pub fn invalidate_all(&mut self) {
        self.stale = full_mask(self.keys.len() as u32);
    }

    /// Returns the subflows with stale keys, one bit each.
    #[inline(always)]
    pub fn stale(&self) -> u64 {
        self.stale
    }

    /// Takes the first subflow with a stale key, whose key the caller updates.
    #[inline(always)]
    pub fn take_stale(&mut self) -> Option<usize> {
        if self.stale == 0 {
            return None;
        }
        let s = self.stale.trailing_zeros() as usize;
        self.stale &= self.stale - 1;
        Some(s)
    }

    /// Updates the key of subflow `s`.
    #[inline(always)]
    pub fn update(&mut self, s: usize, key: Key) {
        let before = std::mem::replace(&mut self.keys[s], key);
        if s == self.best {
            self.best_grew |= key > before;
        } else {
            let lowest = self.keys[self.best];
            if key < lowest || key == lowest && s < self.best {
                self.best = s;
            }
        }
    }

    /// Returns the first subflow with the lowest key; `None` if no data may be assigned to any. No
    /// key may be stale.
    #[inline(always)]
    pub fn best(&mut self) -> Option<usize> {
        debug_assert_eq!(self.stale, 0);
        if self.best_grew {
            self.best_grew = false;
            let mut lowest = Key::INELIGIBLE;
            for (s, &key) in self.keys.iter().enumerate() {
                if key < lowest {
                    (self.best, lowest) = (s, key);
                }
            }
        }
        (self.keys[self.best] != Key::INELIGIBLE).then_some(self.best)
    }

    /// Returns true if the key of subflow `s` is this one.
    pub fn has(&self, s: usize, key: Key) -> bool {
        self.keys[s] == key
    }
}

/// Returns a mask with a bit set for each of `subflows` subflows, 1 to 64.
pub fn full_mask(subflows: u32) -> u64 {
    u64::MAX >> (64 - subflows)
}

/// Bytes assigned to one subflow at a time (`MPTCP_SEND_BURST_SIZE`), in two fragments; the
/// subflow's memory is checked between them (`__subflow_push_pending`).
pub const BURST: u32 = 65_428;

/// Number of consecutive timeouts after which another subflow gets the data that is queued on this
/// one. Linux counts periods of the connection's own timer, of about 200 ms each, and reassigns the
/// data at the fifth period without an answer (`mptcp_pm_subflow_chk_stale`).
pub const STALE_LOSS_COUNT: u32 = 3;

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
    /// The subflow's send buffer.
    buffer: SubflowBuffer,
    /// Number of consecutive timeouts.
    timeouts: u32,
}

impl SendQueue {
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
        self.buffer.size()
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

    /// Returns true if the subflow's send buffer has no space for another segment.
    #[inline(always)]
    pub fn is_full(&self, buffers: &SendBuffers, subflow: &SubflowSender) -> bool {
        buffers.is_full(self.buffer, self.len + subflow.segments.len())
    }

    /// Returns the memory that the queue takes (`sk_wmem_queued`), including sent segments that are
    /// not acknowledged.
    pub fn memory(&self, subflow: &SubflowSender, mss: u32) -> u32 {
        (self.len + subflow.segments.len()) * (mss + SKB_OVERHEAD)
    }

    /// Appends a chunk.
    pub fn push(&mut self, chunk: u32) {
        self.push_run(chunk..chunk + 1);
    }

    /// Appends the chunks of a range, which is not empty.
    pub fn push_run(&mut self, Range { start, end }: Range<u32>) {
        self.len += end - start;
        match self.runs.back_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => self.runs.push_back((start, end)),
        }
    }

    /// Takes the first chunk.
    pub fn pop(&mut self) -> Option<u32> {
        let run = self.runs.front_mut()?;
        let chunk = run.0;
        run.0 += 1;
        if run.0 == run.1 {
            self.runs.pop_front();
        }
        self.len -= 1;
        Some(chunk)
    }

    /// Returns true if the chunk is queued.
    pub fn contains(&self, chunk: u32) -> bool {
        self.runs.iter().any(|&(from, to)| (from..to).contains(&chunk))
    }

    /// Counts a timeout, which is `repeated` if the subflow has not answered since the one before.
    /// Returns the number of consecutive timeouts.
    pub fn count_timeout(&mut self, repeated: bool) -> u32 {
        self.timeouts = if repeated { self.timeouts + 1 } else { 1 };
        self.timeouts
    }

    /// Updates the mean pacing rate of the subflow, which holds `memory` bytes and gets a burst while
    /// its pacing rate is `rate`.
    #[inline(always)]
    pub fn update_avg_pacing_rate(&mut self, memory: u32, rate: f64) {
        let (old, new) = (f64::from(memory), f64::from(BURST));
        self.avg_pacing_rate = (self.avg_pacing_rate * old + rate * new) / (old + new);
    }

    /// Returns true if the size of an idle subflow's buffer has changed.
    #[inline(always)]
    pub fn buffer_grows(&self, buffers: &SendBuffers, window: &Window, subflow: &SubflowSender) -> bool {
        self.buffer.added() != 0 && self.expanded_buffer(buffers, window, subflow) != self.buffer.added()
    }

    #[inline(always)]
    fn expanded_buffer(&self, buffers: &SendBuffers, window: &Window, subflow: &SubflowSender) -> u32 {
        let is_short = self.len == 0 && subflow.may_send(window);
        buffers.expanded(self.buffer, window, is_short)
    }

    /// Returns the bytes that the subflow's buffer adds to the connection's.
    #[inline(always)]
    fn buffer_share(&self, buffers: &SendBuffers, window: &Window, subflow: &SubflowSender) -> u32 {
        if is_eligible(window, subflow) {
            self.expanded_buffer(buffers, window, subflow)
        } else {
            0
        }
    }

    /// Updates the subflow's buffer and, before the first burst, its pacing rate. Returns its key.
    #[inline(always)]
    pub fn update(
        &mut self,
        buffers: &mut SendBuffers,
        window: &Window,
        subflow: &SubflowSender,
        mss: u32,
    ) -> Key {
        let is_eligible = is_eligible(window, subflow);
        let share = if is_eligible {
            self.expanded_buffer(buffers, window, subflow)
        } else {
            0
        };
        buffers.set_added(&mut self.buffer, share);
        if !is_eligible || self.is_stale(subflow) {
            return Key::INELIGIBLE;
        }
        if self.avg_pacing_rate == 0.0 {
            self.avg_pacing_rate = pacing_rate(window, subflow, mss);
        }
        self.eligible_key(window, subflow, mss)
    }

    /// Returns the key of a subflow that is eligible and not stale.
    #[inline(always)]
    fn eligible_key(&self, window: &Window, subflow: &SubflowSender, mss: u32) -> Key {
        let linger = f64::from(self.memory(subflow, mss)) / self.avg_pacing_rate;
        Key::eligible(linger, !window.active)
    }

    /// Returns the key that the subflow has now, or `None` if its buffer would also change.
    pub fn current_key(
        &self,
        buffers: &SendBuffers,
        window: &Window,
        subflow: &SubflowSender,
        mss: u32,
    ) -> Option<Key> {
        let is_current = self.buffer_share(buffers, window, subflow) == self.buffer.added();
        let is_eligible = is_eligible(window, subflow) && !self.is_stale(subflow);
        is_current.then(|| {
            if is_eligible {
                self.eligible_key(window, subflow, mss)
            } else {
                Key::INELIGIBLE
            }
        })
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

/// Chunks that were assigned to a connection's subflows and not sent yet.
///
/// The subflow that gets the next burst is determined at every acknowledgement, which changes the
/// key of one subflow. Keys are therefore kept.
pub struct SendQueues {
    /// The connection's send buffer.
    buffers: SendBuffers,
    /// The keys of the subflows; the lowest one gets the next burst.
    keys: BestOf,
    /// Bit `s` is set if subflow `s` has nothing to send. Its buffer grows with its window.
    empty: u64,
    /// One send queue per subflow, indexed by subflow number.
    queues: Box<[SendQueue]>,
    /// Chunks to assign again, because the subflow that held them does not answer
    /// (`__mptcp_retransmit_pending_data`).
    to_reassign: VecDeque<u32>,
}

/// Returns the bytes of the send queues of a connection with `subflows` subflows, one range of
/// chunks each.
pub fn bytes(subflows: u32) -> usize {
    let each = size_of::<SendQueue>() + size_of::<u64>() + 4 * size_of::<(u32, u32)>();
    size_of::<SendQueues>() + subflows as usize * each
}

impl SendQueues {
    /// Creates empty send queues; for `extra_sndbuf_bursts`, see
    /// [`CongestionControl`](weft_cc::CongestionControl::extra_sndbuf_bursts). The send buffers of
    /// subflows have at most `send_buffer` bytes.
    pub fn new(subflows: u32, extra_sndbuf_bursts: u32, mss: u32, send_buffer: u64) -> Self {
        Self {
            buffers: SendBuffers::new(extra_sndbuf_bursts * BURST.div_ceil(mss), mss, send_buffer),
            keys: BestOf::new(subflows),
            empty: full_mask(subflows),
            queues: vec![SendQueue::default(); subflows as usize].into(),
            to_reassign: VecDeque::new(),
        }
    }

    /// Returns the queue of subflow `s`.
    #[inline(always)]
    pub fn queue(&self, s: usize) -> &SendQueue {
        &self.queues[s]
    }

    /// Returns true if subflow `s` has nothing to send.
    #[inline(always)]
    pub fn is_empty(&self, s: usize) -> bool {
        self.empty & 1 << s != 0
    }

    /// Returns the queue of subflow `s`, to change its counters.
    #[inline(always)]
    pub fn queue_mut(&mut self, s: usize) -> &mut SendQueue {
        &mut self.queues[s]
    }

    /// Returns the subflow that gets the next burst; `None` if no subflow may be assigned data.
    /// Updates stale keys, and the keys of subflows whose buffers grow.
    #[inline(always)]
    pub fn best(&mut self, windows: &[Window], subflows: &[SubflowSender], mss: u32) -> Option<usize> {
        let mut idle = self.empty & !self.keys.stale();
        while idle != 0 {
            let s = idle.trailing_zeros() as usize;
            idle &= idle - 1;
            let grows = self.queues[s].buffer_grows(&self.buffers, &windows[s], &subflows[s]);
            self.keys.invalidate(u64::from(grows) << s);
        }
        while let Some(s) = self.keys.take_stale() {
            let key = self.queues[s].update(&mut self.buffers, &windows[s], &subflows[s], mss);
            self.keys.update(s, key);
        }
        debug_assert!(self.is_current(windows, subflows, mss));
        self.keys.best()
    }

    /// Returns true if recomputing the keys would change nothing.
    fn is_current(&self, windows: &[Window], subflows: &[SubflowSender], mss: u32) -> bool {
        (0..subflows.len()).all(|s| {
            let key = self.queues[s].current_key(&self.buffers, &windows[s], &subflows[s], mss);
            key.is_some_and(|key| self.keys.has(s, key))
        })
    }

    /// Returns true if the send buffer of subflow `s` has no space for another segment.
    #[inline(always)]
    pub fn is_full(&self, s: usize, subflow: &SubflowSender) -> bool {
        self.queues[s].is_full(&self.buffers, subflow)
    }

    /// Returns the number of chunks that the application has handed over.
    #[inline(always)]
    pub fn written(&self) -> u32 {
        self.buffers.written()
    }

    /// Asks the application for more data if the connection's buffer has space (see
    /// [`SendBuffers::fill`]).
    #[inline(always)]
    pub fn fill_buffer(&mut self, una: u32, nxt: u32, written: u32) {
        self.buffers.fill(una, nxt, written);
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

    /// Marks the keys of these subflows as stale, one bit each.
    #[inline(always)]
    pub fn invalidate(&mut self, subflows: u64) {
        self.keys.invalidate(subflows);
    }

    /// Marks the keys of all subflows as stale.
    pub fn invalidate_all(&mut self) {
        self.keys.invalidate_all();
    }

    /// Appends a chunk to the queue of subflow `s`.
    pub fn push(&mut self, s: usize, chunk: u32) {
        self.queues[s].push(chunk);
        self.empty &= !(1 << s);
    }

    /// Appends the chunks of a range, which is not empty, to the queue of subflow `s`.
    pub fn push_run(&mut self, s: usize, chunks: Range<u32>) {
        self.queues[s].push_run(chunks);
        self.empty &= !(1 << s);
    }

    /// Takes the first chunk in the queue of subflow `s`.
    pub fn pop(&mut self, s: usize) -> Option<u32> {
        let queue = &mut self.queues[s];
        let chunk = queue.pop();
        self.empty |= u64::from(queue.is_empty()) << s;
        chunk
    }

    /// Returns true if a chunk waits to be assigned, or was assigned and not sent.
    fn contains(&self, chunk: u32) -> bool {
        self.to_reassign.contains(&chunk) || self.queues.iter().any(|queue| queue.contains(chunk))
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
        self.invalidate_all();
    }

    /// Drops the chunks before `una` and the chunks in `arrived`, which is sorted, from all queues.
    pub fn drop_acked(&mut self, una: u32, arrived: &[u32]) {
        let waits = |chunk: &u32| *chunk >= una && arrived.binary_search(chunk).is_err();
        self.to_reassign.retain(waits);
        for s in 0..self.queues.len() {
            let kept: Vec<u32> = self.queues[s].chunks().filter(waits).collect();
            if kept.len() < self.queues[s].len() as usize {
                while self.pop(s).is_some() {}
                for chunk in kept {
                    self.push(s, chunk);
                }
            }
        }
        self.invalidate_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first subflow with the lowest key, by sorting.
    fn sorted(keys: &[Key]) -> Option<usize> {
        let eligible = (0..keys.len()).filter(|&s| keys[s] != Key::INELIGIBLE);
        eligible.min_by_key(|&s| (keys[s], s))
    }

    #[test]
    fn keys_are_in_the_order_of_lingers_and_backups_come_last() {
        let keys = [
            Key::eligible(0.0, false),
            Key::eligible(1e-9, false),
            Key::eligible(2.5, false),
            Key::eligible(f64::INFINITY, false),
            Key::eligible(0.0, true),
            Key::eligible(2.5, true),
            Key::INELIGIBLE,
        ];
        assert!(keys.is_sorted() && keys.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_best_is_the_first_with_the_lowest_key_after_any_updates() {
        let mut best_of = BestOf::new(5);
        let mut keys = [Key::INELIGIBLE; 5];
        while best_of.take_stale().is_some() {}
        assert_eq!(best_of.best(), None);
        let mut state = 1_u64;
        for step in 0..2_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
            let (s, linger) = ((state >> 40) as usize % 5, (state >> 50) % 4);
            keys[s] = match linger {
                3 => Key::INELIGIBLE,
                linger => Key::eligible(linger as f64, state >> 33 & 1 == 1),
            };
            best_of.invalidate(1 << s);
            assert_eq!(best_of.take_stale(), Some(s));
            best_of.update(s, keys[s]);
            if state >> 34 & 1 == 1 {
                assert_eq!(best_of.best(), sorted(&keys), "step {step}");
            }
        }
        best_of.invalidate_all();
        assert_eq!(best_of.stale(), 0b1_1111);
    }

    #[test]
    fn no_chunk_waits_twice() {
        let mut queues = SendQueues::new(3, 0, 1448, 4 << 20);
        queues.to_reassign.push_back(7);
        queues.queues[1].push(5);
        queues.queues[1].push(6);
        queues.requeue(0, [4, 5, 6, 7, 8].into_iter());
        assert_eq!(queues.to_reassign, [7, 4, 8]);
        queues.requeue(1, [4, 9].into_iter());
        assert_eq!(queues.to_reassign, [7, 4, 8, 9, 5, 6]);
        queues.requeue(2, [5, 9].into_iter());
        assert_eq!(queues.to_reassign, [7, 4, 8, 9, 5, 6]);
    }

    #[test]
    fn what_has_arrived_waits_nowhere() {
        let mut queues = SendQueues::new(3, 0, 1448, 4 << 20);
        queues.to_reassign.extend([7, 4]);
        for chunk in [5, 6, 9] {
            queues.push(1, chunk);
        }
        queues.push(2, 8);
        queues.drop_acked(5, &[6, 8]);
        assert_eq!(queues.to_reassign, [7]);
        assert!(queues.queue(1).chunks().eq([5, 9]) && queues.queue(1).len() == 2);
        assert_eq!((queues.queue(2).len(), queues.empty), (0, 0b101));
    }
}
