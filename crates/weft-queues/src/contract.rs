//! The contracts between a kind of queue and its port: parameters, what a kind sees, and what it answers.
//!
//! - A kind whose packets leave in the order of their arrival and that decides when they arrive answers a
//!   [`Decision`] to each of them, with a [`FifoView`]. Its port computes departures at enqueue.
//! - Another kind keeps its packets and implements [`Queue`].
//!
//! A kind sees its port only by a view, and the network not at all: pauses of other links are a part of
//! its answers.

use weft_spec::{Mark, QueueSize, Rate, SpecError, Time, check_queue};

use crate::buffer::Buffers;
use crate::drop_reason::DropReason;
use crate::ingress::{Ingress, LinkClass};
use crate::packet::{CE, ECT, PROTECTED, Packet};
use crate::route::{HopBits, Route};

/// The limits of the queue at the head of a link. Its length is the number of waiting packets, without
/// the packet being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Capacity. A packet that finds this length (or would exceed it, in bytes) is dropped.
    pub limit: QueueSize,
    /// Marking threshold. An ECN-capable packet that finds at least this length is marked; `None`
    /// never marks.
    pub mark: Option<QueueSize>,
}

impl QueueConfig {
    /// Creates the configuration from the values of a spec.
    pub fn new(limit: QueueSize, mark: Mark) -> Self {
        let mark = match mark {
            Mark::Off => None,
            Mark::At(amount) => Some(amount),
        };
        Self { limit, mark }
    }

    /// Returns the configuration with the given values of a spec, and its own for those that are `None`.
    ///
    /// # Errors
    /// Returns an error with the path of the field if a value is given and the threshold is above the
    /// limit, or the limit is 0.
    pub fn with(self, limit: Option<QueueSize>, mark: Option<Mark>) -> Result<Self, SpecError> {
        if limit.is_none() && mark.is_none() {
            return Ok(self);
        }
        let limit = limit.unwrap_or(self.limit);
        let mark = mark.unwrap_or_else(|| self.mark.map_or(Mark::Off, Mark::At));
        check_queue(limit, mark)?;
        Ok(Self::new(limit, mark))
    }
}

/// A link, as lossless queues compute with it.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Capacity.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
    /// Limit of the sending port's queue.
    pub limit: QueueSize,
}

/// The parameters of a kind of queue.
pub trait QueueParameters {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range; its path is relative to the kind.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }

    /// Checks the parameters against the limit and the threshold of a port's queue.
    ///
    /// # Errors
    /// Returns an error if they contradict these; its path is relative to the kind.
    fn check_port(&self, port: QueueConfig) -> Result<(), SpecError> {
        let _ = port;
        Ok(())
    }

    /// Returns the limits that the kind has itself, each of which must hold a packet of the largest size, with their paths
    /// relative to the kind.
    fn limits(&self) -> Vec<(String, QueueSize)> {
        Vec::new()
    }

    /// Returns the size in bytes to which the kind cuts packets; `None` if it cuts none.
    fn trims_to(&self) -> Option<u32> {
        None
    }

    /// Returns the number of traffic classes that transports choose from; `None` if the kind treats all
    /// packets alike.
    #[inline]
    fn classes(&self) -> Option<usize> {
        None
    }

    /// Returns true if the kind decides by itself which packets are marked, so that a marking
    /// threshold has no effect.
    fn marks(&self) -> bool {
        false
    }

    /// Returns true if packets wait in a buffer of the node, which counts those of several ports.
    fn uses_buffer(&self) -> bool {
        false
    }
}

/// The decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The packet is accepted.
    Accept,
    /// The packet is accepted, and marked if it is ECN-capable.
    Mark,
    /// The packet is accepted and marked if it is ECN-capable, and dropped otherwise.
    MarkOrDrop,
    /// The packet is dropped.
    Drop(DropReason),
}

impl Decision {
    /// Returns the decision at a marking threshold.
    pub fn at_mark(drops_not_ect: bool) -> Self {
        if drops_not_ect {
            Self::MarkOrDrop
        } else {
            Self::Mark
        }
    }

    /// Returns the decision about a packet with these flags: all but [`MarkOrDrop`](Self::MarkOrDrop).
    #[must_use]
    #[inline]
    pub fn for_flags(self, flags: u16) -> Self {
        match self {
            Self::MarkOrDrop if flags & ECT != 0 => Self::Mark,
            Self::MarkOrDrop => Self::Drop(DropReason::NotEct),
            decision => decision,
        }
    }

