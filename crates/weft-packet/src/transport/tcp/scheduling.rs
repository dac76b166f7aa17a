//! Linux's MPTCP packet scheduler (`mptcp_subflow_get_send` in net/mptcp/protocol.c, kernel 6.x).
//! The other schedulers assign a packet when a window allows it.
//!
//! This scheduler assigns data to subflows' send queues before their windows allow it, and data
//! stays with its subflow. Short flows are therefore spread before suppression can act, and data of
//! other subflows may wait for a slow one.

use super::connection::ConnectionSender;
use super::endpoint::TcpEndpoint;
use super::output::Output;
use super::send_data::SKB_OVERHEAD;
use super::send_queues::SendQueues;
use super::send_queues::full_mask;
use super::send_queues::{BURST, STALE_LOSS_COUNT, pacing_rate};
use super::subflow::BlockReasons;
use super::subflow::SubflowSender;
use crate::transport::state::HostContext;

impl ConnectionSender {
    /// Returns true if a chunk is queued on subflow `s` and its window allows it.
    fn can_send_queued(&self, s: u32, subflow: &SubflowSender) -> bool {
        let window = &self.windows()[s as usize];
        let is_queued = |queues: &SendQueues| !queues.is_empty(s as usize);
        self.send_queues.as_deref().is_some_and(is_queued)
            && window.established
            && !subflow
                .gate
                .is_blocked_by(BlockReasons::THROTTLED.or(BlockReasons::NOT_SELECTED))
            && subflow.may_send(window)
            && subflow.seq.has_room()
            && (!subflow.segments.any_to_retransmit() || subflow.state.awaits_new_data())
    }

    /// Takes the next chunk that is queued on subflow `s`.
    pub fn dequeue(&mut self, s: u32) -> Option<u32> {
        self.send_queues.as_deref_mut()?.pop(s as usize)
    }

    /// Assigns a burst to the subflow that would first have sent all that it holds. Suppressed
    /// subflows, which the kernel calls backup, get one only if all are suppressed. Returns the
    /// subflow. Returns `None` without data, or if the send buffer of that subflow is full, even if
    /// other buffers have space.
    fn schedule_burst(&mut self, subflows: &[SubflowSender], mss: u32) -> Option<usize> {
        let queues = self.send_queues.as_deref_mut()?;
        let (una, nxt) = (self.data.una(), self.data.nxt());
        queues.drop_acked_reassignable(una);
        if queues.reassignable() == 0 && !self.data.has_unsent_written() {
            return None;
        }
        let s = queues.best(self.congestion.windows(), subflows, mss)?;
        queues.fill_buffer(una, nxt, self.data.written());
        let ready = queues.written().saturating_sub(nxt);
        let ready = ready.min(self.data.window_left());
        let queue = queues.queue(s);
        let memory = queue.memory(&subflows[s], mss);
        let available = queues.reassignable() + ready;
        if available == 0 || queues.is_full(s, &subflows[s]) {
            return None;
        }
        let burst = (BURST / mss).max(1);
        // A fragment is assigned whole, but at most a buffer of tiny segments.
        let fragment = burst.div_ceil(2).min(queue.sndbuf() / (mss + SKB_OVERHEAD) + 1);
        let rate = pacing_rate(&self.congestion.windows()[s], &subflows[s], mss);
        queues.queue_mut(s).update_avg_pacing_rate(memory, rate);
        let mut left = burst.min(available);
        while left > 0 && !queues.is_full(s, &subflows[s]) {
            let mut count = fragment.min(left);
            left -= count;
            while count > 0
                && let Some(chunk) = queues.take_reassignable()
            {
                queues.push(s, chunk);
                count -= 1;
            }
            if count > 0 {
                queues.push_run(s, self.data.take_run(count));
            }
        }
        queues.invalidate(1 << s);
        Some(s)
    }

    /// Handles a timeout of subflow `s`. The missing chunks of the connection's oldest fragment are
    /// queued for reinjection on a subflow that has nothing else to send
    /// (`mptcp_subflow_get_retrans`, `__mptcp_retrans`). If the subflow is stale, all that it holds
    /// is assigned to the others.
    pub fn reinject_on_timeout(&mut self, s: u32, subflows: &[SubflowSender], repeated: bool, mss: u32) {
        let Some(queues) = self.send_queues.as_deref_mut() else {
            return;
        };
        let subflow = &subflows[s as usize];
        let timeouts = queues.queue_mut(s as usize).count_timeout(repeated);
        let una = self.data.una();
        let oldest = una..una.saturating_add((BURST / mss).max(1).div_ceil(2));
        let sent = subflow.segments.unsacked_chunks();
        let held = sent.chain(queues.queue(s as usize).chunks());
        self.reinject
            .replace(s, held.filter(|chunk| oldest.contains(chunk)));
        let answers = |other: usize| {
            other != s as usize
                && self.congestion.windows()[other].established
                && !queues.queue(other).is_stale(&subflows[other])
        };
        if timeouts == STALE_LOSS_COUNT && (0..subflows.len()).any(answers) {
            self.reinject.replace(s, std::iter::empty());
            let sent: Vec<u32> = subflow.segments.unsacked_chunks().collect();
            self.requeue(s, &sent);
        }
    }

