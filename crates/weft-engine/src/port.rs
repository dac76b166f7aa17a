//! An output port: a FIFO that computes the departure of a packet when the packet is enqueued.
//!
//! The packets of a [served](crate::served) port wait elsewhere; its [`Port`] has the rate, the delay
//! and the counters.

use weft_spec::{QueueSize, Rate, Time};

use crate::admission::{Admission, Admissions};
use crate::counters::Unsent;

/// Number of fractional bits of [`Port::ps_per_byte`].
const FRACTION: u32 = 16;

/// The part of a port that every packet touches.
///
/// The queue is lazy: it holds only the sizes of the `len` packets from `head` in `sizes`. Each of
/// these packets leaves when the packet before it has left and its own serialisation is over. `len`
/// is an upper bound of the number of packets that have not left. [`advance`](Self::advance) makes
/// it exact, but only once `len` reaches `check_at`, so that a threshold could matter.
#[derive(Clone)]
pub struct Port {
    /// Number of packets accepted. (The counters are not neighbours: the compiler would add to both with
    /// vector instructions, of which it needs three times as many.)
    pub packets: u64,
    /// Departure of the last accepted packet in picoseconds; of a served port, that of the packet being
    /// sent.
    pub busy_until: u64,
    /// Serialisation time of a byte in 2^-16 ps.
    ps_per_byte: u64,
    /// Propagation delay in picoseconds.
    delay: u64,
    /// Departure of the packet at `head` in picoseconds.
    head_departure: u64,
    head: u32,
    len: u32,
    /// The value of `len` from which [`admit`](Self::admit) decides. 0, that is always, if the
    /// queue is probed or marks every packet, if the link is down, or if the port is served.
    check_at: u32,
    /// The receiving ring, numbered over all partitions.
    pub ring: u32,
    /// The partition of the receiving ring.
    pub partition: u32,
    /// Number of bytes accepted.
    pub bytes: u64,
    sizes: Box<[u16]>,
}

/// Returns a number of waiting packets that can reach `size`: fewer cannot hold that many bytes, even
/// with the arriving packet.
pub fn min_packets(size: QueueSize, max_packet: u32) -> u32 {
    match size {
        QueueSize::Packets(n) => n,
        QueueSize::Bytes(b) => u32::try_from(b / u64::from(max_packet))
            .unwrap_or(u32::MAX)
            .saturating_sub(1),
    }
}

/// Initial capacity of a port's list of sizes.
const MIN_SIZES: u32 = 32;

/// Bytes of heap of a port until its list of sizes grows, with the allocator's overhead.
pub const HEAP_BYTES: usize = MIN_SIZES as usize * size_of::<u16>() + 16;

/// Returns the serialisation time of a byte in 2^-16 ps.
fn ps_per_byte(rate: Rate) -> u64 {
    ((8_000_000_000_000_u128 << FRACTION) / u128::from(rate.0)) as u64
}

/// Returns how many packets wait if `present` have not left: all but the packet being sent.
fn waiting(present: u32) -> u32 {
    present.saturating_sub(1)
}

impl Port {
    /// Creates an idle port that sends into ring `ring` of partition `partition`.
    pub fn new(rate: Rate, delay: Time, admission: &Admission, ring: u32, partition: u32) -> Self {
        Self {
            busy_until: 0,
            head_departure: 0,
            ps_per_byte: ps_per_byte(rate),
            delay: delay.0,
            head: 0,
            len: 0,
            check_at: admission.decide_at.min(MIN_SIZES),
            ring,
            partition,
            packets: 0,
            bytes: 0,
            sizes: vec![0; MIN_SIZES as usize].into_boxed_slice(),
        }
    }

    /// Changes the rate of a served port. The packet being sent leaves as before.
    pub fn set_served_rate(&mut self, rate: Rate) {
        self.ps_per_byte = ps_per_byte(rate);
    }

    /// Changes the propagation delay of a served port.
    pub fn set_served_delay(&mut self, delay: Time) {
        self.delay = delay.0;
    }

