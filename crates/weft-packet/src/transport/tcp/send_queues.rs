//! Chunks that Linux's MPTCP packet scheduler has assigned to subflows, in send queues bounded by
//! their buffers. Keys determine the subflow that gets the next burst (`mptcp_subflow_get_send` in
//! net/mptcp/protocol.c, kernel 6.x).

use std::collections::VecDeque;
use std::ops::Range;

use weft_cc::Window;

use super::best_of::{BestOf, full_mask};
use super::send_buffers::SendBuffers;
use super::send_queue::{BURST, SendQueue};
use super::subflow::SubflowSender;

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
