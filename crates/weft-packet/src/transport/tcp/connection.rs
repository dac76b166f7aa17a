//! The sender of a connection: its parts, the choice of the subflow that gets the next chunk, the
//! times of its joins and its end, and the events of which congestion control is notified.

use weft_cc::{Ack, Algorithm, CongestionControl, Window};
use weft_transports::Scheduler;

use super::congestion::Congestion;
use super::send_data::{ReinjectQueue, SendData};
use super::send_queues::SendQueues;
use super::subflow::{SubflowMask, SubflowSender};

/// The sender of a connection. A chunk of its data is sent whole.
pub struct ConnectionSender {
    /// Index of the flow in the configuration.
    pub flow: u32,
    /// Index of the transport in the configuration.
    pub transport: u32,
    /// Slot of subflow 0. The subflows occupy the slots `first_subflow .. first_subflow +
    /// windows.len()` of this host.
    pub first_subflow: u32,
    /// Congestion control of all subflows.
    pub congestion: Congestion,
    /// The data.
    pub data: SendData,
    /// The joins of the additional subflows.
    pub joins: JoinSchedule,
    /// Chunks to reinject.
    pub reinject: ReinjectQueue,
    /// Chunks assigned to subflows ahead of their windows, if the scheduler uses send queues.
    pub send_queues: Option<Box<SendQueues>>,
    /// The state of round robin.
    pub rotation: Rotation,
    /// How packets are sent and recorded.
    pub options: SendOptions,
    /// Times of the connection.
    pub lifetime: Lifetime,
}

