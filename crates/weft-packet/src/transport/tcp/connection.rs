//! The sender of a connection: its parts, the choice of the subflow that gets the next chunk, and the
//! events of which congestion control is notified.

use weft_cc::{Ack, Algorithm, CongestionControl, Window};
use weft_transports::Scheduler;

use super::congestion::Congestion;
use super::join_schedule::JoinSchedule;
use super::lifetime::Lifetime;
use super::path_monitor::PathMonitor;
use super::reinject_queue::ReinjectQueue;
use super::rotation::{Candidates, Readiness, Rotation};
use super::send_data::SendData;
use super::send_queues::SendQueues;
use super::subflow::SubflowSender;
use super::subflow_mask::SubflowMask;

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
    /// The monitor of the subflows' paths, if the path policy has one.
    pub path_monitor: Option<Box<PathMonitor>>,
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

    /// Sets the monitor of the subflows' paths, or removes it.
    pub fn set_path_monitor(&mut self, monitor: Option<Box<PathMonitor>>) {
        self.path_monitor = monitor;
    }

    /// Takes the monitor of the subflows' paths.
    pub fn take_path_monitor(&mut self) -> Option<Box<PathMonitor>> {
        self.path_monitor.take()
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
