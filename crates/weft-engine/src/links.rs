//! The links into the nodes of a partition, and the mail for the links of other partitions.

use crate::calendar::Calendar;
use crate::packet::Packet;
use crate::port::Port;
use crate::prefetch::prefetch;
use crate::ring::Ring;
use crate::route::Route;

/// The links that the ports of a partition send into.
pub struct Links {
    /// Rings of the links into the partition's nodes, sorted by node.
    pub rings: Vec<Ring>,
    /// The number of `rings[0]` among the rings of all partitions.
    pub first_ring: u32,
    /// Windows in which rings have arrivals.
    pub calendar: Calendar,
    /// For each partition, the packets for its rings.
    pub outboxes: Vec<Vec<(u32, Packet)>>,
    /// Length of a window in picoseconds, at most the lookahead: the smallest time in which a
    /// packet reaches another node.
    pub lookahead: u64,
}

impl Links {
    /// Returns the number of a ring among the partition's own; `None` if it is one of another partition.
    #[inline(always)]
    pub fn local(&self, ring: u32) -> Option<usize> {
        let local = ring.wrapping_sub(self.first_ring) as usize;
        (local < self.rings.len()).then_some(local)
    }

    /// Puts a packet that leaves `port` on the link, where it arrives at `time`. (The copy for another partition is made
    /// there, so that a packet of an own link need not be in memory.)
    #[inline(always)]
    pub fn put(&mut self, port: &Port, packet: &Packet, time: u64) {
        match self.local(port.ring) {
            Some(local) => self.receive(local, packet, time, packet.route, packet.flags),
            None => self.post(port.ring, port.partition, Packet { time, ..*packet }),
        }
    }

    /// Posts a packet to a ring of another partition.
    #[inline(never)]
    pub fn post(&mut self, ring: u32, partition: u32, packet: Packet) {
        self.outboxes[partition as usize].push((ring, packet));
    }

    /// Appends a packet to one of the partition's own rings.
    #[inline(always)]
    pub fn receive(&mut self, local: usize, packet: &Packet, time: u64, route: Route, flags: u16) {
        if self.rings[local].push(packet, time, route, flags) {
            self.calendar.schedule(time / self.lookahead, local as u32);
        }
    }

    /// Prefetches a ring.
    #[inline(always)]
    pub fn prefetch_ring(&self, ring: u32) {
        if let Some(local) = self.local(ring) {
            prefetch(&self.rings[local]);
        }
    }

    /// Prefetches the slot to which the next packet of `ring` will be written.
    #[inline(always)]
    pub fn prefetch_push(&self, ring: u32) {
        if let Some(local) = self.local(ring) {
            self.rings[local].prefetch_push();
        }
    }
}
