//! An output port: a FIFO whose departures are known at enqueue.

use weft_fabric::QueueConfig;
use weft_spec::{QueueSize, Rate, Time};

use super::packet::{CE, ECT, PROTECTED};

/// Binary digits after the point in [`Port::ps_per_byte`].
const FRACTION: u32 = 16;

/// What every packet over a port touches.
///
/// The queue itself is only the sizes of the packets not known to have left, `len` of them from `head` in `sizes`: while
/// a queue lasts, each leaves when the one before it has left and its own serialisation is over. They are forgotten
/// lazily, when `len` reaches `check_at` and a threshold could matter.
#[derive(Clone)]
pub struct Port {
    /// When the last accepted packet will have left.
    pub busy_until: u64,
    /// Picoseconds a byte takes, in 2^-16 ps.
    ps_per_byte: u64,
    /// Propagation delay.
    delay: u64,
    /// When the packet at `head` leaves.
    head_departure: u64,
    head: u32,
    len: u32,
    /// A smaller stale length needs no decision; 0 on a port that is probed or marks everything.
    check_at: u32,
    /// The receiving ring, numbered over all partitions.
    pub ring: u32,
    /// The partition it is in.
    pub partition: u32,
    /// Packets accepted.
    pub packets: u64,
    /// Bytes accepted.
    pub bytes: u64,
    sizes: Box<[u16]>,
}

/// What only a port's decisions touch.
#[derive(Clone)]
pub struct Admission {
    limit: QueueSize,
    mark: Option<QueueSize>,
    /// The shortest stale length at which a packet might be marked or dropped, or is probed.
    decide_at: u32,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// The probed distribution of the length.
    distribution: Option<Distribution>,
    /// Is the link dead?
    down: bool,
}

impl Admission {
    /// `max_packet` is the largest packet's size on the wire, in bytes.
    pub fn new(queue: QueueConfig, max_packet: u32, probed: bool) -> Self {
        let packets = |amount: QueueSize| match amount {
            QueueSize::Packets(n) => n,
            // Fewer packets than this cannot hold that many bytes, even with the arriving one.
            QueueSize::Bytes(b) => u32::try_from(b / u64::from(max_packet))
                .unwrap_or(u32::MAX)
                .saturating_sub(1),
        };
        let threshold = queue.mark.map_or(u32::MAX, packets).min(packets(queue.limit));
        let marks_all = matches!(queue.mark, Some(QueueSize::Packets(0) | QueueSize::Bytes(0)));
        Self {
            limit: queue.limit,
            mark: queue.mark,
            decide_at: if probed || marks_all {
                0
            } else {
                threshold.saturating_add(1)
            },
            drops: 0,
            marks: 0,
            distribution: probed.then(Distribution::default),
            down: false,
        }
    }
}

/// How long each queue length lasted.
#[derive(Clone, Default)]
struct Distribution {
    since: u64,
    /// `time_at[n]`: picoseconds during which `n` packets waited.
    time_at: Vec<u64>,
}

impl Distribution {
    fn add_time(&mut self, waiting: usize, until: u64) {
        if self.time_at.len() <= waiting {
            self.time_at.resize(waiting + 1, 0);
        }
        self.time_at[waiting] += until - self.since;
        self.since = until;
    }
}

/// Picoseconds that a byte takes, in 2^-16 ps.
fn ps_per_byte(rate: Rate) -> u64 {
    ((8_000_000_000_000_u128 << FRACTION) / u128::from(rate.0)) as u64
}

/// The packets that wait when `present` have not left: all but the one being sent.
fn waiting(present: u32) -> u32 {
    present.saturating_sub(1)
}

impl Port {
    /// A port into ring `ring` of partition `partition`.
    pub fn new(rate: Rate, delay: Time, admission: &Admission, ring: u32, partition: u32) -> Self {
        const RING: u32 = 32;
        Self {
            busy_until: 0,
            head_departure: 0,
            ps_per_byte: ps_per_byte(rate),
            delay: delay.0,
            head: 0,
            len: 0,
            check_at: admission.decide_at.min(RING),
            ring,
            partition,
            packets: 0,
            bytes: 0,
            sizes: vec![0; RING as usize].into_boxed_slice(),
        }
    }