    /// Returns the reason if the packet is dropped.
    #[inline]
    pub fn drop_reason(self) -> Option<DropReason> {
        match self {
            Self::Drop(reason) => Some(reason),
            _ => None,
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

/// The place of a port in the network, and its queue without the kind.
#[derive(Clone, Copy)]
pub struct Site {
    /// Limit and threshold of the port.
    pub queue: QueueConfig,
    /// The port's stream of random numbers.
    pub stream: u64,
    /// Size of the largest packet on the wire in bytes.
    pub max_packet: u32,
    /// The node of the port.
    pub node: u32,
    /// Number of the port in its partition.
    pub port: u32,
    /// True if the node is a switch.
    pub is_switch: bool,
}

/// Creates the empty queue of a port from the parameters of its kind.
pub trait Build {
    /// The queue: a [`Rule`] or a [`Queue`].
    type Queue;

    /// Creates an empty queue. `buffers` are those of the partition.
    fn build(&self, site: &Site, buffers: &mut Buffers) -> Self::Queue;
}

/// The decisions of a kind about packets that arrive at a FIFO, in addition to its limit and threshold.
pub trait Rule {
    /// Returns the smallest number of packets in the port at which the rule may refuse, choose or count a
    /// packet. `max_packet` is the size of the largest packet in bytes.
    fn decides_from(&self, max_packet: u32) -> u32;

    /// Returns the decision about a packet that finds the marking threshold.
    fn at_mark(&self) -> Decision {
        Decision::Mark
    }

    /// Decides about a packet of `size` bytes.
    fn enqueue(&mut self, view: &FifoView<'_>, size: u16, buffers: &mut Buffers) -> Decision;

    /// Records that a packet joins the FIFO.
    #[inline]
    fn accepted(&mut self, view: &FifoView<'_>, size: u16, buffers: &mut Buffers) {
        let _ = (view, size, buffers);
    }

    /// Records that the packets of the port have been lost or leave at other times.
    fn rescheduled(&mut self, view: &FifoView<'_>, buffers: &mut Buffers) {
        let _ = (view, buffers);
    }
}

/// The serialisation time of a byte in units of 2^-16 ps.
#[derive(Clone, Copy)]
pub struct ByteTime(u64);

/// Number of fractional bits of [`ByteTime`].
const FRACTION: u32 = 16;

impl ByteTime {
    /// Returns the time of a byte at this rate.
    pub fn new(rate: Rate) -> Self {
        Self(((8_000_000_000_000_u128 << FRACTION) / u128::from(rate.0)) as u64)
    }

    /// Returns the serialisation time of `bytes` in picoseconds.
    #[inline(always)]
    pub fn for_bytes(self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.0) >> FRACTION
    }
}

/// The view that a kind has of a FIFO port at `now`. Packets that have left are not in it.
#[derive(Clone, Copy)]
pub struct FifoView<'a> {
    /// Time in picoseconds.
    pub now: u64,
    /// Departure of the last packet in picoseconds. The port is idle from then on.
    pub busy_until: u64,
    /// Departure of the packet that is being sent, if there is one.
    pub head_departure: u64,
    /// Serialisation time of a byte.
    pub byte_time: ByteTime,
    /// Sizes of packets in a ring.
    pub sizes: &'a [u16],
    /// Position of the first packet of the port in `sizes`.
    pub head: u32,
    /// Number of packets of the port, the one being sent included.
    pub len: u32,
}

impl FifoView<'_> {
    /// Returns true if a packet that arrives need not wait.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.now >= self.busy_until
    }

    /// Returns the time since the port became idle in picoseconds; 0 if it is not idle.
    #[inline]
    pub fn idle_time(&self) -> u64 {
        self.now.saturating_sub(self.busy_until)
    }

    /// Returns how many packets wait: all but the one being sent.
    #[inline]
    pub fn packets(&self) -> u32 {
        self.len.saturating_sub(1)
    }

    /// Returns how many bytes wait. If a byte takes a whole number of picoseconds, as at the usual rates,
    /// this follows from the time until all have left.
    #[inline]
    pub fn bytes(&self) -> u64 {
        if self.len == 0 {
            return 0;
        }
        let ByteTime(time) = self.byte_time;
        if time.trailing_zeros() >= FRACTION {
            return (self.busy_until - self.head_departure) / (time >> FRACTION);
        }
        self.waiting_sizes().map(u64::from).sum()
    }

