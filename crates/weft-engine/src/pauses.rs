//! Priority flow control (IEEE 802.1Qbb), seen from the node that pauses its neighbours: it counts the
//! waiting packets of each incoming link and class, and sends pause frames back.
//!
//! A frame is sent before all packets that wait, but after the packet that is being sent, as a MAC does. The
//! frame takes its time on the link, but no queue holds it and no link loses it, and counters of packets do
//! not include it. A frame takes effect at least one lookahead after it was sent, so windows remain
//! independent.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use weft_fabric::PAUSE_FRAME;
use weft_spec::QueueSize;

use crate::admission::Admission;
use crate::ingress::Incoming;
use crate::network::PartitionNetwork;
use crate::packet::{CE, DATA, ECT, PROTECTED, Packet};
use crate::queue::{LosslessQueue, NO_RING, ServedQueue, Waiting, WakeUp};
use crate::timers::Timer;

/// The pauses of a partition.
pub struct Pauses {
    /// Number of the partition.
    partition: u32,
    /// Size of the largest packet in bytes.
    max_packet: u32,
    /// State of the link of each ring; `None` if nothing can be paused over it.
    pub incoming: Vec<Option<Incoming>>,
    /// Bytes in the pool of headroom of each node of the partition.
    pub pools: Vec<u64>,
    /// The ring whose pause frames leave through a port.
    ring_of_port: HashMap<u32, u32>,
    /// The ring over which the packet came that is being processed, or [`NO_RING`].
    pub ring: u32,
    /// Events after the current window.
    pub events: BinaryHeap<Reverse<PauseEvent>>,
    /// Events of the current node in the current window.
    pub due: BinaryHeap<Reverse<PauseEvent>>,
    /// For each partition, the frames to its nodes.
    pub outboxes: Vec<Vec<PauseEvent>>,
    /// Captured frames, class by class.
    pub captured: Vec<CapturedPause>,
    /// Victims of head-of-line blocking, by the `lo` and `hi` of [counted](DATA) packets.
    pub victims: HashMap<(u32, u32), Blocked>,
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

/// Packets that waited while another packet was the cause of a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// Number of packets, once per link.
    pub packets: u64,
    /// Sum of the times that they waited during such pauses, in picoseconds.
    pub time: u64,
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

/// Bit of the order of watchdogs, which come after frames.
const WATCHDOG: u64 = 1 << 63;

impl Pauses {
    /// Creates the state of partition `partition` of `partitions`, which has `nodes` nodes.
    pub fn new(
        partition: u32,
        partitions: usize,
        max_packet: u32,
        nodes: usize,
        incoming: Vec<Option<Incoming>>,
    ) -> Self {
        let rings = (0..).zip(&incoming);
        Self {
            partition,
            max_packet,
            ring_of_port: rings
                .filter_map(|(ring, link)| Some((link.as_ref()?.reverse_port, ring)))
                .collect(),
            incoming,
            pools: vec![0; nodes],
            ring: NO_RING,
            events: BinaryHeap::new(),
            due: BinaryHeap::new(),
            outboxes: vec![Vec::new(); partitions],
            captured: Vec::new(),
            victims: HashMap::new(),
        }
    }

    /// The time of the first event after the current window.
    pub fn next_time(&self) -> Option<u64> {
        self.events.peek().map(|event| event.0.time)
    }

    /// Captures the frames that leave through `port`.
    pub fn capture(&mut self, port: u32) {
        let ring = self.ring_of_port.get(&port).copied().unwrap_or(NO_RING);
        if let Some(link) = self.link(ring) {
            link.is_captured = true;
        }
    }

    /// Drains the captured frames that arrive before `end`.
    pub fn drain_captured(&mut self, end: u64) -> impl Iterator<Item = CapturedPause> {
        self.captured.extract_if(.., move |frame| frame.time < end)
    }

    /// The link of a ring, if it can be paused.
    fn link(&mut self, ring: u32) -> Option<&mut Incoming> {
        self.incoming.get_mut(ring as usize)?.as_mut()
    }
}

impl PartitionNetwork {
    /// The queue of a served port, if it can be paused.
    fn lossless(&mut self, port: usize) -> Option<(usize, &mut LosslessQueue)> {
        let served = self.admissions.ports[port].served()?;
        match &mut self.served[served].queue {
            ServedQueue::Lossless(queue) => Some((served, queue)),
            _ => None,
        }
    }

