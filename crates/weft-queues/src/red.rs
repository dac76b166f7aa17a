//! Random early detection: Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance" (1993), with the instantaneous queue length, as in switches, or with an average.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{QueueSize, SpecError};

use crate::buffer::Buffers;
use crate::contract::{
    Arrival, Arriving, Build, Decision, Departure, FifoView, Queue, QueueConfig, QueueParameters, Rule, Site,
    View, exceeds, has_reached, min_packets,
};
use crate::drop_reason::DropReason;
use crate::hash::uniform;
use crate::ingress::LinkClass;
use crate::packet::{PROTECTED, Packet};
use crate::packets::PacketQueue;

/// A FIFO that marks or drops packets at random. The probability rises with the length of the queue:
/// 0 up to `min`, `probability` just below `max`, and 1 from `max` on. A packet that is to be marked, but is
/// not ECN-capable, is dropped. With `min = max` and `probability = 1`, it is the threshold of a switch's WRED.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Length up to which no packet is marked or dropped. The packet being sent does not count.
    pub min: QueueSize,
    /// Length from which every packet is marked or dropped, in the unit of `min`.
    pub max: QueueSize,
    /// Probability just below `max`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// Whether packets are marked or dropped.
    #[serde(default)]
    pub action: RedAction,
    /// Whether packets that are chosen, but not ECN-capable, are accepted instead of dropped. `nodrop` of Linux's
    /// `red`; by default they are dropped there, in ns-3 and by switches (WRED). With `action = "mark"` only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nodrop: bool,
    /// Whether the length that a packet finds decides, or the length that it leaves behind when its
    /// transmission begins. At dequeue, marks report the present queue.
    #[serde(default)]
    pub at: RedAt,
    /// Weight, above 0, of a new length in the moving average that replaces the length (`QW` of
    /// ns-3). Without it, the length itself decides. With it, marks are also spaced evenly, as the
    /// paper recommends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight: Option<f64>,
}

/// The action of RED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RedAction {
    /// ECN-capable packets are marked, others dropped.
    #[default]
    Mark,
    /// Packets are dropped, ECN-capable ones included.
    Drop,
}

/// The time at which RED decides about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RedAt {
    /// The packet arrives.
    #[default]
    Enqueue,
    /// Its transmission begins.
    Dequeue,
}

impl Red {
    pub(crate) const ABOUT: &str =
        "random early detection: marks or drops with a probability that rises with the queue (1993)";

    /// Returns the probability at a length of `length`, in the unit of `min`.
    pub fn probability_at(&self, length: f64) -> f64 {
        let [min, max] = [self.min, self.max].map(amount);
        if length >= max {
            1.0
        } else if length > min {
            self.probability * (length - min) / (max - min)
        } else {
            0.0
        }
    }
}

/// The ramp of marks of another kind of queue: `mark_min` and `mark_max`.
pub(crate) type Ramp = [Option<QueueSize>; 2];

/// Returns a ramp up to this probability, if there is one. It drops no packet.
pub(crate) fn ramp([min, max]: Ramp, probability: f64, at: RedAt) -> Option<Red> {
    let (min, max) = min.zip(max)?;
    Some(Red {
        min,
        max,
        probability,
        action: RedAction::Mark,
        nodrop: true,
        at,
        weight: None,
    })
}

/// Checks a ramp.
///
/// # Errors
/// Returns an error if one end is missing, or if the ends contradict each other.
pub(crate) fn check_ramp(ramp: Ramp) -> Result<(), SpecError> {
    let (min, max) = match ramp {
        [None, None] => return Ok(()),
        [Some(min), Some(max)] => (min, max),
        [min, _] => {
            let (given, missing) = if min.is_some() {
                ("mark_min", "mark_max")
            } else {
                ("mark_max", "mark_min")
            };
            let problem = format!("missing next to {given}");
            let remedy = format!("set {missing} or remove {given}");
            return Err(SpecError::conflict(missing, problem, remedy));
        }
    };
    if min.partial_cmp(&max).is_none() {
        let problem = format!("{max} and mark_min = \"{min}\" have different units");
        let remedy = "use packets or bytes for both";
        return Err(SpecError::conflict("mark_max", problem, remedy));
    }
    if min > max {
        let given = format!("{min} is above mark_max = \"{max}\"");
        return Err(SpecError::new("mark_min", given, format!("at most {max}")));
    }
    Ok(())
}

