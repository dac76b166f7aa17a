//! Flow generators: traffic that opens flows during the run, for example when other flows finish.
//!
//! Flows and jobs of a generator are numbered from 0. Flow or job `n` is a pure function of the
//! spec, the seed and `n`, so both ends of a connection compute it independently. Only its opening
//! time depends on the run. The event that opens a flow happens at the host that opens it, except
//! for a job that follows a job of another client.

use std::fmt;
use std::sync::Arc;

use weft_spec::Time;

use crate::Flow;
use crate::collective::Operation;

/// An action of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Open a flow.
    OpenFlow(u32),
    /// Start a job: open all its requests.
    StartJob(u32),
    /// Resume the generator's progress at this host ([`FlowGenerator::progress`]).
    Resume(u32),
}

/// The reaction of a flow's receiver once all data of the flow is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDelivered {
    /// No reaction.
    Nothing,
    /// The flow is a request: the receiver replies with this flow.
    Reply(u32),
    /// The flow is a block of this job, which ends when all its blocks are delivered.
    JobBlock(u32),
    /// The generator's progress at the receiver handles the delivery ([`FlowGenerator::progress`]).
    Progress,
}

/// An event at a host that has a progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// The first event of a host, or a time that [`HostProgress::on_event`] returned.
    Resume,
    /// All data of this flow has arrived at the host.
    Delivered(u32),
    /// All data of this flow, which the host sends, is acknowledged.
    Acknowledged(u32),
}

/// The progress of a generator at one host, which decides when flows from that host open. It depends
/// only on events at the host, so that any number of threads gives the same results.
pub trait HostProgress: Send {
    /// Handles an event. Adds the numbers of the flows that open now to `open`. Returns a time at which
    /// the host has to resume, if there is one that was not returned before.
    fn on_event(&mut self, event: HostEvent, now: Time, open: &mut Vec<u32>) -> Option<Time>;

    /// Returns the records of the jobs in which the host has a part.
    fn records(&self) -> Vec<RankRecord>;

    /// Returns the times of the tasks of the host's rank, if they are recorded.
    fn tasks(&self) -> Option<RankTasks<'_>>;
}

/// The times of a task of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTimes {
    /// Time at which the task started.
    pub start: Option<Time>,
    /// Time at which it was done.
    pub done: Option<Time>,
    /// The last task of the rank for which it waited.
    pub cause: Option<u32>,
    /// The message that it received.
    pub received: Option<u32>,
}

/// The recorded times of the tasks of a rank.
#[derive(Clone, Copy, Debug)]
pub struct RankTasks<'a> {
    /// Number of the rank.
    pub rank: u32,
    /// Times of all tasks of the rank, in their order.
    pub times: &'a [TaskTimes],
    /// Messages that arrived at the rank, with their times.
    pub arrivals: &'a [(u32, Time)],
}

/// A step of a job: computing, or a message to another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the job.
    pub job: u32,
    /// The rank that computes, or that sends the message.
    pub rank: u32,
    /// The rank that receives the message.
    pub to: Option<u32>,
    /// Time at which the step began.
    pub start: Time,
    /// Time at which the computing was done, or the message arrived.
    pub end: Option<Time>,
    /// The message, which is a flow of the generator; `None` for computing.
    pub message: Option<u32>,
    /// True if the step is a part of the critical path, which determines the end of the job.
    pub is_critical: bool,
}

/// Facts on a collective operation of a group of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationFacts {
    /// The operation.
    pub operation: Operation,
    /// Name of the group, such as "tensor".
    pub group: Option<Arc<str>>,
    /// Number of the layer.
    pub layer: Option<u32>,
    /// Name of the part of a step, such as "forward".
    pub pass: Option<&'static str>,
    /// Bytes of the whole array.
    pub bytes: u64,
}

/// A collective operation of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationRecord {
    /// Number of the job.
    pub job: u32,
    /// Facts that are known before the run.
    pub facts: OperationFacts,
    /// The lowest rank of the group.
    pub first_rank: u32,
    /// Number of ranks of the group.
    pub ranks: u32,
    /// Time at which the first rank began it.
    pub start: Time,
    /// Time at which all ranks had begun it.
    pub ready: Option<Time>,
    /// Time at which all ranks were done with it.
    pub end: Option<Time>,
    /// The rank that was done last.
    pub last_rank: Option<u32>,
    /// The longest time of a rank, from its beginning until it was done, in which it did not compute.
    pub exposed: Option<Time>,
}

/// The part of a rank in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRecord {
    /// Number of the job.
    pub job: u32,
    /// Number of the rank.
    pub rank: u32,
    /// Time at which the rank began its first task of the job.
    pub start: Option<Time>,
    /// Time at which all tasks of the rank were done.
    pub end: Option<Time>,
    /// Time for which the rank has computed, over all its processors.
    pub computed: Time,
    /// Time during which at least one processor of the rank has computed.
    pub busy: Time,
}

