//! The counters of links, of the traffic classes of queues and of dropped packets, between two calls of
//! [`run_until`](Engine::run_until).

use std::collections::HashMap;

use crate::Engine;
use crate::packet::Packet;
use crate::partition::Endpoint;
use crate::port::Unsent;
use crate::port_state::ClassCounters;
use weft_queues::DropReason;

/// Counters of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets accepted by the queue, without those that it lost when the link failed: these count
    /// as dropped.
    pub packets: u64,
    /// Bytes of these packets on the wire.
    pub bytes: u64,
    /// Packets delivered to the receiving node.
    pub delivered: u64,
    /// Bytes of the delivered packets on the wire.
    pub delivered_bytes: u64,
    /// Packets queued or on the wire.
    pub in_flight: u64,
    /// Packets among them whose last bit has not left the port.
    pub unsent: Unsent,
    /// Packets dropped by the queue.
    pub drops: u64,
    /// Packets lost on the link.
    pub lost: u64,
    /// Packets marked.
    pub marks: u64,
}

/// Packets that the queue of a link dropped, or the link lost, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DroppedPackets {
    /// Number of the link.
    pub link: u32,
    /// The reason.
    pub reason: DropReason,
    /// `lo` and `hi` of data packets; `None` for all other packets.
    pub key: Option<(u32, u32)>,
    /// Number of packets.
    pub packets: u64,
}

impl Unsent {
    /// Adds a packet.
    fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
    }
}

impl<E: Endpoint> Engine<E> {
    /// Counters of every link, in the order of the fabric.
    pub fn link_counters(&self) -> Vec<LinkCounters> {
        let counters = |(link, &[(from, port), (to, ring)]): (u32, &[(u32, u32); 2])| {
            let sender = &self.partitions[from as usize].network;
            let receiver = &self.partitions[to as usize].network;
            let (lost, lost_bytes) = receiver.losses.lost(ring as usize);
            let ring = &receiver.links.rings[ring as usize];
            let (port, state) = (&sender.ports[port as usize], &sender.states.ports[port as usize]);
            let mut waiting = Unsent::default();
            let mut unsent = match state.scheduled() {
                Some(scheduled) => {
                    scheduled.queue.for_each(&mut |packet| waiting.add(packet));
                    waiting
                }
                None => port.unsent(self.now),
            };
            if let Some(packet) = self.being_sent(link) {
                unsent.add(packet);
            }
            let bytes_on_ring: u64 = ring.iter().map(|packet| u64::from(packet.size)).sum();
            LinkCounters {
                packets: port.packets,
                bytes: port.bytes,
                delivered: ring.delivered() - lost,
                delivered_bytes: port.bytes - bytes_on_ring - waiting.bytes - lost_bytes,
                in_flight: ring.iter().count() as u64 + waiting.packets,
                unsent,
                drops: state.drops,
                lost,
                marks: state.marks,
            }
        };
        (0..).zip(&self.links).map(counters).collect()
    }

    /// Packets dropped or lost so far, by link, reason, and `lo` and `hi` of data packets, in this order.
    pub fn dropped_packets(&self) -> Vec<DroppedPackets> {
        let (mut of_port, mut of_ring) = (HashMap::new(), HashMap::new());
        for (link, &[(from, port), (to, ring)]) in (0..).zip(&self.links) {
            of_port.insert((from, port), link);
            of_ring.insert((to, ring), link);
        }
        let mut dropped = Vec::new();
        for (partition, p) in (0..).zip(&self.partitions) {
            for (place, reason, key, packets) in p.network.drops.all() {
                let links = if reason == DropReason::Loss {
                    &of_ring
                } else {
                    &of_port
                };
                dropped.push(DroppedPackets {
                    link: links[&(partition, place)],
                    reason,
                    key,
                    packets,
                });
            }
        }
        dropped.sort_unstable();
        dropped
    }

    /// Counters of each class of the queue that feeds `link`; none if it has no classes.
    pub fn class_counters(&self, link: u32) -> &[ClassCounters] {
        let (partition, port) = self.links[link as usize][0];
        let network = &self.partitions[partition as usize].network;
        let scheduled = network.states.ports[port as usize].scheduled();
        scheduled.map_or(&[], |scheduled| &scheduled.server.classes)
    }

    /// Returns, for each class of the queue that feeds `link`, the packets whose last bit has not left the
    /// port; none if the queue has no classes.
    pub fn unsent_by_class(&self, link: u32) -> Vec<Unsent> {
        let (partition, port) = self.links[link as usize][0];
        let network = &self.partitions[partition as usize].network;
        let Some(scheduled) = network.states.ports[port as usize].scheduled() else {
            return Vec::new();
        };
        let mut unsent = vec![Unsent::default(); scheduled.server.classes.len()];
        for packet in scheduled.packets().into_iter().chain(self.being_sent(link)) {
            if let Some(class) = scheduled.queue.class_of(packet) {
                unsent[class].add(packet);
            }
        }
        unsent
    }

    /// Returns the packet that a port with a scheduled queue is sending.
    fn being_sent(&self, link: u32) -> Option<&Packet> {
        let [(from, port), (to, ring)] = self.links[link as usize];
        let sender = &self.partitions[from as usize].network;
        let is_sending = !sender.ports[port as usize].is_idle(self.now);
        if !is_sending || sender.states.ports[port as usize].scheduled().is_none() {
            return None;
        }
        self.partitions[to as usize].network.links.rings[ring as usize].last()
    }
}