fn amount(size: QueueSize) -> f64 {
    match size {
        QueueSize::Packets(n) => n.into(),
        QueueSize::Bytes(n) => n as f64,
    }
}

impl QueueParameters for Red {
    fn check(&self) -> Result<(), SpecError> {
        if self.min.partial_cmp(&self.max).is_none() {
            return Err(SpecError::conflict(
                "max",
                format!("{} and min = \"{}\" have different units", self.max, self.min),
                "use packets or bytes for both",
            ));
        }
        if self.min > self.max {
            let given = format!("{} is above max = \"{}\"", self.min, self.max);
            return Err(SpecError::new("min", given, format!("at most {}", self.max)));
        }
        if !(0.0..=1.0).contains(&self.probability) {
            return Err(SpecError::new(
                "probability",
                self.probability.to_string(),
                "0 to 1",
            ));
        }
        if let Some(weight) = self.weight.filter(|&weight| !(weight > 0.0 && weight <= 1.0)) {
            return Err(SpecError::new("weight", weight.to_string(), "above 0, up to 1"));
        }
        if self.nodrop && self.action == RedAction::Drop {
            let problem = "no effect with action = \"drop\", which drops every packet that is chosen";
            return Err(SpecError::conflict("nodrop", problem, "remove one of them"));
        }
        if self.at == RedAt::Dequeue && self.weight.is_some() {
            let problem = "the average is updated only at enqueue";
            return Err(SpecError::conflict(
                "weight",
                problem,
                "remove it or set at = \"enqueue\"",
            ));
        }
        Ok(())
    }

    fn check_port(&self, port: QueueConfig) -> Result<(), SpecError> {
        let limit = port.limit;
        if self.min > limit {
            let given = format!("{} is above the limit of {limit}", self.min);
            return Err(SpecError::new("min", given, format!("at most {limit}")));
        }
        Ok(())
    }

    fn marks(&self) -> bool {
        true
    }
}

impl Build for Red {
    /// The rule of RED at enqueue, or the queue of RED at dequeue.
    type Queue = Result<RedState, DequeueRed>;

    fn build(&self, site: &Site, _: &mut Buffers) -> Self::Queue {
        let state = RedState::new(*self, site.stream, site.max_packet);
        match self.at {
            RedAt::Enqueue => Ok(state),
            RedAt::Dequeue => Err(DequeueRed::new(state, site.queue)),
        }
    }
}

/// The state of a port with RED.
#[derive(Clone)]
pub struct RedState {
    config: Red,
    /// The port's stream of random numbers, and how many were drawn.
    stream: u64,
    draws: u64,
    average: Option<Average>,
}

/// The moving average of the queue length.
#[derive(Clone)]
struct Average {
    weight: f64,
    value: f64,
    /// Packets since the last one that was marked or dropped, while the average was on the ramp.
    count: Option<u32>,
    /// Size in bytes of the packets that the port could have sent while it was idle.
    typical_size: u32,
}

impl RedState {
    /// Creates the state of an empty queue.
    pub fn new(config: Red, stream: u64, max_packet: u32) -> Self {
        Self {
            config,
            stream,
            draws: 0,
            average: config.weight.map(|weight| Average {
                weight,
                value: 0.0,
                count: None,
                typical_size: max_packet,
            }),
        }
    }

    /// Returns an amount in the unit of the ramp.
    pub fn unit(&self) -> QueueSize {
        self.config.min
    }

