//! An output port: a link and a queue. A FIFO computes the departure of a packet when the packet is enqueued;
//! a [scheduled](weft_queues::Queue) queue keeps the packets, and the port transmits those that it chooses.

use weft_spec::{Rate, Time};

use crate::port_state::{PortQueue, PortState, PortStates, Refusal};
use weft_queues::{Buffers, ByteTime, Decision, DropReason, FifoView};

/// Packets that a queue has accepted and whose last bit has not left the port. A failure of the link can
/// still drop all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsent {
    /// Number of packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
}

/// The part of a port that every packet touches. [`PortState`] is the rest.
///
/// The FIFO is lazy: it holds only the sizes of the `len` packets from `head` in `sizes`. Each of
/// these packets leaves when the packet before it has left and its own serialisation is over. `len`
/// is an upper bound of the number of packets that have not left. [`advance`](Self::advance) makes
/// it exact, but only once `len` reaches `check_at`, so that a threshold could matter.
#[derive(Clone)]
pub struct Port {
    /// Number of packets accepted. (The counters are not neighbours: the compiler would add to both with
    /// vector instructions, of which it needs three times as many.)
    pub packets: u64,
    /// Departure of the last accepted packet in picoseconds; with a scheduled queue, that of the packet
    /// being sent.
    pub busy_until: u64,
    /// Serialisation time of a byte.
    byte_time: ByteTime,
    /// Propagation delay in picoseconds.
    delay: u64,
    /// Departure of the packet at `head` in picoseconds; with a scheduled queue, the time of the next
    /// [service](Self::service).
    head_departure: u64,
    head: u32,
    len: u32,
    /// The value of `len` from which [`decide`](Self::decide) decides. 0, that is always, if the queue is
    /// probed, observed, scheduled or marks every packet, or if the link is down.
    check_at: u32,
    /// The receiving ring, numbered over all partitions.
    pub ring: u32,
    /// The partition of the receiving ring.
    pub partition: u32,
    /// True if the network enqueues packets: the queue is scheduled, or the port is observed.
    is_out_of_line: bool,
    /// True if telemetry observes the packets of a FIFO.
    is_observed: bool,
    /// Number of bytes accepted.
    pub bytes: u64,
    sizes: Box<[u16]>,
}

/// The time of no service.
pub const NO_SERVICE: u64 = u64::MAX;

/// Initial capacity of a port's list of sizes.
const MIN_SIZES: u32 = 32;

/// Bytes of heap of a port until its list of sizes grows, with the allocator's overhead.
pub const HEAP_BYTES: usize = MIN_SIZES as usize * size_of::<u16>() + 16;

/// Returns how many packets wait if `present` have not left: all but the packet being sent.
fn waiting(present: u32) -> u32 {
    present.saturating_sub(1)
}

impl Port {
    /// Creates an idle port that sends into ring `ring` of partition `partition`.
    pub fn new(
        rate: Rate,
        delay: Time,
        state: &PortState,
        buffers: &Buffers,
        ring: u32,
        partition: u32,
    ) -> Self {
        Self {
            busy_until: 0,
            head_departure: if state.scheduled().is_some() {
                NO_SERVICE
            } else {
                0
            },
            byte_time: ByteTime::new(rate),
            delay: delay.0,
            head: 0,
            len: 0,
            check_at: state.decide_at(buffers).min(MIN_SIZES),
            ring,
            partition,
            is_out_of_line: state.scheduled().is_some(),
            is_observed: false,
            packets: 0,
            bytes: 0,
            sizes: vec![0; MIN_SIZES as usize].into_boxed_slice(),
        }
    }

    /// Changes the rate of a port with a scheduled queue. The packet being sent leaves as before.
    pub fn set_scheduled_rate(&mut self, rate: Rate) {
        self.byte_time = ByteTime::new(rate);
    }

    /// Changes the propagation delay of a port with a scheduled queue.
    pub fn set_scheduled_delay(&mut self, delay: Time) {
        self.delay = delay.0;
    }

    /// Returns the time of the next service of a scheduled queue, or [`NO_SERVICE`]: the end of the transmission after which a
    /// packet or a pause frame waits.
    #[inline(always)]
    pub fn service(&self) -> u64 {
        self.head_departure
    }

    /// Returns the time of the next service, if the queue is scheduled and a packet or a pause frame waits.
    #[inline]
    pub fn scheduled_service(&self) -> Option<u64> {
        let is_scheduled = self.is_out_of_line && !self.is_observed;
        (is_scheduled && self.head_departure != NO_SERVICE).then_some(self.head_departure)
    }

