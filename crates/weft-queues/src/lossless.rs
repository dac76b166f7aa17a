//! Priority flow control: IEEE 802.1Qbb, now clause 36 of IEEE 802.1Q. A switch pauses the neighbour whose
//! packets fill its buffer.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{MAX_CLASS, QueueSize, Size, SpecError, Time};

use crate::buffer::Buffers;
use crate::contract::{
    Arrival, Arriving, Build, Decision, Departure, Queue, QueueParameters, Site, View, Wire, exceeds,
    has_reached,
};
use crate::drop_reason::DropReason;
use crate::ingress::{Admission, LinkClass, NO_RING, Thresholds};
use crate::packet::{CE, DATA, ECT, PROTECTED, Packet, class_of};
use crate::prefetch::prefetch;
use crate::red::{Red, RedAt, RedState, check_ramp, ramp};
use crate::route::Route;

/// Maximum number of traffic classes.
const MAX_CLASSES: u8 = MAX_CLASS + 1;

/// Size of a pause frame on the wire: the smallest Ethernet frame (IEEE 802.3, annex 31B).
pub const PAUSE_FRAME: u32 = 64;

/// Priority flow control (PFC, IEEE 802.1Qbb): a FIFO per traffic class that pauses its neighbours instead of
/// dropping packets. A switch counts the waiting packets of each incoming link, and pauses the link before its
/// buffer is full. Pauses thus spread hop by hop, up to the hosts that send. `limit` is the buffer for the packets
/// of an incoming link in a class. Packets that a host sends itself wait without a limit. Transports of all kinds
/// may send. If paused links wait for each other in a cycle (deadlock), a warning names them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lossless {
    /// Part of the buffer for packets that arrive after a pause was sent. The default is the most that can
    /// arrive: 2 x delay x rate + 2 packets of the largest size + a pause frame + `reaction` x rate.
    /// (IEEE 802.1Q, annex O; Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM
    /// 2015, section 4.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Size>,
    /// Size of a pool for the headroom of all incoming links and classes of a switch, each of which takes up to
    /// `headroom` from it. By default there is no pool: each has a `headroom` of its own. A pool is smaller
    /// than their sum, because few links need their headroom at once. Switches call it a shared headroom pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom_pool: Option<Size>,
    /// A pause is sent once a packet of the largest size might exceed this length. The default is `limit`
    /// without `headroom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Size>,
    /// Length at which the pause ends. The default is two packets of the largest size below `xoff` (Zhu et
    /// al., SIGCOMM 2015).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xon: Option<Size>,
    /// Time from the arrival of a pause frame to its effect. The default, none, is that of the simulators
    /// of DCQCN and HPCC. IEEE 802.3 allows 60 quanta of 512 bits at 10 Gbps.
    #[serde(default = "no_time")]
    pub reaction: Time,
    /// Time after which a paused port drops what waits in the class, and what arrives until the pause ends.
    /// There is none by default. Junos has 200 ms where its watchdog is enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Time>,
    /// Number of traffic classes, 1 to 8. Each is paused by itself, and served before all later ones.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MAX_CLASSES))]
    pub classes: u8,
    /// Waiting data of a class up to which no packet is marked when it arrives. From there to `mark_max`, the
    /// probability rises from 0 to `mark_probability`. Zhu et al. have 5 KB at 40 Gbps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_min: Option<QueueSize>,
    /// Waiting data of a class from which every packet is marked, in the unit of `mark_min`. Zhu et al. have 200 KB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_max: Option<QueueSize>,
    /// Probability just below `mark_max`. The default is 1; Zhu et al. have 0.01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mark_probability: Option<f64>,
}

const fn no_time() -> Time {
    Time(0)
}

const fn one() -> u8 {
    1
}

impl Lossless {
    pub(crate) const ABOUT: &str =
        "a FIFO per class that pauses its neighbours instead of dropping packets (PFC, IEEE 802.1Qbb)";

    /// Returns the ramp of marks, if there is one.
    pub fn ramp(&self) -> Option<Red> {
        let probability = self.mark_probability.unwrap_or(1.0);
        ramp([self.mark_min, self.mark_max], probability, RedAt::Enqueue)
    }

    /// Returns the kind without marks.
    #[must_use]
    pub fn without_marks(self) -> Self {
        Self {
            mark_min: None,
            mark_max: None,
            mark_probability: None,
            ..self
        }
    }

