//! Builds a graph of tasks, and refuses one in which tasks wait for each other for ever.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use weft_spec::Time;

use super::operations::{OperationTasks, TasksOfRank};
use super::{After, Message, TaskGraph, UNBOUND, Work};
use crate::OperationFacts;

/// A graph of tasks under construction. Tasks have the numbers in which they were added.
#[derive(Debug)]
pub(crate) struct TaskGraphBuilder {
    ranks: u32,
    /// The job to which added tasks belong.
    job: u32,
    tasks: Vec<NewTask>,
    edges: Vec<Edge>,
    messages: Vec<Message>,
    /// Operations, with the tasks that belong to each.
    operations: Vec<(OperationFacts, Vec<Range<u32>>)>,
}

#[derive(Clone, Copy, Debug)]
struct NewTask {
    rank: u32,
    job: u32,
    work: Work,
    processor: Option<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    task: u32,
    before: u32,
    after: After,
}

/// A task that can never start, because it waits for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// The number of the task in the builder.
    pub task: u32,
}

/// A receive or a message that remains without the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmatched {
    /// A receive that no message is left for.
    Receive {
        /// The number of the task in the builder.
        task: u32,
    },
    /// A message that no receive is left for.
    Send {
        /// The number of the task in the builder.
        task: u32,
    },
}

/// A message, or a receive that matches by source and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MessageEnd {
    /// Receiver, sender and tag.
    key: (u32, u32, u32),
    is_message: bool,
    /// Number of the message or of the task.
    number: u32,
}

impl TaskGraphBuilder {
    /// Creates a graph of this many ranks without tasks.
    pub fn new(ranks: u32) -> Self {
        Self {
            ranks,
            job: 0,
            tasks: Vec::new(),
            edges: Vec::new(),
            messages: Vec::new(),
            operations: Vec::new(),
        }
    }

    /// Begins the next job.
    pub fn next_job(&mut self) {
        self.job += 1;
    }

    /// Returns the number of tasks.
    pub fn len(&self) -> u32 {
        self.tasks.len() as u32
    }

    /// Returns the number of messages.
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// Adds a task. Returns its number.
    pub fn add(&mut self, rank: u32, work: Work, processor: Option<u8>) -> u32 {
        let task = self.len();
        self.tasks.push(NewTask {
            rank,
            job: self.job,
            work,
            processor,
        });
        task
    }

    /// Adds a task that sends a message. Returns its number.
    pub fn send(&mut self, from: u32, to: u32, bytes: u64, tag: u32, processor: Option<u8>) -> u32 {
        let message = self.messages.len() as u32;
        let send = self.add(from, Work::Send(message), processor);
        self.messages.push(Message {
            from,
            to,
            tag,
            send,
            receive: UNBOUND,
            bytes,
        });
        send
    }

    /// Adds a message with the tasks that send and receive it. Returns the numbers of both.
    pub fn message(&mut self, from: u32, to: u32, bytes: u64) -> (u32, u32) {
        let message = self.messages.len() as u32;
        let send = self.send(from, to, bytes, 0, None);
        let receive = self.add(to, Work::Receive(message), None);
        self.messages[message as usize].receive = receive;
        (send, receive)
    }

    /// Names the operation to which tasks belong.
    pub fn operation(&mut self, facts: OperationFacts, tasks: Vec<Range<u32>>) {
        self.operations.push((facts, tasks));
    }

    /// Lets a task wait for another one of the same rank.
    pub fn wait(&mut self, task: u32, before: u32, after: After) {
        self.edges.push(Edge { task, before, after });
    }

    /// Lets a task wait until another one of the same rank is done.
    pub fn after(&mut self, task: u32, before: u32) {
        self.wait(task, before, After::Done);
    }

    /// Adds a pause of every rank that begins when the `previous` tasks from this number on are done, and lets the tasks from
    /// `first` on wait for it.
    pub fn pause_between(&mut self, previous: u32, first: u32, time: Time) {
        let end = self.len();
        let pauses: Vec<u32> = (0..self.ranks)
            .map(|rank| self.add(rank, Work::Pause(time), None))
            .collect();
        for task in previous..end {
            let pause = pauses[self.tasks[task as usize].rank as usize];
            if task < first {
                self.after(pause, task);
            } else {
                self.after(task, pause);
            }
        }
    }

