//! The sending half of a connection: its data, its windows, and which subflow gets what.

use std::collections::VecDeque;

use weft_cc::{Algorithm, Echo, Window};
use weft_run::{Scheduler, SuppressionRecord};
use weft_spec::Time;

use super::path_monitor::PathMonitor;
use super::send_queues::SendQueues;
use super::subflow::{State, SubflowSender};

/// Chunks of a connection that sends until it is stopped.
pub const UNLIMITED: u32 = u32::MAX;

/// The sending half of a connection. Its data is numbered in chunks of one MSS, the last of which may be shorter; a
/// chunk travels whole.
// Each switch says another thing; none excludes another.
#[allow(clippy::struct_excessive_bools)]
pub struct ConnectionSender {
    /// Index of the flow in the configuration.
    pub flow: u32,
    /// Index of the transport in the configuration.
    pub transport: u32,
    /// Its subflows are `first .. first + windows.len()` at this host.
    pub first_subflow: u32,
    /// Congestion control of all subflows.
    pub cc: Algorithm,
    /// Does congestion control suppress and release at acknowledgements, too?
    pub may_suppress_on_ack: bool,
    /// The subflows' windows.
    pub windows: Vec<Window>,
    /// The echo that congestion control asked for.
    pub echo: Echo,
    /// Chunks to send in all, or [`UNLIMITED`].
    pub total: u32,
    /// Chunks that the application has written so far: those that there are to send.
    pub written: u32,
    /// Payload bytes of a chunk.
    pub mss: u32,
    /// Payload bytes of the last chunk.
    pub last_len: u16,
    /// Next chunk never sent.
    pub next: u32,
    /// First chunk not acknowledged.
    pub una: u32,
    /// The further subflows join once this many chunks are acknowledged; `u32::MAX` when they have.
    pub join_at: u32,
    /// When they did; `u64::MAX` if they did not.
    pub joined: u64,
    /// Chunks that may be outstanding: the shared receive buffer.
    pub receive_window: u32,
    /// Chunks to give to another subflow, with the one that timed out on them.
    pub reinject: VecDeque<(u32, u32)>,
    /// What subflows were given ahead of their windows, where the scheduler does so.
    pub send_queues: Option<Box<SendQueues>>,
    /// How it watches its subflows' paths, if its policy has it do so.
    pub path_monitor: Option<Box<PathMonitor>>,
    /// The subflow whose turn it is.
    pub next_subflow: u32,
    /// Might another subflow than the one just acknowledged send?
    pub check_all_subflows: bool,
    /// May a join under way hold back new data (`turn_waits_for_join`)?
    pub awaits_join: bool,
    /// When the last subflow will have closed (`full_handshakes`); 0 if none does, `u64::MAX` while there is data for them.
    pub last_close_at: u64,
    /// Are its packets paced, unless congestion control asks for a rate of its own?
    pub paced: bool,
    /// Whether the last segment that a subflow has to send carries PSH.
    pub sets_push: bool,
    /// Is every change of a window on record, or when data was sent?
    pub traced: bool,
    /// When the connection was opened.
    pub opened: u64,
    /// When subflow 0 was established; `u64::MAX` if it was not.
    pub established: u64,
    /// When the last chunk was acknowledged; `u64::MAX` if it was not.
    pub finished: u64,
    /// Chunks reinjected.
    pub reinjected: u64,
    /// Times that subflows were suppressed.
    pub suppressions: u64,
    /// Since when a subflow has been suppressed; `u64::MAX` if none is.
    pub suppressed_since: u64,
    /// Beginnings and ends of earlier suppressions.
    pub episodes: Vec<(u64, u64)>,
}

impl ConnectionSender {
    /// Is there anything left that may be sent?
    #[inline(always)]
    pub fn has_sendable(&self) -> bool {
        !self.reinject.is_empty() || (self.next < self.written && self.next - self.una < self.receive_window)
    }

    /// Is there data that no subflow was given yet?
    #[inline(always)]
    pub fn has_unsent(&self) -> bool {
        self.next < self.total
    }