    /// Returns how much waits, in the unit of `unit`.
    #[inline]
    pub fn waiting_in(&self, unit: QueueSize) -> u64 {
        match unit {
            QueueSize::Packets(_) => self.packets().into(),
            QueueSize::Bytes(_) => self.bytes(),
        }
    }

    /// Returns when the transmission of each waiting packet begins, and its size.
    pub fn waiting_starts(&self) -> impl Iterator<Item = (u64, u16)> {
        let mut start = self.head_departure;
        self.waiting_sizes().map(move |size| {
            let begins = start;
            start += self.byte_time.for_bytes(size.into());
            (begins, size)
        })
    }

    fn waiting_sizes(&self) -> impl Iterator<Item = u16> {
        let mask = self.sizes.len() - 1;
        (1..self.len).map(move |i| self.sizes[(self.head + i) as usize & mask])
    }
}

/// The view that a kind has of its port and node.
pub struct View<'a> {
    /// Time in picoseconds.
    pub now: u64,
    /// Whether neither a packet nor a pause frame is being sent.
    pub is_idle: bool,
    /// Whether a pause frame waits, which is sent before any packet.
    pub has_frame: bool,
    /// Number of the port at its node.
    pub port: u32,
    /// Encoding of routes.
    pub hops: HopBits,
    /// The packet for which an arrival left no room. (Only this need be in memory; answers are in registers.)
    pub refused: &'a mut Option<Refused>,
    /// Buffers of the incoming links of all nodes of the partition, if links can be paused.
    pub ingress: Option<&'a mut Ingress>,
}

/// A queue that keeps its packets.
pub trait Queue {
    /// Handles an arriving packet. The queue has no room for at most one packet then, the arriving one or one that
    /// waited, which it writes to [`View::refused`].
    fn enqueue(&mut self, packet: &mut Arriving<'_>, view: &mut View<'_>) -> Arrival;

    /// Removes the packet whose transmission begins next; `None` if no packet may be sent.
    fn dequeue(&mut self, view: &mut View<'_>) -> Option<Departure>;

    /// Prefetches the packets that may be sent next.
    #[inline(always)]
    fn prefetch(&self) {}

    /// Returns the number of packets that wait.
    fn waiting(&self) -> usize;

    /// Returns true if a packet waits that may be sent.
    #[inline]
    fn is_ready(&self) -> bool {
        self.waiting() > 0
    }

    /// Calls a function with each packet that waits, in any order.
    fn for_each<'a>(&'a self, visit: &mut dyn FnMut(&'a Packet));

    /// Removes and returns all packets, which are lost. Also returns the classes of incoming links whose
    /// pauses may end.
    fn clear(&mut self, view: &mut View<'_>) -> (Vec<Packet>, Vec<LinkClass>);

    /// Number of classes whose packets are counted one by one.
    #[inline]
    fn classes(&self) -> usize {
        0
    }

    /// Returns the class of a packet; `None` if classes are not counted one by one.
    #[inline]
    fn class_of(&self, packet: &Packet) -> Option<usize> {
        let _ = packet;
        None
    }
}

/// A packet that arrives at a queue. (Route and flags are apart from the packet as it came, so that a packet is written
/// only where it waits.)
pub struct Arriving<'a> {
    came: &'a Packet,
    /// The route that remains.
    pub route: Route,
    /// Flags, with a mark if the queue has set one.
    pub flags: u16,
    /// Size on the wire in bytes.
    pub size: u16,
}

impl<'a> Arriving<'a> {
    /// Creates the arrival of `packet`, of whose route this part remains.
    #[inline(always)]
    pub fn new(packet: &'a Packet, route: Route) -> Self {
        Self {
            came: packet,
            route,
            flags: packet.flags,
            size: packet.size,
        }
    }

    /// Returns the packet.
    #[inline(always)]
    pub fn packet(&self) -> Packet {
        Packet {
            route: self.route,
            flags: self.flags,
            ..*self.came
        }
    }

    /// Returns true if the packet is neither dropped nor marked.
    #[inline(always)]
    pub fn is_protected(&self) -> bool {
        self.flags & PROTECTED != 0
    }
}

/// The answer to an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the parts of an answer are independent"
)]
pub struct Arrival {
    /// True if the arriving packet is accepted as it arrived, apart from a mark.
    pub accepted: bool,
    /// True if the arriving packet was marked.
    pub marked: bool,
    /// Whether the packet never waits: its transmission begins at once. There was room for it then.
    pub passes: bool,
    /// Whether the port chooses the next packet at once.
    pub begins: bool,
    /// The class that counts the packet, if it is accepted and classes are counted one by one.
    pub class: u8,
    /// The port over which a pause frame is to be sent.
    pub frame: Option<u32>,
}

