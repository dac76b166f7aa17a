//! The generator that opens a flow per message of a graph of tasks.

use std::collections::HashMap;
use std::sync::Arc;

use weft_spec::{Size, Time};

use super::progress::RankProgress;
use super::{Connections, Message, SendDone, TaskGraph, Work};
use crate::flow::FlowSource;
use crate::{
    Action, Flow, FlowClasses, FlowGenerator, HostProgress, OnDelivered, OperationRecord, PatternContext,
    PossiblePairs, RankTasks, RankedJobs, Step,
};

/// Facts on the jobs of a graph, for tables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobSummary {
    /// Bytes of the operation, if it has a size.
    pub bytes: Option<u64>,
    /// Ratio of bus bandwidth to algorithm bandwidth, if it is defined.
    pub bus_factor: Option<f64>,
}

/// How the messages of a graph are sent, and from when on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobOptions {
    /// Event at which a message counts as sent.
    pub send_done: SendDone,
    /// Use of connections by the messages.
    pub connections: Connections,
    /// Time at which the ranks begin.
    pub start: Time,
    /// Facts for tables.
    pub summary: JobSummary,
}

/// A generator whose flow n is message n of a graph.
#[derive(Debug)]
pub(crate) struct DependentFlows {
    graph: Arc<TaskGraph>,
    /// The host of each rank.
    hosts: Vec<u32>,
    /// The rank of each host that has one.
    ranks: HashMap<u32, u32>,
    /// The connection of each message, by its first message; empty if each message opens one of its own.
    connections: Vec<u32>,
    options: JobOptions,
    source: FlowSource,
    all_hosts: u32,
}

impl DependentFlows {
    /// Creates the generator of a graph. `hosts` has the host of each rank, each once.
    pub fn new(graph: TaskGraph, hosts: Vec<u32>, options: JobOptions, context: &PatternContext<'_>) -> Self {
        let connections = match options.connections {
            Connections::PerMessage => Vec::new(),
            Connections::Persistent => first_of_pairs(&graph, &context.source.classes),
        };
        Self {
            graph: Arc::new(graph),
            ranks: (0..).zip(&hosts).map(|(rank, &host)| (host, rank)).collect(),
            hosts,
            connections,
            options,
            source: context.source.clone(),
            all_hosts: context.hosts.len() as u32,
        }
    }

    /// Returns the hosts and the bytes of flow `n`. A graph without messages between hosts has a flow that never opens,
    /// from which levels learn the entry's transport.
    fn ends(&self, n: u32) -> (u32, u32, u64) {
        match self.graph.messages().get(n as usize) {
            Some(message) if message.from != message.to => (
                self.hosts[message.from as usize],
                self.hosts[message.to as usize],
                message.bytes.max(1),
            ),
            _ => {
                let from = self.hosts[0];
                (from, (from + 1) % self.all_hosts.max(1), 1)
            }
        }
    }
}

impl FlowGenerator for DependentFlows {
    fn flow(&self, n: u32) -> Flow {
        let (from, to, bytes) = self.ends(n);
        let number = self.connection_of(n).unwrap_or(n);
        let message = self.graph.messages().get(n as usize);
        Flow {
            round: message.map_or(0, |message| message.round),
            ..self
                .source
                .flow(number, [from, to], Some(Size(bytes)), self.options.start)
        }
    }

    fn timed_actions(&self) -> Vec<(Time, u32, Action)> {
        let begin = |&host: &u32| (self.options.start, host, Action::Resume(host));
        self.hosts.iter().map(begin).collect()
    }

    fn on_delivered(&self, _: u32) -> OnDelivered {
        OnDelivered::Progress
    }

    fn connection_of(&self, n: u32) -> Option<u32> {
        self.connections.get(n as usize).copied()
    }

    fn connections(&self) -> Vec<u32> {
        let first = (0..).zip(&self.connections).zip(self.graph.messages());
        first
            .filter(|&((n, &connection), message)| n == connection && message.from != message.to)
            .map(|((n, _), _)| n)
            .collect()
    }

    fn job_of(&self, n: u32) -> Option<u32> {
        let message = self.graph.messages().get(n as usize)?;
        Some(self.graph.job_of(message.from, message.send))
    }

    fn progress(&self, host: u32, records_tasks: bool) -> Option<Box<dyn HostProgress>> {
        let rank = *self.ranks.get(&host)?;
        Some(Box::new(RankProgress::new(
            &self.graph,
            self.options.send_done,
            rank,
            records_tasks,
        )))
    }

    fn steps(&self, ranks: &[RankTasks<'_>]) -> Vec<Step> {
        self.graph.steps(ranks)
    }

    fn operations(&self, ranks: &[RankTasks<'_>]) -> Vec<OperationRecord> {
        self.graph.operations(ranks)
    }

    fn ranked_jobs(&self) -> Option<RankedJobs> {
        Some(RankedJobs {
            traffic: self.source.traffic,
            hosts: self.hosts.clone(),
            bytes: self.options.summary.bytes,
            bus_factor: self.options.summary.bus_factor,
        })
    }

    fn pairs(&self) -> PossiblePairs {
        let messages = self.graph.messages().iter();
        let sent = messages.filter(|message| {
            message.from != message.to && matches!(self.graph.work[message.send as usize], Work::Send(_))
        });
        let mut pairs: Vec<_> = sent
            .map(|message| {
                let [from, to] = [message.from, message.to].map(|rank| self.hosts[rank as usize]);
                (from, to)
            })
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        PossiblePairs::Listed(pairs)
    }
}

/// Returns for each message the first one between the same ranks that the same transport carries.
fn first_of_pairs(graph: &TaskGraph, classes: &FlowClasses) -> Vec<u32> {
    let mut firsts = HashMap::new();
    let first = |(n, message): (u32, &Message)| {
        let transport = classes.class_for(Some(Size(message.bytes.max(1)))).transport;
        *firsts.entry((message.from, message.to, transport)).or_insert(n)
    };
    (0..).zip(graph.messages()).map(first).collect()
}
