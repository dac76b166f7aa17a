//! A plain simulator as the reference for the window engine: one heap of all events, one event at a
//! time, and queues that are served event by event. It is slow, and too simple to have the same
//! faults.

mod classes;
pub mod pauses;
pub mod queue;
mod trims;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

use weft_fabric::{Fabric, Link, QueueKind};
use weft_spec::Rate;

use self::pauses::Stops;
use self::queue::{Fifo, Source, Surroundings};
use crate::packet::{DATA, PROTECTED, Packet};
use crate::partition::trace_packet;
use crate::route::HopBits;
use crate::{EngineConfig, Jitter, LinkChange, Reading, ReturnRoutes, Sample, SampleTarget, mix};

/// An action of an endpoint at an event. Actions are performed in order.
pub enum TestAction {
    /// Sends a packet along its route.
    Send(Packet),
    /// Sets a timer: time and key.
    Timer(u64, u64),
}

/// An endpoint that both simulators can run.
pub trait TestEndpoint {
    /// Processes a packet that arrived.
    fn packet(&mut self, packet: &Packet, now: u64) -> Vec<TestAction>;
    /// Processes a timer that is due.
    fn timer(&mut self, key: u64, now: u64) -> Vec<TestAction>;
}

/// Returns the serialisation time of `bytes` in picoseconds: a byte's time is cut at 2^-16 ps, and
/// then the sum at 1 ps.
pub fn serialisation(rate: Rate, bytes: u16) -> u64 {
    let byte = (8_000_000_000_000_u128 << 16) / u128::from(rate.0);
    ((u128::from(bytes) * byte) >> 16) as u64
}

/// An event. Simultaneous events are processed in the order of the variants: a pause comes before
/// departures, a departure makes space for an arrival, and packets come before timers. Arrivals are ordered by rank and only then
/// by link, timers by key. A sample sees all earlier events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    Frame { link: u32, number: u32 },
    Watchdog { link: u32, class: usize, stop: usize },
    Served { link: u32 },
    Arrival { rank: u64, link: u32 },
    Timer { node: u32, key: u64 },
    Sample { probe: u32 },
}

/// Returns the rank that decides which of several links goes first at `time`.
fn tie_rank(seed: u64, link: u32, time: u64) -> u64 {
    random(seed, [link.into(), time])
}

/// Returns the time, at most `max`, that host `node` takes to process packet `n` of a port.
fn processing(seed: u64, node: u32, n: u64, max: u64) -> u64 {
    let tag = u64::from(u32::from_be_bytes(*b"proc"));
    let drawn = u128::from(random(seed, [(u64::from(node) << 32) + tag, n]));
    (drawn * u128::from(max + 1) / (1 << 64)) as u64
}

/// Returns a hash of the seed and the words, with the finaliser of Steele, Lea and Flood's
/// `SplitMix64` (OOPSLA 2014).
pub fn random(seed: u64, words: [u64; 2]) -> u64 {
    let product = |a: u64, b: u64| (u128::from(a) * u128::from(b) % (1 << 64)) as u64;
    let folded = |bits: u64, by: u32| bits ^ (bits / (1 << by));
    let stirred = words.into_iter().fold(seed, |so_far, word| {
        product(so_far.rotate_left(23) ^ word, 11_400_714_819_323_198_485)
    });
    let first = product(folded(stirred, 30), 13_787_848_793_156_543_929);
    let second = product(folded(first, 27), 10_723_151_780_598_845_931);
    folded(second, 31)
}

/// One direction of a cable.
pub struct Wire {
    pub fifo: Fifo,
    pub rate: Rate,
    pub delay: u64,
    pub up: bool,
    /// Propagating packets in order of arrival.
    pub flying: VecDeque<Packet>,
    pub delivered: u64,
    /// Packets that were or could have been lost on the wire, and those that were.
    exposed: u64,
    pub lost: u64,
}

impl Wire {
    pub fn in_flight(&self) -> u64 {
        self.fifo.held() + self.flying.len() as u64
    }

    /// Returns true if a packet that crosses the link is lost.
    fn is_lost(&mut self, link: u32, kind: &QueueKind, seed: u64, packet: &Packet) -> bool {
        let QueueKind::Lossy(rule) = kind else {
            return false;
        };
        if packet.flags & PROTECTED != 0 {
            return false;
        }
        self.exposed += 1;
        let is_lost = if let Some(probability) = rule.loss {
            let tag = u64::from(u32::from_be_bytes(*b"loss"));
            let drawn = random(seed, [(u64::from(link) << 32) + tag, self.exposed]) >> 11;
            (drawn as f64) < probability * (1_u64 << 53) as f64
        } else {
            rule.every.is_some_and(|n| self.exposed.is_multiple_of(n.into()))
        };
        self.lost += u64::from(is_lost);
        is_lost
    }
}

