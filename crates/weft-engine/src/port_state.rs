//! The part of a port that only decisions touch: counters, and the behaviour of its queue.

use std::ops::Range;

use crate::packet::{CE, ECT, Packet};
use crate::pauses::Pauses;
use crate::route::HopBits;
use weft_queues::{Buffers, Discipline, DropReason, FifoQueue, LosslessQueue, Refused, ScheduledQueue, View};

/// The states of the ports of a partition.
#[derive(Default)]
pub struct PortStates {
    /// State of each port.
    pub ports: Vec<PortState>,
    /// Buffers that several ports share.
    pub buffers: Buffers,
    /// Port of the last packet that a FIFO did not accept, and why.
    pub refusal: (usize, Refusal),
}

/// Why a FIFO does not accept a packet.
#[derive(Clone, Copy, Debug)]
pub enum Refusal {
    /// It is dropped.
    Dropped(DropReason),
    /// The [buffer](crate::port::Port::count_buffer) of the port is to be counted. The packet is then enqueued once more.
    Uncounted,
}

impl Default for Refusal {
    fn default() -> Self {
        Self::Dropped(DropReason::default())
    }
}

/// The state of a port.
pub struct PortState {
    /// The behaviour of the queue.
    pub queue: PortQueue,
    /// Number of packets dropped.
    pub drops: u64,
    /// Number of packets marked.
    pub marks: u64,
    /// Distribution of the queue length, if it is probed.
    pub distribution: Option<Distribution>,
    /// True if the link is down.
    pub down: bool,
}

/// The behaviour of a port's queue.
pub enum PortQueue {
    /// The port holds the packets, whose departures are known.
    Fifo(FifoQueue),
    /// The queue holds the packets, and the port chooses one when it is free.
    Scheduled(Box<ScheduledPort>),
}

/// A port that chooses the next packet when the one before it has left.
pub struct ScheduledPort {
    /// The packets that wait, and the choice among them.
    pub queue: ScheduledQueue,
    /// The port without its queue.
    pub server: Server,
}

/// The transmitter of a port with a scheduled queue.
pub struct Server {
    /// End of the last pause frame, which is sent before packets that wait.
    pub frames_until: u64,
    /// Whether a pause frame waits for the end of a transmission.
    pub wants_frame: bool,
    /// Sending and receiving node, numbered over all partitions.
    pub from: u32,
    pub to: u32,
    /// Number of the sending node in the partition.
    pub node: u32,
    /// The ports of this node in the partition.
    pub node_ports: Range<u32>,
    /// Counters of each class of the queue, if it has classes.
    pub classes: Vec<ClassCounters>,
}

/// Counters of a class of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Packets accepted by the queue, without those that it lost when the link failed: these count
    /// as dropped.
    pub packets: u64,
    /// Bytes of these packets on the wire.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets of the class that were cut to headers, without those whose headers were dropped at once.
    pub trims: u64,
}

impl PortState {
    /// Creates the state of an idle port of the link between two nodes. `node` is the number of the sending
    /// node in the partition, and `node_ports` are the ports of this node.
    pub fn new(
        discipline: Discipline,
        probed: bool,
        [from, to]: [u32; 2],
        node: u32,
        node_ports: Range<u32>,
    ) -> Self {
        let queue = match discipline {
            Discipline::Fifo(fifo) => PortQueue::Fifo(fifo),
            Discipline::Scheduled(queue) => PortQueue::Scheduled(Box::new(ScheduledPort {
                server: Server {
                    frames_until: 0,
                    wants_frame: false,
                    from,
                    to,
                    node,
                    node_ports,
                    classes: vec![ClassCounters::default(); queue.classes()],
                },
                queue,
            })),
        };
        Self {
            queue,
            drops: 0,
            marks: 0,
            distribution: probed.then(Distribution::default),
            down: false,
        }
    }

