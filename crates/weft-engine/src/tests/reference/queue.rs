//! The queues of the [reference](super): packets wait in a list and are served one by one.

use std::collections::VecDeque;

use weft_fabric::{CoDel, QueueConfig, QueueKind, Red, RedAction, RedAt, Shared};
use weft_spec::QueueSize;

use super::classes::Classes;
use super::random;
use super::trims::{Rest, Trims};
use crate::ClassCounters;
use crate::packet::{CE, ECT, PROTECTED, Packet};

/// Distinguishes the random numbers of a queue from others of its link.
pub const STREAM: u64 = 0x7175_6575;

/// The source of a queue's random numbers.
#[derive(Clone, Copy)]
pub struct Source {
    pub seed: u64,
    pub link: u32,
}

/// Values from outside a queue that its decisions need.
pub struct Surroundings {
    pub now: u64,
    /// Serialisation time of the largest packet in picoseconds.
    pub full_packet: u64,
    /// Free bytes of the part of the node's buffer that no port reserves.
    pub free: u64,
}

/// The variables of RFC 8289, section 5.3.
#[derive(Default)]
struct CodelState {
    max_packet: u64,
    first_above_time: u64,
    drop_next: u64,
    count: u64,
    last_count: u64,
    dropping: bool,
}

/// A FIFO with one server. Its owner calls [`served`](Self::served) when the packet in service has
/// left.
pub struct Fifo {
    queue: QueueConfig,
    kind: QueueKind,
    classes: Option<Classes>,
    trims: Option<Trims>,
    /// Counters of each class.
    pub counters: Vec<ClassCounters>,
    source: Source,
    /// How many random numbers were drawn.
    drawn: u64,
    /// RED's average length, and packets since the last one that was chosen; -1 if the average is not
    /// on the ramp.
    average: f64,
    count: i64,
    /// Time at which the server became idle.
    idle_since: u64,
    pub serving: Option<Packet>,
    pub waiting: VecDeque<Packet>,
    /// Packets that were dropped when their service would have begun, for the owner to take.
    pub lost: Vec<Packet>,
    /// Headers that go back to their senders, for the owner to take.
    pub returned: Vec<Packet>,
    /// Time up to which `time_at` is filled in.
    since: u64,
    /// `time_at[n]`: time in picoseconds during which `n` packets waited.
    time_at: Vec<u64>,
    codel: CodelState,
    pub packets: u64,
    pub bytes: u64,
    pub drops: u64,
    pub marks: u64,
}

impl Fifo {
    pub fn new(
        queue: QueueConfig,
        kind: QueueKind,
        max_packet: u16,
        at_switch: bool,
        source: Source,
    ) -> Self {
        let (mut classes, mut trims, mut counters) = (None, None, Vec::new());
        match &kind {
            QueueKind::Priority(priority) => {
                classes = Some(Classes::new(priority, queue, max_packet));
                counters.resize(priority.classes.len(), ClassCounters::default());
            }
            QueueKind::Trimming(stated) => {
                trims = Some(Trims::new(stated, queue, source, at_switch));
                counters.resize(2, ClassCounters::default());
            }
            QueueKind::Lossless(stated) if stated.classes > 1 => {
                counters.resize(stated.classes.into(), ClassCounters::default());
            }
            _ => {}
        }
        Self {
            queue,
            kind,
            classes,
            trims,
            counters,
            source,
            drawn: 0,
            average: 0.0,
            count: -1,
            idle_since: 0,
            serving: None,
            waiting: VecDeque::new(),
            lost: Vec::new(),
            returned: Vec::new(),
            since: 0,
            time_at: Vec::new(),
            codel: CodelState {
                max_packet: max_packet.into(),
                ..CodelState::default()
            },
            packets: 0,
            bytes: 0,
            drops: 0,
            marks: 0,
        }
    }

    /// The parameters of a shared buffer, if the queue is in one.
    pub fn shared(&self) -> Option<Shared> {
        match self.kind {
            QueueKind::Shared(shared) => Some(shared),
            _ => None,
        }
    }

