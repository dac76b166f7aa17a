//! Up to eight traffic classes per port, strict or weighted: IEEE 802.1Q has eight, with strict priority
//! and enhanced transmission selection.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{MAX_CLASS, Mark, QueueSize, SpecError};

use crate::buffer::Buffers;
use crate::contract::{
    Arrival, Arriving, Build, Decision, Departure, Queue, QueueConfig, QueueParameters, Site, View, exceeds,
    has_reached,
};
use crate::ingress::LinkClass;
use crate::packet::{Packet, class_of};
use crate::packets::PacketQueue;
use crate::prefetch::prefetch;

/// Maximum number of traffic classes.
const MAX_CLASSES: usize = MAX_CLASS as usize + 1;

/// Maximum weight: chosen; the range of ETS is 1 to 100.
const MAX_WEIGHT: u32 = 1000;

/// A FIFO per traffic class. A class without a weight is served before all later classes. Classes with
/// weights share the remaining rate in proportion to them. A transmission is never interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Priority {
    /// The traffic classes, up to eight, numbered from 0. Transports choose theirs with `class` and
    /// `ack_class`.
    #[schemars(length(min = 1, max = MAX_CLASSES))]
    pub classes: Vec<PriorityClass>,
}

/// A traffic class of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QueueClass")]
pub struct PriorityClass {
    /// Capacity of the class, by default the `limit` of the port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueSize>,
    /// Marking threshold of the class, by default the `mark` of the port. Only packets of the class count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// Whether a packet of the class that finds its marking threshold, but is not ECN-capable, is dropped, as by
    /// switches that combine WRED with ECN. By default it is accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_not_ect: bool,
    /// Weight of the class, 1 to 1000. Classes with weights come after those without, and deficit round
    /// robin (Shreedhar and Varghese, SIGCOMM 1995) serves them. Without it, the class is strict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_WEIGHT))]
    pub weight: Option<u32>,
}

impl Priority {
    pub(crate) const ABOUT: &str =
        "up to eight traffic classes per port, strict or weighted by deficit round robin (IEEE 802.1Q)";

    /// Returns the limit and the threshold of each class of a port.
    pub fn queues(&self, port: QueueConfig) -> Vec<QueueConfig> {
        let queue = |class: &PriorityClass| QueueConfig {
            limit: class.limit.unwrap_or(port.limit),
            mark: match class.mark {
                None => port.mark,
                Some(Mark::Off) => None,
                Some(Mark::At(mark)) => Some(mark),
            },
        };
        self.classes.iter().map(queue).collect()
    }

    /// Returns the bytes that each class may send in a turn of deficit round robin; 0 for a strict class.
    /// `max_packet` is the size of the largest packet in bytes. The class of the smallest weight may send
    /// one such packet, so that no turn passes without a packet.
    pub fn quanta(&self, max_packet: u32) -> Vec<u64> {
        let weights = self.classes.iter().filter_map(|class| class.weight);
        let least = u64::from(weights.min().unwrap_or(1).max(1));
        let quantum = |weight: u32| (u64::from(max_packet) * u64::from(weight)).div_ceil(least);
        let quanta = self.classes.iter().map(|class| class.weight.map_or(0, quantum));
        quanta.collect()
    }
}

impl QueueParameters for Priority {
    fn check(&self) -> Result<(), SpecError> {
        if !(1..=MAX_CLASSES).contains(&self.classes.len()) {
            let given = format!("{} classes", self.classes.len());
            return Err(SpecError::new("classes", given, format!("1 to {MAX_CLASSES}")));
        }
        let mut first_weighted = None;
        for (i, class) in self.classes.iter().enumerate() {
            let path = |field| format!("classes[{i}].{field}");
            match class.weight {
                Some(weight) if !(1..=MAX_WEIGHT).contains(&weight) => {
                    let allowed = format!("1 to {MAX_WEIGHT}");
                    return Err(SpecError::new(path("weight"), weight.to_string(), allowed));
                }
                Some(_) => first_weighted = first_weighted.or(Some(i)),
                None => {
                    if let Some(weighted) = first_weighted {
                        let problem = format!("missing after the weight of class {weighted}");
                        let remedy = "set a weight or list strict classes first";
                        return Err(SpecError::conflict(path("weight"), problem, remedy));
                    }
                }
            }
        }
        Ok(())
    }

    fn check_port(&self, port: QueueConfig) -> Result<(), SpecError> {
        for (i, class) in self.classes.iter().enumerate() {
            port.with(class.limit, class.mark)
                .map_err(|error| error.within(&format!("classes[{i}]")))?;
        }
        Ok(())
    }

    #[inline]
    fn classes(&self) -> Option<usize> {
        Some(self.classes.len())
    }

    fn limits(&self) -> Vec<(String, QueueSize)> {
        let limits = self.classes.iter().enumerate();
        let limits = limits.filter_map(|(i, class)| Some((format!("classes[{i}].limit"), class.limit?)));
        limits.collect()
    }
}

