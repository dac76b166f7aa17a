//! Open-loop Poisson arrivals.

use rand_distr::{Distribution, Exp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{SpecError, Time, conflict, refuse};

use crate::{Flow, HostSet, MAX_FLOWS, Pairs, Pattern, PatternContext, SizeDistribution};

/// Flows that arrive at random: every sender opens flows at the times of its own Poisson process,
/// whether or not earlier flows have ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Mean time between two consecutive flows of a sender; an alternative to `rate` and `load`.
    pub interval: Option<Time>,
    /// Flows per second of each sender; an alternative to `interval` and `load`.
    #[schemars(range(max = 1e12), extend("exclusiveMinimum" = 0))]
    pub rate: Option<f64>,
    /// Fraction of the capacity of a sender's own links that the application bytes of its flows
    /// take on average, without headers; an alternative to `interval` and `rate`. Pairs with the
    /// same sender share it.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub load: Option<f64>,
    /// Application bytes of each flow: a size, or a distribution of sizes.
    pub size: SizeDistribution,
    /// Pairs of hosts, each with a process of its own: "permutation", "random" (a receiver drawn
    /// for each flow), staggered probabilities { tor, pod }, or a list [[FROM, TO], …].
    pub pairs: Pairs,
    /// Senders; by default all hosts.
    pub from: Option<HostSet>,
    /// Receivers if pairs are drawn; by default all hosts.
    pub to: Option<HostSet>,
    /// Start of the processes.
    #[serde(default)]
    pub start: Time,
    /// Time from which on no flow opens; by default the end of the experiment.
    pub stop: Option<Time>,
}

impl Pattern for Poisson {
    fn flows(&self, context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        let stop = self.stop.unwrap_or(context.duration).min(context.duration);
        if stop <= self.start {
            let given = format!("{stop} is not after the start");
            return refuse("stop", given, format!("a time above {}", self.start));
        }
        let arrival_rate = self.arrival_rate()?;
        let mut rng = context.rng();
        let matrix = self
            .pairs
            .resolve(self.from.as_ref(), self.to.as_ref(), context, &mut rng)?;
        let mean_gaps = self.mean_gaps(arrival_rate, &matrix.senders, context);
        let lasting = (stop.0 - self.start.0) as f64;
        let expected: f64 = mean_gaps.iter().map(|mean| lasting / mean).sum();
        let too_many = || {
            let given = format!("about {expected:.0} flows before {stop}");
            SpecError::new(
                arrival_rate.field(),
                given,
                format!("at most {MAX_FLOWS} flows in all"),
            )
        };
        if expected > MAX_FLOWS as f64 {
            return Err(too_many());
        }
        let mut flows = Vec::with_capacity((expected * 1.1) as usize);
        // A stream for each sender, so that a longer run has the same flows up to the end of a shorter one.
        let streams = context.streams();
        for (i, (&from, mean)) in matrix.senders.iter().zip(mean_gaps).enumerate() {
            let mut rng = streams.nth(i as u32);
            let Ok(gaps) = Exp::new(1.0 / mean) else {
                return Err(too_many());
            };
            let mut after = gaps.sample(&mut rng);
            while after < lasting {
                let to = matrix.receiver(i, &mut rng);
                let start = Time(self.start.0 + after as u64);
                flows.push(context.flow(from, to, Some(self.size.sample(&mut rng)), start));
                after += gaps.sample(&mut rng);
            }
        }
        if flows.len() as u64 > MAX_FLOWS {
            return Err(too_many());
        }
        flows.sort_by_key(|flow| flow.start);
        Ok(flows)
    }

    fn draws_flows(&self) -> bool {
        true
    }
}

/// The arrival rate of a sender's flows, as given in a spec.
#[derive(Clone, Copy)]
enum ArrivalRate {
    /// Mean time between arrivals in picoseconds.
    Interval(f64),
    /// Flows per second.
    Rate(f64),
    /// Fraction of the capacity of the sender's links.
    Load(f64),
}

impl ArrivalRate {
    fn field(self) -> &'static str {
        match self {
            Self::Interval(_) => "interval",
            Self::Rate(_) => "rate",
            Self::Load(_) => "load",
        }
    }
}

impl Poisson {
    /// Returns the one of the three fields that is set.
    fn arrival_rate(&self) -> Result<ArrivalRate, SpecError> {
        match (self.interval, self.rate, self.load) {
            (None, None, None) => conflict(
                "interval",
                "required field is missing",
                "set interval, rate or load",
            ),
            (Some(Time(0)), None, None) => refuse("interval", "0s", "a time above 0"),
            (Some(interval), None, None) => Ok(ArrivalRate::Interval(interval.0 as f64)),
            (None, Some(rate), None) => Ok(ArrivalRate::Rate(rate)),
            (None, None, Some(load)) => Ok(ArrivalRate::Load(load)),
            (interval, _, load) => {
                let field = if load.is_some() { "load" } else { "rate" };
                let other = if interval.is_some() { "interval" } else { "rate" };
                let given = format!("given together with {other}");
                conflict(field, given, "remove one of the two")
            }
        }
    }

    /// Returns the mean time between arrivals in picoseconds for each sender; a sender of several
    /// pairs occurs once per pair.
    fn mean_gaps(
        &self,
        arrival_rate: ArrivalRate,
        senders: &[u32],
        context: &PatternContext<'_>,
    ) -> Vec<f64> {
        let load = match arrival_rate {
            ArrivalRate::Interval(mean) => return vec![mean; senders.len()],
            ArrivalRate::Rate(rate) => return vec![1e12 / rate; senders.len()],
            ArrivalRate::Load(load) => load,
        };
        let mut pairs = vec![0.0; context.hosts.len()];
        for &sender in senders {
            pairs[sender as usize] += 1.0;
        }
        let bits = 8.0 * self.size.mean();
        let mean = |&sender: &u32| {
            let capacity = context.capacities[sender as usize].0 as f64;
            1e12 * bits * pairs[sender as usize] / (load * capacity)
        };
        senders.iter().map(mean).collect()
    }
}
