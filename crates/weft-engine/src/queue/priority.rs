//! Traffic classes: strict ones are served first, in order, and deficit round robin serves the others:
//! Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin" (SIGCOMM 1995).

use std::collections::VecDeque;

use weft_fabric::{Priority, PriorityClass, QueueConfig};
use weft_spec::QueueSize;

use super::{Arrival, Decision, PacketQueue};
use crate::admission::{exceeds, has_reached};
use crate::packet::Packet;

/// A FIFO per class.
pub struct PriorityQueue {
    classes: Vec<Class>,
    /// Classes with weights and packets, in the order of their turns (`ActiveList` of the paper).
    turns: VecDeque<usize>,
    /// True if the first of these classes has got the quantum of its turn.
    is_turn_begun: bool,
}

/// A traffic class.
struct Class {
    packets: PacketQueue,
    limit: QueueSize,
    mark: Option<QueueSize>,
    /// Decision about a packet that finds `mark`.
    at_mark: Decision,
    /// Bytes that the class may send in a turn; 0 if it is strict.
    quantum: u64,
    /// Bytes that the class may still send in this turn (`DC` of the paper).
    deficit: u64,
}

impl PriorityQueue {
    /// Creates empty classes for a port with this limit and threshold.
    pub fn new(priority: &Priority, port: QueueConfig, max_packet: u32) -> Self {
        let quanta = priority.quanta(max_packet);
        let class = |((stated, queue), quantum): ((&PriorityClass, QueueConfig), u64)| Class {
            packets: PacketQueue::default(),
            limit: queue.limit,
            mark: queue.mark,
            at_mark: Decision::at_mark(stated.drop_not_ect),
            quantum,
            deficit: 0,
        };
        let queues = priority.classes.iter().zip(priority.queues(port));
        Self {
            classes: queues.zip(quanta).map(class).collect(),
            turns: VecDeque::new(),
            is_turn_begun: false,
        }
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes.len()
    }

    /// Returns the class of a packet.
    pub fn class_of(&self, packet: &Packet) -> usize {
        packet.class().min(self.classes.len() - 1)
    }

    /// Returns the number of packets that wait.
    pub fn len(&self) -> usize {
        self.classes.iter().map(|class| class.packets.len()).sum()
    }

    /// The packets that wait.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.classes.iter().flat_map(|class| class.packets.iter())
    }

    /// Handles an arriving packet.
    pub fn offer(&mut self, mut packet: Packet) -> Arrival {
        let number = self.class_of(&packet);
        let class = &mut self.classes[number];
        let waiting = |unit| class.packets.waiting_in(unit);
        let limits = |size: u16| {
            [
                exceeds(class.limit, waiting, size.into()),
                has_reached(class.mark, waiting),
            ]
        };
        let arrival = Arrival::decide(&mut packet, class.at_mark, limits);
        if arrival.accepted {
            if class.quantum > 0 && class.packets.is_empty() {
                self.turns.push_back(number);
            }
            class.packets.push(packet);
        }
        arrival
    }

    /// Removes the packet that is sent next.
    pub fn pop(&mut self) -> Option<Packet> {
        let mut strict = self.classes.iter_mut().filter(|class| class.quantum == 0);
        if let Some(packet) = strict.find_map(|class| class.packets.pop()) {
            return Some(packet);
        }
        loop {
            let class = &mut self.classes[*self.turns.front()?];
            if !self.is_turn_begun {
                class.deficit += class.quantum;
                self.is_turn_begun = true;
            }
            let size = u64::from(class.packets.front()?.size);
            if size <= class.deficit {
                class.deficit -= size;
                let packet = class.packets.pop();
                if class.packets.is_empty() {
                    class.deficit = 0;
                    self.turns.pop_front();
                    self.is_turn_begun = false;
                }
                return packet;
            }
            self.turns.rotate_left(1);
            self.is_turn_begun = false;
        }
    }

    /// Removes and returns all packets.
    pub fn clear(&mut self) -> Vec<Packet> {
        self.turns.clear();
        self.is_turn_begun = false;
        let mut cleared = Vec::new();
        for class in &mut self.classes {
            class.deficit = 0;
            cleared.extend(class.packets.drain());
        }
        cleared
    }
}