    /// Returns the bytes that may arrive over `incoming` after a pause frame was sent over `outgoing`, the
    /// other direction of its cable. `max_packet` is the size of the largest packet in bytes.
    pub fn headroom_bound(&self, incoming: &Wire, outgoing: &Wire, max_packet: u32) -> u64 {
        // The frame waits for a packet that is being sent.
        let wait = f64::from(max_packet + PAUSE_FRAME) * 8e12 / outgoing.rate.0 as f64;
        let time = (incoming.delay.0 + outgoing.delay.0 + self.reaction.0) as f64 + wait;
        // The neighbour first ends the transmission of a packet.
        (time * incoming.rate.0 as f64 / 8e12).ceil() as u64 + u64::from(max_packet)
    }

    /// Returns the bytes that the limit of the port of a link stands for.
    pub fn buffer(&self, link: &Wire, max_packet: u32) -> u64 {
        match link.limit {
            QueueSize::Packets(packets) => u64::from(packets) * u64::from(max_packet),
            QueueSize::Bytes(bytes) => bytes,
        }
    }

    /// Returns the thresholds for the packets that arrive over `incoming` at a node whose port in the other
    /// direction is that of `outgoing`.
    pub fn thresholds(&self, incoming: &Wire, outgoing: &Wire, max_packet: u32) -> Thresholds {
        let limit = self.buffer(outgoing, max_packet);
        let bound = || self.headroom_bound(incoming, outgoing, max_packet);
        let headroom = self.headroom.map_or_else(bound, |size| size.0);
        let xoff = self
            .xoff
            .map_or_else(|| limit.saturating_sub(headroom), |size| size.0);
        let xon = || xoff.saturating_sub(2 * u64::from(max_packet));
        Thresholds {
            xoff,
            xon: self.xon.map_or_else(xon, |size| size.0),
            capacity: xoff + headroom,
            pool: self.headroom_pool.map(|size| size.0),
        }
    }
}

impl QueueParameters for Lossless {
    fn uses_buffer(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), SpecError> {
        if !(1..=MAX_CLASSES).contains(&self.classes) {
            let allowed = format!("1 to {MAX_CLASSES}");
            return Err(SpecError::new("classes", self.classes.to_string(), allowed));
        }
        if self.watchdog == Some(Time(0)) {
            return Err(SpecError::new("watchdog", "0s", "a time above 0"));
        }
        if self.headroom_pool == Some(Size(0)) {
            return Err(SpecError::new("headroom_pool", "0B", "a size above 0"));
        }
        check_ramp([self.mark_min, self.mark_max])?;
        if let Some(probability) = self.mark_probability {
            if self.mark_min.is_none() {
                let problem = "given without `mark_min` and `mark_max`";
                return Err(SpecError::conflict("mark_probability", problem, "add both"));
            }
            if !(0.0..=1.0).contains(&probability) {
                let given = probability.to_string();
                return Err(SpecError::new("mark_probability", given, "0 to 1"));
            }
        }
        match (self.xon, self.xoff) {
            (Some(xon), Some(xoff)) if xon > xoff => {
                let given = format!("{xon} is above xoff = \"{xoff}\"");
                Err(SpecError::new("xon", given, format!("at most {xoff}")))
            }
            _ => Ok(()),
        }
    }

    fn marks(&self) -> bool {
        self.mark_min.is_some()
    }

    #[inline]
    fn classes(&self) -> Option<usize> {
        (self.classes > 1).then_some(self.classes.into())
    }
}

/// The FIFOs of a port, and their pauses.
pub struct LosslessQueue {
    classes: Vec<Class>,
    limit: QueueSize,
    mark: Option<QueueSize>,
    ramp: Option<Box<RedState>>,
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
    /// First time in picoseconds.
    pub first: u64,
    /// Period in picoseconds.
    pub period: u64,
    /// Key of the timer.
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
struct Waiting {
    packet: Packet,
    /// Ring over which the packet came; [`NO_RING`] if the node sent it or nothing counts it.
    ring: u32,
    /// The value of [`LosslessQueue::blocked_time`] when the packet arrived.
    blocked: u64,
}

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
    /// Duration in picoseconds of all earlier pauses, and of those that each port of the next node caused, by its
    /// number.
    paused: u64,
    caused: Vec<u64>,
}

/// A pause that has not ended.
#[derive(Clone, Copy)]
struct Pause {
    since: u64,
    /// The port of the next node whose packets caused the pause.
    cause: u32,
}

impl LosslessQueue {
    /// Creates empty FIFOs.
    pub fn new(lossless: &Lossless, site: &Site) -> Self {
        Self {
            classes: (0..lossless.classes).map(|_| Class::default()).collect(),
            limit: site.queue.limit,
            mark: site.queue.mark,
            ramp: lossless
                .ramp()
                .map(|ramp| Box::new(RedState::new(ramp, site.stream, site.max_packet))),
            watchdog: lossless.watchdog.map(|time| time.0),
            expired: 0,
            wake_up: None,
        }
    }

