//! The sender of a connection: its data, its windows, and the choice of the subflow that gets the
//! next chunk.

use std::collections::VecDeque;

use weft_cc::{Algorithm, Echo, Window};
use weft_run::{Scheduler, SuppressionRecord};
use weft_spec::Time;

use super::path_monitor::PathMonitor;
use super::send_data::SendData;
use super::send_queues::SendQueues;
use super::subflow::SubflowSender;

/// The sender of a connection. A chunk of its data is sent whole.
// The flags are independent of each other.
#[allow(clippy::struct_excessive_bools)]
pub struct ConnectionSender {
    /// Index of the flow in the configuration.
    pub flow: u32,
    /// Index of the transport in the configuration.
    pub transport: u32,
    /// Slot of subflow 0. The subflows occupy the slots `first_subflow .. first_subflow +
    /// windows.len()` of this host.
    pub first_subflow: u32,
    /// Congestion control of all subflows.
    pub cc: Algorithm,
    /// True if congestion control also suppresses and releases subflows at acknowledgements, not
    /// only at the ends of rounds.
    pub may_suppress_on_ack: bool,
    /// The subflows' windows.
    pub windows: Vec<Window>,
    /// The ECN echo that congestion control asks for.
    pub echo: Echo,
    /// The data.
    pub data: SendData,
    /// Number of acknowledged chunks from which on the additional subflows join; `u32::MAX` once
    /// they have started to join.
    pub join_at: u32,
    /// Time at which the additional subflows started to join; `u64::MAX` if they did not.
    pub joined: u64,
    /// Chunks to reinject, each with the subflow that timed out on it, which does not send the
    /// chunk again.
    pub reinject: VecDeque<(u32, u32)>,
    /// Chunks assigned to subflows ahead of their windows, if the scheduler uses send queues.
    pub send_queues: Option<Box<SendQueues>>,
    /// The monitor of the subflows' paths, if the path policy has one.
    pub path_monitor: Option<Box<PathMonitor>>,
    /// The subflow with which round robin continues.
    pub next_subflow: u32,
    /// True if subflows other than the one just acknowledged may be able to send.
    pub check_all_subflows: bool,
    /// True if a join in progress may hold back new data (`round_robin_waits_for_join`).
    pub awaits_join: bool,
    /// Time at which the last subflow closes (`full_handshakes`); 0 if none closes, `u64::MAX`
    /// while data is left to send.
    pub last_close_at: u64,
    /// True if packets are paced even if congestion control asks for no rate.
    pub paced: bool,
    /// Whether the last segment that a subflow has to send carries PSH.
    pub sets_push: bool,
    /// True if every change of a window is recorded, or the times at which data is sent.
    pub traced: bool,
    /// Time at which the connection was opened.
    pub opened: u64,
    /// Time at which subflow 0 was established; `u64::MAX` if it was not.
    pub established: u64,
    /// Time at which the last chunk was acknowledged; `u64::MAX` if it was not.
    pub finished: u64,
    /// Number of reinjected chunks.
    pub reinjected: u64,
    /// Number of times that subflows were suppressed.
    pub suppressions: u64,
    /// Time since which a subflow has been suppressed; `u64::MAX` if none is.
    pub suppressed_since: u64,
    /// Beginnings and ends of earlier suppressions.
    pub episodes: Vec<(u64, u64)>,
}

impl ConnectionSender {
    /// Returns true if there is data that may be sent.
    #[inline(always)]
    pub fn has_sendable(&self) -> bool {
        !self.reinject.is_empty() || self.data.has_sendable()
    }

    /// Returns true if subflow `s` may send a packet of new data.
    #[inline(always)]
    pub fn can_send_new(&self, s: usize, subflow: &SubflowSender) -> bool {
        let w = &self.windows[s];
        w.active
            && w.established
            && subflow.gate.is_open()
            && subflow.may_send(w)
            && (!subflow.segments.any_to_retransmit() || subflow.state.awaits_new_data())
    }

