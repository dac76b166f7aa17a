//! One partition's share of the network: ports of its nodes, links into its nodes, timers.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::calendar::Calendar;
use super::hash::processing_time;
use super::packet::{DATA, Packet};
use super::port::{Admission, Port};
use super::prefetch::prefetch;
use super::ring::Ring;
use super::route::{HopBits, Route};
use super::timers::{Timer, Timers};

/// Everything of a partition but its endpoints.
pub struct PartitionNetwork {
    /// Output ports of the partition's nodes.
    pub ports: Vec<Port>,
    /// Their rules, by the same index.
    pub admissions: Vec<Admission>,
    /// Links into the partition's nodes, sorted by node.
    pub rings: Vec<Ring>,
    /// The number of `rings[0]` over all partitions.
    pub first_ring: u32,
    /// Which rings have arrivals when.
    pub calendar: Calendar,
    /// Timers beyond the current window.
    pub timers: Timers,
    /// Timers of the node in progress that are due in this window.
    pub due: BinaryHeap<Reverse<Timer>>,
    /// Packets for other partitions' rings, by partition.
    pub outboxes: Vec<Vec<(u32, Packet)>>,
    /// Length of a window in picoseconds: at most the smallest time in which a packet reaches another node.
    pub lookahead: u64,
    /// End of what is being processed.
    pub end: u64,
    /// Seed of processing times at hosts.
    pub seed: u64,
    /// The longest of them, in picoseconds; 0 if there are none.
    pub jitter: u64,
    /// How routes are packed.
    pub hops: HopBits,
    /// Data packets dropped, by (flow, subflow).
    pub drops: HashMap<(u32, u32), u64>,
}

impl PartitionNetwork {
    /// Forwards `packet`, with what is left of its route, over port `port` (in the partition) at `now`.
    #[inline(always)]
    pub fn forward(&mut self, port: usize, now: u64, packet: &Packet, route: Route) {
        self.transmit(port, now, now, packet, route);
    }

    /// Sends a packet of host `node`'s own.
    #[inline(always)]
    pub fn send(&mut self, node: u32, port: usize, now: u64, packet: &Packet, route: Route) {
        let mut ready = now;
        if self.jitter != 0 && self.ports[port].is_idle(now) {
            ready += processing_time(self.seed, node, self.ports[port].packets, self.jitter);
        }
        self.transmit(port, now, ready, packet, route);
    }

    #[inline(always)]
    fn transmit(&mut self, port: usize, now: u64, ready: u64, packet: &Packet, route: Route) {
        let mut flags = packet.flags;
        let enqueued =
            self.ports[port].enqueue(&mut self.admissions, port, now, ready, packet.size, &mut flags);
        let Some(time) = enqueued else {
            self.count_drop(packet);
            return;
        };
        let ring = self.ports[port].ring;
        let local = ring.wrapping_sub(self.first_ring) as usize;
        if local < self.rings.len() {
            self.receive(local, packet, time, route, flags);
        } else {
            let packet = Packet {
                time,
                route,
                flags,
                ..*packet
            };
            self.outboxes[self.ports[port].partition as usize].push((ring, packet));
        }
    }

    /// Reads ahead what [`forward`](Self::forward) will touch of the port itself.
    #[inline(always)]
    pub fn prefetch_port(&self, port: usize) {
        prefetch(&self.ports[port]);
    }

    /// Reads ahead where a packet over `port` will be written.
    #[inline(always)]
    pub fn prefetch_push(&self, port: usize) {
        let local = self.ports[port].ring.wrapping_sub(self.first_ring) as usize;
        if let Some(ring) = self.rings.get(local) {
            ring.prefetch_push();
        }
    }

    /// Puts a packet on one of the partition's own links.
    #[inline(always)]
    pub fn receive(&mut self, local: usize, packet: &Packet, time: u64, route: Route, flags: u16) {
        if self.rings[local].push(packet, time, route, flags) {
            self.calendar.schedule(time / self.lookahead, local as u32);
        }
    }

    #[cold]
    pub fn count_drop(&mut self, packet: &Packet) {
        if packet.flags & DATA != 0 {
            *self.drops.entry((packet.lo, packet.hi)).or_default() += 1;
        }
    }

    /// Sets a timer at a node of the partition, the one in progress if it is due in this window.
    pub fn set_timer(&mut self, timer: Timer) {
        if timer.time < self.end {
            self.due.push(Reverse(timer));
        } else {
            self.timers.push(timer);
        }
    }

    /// The first window in which anything happens here.
    pub fn next_window(&self) -> u64 {
        let timer = self.timers.next().unwrap_or(u64::MAX);
        self.calendar.next().unwrap_or(u64::MAX).min(timer)
    }
}
