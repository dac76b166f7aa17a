//! Collective operations: all ranks exchange data by an algorithm, whose messages wait for others at
//! the same host.
//!
//! Each message is a flow. Algorithms are in `algorithms`; their
//! closed forms assume that a message of b bytes takes alpha + beta b.

mod algorithms;
mod sequences;

use std::sync::Arc;

use rand::seq::SliceRandom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, Within, list_names, refuse};

use crate::closed_loop::check_start_before_stop;
use crate::tasks::{DependentFlows, JobOptions, JobSummary, TaskGraphBuilder};
use crate::{
    Connections, FlowGenerator, HostSet, MAX_FLOWS, OperationFacts, Pattern, PatternContext, SendDone,
};

pub(crate) use algorithms::Exchange;
pub(crate) use sequences::RankSequences;

/// An operation in which all ranks exchange data, such as an all-reduce. Each message is a flow of its own,
/// which opens when the messages that it needs have arrived at its sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// The operation.
    pub operation: Operation,
    /// The algorithm; by default "ring" for all-reduce, reduce-scatter and all-gather, "binomial-tree" for
    /// broadcast, and "shift" for all-to-all.
    pub algorithm: Option<Algorithm>,
    /// Bytes of the whole array of a rank. A part is this size divided by the number of ranks. Each rank of an all-gather has a
    /// part at first, and each rank of a reduce-scatter has one at the end. In an all-to-all each rank sends a part to each
    /// other rank.
    pub size: Size,
    /// Number of ranks; by default as many as `hosts`.
    #[schemars(range(min = 2))]
    pub ranks: Option<u32>,
    /// Hosts on which the ranks run, one rank per host.
    #[serde(default)]
    pub hosts: HostSet,
    /// Assignment of ranks to `hosts`.
    #[serde(default)]
    pub placement: Placement,
    /// Ranks per group; by default all ranks are one group. Consecutive ranks form groups that run the operation at the
    /// same time.
    #[schemars(range(min = 2))]
    pub group_size: Option<u32>,
    /// Number of parts into which messages along trees and chains are cut, so that a rank forwards a part while it receives
    /// the next one.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub chunks: u32,
    /// Number of times that the operation runs, one after another at each rank.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub repeats: u32,
    /// Time for which each rank computes before each repetition.
    #[serde(default)]
    pub compute: Time,
    /// Event at which a message counts as sent, for tasks that wait.
    #[serde(default)]
    pub send_done: SendDone,
    /// Use of connections by messages.
    #[serde(default)]
    pub connections: Connections,
    /// Time at which the ranks begin.
    #[serde(default)]
    pub start: Time,
}

/// An operation of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Operation {
    /// All ranks get the sum of the arrays of all ranks.
    AllReduce,
    /// Each rank gets a part of the sum of all arrays.
    ReduceScatter,
    /// All ranks get the parts of all ranks.
    AllGather,
    /// All ranks get the array of the first rank.
    Broadcast,
    /// Each rank sends a part of its array to each other rank.
    AllToAll,
}

/// An algorithm of collective operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Algorithm {
    /// Parts go round a ring.
    Ring,
    /// Halves, quarters and so on are exchanged between ever closer ranks, and then back.
    HalvingDoubling,
    /// The whole array is exchanged with ranks at the distance 1, 2, 4 and so on.
    RecursiveDoubling,
    /// A tree in which rank r has a child at each distance below the lowest set bit of r that is a power of two.
    BinomialTree,
    /// Two binary trees, each for half of the array, in which the inner ranks of one are the leaves of the other.
    DoubleBinaryTree,
    /// Each rank forwards the array to the next one.
    Chain,
    /// In step k each rank sends to the rank that is k further, and receives from the rank that is k before.
    Shift,
    /// All messages at the same time.
    AtOnce,
}

/// Assignment of ranks to hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Placement {
    /// Rank r runs on the r-th host. Hosts of one rack are neighbours in most topologies.
    #[default]
    InOrder,
    /// Ranks run on hosts that are drawn.
    Random,
}

impl Operation {
    /// Returns the algorithm that an operation has by default.
    pub(crate) fn default_algorithm(self) -> Algorithm {
        match self {
            Self::AllReduce | Self::ReduceScatter | Self::AllGather => Algorithm::Ring,
            Self::Broadcast => Algorithm::BinomialTree,
            Self::AllToAll => Algorithm::Shift,
        }
    }

    /// Returns an algorithm, or the default one.
    ///
    /// # Errors
    /// Returns an error if the operation does not have the algorithm; its path is `algorithm`.
    pub(crate) fn algorithm(self, algorithm: Option<Algorithm>) -> Result<Algorithm, SpecError> {
        let algorithm = algorithm.unwrap_or(self.default_algorithm());
        if self.algorithms().contains(&algorithm) {
            return Ok(algorithm);
        }
        let names = self.algorithms().iter().map(|algorithm| algorithm.name());
        refuse(
            "algorithm",
            format!("{:?} with this operation", algorithm.name()),
            list_names(names),
        )
    }

