//! The steps of jobs: when ranks computed and messages were on their way, and which of these steps form the critical path. It
//! leads from the last task of a job back along the tasks and messages for which each one waited.

use std::cmp::Reverse;
use std::collections::HashSet;

use weft_spec::Time;

use super::{Message, TaskGraph, Work};
use crate::{RankTasks, Step, TaskTimes};

/// The recorded times of all ranks.
pub(super) struct Recorded<'a> {
    pub graph: &'a TaskGraph,
    /// Times of tasks by rank.
    times: Vec<&'a [TaskTimes]>,
    /// Time at which each message arrived.
    arrivals: Vec<Option<Time>>,
}

impl TaskGraph {
    /// Returns the computing and the messages that began, by job, start and rank.
    pub fn steps(&self, ranks: &[RankTasks<'_>]) -> Vec<Step> {
        let recorded = Recorded::new(self, ranks);
        let critical: HashSet<u32> = (0..self.jobs())
            .flat_map(|job| recorded.critical_path(job).unwrap_or_default())
            .collect();
        let tasks = (0..self.ranks()).flat_map(|rank| self.tasks_of(rank).map(move |task| (rank, task)));
        let mut steps: Vec<Step> = tasks
            .filter_map(|(rank, task)| recorded.step(rank, task, critical.contains(&task)))
            .collect();
        steps.sort_by_key(|step| (step.job, step.start, step.rank, step.message));
        steps
    }
}

impl<'a> Recorded<'a> {
    pub fn new(graph: &'a TaskGraph, ranks: &[RankTasks<'a>]) -> Self {
        let mut times: Vec<&[TaskTimes]> = vec![&[]; graph.ranks() as usize];
        let mut arrivals = vec![None; graph.messages().len()];
        for tasks in ranks {
            times[tasks.rank as usize] = tasks.times;
            for &(message, time) in tasks.arrivals {
                arrivals[message as usize] = Some(time);
            }
        }
        Self {
            graph,
            times,
            arrivals,
        }
    }

    /// Returns the times of a task; `None` if its rank recorded none.
    pub fn times_of(&self, rank: u32, task: u32) -> Option<&TaskTimes> {
        let first = self.graph.tasks_of(rank).start;
        self.times[rank as usize].get((task - first) as usize)
    }

    /// Returns the step of a task that computes for some time, or sends a message to another rank.
    fn step(&self, rank: u32, task: u32, is_critical: bool) -> Option<Step> {
        let times = self.times_of(rank, task)?;
        let start = times.start?;
        let (end, message) = match self.graph.work[task as usize] {
            Work::Compute(Time(0)) => return None,
            Work::Compute(_) => (times.done, None),
            Work::Send(message) if self.graph.messages()[message as usize].to != rank => {
                (self.arrivals[message as usize], Some(message))
            }
            _ => return None,
        };
        Some(Step {
            job: self.graph.job_of(rank, task),
            rank,
            to: message.map(|message| self.graph.messages()[message as usize].to),
            start,
            end,
            message,
            is_critical,
        })
    }

    /// Returns the last complete task of a job of a rank and its time; `None` unless all are complete.
    fn last_of(&self, job: u32, rank: u32) -> Option<(Time, u32)> {
        let first = self.graph.first_task[(rank * self.graph.jobs() + job) as usize];
        let mut last = None;
        for task in first..first + self.graph.tasks_of_job(rank, job) {
            let complete = self.complete(rank, task)?;
            if last.is_none_or(|(time, _)| complete >= time) {
                last = Some((complete, task));
            }
        }
        last
    }

    /// Returns the tasks on the critical path of a job that has ended.
    fn critical_path(&self, job: u32) -> Option<Vec<u32>> {
        let graph = self.graph;
        let with_tasks = (0..graph.ranks()).filter(|&rank| graph.tasks_of_job(rank, job) > 0);
        let lasts: Option<Vec<_>> = with_tasks
            .map(|rank| Some((self.last_of(job, rank)?, rank)))
            .collect();
        // If several ranks end at the same time, the job ends with the one of the lowest number.
        let ((mut until, mut task), mut rank) = lasts?
            .into_iter()
            .min_by_key(|&((time, _), rank)| (Reverse(time), rank))?;
        let mut path = Vec::new();
        loop {
            let times = self.times_of(rank, task)?;
            let start = times.start?;
            match graph.work[task as usize] {
                Work::Pause(Time(0)) => {}
                Work::Pause(_) => break,
                Work::Compute(_) | Work::Send(_) => {
                    if until > start {
                        path.push(task);
                    }
                }
                Work::Receive(_) | Work::ReceiveAny { .. } => {
                    if until > start {
                        // The message arrived after the rank was ready for it.
                        let Message { from, send, .. } = graph.messages()[times.received? as usize];
                        path.push(send);
                        (rank, task, until) = (from, send, self.times_of(from, send)?.start?);
                        if graph.job_of(rank, task) < job {
                            break;
                        }
                    }
                }
            }
            let times = self.times_of(rank, task)?;
            until = until.min(times.start?);
            let Some(cause) = times.cause.filter(|&cause| graph.job_of(rank, cause) == job) else {
                break;
            };
            task = cause;
        }
        Some(path)
    }
}
