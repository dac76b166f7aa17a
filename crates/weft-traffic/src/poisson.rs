//! Open-loop Poisson arrivals.

use rand_distr::{Distribution, Exp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{SpecError, Time};

use crate::{Context, Flow, HostSet, MAX_FLOWS, Pairs, Pattern, SizeDistribution};

/// Every sender opens flows at the times of a Poisson process of its own, whatever became of those before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Mean time between the openings of one sender; or `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// Flows a second of one sender; or `interval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Application bytes of each flow: a size, or a distribution of sizes by its kind.
    pub size: SizeDistribution,
    /// Who sends to whom: "permutation", "random", staggered probabilities { tor, pod }, or pairs [[FROM, TO], …], each of
    /// which opens flows.
    pub pairs: Pairs,
    /// Senders; left out, all hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<HostSet>,
    /// Receivers where pairs are random; left out, all hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<HostSet>,
    /// When the processes begin.
    #[serde(default)]
    pub start: Time,
    /// No flow opens from here on; left out, to the end of the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
}

impl Pattern for Poisson {
    fn flows(&self, context: &Context<'_>) -> Result<Vec<Flow>, SpecError> {
        let stop = self.stop.unwrap_or(context.duration).min(context.duration);
        if stop <= self.start {
            let given = format!("{stop} is not after the start");
            return Err(SpecError::new(
                "stop",
                given,
                format!("a time above {}", self.start),
            ));
        }
        let mean = self.mean()?;
        let mut random = context.random();
        let matrix = self
            .pairs
            .resolve(self.from.as_ref(), self.to.as_ref(), context, &mut random)?;
        let lasting = (stop.0 - self.start.0) as f64;
        let expected = matrix.senders.len() as f64 * lasting / mean;
        let too_many = || {
            let given = format!("about {expected:.0} flows before {stop}");
            let field = if self.rate.is_some() { "rate" } else { "interval" };
            SpecError::new(field, given, format!("at most {MAX_FLOWS} flows in all"))
        };
        if expected > MAX_FLOWS as f64 {
            return Err(too_many());
        }
        let Ok(gaps) = Exp::new(1.0 / mean) else {
            return Err(too_many());
        };
        let mut flows = Vec::with_capacity((expected * 1.1) as usize);
        for (i, &from) in matrix.senders.iter().enumerate() {
            let mut after = gaps.sample(&mut random);
            while after < lasting {
                let to = matrix.to(i, &mut random);
                let start = Time(self.start.0 + after as u64);
                flows.push(context.flow(from, to, Some(self.size.sample(&mut random)), start));
                after += gaps.sample(&mut random);
            }
        }
        if flows.len() as u64 > MAX_FLOWS {
            return Err(too_many());
        }
        flows.sort_by_key(|flow| flow.start);
        Ok(flows)
    }
}

impl Poisson {
    /// Mean picoseconds between openings of one sender.
    fn mean(&self) -> Result<f64, SpecError> {
        match (self.interval, self.rate) {
            (Some(_), Some(_)) => Err(SpecError::new("rate", "given beside interval", "one of the two")),
            (None, None) => Err(SpecError::new(
                "interval",
                "missing",
                "a time, or rate in its place",
            )),
            (Some(Time(0)), None) => Err(SpecError::new("interval", "0s", "a time above 0")),
            (Some(interval), None) => Ok(interval.0 as f64),
            (None, Some(rate)) if rate > 0.0 && rate <= 1e12 => Ok(1e12 / rate),
            (None, Some(rate)) => {
                let allowed = "flows a second, above 0 and at most 1000000000000";
                Err(SpecError::new("rate", rate.to_string(), allowed))
            }
        }
    }
}