    /// Decides about a packet, with this length in the unit of the ramp. `idle` is the number of packets
    /// that the port could have sent while it was idle.
    pub fn decide(&mut self, length: u64, idle: u64) -> Decision {
        let length = length as f64;
        let chosen = match &mut self.average {
            None => {
                let probability = self.config.probability_at(length);
                draw(self.stream, &mut self.draws, probability)
            }
            Some(average) => {
                average.update(length, idle);
                let probability = self.config.probability_at(average.value);
                let probability = average.spaced(probability);
                let chosen = draw(self.stream, &mut self.draws, probability);
                if chosen {
                    average.count = Some(0);
                }
                chosen
            }
        };
        match (chosen, self.config.action) {
            (false, _) => Decision::Accept,
            (true, RedAction::Mark) if self.config.nodrop => Decision::Mark,
            (true, RedAction::Mark) => Decision::MarkOrDrop,
            (true, RedAction::Drop) => Decision::Drop(DropReason::Red),
        }
    }
}

impl Rule for RedState {
    fn decides_from(&self, max_packet: u32) -> u32 {
        match self.config.min {
            // With min = max = 0 every packet is marked.
            QueueSize::Packets(0) | QueueSize::Bytes(0) => 0,
            _ if self.average.is_some() => 0,
            min => min_packets(min, max_packet).saturating_add(1),
        }
    }

    #[inline]
    fn enqueue(&mut self, view: &FifoView<'_>, _: u16, _: &mut Buffers) -> Decision {
        let idle = self.average.as_ref().map_or(0, |average| {
            view.idle_time() / view.byte_time.for_bytes(average.typical_size).max(1)
        });
        self.decide(view.waiting_in(self.unit()), idle)
    }
}

impl Average {
    /// Adds the length that a packet finds. The idle time before counts as `idle` arrivals at an empty
    /// queue.
    fn update(&mut self, length: f64, idle: u64) {
        let mut old = 1.0 - self.weight;
        if idle > 0 {
            old = old.powf(idle as f64 + 1.0);
        }
        self.value = self.value * old + self.weight * length;
    }

    /// Returns the probability of a packet that has `probability` on the ramp. It rises with the packets
    /// since the last one that was chosen, so that the gaps are uniformly distributed (section 7).
    fn spaced(&mut self, probability: f64) -> f64 {
        if probability <= 0.0 {
            self.count = None;
            return 0.0;
        }
        if probability >= 1.0 {
            return 1.0;
        }
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        self.count = Some(count);
        let due = f64::from(count) * probability;
        if due < 1.0 { probability / (1.0 - due) } else { 1.0 }
    }
}

/// Returns true with this probability; draws a number only if the answer is open.
fn draw(stream: u64, draws: &mut u64, probability: f64) -> bool {
    if probability <= 0.0 || probability >= 1.0 {
        return probability >= 1.0;
    }
    *draws += 1;
    uniform(stream, *draws) < probability
}

/// A FIFO with RED at dequeue.
pub struct DequeueRed {
    red: RedState,
    queue: QueueConfig,
    packets: PacketQueue,
}

impl DequeueRed {
    /// Creates an empty queue with this limit and threshold.
    pub fn new(red: RedState, queue: QueueConfig) -> Self {
        Self {
            red,
            queue,
            packets: PacketQueue::default(),
        }
    }
}

impl Queue for DequeueRed {
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
            self.packets.push(packet.packet());
        }
        arrival
    }

    #[inline(always)]
    fn dequeue(&mut self, _: &mut View<'_>) -> Option<Departure> {
        let packet = self.packets.pop()?;
        if packet.flags & PROTECTED != 0 {
            return Some(Departure::new(packet, Decision::Accept));
        }
        let length = self.packets.waiting_in(self.red.unit());
        let decision = self.red.decide(length, 0).for_flags(packet.flags);
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
        (self.packets.drain().collect(), Vec::new())
    }
}
