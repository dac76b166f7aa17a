//! Closed loops: when a flow is complete, the sender opens the next one.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, Size, SpecError, Time, refuse};

use crate::flow::FlowSource;
use crate::matrix::Matrix;
use crate::random::{self, RngStreams};
use crate::{
    Action, Flow, FlowGenerator, HostSet, MAX_FLOWS, Pairs, Pattern, PatternContext, PossiblePairs,
    SizeDistribution,
};

/// Loops of flows: when a flow is fully acknowledged, its sender opens the next one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClosedLoop {
    /// Application bytes of each flow: a size, or a distribution of sizes.
    pub size: SizeDistribution,
    /// Pairs of hosts, each with loops of its own: "permutation", "random" (a receiver drawn for
    /// each flow), staggered probabilities { tor, pod }, or a list [[FROM, TO], …].
    pub pairs: Pairs,
    /// Senders; by default all hosts.
    pub from: Option<HostSet>,
    /// Receivers if pairs are drawn; by default all hosts.
    pub to: Option<HostSet>,
    /// Concurrent loops per sender.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// Time at which the first flows open.
    #[serde(default)]
    pub start: Time,
    /// Maximum random delay of each first flow.
    #[serde(default)]
    pub jitter: Time,
    /// Time between the end of a flow and the opening of the next one.
    #[serde(default)]
    pub think_time: Time,
    /// Rate at which each flow's application writes, for example from a disk; by default all data
    /// is available at once. Data that the network cannot accept yet waits.
    pub rate: Option<Rate>,
    /// Time from which on no flow opens; by default the end of the experiment.
    pub stop: Option<Time>,
}

impl Pattern for ClosedLoop {
    fn generator(&self, context: &PatternContext<'_>) -> Result<Option<Arc<dyn FlowGenerator>>, SpecError> {
        let mut rng = context.rng();
        let matrix = self
            .pairs
            .resolve(self.from.as_ref(), self.to.as_ref(), context, &mut rng)?;
        let loops = matrix.senders.len() as u64 * u64::from(self.count);
        if !(1..=MAX_FLOWS).contains(&loops) {
            let given = format!(
                "{} for {} senders makes {loops} loops",
                self.count,
                matrix.senders.len()
            );
            return refuse("count", given, format!("1 to {MAX_FLOWS} loops in all"));
        }
        check_start_before_stop(self.start, self.stop, context)?;
        Ok(Some(Arc::new(ClosedLoopGenerator {
            matrix,
            // At most MAX_FLOWS, which fits into 32 bits.
            concurrent_loops: loops as u32,
            size: self.size.clone(),
            source: context.source.clone(),
            streams: context.streams(),
            start: self.start,
            jitter: self.jitter,
            think_time: self.think_time,
            rate: self.rate,
            stop: self.stop.unwrap_or(Time::MAX),
        })))
    }
}

/// Returns an error if the start is not before `stop` and the end of the experiment.
pub(crate) fn check_start_before_stop(
    start: Time,
    stop: Option<Time>,
    context: &PatternContext<'_>,
) -> Result<(), SpecError> {
    match stop {
        Some(stop) if stop <= start => {
            let given = format!("{stop} is not after the start");
            refuse("stop", given, format!("a time above {start}"))
        }
        _ if start >= context.duration => {
            let given = format!("{start} is not before the end of the experiment");
            refuse("start", given, format!("a time before {}", context.duration))
        }
        _ => Ok(()),
    }
}

/// A generator whose flow n is the (n / loops)-th flow of loop n mod loops.
#[derive(Debug)]
struct ClosedLoopGenerator {
    matrix: Matrix,
    /// Number of concurrent loops.
    concurrent_loops: u32,
    size: SizeDistribution,
    source: FlowSource,
    streams: RngStreams,
    start: Time,
    jitter: Time,
    think_time: Time,
    rate: Option<Rate>,
    stop: Time,
}

impl FlowGenerator for ClosedLoopGenerator {
    fn flow(&self, n: u32) -> Flow {
        let mut rng = self.streams.nth(n);
        let sender = (n % self.concurrent_loops) as usize % self.matrix.senders.len();
        let to = self.matrix.receiver(sender, &mut rng);
        let size: Size = self.size.sample(&mut rng);
        let start = Time(self.start.0 + random::uniform_up_to(self.jitter, &mut rng).0);
        let from = self.matrix.senders[sender];
        Flow {
            round: n / self.concurrent_loops,
            rate: self.rate,
            ..self.source.flow(n, [from, to], Some(size), start)
        }
    }

    fn timed_actions(&self) -> Vec<(Time, u32, Action)> {
        let first = |n| {
            let flow = self.flow(n);
            (flow.start, flow.from, Action::OpenFlow(n))
        };
        // Jitter may delay a flow beyond the stop.
        (0..self.concurrent_loops)
            .map(first)
            .filter(|(at, ..)| *at < self.stop)
            .collect()
    }

    fn on_acked(&self, n: u32, now: Time) -> Option<(Time, Action)> {
        let at = Time(now.0.saturating_add(self.think_time.0));
        let next = n.checked_add(self.concurrent_loops)?;
        (at < self.stop).then_some((at, Action::OpenFlow(next)))
    }

    fn pairs(&self) -> PossiblePairs {
        self.matrix.pairs()
    }
}