/// How a connection sends and records its packets.
pub struct SendOptions {
    /// Flags of all data: [`DATA`](crate::packet::DATA) and the traffic class.
    pub data_flags: u16,
    /// True if packets are paced even if congestion control asks for no rate.
    pub paced: bool,
    /// True if the last segment that a subflow has to send carries PSH.
    pub sets_push: bool,
    /// True if every change of a window is recorded, or the times at which data is sent.
    pub traced: bool,
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
        let w = &self.windows()[s];
        w.active
            && w.established
            && subflow.gate.is_open()
            && subflow.may_send(w)
            && subflow.seq.has_room()
            && (!subflow.segments.any_to_retransmit() || subflow.state.awaits_new_data())
    }

    /// Returns the candidate that gets the next packet, or `None` if none may send new data.
    #[inline(always)]
    pub fn next_subflow(
        &mut self,
        scheduler: Scheduler,
        candidates: Candidates,
        subflows: &[SubflowSender],
    ) -> Option<usize> {
        match candidates {
            Candidates::One(s) => self.can_send_new(s, &subflows[s]).then_some(s),
            Candidates::All => self.select_subflow(scheduler, subflows),
        }
    }

    fn select_subflow(&mut self, scheduler: Scheduler, subflows: &[SubflowSender]) -> Option<usize> {
        let n = subflows.len();
        match scheduler {
            Scheduler::RoundRobin => {
                let mut rotation = std::mem::take(&mut self.rotation);
                let selected = rotation.next(n, |s| self.readiness(s, &subflows[s]));
                self.rotation = rotation;
                selected
            }
            // Only for a single subflow. With several, these schedulers assign data before windows
            // allow it.
            Scheduler::Linux | Scheduler::LowestRtt => (0..n)
                .filter(|&s| self.can_send_new(s, &subflows[s]))
                .min_by(|&a, &b| self.windows()[a].srtt.total_cmp(&self.windows()[b].srtt)),
        }
    }

    /// Returns whether subflow `s` can send new data, for round robin.
    fn readiness(&self, s: usize, subflow: &SubflowSender) -> Readiness {
        if self.joins.holds_back() && subflow.state.is_syn_sent() {
            Readiness::Awaited
        } else if self.joins.holds_back() && subflow.state.is_closed() {
            Readiness::Unopened
        } else if self.can_send_new(s, subflow) {
            Readiness::Ready
        } else {
            Readiness::Skipped
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
        self.reinject.pop(s, self.data.una())
    }

    /// Queues the chunks `sent` by subflow `s` that are not acknowledged yet for reinjection on
    /// other subflows. Subflow `s` sends them again, too (RFC 8684, section 3.3.6).
    pub fn queue_reinjection(&mut self, s: u32, sent: impl Iterator<Item = u32>) {
        self.reinject.extend(s, self.data.una(), sent);
    }

    /// Notifies congestion control, which has the windows of all subflows (RFC 8684, section
    /// 3.3.7), of an acknowledgement on subflow `s`.
    #[inline(always)]
    pub fn notify_cc_of_ack(&mut self, now: u64, s: usize, report: Ack) {
        if self.congestion.may_suppress_on_ack() {
            self.notify_cc_and_check_suppression(now, |cc, windows| cc.on_ack(windows, s, report));
        } else {
            self.congestion.on_ack(s, report);
        }
    }

    /// Notifies congestion control of a mark or a fast retransmit, at which only few algorithms
    /// suppress subflows, as at an acknowledgement.
    #[inline(always)]
    pub fn notify_cc(&mut self, now: u64, event: impl FnOnce(&mut Algorithm, &mut [Window])) {
        if self.congestion.may_suppress_on_ack() {
            self.notify_cc_and_check_suppression(now, event);
        } else {
            self.congestion.notify(event);
        }
    }

    /// Notifies congestion control of an event and records what it suppressed or released.
    pub fn notify_cc_and_check_suppression(
        &mut self,
        now: u64,
        event: impl FnOnce(&mut Algorithm, &mut [Window]),
    ) {
        let changed = self.congestion.notify_and_count(event);
        self.rotation.check_all_if(changed);
        self.record_suppression(now);
    }

    /// Records the beginning or end of a suppression after an event at which congestion control may
    /// have changed it.
    pub fn record_suppression(&mut self, now: u64) {
        self.congestion
            .record_suppression(self.lifetime.is_finished(), now);
    }

    /// Starts or stops to record changes of windows and times of transmissions.
    pub fn set_traced(&mut self, traced: bool) {
        self.options.traced = traced;
    }

    /// Returns true if data is assigned to subflows before they can send it.
    #[inline(always)]
    pub fn uses_send_queues(&self) -> bool {
        self.send_queues.is_some()
    }

    /// Returns the number of chunks that are queued on subflow `s`.
    pub fn queued(&self, s: usize) -> u32 {
        self.send_queues
            .as_deref()
            .map_or(0, |queues| queues.queue(s).len())
    }

    /// Returns true if subflow `s` has no more new data to send at this time.
    #[inline(always)]
    pub fn has_sent_all(&self, s: usize) -> bool {
        match &self.send_queues {
            Some(queues) => queues.is_empty(s),
            None => !self.data.has_unsent_written(),
        }
    }

    /// Drops the data that waits to be sent: the connection has finished.
    pub fn drop_waiting(&mut self) {
        self.reinject.free();
        self.send_queues = None;
    }

    /// Returns the windows, by subflow.
    #[inline(always)]
    pub fn windows(&self) -> &[Window] {
        self.congestion.windows()
    }

    /// Returns the subflows that may be assigned data. Linux's scheduler assigns data to suppressed
    /// subflows if all subflows are suppressed. No packet asks the other end for this priority
    /// (RFC 8684, section 3.3.8).
    pub fn usable_subflows(&self) -> SubflowMask {
        let windows = (0..).zip(self.windows());
        let usable = windows.filter(|(_, w)| w.established && (w.active || self.uses_send_queues()));
        usable.map(|(s, _)| s).collect()
    }

    /// Returns true if the connection is open and cannot send, because all its established subflows
    /// are inactive.
    pub fn is_inactive(&self) -> bool {
        !self.lifetime.is_finished()
            && self.windows().iter().any(|w| w.established)
            && self.usable_subflows().is_empty()
    }
}

