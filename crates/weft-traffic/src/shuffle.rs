//! The shuffle of Al-Fares et al., "Hedera" (NSDI 2010): each host transfers data to each other host,
//! one after another in random order.

use std::sync::Arc;

use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, Size, SpecError, Time, Within, refuse};

use crate::closed_loop::check_start_before_stop;
use crate::flow::FlowSource;
use crate::random;
use crate::{Action, Flow, FlowGenerator, HostSet, MAX_FLOWS, Pattern, PatternContext, PossiblePairs};

/// Transfers from each host to each other host, in an order drawn for the sender. When a transfer is
/// fully acknowledged, its sender opens the next one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shuffle {
    /// Application bytes of each transfer.
    pub size: Size,
    /// Hosts that send to each other.
    #[serde(default)]
    pub hosts: HostSet,
    /// Concurrent transfers per sender, each to a different receiver.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// Time at which the first transfers open.
    #[serde(default)]
    pub start: Time,
    /// Maximum random delay of each sender's start.
    #[serde(default)]
    pub jitter: Time,
    /// Rate at which each transfer's application writes, for example from a disk; by default all
    /// data is available at once. Data that the network cannot accept yet waits.
    pub rate: Option<Rate>,
}

impl Pattern for Shuffle {
    fn generator(&self, context: &PatternContext<'_>) -> Result<Option<Arc<dyn FlowGenerator>>, SpecError> {
        self.size.above_zero("size")?;
        let hosts = self.hosts.resolve(context).within("hosts")?;
        let n = hosts.len() as u64;
        if n < 2 || n * (n - 1) > MAX_FLOWS {
            let allowed = format!("at least 2 hosts, and at most {MAX_FLOWS} transfers");
            return refuse("hosts", format!("{n} hosts"), allowed);
        }
        let most = hosts.len() as u32 - 1;
        if !(1..=most).contains(&self.count) {
            let given = self.count.to_string();
            return refuse("count", given, format!("1 to {most}"));
        }
        check_start_before_stop(self.start, None, context)?;
        let streams = context.streams();
        let sender = |(i, &from): (u32, &u32)| {
            let mut rng = streams.nth(i);
            let delay = random::uniform_up_to(self.jitter, &mut rng);
            let mut receivers: Vec<u32> = hosts.iter().copied().filter(|&to| to != from).collect();
            receivers.shuffle(&mut rng);
            Sender {
                from,
                start: Time(self.start.0.saturating_add(delay.0)),
                receivers,
            }
        };
        Ok(Some(Arc::new(ShuffleGenerator {
            senders: (0..).zip(&hosts).map(sender).collect(),
            concurrent: self.count,
            size: self.size,
            source: context.source.clone(),
            rate: self.rate,
        })))
    }

    fn min_concurrent_flows(&self) -> u64 {
        u64::from(self.count)
    }
}

/// A sender of transfers.
#[derive(Debug)]
struct Sender {
    from: u32,
    start: Time,
    /// Receivers in the order of the transfers.
    receivers: Vec<u32>,
}

/// A generator whose flow n is the (n / senders)-th transfer of sender n mod senders.
#[derive(Debug)]
struct ShuffleGenerator {
    senders: Vec<Sender>,
    /// Number of concurrent transfers per sender.
    concurrent: u32,
    size: Size,
    source: FlowSource,
    rate: Option<Rate>,
}

impl ShuffleGenerator {
    fn sender_count(&self) -> u32 {
        self.senders.len() as u32
    }
}

impl FlowGenerator for ShuffleGenerator {
    fn flow(&self, n: u32) -> Flow {
        let sender = &self.senders[(n % self.sender_count()) as usize];
        let round = n / self.sender_count();
        let ends = [sender.from, sender.receivers[round as usize]];
        Flow {
            round,
            rate: self.rate,
            ..self.source.flow(n, ends, Some(self.size), sender.start)
        }
    }

    fn timed_actions(&self) -> Vec<(Time, u32, Action)> {
        let first = |n| {
            let flow = self.flow(n);
            (flow.start, flow.from, Action::OpenFlow(n))
        };
        (0..self.sender_count() * self.concurrent).map(first).collect()
    }

    fn on_acked(&self, n: u32, now: Time) -> Option<(Time, Action)> {
        // At most MAX_FLOWS and another round of these, which fits into 32 bits.
        let next = n + self.sender_count() * self.concurrent;
        let transfers = self.sender_count() * (self.sender_count() - 1);
        (next < transfers).then_some((now, Action::OpenFlow(next)))
    }

    fn pairs(&self) -> PossiblePairs {
        let hosts: Vec<u32> = self.senders.iter().map(|sender| sender.from).collect();
        PossiblePairs::Product(hosts.clone(), hosts)
    }
}