/// The network with a test endpoint at every host.
pub struct Reference<'a, T> {
    pub fabric: &'a Fabric,
    pub hops: HopBits,
    pub seed: u64,
    /// Maximum processing time at a host.
    jitter: Jitter,
    /// Size of the largest packet in bytes.
    pub max_packet: u16,
    return_routes: Option<Arc<dyn ReturnRoutes>>,
    pub events: BinaryHeap<Reverse<(u64, Event)>>,
    /// The first link of each node.
    pub first: Vec<u32>,
    pub stops: Stops,
    pub wires: Vec<Wire>,
    pub endpoints: Vec<T>,
    /// Sampled targets, with their intervals.
    samples: Vec<(SampleTarget, u64)>,
    /// Samples so far.
    pub sampled: Vec<Sample>,
    /// Number of data packets dropped, by (`lo`, `hi`).
    pub drops: HashMap<(u32, u32), u64>,
    /// Number of packets that reached a node, and of timers that fired.
    pub events_so_far: (u64, u64),
    /// Time of the last packet of each node, and the link over which the packet came.
    last: Vec<(u64, u32)>,
    /// Number of packets that reached a node together with the packet before them, if that came
    /// over a link with a lower number, and with a higher number.
    pub ties: [u64; 2],
    /// Hash of the events of each node.
    pub trace: Vec<u64>,
}

impl<'a, T: TestEndpoint> Reference<'a, T> {
    pub fn new(fabric: &'a Fabric, config: &EngineConfig, hops: HopBits, endpoints: Vec<T>) -> Self {
        let wire = |(number, link): (u32, &Link)| Wire {
            fifo: Fifo::new(
                link.queue,
                link.kind.clone(),
                config.max_packet as u16,
                !fabric.hosts.contains(&link.from),
                Source {
                    seed: config.seed,
                    link: number,
                },
            ),
            rate: link.rate,
            delay: link.delay.0,
            up: true,
            flying: VecDeque::new(),
            delivered: 0,
            exposed: 0,
            lost: 0,
        };
        let samples = (0..).zip(&config.samples);
        let samples = samples.map(|(probe, &(_, interval))| Reverse((interval, Event::Sample { probe })));
        let first = |node| fabric.links.iter().take_while(|l| l.from < node).count() as u32;
        Self {
            fabric,
            hops,
            seed: config.seed,
            jitter: config.jitter,
            max_packet: config.max_packet as u16,
            return_routes: config.return_routes.clone(),
            events: samples.collect(),
            first: (0..fabric.nodes.len() as u32).map(first).collect(),
            stops: Stops::new(fabric),
            wires: (0..).zip(&fabric.links).map(wire).collect(),
            endpoints,
            samples: config.samples.clone(),
            sampled: Vec::new(),
            drops: HashMap::new(),
            events_so_far: (0, 0),
            last: vec![(u64::MAX, 0); fabric.nodes.len()],
            ties: [0, 0],
            trace: vec![0; fabric.nodes.len()],
        }
    }

    /// Sets a timer at a host's node.
    pub fn set_timer(&mut self, node: u32, time: u64, key: u64) {
        self.events.push(Reverse((time, Event::Timer { node, key })));
    }

    /// Processes all events before `end`.
    pub fn run_until(&mut self, end: u64) {
        while let Some(&Reverse((now, event))) = self.events.peek() {
            if now >= end {
                break;
            }
            self.events.pop();
            match event {
                Event::Frame { link, number } => self.apply(link, number, now),
                Event::Watchdog { link, class, stop } => self.watch(link, class, stop, now),
                Event::Served { link } => self.leave(link, now),
                Event::Arrival { link, .. } => {
                    let Link { to: node, kind, .. } = &self.fabric.links[link as usize];
                    let node = *node;
                    let wire = &mut self.wires[link as usize];
                    let packet = wire.flying.pop_front().expect("a packet on its way");
                    if wire.is_lost(link, kind, self.seed, &packet) {
                        self.count_drops(&[packet]);
                        continue;
                    }
                    wire.delivered += 1;
                    let (time, last) = std::mem::replace(&mut self.last[node as usize], (now, link));
                    if time == now {
                        self.ties[usize::from(last > link)] += 1;
                    }
                    self.arrive(node, Packet { time: now, ..packet }, link);
                }
                Event::Timer { node, key } => {
                    self.events_so_far.1 += 1;
                    mix(&mut self.trace[node as usize], now);
                    mix(&mut self.trace[node as usize], key);
                    let actions = self.endpoint(node).timer(key, now);
                    self.perform(node, actions, now);
                }
                Event::Sample { probe } => {
                    self.events_so_far.1 += 1;
                    let (target, interval) = self.samples[probe as usize];
                    let reading = self.reading(target);
                    self.sampled.push(Sample { time: now, reading });
                    self.events
                        .push(Reverse((now + interval, Event::Sample { probe })));
                }
            }
        }
    }

