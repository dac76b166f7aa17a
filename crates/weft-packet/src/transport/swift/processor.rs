//! The processing of arriving data at a host: packets wait in one FIFO, each for the processing time of its transport.

use std::collections::VecDeque;

use crate::packet::Packet;

/// The packets that a host has not processed, each with the time of its arrival.
#[derive(Default)]
pub struct Processor {
    waiting: VecDeque<(Packet, u64)>,
}

impl Processor {
    /// Returns true if a packet is being processed.
    pub fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Adds a packet that arrives now.
    pub fn add(&mut self, packet: &Packet, now: u64) {
        self.waiting.push_back((*packet, now));
    }

    /// Takes the packet that has been processed, with the time of its arrival.
    pub fn take(&mut self) -> Option<(Packet, u64)> {
        self.waiting.pop_front()
    }

    /// Returns the flow of the packet that is processed next.
    pub fn next_flow(&self) -> Option<u32> {
        self.waiting.front().map(|(packet, _)| packet.lo)
    }
}
