//! RED that decides when a packet is chosen, by the length of the queue that it leaves behind: marks
//! then report the present queue, not that of the packet's arrival.

use std::collections::VecDeque;

use weft_spec::QueueSize;

use super::{Arrival, Decision, Red};
use crate::admission::Admission;
use crate::packet::{PROTECTED, Packet};

/// A FIFO with RED at dequeue.
pub struct DequeueRed {
    red: Red,
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl DequeueRed {
    /// Creates an empty queue.
    pub fn new(red: Red) -> Self {
        Self {
            red,
            packets: VecDeque::new(),
            bytes: 0,
        }
    }

    /// The packets that wait.
    pub fn packets(&self) -> &VecDeque<Packet> {
        &self.packets
    }

    /// Returns how much waits, in the unit of `unit`.
    fn waiting_in(&self, unit: QueueSize) -> u64 {
        match unit {
            QueueSize::Packets(_) => self.packets.len() as u64,
            QueueSize::Bytes(_) => self.bytes,
        }
    }

    /// Handles the arrival of a packet at a port with this limit and threshold.
    pub fn offer(&mut self, mut packet: Packet, port: &Admission) -> Arrival {
        let waiting = |unit| self.waiting_in(unit);
        let arrival = Arrival::decide(&mut packet, |size| {
            [port.is_full(waiting, size), port.is_marking(waiting)]
        });
        if arrival.accepted {
            self.bytes += u64::from(packet.size);
            self.packets.push_back(packet);
        }
        arrival
    }

    /// Removes the first packet. Also returns what happens to it.
    pub fn pop(&mut self) -> Option<(Packet, Decision)> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        if packet.flags & PROTECTED != 0 {
            return Some((packet, Decision::Accept));
        }
        let length = self.waiting_in(self.red.unit());
        Some((packet, self.red.decide(length, 0)))
    }

    /// Removes and returns all packets.
    pub fn clear(&mut self) -> Vec<Packet> {
        self.bytes = 0;
        self.packets.drain(..).collect()
    }
}
