//! The loop over events of a partition with links that can be paused or lose packets: at each node, arrivals,
//! pause events and timers are merged by time.

use std::cmp::Reverse;

use super::{Endpoint, INDEX_BITS, NodeSlots, Partition};
use crate::packet::Packet;
use crate::pauses::PauseEvent;
use weft_queues::{DropReason, NO_RING};

/// Number of links between the prefetch of the packets on a link and their use.
const RING_PREFETCH: usize = 8;

impl<E: Endpoint> Partition<E> {
    /// Processes all events of `window` before `end`, as [`process`](Self::process) does. At equal
    /// times, a node's pause frames come before services, these before packets, and packets before timers.
    #[inline(never)]
    pub(super) fn process_merged<const TRACE: bool>(&mut self, window: u64, end: u64) {
        let start = self.begin_window(window, end);
        let mut pauses = std::mem::take(&mut self.pause_events);
        self.take_pauses(end, &mut pauses);
        let mut rings = std::mem::take(&mut self.rings_due);
        rings.clear();
        if self.network.links.calendar.take_occupied() {
            for word in 0..self.network.links.calendar.words() {
                let mut bits = self.network.links.calendar.take_word(word);
                while bits != 0 {
                    rings.push(word as u32 * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
        let (mut due, mut ring, mut pause) = (0, 0, 0);
        loop {
            let nodes = [
                self.due.get(due).map(|timer| timer.node - self.first_node),
                rings.get(ring).map(|&ring| self.ring_node[ring as usize]),
                pauses.get(pause).map(|event| event.node - self.first_node),
            ];
            let Some(node) = nodes.into_iter().flatten().min() else {
                break;
            };
            while let Some(timer) = self.due.get(due).filter(|t| t.node - self.first_node == node) {
                self.network.due.push(Reverse(*timer));
                due += 1;
            }
            while let Some(event) = pauses.get(pause).filter(|e| e.node - self.first_node == node) {
                self.network
                    .pauses
                    .iter_mut()
                    .for_each(|p| p.due.push(Reverse(*event)));
                pause += 1;
            }
            let mut ring_count = 0;
            while let Some(&next) = rings.get(ring).filter(|&&r| self.ring_node[r as usize] == node) {
                if self.prefetches
                    && let Some(&ahead) = rings.get(ring + RING_PREFETCH)
                {
                    self.network.links.rings[ahead as usize].prefetch_take();
                }
                self.drain_ring(next as usize, ring_count, end);
                self.remove_lost(next as usize, ring_count);
                self.batch_rings.resize(self.batch.len(), next);
                ring_count += 1;
                ring += 1;
            }
            self.process_merged_node::<TRACE>(node, start, ring_count);
            self.batch.clear();
            self.batch_rings.clear();
        }
        self.rings_due = rings;
        self.pause_events = pauses;
    }

    /// Moves the pause events before `end` to `events`, sorted by node.
    fn take_pauses(&mut self, end: u64, events: &mut Vec<PauseEvent>) {
        events.clear();
        let Some(pauses) = &mut self.network.pauses else {
            return;
        };
        while let Some(event) = pauses.events.peek().filter(|event| event.0.time < end) {
            events.push(event.0);
            pauses.events.pop();
        }
        events.sort_unstable_by_key(|event| event.node);
    }

    /// Removes the packets that the link of `ring` loses from the batch, at whose end they are.
    fn remove_lost(&mut self, ring: usize, ring_count: usize) {
        let (first, _) = self.ring_starts[ring_count];
        let network = &mut self.network;
        let lost = network.losses.remove_lost(ring, &mut self.batch, first as usize);
        for packet in &lost {
            network.count_drop(packet, ring, DropReason::Loss);
        }
    }

    /// Processes the batch at `node`, its timers and its pause events.
    fn process_merged_node<const TRACE: bool>(&mut self, node: u32, start: u64, ring_count: usize) {
        self.arrivals += self.batch.len() as u64;
        self.sort(start, ring_count);
        let slots = self.node_slots[node as usize];
        let (keys, batch) = (std::mem::take(&mut self.keys), std::mem::take(&mut self.batch));
        let has_pauses = self
            .network
            .pauses
            .as_ref()
            .is_some_and(|pauses| !pauses.due.is_empty());
        let mut next = 0;
        if slots.endpoint == u32::MAX && !has_pauses && self.network.due.is_empty() {
            // A packet at a switch brings neither timers nor pauses of this window.
            next = keys.len();
            for (i, &key) in keys.iter().enumerate() {
                if self.prefetches {
                    self.prefetch_ports(slots, &keys, &batch, i);
                }
                self.process_merged_arrival::<TRACE>(node, slots, ring_count, key, &batch);
            }
        }
        loop {
            let key = keys.get(next).copied();
            let arrival = key.map_or(u64::MAX, |key| start + (key >> INDEX_BITS));
            let timer = self.network.due.peek().map_or(u64::MAX, |timer| timer.0.time);
            let pauses = self.network.pauses.as_ref();
            let pause = pauses
                .and_then(|pauses| pauses.due.peek())
                .map(|event| event.0.time);
            if pause.is_some_and(|pause| pause <= arrival.min(timer)) {
                self.network.process_pause();
            } else if let Some(key) = key.filter(|_| arrival <= timer) {
                next += 1;
                self.process_merged_arrival::<TRACE>(node, slots, ring_count, key, &batch);
            } else if timer < u64::MAX {
                self.set_ring(0, &Packet::default());
                self.fire_timer::<TRACE>(node, slots);
            } else {
                break;
            }
        }
        (self.keys, self.batch) = (keys, batch);
    }

    /// Processes the packet of a key of the batch at `node`.
    #[inline(always)]
    fn process_merged_arrival<const TRACE: bool>(
        &mut self,
        node: u32,
        slots: NodeSlots,
        ring_count: usize,
        key: u64,
        batch: &[Packet],
    ) {
        let index = (key & ((1 << INDEX_BITS) - 1)) as u32;
        let packet = &batch[index as usize];
        self.set_ring(index, packet);
        self.process_arrival::<TRACE>(node, slots, ring_count, index, packet);
    }

    /// Sets the ring over which packet `index` of the batch came, unless the packet is at its destination:
    /// no incoming link counts what the node itself sends.
    #[inline(always)]
    fn set_ring(&mut self, index: u32, packet: &Packet) {
        if let Some(pauses) = &mut self.network.pauses {
            pauses.ingress.ring = if packet.route.is_at_destination() {
                NO_RING
            } else {
                self.batch_rings[index as usize]
            };
        }
    }
}