    /// Enqueues a packet at a port that can be paused, as [`enqueue_served`](Self::enqueue_served) does.
    pub fn enqueue_lossless(&mut self, port: usize, served: usize, now: u64, ready: u64, mut packet: Packet) {
        let free_at = self.served_free_at(port, served);
        let (state, admission) = (&mut self.served[served], &mut self.admissions.ports[port]);
        let ServedQueue::Lossless(queue) = &mut state.queue else {
            return;
        };
        let class = queue.class_of(&packet);
        let begins = free_at <= now && !queue.is_paused(class);
        admission.add_time(|| queue.len(), now);
        let is_protected = packet.flags & PROTECTED != 0;
        if !begins && !is_protected && !has_space(self.pauses.as_deref(), queue, admission, &packet) {
            admission.drops += 1;
            state.count(&packet, |class| class.drops += 1);
            self.count_drop(&packet);
            return;
        }
        if !is_protected && packet.flags & ECT != 0 && queue.marks(class) {
            packet.flags |= CE;
            admission.marks += 1;
            state.count(&packet, |class| class.marks += 1);
        }
        self.count_in(port, served, &packet);
        let state = &mut self.served[served];
        let ServedQueue::Lossless(queue) = &mut state.queue else {
            return;
        };
        if begins && !queue.is_ready() && !state.wants_frame {
            // No other packet waits for the port, and a packet that need not wait takes no buffer.
            let output = &mut self.ports[port];
            output.busy_until = ready + output.serialisation(packet.size.into());
            let arrival = output.busy_until + output.delay();
            self.deliver(port, &packet, arrival, packet.route, packet.flags);
            return;
        }
        let ring = self
            .pauses
            .as_ref()
            .filter(|_| !begins)
            .map_or(NO_RING, |p| p.ring);
        let (hop, _) = packet.route.next(self.hops);
        queue.push(Waiting {
            packet,
            ring,
            blocked: queue.blocked_time(class, hop, now),
        });
        if begins {
            if let Some(packet) = self.begin_service(port, served, ready) {
                self.deliver(port, &packet, packet.time, packet.route, packet.flags);
            }
            return;
        }
        self.hold(port, served, ring, &packet, now);
        if self.served_free_at(port, served) > now {
            self.schedule_service(port, served);
        }
    }

    /// Returns when `port` will hold at most `bytes` if it is not paused from `now` on. If `class` is given, packets of other
    /// classes do not count while their classes are paused.
    pub fn lossless_drain_time(&self, port: usize, now: u64, bytes: u32, class: Option<usize>) -> u64 {
        let output = &self.ports[port];
        let served = self.admissions.ports[port].served();
        let waiting = served.map_or(0, |served| match &self.served[served].queue {
            ServedQueue::Lossless(queue) => match class {
                None => queue.waiting_in(QueueSize::Bytes(0)) as u32,
                Some(class) => queue.bytes_before(class) as u32,
            },
            _ => 0,
        });
        let end = match waiting {
            0 => output.busy_until,
            _ => self.free_at(port).max(now) + output.serialisation(waiting),
        };
        end.saturating_sub(output.serialisation(bytes))
    }

    /// Returns true if `port` can be paused, and `class` is.
    pub fn is_paused(&self, port: usize, class: usize) -> bool {
        let served = self.admissions.ports[port].served();
        served.is_some_and(|served| match &self.served[served].queue {
            ServedQueue::Lossless(queue) => queue.is_paused(class.min(queue.classes() - 1)),
            _ => false,
        })
    }

    /// Counts a packet that waits at `port`, and pauses the link over which it came if necessary.
    fn hold(&mut self, port: usize, served: usize, ring: u32, packet: &Packet, now: u64) {
        let local = port - self.served[served].first_port();
        let Some(pauses) = &mut self.pauses else {
            return;
        };
        let max_packet = u64::from(pauses.max_packet);
        let Some(Some(link)) = pauses.incoming.get_mut(ring as usize) else {
            return;
        };
        let number = link.add(packet, local, &mut pauses.pools);
        let class = &mut link.classes[number];
        if !class.is_over && class.bytes + max_packet > link.thresholds.xoff {
            class.is_over = true;
            let port = link.reverse_port as usize;
            self.request_frame(port, now);
        }
    }