    /// Can subflow `s` take a packet of new data?
    #[inline(always)]
    pub fn can_send_new(&self, s: usize, subflow: &SubflowSender) -> bool {
        let w = &self.windows[s];
        w.active
            && w.established
            && subflow.blocked.is_empty()
            && subflow.may_send(w)
            && (!subflow.segments.any_to_retransmit() || subflow.frto_waiting)
    }

    /// The subflow that gets the next packet, if any has room.
    pub fn select_subflow(&mut self, scheduler: Scheduler, subflows: &[SubflowSender]) -> Option<usize> {
        let n = self.windows.len();
        match scheduler {
            Scheduler::RoundRobin => {
                let turn = self.next_subflow as usize;
                let joining = |s: usize| self.awaits_join && subflows[s].state == State::SynSent;
                let s = (turn..n)
                    .chain(0..turn)
                    .find(|&s| joining(s) || self.can_send_new(s, &subflows[s]))?;
                if joining(s) {
                    self.next_subflow = s as u32;
                    return None;
                }
                // The turn goes round those that have been opened.
                let unopened = |s: usize| self.awaits_join && subflows[s].state == State::Closed;
                let next = s + 1;
                self.next_subflow = if next == n || unopened(next) {
                    0
                } else {
                    next as u32
                };
                Some(s)
            }
            // Of a single subflow: several are given data before they have room.
            Scheduler::Linux | Scheduler::LowestRtt => (0..n)
                .filter(|&s| self.can_send_new(s, &subflows[s]))
                .min_by(|&a, &b| self.windows[a].srtt.total_cmp(&self.windows[b].srtt)),
        }
    }

    /// The chunk that subflow `s` sends next: one to reinject that it did not time out on itself, else new data.
    pub fn take_chunk(&mut self, s: u32) -> Option<u32> {
        if let Some(chunk) = self.next_reinjection(s) {
            return Some(chunk);
        }
        (self.next < self.written && self.next - self.una < self.receive_window).then(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// A chunk that another subflow than `s` timed out on.
    pub fn next_reinjection(&mut self, s: u32) -> Option<u32> {
        while let Some(&(chunk, from)) = self.reinject.front() {
            if chunk < self.una {
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

    /// Gives the others, too, what subflow `s` has `sent` and is outstanding.
    pub fn queue_reinjection(&mut self, s: u32, sent: impl Iterator<Item = u32>) {
        let una = self.una;
        let waiting = &mut self.reinject;
        for chunk in sent.filter(|&chunk| chunk >= una) {
            if !waiting.iter().any(|&(c, _)| c == chunk) {
                waiting.push_back((chunk, s));
            }
        }
    }

    /// Payload bytes of chunk `chunk`.
    #[inline(always)]
    pub fn chunk_len(&self, chunk: u32, mss: u32) -> u16 {
        if chunk + 1 == self.total {
            self.last_len
        } else {
            mss as u16
        }
    }

    /// Tells congestion control of an acknowledgement, a mark or a fast retransmit, at which hardly any suppresses.
    #[inline(always)]
    pub fn notify_cc(&mut self, now: u64, event: impl FnOnce(&mut Algorithm, &mut [Window])) {
        if self.may_suppress_on_ack {
            self.notify_cc_and_check_suppression(now, event);
        } else {
            event(&mut self.cc, &mut self.windows);
        }
    }

    /// Tells congestion control of an event and notes what it suppressed or released.
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

    /// Notes the beginning or end of a suppression after an event at which congestion control may have changed it.
    pub fn record_suppression(&mut self, now: u64) {
        let suppressed = self.finished == u64::MAX && self.windows.iter().any(|w| !w.active);
        if suppressed && self.suppressed_since == u64::MAX {
            self.suppressed_since = now;
        } else if !suppressed && self.suppressed_since != u64::MAX {
            // One that ends where it begins, as when the connection ends with the round, has kept nothing back.
            if self.suppressed_since < now {
                self.episodes.push((self.suppressed_since, now));
            }
            self.suppressed_since = u64::MAX;
        }
    }

    /// The episodes of suppression so far, in order.
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

    /// How many subflows may send new data.
    pub fn active_count(&self) -> usize {
        self.windows.iter().filter(|w| w.active).count()
    }
}