    /// Queues for another assignment what subflow `s` has `sent` and all chunks that are queued on
    /// it.
    pub fn requeue(&mut self, s: u32, sent: &[u32]) {
        let Some(queues) = self.send_queues.as_deref_mut() else {
            return;
        };
        let una = self.data.una();
        queues.requeue(s, sent.iter().copied().filter(|&chunk| chunk >= una));
    }

    /// Cancels the reinjections of chunks that are acknowledged or that have `arrived` (sorted)
    /// after the first missing one.
    pub fn cancel_reinjections(&mut self, arrived: &[u32]) {
        let una = self.data.una();
        self.reinject.drop_acked(una, arrived);
        if let Some(queues) = &mut self.send_queues {
            queues.drop_acked(una, arrived);
        }
    }

    /// Assigns the chunks on which other subflows timed out to subflow `s` if it holds nothing. A
    /// suppressed subflow gets them only if all are suppressed.
    fn take_reinjections(&mut self, s: usize, subflow: &SubflowSender) {
        let Some(queues) = self.send_queues.as_deref() else {
            return;
        };
        let idle = subflow.segments.is_empty()
            && queues.queue(s).is_empty()
            && self.congestion.windows()[s].established;
        if idle && (self.congestion.windows()[s].active || self.congestion.active_count() == 0) {
            while let Some(chunk) = self.next_reinjection(s as u32) {
                if let Some(queues) = &mut self.send_queues {
                    queues.push(s, chunk);
                    queues.invalidate(1 << s);
                }
            }
        }
    }
}

impl TcpEndpoint {
    /// Assigns bursts as far as send buffers have space, and sends what windows allow. It sends on
    /// `slot`, on the subflows that got a burst, and on all subflows if any of them may have become
    /// able to send.
    pub(super) fn schedule_and_send(&mut self, index: u32, slot: u32, cx: &mut HostContext<'_, '_>) {
        let connection = &mut self.connections[index as usize];
        let profile = &self.shared.tcp(connection.transport).profile;
        let (mss, header) = (profile.sizes.mss, profile.sizes.header);
        let (first, n) = (connection.first_subflow, connection.windows().len());
        let subflows = &mut self.subflows[first as usize..][..n];
        let mut to_send = if connection.rotation.checks_all() {
            full_mask(n as u32)
        } else {
            1 << (slot - first)
        };
        if let Some(queues) = &mut connection.send_queues {
            queues.invalidate(to_send);
            if connection.congestion.may_suppress_on_ack() {
                queues.invalidate_all();
            }
        }
        connection.rotation.set_checks_all(false);
        while let Some(s) = connection.schedule_burst(subflows, mss) {
            to_send |= 1 << s;
        }
        let mut sent = Vec::new();
        while to_send != 0 {
            let s = to_send.trailing_zeros();
            to_send &= to_send - 1;
            let (nics, engine) = cx.nics();
            let mut output = Output {
                admission: self.admission,
                nics,
                connection,
                subflow: &mut subflows[s as usize],
                slot: first + s,
                header,
                cx: engine,
            };
            output.retransmit_lost();
            output.send_queued(s, &mut sent);
        }
        if !sent.is_empty() {
            record_sent(connection.flow, &sent, cx);
        }
    }
}

/// Records the times of chunks that were sent.
#[cold]
fn record_sent(flow: u32, chunks: &[u32], cx: &mut HostContext<'_, '_>) {
    let now = cx.now;
    for &chunk in chunks {
        cx.host.latencies().record_chunk_sent(flow, chunk, now);
    }
}

impl Output<'_, '_> {
    /// Sends the chunks that are queued on this subflow, subflow `s` of its connection, as its
    /// window allows. Chunks whose times are recorded are appended to `sent`.
    fn send_queued(&mut self, s: u32, sent: &mut Vec<u32>) {
        if !self.connection.reinject.is_empty() {
            self.connection.take_reinjections(s as usize, self.subflow);
        }
        while self.connection.can_send_queued(s, self.subflow) && self.admit() {
            let Some(chunk) = self.connection.dequeue(s) else {
                break;
            };
            self.send_new(chunk);
            if self.connection.options.traced {
                sent.push(chunk);
            }
        }
    }
}
