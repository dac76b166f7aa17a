//! The send queue of a subflow: chunks that Linux's MPTCP packet scheduler has assigned to it, its
//! memory, and its key (`mptcp_subflow_get_send` in net/mptcp/protocol.c, kernel 6.x).

use std::collections::VecDeque;
use std::ops::Range;

use weft_cc::Window;

use super::best_of::Key;
use super::gate::BlockReasons;
use super::rate::rate;
use super::send_buffers::{SKB_OVERHEAD, SendBuffers, SubflowBuffer};
use super::subflow::SubflowSender;

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