    /// Returns the values of a sample.
    fn reading(&self, target: SampleTarget) -> Reading {
        match target {
            SampleTarget::Queue { link } => {
                let fifo = &self.wires[link as usize].fifo;
                Reading::Queue {
                    link,
                    length: fifo.length(),
                    marks: fifo.marks,
                    drops: fifo.drops,
                }
            }
            SampleTarget::Buffer { node } => Reading::Buffer {
                node,
                bytes: self.buffered_bytes(node),
            },
        }
    }

    /// Returns the number of packets at the port of `link` whose last bit has not left by `now`, up to which
    /// the events have been processed.
    pub fn unsent(&self, link: u32, now: u64) -> u64 {
        let fifo = &self.wires[link as usize].fifo;
        let leaves = (now, Event::Served { link });
        let is_leaving = fifo.serving.is_some() && self.events.iter().any(|&Reverse(event)| event == leaves);
        fifo.held() - u64::from(is_leaving)
    }

    /// Ends the transmission of a packet over `link`.
    fn leave(&mut self, link: u32, now: u64) {
        if self.is_lossless(link) {
            return self.leave_lossless(link, now);
        }
        let wire = &mut self.wires[link as usize];
        let (packet, next) = wire.fifo.served(now);
        let lost = std::mem::take(&mut wire.fifo.lost);
        self.fly(link, packet, now);
        let wire = &mut self.wires[link as usize];
        if let Some(size) = next {
            let served = now + serialisation(wire.rate, size);
            self.events.push(Reverse((served, Event::Served { link })));
        }
        self.count_drops(&lost);
    }

    /// Puts a packet on the link.
    pub fn fly(&mut self, link: u32, packet: Packet, now: u64) {
        let wire = &mut self.wires[link as usize];
        wire.flying.push_back(packet);
        let arrival = now + wire.delay;
        let rank = tie_rank(self.seed, link, arrival);
        self.events
            .push(Reverse((arrival, Event::Arrival { rank, link })));
    }

    /// Counts the data packets among those that were dropped.
    pub fn count_drops(&mut self, lost: &[Packet]) {
        for packet in lost.iter().filter(|packet| packet.flags & DATA != 0) {
            *self.drops.entry((packet.lo, packet.hi)).or_default() += 1;
        }
    }

    /// Changes a link before any other event at `now`. A packet whose last bit leaves at `now` has
    /// left.
    pub fn change(&mut self, link: u32, change: LinkChange, now: u64) {
        let leaves = (now, Event::Served { link });
        if self.events.iter().any(|&Reverse(event)| event == leaves) {
            self.events.retain(|&Reverse(event)| event != leaves);
            self.leave(link, now);
        }
        let wire = &mut self.wires[link as usize];
        match change {
            LinkChange::Down => {
                wire.up = false;
                let waiting = wire.fifo.waiting.iter().copied().collect();
                for packet in wire.fifo.clear(now) {
                    if packet.flags & DATA != 0 {
                        *self.drops.entry((packet.lo, packet.hi)).or_default() += 1;
                    }
                }
                self.events
                    .retain(|&Reverse((_, event))| event != Event::Served { link });
                self.forget(link, now, waiting);
            }
            LinkChange::Up => {
                wire.up = true;
                self.repeat_frames(link, now);
            }
            LinkChange::Rate(rate) => wire.rate = rate,
            LinkChange::Delay(delay) => {
                wire.delay = delay.0;
                let latest = now + delay.0;
                let sooner = |(time, event)| match event {
                    Event::Arrival { link: on, .. } if on == link && time > latest => {
                        let rank = tie_rank(self.seed, link, latest);
                        (latest, Event::Arrival { rank, link })
                    }
                    _ => (time, event),
                };
                let events = std::mem::take(&mut self.events);
                self.events = events
                    .into_iter()
                    .map(|Reverse(event)| Reverse(sooner(event)))
                    .collect();
            }
        }
    }

