//! Sequences of computing and of operations at ranks, one after another or next to each other.

use std::collections::HashMap;

use weft_spec::Time;

use super::{Algorithm, Exchange};
use crate::OperationFacts;
use crate::tasks::{TaskGraphBuilder, Work};

/// The processor on which ranks compute.
const PROCESSOR: Option<u8> = Some(0);

/// A graph whose ranks do one thing after another. Operations in the background run next to these.
pub(crate) struct RankSequences {
    pub builder: TaskGraphBuilder,
    /// The tasks of each rank for which its next one waits.
    last: Vec<Vec<u32>>,
    /// The tasks of each rank that run in the background.
    background: Vec<Vec<u32>>,
    /// The end of the last operation of each rank in the background.
    last_background: Vec<Option<u32>>,
}

impl RankSequences {
    /// Creates sequences without tasks.
    pub fn new(ranks: u32) -> Self {
        Self {
            builder: TaskGraphBuilder::new(ranks),
            last: vec![Vec::new(); ranks as usize],
            background: vec![Vec::new(); ranks as usize],
            last_background: vec![None; ranks as usize],
        }
    }

    fn ranks(&self) -> u32 {
        self.last.len() as u32
    }

    /// Begins a job at each rank once all that the rank has begun is done. Returns the tasks after which the ranks begin.
    pub fn begin_job(&mut self) -> Vec<u32> {
        if self.builder.len() > 0 {
            self.builder.next_job();
        }
        for rank in 0..self.ranks() {
            self.join(rank);
        }
        (0..self.ranks()).map(|rank| self.marker(rank)).collect()
    }

    /// Lets the next task of a rank wait for all that runs in the background.
    pub fn join(&mut self, rank: u32) {
        let background = std::mem::take(&mut self.background[rank as usize]);
        self.last[rank as usize].extend(background);
    }

    /// Lets the next task of a rank wait for a task.
    pub fn wait(&mut self, rank: u32, before: u32) {
        self.last[rank as usize].push(before);
    }

    /// Adds a task that the sequence of a rank continues with.
    fn add(&mut self, rank: u32, work: Work, processor: Option<u8>) -> u32 {
        let task = self.builder.add(rank, work, processor);
        for before in std::mem::replace(&mut self.last[rank as usize], vec![task]) {
            self.builder.after(task, before);
        }
        task
    }

    /// Adds a task without work.
    fn marker(&mut self, rank: u32) -> u32 {
        self.add(rank, Work::Pause(Time(0)), None)
    }

    /// Adds computing of a rank.
    pub fn compute(&mut self, rank: u32, time: Time) {
        if time > Time(0) {
            self.add(rank, Work::Compute(time), PROCESSOR);
        }
    }

    /// Lets a task, such as a send, begin now and run in the background.
    pub fn begin_in_background(&mut self, rank: u32, task: u32) {
        for &before in &self.last[rank as usize] {
            self.builder.after(task, before);
        }
        self.background[rank as usize].push(task);
    }

    /// Adds an operation with which the sequences of its ranks continue when it is done.
    pub fn exchange(&mut self, members: &[u32], facts: OperationFacts, add: impl FnOnce(&mut Exchange<'_>)) {
        let first = self.builder.len();
        let begins: HashMap<u32, u32> = members.iter().map(|&rank| (rank, self.marker(rank))).collect();
        let ends = self.enclosed(members, first, facts, &begins, add);
        for (&rank, &end) in &ends {
            self.last[rank as usize] = vec![end];
        }
    }

    /// Adds an operation that runs in the background, after the last one in the background.
    pub fn exchange_in_background(&mut self, members: &[u32], facts: OperationFacts, algorithm: Algorithm) {
        let first = self.builder.len();
        let mut begins = HashMap::new();
        for &rank in members {
            let begin = self.builder.add(rank, Work::Pause(Time(0)), None);
            let last = self.last[rank as usize].iter().copied();
            for before in last.chain(self.last_background[rank as usize]) {
                self.builder.after(begin, before);
            }
            begins.insert(rank, begin);
        }
        let operation = facts.operation;
        let add = |exchange: &mut Exchange<'_>| exchange.add(operation, algorithm);
        for (rank, end) in self.enclosed(members, first, facts, &begins, add) {
            self.last_background[rank as usize] = Some(end);
            self.background[rank as usize].push(end);
        }
    }

    /// Adds an operation that begins after `begins`, the tasks from `begin` on. Returns the task of each rank that is done after
    /// all of its others.
    fn enclosed(
        &mut self,
        members: &[u32],
        begin: u32,
        facts: OperationFacts,
        begins: &HashMap<u32, u32>,
        add: impl FnOnce(&mut Exchange<'_>),
    ) -> HashMap<u32, u32> {
        let end = |&rank: &u32| (rank, self.builder.add(rank, Work::Pause(Time(0)), None));
        let ends: HashMap<u32, u32> = members.iter().map(end).collect();
        let first = self.builder.len();
        add(&mut Exchange {
            builder: &mut self.builder,
            members,
            bytes: facts.bytes,
            chunks: 1,
        });
        self.builder.enclose(first, begins, &ends);
        let tasks = begin..self.builder.len();
        self.builder.operation(facts, vec![tasks]);
        ends
    }
}
