//! Priority flow control (IEEE 802.1Qbb), seen from the port that is paused: a FIFO per class, of which the
//! first one that is not paused is served. [`pauses`](crate::pauses) decides who is paused.

use std::collections::VecDeque;

use weft_fabric::{Lossless, QueueConfig};
use weft_spec::QueueSize;

use super::{Decision, Red};
use crate::admission::has_reached;
use crate::packet::{PROTECTED, Packet};
use crate::prefetch::prefetch;

/// The FIFOs of a port, and their pauses.
pub struct LosslessQueue {
    classes: Vec<Class>,
    mark: Option<QueueSize>,
    ramp: Option<Box<Red>>,
    /// Time in picoseconds after which a paused class drops its packets.
    pub watchdog: Option<u64>,
    /// Number of pauses that lasted so long.
    pub expired: u64,
    /// The timer of an endpoint that waits for the end of a pause.
    pub wake_up: Option<WakeUp>,
}

/// A timer of an endpoint: the first of the times `first`, `first + period` and so on after the end of a pause.
/// Until then, the endpoint could do nothing at these times.
#[derive(Clone, Copy)]
pub struct WakeUp {
    pub first: u64,
    pub period: u64,
    pub key: u64,
}

impl WakeUp {
    /// Returns the first time of the timer that is not before `now`.
    pub fn time(self, now: u64) -> u64 {
        let late = now.saturating_sub(self.first);
        self.first + late.div_ceil(self.period) * self.period
    }
}

/// A packet that waits.
#[derive(Clone, Copy)]
pub struct Waiting {
    pub packet: Packet,
    /// Ring over which the packet came; [`NO_RING`] if the node sent it or nothing counts it.
    pub ring: u32,
    /// The value of [`LosslessQueue::blocked_time`] when the packet arrived.
    pub blocked: u64,
}

/// The ring of packets that no incoming link counts.
pub const NO_RING: u32 = u32::MAX;

/// A FIFO.
#[derive(Default)]
struct Class {
    packets: VecDeque<Waiting>,
    bytes: u64,
    pause: Option<Pause>,
    /// Number of pauses so far.
    pauses: u64,
    /// Whether the watchdog drops packets.
    is_dropping: bool,
    /// Duration in picoseconds of all earlier pauses, and of those that each port of the next node caused.
    paused: u64,
    caused: Vec<(u32, u64)>,
}

/// A pause that has not ended.
#[derive(Clone, Copy)]
struct Pause {
    since: u64,
    /// The port of the next node whose packets caused the pause.
    cause: u32,
}