    /// Counts a packet that has left the queue of `port`. Returns the ring over which it came and its class,
    /// if the pause of that link may end.
    #[must_use]
    fn unhold(&mut self, port: usize, served: usize, waiting: &Waiting) -> Option<(u32, usize)> {
        let local = port - self.served[served].first_port();
        let pauses = self.pauses.as_mut()?;
        let link = pauses.incoming.get_mut(waiting.ring as usize)?.as_mut()?;
        let number = link.remove(&waiting.packet, local, &mut pauses.pools);
        link.classes[number].is_over.then_some((waiting.ring, number))
    }

    /// Ends the pause of a class of the link of `ring` if so little waits.
    fn resume_below_xon(&mut self, (ring, number): (u32, usize), now: u64) {
        let Some(link) = self.pauses.as_mut().and_then(|p| p.link(ring)) else {
            return;
        };
        let class = &mut link.classes[number];
        if class.is_over && class.bytes <= link.thresholds.xon {
            class.is_over = false;
            let port = link.reverse_port as usize;
            self.request_frame(port, now);
        }
    }

    /// Counts packets that are removed from the queue of `port` together.
    fn unhold_lost(&mut self, port: usize, served: usize, lost: &[Waiting], now: u64) {
        let paused = lost
            .iter()
            .filter_map(|waiting| self.unhold(port, served, waiting));
        let mut paused: Vec<_> = paused.collect();
        paused.sort_unstable();
        for link in paused {
            self.resume_below_xon(link, now);
        }
    }

    /// Chooses the next packet of a port that can be paused, as [`begin_service`](Self::begin_service) does.
    #[must_use]
    pub fn begin_lossless(&mut self, port: usize, served: usize, begin: u64) -> Option<Packet> {
        let ServedQueue::Lossless(queue) = &mut self.served[served].queue else {
            return None;
        };
        let waiting = queue.pop()?;
        let output = &mut self.ports[port];
        output.busy_until = begin + output.serialisation(waiting.packet.size.into());
        let time = output.busy_until + output.delay();
        self.schedule_service(port, served);
        self.release(port, served, &waiting, begin);
        Some(Packet {
            time,
            ..waiting.packet
        })
    }

    /// Handles that the transmission of a packet begins at `now`.
    fn release(&mut self, port: usize, served: usize, waiting: &Waiting, now: u64) {
        let packet = &waiting.packet;
        let (hop, _) = packet.route.next(self.hops);
        if let (Some(pauses), ServedQueue::Lossless(queue)) = (&mut self.pauses, &self.served[served].queue) {
            let blocked = queue.blocked_time(queue.class_of(packet), hop, now) - waiting.blocked;
            if blocked > 0 && packet.flags & DATA != 0 {
                let victim = pauses.victims.entry((packet.lo, packet.hi)).or_default();
                victim.packets += 1;
                victim.time += blocked;
            }
        }
        if let Some(link) = self.unhold(port, served, waiting) {
            self.resume_below_xon(link, now);
        }
    }

    /// Removes and returns the packets that wait at a port that has failed at `now`.
    pub fn clear_lossless(&mut self, port: usize, now: u64) -> Vec<Packet> {
        let Some((served, queue)) = self.lossless(port) else {
            return Vec::new();
        };
        let lost = queue.clear();
        self.unhold_lost(port, served, &lost, now);
        lost.iter().map(|waiting| waiting.packet).collect()
    }

    /// Sends a frame over `port` as soon as the packet or the frame that is being sent has left.
    pub fn request_frame(&mut self, port: usize, now: u64) {
        if self.free_at(port) <= now {
            self.send_frame(port, now);
        } else if let Some(served) = self.admissions.ports[port].served()
            && !self.admissions.ports[port].down
        {
            self.served[served].wants_frame = true;
            self.schedule_service(port, served);
        }
    }

