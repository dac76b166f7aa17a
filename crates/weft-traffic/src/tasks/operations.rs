//! The collective operations of jobs: when ranks ran them, and for how much of this time a rank did not compute.

use std::collections::BTreeMap;
use std::ops::Range;

use weft_spec::Time;

use super::steps::Recorded;
use super::{TaskGraph, Work};
use crate::{OperationFacts, OperationRecord, RankTasks};

/// An operation of some ranks, whose tasks are a part of a graph.
#[derive(Clone, Debug)]
pub(super) struct OperationTasks {
    pub facts: OperationFacts,
    /// Its entries in [`TaskGraph::operation_tasks`].
    pub entries: Range<u32>,
}

/// Tasks of a rank that follow one another in a graph and belong to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TasksOfRank {
    pub rank: u32,
    pub first: u32,
    /// The task after the last one.
    pub end: u32,
}

/// The time of an operation at a rank.
#[derive(Clone, Copy, Debug)]
struct RankTime {
    rank: u32,
    start: Option<Time>,
    /// Time at which all its tasks were complete.
    end: Option<Time>,
}

/// Times in which a rank computed, in their order, without overlaps.
#[derive(Default)]
struct Computing {
    /// Beginning and end of each, and the computing before it.
    spans: Vec<(Time, Time, Time)>,
}

impl Computing {
    /// Joins times in any order.
    fn new(mut times: Vec<(Time, Time)>) -> Self {
        times.sort_unstable();
        let mut computing = Self::default();
        for (from, to) in times {
            let before = computing.until(from);
            match computing.spans.last_mut() {
                Some((_, end, _)) if *end >= from => *end = to.max(*end),
                _ => computing.spans.push((from, to, before)),
            }
        }
        computing
    }

    /// Returns the computing before a time.
    fn until(&self, time: Time) -> Time {
        let next = self.spans.partition_point(|&(from, ..)| from < time);
        match self.spans[..next].last() {
            Some(&(from, to, before)) => Time(before.0 + (time.min(to).0 - from.0)),
            None => Time(0),
        }
    }
}

impl TaskGraph {
    /// Returns the operations that a rank has begun, by job and start.
    pub fn operations(&self, ranks: &[RankTasks<'_>]) -> Vec<OperationRecord> {
        let recorded = Recorded::new(self, ranks);
        let computing: Vec<Computing> = (0..self.ranks()).map(|rank| recorded.computing(rank)).collect();
        let operations = self.operations.iter();
        let mut records: Vec<OperationRecord> = operations
            .filter_map(|operation| recorded.operation(operation, &computing))
            .collect();
        records.sort_by_key(|record| (record.job, record.start, record.first_rank));
        records
    }
}

impl Recorded<'_> {
    fn computing(&self, rank: u32) -> Computing {
        let times = self.graph.tasks_of(rank).filter_map(|task| {
            let times = self.times_of(rank, task)?;
            matches!(self.graph.work[task as usize], Work::Compute(_)).then_some(())?;
            // A task that is not done when the run ends computes on.
            Some((times.start?, times.done.unwrap_or(Time(u64::MAX))))
        });
        Computing::new(times.collect())
    }

    /// Returns the time at which a task was complete. A send is complete when it starts.
    pub fn complete(&self, rank: u32, task: u32) -> Option<Time> {
        let times = self.times_of(rank, task)?;
        match self.graph.work[task as usize] {
            Work::Send(_) => times.start,
            _ => times.done,
        }
    }

    /// Returns the time of tasks of an operation at their rank.
    fn time_of(&self, tasks: TasksOfRank) -> RankTime {
        let TasksOfRank { rank, first, end } = tasks;
        let starts = (first..end).filter_map(|task| self.times_of(rank, task)?.start);
        let ends: Option<Vec<Time>> = (first..end).map(|task| self.complete(rank, task)).collect();
        RankTime {
            rank,
            start: starts.min(),
            end: ends.and_then(|ends| ends.into_iter().max()),
        }
    }

    fn operation(&self, operation: &OperationTasks, computing: &[Computing]) -> Option<OperationRecord> {
        let [from, to] = [operation.entries.start, operation.entries.end].map(|entry| entry as usize);
        let entries = &self.graph.operation_tasks[from..to];
        let mut by_rank: BTreeMap<u32, RankTime> = BTreeMap::new();
        for time in entries.iter().map(|&tasks| self.time_of(tasks)) {
            let of_rank = by_rank.entry(time.rank).or_insert(time);
            of_rank.start = [of_rank.start, time.start].into_iter().flatten().min();
            of_rank.end = of_rank.end.zip(time.end).map(|(a, b)| a.max(b));
        }
        let times = || by_rank.values();
        let starts: Option<Vec<Time>> = times().map(|time| time.start).collect();
        let ends: Option<Vec<Time>> = times().map(|time| time.end).collect();
        let end = ends.and_then(|ends| ends.into_iter().max());
        let first = entries.first()?;
        let exposed: Option<Vec<Time>> = times()
            .map(|time| {
                let (start, end) = (time.start?, time.end?);
                let of_rank = &computing[time.rank as usize];
                Some(Time(
                    end.0 - start.0 - (of_rank.until(end).0 - of_rank.until(start).0),
                ))
            })
            .collect();
        Some(OperationRecord {
            job: self.graph.job_of(first.rank, first.first),
            facts: operation.facts.clone(),
            first_rank: *by_rank.keys().next()?,
            ranks: by_rank.len() as u32,
            start: times().filter_map(|time| time.start).min()?,
            ready: starts.and_then(|starts| starts.into_iter().max()),
            end,
            // If several ranks end at the same time, the one of the lowest number counts.
            last_rank: times()
                .find(|time| end.is_some() && time.end == end)
                .map(|time| time.rank),
            exposed: exposed.and_then(|exposed| exposed.into_iter().max()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computing_at_the_same_time_counts_once() {
        let times = [(30, 40), (0, 10), (5, 20), (20, 22)].map(|(from, to)| (Time(from), Time(to)));
        let computing = Computing::new(times.to_vec());
        for (time, sum) in [
            (0, 0),
            (4, 4),
            (15, 15),
            (22, 22),
            (29, 22),
            (30, 22),
            (36, 28),
            (99, 32),
        ] {
            assert_eq!(computing.until(Time(time)), Time(sum), "until {time}");
        }
    }
}