    /// Returns the subflow that gets the next packet, or `None` if no subflow may send new data.
    pub fn select_subflow(&mut self, scheduler: Scheduler, subflows: &[SubflowSender]) -> Option<usize> {
        let n = self.windows.len();
        match scheduler {
            Scheduler::RoundRobin => {
                let start = self.next_subflow as usize;
                let joining = |s: usize| self.awaits_join && subflows[s].state.is_syn_sent();
                let s = (start..n)
                    .chain(0..start)
                    .find(|&s| joining(s) || self.can_send_new(s, &subflows[s]))?;
                if joining(s) {
                    self.next_subflow = s as u32;
                    return None;
                }
                // Round robin skips subflows that have not been opened.
                let unopened = |s: usize| self.awaits_join && subflows[s].state.is_closed();
                let next = s + 1;
                self.next_subflow = if next == n || unopened(next) {
                    0
                } else {
                    next as u32
                };
                Some(s)
            }
            // Only for a single subflow. With several, these schedulers assign data before windows
            // allow it.
            Scheduler::Linux | Scheduler::LowestRtt => (0..n)
                .filter(|&s| self.can_send_new(s, &subflows[s]))
                .min_by(|&a, &b| self.windows[a].srtt.total_cmp(&self.windows[b].srtt)),
        }
    }

    /// Takes the chunk that subflow `s` sends next: one to reinject on which `s` did not time out
    /// itself, else new data.
    pub fn take_chunk(&mut self, s: u32) -> Option<u32> {
        if let Some(chunk) = self.next_reinjection(s) {
            return Some(chunk);
        }
        self.data.take()
    }

    /// Takes the next chunk to reinject on subflow `s`. Chunks on which `s` itself timed out stay
    /// in the queue.
    pub fn next_reinjection(&mut self, s: u32) -> Option<u32> {
        while let Some(&(chunk, from)) = self.reinject.front() {
            if chunk < self.data.una() {
                self.reinject.pop_front();
            } else if from == s {
                break;
            } else {
                self.reinject.pop_front();
                self.reinjected += 1;
                return Some(chunk);
            }
        }
        None
    }

    /// Queues the chunks `sent` by subflow `s` that are not acknowledged yet for reinjection on
    /// other subflows.
    pub fn queue_reinjection(&mut self, s: u32, sent: impl Iterator<Item = u32>) {
        let una = self.data.una();
        let waiting = &mut self.reinject;
        for chunk in sent.filter(|&chunk| chunk >= una) {
            if !waiting.iter().any(|&(c, _)| c == chunk) {
                waiting.push_back((chunk, s));
            }
        }
    }

    /// Notifies congestion control of an acknowledgement, a mark or a fast retransmit, at which
    /// only few algorithms suppress subflows.
    #[inline(always)]
    pub fn notify_cc(&mut self, now: u64, event: impl FnOnce(&mut Algorithm, &mut [Window])) {
        if self.may_suppress_on_ack {
            self.notify_cc_and_check_suppression(now, event);
        } else {
            event(&mut self.cc, &mut self.windows);
        }
    }

    /// Notifies congestion control of an event and records what it suppressed or released.
    pub fn notify_cc_and_check_suppression(
        &mut self,
        now: u64,
        event: impl FnOnce(&mut Algorithm, &mut [Window]),
    ) {
        let before = self.active_count();
        event(&mut self.cc, &mut self.windows);
        let after = self.active_count();
        self.suppressions += u64::from(after < before);
        self.check_all_subflows |= after != before;
        self.record_suppression(now);
    }

    /// Records the beginning or end of a suppression after an event at which congestion control may
    /// have changed it.
    pub fn record_suppression(&mut self, now: u64) {
        let suppressed = self.finished == u64::MAX && self.windows.iter().any(|w| !w.active);
        if suppressed && self.suppressed_since == u64::MAX {
            self.suppressed_since = now;
        } else if !suppressed && self.suppressed_since != u64::MAX {
            // A suppression that ends when it begins, as when the connection ends with the round,
            // has kept no data back.
            if self.suppressed_since < now {
                self.episodes.push((self.suppressed_since, now));
            }
            self.suppressed_since = u64::MAX;
        }
    }

    /// Returns the episodes of suppression so far, in order.
    pub fn episodes(&self) -> impl Iterator<Item = SuppressionRecord> {
        let flow = self.flow;
        let lasting = (self.suppressed_since != u64::MAX).then_some((self.suppressed_since, None));
        let ended = self.episodes.iter().map(|&(start, end)| (start, Some(Time(end))));
        ended.chain(lasting).map(move |(start, end)| SuppressionRecord {
            flow,
            start: Time(start),
            end,
        })
    }

    /// Returns the number of subflows that congestion control has not suppressed.
    pub fn active_count(&self) -> usize {
        self.windows.iter().filter(|w| w.active).count()
    }
}
