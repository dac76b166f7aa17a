//! Builds a graph of tasks, and refuses one in which tasks wait for each other for ever.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use weft_spec::Time;

use super::operations::{OperationTasks, TasksOfRank};
use super::{After, Message, TaskGraph, UNBOUND, Waiting, Work};
use crate::OperationFacts;

/// A graph of tasks under construction. Tasks have the numbers in which they were added.
#[derive(Debug)]
pub(crate) struct TaskGraphBuilder {
    ranks: u32,
    /// The job to which added tasks belong.
    job: u32,
    /// Rank and job of each task.
    owners: Vec<(u32, u32)>,
    work: Vec<Work>,
    processors: Vec<Option<u8>>,
    /// Tasks that wait, each with the one for which it waits.
    edges: Vec<(Waiting, u32)>,
    messages: Vec<Message>,
    /// Operations, with the tasks that belong to each.
    operations: Vec<(OperationFacts, Vec<Range<u32>>)>,
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
            owners: Vec::new(),
            work: Vec::new(),
            processors: Vec::new(),
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
        self.work.len() as u32
    }

    fn rank_of(&self, task: u32) -> u32 {
        self.owners[task as usize].0
    }

    /// Returns the number of messages.
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// Adds a task. Returns its number.
    pub fn add(&mut self, rank: u32, work: Work, processor: Option<u8>) -> u32 {
        let task = self.len();
        self.owners.push((rank, self.job));
        self.work.push(work);
        self.processors.push(processor);
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
            round: 0,
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
        self.edges.push((Waiting::new(task, after), before));
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
            let pause = pauses[self.rank_of(task) as usize];
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
            let rank = self.rank_of(task);
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
        for ((number, &work), &(rank, _)) in (0_u32..).zip(&self.work).zip(&self.owners) {
            match work {
                Work::ReceiveAny {
                    from: Some(from),
                    tag: Some(tag),
                } => ends.push(MessageEnd {
                    key: (rank, from, tag),
                    is_message: false,
                    number,
                }),
                Work::ReceiveAny { .. } => wildcards.entry(rank).or_default().push(number),
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
                    self.work[receive.number as usize] = Work::Receive(message.number);
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
        let order = TaskOrder::by(&self.owners);
        for message in &mut self.messages {
            message.send = order.position(message.send);
            if message.receive != UNBOUND {
                message.receive = order.position(message.receive);
            }
        }
        let (operations, operation_tasks) = self.operations(&order);
        let jobs = self.job + 1;
        let mut first_task = vec![0_u32; (self.ranks * jobs) as usize + 1];
        for (rank, job) in std::mem::take(&mut self.owners) {
            first_task[(rank * jobs + job) as usize + 1] += 1;
        }
        accumulate(&mut first_task);
        let work = order.sorted(self.work);
        number_rounds(&mut self.messages, &work, &first_task);
        let edges = std::mem::take(&mut self.edges);
        let (first_dependent, dependents) = dependents(work.len(), edges, &order);
        let graph = TaskGraph {
            ranks: self.ranks,
            jobs,
            first_task,
            work,
            processors: order.sorted(self.processors),
            first_dependent,
            dependents,
            messages: self.messages,
            operations,
            operation_tasks,
        };
        match graph.first_in_cycle() {
            None => Ok(graph),
            Some(task) => Err(Stuck {
                task: order.added(task),
            }),
        }
    }
}

impl TaskGraphBuilder {
    /// Returns the operations with their tasks by rank. In the graph, the tasks of a rank in a job keep their order.
    fn operations(&mut self, order: &TaskOrder) -> (Vec<OperationTasks>, Vec<TasksOfRank>) {
        let mut entries = Vec::new();
        let mut operations = Vec::with_capacity(self.operations.len());
        for (facts, ranges) in std::mem::take(&mut self.operations) {
            let begin = entries.len() as u32;
            for range in ranges {
                let mut by_rank: BTreeMap<u32, TasksOfRank> = BTreeMap::new();
                for task in range {
                    let rank = self.rank_of(task);
                    let at = order.position(task);
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

/// The order of tasks in a graph: by rank, job and addition.
enum TaskOrder {
    /// Tasks were added in this order.
    AsAdded,
    /// The tasks in this order, and the place of each task in it.
    Sorted { tasks: Vec<u32>, places: Vec<u32> },
}

impl TaskOrder {
    /// Returns the order of tasks with these ranks and jobs.
    fn by(owners: &[(u32, u32)]) -> Self {
        if owners.is_sorted() {
            return Self::AsAdded;
        }
        let mut tasks: Vec<u32> = (0..owners.len() as u32).collect();
        tasks.sort_by_key(|&task| owners[task as usize]);
        let mut places = vec![0; owners.len()];
        for (place, &task) in (0..).zip(&tasks) {
            places[task as usize] = place;
        }
        Self::Sorted { tasks, places }
    }

    /// Returns the number in the graph of an added task.
    fn position(&self, task: u32) -> u32 {
        match self {
            Self::AsAdded => task,
            Self::Sorted { places, .. } => places[task as usize],
        }
    }

    /// Returns the number with which a task of the graph was added.
    fn added(&self, task: u32) -> u32 {
        match self {
            Self::AsAdded => task,
            Self::Sorted { tasks, .. } => tasks[task as usize],
        }
    }

    /// Returns values of tasks in this order.
    fn sorted<T: Copy>(&self, mut values: Vec<T>) -> Vec<T> {
        if let Self::Sorted { tasks, .. } = self {
            return tasks.iter().map(|&task| values[task as usize]).collect();
        }
        values.shrink_to_fit();
        values
    }
}

/// Numbers the messages that each rank sends in each job. `first_task` has the first task of each job of each rank.
fn number_rounds(messages: &mut [Message], work: &[Work], first_task: &[u32]) {
    for bounds in first_task.windows(2) {
        let tasks = &work[bounds[0] as usize..bounds[1] as usize];
        let sent = tasks.iter().filter_map(|&work| match work {
            Work::Send(message) => Some(message),
            _ => None,
        });
        for (round, message) in (0..).zip(sent) {
            messages[message as usize].round = round;
        }
    }
}

/// Returns the tasks that wait for each task, in the order of the edges, with the first entry of each task.
fn dependents(tasks: usize, edges: Vec<(Waiting, u32)>, order: &TaskOrder) -> (Vec<u32>, Vec<Waiting>) {
    let mut first = vec![0_u32; tasks + 1];
    for &(_, before) in &edges {
        first[order.position(before) as usize + 1] += 1;
    }
    accumulate(&mut first);
    // From the end of each task's entries to their beginning, which then is the end of the previous one's.
    first.remove(0);
    first.push(edges.len() as u32);
    let mut dependents = vec![Waiting::new(0, After::Done); edges.len()];
    for (waiting, before) in edges.into_iter().rev() {
        let entry = &mut first[order.position(before) as usize];
        *entry -= 1;
        dependents[*entry as usize] = Waiting::new(order.position(waiting.task()), waiting.after());
    }
    (first, dependents)
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
        for waiting in &self.dependents {
            indegrees[waiting.task() as usize] += 1;
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
            for waiting in self.dependents_of(task) {
                release(waiting.task());
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
            for waiting in self.dependents_of(task) {
                before[waiting.task() as usize] = task;
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
