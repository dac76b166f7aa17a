//! Priority flow control in the [reference](super): each decision counts the lists of
//! waiting packets.

mod frames;

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

use weft_fabric::{Fabric, Lossless, QueueKind, Red, RedAction, RedAt};
use weft_spec::{QueueSize, Size};

use self::frames::Frame;
use super::{Event, Reference, TestEndpoint, serialisation};
use crate::packet::{CE, DATA, ECT, PROTECTED, Packet};

/// The state of all links that can be paused.
pub struct Stops {
    links: Vec<LinkStops>,
    /// Frames on their way, by link and number.
    frames: HashMap<(u32, u32), Frame>,
    /// Packets that were blocked by others, and for how long, by (`lo`, `hi`).
    pub blocked: HashMap<(u32, u32), (u64, u64)>,
}

/// Sums of a run.
pub struct Totals {
    pub ties: [u64; 2],
    pub drops: u64,
    /// Pauses of classes of links, pauses that the watchdog ended, and packets that other packets blocked.
    pub pauses: u64,
    pub expired: u64,
    pub blocked: u64,
}

/// A link.
#[derive(Clone, Default)]
struct LinkStops {
    /// The other direction of the cable.
    back: Option<u32>,
    /// The link over which each waiting packet came, and the time.
    arrivals: VecDeque<(Option<u32>, u64)>,
    /// All pauses of each class of the port: begin, end, cause.
    pauses: [Vec<(u64, Option<u64>, u32)>; 8],
    gives_up: [bool; 8],
    /// Whether the receiver wants to pause each class, and whether the last frame said so.
    is_over: [bool; 8],
    is_announced: [bool; 8],
    /// End of the last frame over this link, number of frames, and when the last one takes effect.
    frames_end: u64,
    /// Whether a frame is to be sent.
    pending: bool,
    frames: u32,
    effect: u64,
    /// End of the service of the packet in service.
    served_at: u64,
    /// Number of frames that paused this link, and of pauses that were too long.
    frames_back: u64,
    too_long: u64,
}

impl Stops {
    pub fn new(fabric: &Fabric) -> Self {
        let between = |from, to| {
            (0..)
                .zip(&fabric.links)
                .filter(move |(_, l)| l.from == from && l.to == to)
        };
        let back = |(number, link): (u32, &weft_fabric::Link)| {
            let rank = between(link.from, link.to)
                .take_while(|(other, _)| *other < number)
                .count();
            between(link.to, link.from).nth(rank).map(|(other, _)| other)
        };
        let link = |back| LinkStops {
            back,
            ..LinkStops::default()
        };
        Self {
            links: (0..).zip(&fabric.links).map(back).map(link).collect(),
            frames: HashMap::new(),
            blocked: HashMap::new(),
        }
    }
}

impl LinkStops {
    fn is_paused(&self, class: usize) -> bool {
        self.pauses[class].last().is_some_and(|(_, end, _)| end.is_none())
    }
}

fn class_in(stated: &Lossless, packet: &Packet) -> usize {
    usize::from(packet.flags / 4096 % 8).min(usize::from(stated.classes) - 1)
}