    /// Sets the time of the next service of a scheduled queue.
    #[inline(always)]
    pub fn set_service(&mut self, time: u64) {
        self.head_departure = time;
    }

    /// Begins the transmission of a packet of `size` bytes of a scheduled queue at `begin`. Returns the time of its
    /// arrival at the far end.
    #[inline(always)]
    pub fn begin_scheduled(&mut self, begin: u64, size: u16) -> u64 {
        self.busy_until = begin + self.serialisation(size.into());
        self.busy_until + self.delay
    }

    /// Returns true if telemetry observes the packets of a FIFO.
    pub fn is_observed(&self) -> bool {
        self.is_observed
    }

    /// Returns the serialisation time of `bytes` in picoseconds.
    pub fn serialisation(&self, bytes: u32) -> u64 {
        self.byte_time.for_bytes(bytes)
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
    /// port [is idle](Self::is_idle).
    ///
    /// Returns the time at which the packet arrives at the far end, and its flags. `None` if there is more to do: the queue
    /// is scheduled, the port is observed, or it has refused the packet, for the reason in [`PortStates::refusal`].
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        states: &mut PortStates,
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
            if self.is_out_of_line {
                return None;
            }
            flags = self.decide(states, index, now, size, flags)?;
        }
        Some((self.accept(ready, size), flags))
    }

    /// Lets telemetry observe the packets of a port: those of a FIFO are then enqueued by [`enqueue_observed`](Self::enqueue_observed).
    pub fn observe(&mut self) {
        if !self.is_out_of_line {
            self.is_observed = true;
            self.is_out_of_line = true;
            self.check_at = 0;
        }
    }

    /// Does what [`enqueue`](Self::enqueue) does, for an observed FIFO.
    pub fn enqueue_observed(
        &mut self,
        states: &mut PortStates,
        index: usize,
        now: u64,
        size: u16,
        flags: u16,
    ) -> Option<(u64, u16)> {
        let flags = self.decide(states, index, now, size, flags)?;
        Some((self.accept(now, size), flags))
    }

    /// Adds a packet to the FIFO. Returns the time at which it arrives at the far end.
    #[inline(always)]
    fn accept(&mut self, ready: u64, size: u16) -> u64 {
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
        departure + self.delay
    }

    /// Decides with the exact length at `now`. Returns the flags of a packet that joins the FIFO; `None` if it is
    /// refused, for the reason that `states` then has. (A reason in the answer would cost each packet instructions.)
    #[cold]
    #[inline(never)]
    fn decide(
        &mut self,
        states: &mut PortStates,
        index: usize,
        now: u64,
        size: u16,
        mut flags: u16,
    ) -> Option<u16> {
        let state = &mut states.ports[index];
        if state.down {
            state.drops += 1;
            states.refusal = (index, Refusal::Dropped(DropReason::LinkDown));
            return None;
        }
        self.advance(state, now);
        if self.len as usize == self.sizes.len() {
            self.grow(state, &states.buffers);
        }
        let PortQueue::Fifo(fifo) = &mut state.queue else {
            return None;
        };
        let decision = fifo.enqueue(&self.view(now), size, flags, &mut states.buffers);
        // Packets of a buffer that is no longer counted need fewer decisions.
        let decides_less = self.check_at == 1 && !fifo.is_counted(&states.buffers);
        match decision {
            None => {
                states.refusal = (index, Refusal::Uncounted);
                return None;
            }
            Some(Decision::Drop(reason)) => {
                state.drops += 1;
                states.refusal = (index, Refusal::Dropped(reason));
                return None;
            }
            Some(Decision::Mark) => state.mark(&mut flags),
            Some(_) => {}
        }
        if decides_less {
            self.check_at = self.check_from(state, &states.buffers);
        }
        Some(flags)
    }

    /// Returns the view of a FIFO's kind. The port holds only packets that have not left.
    fn view(&self, now: u64) -> FifoView<'_> {
        FifoView {
            now,
            busy_until: self.busy_until,
            head_departure: self.head_departure,
            byte_time: self.byte_time,
            sizes: &self.sizes,
            head: self.head,
            len: self.len,
        }
    }

    /// Counts the packets in the buffer of a port at `now`.
    #[cold]
    pub fn count_buffer(ports: &mut [Self], states: &mut PortStates, index: usize, now: u64) {
        let PortQueue::Fifo(fifo) = &states.ports[index].queue else {
            return;
        };
        for index in fifo.count(&mut states.buffers) {
            let (port, index) = (&mut ports[index as usize], index as usize);
            port.advance(&mut states.ports[index], now);
            port.reschedule(states, index, now);
            port.check_at = port.check_from(&states.ports[index], &states.buffers);
        }
    }

    /// Informs the kind of a FIFO that packets have been lost or leave at other times.
    fn reschedule(&self, states: &mut PortStates, index: usize, now: u64) {
        if let PortQueue::Fifo(fifo) = &mut states.ports[index].queue {
            fifo.rescheduled(&self.view(now), &mut states.buffers);
        }
    }

    /// Removes the packets that have left by `now`, and adds the time to the distribution of the queue
    /// length, if it is probed.
    fn advance(&mut self, state: &mut PortState, now: u64) {
        match &mut state.distribution {
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

    /// Returns the value of `len` from which the port decides, or its list of sizes is full; see [`PortState::decide_at`].
    fn check_from(&self, state: &PortState, buffers: &Buffers) -> u32 {
        if self.is_observed {
            return 0;
        }
        state.decide_at(buffers).min(self.sizes.len() as u32)
    }

    /// Doubles the capacity of `sizes`.
    fn grow(&mut self, state: &PortState, buffers: &Buffers) {
        let old = self.sizes.len();
        let mut ring = vec![0; old * 2].into_boxed_slice();
        for (i, slot) in ring.iter_mut().take(old).enumerate() {
            *slot = self.sizes[(self.head as usize + i) & (old - 1)];
        }
        self.sizes = ring;
        self.head = 0;
        self.check_at = self.check_from(state, buffers);
    }

    /// Takes the link down: packets that have not left by `now`, and those that come later, are
    /// lost and count as dropped. Returns how many have not left.
    pub fn fail(&mut self, states: &mut PortStates, index: usize, now: u64) -> u32 {
        let state = &mut states.ports[index];
        self.advance(state, now);
        let lost = self.len;
        let mask = self.sizes.len() - 1;
        for i in 0..lost {
            self.bytes -= u64::from(self.sizes[(self.head + i) as usize & mask]);
        }
        self.packets -= u64::from(lost);
        state.drops += u64::from(lost);
        state.down = true;
        self.len = 0;
        self.busy_until = self.busy_until.min(now);
        self.check_at = 0; // Every packet needs a decision.
        self.reschedule(states, index, now);
        lost
    }

    /// Takes the link up.
    pub fn recover(&mut self, states: &mut PortStates, index: usize) {
        states.ports[index].down = false;
        self.check_at = self.check_from(&states.ports[index], &states.buffers);
    }

    /// Changes the rate: the packet being sent leaves as before, those after it at the new rate.
    /// Returns the arrival times of the packets that have not left by `now`.
    pub fn set_rate(&mut self, states: &mut PortStates, index: usize, now: u64, rate: Rate) -> Vec<u64> {
        self.advance(&mut states.ports[index], now);
        self.byte_time = ByteTime::new(rate);
        let arrivals = self.arrivals();
        self.reschedule(states, index, now);
        arrivals
    }

    /// Changes the propagation delay of packets that leave after `now`. Returns their arrival
    /// times.
    pub fn set_delay(&mut self, state: &mut PortState, now: u64, delay: Time) -> Vec<u64> {
        self.advance(state, now);
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

    /// Returns when the FIFO begins to send the packet before which it has accepted this many bytes; `None` if that
    /// has begun.
    pub fn start_after(&self, before: u64) -> Option<u64> {
        let mask = self.sizes.len() - 1;
        let size = |i: u32| self.sizes[(self.head + i) as usize & mask];
        let (mut departure, mut behind) = (self.busy_until, self.bytes);
        for i in (1..self.len).rev() {
            departure -= self.serialisation(u32::from(size(i)));
            behind -= u64::from(size(i));
            if behind == before {
                return Some(departure);
            }
        }
        None
    }

    /// Returns how many packets wait at `now`, which is not before the last enqueue.
    pub fn length(&self, now: u64) -> u32 {
        self.at(now).view(now).packets()
    }

    /// Returns how many bytes wait at `now`, which is not before the last enqueue.
    pub fn length_in_bytes(&self, now: u64) -> u64 {
        self.at(now).view(now).bytes()
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
    pub fn distribution(&self, state: &PortState, end: u64) -> Option<Vec<u64>> {
        let mut distribution = state.distribution.clone()?;
        let mut port = self.clone();
        let mut add_time = |len, until| distribution.add_time(waiting(len) as usize, until);
        port.remove_departed(end, &mut add_time);
        add_time(port.len, end);
        Some(distribution.time_at)
    }
}
