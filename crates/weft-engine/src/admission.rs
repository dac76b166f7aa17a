//! Admission: which packets a port accepts, marks and drops.

use weft_fabric::QueueConfig;
use weft_spec::QueueSize;

use crate::packet::{CE, ECT, PROTECTED};
use crate::port::{Port, min_packets};
use crate::queue::{Decision, Discipline, Pool};

/// The admissions of a partition.
#[derive(Clone, Default)]
pub struct Admissions {
    /// Admission of each port.
    pub ports: Vec<Admission>,
    /// Buffers that several ports share.
    pub pools: Vec<Pool>,
}

/// The drop and mark state of a port, which only decisions touch.
#[derive(Clone)]
pub struct Admission {
    limit: QueueSize,
    mark: Option<QueueSize>,
    /// Decision about a packet that finds `mark`.
    at_mark: Decision,
    discipline: Discipline,
    /// The smallest number of packets in the port at which a packet might be marked or dropped; 0 if
    /// the queue is probed, marks every packet, or counts every packet.
    pub decide_at: u32,
    /// Number of packets dropped.
    pub drops: u64,
    /// Number of packets marked.
    pub marks: u64,
    /// Distribution of the queue length, if it is probed.
    pub distribution: Option<Distribution>,
    /// True if the link is down.
    pub down: bool,
}

impl Admission {
    /// Creates the state of a port with this queue. `max_packet` is the size of the largest packet
    /// on the wire in bytes.
    pub fn new(queue: QueueConfig, discipline: Discipline, max_packet: u32, probed: bool) -> Self {
        // A packet that finds a threshold of n waiting packets finds n + 1 in the port.
        let reached = |size: QueueSize| min_packets(size, max_packet).saturating_add(1);
        let decide_at = match (queue.mark, discipline.decides_from(max_packet)) {
            _ if probed => 0,
            (Some(QueueSize::Packets(0) | QueueSize::Bytes(0)), _) => 0,
            (mark, kind) => {
                let thresholds = [mark.map(reached), kind, Some(reached(queue.limit))];
                thresholds.into_iter().flatten().fold(u32::MAX, u32::min)
            }
        };
        Self {
            limit: queue.limit,
            mark: queue.mark,
            at_mark: discipline.at_mark(),
            discipline,
            decide_at,
            drops: 0,
            marks: 0,
            distribution: probed.then(Distribution::default),
            down: false,
        }
    }

    /// The port's number among the served ports, if it is one of them.
    pub fn served(&self) -> Option<usize> {
        match self.discipline {
            Discipline::Served(served) => Some(served as usize),
            _ => None,
        }
    }

    /// Returns true if a packet of `size` bytes is over the limit. `waiting` returns how much waits, in
    /// the unit of its argument.
    pub fn is_full(&self, waiting: impl FnOnce(QueueSize) -> u64, size: u16) -> bool {
        exceeds(self.limit, waiting, size.into())
    }

    /// Returns true if the queue has reached the marking threshold. `waiting` returns how much waits, in
    /// the unit of its argument.
    pub fn is_marking(&self, waiting: impl FnOnce(QueueSize) -> u64) -> bool {
        has_reached(self.mark, waiting)
    }

    /// Marks a packet with these flags if it is ECN-capable.
    pub fn mark(&mut self, flags: &mut u16) {
        if *flags & ECT != 0 {
            *flags |= CE;
            self.marks += 1;
        }
    }

    /// Adds the time until `now`, during which `waiting()` packets waited, if the queue is probed.
    pub fn add_time(&mut self, waiting: impl FnOnce() -> usize, now: u64) {
        if let Some(distribution) = &mut self.distribution {
            distribution.add_time(waiting(), now);
        }
    }
}

/// Returns true if `amount` packets wait, or if the waiting bytes and `arriving` exceed `amount` bytes.
/// `waiting` returns how much waits, in the unit of its argument.
pub fn exceeds(amount: QueueSize, waiting: impl FnOnce(QueueSize) -> u64, arriving: u64) -> bool {
    // Each arm calls `waiting` with a unit that is known, so that the unit is matched once.
    match amount {
        QueueSize::Packets(n) => waiting(amount) >= n.into(),
        QueueSize::Bytes(b) => waiting(amount) + arriving > b,
    }
}

/// Returns true if a queue has reached the threshold `mark`, if there is one. `waiting` is that of
/// [`exceeds`].
pub fn has_reached(mark: Option<QueueSize>, waiting: impl FnOnce(QueueSize) -> u64) -> bool {
    // A threshold in bytes is reached once that many bytes wait, hence the 1.
    mark.is_some_and(|mark| exceeds(mark, waiting, 1))
}

impl Admissions {
    /// Decides about a packet of `size` bytes that arrives at `port`, the port `index`, at `now`. The
    /// port holds only packets that have not left. Returns false if the packet is dropped.
    pub fn decide(&mut self, port: &Port, index: usize, now: u64, size: u16, flags: &mut u16) -> bool {
        let admission = &mut self.ports[index];
        if *flags & PROTECTED == 0 {
            let mut decision = admission.discipline.decide(&mut self.pools, port, now, size);
            let waiting = |unit| port.waiting_in(unit);
            if decision == Decision::Accept && admission.is_marking(waiting) {
                decision = admission.at_mark;
            }
            let decision = decision.for_flags(*flags);
            if admission.is_full(waiting, size) || decision == Decision::Drop {
                admission.drops += 1;
                return false;
            }
            if decision == Decision::Mark {
                admission.mark(flags);
            }
        }
        admission.discipline.accepted(&mut self.pools, port, now, size);
        true
    }

    /// Records that the packets of `port`, the port `index`, have been lost or leave at other times.
    pub fn rescheduled(&mut self, port: &Port, index: usize) {
        self.ports[index].discipline.rescheduled(&mut self.pools, port);
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
