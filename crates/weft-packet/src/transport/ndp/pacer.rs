//! The pull queue of a host, which all flows that it receives share. One pull of each flow in turn is sent, so that the
//! packets that they cause arrive at the rate of the host's link (section 3.2). Flows of earlier rounds may go first.

use std::collections::VecDeque;

use crate::transport::flow_table::FlowTable;

use super::receiver::Receiver;

/// The pull queue of a host.
#[derive(Default)]
pub struct Pacer {
    /// Flows with pulls that wait, by receiver, in the order of their rounds. Flows whose pulls no longer wait are skipped.
    queue: VecDeque<Waiting>,
    /// Earliest time of the next pull.
    next: u64,
    /// True while the timer is set.
    pub is_running: bool,
}

/// A flow in the pull queue.
#[derive(Clone, Copy)]
struct Waiting {
    round: u32,
    /// Index of its receiver.
    index: u32,
}

impl Pacer {
    /// Returns true if no pull waits and the last one was sent long enough ago.
    pub fn is_free(&self, now: u64) -> bool {
        self.queue.is_empty() && now >= self.next
    }

    /// Adds a pull of a flow.
    pub fn add(&mut self, index: u32, receiver: &mut Receiver) {
        let pulls = &mut receiver.state.pulls;
        pulls.waiting += 1;
        if !pulls.is_queued {
            pulls.is_queued = true;
            let round = pulls.round;
            self.wait(Waiting { round, index });
        }
    }

    /// Lets a flow wait behind all flows of its round and of earlier ones.
    fn wait(&mut self, flow: Waiting) {
        let goes_before = |other: &Waiting| other.round <= flow.round;
        if self.queue.back().is_none_or(goes_before) {
            self.queue.push_back(flow);
        } else {
            let place = self.queue.partition_point(goes_before);
            self.queue.insert(place, flow);
        }
    }

    /// Returns the time of the next pull; `None` if no flow is in the queue.
    pub fn next_time(&self) -> Option<u64> {
        (!self.queue.is_empty()).then_some(self.next)
    }

    /// Removes the next pull, and returns the receiver of its flow.
    pub fn pop(&mut self, receivers: &mut FlowTable<Receiver>) -> Option<u32> {
        while let Some(flow) = self.queue.pop_front() {
            let index = flow.index;
            let pulls = &mut receivers[index].state.pulls;
            if pulls.waiting == 0 {
                pulls.is_queued = false;
                continue;
            }
            pulls.waiting -= 1;
            pulls.is_queued = pulls.waiting > 0;
            if pulls.is_queued {
                self.wait(flow);
            }
            return Some(index);
        }
        None
    }

    /// Records that a pull is sent at `now`, and the next one `interval` later.
    pub fn pause(&mut self, now: u64, interval: u64) {
        self.next = now + interval;
    }
}