/// The subflows that may get the next packet.
#[derive(Clone, Copy, Debug)]
pub enum Candidates {
    /// One subflow: no other one can have become able to send.
    One(usize),
    /// All subflows of the connection.
    All,
}

/// Whether a subflow can send new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The subflow can send new data.
    Ready,
    /// The subflow cannot send, and round robin continues with the next one.
    Skipped,
    /// The SYN/ACK of the subflow has not arrived, and new data waits for it.
    Awaited,
    /// The subflow is closed or not opened, and round robin restarts at subflow 0.
    Unopened,
}

/// The state of round robin.
#[derive(Default)]
pub struct Rotation {
    /// The subflow with which round robin continues.
    next_subflow: u32,
    /// True if subflows other than the one just acknowledged may be able to send.
    checks_all: bool,
}

impl Rotation {
    /// Selects the first of `n` subflows that can send, from `next_subflow` on, and continues after it
    /// the next time. Returns `None` if no subflow can send, or if a subflow before it is awaited; the
    /// next selection then starts there.
    pub fn next(&mut self, n: usize, readiness: impl Fn(usize) -> Readiness) -> Option<usize> {
        let start = self.next_subflow as usize;
        let selectable = |s: &usize| matches!(readiness(*s), Readiness::Ready | Readiness::Awaited);
        let s = (start..n).chain(0..start).find(selectable)?;
        if readiness(s) == Readiness::Awaited {
            self.next_subflow = s as u32;
            return None;
        }
        self.continue_after(s, n);
        if readiness(self.next_subflow as usize) == Readiness::Unopened {
            self.next_subflow = 0;
        }
        Some(s)
    }

    /// Continues after the subflow, of `n`, that sends as the only candidate. Among all candidates, the
    /// selection has done so, even if the host then refuses the packet.
    #[inline(always)]
    pub fn on_send(&mut self, candidates: Candidates, n: usize) {
        if let Candidates::One(s) = candidates {
            self.continue_after(s, n);
        }
    }

    #[inline(always)]
    fn continue_after(&mut self, s: usize, n: usize) {
        self.next_subflow = if s + 1 == n { 0 } else { s as u32 + 1 };
    }

    /// Returns true if all subflows are checked at the next transmission.
    #[inline(always)]
    pub fn checks_all(&self) -> bool {
        self.checks_all
    }

    /// Sets whether all subflows are checked at the next transmission.
    #[inline(always)]
    pub fn set_checks_all(&mut self, checks_all: bool) {
        self.checks_all = checks_all;
    }

    /// Checks all subflows at the next transmission if `any` is true.
    #[inline(always)]
    pub fn check_all_if(&mut self, any: bool) {
        self.checks_all |= any;
    }
}

/// The joins of a connection.
pub struct JoinSchedule {
    /// Number of acknowledged chunks after which the additional subflows join.
    after: u32,
    /// Time at which the additional subflows started to join.
    started: Option<u64>,
    /// True if a join in progress may hold back new data (`round_robin_waits_for_join`).
    holds_back: bool,
}

impl JoinSchedule {
    /// Creates the schedule of a connection whose additional subflows join after this many
    /// acknowledged chunks.
    pub fn new(after: u32) -> Self {
        Self {
            after,
            started: None,
            holds_back: false,
        }
    }

    /// Returns true if the joins start when all chunks before `una` are acknowledged.
    #[inline(always)]
    pub fn starts_at(&self, una: u32) -> bool {
        self.started.is_none() && una >= self.after
    }

    /// Records that the joins start.
    pub fn start(&mut self, now: u64) {
        self.started = Some(now);
    }

    /// Returns the time at which the joins started.
    pub fn started(&self) -> Option<u64> {
        self.started
    }

    /// Returns true if a join in progress may hold back new data.
    #[inline(always)]
    pub fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// Sets whether a join in progress may hold back new data.
    pub fn set_holds_back(&mut self, holds_back: bool) {
        self.holds_back = holds_back;
    }
}