/// Facts on the jobs of a generator that runs on ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedJobs {
    /// Index of the traffic entry.
    pub traffic: u32,
    /// The host of each rank.
    pub hosts: Vec<u32>,
    /// Bytes of the operation, if it has a size.
    pub bytes: Option<u64>,
    /// Ratio of bus bandwidth to algorithm bandwidth, if it is defined.
    pub bus_factor: Option<f64>,
}

/// A job: a client sends requests to servers, and each server replies with a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Number of the slot; one job runs per slot at a time.
    pub slot: u32,
    /// The host that sends the requests.
    pub client: u32,
    /// The hosts that reply.
    pub servers: Vec<u32>,
    /// Number of the first request; those of the other servers follow in order.
    pub first_request: u32,
}

/// Traffic that opens flows during the run.
pub trait FlowGenerator: Send + Sync + fmt::Debug {
    /// Returns flow `n`; its `start` is defined only if the flow opens at a fixed time.
    fn flow(&self, n: u32) -> Flow;
    /// Returns the actions at fixed times, each with its host.
    fn timed_actions(&self) -> Vec<(Time, u32, Action)>;
    /// Returns the action of the sender of flow `n` once all its data is acknowledged, and the
    /// action's time.
    fn on_acked(&self, _n: u32, _now: Time) -> Option<(Time, Action)> {
        None
    }
    /// Returns the reaction of the receiver of flow `n` once all its data is delivered.
    fn on_delivered(&self, _n: u32) -> OnDelivered {
        OnDelivered::Nothing
    }
    /// Returns job `n` of a generator that has jobs.
    fn job(&self, _n: u32) -> Option<Job> {
        None
    }
    /// Returns the job that flow `n` is a part of.
    fn job_of(&self, _n: u32) -> Option<u32> {
        None
    }
    /// Returns the job that follows job `n`, which ended at `now`.
    fn next_job(&self, _n: u32, _now: Time) -> Option<u32> {
        None
    }
    /// Returns the progress of a host before its first event, if the generator decides by host when flows open. It records the
    /// times of all tasks if `records_tasks`.
    fn progress(&self, _host: u32, _records_tasks: bool) -> Option<Box<dyn HostProgress>> {
        None
    }
    /// Returns the steps of jobs that began, by job, start and rank. `ranks` has the recorded times of all ranks.
    fn steps(&self, _ranks: &[RankTasks<'_>]) -> Vec<Step> {
        Vec::new()
    }
    /// Returns the collective operations that began, by job and start. `ranks` has the recorded times of all ranks.
    fn operations(&self, _ranks: &[RankTasks<'_>]) -> Vec<OperationRecord> {
        Vec::new()
    }
    /// Returns facts on the jobs of a generator that runs on ranks.
    fn ranked_jobs(&self) -> Option<RankedJobs> {
        None
    }
    /// Returns the persistent connection that carries flow `n`, by the number of the first flow that it may carry; `None` if
    /// the flow opens a connection of its own. All flows of a connection have the same hosts, transport and `id`.
    fn connection_of(&self, _n: u32) -> Option<u32> {
        None
    }
    /// Returns the persistent connections, in rising order. They open at the beginning of the run.
    fn connections(&self) -> Vec<u32> {
        Vec::new()
    }
    /// Returns the pairs of hosts between which flows may open.
    fn pairs(&self) -> PossiblePairs;
}

/// The pairs of a sender and a receiver between which a generator may open flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PossiblePairs {
    /// These pairs.
    Listed(Vec<(u32, u32)>),
    /// Each sender with each receiver other than itself.
    Product(Vec<u32>, Vec<u32>),
    /// Each host of one set with each host of the other set other than itself, in both directions. A
    /// pair whose hosts are in both sets is listed twice.
    BothWays(Vec<u32>, Vec<u32>),
}

impl PossiblePairs {
    /// Returns the number of pairs, including those of a host with itself.
    pub fn count(&self) -> usize {
        match self {
            Self::Listed(pairs) => pairs.len(),
            Self::Product(senders, receivers) => senders.len() * receivers.len(),
            Self::BothWays(some, others) => 2 * some.len() * others.len(),
        }
    }

    /// Returns every `stride`-th pair, of all senders and receivers as evenly as possible. A stride
    /// of 1 returns all pairs.
    pub fn every(&self, stride: usize) -> Box<dyn Iterator<Item = (u32, u32)> + '_> {
        match self {
            Self::Listed(pairs) => Box::new(pairs.iter().copied().step_by(stride)),
            Self::Product(senders, receivers) => Box::new(product(senders, receivers, stride)),
            Self::BothWays(some, others) => {
                Box::new(product(some, others, stride).chain(product(others, some, stride)))
            }
        }
    }
}

/// Returns every `stride`-th pair of a sender and another receiver.
fn product<'a>(
    senders: &'a [u32],
    receivers: &'a [u32],
    stride: usize,
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let pairs = senders.iter().enumerate().flat_map(move |(i, &from)| {
        let receivers = receivers.iter().skip(i % stride).step_by(stride);
        receivers.map(move |&to| (from, to))
    });
    pairs.filter(|(from, to)| from != to)
}