impl<T: TestEndpoint> Reference<'_, T> {
    fn stated(&self, link: u32) -> Option<Lossless> {
        match self.fabric.links[link as usize].kind {
            QueueKind::Lossless(stated) => Some(stated),
            _ => None,
        }
    }

    pub fn is_lossless(&self, link: u32) -> bool {
        self.stated(link).is_some()
    }

    /// The rules for what arrives over `link`: those of the port in the other direction.
    fn rules(&self, link: u32) -> Option<(u32, Lossless)> {
        let back = self.stops.links[link as usize].back?;
        Some((back, self.stated(back)?))
    }

    /// Bytes that came over `over` in a class and wait for `link`.
    fn held_at(&self, link: u32, over: u32, class: usize, stated: &Lossless) -> u64 {
        if !self.is_lossless(link) {
            return 0;
        }
        let waiting = self.wires[link as usize].fifo.waiting.iter();
        waiting
            .zip(&self.stops.links[link as usize].arrivals)
            .filter(|(packet, tag)| tag.0 == Some(over) && class_in(stated, packet) == class)
            .map(|(packet, _)| u64::from(packet.size))
            .sum()
    }

    /// The links out of the node at the end of `over`, with the bytes of a class that came over it.
    fn held(&self, over: u32, class: usize, stated: &Lossless) -> Vec<(u32, u64)> {
        let node = self.fabric.links[over as usize].to;
        (0..self.fabric.links.len() as u32)
            .filter(|&link| self.fabric.links[link as usize].from == node)
            .map(|link| (link, self.held_at(link, over, class, stated)))
            .collect()
    }

    /// Thresholds of an incoming link: xoff, xon, capacity.
    fn bounds(&self, over: u32, back: u32, stated: &Lossless) -> [u64; 3] {
        let links = &self.fabric.links;
        let thresholds = stated.thresholds(
            &links[over as usize].wire(),
            &links[back as usize].wire(),
            self.max_packet.into(),
        );
        [thresholds.xoff, thresholds.xon, thresholds.capacity]
    }

    /// Bytes beyond xoff at the node at the end of `over`, of all links into it that share headroom.
    fn in_pool(&self, over: u32) -> u64 {
        let node = self.fabric.links[over as usize].to;
        let links = 0..self.fabric.links.len() as u32;
        let into = links.filter(|&link| self.fabric.links[link as usize].to == node);
        let shared = into.filter_map(|link| {
            let (back, rules) = self.rules(link)?;
            rules.headroom_pool.map(|_| (link, back, rules))
        });
        let beyond = |(link, back, rules): (u32, u32, Lossless)| {
            let [xoff, ..] = self.bounds(link, back, &rules);
            let held = |class| {
                self.held(link, class, &rules)
                    .iter()
                    .map(|(_, bytes)| bytes)
                    .sum::<u64>()
            };
            (0..usize::from(rules.classes))
                .map(|class| held(class).saturating_sub(xoff))
                .sum::<u64>()
        };
        shared.map(beyond).sum()
    }

    /// Sends a packet over `link`, whose service begins at `begins` if nothing hinders it.
    pub fn send_lossless(&mut self, link: u32, mut packet: Packet, now: u64, begins: u64, over: Option<u32>) {
        let Some(stated) = self.stated(link) else { return };
        let l = link as usize;
        if !self.wires[l].up {
            self.wires[l].fifo.refuse(&packet);
            return self.count_drops(&[packet]);
        }
        self.wires[l].fifo.add_time(now);
        let class = class_in(&stated, &packet);
        let stops = &self.stops.links[l];
        let is_free = self.wires[l].fifo.serving.is_none() && stops.frames_end <= now;
        let begins_now = is_free && !stops.is_paused(class);
        let is_protected = packet.flags & PROTECTED != 0;
        if !begins_now && !is_protected && (stops.gives_up[class] || self.is_full_for(link, &packet, over)) {
            self.wires[l].fifo.refuse(&packet);
            return self.count_drops(&[packet]);
        }
        let fifo = &mut self.wires[l].fifo;
        let waiting = fifo.waiting.iter();
        let alike = waiting.filter(|other| class_in(&stated, other) == class);
        let (packets, bytes) = alike.fold((0, 0), |(packets, bytes), other| {
            (packets + 1, bytes + u64::from(other.size))
        });
        let length = |unit| match unit {
            QueueSize::Packets(_) => packets,
            QueueSize::Bytes(_) => bytes,
        };
        let may_mark = !is_protected && packet.flags & ECT != 0;
        let is_long = match self.fabric.links[l].queue.mark {
            None => false,
            Some(mark @ QueueSize::Packets(threshold)) => length(mark) >= u64::from(threshold),
            Some(mark @ QueueSize::Bytes(threshold)) => length(mark) >= threshold,
        };
        let mut is_chosen = |min, max| {
            let ramp = Red {
                min,
                max,
                probability: stated.mark_probability.unwrap_or(1.0),
                action: RedAction::Mark,
                nodrop: true,
                at: RedAt::Enqueue,
                weight: None,
            };
            fifo.is_chosen(ramp, length(min) as f64)
        };
        let ramp = stated.mark_min.zip(stated.mark_max);
        let is_long = may_mark && ramp.map_or(is_long, |(min, max)| is_chosen(min, max));
        let fifo = &mut self.wires[l].fifo;
        if is_long {
            packet.flags |= CE;
            fifo.marks += 1;
            fifo.count(&packet, |class| class.marks += 1);
        }
        fifo.add(packet);
        if begins_now {
            self.stops.links[l].arrivals.push_back((None, now));
            return self.start(link, now, begins);
        }
        self.stops.links[l].arrivals.push_back((over, now));
        if let Some((over, (back, rules))) = over.and_then(|over| Some((over, self.rules(over)?))) {
            let class = class_in(&rules, &packet);
            let [xoff, ..] = self.bounds(over, back, &rules);
            let held: u64 = self
                .held(over, class, &rules)
                .iter()
                .map(|(_, bytes)| bytes)
                .sum();
            if !self.stops.links[over as usize].is_over[class] && held + u64::from(self.max_packet) > xoff {
                self.stops.links[over as usize].is_over[class] = true;
                self.say(back, now);
            }
        }
        self.wake(link, now);
    }

    /// Whether there is no room for a packet that came over `over` and has to wait for `link`.
    fn is_full_for(&self, link: u32, packet: &Packet, over: Option<u32>) -> bool {
        let Some(over) = over else { return false };
        if let Some((back, rules)) = self.rules(over) {
            let held = self.held(over, class_in(&rules, packet), &rules);
            let [xoff, _, capacity] = self.bounds(over, back, &rules);
            let now = held.iter().map(|(_, bytes)| bytes).sum::<u64>();
            let then = now + u64::from(packet.size);
            let more = then.saturating_sub(xoff) - now.saturating_sub(xoff);
            let is_pool_full = |pool: Size| more > 0 && self.in_pool(over) + more > pool.0;
            return then > capacity || rules.headroom_pool.is_some_and(is_pool_full);
        }
        let fifo = &self.wires[link as usize].fifo;
        match self.fabric.links[link as usize].queue.limit {
            QueueSize::Packets(limit) => fifo.waiting.len() >= limit as usize,
            QueueSize::Bytes(limit) => fifo.bytes_waiting() + u64::from(packet.size) > limit,
        }
    }

    /// The position of the packet that is served next.
    fn first_allowed(&self, link: u32) -> Option<usize> {
        let stated = self.stated(link)?;
        let waiting = &self.wires[link as usize].fifo.waiting;
        let first = |class| {
            waiting
                .iter()
                .position(|packet| class_in(&stated, packet) == class)
        };
        let stops = &self.stops.links[link as usize];
        let classes = 0..usize::from(stated.classes);
        classes.filter(|&class| !stops.is_paused(class)).find_map(first)
    }

    /// Begins a service at `begins`.
    fn start(&mut self, link: u32, now: u64, begins: u64) {
        let Some(position) = self.first_allowed(link) else {
            return;
        };
        let l = link as usize;
        let wire = &mut self.wires[l];
        wire.fifo.add_time(now);
        let packet = wire.fifo.waiting.remove(position).expect("a packet");
        let (over, came) = self.stops.links[l]
            .arrivals
            .remove(position)
            .expect("its arrival");
        wire.fifo.serving = Some(packet);
        let served = begins + serialisation(wire.rate, packet.size);
        self.stops.links[l].served_at = served;
        self.events.push(Reverse((served, Event::Served { link })));
        self.count_blocked(link, &packet, came, now);
        self.freed(&[(over, packet)], now);
    }

    /// Counts a packet that waited from `came` until `now` because of packets for other links.
    fn count_blocked(&mut self, link: u32, packet: &Packet, came: u64, now: u64) {
        let Some(stated) = self.stated(link) else { return };
        let next_node = self.fabric.links[link as usize].to;
        let next_link = (!packet.route.is_at_destination())
            .then(|| self.first[next_node as usize] + packet.route.next(self.hops).0);
        let pauses = &self.stops.links[link as usize].pauses[class_in(&stated, packet)];
        let time: u64 = pauses
            .iter()
            .filter(|(.., cause)| Some(*cause) != next_link)
            .map(|&(begin, end, _)| end.unwrap_or(now).min(now).saturating_sub(begin.max(came)))
            .sum();
        if time > 0 && packet.flags & DATA != 0 {
            let blocked = self.stops.blocked.entry((packet.lo, packet.hi)).or_default();
            blocked.0 += 1;
            blocked.1 += time;
        }
    }

    /// Handles that packets do not wait any more. Each comes with the link over which it came.
    fn freed(&mut self, packets: &[(Option<u32>, Packet)], now: u64) {
        let mut over: Vec<(u32, usize)> = packets
            .iter()
            .filter_map(|(over, packet)| Some(((*over)?, class_in(&self.rules((*over)?)?.1, packet))))
            .collect();
        over.sort_unstable();
        for (over, class) in over {
            let Some((back, rules)) = self.rules(over) else {
                continue;
            };
            let [_, xon, _] = self.bounds(over, back, &rules);
            let held: u64 = self
                .held(over, class, &rules)
                .iter()
                .map(|(_, bytes)| bytes)
                .sum();
            if self.stops.links[over as usize].is_over[class] && held <= xon {
                self.stops.links[over as usize].is_over[class] = false;
                self.say(back, now);
            }
        }
    }

    /// Ends the service that is over.
    fn end_service(&mut self, link: u32, now: u64) {
        let l = link as usize;
        if self.wires[l].fifo.serving.is_some() && self.stops.links[l].served_at == now {
            self.wires[l].fifo.add_time(now);
            let packet = self.wires[l].fifo.serving.take().expect("a packet in service");
            self.fly(link, packet, now);
        }
    }

    /// Begins a service if the port is free.
    fn go_on(&mut self, link: u32, now: u64) {
        if self.wires[link as usize].fifo.serving.is_none() {
            if self.stops.links[link as usize].frames_end > now {
                self.wake(link, now);
            } else if !(self.stops.links[link as usize].pending && self.speak(link, now)) {
                self.start(link, now, now);
            }
        }
    }

    /// Has the port look for a packet after the frames that it is sending.
    fn wake(&mut self, link: u32, now: u64) {
        let end = self.stops.links[link as usize].frames_end;
        let is_serving = self.wires[link as usize].fifo.serving.is_some();
        let is_pending = self.stops.links[link as usize].pending;
        if !is_serving && end > now && (is_pending || self.first_allowed(link).is_some()) {
            self.events.push(Reverse((end, Event::Served { link })));
        }
    }

    /// Ends the service of a packet, or the frames before it.
    pub fn leave_lossless(&mut self, link: u32, now: u64) {
        self.end_service(link, now);
        self.go_on(link, now);
    }

    /// Gives up a pause that is too long: drops what waits.
    pub fn watch(&mut self, link: u32, class: usize, stop: usize, now: u64) {
        let Some(stated) = self.stated(link) else { return };
        let l = link as usize;
        let stops = &mut self.stops.links[l];
        if !stops.is_paused(class) || stops.pauses[class].len() != stop {
            return;
        }
        stops.gives_up[class] = true;
        stops.too_long += 1;
        self.wires[l].fifo.add_time(now);
        let is_lost = |packet: &Packet| class_in(&stated, packet) == class && packet.flags & PROTECTED == 0;
        let mut freed = Vec::new();
        while let Some(position) = self.wires[l].fifo.waiting.iter().position(is_lost) {
            let fifo = &mut self.wires[l].fifo;
            let packet = fifo.waiting.remove(position).expect("a packet");
            fifo.refuse(&packet);
            fifo.uncount(&packet);
            let (over, _) = self.stops.links[l]
                .arrivals
                .remove(position)
                .expect("its arrival");
            self.count_drops(&[packet]);
            freed.push((over, packet));
        }
        self.freed(&freed, now);
    }

    /// Handles that `link` has failed while these packets waited.
    pub fn forget(&mut self, link: u32, now: u64, lost: Vec<Packet>) {
        let l = link as usize;
        let arrivals = std::mem::take(&mut self.stops.links[l].arrivals);
        self.stops.links[l].frames_end = self.stops.links[l].frames_end.min(now);
        self.stops.links[l].pending = false;
        let over = arrivals.into_iter().map(|(over, _)| over);
        self.freed(&over.zip(lost).collect::<Vec<_>>(), now);
    }

    /// Counters of a link: frames that paused it, time for which it was paused, and pauses that were too long.
    pub fn stopped(&self, link: u32, now: u64) -> [u64; 3] {
        let stops = &self.stops.links[link as usize];
        let pauses = stops.pauses.iter().flatten();
        let time = pauses.map(|&(begin, end, _)| end.unwrap_or(now) - begin).sum();
        [stops.frames_back, time, stops.too_long]
    }

    pub fn totals(&self, now: u64) -> Totals {
        let links = 0..self.wires.len() as u32;
        let stopped = links.map(|link| self.stopped(link, now));
        let [pauses, _, expired] =
            stopped.fold([0; 3], |sum, link| std::array::from_fn(|i| sum[i] + link[i]));
        Totals {
            ties: self.ties,
            drops: self.wires.iter().map(|wire| wire.fifo.drops).sum(),
            pauses,
            expired,
            blocked: self.stops.blocked.values().map(|(packets, _)| packets).sum(),
        }
    }
}
