//! RED that decides when a packet is chosen, by the length of the queue that it leaves behind: marks
//! then report the present queue, not that of the packet's arrival.

use super::{Arrival, Decision, PacketQueue, Red};
use crate::admission::Admission;
use crate::packet::{PROTECTED, Packet};

/// A FIFO with RED at dequeue.
pub struct DequeueRed {
    red: Red,
    packets: PacketQueue,
}

impl DequeueRed {
    /// Creates an empty queue.
    pub fn new(red: Red) -> Self {
        Self {
            red,
            packets: PacketQueue::default(),
        }
    }

    /// The packets that wait.
    pub fn packets(&self) -> &PacketQueue {
        &self.packets
    }

    /// Handles the arrival of a packet at a port with this limit and threshold.
    pub fn offer(&mut self, mut packet: Packet, port: &Admission) -> Arrival {
        let waiting = |unit| self.packets.waiting_in(unit);
        let arrival = Arrival::decide(&mut packet, Decision::Mark, |size| {
            [port.is_full(waiting, size), port.is_marking(waiting)]
        });
        if arrival.accepted {
            self.packets.push(packet);
        }
        arrival
    }

    /// Removes the first packet. Also returns what happens to it.
    pub fn pop(&mut self) -> Option<(Packet, Decision)> {
        let packet = self.packets.pop()?;
        if packet.flags & PROTECTED != 0 {
            return Some((packet, Decision::Accept));
        }
        let length = self.packets.waiting_in(self.red.unit());
        Some((packet, self.red.decide(length, 0).for_flags(packet.flags)))
    }

    /// Removes and returns all packets.
    pub fn clear(&mut self) -> Vec<Packet> {
        self.packets.drain().collect()
    }
}
