//! The queue of a [served](crate::served) port: the packets that wait, and the choice among them.

use super::dequeue::DequeueRed;
use super::{Decision, PriorityQueue};
use crate::admission::Admission;
use crate::packet::{CE, ECT, PROTECTED, Packet};

/// A queue that keeps packets until the port chooses them.
pub enum ServedQueue {
    Red(DequeueRed),
    Priority(PriorityQueue),
}

/// The effects of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The packet is in the queue.
    Accepted,
    /// The packet is in the queue, with a mark.
    Marked,
    /// The packet is dropped.
    Dropped,
}

impl Arrival {
    /// Decides about a packet. `limits` returns whether the queue is full, and whether it marks. A mark is
    /// set only if the packet is ECN-capable.
    pub fn decide(packet: &mut Packet, limits: impl FnOnce(u16) -> [bool; 2]) -> Self {
        if packet.flags & PROTECTED != 0 {
            return Self::Accepted;
        }
        match limits(packet.size) {
            [true, _] => Self::Dropped,
            [false, true] if packet.flags & ECT != 0 => {
                packet.flags |= CE;
                Self::Marked
            }
            _ => Self::Accepted,
        }
    }
}

impl ServedQueue {
    /// Returns the number of classes that are counted one by one.
    pub fn classes(&self) -> usize {
        match self {
            Self::Red(_) => 0,
            Self::Priority(queue) => queue.classes(),
        }
    }

    /// Returns the class of a packet; `None` if classes are not counted one by one.
    pub fn class_of(&self, packet: &Packet) -> Option<usize> {
        match self {
            Self::Red(_) => None,
            Self::Priority(queue) => Some(queue.class_of(packet)),
        }
    }

    /// Handles the arrival of a packet at a port with this limit and threshold.
    pub fn offer(&mut self, packet: Packet, port: &Admission) -> Arrival {
        match self {
            Self::Red(queue) => queue.offer(packet, port),
            Self::Priority(queue) => queue.offer(packet),
        }
    }

    /// Removes the packet that is sent next. Also returns what happens to it.
    pub fn pop(&mut self) -> Option<(Packet, Decision)> {
        match self {
            Self::Red(queue) => queue.pop(),
            Self::Priority(queue) => Some((queue.pop()?, Decision::Accept)),
        }
    }

    /// Returns the number of packets that wait.
    pub fn len(&self) -> usize {
        match self {
            Self::Red(queue) => queue.packets().len(),
            Self::Priority(queue) => queue.len(),
        }
    }

    /// Returns true if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the packets that wait, in any order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let (red, priority) = match self {
            Self::Red(queue) => (Some(queue.packets().iter()), None),
            Self::Priority(queue) => (None, Some(queue.packets())),
        };
        red.into_iter().flatten().chain(priority.into_iter().flatten())
    }

    /// Removes and returns all packets.
    pub fn clear(&mut self) -> Vec<Packet> {
        match self {
            Self::Red(queue) => queue.clear(),
            Self::Priority(queue) => queue.clear(),
        }
    }
}
