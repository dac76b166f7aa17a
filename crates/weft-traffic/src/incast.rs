//! Incast: many senders reply to one receiver at almost the same time, in rounds (Kheirkhah and
//! Lee, AMP, section 3.1: every second k flows of 128 KB, 50 us apart).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, Within, conflict, refuse};

use crate::{Flow, HostRef, HostSet, MAX_FLOWS, Pattern, PatternContext, random};

/// Rounds of flows to one receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Flows per round. If there are more flows than senders, some hosts send several.
    #[schemars(range(min = 1))]
    pub flows: u32,
    /// Application bytes of each flow.
    pub size: Size,
    /// Time between the openings of two consecutive flows of a round.
    #[serde(default)]
    pub gap: Time,
    /// Time between the starts of two consecutive rounds; required if there is more than one.
    pub interval: Option<Time>,
    /// Number of rounds.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub rounds: u32,
    /// Start of the first round.
    #[serde(default)]
    pub start: Time,
    /// Maximum random delay of each flow.
    #[serde(default)]
    pub jitter: Time,
    /// Senders; by default all hosts except the receiver. Flows are distributed evenly over them.
    pub from: Option<HostSet>,
    /// The receiver; by default the last host.
    pub to: Option<HostRef>,
}

impl Pattern for Incast {
    fn flows(&self, context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        let interval = self.check()?;
        let (senders, to) = self.hosts(context)?;
        let mut rng = context.rng();
        let mut flows = Vec::with_capacity(self.rounds as usize * self.flows as usize);
        for round in 0..self.rounds {
            for i in 0..self.flows {
                let start = self.opening(interval, round, i);
                let start = Time(start.0 + random::uniform_up_to(self.jitter, &mut rng).0);
                let from = senders[sender_of(i, self.flows, senders.len())];
                flows.push(Flow {
                    round,
                    ..context.flow(from, to, Some(self.size), start)
                });
            }
        }
        Ok(flows)
    }

    fn min_concurrent_flows(&self) -> u64 {
        if self.gap == Time(0) && self.jitter == Time(0) {
            self.flows.into()
        } else {
            0
        }
    }

    fn draws_openings(&self, end: Time) -> bool {
        let interval = self.interval.unwrap_or_default();
        let crosses = |round, i| random::jitter_decides(self.opening(interval, round, i), self.jitter, end);
        self.jitter > Time(0) && (0..self.rounds).any(|round| (0..self.flows).any(|i| crosses(round, i)))
    }
}

/// Returns the sender of flow `i` of `flows`: evenly spaced if there are fewer flows than senders,
/// otherwise in rotation.
fn sender_of(i: u32, flows: u32, senders: usize) -> usize {
    let (i, flows) = (i as usize, flows as usize);
    if flows < senders {
        i * senders / flows
    } else {
        i % senders
    }
}

impl Incast {
    /// Returns the time at which flow `i` of a round opens without jitter. [`check`](Self::check) refuses
    /// times that overflow.
    fn opening(&self, interval: Time, round: u32, i: u32) -> Time {
        Time(self.start.0 + u64::from(round) * interval.0 + u64::from(i) * self.gap.0)
    }

    /// Checks that all fields are in range. Returns the time between rounds.
    fn check(&self) -> Result<Time, SpecError> {
        let total = u64::from(self.flows) * u64::from(self.rounds);
        if total > MAX_FLOWS {
            let given = format!("{} rounds of {} flows make {total}", self.rounds, self.flows);
            return refuse("rounds", given, format!("at most {MAX_FLOWS} flows in all"));
        }
        self.size.above_zero("size")?;
        let interval = match self.interval {
            Some(Time(0)) if self.rounds > 1 => {
                let given = format!("0s with {} rounds", self.rounds);
                return refuse("interval", given, "a time above 0");
            }
            Some(interval) => interval,
            None if self.rounds > 1 => {
                let given = format!("required field is missing with {} rounds", self.rounds);
                let remedy = "add it, for example \"1s\", or use one round";
                return conflict("interval", given, remedy);
            }
            None => Time(0),
        };
        let last = u128::from(interval.0) * u128::from(self.rounds - 1)
            + u128::from(self.gap.0) * u128::from(self.flows - 1)
            + u128::from(self.start.0)
            + u128::from(self.jitter.0);
        if last > u128::from(Time::MAX.0) {
            return conflict(
                "rounds",
                format!("the last flow opens after {}", Time::MAX),
                "use fewer rounds or smaller times",
            );
        }
        Ok(interval)
    }

    /// Returns the senders, at least one, and the receiver.
    fn hosts(&self, context: &PatternContext<'_>) -> Result<(Vec<u32>, u32), SpecError> {
        let to = match &self.to {
            Some(host) => host.resolve(context).within("to")?,
            None => (context.hosts.len() as u32).saturating_sub(1),
        };
        let senders = match &self.from {
            None | Some(HostSet::All) => (0..context.hosts.len() as u32)
                .filter(|&host| host != to)
                .collect(),
            Some(set) => set.resolve(context).within("from")?,
        };
        if senders.is_empty() {
            return refuse("from", "no hosts", "at least one host other than the receiver");
        }
        if senders.contains(&to) {
            let name = context.hosts[to as usize];
            let given = format!("{name:?} is the receiver");
            return refuse("from", given, "hosts other than the receiver");
        }
        Ok((senders, to))
    }
}