/// A packet for which a queue had no room: the arriving packet unless it is accepted, otherwise one that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The packet as it was.
    pub packet: Packet,
    /// The rest that the queue left of it.
    pub left: Packet,
    /// The fate of the rest.
    pub fate: Fate,
}

impl Refused {
    /// Creates the record of a packet that is dropped.
    pub fn dropped(packet: Packet, reason: DropReason) -> Self {
        Self {
            packet,
            left: packet,
            fate: Fate::Dropped(reason),
        }
    }

    /// Records the drop of a packet of whose route this part remains.
    #[cold]
    #[inline(never)]
    fn drop(refused: &mut Option<Self>, packet: &Packet, route: Route, reason: DropReason) {
        *refused = Some(Self::dropped(Packet { route, ..*packet }, reason));
    }
}

/// A packet whose transmission begins, or that is dropped at that time.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The packet.
    pub packet: Packet,
    /// [`Decision::Accept`], [`Mark`](Decision::Mark) or [`Drop`](Decision::Drop).
    pub decision: Decision,
    /// The port over which a pause frame is to be sent.
    pub frame: Option<u32>,
}

impl Departure {
    /// Creates the departure of a packet that pauses nothing.
    #[inline(always)]
    pub fn new(packet: Packet, decision: Decision) -> Self {
        Self {
            packet,
            decision,
            frame: None,
        }
    }
}

/// The fate of a packet for which a queue had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is dropped.
    Dropped(DropReason),
    /// The header of the packet is in the queue.
    Queued,
    /// The header of the packet goes back to the sender. The packet may be a header itself.
    SentBack,
}

impl Arrival {
    /// Creates the answer to a packet that is accepted.
    #[inline(always)]
    pub fn accepted(marked: bool, view: &View<'_>) -> Self {
        Self {
            accepted: true,
            marked,
            passes: false,
            begins: view.is_idle,
            class: 0,
            frame: None,
        }
    }

    /// Creates the answer to a packet that is accepted, and passes if the port is idle: the queue does not keep it then.
    #[inline(always)]
    pub fn passing(marked: bool, view: &View<'_>) -> Self {
        Self {
            passes: view.is_idle,
            ..Self::accepted(marked, view)
        }
    }

    /// Creates the answer to a packet that is not accepted.
    #[inline(always)]
    pub fn not_accepted(view: &View<'_>) -> Self {
        Self {
            accepted: false,
            ..Self::accepted(false, view)
        }
    }

    /// Creates the answer to a packet that is dropped.
    #[inline(always)]
    pub fn dropped(packet: &Arriving<'_>, reason: DropReason, view: &mut View<'_>) -> Self {
        Refused::drop(view.refused, packet.came, packet.route, reason);
        Self::not_accepted(view)
    }

    /// Decides about a packet. `limits` returns whether the queue is full, and whether it has reached its
    /// marking threshold, where `at_mark` decides. A mark is set only if the packet is ECN-capable.
    #[inline(always)]
    pub fn decide(
        packet: &mut Arriving<'_>,
        at_mark: Decision,
        view: &mut View<'_>,
        limits: impl FnOnce(u16) -> [bool; 2],
    ) -> Self {
        if packet.is_protected() {
            return Self::accepted(false, view);
        }
        let [is_full, is_marking] = limits(packet.size);
        if is_full {
            return Self::dropped(packet, DropReason::Limit, view);
        }
        let decision = if is_marking {
            at_mark.for_flags(packet.flags)
        } else {
            Decision::Accept
        };
        if let Decision::Drop(reason) = decision {
            return Self::dropped(packet, reason, view);
        }
        let marked = decision == Decision::Mark && packet.flags & ECT != 0;
        if marked {
            packet.flags |= CE;
        }
        Self::accepted(marked, view)
    }
}
