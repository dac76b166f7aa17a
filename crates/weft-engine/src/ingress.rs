//! The buffer of an incoming link that can be paused: what waits at the node, by class and port.

use weft_fabric::Thresholds;

use crate::packet::Packet;
use crate::pauses::{PauseAction, PauseEvent};

/// The buffer of an incoming link.
pub struct Incoming {
    /// The sending node, its partition and its port.
    pub from: u32,
    pub partition: u32,
    pub port: u32,
    /// Number of the link in the other direction, and its port.
    pub reverse: u32,
    pub reverse_port: u32,
    /// Number of the receiving node in its partition, and with it of its [pool](crate::pauses::Pauses::pools).
    pub pool: u32,
    pub thresholds: Thresholds,
    /// Time in picoseconds from the arrival of a frame to its effect.
    pub reaction: u64,
    pub classes: Vec<IncomingClass>,
    /// Number of frames so far, and when the last one takes effect.
    pub frames: u32,
    pub last_effect: u64,
    /// Number of pauses so far, per class.
    pub pauses: u64,
    /// True if its frames are captured.
    pub is_captured: bool,
}

/// The packets of an incoming link in a class.
#[derive(Clone)]
pub struct IncomingClass {
    /// Bytes that wait.
    pub bytes: u64,
    /// Bytes that wait at each port of the node.
    pub at_port: Vec<u64>,
    /// Whether the class is to be paused, and whether the last frame said so.
    pub is_over: bool,
    is_announced: bool,
}

impl Incoming {
    /// Creates an empty buffer with `classes` classes at a node with `ports` ports.
    pub fn new(
        [from, partition, port]: [u32; 3],
        [reverse, reverse_port]: [u32; 2],
        pool: u32,
        thresholds: Thresholds,
        reaction: u64,
        classes: u8,
        ports: usize,
    ) -> Self {
        let class = IncomingClass {
            bytes: 0,
            at_port: vec![0; ports],
            is_over: false,
            is_announced: false,
        };
        Self {
            from,
            partition,
            port,
            reverse,
            reverse_port,
            pool,
            thresholds,
            reaction,
            classes: vec![class; classes.into()],
            frames: 0,
            last_effect: 0,
            pauses: 0,
            is_captured: false,
        }
    }

    /// Returns the class of a packet.
    pub fn class_of(&self, packet: &Packet) -> usize {
        packet.class().min(self.classes.len() - 1)
    }

    /// Counts a packet that waits at a port of the node. `pools` has the bytes in the pool of each node. Returns
    /// the class of the packet.
    pub fn add(&mut self, packet: &Packet, port: usize, pools: &mut [u64]) -> usize {
        let number = self.class_of(packet);
        let class = &mut self.classes[number];
        let before = class.bytes;
        class.bytes += u64::from(packet.size);
        class.at_port[port] += u64::from(packet.size);
        if self.thresholds.pool.is_some() {
            pools[self.pool as usize] += self.thresholds.pooled(before, class.bytes);
        }
        number
    }

    /// Counts a packet that has left a port of the node, as [`add`](Self::add) does.
    pub fn remove(&mut self, packet: &Packet, port: usize, pools: &mut [u64]) -> usize {
        let number = self.class_of(packet);
        let class = &mut self.classes[number];
        let before = class.bytes;
        class.bytes -= u64::from(packet.size);
        class.at_port[port] -= u64::from(packet.size);
        if self.thresholds.pool.is_some() {
            pools[self.pool as usize] -= self.thresholds.pooled(class.bytes, before);
        }
        number
    }

    /// Returns true if the buffer has space for a packet.
    pub fn has_space(&self, packet: &Packet, pools: &[u64]) -> bool {
        let before = self.classes[self.class_of(packet)].bytes;
        let after = before + u64::from(packet.size);
        let fits = |size| {
            let more = self.thresholds.pooled(before, after);
            more == 0 || pools[self.pool as usize] + more <= size
        };
        after <= self.thresholds.capacity && self.thresholds.pool.is_none_or(fits)
    }

    /// Returns true if the last frame is outdated.
    pub fn is_outdated(&self) -> bool {
        self.classes
            .iter()
            .any(|class| class.is_over != class.is_announced)
    }

    /// Announces the present state by the last frame. Returns what changes, class by class.
    pub fn announce(&mut self) -> Vec<PauseEvent> {
        let mut events = Vec::new();
        for (number, class) in (0..).zip(&mut self.classes) {
            if class.is_over == class.is_announced {
                continue;
            }
            class.is_announced = class.is_over;
            self.pauses += u64::from(class.is_over);
            let cause = class.fullest_port();
            events.push(PauseEvent {
                time: self.last_effect,
                node: self.from,
                order: u64::from(self.reverse) << 32 | u64::from(self.frames),
                port: self.port,
                class: number,
                action: if class.is_over {
                    PauseAction::Pause { cause }
                } else {
                    PauseAction::Resume
                },
            });
        }
        events
    }
}

impl IncomingClass {
    /// The port at which most bytes wait, the first of several.
    pub fn fullest_port(&self) -> u32 {
        let mut fullest = 0;
        for (port, &bytes) in self.at_port.iter().enumerate() {
            if bytes > self.at_port[fullest] {
                fullest = port;
            }
        }
        fullest as u32
    }
}
