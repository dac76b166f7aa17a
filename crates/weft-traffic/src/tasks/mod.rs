//! Tasks of ranks: messages that start when others have arrived at or left the same host, and
//! computing between them. A [`TaskGraph`] is the common form of collective operations and traces. [`DependentFlows`] opens
//! a flow per message.
//!
//! A rank runs at one host. Its tasks depend only on tasks of the same rank, so that each host
//! decides alone when its flows open ([`progress`]).

mod builder;
mod generator;
mod operations;
mod progress;
mod steps;

pub(crate) use builder::{TaskGraphBuilder, Unmatched};
pub(crate) use generator::{DependentFlows, JobOptions, JobSummary};

use weft_spec::Time;

use operations::{OperationTasks, TasksOfRank};

/// The work of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Time that passes before the rank begins a job.
    Pause(Time),
    /// Computing.
    Compute(Time),
    /// The message with this number is sent.
    Send(u32),
    /// The message with this number is received.
    Receive(u32),
    /// A message with this source and this tag is received; `None` matches all.
    ReceiveAny {
        /// Rank that sends.
        from: Option<u32>,
        /// Tag of the message.
        tag: Option<u32>,
    },
}

/// The point of a task for which another one waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The task is done.
    Done,
    /// The task has started.
    Started,
}

/// A task that waits for a point of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting(u32);

impl Waiting {
    /// The bit of a task that waits until the other one has started. Tasks have smaller numbers.
    const STARTED: u32 = 1 << 31;

    fn new(task: u32, after: After) -> Self {
        Self(match after {
            After::Done => task,
            After::Started => task | Self::STARTED,
        })
    }

    /// Returns the number of the task.
    pub fn task(self) -> u32 {
        self.0 & !Self::STARTED
    }

    /// Returns the point of the other task.
    pub fn after(self) -> After {
        if self.0 & Self::STARTED == 0 {
            After::Done
        } else {
            After::Started
        }
    }
}

/// Condition for a send to be done.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum SendDone {
    /// The sender has the acknowledgement of all data of the message. At level `flow` the last byte has arrived.
    #[default]
    Acknowledged,
    /// The message has been handed to the transport, as if it had been copied into a buffer.
    Started,
}

/// Use of connections by the messages of a job.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Connections {
    /// Each message opens a connection of its own.
    #[default]
    PerMessage,
    /// One connection from a rank to another carries all messages between them in the order in which they start. It opens at the
    /// beginning of the run, so that messages of a job with a later `start` wait for no handshake, and its windows and paths stay.
    /// Only kinds with handshakes have connections; the other kinds only keep the paths.
    Persistent,
}

/// A message from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Rank that sends.
    pub from: u32,
    /// Rank that receives.
    pub to: u32,
    /// Tag, which receives may match.
    pub tag: u32,
    /// The task that sends the message.
    pub send: u32,
    /// The task that receives this message and no other; [`UNBOUND`] if receives match by source and tag.
    pub receive: u32,
    /// Number of messages that the rank sends earlier in the job.
    pub round: u32,
    /// Application bytes.
    pub bytes: u64,
}

/// Task number of a message that receives match by source and tag.
pub(crate) const UNBOUND: u32 = u32::MAX;

/// The tasks of all ranks, in the order of ranks, jobs and their addition.
#[derive(Debug)]
pub(crate) struct TaskGraph {
    ranks: u32,
    jobs: u32,
    /// First task of each job of each rank, and the number of tasks: `rank * jobs + job`.
    first_task: Vec<u32>,
    pub work: Vec<Work>,
    /// The processor that executes a task; tasks of one processor start in the order in which they become ready.
    processors: Vec<Option<u8>>,
    /// First entry of each task in `dependents`, and the number of entries.
    first_dependent: Vec<u32>,
    /// Tasks that wait for a task.
    dependents: Vec<Waiting>,
    messages: Vec<Message>,
    operations: Vec<OperationTasks>,
    /// The tasks of operations.
    operation_tasks: Vec<TasksOfRank>,
}

impl TaskGraph {
    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Returns the number of jobs.
    pub fn jobs(&self) -> u32 {
        self.jobs
    }

    /// Returns all messages by number.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the tasks of a rank.
    pub fn tasks_of(&self, rank: u32) -> std::ops::Range<u32> {
        let first = |rank: u32| self.first_task[(rank * self.jobs) as usize];
        first(rank)..first(rank + 1)
    }

    /// Returns the number of tasks of a job of a rank.
    fn tasks_of_job(&self, rank: u32, job: u32) -> u32 {
        let index = (rank * self.jobs + job) as usize;
        self.first_task[index + 1] - self.first_task[index]
    }

    /// Returns the job of a task of a rank.
    fn job_of(&self, rank: u32, task: u32) -> u32 {
        let first = (rank * self.jobs) as usize;
        let firsts = &self.first_task[first..first + self.jobs as usize];
        firsts.partition_point(|&first| first <= task) as u32 - 1
    }

    /// Returns the tasks that wait for a task.
    pub fn dependents_of(&self, task: u32) -> &[Waiting] {
        let [from, to] = [task, task + 1].map(|task| self.first_dependent[task as usize] as usize);
        &self.dependents[from..to]
    }
}
