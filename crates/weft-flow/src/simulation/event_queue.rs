//! Events in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_run::GeneratorAction;
use weft_spec::Time;

/// An event. Events of one time are handled in the order in which they were scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A link changes.
    LinkChange(u32),
    /// Routing learns of a link change.
    RoutingUpdate(u32),
    /// A static flow opens.
    OpenFlow(u32),
    /// A generator opens a flow or starts a job.
    GeneratorAction(GeneratorAction),
    /// The handshake of the flow at this slot is over.
    StartTransfer(u32),
    /// The application of the flow at this slot stops.
    StopFlow(u32),
    /// The last byte of the flow at this slot arrives.
    Deliver(u32),
}

/// Events that are scheduled.
#[derive(Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    next_seq: u64,
}

impl EventQueue {
    /// Schedules an event.
    pub fn schedule(&mut self, time: Time, event: Event) {
        self.heap.push(Reverse((time, self.next_seq, event)));
        self.next_seq += 1;
    }

    /// Returns the time of the first event.
    pub fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|&Reverse((time, ..))| time)
    }

    /// Removes the first event if its time is `time`.
    pub fn pop_at(&mut self, time: Time) -> Option<Event> {
        let event = self.heap.peek().filter(|&&Reverse((at, ..))| at == time)?.0.2;
        self.heap.pop();
        Some(event)
    }
}