    /// The smallest number of packets in the port at which the state decides about a packet; 0 if it decides
    /// about all of them.
    pub fn decide_at(&self, buffers: &Buffers) -> u32 {
        match &self.queue {
            PortQueue::Fifo(fifo) if self.distribution.is_none() && !self.down => fifo.decide_at(buffers),
            _ => 0,
        }
    }

    /// The scheduled port, if the queue is scheduled.
    pub fn scheduled(&self) -> Option<&ScheduledPort> {
        match &self.queue {
            PortQueue::Fifo(_) => None,
            PortQueue::Scheduled(port) => Some(port),
        }
    }

    /// Mutable access to [`scheduled`](Self::scheduled).
    pub fn scheduled_mut(&mut self) -> Option<&mut ScheduledPort> {
        match &mut self.queue {
            PortQueue::Fifo(_) => None,
            PortQueue::Scheduled(port) => Some(port),
        }
    }

    /// The queue, if it can be paused.
    pub fn lossless(&self) -> Option<&LosslessQueue> {
        match &self.scheduled()?.queue {
            ScheduledQueue::LosslessQueue(queue) => Some(queue),
            _ => None,
        }
    }

    /// Marks a packet with these flags if it is ECN-capable.
    pub fn mark(&mut self, flags: &mut u16) {
        if *flags & ECT != 0 {
            *flags |= CE;
            self.marks += 1;
        }
    }

    /// Adds the time until `now`, during which the packets of a scheduled queue waited, if it is probed.
    #[inline(always)]
    pub fn add_time(&mut self, now: u64) {
        if self.distribution.is_some() {
            self.add_probed_time(now);
        }
    }

    #[cold]
    fn add_probed_time(&mut self, now: u64) {
        if let (Some(distribution), PortQueue::Scheduled(port)) = (&mut self.distribution, &self.queue) {
            distribution.add_time(port.queue.waiting(), now);
        }
    }
}

impl Server {
    /// Returns when the packet and the pause frames that the port is sending have left; the packet leaves at
    /// `busy_until`.
    #[inline(always)]
    pub fn free_at(&self, busy_until: u64) -> u64 {
        busy_until.max(self.frames_until)
    }

    /// Returns what the queue sees at `now`. The port has number `port` in the partition.
    #[inline(always)]
    pub fn view<'a>(
        &self,
        port: usize,
        now: u64,
        is_idle: bool,
        hops: HopBits,
        pauses: &'a mut Option<Box<Pauses>>,
        refused: &'a mut Option<Refused>,
    ) -> View<'a> {
        View {
            now,
            is_idle,
            has_frame: self.wants_frame,
            port: port as u32 - self.node_ports.start,
            hops,
            refused,
            ingress: pauses.as_mut().map(|pauses| &mut pauses.ingress),
        }
    }

    /// Applies a change to the counters of a class, if classes are counted one by one.
    #[inline(always)]
    pub fn count(&mut self, class: Option<usize>, change: impl FnOnce(&mut ClassCounters)) {
        if let Some(class) = class {
            change(&mut self.classes[class]);
        }
    }
}

impl ScheduledPort {
    /// Applies a change to the counters of the class of a packet.
    pub fn count(&mut self, packet: &Packet, change: impl FnOnce(&mut ClassCounters)) {
        self.server.count(self.queue.class_of(packet), change);
    }

    /// The packets that wait, in any order.
    pub fn packets(&self) -> Vec<&Packet> {
        let mut packets = Vec::with_capacity(self.queue.waiting());
        self.queue.for_each(&mut |packet| packets.push(packet));
        packets
    }
}

/// The time spent at each queue length.
#[derive(Clone, Default)]
pub struct Distribution {
    since: u64,
    /// `time_at[n]`: time in picoseconds during which `n` packets waited.
    pub time_at: Vec<u64>,
}

impl Distribution {
    /// Adds the time until `until`, during which `waiting` packets waited.
    pub fn add_time(&mut self, waiting: usize, until: u64) {
        if self.time_at.len() <= waiting {
            self.time_at.resize(waiting + 1, 0);
        }
        self.time_at[waiting] += until - self.since;
        self.since = until;
    }
}