    /// Number of bytes waiting.
    pub fn bytes_waiting(&self) -> u64 {
        self.waiting.iter().map(|p| u64::from(p.size)).sum()
    }

    /// Offers a packet. `Err` returns the packet, which is dropped; `Ok` returns its flags and
    /// whether its service begins.
    pub fn offer(&mut self, mut packet: Packet, around: &Surroundings) -> Result<(u16, bool), Packet> {
        self.add_time(around.now);
        packet.time = around.now;
        if self.trims.is_some() {
            return self.offer_or_cut(packet);
        }
        if packet.flags & PROTECTED == 0 {
            let [chosen_to_drop, chosen_to_mark] = self.choose(&packet, around);
            let [full, long] = self.full_and_long(&packet);
            let unmarkable = long && packet.flags & ECT == 0 && self.drops_unmarkable(&packet);
            if full || unmarkable || chosen_to_drop || !self.buffer_accepts(packet.size, around.free) {
                self.refuse(&packet);
                return Err(packet);
            }
            if (long || chosen_to_mark) && packet.flags & ECT != 0 {
                packet.flags |= CE;
                self.marks += 1;
                self.count(&packet, |class| class.marks += 1);
            }
        }
        self.add(packet);
        Ok((packet.flags, self.begin_if_idle()))
    }

    /// Adds an accepted packet to those that wait.
    pub fn add(&mut self, packet: Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        self.count(&packet, |class| {
            class.packets += 1;
            class.bytes += u64::from(packet.size);
        });
        self.waiting.push_back(packet);
        if let Some(classes) = &mut self.classes {
            classes.arrived(&packet);
        }
    }

    /// Begins a service if there is none. Returns whether one begins.
    fn begin_if_idle(&mut self) -> bool {
        let idle = self.serving.is_none();
        if idle {
            // The time of the offer.
            self.begin(self.since);
        }
        idle && self.serving.is_some()
    }

    /// Offers a packet to a queue that trims.
    fn offer_or_cut(&mut self, mut packet: Packet) -> Result<(u16, bool), Packet> {
        let mut trims = self.trims.take().expect("a queue that trims");
        let is_protected = packet.flags & PROTECTED != 0;
        let is_data = !trims.is_header(&packet);
        let is_full = !is_protected && trims.is_full(&packet, &self.waiting);
        let mut victim = None;
        if is_full && is_data {
            let last = trims.toss(&self.waiting);
            victim = last.and_then(|at| self.waiting.remove(at));
        }
        let is_long = is_data && !is_protected && trims.is_long(&self.waiting);
        let bounced = (is_full && !is_data).then(|| trims.bounce(packet)).flatten();
        self.trims = Some(trims);
        match victim {
            Some(last) => {
                self.uncount(&last);
                self.cut(last);
            }
            None if is_full && is_data => {
                self.cut(packet);
                return Ok((packet.flags, self.begin_if_idle()));
            }
            None if bounced.is_some() => {
                self.returned.extend(bounced);
                return Ok((packet.flags, false));
            }
            None if is_full => {
                self.refuse(&packet);
                return Err(packet);
            }
            None => {}
        }
        if is_long && packet.flags & ECT != 0 {
            packet.flags |= CE;
            self.marks += 1;
            self.count(&packet, |class| class.marks += 1);
        }
        self.add(packet);
        Ok((packet.flags, self.begin_if_idle()))
    }

    /// Cuts a packet that does not wait.
    fn cut(&mut self, packet: Packet) {
        let trims = self.trims.as_ref().expect("a queue that trims");
        let rest = trims.cut(packet, &self.waiting);
        if !matches!(rest, Rest::Lost(_)) {
            self.count(&packet, |class| class.trims += 1);
        }
        match rest {
            Rest::Waits(header) => self.add(header),
            Rest::GoesBack(header) => self.returned.push(header),
            Rest::Lost(header) => {
                self.refuse(&header);
                self.lost.push(header);
            }
        }
    }