    /// Lets the tasks of a rank from `first` on wait for the task of the rank in `begins`, and the task in `ends` wait for them.
    pub fn enclose(&mut self, first: u32, begins: &HashMap<u32, u32>, ends: &HashMap<u32, u32>) {
        for task in first..self.len() {
            let rank = self.tasks[task as usize].rank;
            if let Some(&begin) = begins.get(&rank) {
                self.after(task, begin);
            }
            if let Some(&end) = ends.get(&rank) {
                self.after(end, task);
            }
        }
    }

    /// Finds the message of each receive that matches by source and tag, where no other choice is possible. There the source and
    /// the tag occur once, and the receiver never receives from any source or with any tag. All other receives match during
    /// the run.
    ///
    /// # Errors
    /// Returns a receive or a message that remains without the other.
    pub fn match_receives(&mut self) -> Result<(), Unmatched> {
        let mut wildcards: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut ends = Vec::with_capacity(2 * self.messages.len());
        for (number, task) in (0_u32..).zip(&self.tasks) {
            match task.work {
                Work::ReceiveAny {
                    from: Some(from),
                    tag: Some(tag),
                } => ends.push(MessageEnd {
                    key: (task.rank, from, tag),
                    is_message: false,
                    number,
                }),
                Work::ReceiveAny { .. } => wildcards.entry(task.rank).or_default().push(number),
                _ => {}
            }
        }
        for (number, message) in (0_u32..).zip(&self.messages) {
            ends.push(MessageEnd {
                key: (message.to, message.from, message.tag),
                is_message: true,
                number,
            });
        }
        ends.sort_unstable();
        for of_rank in ends.chunk_by(|a, b| a.key.0 == b.key.0) {
            let rank = of_rank[0].key.0;
            let wildcards = wildcards.remove(&rank);
            // Messages that receives with wildcards have to take.
            let mut left = Vec::new();
            for same in of_rank.chunk_by(|a, b| a.key == b.key) {
                let (receives, messages) = same.split_at(same.partition_point(|end| !end.is_message));
                if let Some(end) = receives.get(messages.len()) {
                    return Err(Unmatched::Receive { task: end.number });
                }
                left.extend_from_slice(&messages[receives.len()..]);
                if let ([receive], [message], None) = (receives, messages, &wildcards) {
                    self.tasks[receive.number as usize].work = Work::Receive(message.number);
                    self.messages[message.number as usize].receive = receive.number;
                }
            }
            let wildcards = wildcards.unwrap_or_default();
            if let Some(&task) = wildcards.get(left.len()) {
                return Err(Unmatched::Receive { task });
            }
            if let Some(end) = left.get(wildcards.len()) {
                let task = self.messages[end.number as usize].send;
                return Err(Unmatched::Send { task });
            }
        }
        match wildcards.into_values().flatten().min() {
            Some(task) => Err(Unmatched::Receive { task }),
            None => Ok(()),
        }
    }

    /// Builds the graph.
    ///
    /// # Errors
    /// Returns a task that waits for itself, also through messages.
    pub fn build(mut self) -> Result<TaskGraph, Stuck> {
        let tasks = self.tasks.len();
        let mut order: Vec<u32> = (0..self.len()).collect();
        order.sort_by_key(|&task| {
            let task = &self.tasks[task as usize];
            (task.rank, task.job)
        });
        let mut position = vec![0_u32; tasks];
        for (new, &old) in (0..).zip(&order) {
            position[old as usize] = new;
        }
        for edge in &mut self.edges {
            edge.task = position[edge.task as usize];
            edge.before = position[edge.before as usize];
        }
        for message in &mut self.messages {
            message.send = position[message.send as usize];
            if message.receive != UNBOUND {
                message.receive = position[message.receive as usize];
            }
        }
        let (operations, operation_tasks) = self.operations(&position);
        let jobs = self.job + 1;
        let mut first_task = vec![0_u32; (self.ranks * jobs) as usize + 1];
        for task in &self.tasks {
            first_task[(task.rank * jobs + task.job) as usize + 1] += 1;
        }
        accumulate(&mut first_task);
        let mut first_dependent = vec![0_u32; tasks + 1];
        for edge in &self.edges {
            first_dependent[edge.before as usize + 1] += 1;
        }
        accumulate(&mut first_dependent);
        let mut free = first_dependent.clone();
        let mut dependents = vec![(0, After::Done); self.edges.len()];
        for edge in &self.edges {
            let entry = &mut free[edge.before as usize];
            dependents[*entry as usize] = (edge.task, edge.after);
            *entry += 1;
        }
        let graph = TaskGraph {
            ranks: self.ranks,
            jobs,
            first_task,
            work: order.iter().map(|&task| self.tasks[task as usize].work).collect(),
            processors: order
                .iter()
                .map(|&task| self.tasks[task as usize].processor)
                .collect(),
            first_dependent,
            dependents,
            messages: self.messages,
            operations,
            operation_tasks,
        };
        match graph.first_in_cycle() {
            None => Ok(graph),
            Some(task) => Err(Stuck {
                task: order[task as usize],
            }),
        }
    }
}