    /// Returns the class of a packet with these flags.
    #[inline]
    fn number(&self, flags: u16) -> usize {
        class_of(flags).min(self.classes.len() - 1)
    }

    /// Returns how much waits in all classes, in the unit of `unit`.
    #[inline]
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
    #[inline]
    fn marks(&mut self, class: usize) -> bool {
        let waiting = |unit| self.classes[class].waiting_in(unit);
        match &mut self.ramp {
            Some(ramp) => ramp.decide(waiting(ramp.unit()), 0) == Decision::Mark,
            None => has_reached(self.mark, waiting),
        }
    }

    /// Returns true if a class is paused, or the last one if there are fewer.
    pub fn is_paused(&self, class: usize) -> bool {
        self.classes[class.min(self.classes.len() - 1)].pause.is_some()
    }

    /// Lets a packet of a class wait: counts it at its incoming link. Returns the port over which a pause frame is to be
    /// sent, or the reason for which the packet may not wait.
    #[inline(always)]
    fn admit(
        &self,
        class: usize,
        packet: &Arriving<'_>,
        view: &mut View<'_>,
    ) -> Result<Option<u32>, DropReason> {
        if self.classes[class].is_dropping && !packet.is_protected() {
            return Err(DropReason::Watchdog);
        }
        let Some(ingress) = view.ingress.as_deref_mut() else {
            return Ok(None);
        };
        match ingress.admit(packet.flags, packet.size, view.port) {
            Admission::Counted(frame) => Ok(frame),
            Admission::Full => Err(DropReason::Buffer),
            // A host's own packets wait without a limit.
            Admission::Uncounted if ingress.ring == NO_RING || packet.is_protected() => Ok(None),
            Admission::Uncounted => {
                let is_full = exceeds(self.limit, |unit| self.waiting_in(unit), packet.size.into());
                if is_full { Err(DropReason::Limit) } else { Ok(None) }
            }
        }
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
    #[inline]
    pub fn resume(&mut self, class: usize, now: u64) {
        let Some(class) = self.classes.get_mut(class) else {
            return;
        };
        if let Some(pause) = class.pause.take() {
            let time = now - pause.since;
            class.paused += time;
            let cause = pause.cause as usize;
            if class.caused.len() <= cause {
                class.caused.resize(cause + 1, 0);
            }
            class.caused[cause] += time;
        }
        class.is_dropping = false;
    }

    /// Makes the watchdog drop the packets of a class if pause `number` has not ended. Returns those that
    /// waited, and the classes of incoming links whose pauses may end.
    pub fn expire(
        &mut self,
        class: usize,
        number: u64,
        view: &mut View<'_>,
    ) -> (Vec<Packet>, Vec<LinkClass>) {
        let class = &mut self.classes[class];
        if class.pause.is_none() || class.pauses != number {
            return (Vec::new(), Vec::new());
        }
        self.expired += 1;
        class.is_dropping = true;
        let is_lost = |waiting: &Waiting| waiting.packet.flags & PROTECTED == 0;
        let (lost, kept): (Vec<_>, Vec<_>) = class.packets.drain(..).partition(is_lost);
        class.packets = kept.into();
        class.bytes = class.packets.iter().map(|w| u64::from(w.packet.size)).sum();
        removed(&lost, view)
    }

    /// Returns for how long the classes have been paused until `now`, in all.
    pub fn paused_time(&self, now: u64) -> u64 {
        let paused = |class: &Class| class.paused + class.pause.map_or(0, |pause| now - pause.since);
        self.classes.iter().map(paused).sum()
    }
}

impl Build for Lossless {
    type Queue = LosslessQueue;

