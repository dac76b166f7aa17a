//! Pauses of an engine: counters, victims and deadlocks.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::Engine;
use crate::partition::Endpoint;
use crate::pauses::PauseCounters;
use weft_queues::{Blocked, IncomingClass};

/// A class of a link: number of the link, and class.
pub type LinkClass = (u32, u8);

impl<E: Endpoint> Engine<E> {
    /// Delivers the pause frames of a partition between two windows.
    pub(crate) fn exchange_pauses(&mut self, from: usize) {
        let Some(pauses) = &mut self.partitions[from].network.pauses else {
            return;
        };
        let outboxes: Vec<_> = pauses.outboxes.iter_mut().map(std::mem::take).collect();
        for (partition, frames) in self.partitions.iter_mut().zip(outboxes) {
            let receiver = partition.network.pauses.iter_mut();
            receiver.for_each(|pauses| pauses.events.extend(frames.iter().map(|&frame| Reverse(frame))));
        }
    }

    /// Counters of the pauses of `link`; `None` if its port cannot be paused.
    pub fn pause_counters(&self, link: u32) -> Option<PauseCounters> {
        let [(from, port), (to, ring)] = self.links[link as usize];
        let sender = &self.partitions[from as usize].network;
        let queue = sender.states.ports[port as usize].lossless()?;
        let receiver = self.partitions[to as usize].network.pauses.as_ref()?;
        let incoming = receiver.ingress.incoming[ring as usize].as_ref();
        Some(PauseCounters {
            pauses: incoming.map_or(0, |link| link.pauses),
            time: queue.paused_time(self.now),
            expired: queue.expired,
        })
    }

    /// Victims of head-of-line blocking, by (`lo`, `hi`): the [counted](crate::packet::DATA) packets that
    /// waited at a paused port. Packets for another port of the next node were the cause of the pause.
    /// The cause is the port that held most of the paused link's bytes when the pause was sent.
    #[cfg(test)]
    pub fn victims(&self) -> HashMap<(u32, u32), Blocked> {
        let pauses = || self.partitions.iter().filter_map(|p| p.network.pauses.as_ref());
        let keys = pauses().flat_map(|pauses| pauses.ingress.victims.keys());
        keys.map(|&key| (key, self.blocked_of(key))).collect()
    }

    /// Packets with this (`lo`, `hi`) that are [victims](crate::Blocked) of head-of-line blocking.
    pub fn blocked_of(&self, key: (u32, u32)) -> Blocked {
        let pauses = self.partitions.iter().filter_map(|p| p.network.pauses.as_ref());
        let blocked = pauses.filter_map(|pauses| pauses.ingress.victims.get(&key));
        blocked.fold(Blocked::default(), |sum, blocked| Blocked {
            packets: sum.packets + blocked.packets,
            time: sum.time + blocked.time,
        })
    }

    /// Returns a cycle of paused links that can never be resumed, a deadlock, if there is one. Each of them
    /// waits for the next one, and the last one for the first one.
    ///
    /// A link is stuck if so many of its bytes wait for stuck links that its pause cannot end. The stuck
    /// links are the largest set with this property. Watchdogs are not considered.
    pub fn deadlock(&self) -> Option<Vec<LinkClass>> {
        let paused = self.paused_links();
        let mut stuck: HashSet<LinkClass> = paused.iter().map(|link| link.link).collect();
        loop {
            let is_free = |link: &&PausedLink<'_>| link.held_by(&stuck) <= link.xon;
            let free = paused.iter().filter(|link| stuck.contains(&link.link));
            let free: Vec<LinkClass> = free.filter(is_free).map(|link| link.link).collect();
            if free.is_empty() {
                break;
            }
            for link in &free {
                stuck.remove(link);
            }
        }
        let mut path = vec![*stuck.iter().min()?];
        loop {
            let link = paused.iter().find(|link| Some(&link.link) == path.last())?;
            let next = link.next(&stuck)?;
            if let Some(start) = path.iter().position(|link| *link == next) {
                return Some(path.split_off(start));
            }
            path.push(next);
        }
    }

    /// Returns the classes of links that their receivers pause.
    fn paused_links(&self) -> Vec<PausedLink<'_>> {
        let mut first_links: HashMap<(u32, u32), u32> = HashMap::new();
        for (number, &[port, _]) in (0..).zip(&self.links) {
            first_links.insert(port, number);
        }
        let mut paused = Vec::new();
        for (number, &[_, (to, ring)]) in (0..).zip(&self.links) {
            let receiver = &self.partitions[to as usize];
            let Some(state) = &receiver.network.pauses else {
                continue;
            };
            let Some(incoming) = &state.ingress.incoming[ring as usize] else {
                continue;
            };
            let node = receiver.ring_node[ring as usize];
            let first_port = receiver.node_slots[node as usize].first_port;
            let Some(&first_link) = first_links.get(&(to, first_port)) else {
                continue;
            };
            for (class, state) in (0..).zip(&incoming.classes).filter(|(_, class)| class.is_over) {
                paused.push(PausedLink {
                    link: (number, class),
                    first_link,
                    xon: incoming.thresholds.xon,
                    state,
                });
            }
        }
        paused
    }
}

/// A class of a link that its receiver pauses.
struct PausedLink<'a> {
    link: LinkClass,
    /// The first link of the receiver.
    first_link: u32,
    xon: u64,
    state: &'a IncomingClass,
}

impl PausedLink<'_> {
    /// Returns the outgoing links of the receiver with the bytes that wait for them.
    fn outgoing(&self) -> impl Iterator<Item = (LinkClass, u64)> {
        let (first, class) = (self.first_link, self.link.1);
        (first..)
            .zip(&self.state.at_port)
            .map(move |(link, &bytes)| ((link, class), bytes))
    }

    /// Returns how many bytes wait for links of a set.
    fn held_by(&self, links: &HashSet<LinkClass>) -> u64 {
        let held = self.outgoing().filter(|(link, _)| links.contains(link));
        held.map(|(_, bytes)| bytes).sum()
    }

    /// Returns the link of a set for which most bytes wait.
    fn next(&self, links: &HashSet<LinkClass>) -> Option<LinkClass> {
        let held = self.outgoing().filter(|(link, _)| links.contains(link));
        held.max_by_key(|&((link, _), bytes)| (bytes, Reverse(link)))
            .map(|(link, _)| link)
    }
}