    /// Takes back that a packet was accepted.
    pub fn uncount(&mut self, packet: &Packet) {
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.count(packet, |class| {
            class.packets -= 1;
            class.bytes -= u64::from(packet.size);
        });
    }

    /// Size of the packet in service.
    pub fn serving_size(&self) -> u16 {
        self.serving.map_or(0, |packet| packet.size)
    }

    /// Returns whether there is no room for a packet, and whether the queue is long.
    fn full_and_long(&self, packet: &Packet) -> [bool; 2] {
        if let Some(classes) = &self.classes {
            return classes.full_and_long(packet, &self.waiting);
        }
        let bytes = self.bytes_waiting();
        let full = match self.queue.limit {
            QueueSize::Packets(limit) => self.waiting.len() >= limit as usize,
            QueueSize::Bytes(limit) => bytes + u64::from(packet.size) > limit,
        };
        let long = match self.queue.mark {
            None => false,
            Some(QueueSize::Packets(k)) => self.waiting.len() >= k as usize,
            Some(QueueSize::Bytes(k)) => bytes >= k,
        };
        [full, long]
    }

    /// Returns whether the queue drops what it cannot mark where it would mark it.
    fn drops_unmarkable(&self, packet: &Packet) -> bool {
        match &self.kind {
            QueueKind::Shared(shared) => shared.drop_not_ect,
            QueueKind::Priority(priority) => {
                let class = self.classes.as_ref().expect("classes").class_of(packet);
                priority.classes[class].drop_not_ect
            }
            _ => false,
        }
    }

    /// Counts a packet as dropped.
    pub fn refuse(&mut self, packet: &Packet) {
        self.drops += 1;
        self.count(packet, |class| class.drops += 1);
    }

    /// Changes the counters of the class of a packet, if there are classes.
    pub fn count(&mut self, packet: &Packet, change: impl FnOnce(&mut ClassCounters)) {
        let class = match (&self.classes, &self.trims) {
            (Some(classes), _) => classes.class_of(packet),
            (_, Some(trims)) => usize::from(!trims.is_header(packet)),
            _ if self.counters.is_empty() => return,
            _ => packet.class().min(self.counters.len() - 1),
        };
        change(&mut self.counters[class]);
    }

    /// Removes the packet that is sent next.
    fn next(&mut self) -> Option<Packet> {
        let position = match (&mut self.classes, &mut self.trims) {
            (Some(classes), _) => classes.next(&self.waiting)?,
            (_, Some(trims)) => trims.next(&self.waiting)?,
            _ => 0,
        };
        self.waiting.remove(position)
    }

    /// Begins the service of the next packet. RED at dequeue marks or drops it.
    fn begin(&mut self, now: u64) {
        if let QueueKind::CoDel(stated) = self.kind {
            self.serving = self.controlled(stated, now);
            return;
        }
        while let Some(mut packet) = self.next() {
            if let QueueKind::Red(red) = self.kind
                && red.at == RedAt::Dequeue
                && packet.flags & PROTECTED == 0
            {
                let length = self.length_as(red.min);
                let chosen = self.is_chosen(red, length);
                if chosen && drops(red, &packet) {
                    self.packets -= 1;
                    self.bytes -= u64::from(packet.size);
                    self.drops += 1;
                    self.lost.push(packet);
                    continue;
                }
                if chosen && packet.flags & ECT != 0 {
                    packet.flags |= CE;
                    self.marks += 1;
                }
            }
            self.mark_by_ramp(&mut packet);
            self.serving = Some(packet);
            return;
        }
    }

    /// Takes a packet and says whether `CoDel` may drop it (`dodequeue` of RFC 8289, section 5.5).
    fn take_controlled(&mut self, stated: CoDel, now: u64) -> (Option<Packet>, bool) {
        let Some(packet) = self.waiting.pop_front() else {
            self.codel.first_above_time = 0;
            return (None, false);
        };
        let short = self.bytes_waiting() <= self.codel.max_packet;
        let mut ok_to_drop = false;
        if now - packet.time < stated.target.0 || short {
            self.codel.first_above_time = 0;
        } else if self.codel.first_above_time == 0 {
            self.codel.first_above_time = now + stated.interval.0;
        } else {
            ok_to_drop = now >= self.codel.first_above_time;
        }
        (Some(packet), ok_to_drop)
    }

