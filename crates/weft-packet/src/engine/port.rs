//! An output port: a FIFO whose departures are known at enqueue.

use weft_fabric::Queue;
use weft_spec::{Amount, Rate, Time};

use super::packet::{CE, ECT, PROTECTED, Packet};

/// Binary digits after the point in [`Port::ps_per_byte`].
const FRACTION: u32 = 16;

/// What every packet over a port touches.
///
/// The queue itself is only the departure times of the packets not known to have left: `departures` holds `len` of
/// them from `head`. They are advanced lazily, when `len` reaches `check_at` and a threshold could matter.
pub struct Port {
    /// When the last accepted packet will have left.
    pub busy_until: u64,
    /// Picoseconds a byte takes, in 2^-16 ps.
    ps_per_byte: u64,
    /// Propagation delay.
    delay: u64,
    head: u32,
    len: u32,
    /// A smaller stale length needs no decision; 0 on a probed port.
    check_at: u32,
    /// The receiving ring, numbered over all partitions.
    pub ring: u32,
    /// The partition it is in.
    pub partition: u32,
    /// Packets accepted.
    pub packets: u64,
    /// Bytes accepted.
    pub bytes: u64,
    departures: Box<[u64]>,
}

/// What only a port's decisions touch.
#[derive(Clone)]
pub struct Rules {
    limit: Amount,
    mark: Option<Amount>,
    /// The shortest stale length at which a packet might be marked or dropped; 0 on a probed port.
    decide_at: u32,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// The probed distribution of the length.
    distribution: Option<Distribution>,
}

impl Rules {
    /// `max_packet` is the largest packet's size on the wire, in bytes.
    pub fn new(queue: Queue, max_packet: u32, probed: bool) -> Self {
        let packets = |amount: Amount| match amount {
            Amount::Packets(n) => n,
            // Fewer packets than this cannot hold that many bytes, even with the arriving one.
            Amount::Bytes(b) => u32::try_from(b / u64::from(max_packet))
                .unwrap_or(u32::MAX)
                .saturating_sub(1),
        };
        let threshold = queue.mark.map_or(u32::MAX, packets).min(packets(queue.limit));
        Self {
            limit: queue.limit,
            mark: queue.mark,
            decide_at: if probed { 0 } else { threshold.saturating_add(1) },
            drops: 0,
            marks: 0,
            distribution: probed.then(Distribution::default),
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
    fn spend(&mut self, waiting: usize, until: u64) {
        if self.time_at.len() <= waiting {
            self.time_at.resize(waiting + 1, 0);
        }
        self.time_at[waiting] += until - self.since;
        self.since = until;
    }
}

/// The packets that wait when `present` have not left: all but the one being sent.
fn waiting(present: u32) -> u32 {
    present.saturating_sub(1)
}

impl Port {
    /// A port into ring `ring` of partition `partition`.
    pub fn new(rate: Rate, delay: Time, rules: &Rules, ring: u32, partition: u32) -> Self {
        const RING: u32 = 16;
        Self {
            busy_until: 0,
            ps_per_byte: ((8_000_000_000_000_u128 << FRACTION) / u128::from(rate.0)) as u64,
            delay: delay.0,
            head: 0,
            len: 0,
            check_at: rules.decide_at.min(RING),
            ring,
            partition,
            packets: 0,
            bytes: 0,
            departures: vec![0; RING as usize].into_boxed_slice(),
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

    /// Enqueues `packet` at `now` and sets its arrival time. `false` if it is dropped.
    #[inline(always)]
    pub fn enqueue(&mut self, rules: &mut [Rules], index: usize, now: u64, packet: &mut Packet) -> bool {
        if now >= self.busy_until && self.check_at != 0 {
            // Idle: what is recorded has left. Starting over keeps short queues in one cache line.
            self.head = 0;
            self.len = 0;
        }
        if self.len >= self.check_at && !self.admit(&mut rules[index], now, packet) {
            return false;
        }
        let departure = now.max(self.busy_until) + self.serialisation(u32::from(packet.size));
        self.busy_until = departure;
        let mask = self.departures.len() - 1;
        self.departures[(self.head + self.len) as usize & mask] = departure;
        self.len += 1;
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        packet.time = departure + self.delay;
        true
    }

    /// Decides with the exact length at `now`.
    #[cold]
    #[inline(never)]
    fn admit(&mut self, rules: &mut Rules, now: u64, packet: &mut Packet) -> bool {
        self.advance(rules, now);
        if self.len as usize == self.departures.len() {
            self.grow(rules);
        }
        if packet.flags & PROTECTED != 0 {
            return true;
        }
        let exceeds = |amount: Amount, arriving: u64| match amount {
            Amount::Packets(n) => waiting(self.len) >= n,
            Amount::Bytes(b) => self.waiting_bytes() + arriving > b,
        };
        if exceeds(rules.limit, u64::from(packet.size)) {
            rules.drops += 1;
            return false;
        }
        // A byte threshold is reached when that many bytes wait, hence the 1.
        if packet.flags & ECT != 0 && rules.mark.is_some_and(|k| exceeds(k, 1)) {
            packet.flags |= CE;
            rules.marks += 1;
        }
        true
    }

    /// Forgets the departures up to `now`.
    fn advance(&mut self, rules: &mut Rules, now: u64) {
        let mask = self.departures.len() - 1;
        while self.len > 0 {
            let departure = self.departures[self.head as usize & mask];
            if departure > now {
                break;
            }
            if let Some(d) = &mut rules.distribution {
                d.spend(waiting(self.len) as usize, departure);
            }
            self.head += 1;
            self.len -= 1;
        }
        self.head &= mask as u32;
        if let Some(d) = &mut rules.distribution {
            d.spend(waiting(self.len) as usize, now);
        }
    }

    /// Doubles the ring of departures.
    fn grow(&mut self, rules: &Rules) {
        let old = self.departures.len();
        let mut ring = vec![0; old * 2].into_boxed_slice();
        for (i, slot) in ring.iter_mut().take(old).enumerate() {
            *slot = self.departures[(self.head as usize + i) & (old - 1)];
        }
        self.departures = ring;
        self.head = 0;
        self.check_at = rules.decide_at.min(old as u32 * 2);
    }

    /// Packets waiting at `now`, which is not before the last enqueue.
    pub fn length(&self, now: u64) -> u32 {
        let mask = self.departures.len() - 1;
        let left = (0..self.len)
            .take_while(|i| self.departures[(self.head + i) as usize & mask] <= now)
            .count();
        waiting(self.len - left as u32)
    }

    /// Picoseconds spent at each length up to `end`, if the port is probed.
    pub fn distribution(&self, rules: &Rules, end: u64) -> Option<Vec<u64>> {
        let mut d = rules.distribution.clone()?;
        let mask = self.departures.len() - 1;
        let mut len = self.len;
        for i in 0..self.len {
            let departure = self.departures[(self.head + i) as usize & mask];
            if departure > end {
                break;
            }
            d.spend(waiting(len) as usize, departure);
            len -= 1;
        }
        d.spend(waiting(len) as usize, end);
        Some(d.time_at)
    }

    fn waiting_bytes(&self) -> u64 {
        if self.len == 0 {
            return 0;
        }
        let first = self.departures[self.head as usize & (self.departures.len() - 1)];
        (((self.busy_until - first) << FRACTION) + self.ps_per_byte / 2) / self.ps_per_byte
    }
}