    fn build(&self, site: &Site, _: &mut Buffers) -> LosslessQueue {
        LosslessQueue::new(self, site)
    }
}

impl Queue for LosslessQueue {
    #[inline(always)]
    fn enqueue(&mut self, packet: &mut Arriving<'_>, view: &mut View<'_>) -> Arrival {
        let class = self.number(packet.flags);
        let begins = view.is_idle && self.classes[class].pause.is_none();
        let mut frame = None;
        if !begins {
            match self.admit(class, packet, view) {
                Ok(sent) => frame = sent,
                Err(reason) => {
                    return Arrival {
                        begins: false,
                        ..Arrival::dropped(packet, reason, view)
                    };
                }
            }
        }
        let marked = !packet.is_protected() && packet.flags & ECT != 0 && self.marks(class);
        if marked {
            packet.flags |= CE;
        }
        let arrival = Arrival {
            begins,
            class: class as u8,
            frame,
            ..Arrival::accepted(marked, view)
        };
        if begins && !self.is_ready() && !view.has_frame {
            // No other packet waits for the port, and a packet that need not wait takes no buffer.
            return Arrival {
                passes: true,
                ..arrival
            };
        }
        let ring = match &view.ingress {
            Some(ingress) if !begins => ingress.ring,
            _ => NO_RING,
        };
        let class = &mut self.classes[class];
        class.bytes += u64::from(packet.size);
        class.packets.push_back(Waiting {
            packet: packet.packet(),
            ring,
            blocked: class.blocked_time(packet.route, view),
        });
        arrival
    }

    #[inline(always)]
    fn dequeue(&mut self, view: &mut View<'_>) -> Option<Departure> {
        let class = self.classes.iter_mut().find(|class| class.is_ready())?;
        let waiting = class.packets.pop_front()?;
        let packet = waiting.packet;
        class.bytes -= u64::from(packet.size);
        match class.packets.front() {
            // In a long queue, the next packet has left the nearer caches.
            Some(next) => prefetch(next),
            // Starting over keeps a short queue in few cache lines.
            None => class.packets.clear(),
        }
        let mut departure = Departure::new(packet, Decision::Accept);
        let blocked_time = class.blocked_time(packet.route, view);
        if let Some(ingress) = view.ingress.as_deref_mut() {
            let blocked = blocked_time - waiting.blocked;
            if blocked > 0 && packet.flags & DATA != 0 {
                let victim = ingress.victims.entry((packet.lo, packet.hi)).or_default();
                victim.packets += 1;
                victim.time += blocked;
            }
            departure.frame = ingress.remove(waiting.ring, &packet, view.port);
        }
        Some(departure)
    }

    #[inline(always)]
    fn prefetch(&self) {
        self.classes.iter().for_each(prefetch);
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.classes.iter().map(|class| class.packets.len()).sum()
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.classes.iter().any(Class::is_ready)
    }

    fn for_each<'a>(&'a self, visit: &mut dyn FnMut(&'a Packet)) {
        let waiting = self.classes.iter().flat_map(|class| &class.packets);
        waiting.map(|waiting| &waiting.packet).for_each(visit);
    }

    fn clear(&mut self, view: &mut View<'_>) -> (Vec<Packet>, Vec<LinkClass>) {
        let clear = |class: &mut Class| {
            class.bytes = 0;
            std::mem::take(&mut class.packets)
        };
        let lost: Vec<_> = self.classes.iter_mut().flat_map(clear).collect();
        removed(&lost, view)
    }

    #[inline]
    fn classes(&self) -> usize {
        match self.classes.len() {
            1 => 0,
            classes => classes,
        }
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> Option<usize> {
        (self.classes.len() > 1).then(|| self.number(packet.flags))
    }
}

/// Counts packets that were removed together. Returns them, and the classes of incoming links whose pauses may
/// end.
fn removed(lost: &[Waiting], view: &mut View<'_>) -> (Vec<Packet>, Vec<LinkClass>) {
    let packets = lost.iter().map(|waiting| waiting.packet).collect();
    let classes = view.ingress.as_deref_mut().map(|ingress| {
        let lost = lost.iter().map(|waiting| (waiting.ring, &waiting.packet));
        ingress.remove_all(lost, view.port)
    });
    (packets, classes.unwrap_or_default())
}

impl Class {
    /// Returns for how long the class has been paused until now because of packets for other ports of the next node
    /// than that of a route.
    #[inline(always)]
    fn blocked_time(&self, route: Route, view: &View<'_>) -> u64 {
        if self.pauses == 0 {
            return 0;
        }
        let (hop, _) = route.next(view.hops);
        let own = self.caused.get(hop as usize).copied().unwrap_or(0);
        let pause = self.pause.filter(|pause| pause.cause != hop);
        self.paused - own + pause.map_or(0, |pause| view.now - pause.since)
    }

    /// Returns how much waits, in the unit of `unit`.
    #[inline]
    fn waiting_in(&self, unit: QueueSize) -> u64 {
        match unit {
            QueueSize::Packets(_) => self.packets.len() as u64,
            QueueSize::Bytes(_) => self.bytes,
        }
    }

    /// Returns true if a packet waits that may be sent.
    #[inline]
    fn is_ready(&self) -> bool {
        self.pause.is_none() && !self.packets.is_empty()
    }
}