    /// Returns the serialisation time of `bytes` in picoseconds.
    pub fn serialisation(&self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.ps_per_byte) >> FRACTION
    }

    /// Propagation delay in picoseconds.
    pub fn delay(&self) -> u64 {
        self.delay
    }

    /// Returns true if all packets have left by `now`.
    #[inline(always)]
    pub fn is_idle(&self, now: u64) -> bool {
        now >= self.busy_until
    }

    /// Enqueues a packet of `size` bytes at `now`, and may mark it. Its serialisation begins at
    /// `ready`, or later when the packets before it have left. `ready` is after `now` only if the
    /// port [is idle](Self::is_idle). Returns the time of arrival at the far end and the packet's
    /// flags, or `None` if the packet is dropped or the port is served.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        admissions: &mut Admissions,
        index: usize,
        now: u64,
        ready: u64,
        size: u16,
        mut flags: u16,
    ) -> Option<(u64, u16)> {
        if self.is_idle(now) && self.check_at != 0 {
            // All recorded packets have left. Starting over keeps short queues in one cache line.
            self.head = 0;
            self.len = 0;
        }
        if self.len >= self.check_at {
            flags = self.admit(admissions, index, now, size, flags)?;
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
        Some((departure + self.delay, flags))
    }

    /// Decides with the exact length at `now`. Returns the packet's flags, or `None` if the packet is
    /// dropped or the port is served.
    #[cold]
    #[inline(never)]
    fn admit(
        &mut self,
        admissions: &mut Admissions,
        index: usize,
        now: u64,
        size: u16,
        mut flags: u16,
    ) -> Option<u16> {
        let admission = &mut admissions.ports[index];
        if admission.down {
            admission.drops += 1;
            return None;
        }
        if admission.served().is_some() {
            return None; // The network hands the packet to the served port.
        }
        self.advance(admission, now);
        if self.len as usize == self.sizes.len() {
            self.grow(admission);
        }
        admissions
            .decide(self, index, now, size, &mut flags)
            .then_some(flags)
    }

    /// Returns how much waits, in the unit of `unit`. The port holds only packets that have not left.
    pub fn waiting_in(&self, unit: QueueSize) -> u64 {
        match unit {
            QueueSize::Packets(_) => waiting(self.len).into(),
            QueueSize::Bytes(_) => self.waiting_bytes(),
        }
    }

    /// Returns when each waiting packet begins to be sent, and its size. The port holds only packets
    /// that have not left.
    pub fn waiting_starts(&self) -> Vec<(u64, u16)> {
        let mask = self.sizes.len() - 1;
        let mut start = self.head_departure;
        (1..self.len)
            .map(|i| {
                let size = self.sizes[(self.head + i) as usize & mask];
                let begins = start;
                start += self.serialisation(u32::from(size));
                (begins, size)
            })
            .collect()
    }

    /// Removes the packets that have left by `now`, and adds the time to the distribution of the queue
    /// length, if it is probed.
    fn advance(&mut self, admission: &mut Admission, now: u64) {
        match &mut admission.distribution {
            None => self.remove_departed(now, |_, _| ()),
            Some(distribution) => {
                let mut add_time = |len, until| distribution.add_time(waiting(len) as usize, until);
                self.remove_departed(now, &mut add_time);
                add_time(self.len, now);
            }
        }
    }

    /// Removes the packets that have left by `now`. Before each, `on_departure` is called with the number
    /// of packets and the time at which the first one left.
    #[inline(always)]
    fn remove_departed(&mut self, now: u64, mut on_departure: impl FnMut(u32, u64)) {
        let mask = self.sizes.len() - 1;
        let (mut head, mut len, mut departure) = (self.head as usize, self.len, self.head_departure);
        while len > 0 && departure <= now {
            on_departure(len, departure);
            head += 1;
            len -= 1;
            if len > 0 {
                departure += self.serialisation(u32::from(self.sizes[head & mask]));
            }
        }
        (self.head, self.len, self.head_departure) = ((head & mask) as u32, len, departure);
    }

    /// Doubles the capacity of `sizes`.
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

    /// Takes the link down: packets that have not left by `now`, and those that come later, are
    /// lost and count as dropped. Returns how many have not left.
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
        self.check_at = 0; // Every packet needs a decision.
        lost
    }

    /// Takes the link up.
    pub fn recover(&mut self, admission: &mut Admission) {
        admission.down = false;
        self.check_at = admission.decide_at.min(self.sizes.len() as u32);
    }

    /// Changes the rate: the packet being sent leaves as before, those after it at the new rate.
    /// Returns the arrival times of the packets that have not left by `now`.
    pub fn set_rate(&mut self, admission: &mut Admission, now: u64, rate: Rate) -> Vec<u64> {
        self.advance(admission, now);
        self.ps_per_byte = ps_per_byte(rate);
        self.arrivals()
    }

    /// Changes the propagation delay of packets that leave after `now`. Returns their arrival
    /// times.
    pub fn set_delay(&mut self, admission: &mut Admission, now: u64, delay: Time) -> Vec<u64> {
        self.advance(admission, now);
        self.delay = delay.0;
        self.arrivals()
    }

    /// Returns the arrival time at the far end of each packet that has not left.
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

    /// Returns how many packets wait at `now`, which is not before the last enqueue.
    pub fn length(&self, now: u64) -> u32 {
        waiting(self.at(now).len)
    }

    /// Returns how many bytes wait at `now`, which is not before the last enqueue.
    pub fn length_in_bytes(&self, now: u64) -> u64 {
        self.at(now).waiting_bytes()
    }

    /// Returns the packets that have not left by `now`, which is not before the last enqueue.
    pub fn unsent(&self, now: u64) -> Unsent {
        let port = self.at(now);
        let mask = port.sizes.len() - 1;
        let sizes = (0..port.len).map(|i| u64::from(port.sizes[(port.head + i) as usize & mask]));
        Unsent {
            packets: port.len.into(),
            bytes: sizes.sum(),
        }
    }

    /// Returns the port without the packets that have left by `now`.
    fn at(&self, now: u64) -> Self {
        let mut port = self.clone();
        port.remove_departed(now, |_, _| ());
        port
    }

    /// Returns the time in picoseconds spent at each length up to `end`, if the queue is probed.
    pub fn distribution(&self, admission: &Admission, end: u64) -> Option<Vec<u64>> {
        let mut admission = admission.clone();
        admission.distribution.as_ref()?;
        self.clone().advance(&mut admission, end);
        admission.distribution.map(|d| d.time_at)
    }

    /// Returns how many bytes wait. If a byte takes a whole number of picoseconds, as at the usual
    /// rates, this follows from the time until all have left.
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
