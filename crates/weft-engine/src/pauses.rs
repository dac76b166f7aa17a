//! Priority flow control (IEEE 802.1Qbb), seen from the node that pauses its neighbours: it counts the
//! waiting packets of each incoming link and class, and sends pause frames back.
//!
//! A frame is sent before all packets that wait, but after the packet that is being sent, as a MAC does. The
//! frame takes its time on the link, but no queue holds it and no link loses it, and counters of packets do
//! not include it. A frame takes effect at least one lookahead after it was sent, so windows remain
//! independent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_queues::{Incoming, Ingress, NO_RING};

/// The pauses of a partition.
pub struct Pauses {
    /// Number of the partition.
    pub partition: u32,
    /// Buffers of incoming links.
    pub ingress: Ingress,
    /// See [`ring_of`](Self::ring_of).
    ring_of_port: Vec<u32>,
    /// Events after the current window.
    pub events: BinaryHeap<Reverse<PauseEvent>>,
    /// Events of the current node in the current window.
    pub due: BinaryHeap<Reverse<PauseEvent>>,
    /// For each partition, the frames to its nodes.
    pub outboxes: Vec<Vec<PauseEvent>>,
    /// Captured frames, class by class.
    pub captured: Vec<CapturedPause>,
}

/// A class in a pause frame that arrives over a captured link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CapturedPause {
    /// Time of the arrival of the frame in picoseconds, without the reaction time.
    pub time: u64,
    /// The link over which the frame travels. The pause is that of the link in the other direction.
    pub link: u32,
    /// Traffic class.
    pub class: u8,
    /// True if the pause begins, false if it ends.
    pub is_paused: bool,
}

/// Counters of the pauses of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseCounters {
    /// Number of pauses that the receiving node has announced, per class.
    pub pauses: u64,
    /// Time in picoseconds for which the link was paused, the sum over its classes.
    pub time: u64,
    /// Number of pauses that the watchdog has ended.
    pub expired: u64,
}

/// An event at a node. Events at a node and time are ordered by `order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PauseEvent {
    pub time: u64,
    /// Node, numbered over all partitions.
    pub node: u32,
    pub order: u64,
    /// Port in the partition of the node.
    pub port: u32,
    pub class: u8,
    pub action: PauseAction,
}

/// A change of a class of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseAction {
    /// A pause begins, caused by packets for this port of the next node.
    Pause { cause: u32 },
    /// The pause ends.
    Resume,
    /// The watchdog looks for this pause.
    Watchdog { pause: u64 },
}

impl Pauses {
    /// Creates the state of partition `partition` of `partitions`.
    pub fn new(partition: u32, partitions: usize, ingress: Ingress) -> Self {
        let mut ring_of_port = Vec::new();
        for (ring, link) in (0..).zip(&ingress.incoming) {
            if let Some(link) = link {
                let port = link.reverse_port as usize;
                ring_of_port.resize(ring_of_port.len().max(port + 1), NO_RING);
                ring_of_port[port] = ring;
            }
        }
        Self {
            partition,
            ring_of_port,
            ingress,
            events: BinaryHeap::new(),
            due: BinaryHeap::new(),
            outboxes: vec![Vec::new(); partitions],
            captured: Vec::new(),
        }
    }

    /// The time of the first event after the current window.
    pub fn next_time(&self) -> Option<u64> {
        self.events.peek().map(|event| event.0.time)
    }

    /// Captures the frames that leave through `port`.
    pub fn capture(&mut self, port: u32) {
        if let Some(link) = self.ingress.link(self.ring_of(port as usize)) {
            link.is_captured = true;
        }
    }

    /// Returns the ring whose pause frames leave through a port, or [`NO_RING`].
    pub fn ring_of(&self, port: usize) -> u32 {
        self.ring_of_port.get(port).copied().unwrap_or(NO_RING)
    }

    /// Drains the captured frames that arrive before `end`.
    pub fn drain_captured(&mut self, end: u64) -> impl Iterator<Item = CapturedPause> {
        self.captured.extract_if(.., move |frame| frame.time < end)
    }
}

/// Returns true if the last frame about a link is outdated.
pub fn is_outdated(link: &Incoming) -> bool {
    link.classes
        .iter()
        .any(|class| class.is_over != class.is_announced)
}

/// Announces the present state of a link by its last frame. Returns what changes, class by class.
pub fn announce(link: &mut Incoming) -> Vec<PauseEvent> {
    let mut events = Vec::new();
    for (number, class) in (0..).zip(&mut link.classes) {
        if class.is_over == class.is_announced {
            continue;
        }
        class.is_announced = class.is_over;
        link.pauses += u64::from(class.is_over);
        let cause = class.fullest_port();
        events.push(PauseEvent {
            time: link.last_effect,
            node: link.from,
            order: u64::from(link.reverse) << 32 | u64::from(link.frames),
            port: link.port,
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