impl LosslessQueue {
    /// Creates empty FIFOs for a port with this threshold and this stream of random numbers.
    pub fn new(lossless: &Lossless, port: QueueConfig, stream: u64, max_packet: u32) -> Self {
        Self {
            classes: (0..lossless.classes).map(|_| Class::default()).collect(),
            mark: port.mark,
            ramp: lossless
                .ramp()
                .map(|ramp| Box::new(Red::new(ramp, stream, max_packet))),
            watchdog: lossless.watchdog.map(|time| time.0),
            expired: 0,
            wake_up: None,
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
        let waiting = self.classes.iter().flat_map(|class| &class.packets);
        waiting.map(|waiting| &waiting.packet)
    }

    /// Returns how much waits in all classes, in the unit of `unit`.
    pub fn waiting_in(&self, unit: QueueSize) -> u64 {
        self.classes.iter().map(|class| class.waiting_in(unit)).sum()
    }

    /// Returns the bytes that wait in a class, and in all others that are not paused.
    pub fn bytes_before(&self, class: usize) -> u64 {
        let class = class.min(self.classes.len() - 1);
        let counts = |&(number, other): &(usize, &Class)| number == class || other.pause.is_none();
        let classes = self.classes.iter().enumerate().filter(counts);
        classes.map(|(_, class)| class.bytes).sum()
    }

    /// Returns true if a packet of a class is marked: the class has reached the marking threshold, or the ramp
    /// chooses the packet.
    pub fn marks(&mut self, class: usize) -> bool {
        let waiting = |unit| self.classes[class].waiting_in(unit);
        match &mut self.ramp {
            Some(ramp) => ramp.decide(waiting(ramp.unit()), 0) == Decision::Mark,
            None => has_reached(self.mark, waiting),
        }
    }

    /// Returns true if a class is paused.
    pub fn is_paused(&self, class: usize) -> bool {
        self.classes[class].pause.is_some()
    }

    /// Returns true if the watchdog drops the packets of a class.
    pub fn is_dropping(&self, class: usize) -> bool {
        self.classes[class].is_dropping
    }

    /// Returns true if a packet waits that may be sent.
    pub fn is_ready(&self) -> bool {
        self.classes.iter().any(Class::is_ready)
    }

    /// Adds a packet.
    pub fn push(&mut self, waiting: Waiting) {
        let class = self.class_of(&waiting.packet);
        let class = &mut self.classes[class];
        class.bytes += u64::from(waiting.packet.size);
        class.packets.push_back(waiting);
    }

    /// Removes the packet that is sent next.
    pub fn pop(&mut self) -> Option<Waiting> {
        let class = self.classes.iter_mut().find(|class| class.is_ready())?;
        let waiting = class.packets.pop_front()?;
        class.bytes -= u64::from(waiting.packet.size);
        match class.packets.front() {
            // In a long queue, the next packet has left the nearer caches.
            Some(next) => prefetch(next),
            // Starting over keeps a short queue in few cache lines.
            None => class.packets.clear(),
        }
        Some(waiting)
    }

    /// Removes and returns all packets.
    pub fn clear(&mut self) -> Vec<Waiting> {
        let clear = |class: &mut Class| {
            class.bytes = 0;
            std::mem::take(&mut class.packets)
        };
        self.classes.iter_mut().flat_map(clear).collect()
    }

    /// Pauses a class at `now`. Returns the number of the pause, unless the class is paused already.
    pub fn pause(&mut self, class: usize, now: u64, cause: u32) -> Option<u64> {
        let class = self
            .classes
            .get_mut(class)
            .filter(|class| class.pause.is_none())?;
        class.pause = Some(Pause { since: now, cause });
        class.pauses += 1;
        Some(class.pauses)
    }

    /// Ends the pause of a class at `now`.
    pub fn resume(&mut self, class: usize, now: u64) {
        let Some(class) = self.classes.get_mut(class) else {
            return;
        };
        if let Some(pause) = class.pause.take() {
            let time = now - pause.since;
            class.paused += time;
            match class.caused.iter_mut().find(|(cause, _)| *cause == pause.cause) {
                Some((_, total)) => *total += time,
                None => class.caused.push((pause.cause, time)),
            }
        }
        class.is_dropping = false;
    }

    /// Makes the watchdog drop the packets of a class if pause `number` has not ended. Returns those that
    /// waited.
    pub fn expire(&mut self, class: usize, number: u64) -> Vec<Waiting> {
        let class = &mut self.classes[class];
        if class.pause.is_none() || class.pauses != number {
            return Vec::new();
        }
        self.expired += 1;
        class.is_dropping = true;
        let is_lost = |waiting: &Waiting| waiting.packet.flags & PROTECTED == 0;
        let (lost, kept): (Vec<_>, Vec<_>) = class.packets.drain(..).partition(is_lost);
        class.packets = kept.into();
        class.bytes = class.packets.iter().map(|w| u64::from(w.packet.size)).sum();
        lost
    }

    /// Returns for how long a class has been paused until `now` because of packets for other ports of the
    /// next node than `hop`.
    pub fn blocked_time(&self, class: usize, hop: u32, now: u64) -> u64 {
        let class = &self.classes[class];
        if class.pauses == 0 {
            return 0;
        }
        let mut time = class.paused;
        if let Some((_, own)) = class.caused.iter().find(|(cause, _)| *cause == hop) {
            time -= own;
        }
        let pause = class.pause.filter(|pause| pause.cause != hop);
        time + pause.map_or(0, |pause| now - pause.since)
    }

    /// Returns for how long the classes have been paused until `now`, in all.
    pub fn paused_time(&self, now: u64) -> u64 {
        let paused = |class: &Class| class.paused + class.pause.map_or(0, |pause| now - pause.since);
        self.classes.iter().map(paused).sum()
    }
}

impl Class {
    /// Returns how much waits, in the unit of `unit`.
    fn waiting_in(&self, unit: QueueSize) -> u64 {
        match unit {
            QueueSize::Packets(_) => self.packets.len() as u64,
            QueueSize::Bytes(_) => self.bytes,
        }
    }

    /// Returns true if a packet waits that may be sent.
    fn is_ready(&self) -> bool {
        self.pause.is_none() && !self.packets.is_empty()
    }
}
