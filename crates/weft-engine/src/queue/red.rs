//! Random early detection: Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance" (1993), figure 2, or the ramp alone with the instantaneous length.

use weft_fabric::RedAction;
use weft_spec::QueueSize;

use super::Decision;
use crate::hash::uniform;
use crate::port::{Port, min_packets};

/// The state of a port with RED.
#[derive(Clone)]
pub struct Red {
    config: weft_fabric::Red,
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

impl Red {
    /// Creates the state of an empty queue.
    pub fn new(config: weft_fabric::Red, stream: u64, max_packet: u32) -> Self {
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

    /// See [`Discipline::decides_from`](super::Discipline::decides_from).
    pub fn decides_from(&self, max_packet: u32) -> u32 {
        match self.config.min {
            // With min = max = 0 every packet is marked.
            QueueSize::Packets(0) | QueueSize::Bytes(0) => 0,
            _ if self.average.is_some() => 0,
            min => min_packets(min, max_packet).saturating_add(1),
        }
    }

    /// Returns an amount in the unit of the ramp.
    pub fn unit(&self) -> QueueSize {
        self.config.min
    }

    /// Decides about a packet that arrives at `port` at `now`.
    pub fn decide_at_enqueue(&mut self, port: &Port, now: u64) -> Decision {
        let length = port.waiting_in(self.unit());
        let idle = self.average.as_ref().map_or(0, |average| {
            let idle = now.saturating_sub(port.busy_until);
            idle / port.serialisation(average.typical_size).max(1)
        });
        self.decide(length, idle)
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
            (true, RedAction::Drop) => Decision::Drop,
        }
    }
}

impl Average {
    /// Adds the length that a packet finds. The idle time before counts as `idle` arrivals at an empty
    /// queue.
    fn update(&mut self, length: f64, idle: u64) {
        let old = (1.0 - self.weight).powf(idle as f64 + 1.0);
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
