//! A FIFO of packets with the sum of their sizes.

use std::collections::VecDeque;
use std::collections::vec_deque::{Drain, Iter};

use weft_spec::QueueSize;

use crate::packet::Packet;
use crate::prefetch::prefetch;

/// Packets that wait, first in, first out.
#[derive(Default)]
pub struct PacketQueue {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl PacketQueue {
    /// Number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Sum of their sizes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns true if no packet waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The packets, the first one first.
    pub fn iter(&self) -> Iter<'_, Packet> {
        self.packets.iter()
    }

    /// The packet that was added first.
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// Prefetches the packet that was added first.
    #[inline(always)]
    pub fn prefetch_front(&self) {
        self.packets.front().into_iter().for_each(prefetch);
    }

    /// The packet that was added last.
    pub fn back(&self) -> Option<&Packet> {
        self.packets.back()
    }

    /// Adds a packet.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back(packet);
    }

    /// Removes the packet that was added first.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        match self.packets.front() {
            // In a long queue, the next packet has left the nearer caches.
            Some(next) => prefetch(next),
            // Starting over keeps a short queue in few cache lines.
            None => self.packets.clear(),
        }
        Some(packet)
    }

    /// Removes the packet that was added last.
    pub fn pop_back(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    /// Removes and returns all packets.
    pub fn drain(&mut self) -> Drain<'_, Packet> {
        self.bytes = 0;
        self.packets.drain(..)
    }

    /// Returns how much waits, in the unit of `unit`.
    #[inline]
    pub fn waiting_in(&self, unit: QueueSize) -> u64 {
        match unit {
            QueueSize::Packets(_) => self.packets.len() as u64,
            QueueSize::Bytes(_) => self.bytes,
        }
    }
}
