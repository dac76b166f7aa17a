//! The traffic classes of the [reference](super): it looks for the next packet in the list of
//! all that wait.

use std::collections::VecDeque;

use weft_fabric::{Priority, QueueConfig};
use weft_spec::{Mark, QueueSize};

use crate::packet::Packet;

/// Strict and weighted classes.
pub struct Classes {
    priority: Priority,
    port: QueueConfig,
    max_packet: u64,
    /// Weighted classes with packets; the first one has its turn.
    round: Vec<usize>,
    /// Bytes that each class may send, and the class whose credit of this turn has been granted.
    credit: [u64; 8],
    granted: Option<usize>,
}

impl Classes {
    pub fn new(priority: &Priority, port: QueueConfig, max_packet: u16) -> Self {
        Self {
            priority: priority.clone(),
            port,
            max_packet: max_packet.into(),
            round: Vec::new(),
            credit: [0; 8],
            granted: None,
        }
    }

    /// The class of a packet: that of its flags, or the last one.
    pub fn class_of(&self, packet: &Packet) -> usize {
        let named = usize::from(packet.flags / 4096 % 8);
        if named < self.priority.classes.len() {
            named
        } else {
            self.priority.classes.len() - 1
        }
    }

    /// Returns whether the class of a packet has no room for it, and whether its queue is long.
    pub fn full_and_long(&self, packet: &Packet, waiting: &VecDeque<Packet>) -> [bool; 2] {
        let class = self.class_of(packet);
        let own = || waiting.iter().filter(|other| self.class_of(other) == class);
        let bytes: u64 = own().map(|other| u64::from(other.size)).sum();
        let stated = &self.priority.classes[class];
        let full = match stated.limit.unwrap_or(self.port.limit) {
            QueueSize::Packets(limit) => own().count() >= limit as usize,
            QueueSize::Bytes(limit) => bytes + u64::from(packet.size) > limit,
        };
        let mark = match stated.mark {
            Some(Mark::Off) => None,
            Some(Mark::At(mark)) => Some(mark),
            None => self.port.mark,
        };
        let long = match mark {
            None => false,
            Some(QueueSize::Packets(mark)) => own().count() >= mark as usize,
            Some(QueueSize::Bytes(mark)) => bytes >= mark,
        };
        [full, long]
    }

    /// Handles the arrival of an accepted packet, which is the last one that waits.
    pub fn arrived(&mut self, packet: &Packet) {
        let class = self.class_of(packet);
        if self.priority.classes[class].weight.is_some() && !self.round.contains(&class) {
            self.round.push(class);
            self.credit[class] = 0;
        }
    }

    /// Bytes per turn: in proportion to the weight, and the largest packet for the smallest weight.
    fn quantum(&self, class: usize) -> u64 {
        let weight = |class: usize| self.priority.classes[class].weight.map(u64::from);
        let lowest = (0..self.priority.classes.len()).filter_map(weight).min();
        let exact = self.max_packet * weight(class).unwrap_or(0);
        let lowest = lowest.unwrap_or(1);
        exact.div_ceil(lowest)
    }

    /// Returns the position of the packet that is sent next.
    pub fn next(&mut self, waiting: &VecDeque<Packet>) -> Option<usize> {
        let position = |class| waiting.iter().position(|packet| self.class_of(packet) == class);
        let is_strict = |class: &usize| self.priority.classes[*class].weight.is_none();
        let strict = (0..self.priority.classes.len())
            .filter(is_strict)
            .find_map(position);
        if strict.is_some() {
            return strict;
        }
        while let Some(&class) = self.round.first() {
            let at = waiting.iter().position(|packet| self.class_of(packet) == class)?;
            if self.granted != Some(class) {
                self.granted = Some(class);
                self.credit[class] += self.quantum(class);
            }
            let size = u64::from(waiting[at].size);
            if self.credit[class] >= size {
                self.credit[class] -= size;
                let others = waiting.iter().enumerate();
                let is_last = !others
                    .into_iter()
                    .any(|(i, other)| i != at && self.class_of(other) == class);
                if is_last {
                    self.round.remove(0);
                    self.granted = None;
                }
                return Some(at);
            }
            self.granted = None;
            let first = self.round.remove(0);
            self.round.push(first);
        }
        None
    }

    /// Forgets all turns, because all packets were lost.
    pub fn clear(&mut self) {
        self.round.clear();
        self.granted = None;
    }
}