impl TaskGraphBuilder {
    /// Returns the operations with their tasks by rank. `position` has the number of each task in the graph, in which the tasks
    /// of a rank in a job keep their order.
    fn operations(&mut self, position: &[u32]) -> (Vec<OperationTasks>, Vec<TasksOfRank>) {
        let mut entries = Vec::new();
        let mut operations = Vec::with_capacity(self.operations.len());
        for (facts, ranges) in std::mem::take(&mut self.operations) {
            let begin = entries.len() as u32;
            for range in ranges {
                let mut by_rank: BTreeMap<u32, TasksOfRank> = BTreeMap::new();
                for task in range {
                    let rank = self.tasks[task as usize].rank;
                    let at = position[task as usize];
                    let of_rank = by_rank.entry(rank).or_insert(TasksOfRank {
                        rank,
                        first: at,
                        end: at,
                    });
                    of_rank.end = at + 1;
                }
                entries.extend(by_rank.into_values());
            }
            let entries = begin..entries.len() as u32;
            operations.push(OperationTasks { facts, entries });
        }
        (operations, entries)
    }
}

/// Turns counts into sums of all counts before.
fn accumulate(counts: &mut [u32]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

impl TaskGraph {
    /// Returns the number of tasks and messages for which each task waits.
    fn indegrees(&self) -> Vec<u32> {
        let mut indegrees = vec![0; self.work.len()];
        for &(task, _) in &self.dependents {
            indegrees[task as usize] += 1;
        }
        for message in &self.messages {
            if message.receive != UNBOUND {
                indegrees[message.receive as usize] += 1;
            }
        }
        indegrees
    }

    /// Returns the first task of a cycle. A receive waits for its message if it is bound to one.
    fn first_in_cycle(&self) -> Option<u32> {
        let mut waits = self.indegrees();
        let mut ready: Vec<u32> = (0..waits.len() as u32)
            .filter(|&task| waits[task as usize] == 0)
            .collect();
        let mut left = waits.len();
        while let Some(task) = ready.pop() {
            left -= 1;
            let mut release = |task: u32| {
                let waits = &mut waits[task as usize];
                *waits -= 1;
                if *waits == 0 {
                    ready.push(task);
                }
            };
            for &(task, _) in self.dependents_of(task) {
                release(task);
            }
            if let Work::Send(message) = self.work[task as usize] {
                let receive = self.messages[message as usize].receive;
                if receive != UNBOUND {
                    release(receive);
                }
            }
        }
        if left == 0 {
            return None;
        }
        // A task that waits may only follow a cycle. Going back along waiting tasks leads into the cycle.
        let mut before = vec![u32::MAX; waits.len()];
        for task in (0..waits.len() as u32).filter(|&task| waits[task as usize] > 0) {
            for &(dependent, _) in self.dependents_of(task) {
                before[dependent as usize] = task;
            }
            if let Work::Send(message) = self.work[task as usize] {
                let receive = self.messages[message as usize].receive;
                if receive != UNBOUND {
                    before[receive as usize] = task;
                }
            }
        }
        let mut task = (0..waits.len() as u32).find(|&task| waits[task as usize] > 0)?;
        for _ in 0..waits.len() {
            task = before[task as usize];
        }
        let (mut first, mut at) = (task, before[task as usize]);
        while at != task {
            first = first.min(at);
            at = before[at as usize];
        }
        Some(first)
    }
}