    /// Returns the algorithms of the operation.
    fn algorithms(self) -> &'static [Algorithm] {
        match self {
            Self::AllReduce => &[
                Algorithm::Ring,
                Algorithm::HalvingDoubling,
                Algorithm::RecursiveDoubling,
                Algorithm::BinomialTree,
                Algorithm::DoubleBinaryTree,
            ],
            Self::ReduceScatter | Self::AllGather => &[Algorithm::Ring],
            Self::Broadcast => &[Algorithm::BinomialTree, Algorithm::Chain],
            Self::AllToAll => &[Algorithm::Shift, Algorithm::AtOnce],
        }
    }

    /// Returns the name of the operation in specs.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllGather => "all-gather",
            Self::Broadcast => "broadcast",
            Self::AllToAll => "all-to-all",
        }
    }

    /// Returns the ratio of bus bandwidth to algorithm bandwidth with `n` ranks (NCCL tests, `doc/PERFORMANCE.md`).
    pub fn bus_factor(self, n: u32) -> f64 {
        let n = f64::from(n);
        match self {
            Self::AllReduce => 2.0 * (n - 1.0) / n,
            Self::ReduceScatter | Self::AllGather | Self::AllToAll => (n - 1.0) / n,
            Self::Broadcast => 1.0,
        }
    }
}

impl Algorithm {
    fn name(self) -> String {
        serde_json::to_value(self).map_or(String::new(), |value| {
            value.as_str().unwrap_or_default().to_owned()
        })
    }
}

/// Returns the hosts of `ranks` ranks, by rank.
///
/// # Errors
/// Returns an error if there are fewer hosts than ranks; its path is relative to the pattern.
pub(crate) fn place(
    ranks: u32,
    hosts: &HostSet,
    placement: Placement,
    context: &PatternContext<'_>,
) -> Result<Vec<u32>, SpecError> {
    let mut hosts = hosts.resolve(context).within("hosts")?;
    if (hosts.len() as u64) < u64::from(ranks) {
        let given = format!("{} hosts for {ranks} ranks", hosts.len());
        return refuse("hosts", given, "a host per rank");
    }
    if placement == Placement::Random {
        hosts.shuffle(&mut context.rng());
    }
    hosts.truncate(ranks as usize);
    Ok(hosts)
}

/// Returns the hosts of at least 2 ranks, by rank; by default there are as many ranks as hosts.
///
/// # Errors
/// Returns an error if there are fewer than 2 ranks, or fewer hosts than ranks; its path is relative to the pattern.
pub(crate) fn place_ranks(
    ranks: Option<u32>,
    hosts: &HostSet,
    placement: Placement,
    context: &PatternContext<'_>,
) -> Result<Vec<u32>, SpecError> {
    let number = match ranks {
        Some(ranks) => ranks,
        None => hosts.resolve(context).within("hosts")?.len() as u32,
    };
    if number < 2 {
        let (field, given) = match ranks {
            Some(_) => ("ranks", number.to_string()),
            None => ("hosts", format!("{number} hosts")),
        };
        return refuse(field, given, "at least 2");
    }
    place(number, hosts, placement, context)
}

impl Collective {
    fn builder(&self, groups: u32, group_size: u32, algorithm: Algorithm) -> TaskGraphBuilder {
        let mut builder = TaskGraphBuilder::new(groups * group_size);
        let mut previous = 0;
        for repetition in 0..self.repeats {
            let first = builder.len();
            if repetition > 0 {
                builder.next_job();
            }
            for group in 0..groups {
                let begin = builder.len();
                let first_rank = group * group_size;
                let members: Vec<u32> = (first_rank..first_rank + group_size).collect();
                let mut exchange = Exchange {
                    builder: &mut builder,
                    members: &members,
                    bytes: self.size.0,
                    chunks: self.chunks,
                };
                exchange.add(self.operation, algorithm);
                let facts = OperationFacts {
                    operation: self.operation,
                    group: None,
                    layer: None,
                    pass: None,
                    bytes: self.size.0,
                };
                let tasks = begin..builder.len();
                builder.operation(facts, vec![tasks]);
            }
            builder.pause_between(previous, first, self.compute);
            previous = first;
        }
        builder
    }
}

impl Pattern for Collective {
    fn generator(&self, context: &PatternContext<'_>) -> Result<Option<Arc<dyn FlowGenerator>>, SpecError> {
        let algorithm = self.operation.algorithm(self.algorithm)?;
        let hosts = place_ranks(self.ranks, &self.hosts, self.placement, context)?;
        let ranks = hosts.len() as u32;
        let group_size = self.group_size.unwrap_or(ranks);
        if group_size < 2 || !ranks.is_multiple_of(group_size) {
            let given = format!("{group_size} with {ranks} ranks");
            return refuse("group_size", given, "a divisor of the ranks, at least 2");
        }
        if self.size.0 < u64::from(group_size) {
            let given = format!("{} bytes for {group_size} ranks", self.size.0);
            return refuse("size", given, "at least a byte per rank");
        }
        if u64::from(self.chunks) > self.size.0 {
            let given = format!("{} with {} bytes", self.chunks, self.size.0);
            return refuse("chunks", given, "at most the bytes");
        }
        let groups = ranks / group_size;
        let messages = Exchange::messages(self.operation, algorithm, group_size, self.chunks)
            .saturating_mul(groups.into())
            .saturating_mul(self.repeats.into());
        if messages > MAX_FLOWS {
            let given = format!("{ranks} ranks with {messages} messages");
            return refuse("ranks", given, format!("at most {MAX_FLOWS} messages"));
        }
        check_start_before_stop(self.start, None, context)?;
        let graph = self.builder(groups, group_size, algorithm).build();
        // The algorithms have no cycles, as their tests show.
        let graph = graph.map_err(|stuck| {
            SpecError::new(
                "algorithm",
                format!("task {} waits for itself", stuck.task),
                "another one",
            )
        })?;
        let summary = JobSummary {
            bytes: Some(self.size.0),
            bus_factor: Some(self.operation.bus_factor(group_size)),
        };
        let options = JobOptions {
            send_done: self.send_done,
            connections: self.connections,
            start: self.start,
            summary,
        };
        let flows = DependentFlows::new(graph, hosts, options, context);
        Ok(Some(Arc::new(flows)))
    }
}