    /// Takes the next packet to send (`deque` of RFC 8289, section 5.4, with marks as in Linux).
    fn controlled(&mut self, stated: CoDel, now: u64) -> Option<Packet> {
        let law = |time: u64, count: u64| time + (stated.interval.0 as f64 / (count as f64).sqrt()) as u64;
        let (mut packet, mut ok) = self.take_controlled(stated, now);
        if self.codel.dropping {
            self.codel.dropping = ok;
            while self.codel.dropping && now >= self.codel.drop_next {
                let found = packet.as_mut()?;
                if found.flags & PROTECTED != 0 {
                    break;
                }
                self.codel.count += 1;
                if stated.ecn && found.flags & ECT != 0 {
                    found.flags |= CE;
                    self.marks += 1;
                    self.codel.drop_next = law(self.codel.drop_next, self.codel.count);
                    break;
                }
                self.lose(packet);
                (packet, ok) = self.take_controlled(stated, now);
                self.codel.dropping = ok;
                if ok {
                    self.codel.drop_next = law(self.codel.drop_next, self.codel.count);
                }
            }
        } else if ok && packet.is_some_and(|found| found.flags & PROTECTED == 0) {
            match &mut packet {
                Some(found) if stated.ecn && found.flags & ECT != 0 => {
                    found.flags |= CE;
                    self.marks += 1;
                }
                _ => {
                    self.lose(packet);
                    (packet, _) = self.take_controlled(stated, now);
                }
            }
            self.codel.dropping = true;
            let delta = self.codel.count - self.codel.last_count;
            let recent = now < self.codel.drop_next + 16 * stated.interval.0;
            self.codel.count = if delta > 1 && recent { delta } else { 1 };
            self.codel.drop_next = law(now, self.codel.count);
            self.codel.last_count = self.codel.count;
        }
        packet
    }

    /// Drops a packet that was accepted.
    fn lose(&mut self, packet: Option<Packet>) {
        let Some(packet) = packet else { return };
        self.uncount(&packet);
        self.drops += 1;
        self.lost.push(packet);
    }

    /// Marks a data packet whose service begins, by the ramp of a queue that trims.
    fn mark_by_ramp(&mut self, packet: &mut Packet) {
        let Some(trims) = &self.trims else { return };
        let QueueKind::Trimming(stated) = &self.kind else {
            return;
        };
        let Some((min, max)) = stated.mark_min.zip(stated.mark_max) else {
            return;
        };
        if packet.flags & PROTECTED != 0 || trims.is_header(packet) {
            return;
        }
        let left = trims.data_waiting(min, &self.waiting);
        let ramp = Red {
            min,
            max,
            probability: 1.0,
            action: RedAction::Mark,
            nodrop: true,
            at: RedAt::Dequeue,
            weight: None,
        };
        if self.is_chosen(ramp, left) && packet.flags & ECT != 0 {
            packet.flags |= CE;
            self.marks += 1;
            self.count(packet, |class| class.marks += 1);
        }
    }

    /// Length of the queue in the unit of `unit`.
    fn length_as(&self, unit: QueueSize) -> f64 {
        match unit {
            QueueSize::Packets(_) => self.waiting.len() as f64,
            QueueSize::Bytes(_) => self.bytes_waiting() as f64,
        }
    }

    /// Returns whether RED drops, and whether it marks, a packet that arrives.
    fn choose(&mut self, packet: &Packet, around: &Surroundings) -> [bool; 2] {
        let QueueKind::Red(red) = self.kind else {
            return [false, false];
        };
        if red.at == RedAt::Dequeue {
            return [false, false];
        }
        let mut length = self.length_as(red.min);
        if let Some(weight) = red.weight {
            let mut steps = 1;
            if self.serving.is_none() {
                steps += (around.now - self.idle_since) / around.full_packet.max(1);
            }
            self.average = self.average * (1.0 - weight).powf(steps as f64) + weight * length;
            length = self.average;
        }
        let chosen = self.is_chosen(red, length);
        [chosen && drops(red, packet), chosen]
    }