/// A FIFO per class.
pub struct PriorityQueue {
    classes: Vec<Class>,
    /// Number of packets of all classes.
    waiting: usize,
    /// Classes with weights and packets, in the order of their turns (`ActiveList` of the paper).
    turns: VecDeque<usize>,
    /// True if the first of these classes has got the quantum of its turn.
    is_turn_begun: bool,
}

/// A traffic class.
struct Class {
    packets: PacketQueue,
    limit: QueueSize,
    mark: Option<QueueSize>,
    /// Decision about a packet that finds `mark`.
    at_mark: Decision,
    /// Bytes that the class may send in a turn; 0 if it is strict.
    quantum: u64,
    /// Bytes that the class may still send in this turn (`DC` of the paper).
    deficit: u64,
}

impl PriorityQueue {
    /// Creates empty classes.
    pub fn new(priority: &Priority, site: &Site) -> Self {
        let quanta = priority.quanta(site.max_packet);
        let class = |((stated, queue), quantum): ((&PriorityClass, QueueConfig), u64)| Class {
            packets: PacketQueue::default(),
            limit: queue.limit,
            mark: queue.mark,
            at_mark: Decision::at_mark(stated.drop_not_ect),
            quantum,
            deficit: 0,
        };
        let queues = priority.classes.iter().zip(priority.queues(site.queue));
        Self {
            classes: queues.zip(quanta).map(class).collect(),
            waiting: 0,
            turns: VecDeque::new(),
            is_turn_begun: false,
        }
    }

    /// Returns the class of a packet with these flags.
    fn number(&self, flags: u16) -> usize {
        class_of(flags).min(self.classes.len() - 1)
    }

    /// Returns the class of the packet that is sent next.
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let has_packet = |class: &Class| class.quantum == 0 && !class.packets.is_empty();
        self.classes
            .iter()
            .position(has_packet)
            .or_else(|| self.next_weighted())
    }

    /// Returns the class of the packet that is sent next if no strict class has one, and counts the packet.
    #[inline(never)]
    fn next_weighted(&mut self) -> Option<usize> {
        loop {
            let number = *self.turns.front()?;
            let class = &mut self.classes[number];
            if !self.is_turn_begun {
                class.deficit += class.quantum;
                self.is_turn_begun = true;
            }
            let size = u64::from(class.packets.front()?.size);
            if size <= class.deficit {
                class.deficit -= size;
                return Some(number);
            }
            self.turns.rotate_left(1);
            self.is_turn_begun = false;
        }
    }
}

impl Build for Priority {
    type Queue = PriorityQueue;

    fn build(&self, site: &Site, _: &mut Buffers) -> PriorityQueue {
        PriorityQueue::new(self, site)
    }
}

impl Queue for PriorityQueue {
    #[inline(always)]
    fn enqueue(&mut self, packet: &mut Arriving<'_>, view: &mut View<'_>) -> Arrival {
        let number = self.number(packet.flags);
        let class = &mut self.classes[number];
        let waiting = |unit| class.packets.waiting_in(unit);
        let mut arrival = Arrival::decide(packet, class.at_mark, view, |size| {
            [
                exceeds(class.limit, waiting, size.into()),
                has_reached(class.mark, waiting),
            ]
        });
        arrival.class = number as u8;
        arrival.passes = arrival.accepted && view.is_idle;
        if arrival.accepted && !arrival.passes {
            self.waiting += 1;
            if class.quantum > 0 && class.packets.is_empty() {
                self.turns.push_back(number);
            }
            class.packets.push(packet.packet());
        }
        arrival
    }

    #[inline(always)]
    fn dequeue(&mut self, _: &mut View<'_>) -> Option<Departure> {
        let number = self.next()?;
        let class = &mut self.classes[number];
        let packet = class.packets.pop()?;
        self.waiting -= 1;
        if class.quantum > 0 && class.packets.is_empty() {
            class.deficit = 0;
            self.turns.pop_front();
            self.is_turn_begun = false;
        }
        Some(Departure::new(packet, Decision::Accept))
    }

    #[inline(always)]
    fn prefetch(&self) {
        self.classes.iter().for_each(prefetch);
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.waiting
    }

    fn for_each<'a>(&'a self, visit: &mut dyn FnMut(&'a Packet)) {
        let packets = self.classes.iter().flat_map(|class| class.packets.iter());
        packets.for_each(visit);
    }

    fn clear(&mut self, _: &mut View<'_>) -> (Vec<Packet>, Vec<LinkClass>) {
        self.turns.clear();
        self.is_turn_begun = false;
        self.waiting = 0;
        let mut cleared = Vec::new();
        for class in &mut self.classes {
            class.deficit = 0;
            cleared.extend(class.packets.drain());
        }
        (cleared, Vec::new())
    }

    #[inline]
    fn classes(&self) -> usize {
        self.classes.len()
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> Option<usize> {
        Some(self.number(packet.flags))
    }
}