    fn endpoint(&mut self, node: u32) -> &mut T {
        let host = self.fabric.hosts.iter().position(|&n| n == node);
        &mut self.endpoints[host.expect("a host")]
    }

    fn arrive(&mut self, node: u32, packet: Packet, over: u32) {
        self.events_so_far.0 += 1;
        trace_packet(&mut self.trace[node as usize], &packet);
        if packet.route.is_at_destination() {
            let actions = self.endpoint(node).packet(&packet, packet.time);
            self.perform(node, actions, packet.time);
        } else {
            self.send(node, packet, packet.time, None, Some(over));
        }
    }

    fn perform(&mut self, node: u32, actions: Vec<TestAction>, now: u64) {
        for action in actions {
            match action {
                TestAction::Send(packet) => self.send(node, packet, now, Some(self.jitter), None),
                TestAction::Timer(time, key) => self.set_timer(node, time.max(now), key),
            }
        }
    }

    /// Sends a packet over the next port of its route. If the port is idle, processing first takes
    /// up to `jitter`. The packet came over the link `over`, unless the node itself sends it.
    fn send(&mut self, node: u32, mut packet: Packet, now: u64, jitter: Option<Jitter>, over: Option<u32>) {
        let (port, rest) = packet.route.next(self.hops);
        packet.route = rest;
        let link = self.first[node as usize] + port;
        if self.is_lossless(link) {
            let wire = &self.wires[link as usize];
            let max = jitter.map_or(0, |jitter| {
                jitter.time.max(serialisation(wire.rate, jitter.packet))
            });
            let begins = now + processing(self.seed, node, wire.fifo.packets, max);
            return self.send_lossless(link, packet, now, begins, over);
        }
        let surroundings = Surroundings {
            now,
            full_packet: serialisation(self.wires[link as usize].rate, self.max_packet),
            free: self.free_bytes(node),
        };
        let wire = &mut self.wires[link as usize];
        let n = wire.fifo.packets;
        let offered = if wire.up {
            wire.fifo.offer(packet, &surroundings)
        } else {
            wire.fifo.refuse(&packet);
            Err(packet)
        };
        match offered {
            Ok((_, true)) => {
                let max = jitter.map_or(0, |jitter| {
                    jitter.time.max(serialisation(wire.rate, jitter.packet))
                });
                let begins = now + processing(self.seed, node, n, max);
                let served = begins + serialisation(wire.rate, wire.fifo.serving_size());
                self.events.push(Reverse((served, Event::Served { link })));
            }
            Err(packet) => self.count_drops(&[packet]),
            Ok((_, false)) => {}
        }
        let fifo = &mut self.wires[link as usize].fifo;
        let (lost, returned) = (std::mem::take(&mut fifo.lost), std::mem::take(&mut fifo.returned));
        self.count_drops(&lost);
        for header in returned {
            let routes = self.return_routes.clone();
            if let Some(route) = routes.and_then(|routes| routes.route_back(node, &header)) {
                self.send(node, Packet { route, ..header }, now, None, over);
            } else {
                self.wires[link as usize].fifo.refuse(&header);
                self.count_drops(&[header]);
            }
        }
    }

    /// Returns how many bytes wait in the buffer of a node, over all ports that share or count it.
    fn buffered_bytes(&self, node: u32) -> u64 {
        let own = self.fabric.links.iter().zip(&self.wires);
        let own = own.filter(|(link, _)| link.from == node);
        let own = own.filter(|(link, _)| matches!(link.kind, QueueKind::Shared(_) | QueueKind::Lossless(_)));
        own.map(|(_, wire)| wire.fifo.bytes_waiting()).sum()
    }

    /// Returns the free bytes of the part of a node's buffer that no port reserves, of a node without a
    /// shared buffer 0.
    fn free_bytes(&self, node: u32) -> u64 {
        let own = self.fabric.links.iter().zip(&self.wires);
        let own = own.filter(|(link, _)| link.from == node);
        let shared: Vec<_> = own
            .filter_map(|(_, wire)| Some((wire.fifo.shared()?, wire.fifo.bytes_waiting())))
            .collect();
        let Some((first, _)) = shared.first() else {
            return 0;
        };
        let reserved: u64 = shared.iter().map(|(port, _)| port.reserve.0).sum();
        let used: u64 = shared
            .iter()
            .map(|(port, bytes)| bytes.saturating_sub(port.reserve.0))
            .sum();
        first.buffer.0.saturating_sub(reserved).saturating_sub(used)
    }
}