    /// Returns true if a packet is marked or dropped at this length.
    pub fn is_chosen(&mut self, red: Red, length: f64) -> bool {
        let number = |size| match size {
            QueueSize::Packets(n) => f64::from(n),
            QueueSize::Bytes(n) => n as f64,
        };
        let (low, high) = (number(red.min), number(red.max));
        if length >= high {
            self.count = 0;
            return true;
        }
        if length <= low || red.probability <= 0.0 {
            self.count = -1;
            return false;
        }
        let on_ramp = red.probability * (length - low) / (high - low);
        let probability = if red.weight.is_some() {
            self.count += 1;
            let due = self.count as f64 * on_ramp;
            if due < 1.0 { on_ramp / (1.0 - due) } else { 1.0 }
        } else {
            on_ramp
        };
        let chosen = probability >= 1.0 || self.draw() < probability;
        if chosen {
            self.count = 0;
        }
        chosen
    }

    /// Returns the next random number from 0 to 1, with 53 bits.
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        let words = [(u64::from(self.source.link) << 32) + STREAM, self.drawn];
        let bits = random(self.source.seed, words) / (1 << 11);
        bits as f64 / f64::from(1_u32 << 31) / f64::from(1_u32 << 22)
    }

    /// Returns true if a packet of `size` bytes may enter the node's buffer.
    fn buffer_accepts(&self, size: u16, free: u64) -> bool {
        let Some(shared) = self.shared() else {
            return true;
        };
        let (reserve, bytes, size) = (shared.reserve.0, self.bytes_waiting(), u64::from(size));
        if self.serving.is_none() || bytes + size <= reserve {
            return true;
        }
        let reserve_left = reserve.saturating_sub(bytes);
        let beyond_reserve = bytes.saturating_sub(reserve) as f64;
        beyond_reserve < shared.alpha * free as f64 && size - reserve_left <= free
    }

    /// Ends the service of a packet. Returns the packet, and the size of the packet whose service
    /// begins.
    pub fn served(&mut self, now: u64) -> (Packet, Option<u16>) {
        self.add_time(now);
        let left = self.serving.take().expect("a packet in service");
        self.begin(now);
        if self.serving.is_none() {
            self.idle_since = now;
        }
        (left, self.serving.map(|next| next.size))
    }

    /// Removes and returns all packets, which are lost.
    pub fn clear(&mut self, now: u64) -> Vec<Packet> {
        self.add_time(now);
        if self.serving.is_some() {
            self.idle_since = now;
        }
        let lost: Vec<Packet> = self
            .serving
            .take()
            .into_iter()
            .chain(self.waiting.drain(..))
            .collect();
        for packet in &lost {
            self.refuse(packet);
            self.uncount(packet);
        }
        self.codel.dropping = false;
        self.codel.first_above_time = 0;
        if let Some(classes) = &mut self.classes {
            classes.clear();
        }
        lost
    }

    pub fn add_time(&mut self, now: u64) {
        let n = self.waiting.len();
        if self.time_at.len() <= n {
            self.time_at.resize(n + 1, 0);
        }
        self.time_at[n] += now - self.since;
        self.since = now;
    }

    /// Number of packets waiting.
    pub fn length(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Number of packets waiting or in service.
    pub fn held(&self) -> u64 {
        self.waiting.len() as u64 + u64::from(self.serving.is_some())
    }

    /// Time spent at each length up to `now`.
    pub fn distribution(&mut self, now: u64) -> Vec<u64> {
        self.add_time(now);
        self.time_at.clone()
    }
}

/// Returns true if RED drops the packets like this one that it chooses.
fn drops(red: Red, packet: &Packet) -> bool {
    let is_capable = packet.flags & ECT != 0;
    match red.action {
        RedAction::Drop => true,
        RedAction::Mark => !is_capable && !red.nodrop,
    }
}