    /// Sends a frame over `port`, which is idle, with the classes of the link in the other direction whose
    /// pauses have begun or ended since the last frame. Returns false if there are none, or if the link is
    /// down: the frame is then sent when it is up.
    pub fn send_frame(&mut self, port: usize, now: u64) -> bool {
        let Some(pauses) = &mut self.pauses else {
            return false;
        };
        let Some(served) = self.admissions.ports[port].served() else {
            return false;
        };
        let (output, state) = (&self.ports[port], &mut self.served[served]);
        state.wants_frame = false;
        let ring = pauses
            .ring_of_port
            .get(&(port as u32))
            .copied()
            .unwrap_or(NO_RING);
        let own = pauses.partition;
        let Some(link) = pauses.link(ring).filter(|link| link.is_outdated()) else {
            return false;
        };
        if self.admissions.ports[port].down {
            return false;
        }
        state.frames_until = now + output.serialisation(PAUSE_FRAME);
        let effect = state.frames_until + output.delay() + link.reaction;
        // After a change of the delay, frames still take effect in order.
        link.last_effect = link.last_effect.max(effect);
        link.frames += 1;
        let events = link.announce();
        let partition = link.partition;
        if link.is_captured {
            let time = state.frames_until + output.delay();
            let reverse = link.reverse;
            pauses.captured.extend(events.iter().map(|event| CapturedPause {
                time,
                link: reverse,
                class: event.class,
                is_paused: matches!(event.action, PauseAction::Pause { .. }),
            }));
        }
        if partition == own {
            pauses.events.extend(events.into_iter().map(Reverse));
        } else {
            pauses.outboxes[partition as usize].extend(events);
        }
        self.schedule_service(port, served);
        true
    }

    /// Processes the earliest pause event of the current node.
    pub fn process_pause(&mut self) {
        let Some(Reverse(event)) = self.pauses.as_mut().and_then(|pauses| pauses.due.pop()) else {
            return;
        };
        let (port, class, now) = (event.port as usize, usize::from(event.class), event.time);
        let Some((served, queue)) = self.lossless(port) else {
            return;
        };
        match event.action {
            PauseAction::Pause { cause } => {
                let pause = queue.pause(class, now, cause);
                if let Some((pause, watchdog)) = pause.zip(queue.watchdog) {
                    self.set_watchdog(PauseEvent {
                        time: now + watchdog,
                        order: WATCHDOG | u64::from(event.port) << 8 | u64::from(event.class),
                        action: PauseAction::Watchdog { pause },
                        ..event
                    });
                }
            }
            PauseAction::Resume => {
                let waiting = queue.len();
                queue.resume(class, now);
                self.wake_up(port, now);
                self.admissions.ports[port].add_time(|| waiting, now);
                if self.free_at(port) > now {
                    self.schedule_service(port, served);
                } else if let Some(packet) = self.next_service(port, served, now) {
                    self.deliver(port, &packet, packet.time, packet.route, packet.flags);
                }
            }
            PauseAction::Watchdog { pause } => {
                let waiting = queue.len();
                let lost = queue.expire(class, pause);
                if !lost.is_empty() {
                    self.admissions.ports[port].add_time(|| waiting, now);
                }
                let packets: Vec<Packet> = lost.iter().map(|waiting| waiting.packet).collect();
                self.count_lost(port, &packets);
                self.unhold_lost(port, served, &lost, now);
            }
        }
    }

    /// Lets an endpoint wait for the end of a pause of `port`. Returns false if the port cannot be paused.
    pub fn set_wake_up(&mut self, port: usize, wake_up: WakeUp) -> bool {
        let queue = self.lossless(port);
        queue.map(|(_, queue)| queue.wake_up = Some(wake_up)).is_some()
    }

    /// Sets the timer of the endpoint that waits for the end of a pause of `port`, if one does.
    pub fn wake_up(&mut self, port: usize, now: u64) {
        let Some((served, queue)) = self.lossless(port) else {
            return;
        };
        if let Some(wake_up) = queue.wake_up.take() {
            self.set_timer(Timer {
                time: wake_up.time(now),
                node: self.served[served].from,
                key: wake_up.key,
            });
        }
    }

    /// Sets the watchdog of a pause at the current node.
    fn set_watchdog(&mut self, event: PauseEvent) {
        if let Some(pauses) = &mut self.pauses {
            if event.time < self.end {
                pauses.due.push(Reverse(event));
            } else {
                pauses.events.push(Reverse(event));
            }
        }
    }
}

/// Returns true if a packet may wait in a queue with this limit.
fn has_space(pauses: Option<&Pauses>, queue: &LosslessQueue, admission: &Admission, packet: &Packet) -> bool {
    if queue.is_dropping(queue.class_of(packet)) {
        return false;
    }
    let Some(pauses) = pauses else {
        return true;
    };
    if let Some(Some(link)) = pauses.incoming.get(pauses.ring as usize) {
        return link.has_space(packet, &pauses.pools);
    }
    pauses.ring == NO_RING || !admission.is_full(|unit| queue.waiting_in(unit), packet.size)
}