    /// Time to send `bytes`, in picoseconds.
    pub fn serialisation(&self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.ps_per_byte) >> FRACTION
    }

    /// Propagation delay in picoseconds.
    pub fn delay(&self) -> u64 {
        self.delay
    }

    /// Has everything left by `now`?
    #[inline(always)]
    pub fn is_idle(&self, now: u64) -> bool {
        now >= self.busy_until
    }

    /// Enqueues a packet of `size` bytes at `now`, and perhaps marks it. Its serialisation begins at `ready` or when the queue
    /// before it has left; `ready` is after `now` only where the port [is idle](Self::is_idle). Returns its arrival at the far
    /// end, or `None` if it is dropped.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        admissions: &mut [Admission],
        index: usize,
        now: u64,
        ready: u64,
        size: u16,
        flags: &mut u16,
    ) -> Option<u64> {
        if self.is_idle(now) && self.check_at != 0 {
            // Idle: what is recorded has left. Starting over keeps short queues in one cache line.
            self.head = 0;
            self.len = 0;
        }
        if self.len >= self.check_at && !self.admit(&mut admissions[index], now, size, flags) {
            return None;
        }
        let departure = ready.max(self.busy_until) + self.serialisation(u32::from(size));
        self.busy_until = departure;
        if self.len == 0 {
            self.head_departure = departure;
        }
        let mask = self.sizes.len() - 1;
        self.sizes[(self.head + self.len) as usize & mask] = size;
        self.len += 1;
        self.packets += 1;
        self.bytes += u64::from(size);
        Some(departure + self.delay)
    }

    /// Decides with the exact length at `now`.
    #[cold]
    #[inline(never)]
    fn admit(&mut self, admission: &mut Admission, now: u64, size: u16, flags: &mut u16) -> bool {
        if admission.down {
            admission.drops += 1;
            return false;
        }
        self.advance(admission, now);
        if self.len as usize == self.sizes.len() {
            self.grow(admission);
        }
        if *flags & PROTECTED != 0 {
            return true;
        }
        let exceeds = |amount: QueueSize, arriving: u64| match amount {
            QueueSize::Packets(n) => waiting(self.len) >= n,
            QueueSize::Bytes(b) => self.waiting_bytes() + arriving > b,
        };
        if exceeds(admission.limit, u64::from(size)) {
            admission.drops += 1;
            return false;
        }
        // A byte threshold is reached when that many bytes wait, hence the 1.
        if *flags & ECT != 0 && admission.mark.is_some_and(|k| exceeds(k, 1)) {
            *flags |= CE;
            admission.marks += 1;
        }
        true
    }

    /// Forgets the packets that have left by `now`.
    fn advance(&mut self, admission: &mut Admission, now: u64) {
        while self.len > 0 && self.head_departure <= now {
            if let Some(d) = &mut admission.distribution {
                d.add_time(waiting(self.len) as usize, self.head_departure);
            }
            self.pop_head();
        }
        if let Some(d) = &mut admission.distribution {
            d.add_time(waiting(self.len) as usize, now);
        }
    }

    /// Forgets the first packet.
    fn pop_head(&mut self) {
        let mask = self.sizes.len() as u32 - 1;
        self.head = (self.head + 1) & mask;
        self.len -= 1;
        if self.len > 0 {
            self.head_departure += self.serialisation(u32::from(self.sizes[self.head as usize]));
        }
    }

    /// Doubles the ring of sizes.
    fn grow(&mut self, admission: &Admission) {
        let old = self.sizes.len();
        let mut ring = vec![0; old * 2].into_boxed_slice();
        for (i, slot) in ring.iter_mut().take(old).enumerate() {
            *slot = self.sizes[(self.head as usize + i) & (old - 1)];
        }
        self.sizes = ring;
        self.head = 0;
        self.check_at = admission.decide_at.min(old as u32 * 2);
    }

    /// The link dies: what has not left by `now` is lost and counts as dropped, and so is what comes. Returns how many have
    /// not left.
    pub fn fail(&mut self, admission: &mut Admission, now: u64) -> u32 {
        self.advance(admission, now);
        let lost = self.len;
        let mask = self.sizes.len() - 1;
        for i in 0..lost {
            self.bytes -= u64::from(self.sizes[(self.head + i) as usize & mask]);
        }
        self.packets -= u64::from(lost);
        admission.drops += u64::from(lost);
        admission.down = true;
        self.len = 0;
        self.busy_until = self.busy_until.min(now);
        self.check_at = 0; // Every packet is to be decided on.
        lost
    }

    /// The link lives again.
    pub fn recover(&mut self, admission: &mut Admission) {
        admission.down = false;
        self.check_at = admission.decide_at.min(self.sizes.len() as u32);
    }

    /// The rate changes: the packet being sent leaves as it would have, those after it at the new rate. Returns when those
    /// that have not left by `now` arrive.
    pub fn set_rate(&mut self, admission: &mut Admission, now: u64, rate: Rate) -> Vec<u64> {
        self.advance(admission, now);
        self.ps_per_byte = ps_per_byte(rate);
        self.arrivals()
    }

    /// The propagation delay changes for what leaves after `now`. Returns when that of it which is queued arrives.
    pub fn set_delay(&mut self, admission: &mut Admission, now: u64, delay: Time) -> Vec<u64> {
        self.advance(admission, now);
        self.delay = delay.0;
        self.arrivals()
    }

    /// When each of the packets that have not left arrives at the far end.
    fn arrivals(&mut self) -> Vec<u64> {
        let mask = self.sizes.len() - 1;
        let mut departure = self.head_departure;
        let mut arrivals = Vec::with_capacity(self.len as usize);
        for i in 0..self.len {
            if i > 0 {
                let size = self.sizes[(self.head + i) as usize & mask];
                departure += self.serialisation(u32::from(size));
            }
            arrivals.push(departure + self.delay);
            self.busy_until = departure;
        }
        arrivals
    }

    /// Packets waiting at `now`, which is not before the last enqueue.
    pub fn length(&self, now: u64) -> u32 {
        let mut port = self.clone();
        while port.len > 0 && port.head_departure <= now {
            port.pop_head();
        }
        waiting(port.len)
    }

    /// Picoseconds spent at each length up to `end`, if the port is probed.
    pub fn distribution(&self, admission: &Admission, end: u64) -> Option<Vec<u64>> {
        let mut admission = admission.clone();
        admission.distribution.as_ref()?;
        self.clone().advance(&mut admission, end);
        admission.distribution.map(|d| d.time_at)
    }

    /// Bytes waiting. At the usual rates a byte takes whole picoseconds, so they follow from the time until all have left.
    fn waiting_bytes(&self) -> u64 {
        if self.len == 0 {
            return 0;
        }
        if self.ps_per_byte.trailing_zeros() >= FRACTION {
            return (self.busy_until - self.head_departure) / (self.ps_per_byte >> FRACTION);
        }
        let mask = self.sizes.len() - 1;
        (1..self.len)
            .map(|i| u64::from(self.sizes[(self.head + i) as usize & mask]))
            .sum()
    }
}
