//! The queue of a [served](crate::served) port: the packets that wait, and the choice among them.

use super::dequeue::DequeueRed;
use super::{Decision, LosslessQueue, PriorityQueue, TrimmingQueue};
use crate::admission::Admission;
use crate::packet::{CE, ECT, PROTECTED, Packet};

/// A queue that keeps packets until the port chooses them.
pub enum ServedQueue {
    Red(DequeueRed),
    Priority(PriorityQueue),
    Trimming(TrimmingQueue),
    /// Its port calls [`LosslessQueue::push`] and [`LosslessQueue::pop`], which know how a packet came.
    Lossless(LosslessQueue),
}

/// The effects of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// True if the arriving packet is in the queue as it arrived, apart from a mark.
    pub accepted: bool,
    /// True if the arriving packet was marked.
    pub marked: bool,
    /// The packet that the queue had no room for: the arriving packet unless it is accepted, otherwise one
    /// that waited. The packet as it was comes first, then what the queue left of it.
    pub victim: Option<(Packet, Packet, Fate)>,
}

/// The fate of a packet for which a queue had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is dropped.
    Dropped,
    /// The header of the packet is in the queue.
    Queued,
    /// The header of the packet goes back to the sender. The packet may be a header itself.
    SentBack,
}

impl Arrival {
    /// Creates the arrival of a packet that is accepted.
    pub fn accepted(marked: bool) -> Self {
        Self {
            accepted: true,
            marked,
            victim: None,
        }
    }

    /// Creates the arrival of a packet that is dropped.
    pub fn dropped(packet: Packet) -> Self {
        Self {
            accepted: false,
            marked: false,
            victim: Some((packet, packet, Fate::Dropped)),
        }
    }

    /// Decides about a packet. `limits` returns whether the queue is full, and whether it has reached its
    /// marking threshold, where `at_mark` decides. A mark is set only if the packet is ECN-capable.
    pub fn decide(packet: &mut Packet, at_mark: Decision, limits: impl FnOnce(u16) -> [bool; 2]) -> Self {
        if packet.flags & PROTECTED != 0 {
            return Self::accepted(false);
        }
        let [is_full, is_marking] = limits(packet.size);
        let decision = if is_marking {
            at_mark.for_flags(packet.flags)
        } else {
            Decision::Accept
        };
        if is_full || decision == Decision::Drop {
            return Self::dropped(*packet);
        }
        let marked = decision == Decision::Mark && packet.flags & ECT != 0;
        if marked {
            packet.flags |= CE;
        }
        Self::accepted(marked)
    }
}

impl ServedQueue {
    /// Returns the number of classes that are counted one by one.
    pub fn classes(&self) -> usize {
        match self {
            Self::Priority(queue) => queue.classes(),
            Self::Trimming(_) => 2,
            Self::Lossless(queue) if queue.classes() > 1 => queue.classes(),
            Self::Red(_) | Self::Lossless(_) => 0,
        }
    }

    /// Returns the class of a packet; `None` if classes are not counted one by one.
    pub fn class_of(&self, packet: &Packet) -> Option<usize> {
        match self {
            Self::Priority(queue) => Some(queue.class_of(packet)),
            Self::Trimming(queue) => Some(queue.class_of(packet)),
            Self::Lossless(queue) if queue.classes() > 1 => Some(queue.class_of(packet)),
            Self::Red(_) | Self::Lossless(_) => None,
        }
    }

    /// Handles the arrival of a packet at a port with this limit and threshold.
    pub fn offer(&mut self, packet: Packet, port: &Admission) -> Arrival {
        match self {
            Self::Red(queue) => queue.offer(packet, port),
            Self::Priority(queue) => queue.offer(packet),
            Self::Trimming(queue) => queue.offer(packet),
            Self::Lossless(_) => Arrival::dropped(packet),
        }
    }

    /// Removes the packet that is sent next. Also returns what happens to it.
    pub fn pop(&mut self) -> Option<(Packet, Decision)> {
        match self {
            Self::Red(queue) => queue.pop(),
            Self::Priority(queue) => Some((queue.pop()?, Decision::Accept)),
            Self::Trimming(queue) => queue.pop(),
            Self::Lossless(queue) => Some((queue.pop()?.packet, Decision::Accept)),
        }
    }

    /// Returns the number of packets that wait.
    pub fn len(&self) -> usize {
        match self {
            Self::Red(queue) => queue.packets().len(),
            Self::Priority(queue) => queue.len(),
            Self::Trimming(queue) => queue.len(),
            Self::Lossless(queue) => queue.len(),
        }
    }

    /// Returns true if a packet waits that may be sent.
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Lossless(queue) => queue.is_ready(),
            queue => queue.len() > 0,
        }
    }

    /// Returns the packets that wait, in any order.
    pub fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        match self {
            Self::Red(queue) => Box::new(queue.packets().iter()),
            Self::Priority(queue) => Box::new(queue.packets()),
            Self::Trimming(queue) => Box::new(queue.packets()),
            Self::Lossless(queue) => Box::new(queue.packets()),
        }
    }

    /// Removes and returns all packets.
    pub fn clear(&mut self) -> Vec<Packet> {
        match self {
            Self::Red(queue) => queue.clear(),
            Self::Priority(queue) => queue.clear(),
            Self::Trimming(queue) => queue.clear(),
            Self::Lossless(queue) => queue.clear().iter().map(|waiting| waiting.packet).collect(),
        }
    }
}
