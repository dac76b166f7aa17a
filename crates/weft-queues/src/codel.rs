//! CoDel, controlled delay: RFC 8289. The time that packets wait decides, not the length of the queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{SpecError, Time};

use crate::buffer::Buffers;
use crate::contract::{
    Arrival, Arriving, Build, Decision, Departure, Queue, QueueConfig, QueueParameters, Site, View, exceeds,
    has_reached,
};
use crate::drop_reason::DropReason;
use crate::ingress::LinkClass;
use crate::packet::{PROTECTED, Packet};
use crate::packets::PacketQueue;

/// A FIFO that drops packets when their transmission would begin, once all packets have waited for longer than
/// `target` for an `interval`. The drops become more frequent until the delay is below `target`. `limit` and
/// `mark` hold when packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoDel {
    /// Acceptable waiting time of a standing queue, above 0. The default is that of RFC 8289, section 4.4, for the
    /// Internet. In a data centre, 5 to 10 % of the round-trip time fits.
    #[serde(default = "default_target")]
    pub target: Time,
    /// Time for which packets wait too long before the first drop, above 0: about the longest usual round-trip
    /// time. The default is that of RFC 8289, section 4.3, for the Internet.
    #[serde(default = "default_interval")]
    pub interval: Time,
    /// Whether ECN-capable packets are marked instead of dropped, as with the option `ecn` of Linux's `codel`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

const fn default_target() -> Time {
    Time::from_ms(5)
}

const fn default_interval() -> Time {
    Time::from_ms(100)
}

impl CoDel {
    pub(crate) const ABOUT: &str =
        "controlled delay: drops packets that wait too long for too long (RFC 8289)";
}

impl QueueParameters for CoDel {
    fn check(&self) -> Result<(), SpecError> {
        for (field, time) in [("target", self.target), ("interval", self.interval)] {
            if time == Time(0) {
                return Err(SpecError::new(field, "0s", "a time above 0"));
            }
        }
        if self.target > self.interval {
            let given = format!("{} is above the interval of {}", self.target, self.interval);
            return Err(SpecError::new(
                "target",
                given,
                format!("at most {}", self.interval),
            ));
        }
        Ok(())
    }
}

impl Build for CoDel {
    type Queue = CoDelQueue;

    fn build(&self, site: &Site, _: &mut Buffers) -> CoDelQueue {
        CoDelQueue {
            config: *self,
            queue: site.queue,
            max_packet: site.max_packet.into(),
            packets: PacketQueue::default(),
            first_above: None,
            is_dropping: false,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropped: None,
        }
    }
}

/// A FIFO with CoDel. The fields are those of RFC 8289, section 5.3.
pub struct CoDelQueue {
    config: CoDel,
    queue: QueueConfig,
    /// `maxpacket`: size of the largest packet in bytes.
    max_packet: u64,
    /// Packets with the time of their arrival.
    packets: PacketQueue,
    /// `first_above_time`: when the delay will have been above the target for an interval.
    first_above: Option<u64>,
    is_dropping: bool,
    /// Time from which the next packet is dropped in picoseconds.
    drop_next: u64,
    /// Packets dropped in this drop state, and at the beginning of it.
    count: u64,
    last_count: u64,
    /// The step of `dequeue` that follows the drop of a packet.
    dropped: Option<Dropped>,
}

/// The packet that was dropped before the present one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dropped {
    /// The first one of a drop state.
    First,
    /// A later one.
    Next,
}

impl CoDelQueue {
    /// Returns when the next packet is dropped after a drop at `time` (section 3.2).
    fn control_law(&self, time: u64) -> u64 {
        time + (self.config.interval.0 as f64 / (self.count as f64).sqrt()) as u64
    }

    /// Removes a packet. Also returns whether it may be dropped (`dodequeue`, section 5.5).
    #[inline]
    fn take(&mut self, now: u64) -> Option<(Packet, bool)> {
        let Some(packet) = self.packets.pop() else {
            self.first_above = None;
            return None;
        };
        let sojourn = now - packet.time;
        if sojourn < self.config.target.0 || self.packets.bytes() <= self.max_packet {
            self.first_above = None;
            return Some((packet, false));
        }
        let first_above = *self.first_above.get_or_insert(now + self.config.interval.0);
        Some((packet, now >= first_above))
    }

    /// Begins to drop (section 5.4).
    #[inline]
    fn begin(&mut self, now: u64) {
        self.is_dropping = true;
        // If the last drop state ended shortly before, its rate of drops is a good one to start with.
        let delta = self.count - self.last_count;
        self.count = 1;
        if delta > 1 && now.saturating_sub(self.drop_next) < 16 * self.config.interval.0 {
            self.count = delta;
        }
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    /// Returns the decision about a packet that is to be dropped: packets that can be marked are marked.
    fn decision(&self, packet: &Packet) -> Decision {
        let decision = if self.config.ecn {
            Decision::MarkOrDrop
        } else {
            Decision::Drop(DropReason::CoDel)
        };
        decision.for_flags(packet.flags)
    }
}

impl Queue for CoDelQueue {
    #[inline(always)]
    fn enqueue(&mut self, packet: &mut Arriving<'_>, view: &mut View<'_>) -> Arrival {
        let waiting = |unit| self.packets.waiting_in(unit);
        let arrival = Arrival::decide(packet, Decision::Mark, view, |size| {
            [
                exceeds(self.queue.limit, waiting, size.into()),
                has_reached(self.queue.mark, waiting),
            ]
        });
        if arrival.accepted {
            self.packets.push(Packet {
                time: view.now,
                ..packet.packet()
            });
        }
        arrival
    }

    /// `deque` of section 5.4. The port calls it again after each packet that is dropped.
    #[inline(always)]
    fn dequeue(&mut self, view: &mut View<'_>) -> Option<Departure> {
        let now = view.now;
        let dropped = self.dropped.take();
        let taken = self.take(now);
        let may_drop = taken.is_some_and(|(_, may_drop)| may_drop);
        match dropped {
            Some(Dropped::First) => self.begin(now),
            Some(Dropped::Next) if may_drop => self.drop_next = self.control_law(self.drop_next),
            _ => {}
        }
        if dropped == Some(Dropped::First) || !may_drop {
            self.is_dropping &= may_drop || dropped == Some(Dropped::First);
            return taken.map(|(packet, _)| Departure::new(packet, Decision::Accept));
        }
        let (packet, _) = taken?;
        let mut decision = Decision::Accept;
        if packet.flags & PROTECTED != 0 {
            return Some(Departure::new(packet, decision));
        }
        if !self.is_dropping {
            decision = self.decision(&packet);
            if decision.drop_reason().is_some() {
                self.dropped = Some(Dropped::First);
            } else {
                self.begin(now);
            }
        } else if now >= self.drop_next {
            self.count += 1;
            decision = self.decision(&packet);
            if decision.drop_reason().is_some() {
                self.dropped = Some(Dropped::Next);
            } else {
                self.drop_next = self.control_law(self.drop_next);
            }
        }
        Some(Departure::new(packet, decision))
    }

    #[inline(always)]
    fn prefetch(&self) {
        self.packets.prefetch_front();
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.packets.len()
    }

    fn for_each<'a>(&'a self, visit: &mut dyn FnMut(&'a Packet)) {
        self.packets.iter().for_each(visit);
    }

    fn clear(&mut self, _: &mut View<'_>) -> (Vec<Packet>, Vec<LinkClass>) {
        self.first_above = None;
        self.is_dropping = false;
        (self.packets.drain().collect(), Vec::new())
    }
}
