//! Random early detection: Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance" (1993), with the instantaneous queue length, as in switches, or with an average.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{QueueSize, SpecError};

use super::QueueParameters;
use crate::QueueConfig;

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
pub(super) type Ramp = [Option<QueueSize>; 2];

/// Returns a ramp up to this probability, if there is one. It drops no packet.
pub(super) fn ramp([min, max]: Ramp, probability: f64, at: RedAt) -> Option<Red> {
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
pub(super) fn check_ramp(ramp: Ramp) -> Result<(), SpecError> {
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