/// The times of a connection.
pub struct Lifetime {
    opened: u64,
    established: Option<u64>,
    finished: Option<u64>,
    closing: Closing,
}

/// Whether the subflows of a connection close when all data is sent (`full_handshakes`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// No subflow closes.
    Never,
    /// Data is left to send.
    NotYet,
    /// The last subflow closes at this time.
    Until(u64),
}

impl Lifetime {
    /// Creates the times of a connection that opens at `now`. `closes` is true if its subflows close
    /// when all data is sent.
    pub fn new(now: u64, closes: bool) -> Self {
        Self {
            opened: now,
            established: None,
            finished: None,
            closing: if closes { Closing::NotYet } else { Closing::Never },
        }
    }

    /// Returns the time at which the connection was opened.
    #[inline(always)]
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Returns the time at which subflow 0 was established.
    pub fn established(&self) -> Option<u64> {
        self.established
    }

    /// Returns the time at which the last chunk was acknowledged.
    pub fn finished(&self) -> Option<u64> {
        self.finished
    }

    /// Returns true if the last chunk was acknowledged.
    pub fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    /// Returns the time for which the connection was open until `now`.
    pub fn open_time(&self, now: u64) -> u64 {
        let end = self.finished.map_or(now, |finished| finished.min(now));
        end.saturating_sub(self.opened)
    }

    /// Records that subflow 0 is established.
    pub fn on_established(&mut self, now: u64) {
        self.established = Some(now);
    }

    /// Records that the last chunk is acknowledged.
    pub fn on_finished(&mut self, now: u64) {
        self.finished = Some(now);
    }

    /// Begins to close the subflows. Returns false if they do not close, or close already.
    pub fn begin_close(&mut self, now: u64) -> bool {
        let begins = self.closing == Closing::NotYet;
        if begins {
            self.closing = Closing::Until(now);
        }
        begins
    }

    /// Sets the time at which the last subflow closes.
    pub fn close_until(&mut self, time: u64) {
        self.closing = Closing::Until(time);
    }

    /// Returns true if all subflows that close have closed before `now`.
    pub fn is_closed(&self, now: u64) -> bool {
        match self.closing {
            Closing::Never => now > 0,
            Closing::NotYet => false,
            Closing::Until(time) => now > time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_passes_to_the_subflow_after_the_one_that_sends() {
        let mut rotation = Rotation::default();
        let ready = |s: usize| {
            if s == 1 {
                Readiness::Skipped
            } else {
                Readiness::Ready
            }
        };
        let served: Vec<_> = (0..5).map(|_| rotation.next(3, ready)).collect();
        assert_eq!(served, [0, 2, 0, 2, 0].map(Some));
        rotation.on_send(Candidates::All, 3);
        assert_eq!(rotation.next_subflow, 1);
        rotation.on_send(Candidates::One(2), 3);
        assert_eq!(rotation.next_subflow, 0);
    }

    #[test]
    fn new_data_waits_for_a_subflow_that_joins_and_not_for_an_unopened_one() {
        let mut rotation = Rotation::default();
        let turns = |turns: [Readiness; 3]| move |s: usize| turns[s];
        let joining = turns([Readiness::Ready, Readiness::Awaited, Readiness::Ready]);
        assert_eq!(rotation.next(3, joining), Some(0));
        assert_eq!(rotation.next(3, joining), None);
        assert_eq!(rotation.next(3, turns([Readiness::Ready; 3])), Some(1));
        let mut rotation = Rotation::default();
        let unopened = turns([Readiness::Ready, Readiness::Unopened, Readiness::Unopened]);
        assert_eq!(rotation.next(3, unopened), Some(0));
        assert_eq!(rotation.next(3, unopened), Some(0));
        assert_eq!(rotation.next(3, turns([Readiness::Skipped; 3])), None);
    }
}
