//! The generator that opens a flow per message of a graph of tasks.

use std::sync::Arc;

use weft_spec::{Size, Time};

use super::progress::RankProgress;
use super::{SendDone, TaskGraph, Work};
use crate::random::StreamId;
use crate::{
    Action, Flow, FlowClasses, FlowGenerator, HostProgress, OnDelivered, PatternContext, PossiblePairs,
    RankedJobs,
};

/// Facts on the jobs of a graph, for tables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobSummary {
    /// Bytes of the operation, if it has a size.
    pub bytes: Option<u64>,
    /// Ratio of bus bandwidth to algorithm bandwidth, if it is defined.
    pub bus_factor: Option<f64>,
}

/// A generator whose flow n is message n of a graph.
#[derive(Debug)]
pub(crate) struct DependentFlows {
    graph: Arc<TaskGraph>,
    /// The host of each rank.
    hosts: Vec<u32>,
    /// The rank of each host that has one.
    ranks: std::collections::HashMap<u32, u32>,
    send_done: SendDone,
    start: Time,
    summary: JobSummary,
    stream: StreamId,
    classes: FlowClasses,
    traffic: u32,
    all_hosts: u32,
}

impl DependentFlows {
    /// Creates the generator of a graph. `hosts` has the host of each rank, each once.
    pub fn new(
        graph: TaskGraph,
        hosts: Vec<u32>,
        send_done: SendDone,
        start: Time,
        summary: JobSummary,
        context: &PatternContext<'_>,
    ) -> Self {
        Self {
            graph: Arc::new(graph),
            ranks: (0..).zip(&hosts).map(|(rank, &host)| (host, rank)).collect(),
            hosts,
            send_done,
            start,
            summary,
            stream: context.stream_id(),
            classes: context.classes.clone(),
            traffic: context.traffic,
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
        let size = Size(bytes);
        let class = self.classes.class_for(Some(size));
        Flow {
            id: self.stream.flow_id(n),
            from,
            to,
            size: Some(size),
            start: self.start,
            stop: None,
            transport: class.transport,
            traffic: self.traffic,
            class: class.class,
            round: 0,
            rate: None,
        }
    }

    fn timed_actions(&self) -> Vec<(Time, u32, Action)> {
        let begin = |&host: &u32| (self.start, host, Action::Resume(host));
        self.hosts.iter().map(begin).collect()
    }

    fn on_delivered(&self, _: u32) -> OnDelivered {
        OnDelivered::Progress
    }

    fn job_of(&self, n: u32) -> Option<u32> {
        let message = self.graph.messages().get(n as usize)?;
        Some(self.graph.job_of(message.from, message.send))
    }

    fn progress(&self, host: u32) -> Option<Box<dyn HostProgress>> {
        let rank = *self.ranks.get(&host)?;
        Some(Box::new(RankProgress::new(&self.graph, self.send_done, rank)))
    }

    fn ranked_jobs(&self) -> Option<RankedJobs> {
        Some(RankedJobs {
            traffic: self.traffic,
            hosts: self.hosts.clone(),
            bytes: self.summary.bytes,
            bus_factor: self.summary.bus_factor,
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
