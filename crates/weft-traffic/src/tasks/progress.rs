//! The progress of a rank at its host: which of its tasks have started and which are done.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use weft_spec::Time;

use super::{After, SendDone, TaskGraph, UNBOUND, Work};
use crate::{HostEvent, HostProgress, RankRecord, RankTasks, TaskTimes};

/// Value of `waits` of a receive that has been posted.
const POSTED: u32 = u32::MAX;

/// A rank at its host.
pub(super) struct RankProgress {
    graph: Arc<TaskGraph>,
    send_done: SendDone,
    rank: u32,
    /// First task of the rank.
    first: u32,
    has_begun: bool,
    /// Number of tasks for which each task waits.
    waits: Vec<u32>,
    /// Time from which on each processor is free, and the task until then.
    free_at: HashMap<u8, (Time, Option<u32>)>,
    /// Times of the tasks, and of messages that arrived, if they are recorded.
    recorded: Option<RecordedTasks>,
    /// Posted receives that match by source and tag, in order.
    posted: VecDeque<u32>,
    /// Messages that arrived before a receive matched them, in order.
    early: VecDeque<u32>,
    /// Messages that arrived before their own receive was posted.
    early_bound: HashSet<u32>,
    /// Points of tasks to come, in the order of time and of their addition.
    due: BinaryHeap<Reverse<(Time, u64, u32, Point)>>,
    additions: u64,
    /// The next time at which the host was asked to resume.
    resumes_at: Option<Time>,
    /// Tasks that can start now.
    ready: VecDeque<u32>,
    jobs: Vec<JobProgress>,
}

/// The recorded times of a rank.
#[derive(Default)]
struct RecordedTasks {
    times: Vec<TaskTimes>,
    /// Messages that arrived, with their times.
    arrivals: Vec<(u32, Time)>,
}

/// A point of a task that a processor reaches at a known time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    Start,
    Done,
}

/// The progress of a job of the rank.
#[derive(Clone, Copy, Default)]
struct JobProgress {
    /// Tasks that are not complete.
    left: u32,
    start: Option<Time>,
    end: Option<Time>,
    computed: Time,
    busy: Time,
    /// The end of all computing so far.
    busy_until: Time,
}

impl RankProgress {
    pub fn new(graph: &Arc<TaskGraph>, send_done: SendDone, rank: u32, records_tasks: bool) -> Self {
        let tasks = graph.tasks_of(rank);
        let mut waits = vec![0; tasks.len()];
        for task in tasks.clone() {
            for waiting in graph.dependents_of(task) {
                waits[(waiting.task() - tasks.start) as usize] += 1;
            }
        }
        let jobs = (0..graph.jobs()).map(|job| JobProgress {
            left: graph.tasks_of_job(rank, job),
            ..JobProgress::default()
        });
        Self {
            jobs: jobs.collect(),
            graph: Arc::clone(graph),
            send_done,
            rank,
            first: tasks.start,
            has_begun: false,
            recorded: records_tasks.then(|| RecordedTasks {
                times: vec![TaskTimes::default(); tasks.len()],
                arrivals: Vec::new(),
            }),
            waits,
            free_at: HashMap::new(),
            posted: VecDeque::new(),
            early: VecDeque::new(),
            early_bound: HashSet::new(),
            due: BinaryHeap::new(),
            additions: 0,
            resumes_at: None,
            ready: VecDeque::new(),
        }
    }

    fn begin(&mut self) {
        self.has_begun = true;
        let ready = (0..).zip(&self.waits).filter(|&(_, &waits)| waits == 0);
        self.ready
            .extend(ready.map(|(task, _): (u32, _)| self.first + task));
    }

    /// Records times of a task, if they are recorded.
    fn record(&mut self, task: u32, change: impl FnOnce(&mut TaskTimes)) {
        if let Some(recorded) = &mut self.recorded {
            change(&mut recorded.times[(task - self.first) as usize]);
        }
    }

    fn reach_at(&mut self, time: Time, task: u32, point: Point) {
        self.additions += 1;
        self.due.push(Reverse((time, self.additions, task, point)));
    }

    /// Handles all points that are due and all tasks that can start.
    fn advance(&mut self, now: Time, open: &mut Vec<u32>) {
        loop {
            while let Some(task) = self.ready.pop_front() {
                self.schedule(task, now, open);
            }
            match self.due.peek() {
                Some(&Reverse((time, _, task, point))) if time <= now => {
                    self.due.pop();
                    match point {
                        Point::Start => self.start(task, now, open),
                        Point::Done => self.finish(task, now),
                    }
                }
                _ => return,
            }
        }
    }

    /// Starts a task that waits for no other one, when its processor is free.
    fn schedule(&mut self, task: u32, now: Time, open: &mut Vec<u32>) {
        let work = self.graph.work[task as usize];
        let mut at = now;
        if let (Some(processor), Work::Compute(_) | Work::Send(_)) =
            (self.graph.processors[task as usize], work)
        {
            let (free_at, last) = self.free_at.entry(processor).or_default();
            let (free_from, cause) = (*free_at, *last);
            at = now.max(free_from);
            if let Work::Compute(time) = work {
                (*free_at, *last) = (Time(at.0.saturating_add(time.0)), Some(task));
            }
            if free_from > now {
                self.record(task, |times| times.cause = cause);
            }
        }
        if at > now {
            self.reach_at(at, task, Point::Start);
        } else {
            self.start(task, now, open);
        }
    }

    fn start(&mut self, task: u32, now: Time, open: &mut Vec<u32>) {
        let work = self.graph.work[task as usize];
        if !matches!(work, Work::Pause(_)) {
            let job = self.graph.job_of(self.rank, task);
            let job = &mut self.jobs[job as usize];
            job.start.get_or_insert(now);
            if let Work::Compute(time) = work {
                let end = Time(now.0.saturating_add(time.0));
                job.computed.0 = job.computed.0.saturating_add(time.0);
                job.busy.0 += end.0.saturating_sub(job.busy_until.max(now).0);
                job.busy_until = job.busy_until.max(end);
            }
        }
        self.record(task, |times| times.start = Some(now));
        self.release(task, After::Started);
        match work {
            Work::Compute(Time(0)) | Work::Pause(Time(0)) => self.finish(task, now),
            Work::Compute(time) | Work::Pause(time) => {
                self.reach_at(Time(now.0.saturating_add(time.0)), task, Point::Done);
            }
            Work::Send(message) => {
                self.complete(task, now);
                let is_local = self.graph.messages[message as usize].to == self.rank;
                if is_local {
                    self.arrive(message, now);
                } else {
                    open.push(message);
                }
                if is_local || self.send_done == SendDone::Started {
                    self.finish(task, now);
                }
            }
            Work::Receive(message) => {
                if self.early_bound.remove(&message) {
                    self.finish(task, now);
                } else {
                    self.waits[(task - self.first) as usize] = POSTED;
                }
            }
            Work::ReceiveAny { .. } => {
                let fits = |&message: &u32| self.fits(task, message);
                if let Some(index) = self.early.iter().position(fits) {
                    let message = self.early.remove(index);
                    self.record(task, |times| times.received = message);
                    self.finish(task, now);
                } else {
                    self.posted.push_back(task);
                }
            }
        }
    }

    /// Returns true if a receive that matches by source and tag takes a message.
    fn fits(&self, task: u32, message: u32) -> bool {
        let message = &self.graph.messages[message as usize];
        let Work::ReceiveAny { from, tag } = self.graph.work[task as usize] else {
            return false;
        };
        from.is_none_or(|from| from == message.from) && tag.is_none_or(|tag| tag == message.tag)
    }

    /// Handles the arrival of a message.
    fn arrive(&mut self, message: u32, now: Time) {
        let receive = self.graph.messages[message as usize].receive;
        if receive == UNBOUND {
            let fits = |&task: &u32| self.fits(task, message);
            match self.posted.iter().position(fits) {
                Some(index) => {
                    if let Some(task) = self.posted.remove(index) {
                        self.record(task, |times| times.received = Some(message));
                        self.finish(task, now);
                    }
                }
                None => self.early.push_back(message),
            }
        } else if self.waits[(receive - self.first) as usize] == POSTED {
            self.finish(receive, now);
        } else {
            self.early_bound.insert(message);
        }
    }

    fn finish(&mut self, task: u32, now: Time) {
        if !matches!(self.graph.work[task as usize], Work::Send(_)) {
            self.complete(task, now);
        }
        let work = self.graph.work[task as usize];
        self.record(task, |times| {
            times.done = Some(now);
            if let Work::Receive(message) = work {
                times.received = Some(message);
            }
        });
        self.release(task, After::Done);
    }

    /// Counts a task as complete in its job. A send is complete when it starts, because the receiver's rank waits for its data.
    fn complete(&mut self, task: u32, now: Time) {
        let job = self.graph.job_of(self.rank, task);
        let job = &mut self.jobs[job as usize];
        job.left -= 1;
        if job.left == 0 {
            job.end = Some(now);
        }
    }

    /// Releases the tasks that wait for a point of a task.
    fn release(&mut self, task: u32, reached: After) {
        let graph = &self.graph;
        for waiting in graph.dependents_of(task) {
            if waiting.after() == reached {
                let dependent = waiting.task();
                let waits = &mut self.waits[(dependent - self.first) as usize];
                *waits -= 1;
                if *waits == 0 {
                    if let Some(recorded) = &mut self.recorded {
                        recorded.times[(dependent - self.first) as usize].cause = Some(task);
                    }
                    self.ready.push_back(dependent);
                }
            }
        }
    }
}

impl HostProgress for RankProgress {
    fn on_event(&mut self, event: HostEvent, now: Time, open: &mut Vec<u32>) -> Option<Time> {
        match event {
            HostEvent::Resume => {
                if self.resumes_at.is_some_and(|time| time <= now) {
                    self.resumes_at = None;
                }
                if !self.has_begun {
                    self.begin();
                }
            }
            HostEvent::Delivered(message) => {
                if let Some(recorded) = &mut self.recorded {
                    recorded.arrivals.push((message, now));
                }
                self.arrive(message, now);
            }
            HostEvent::Acknowledged(message) => {
                if self.send_done == SendDone::Acknowledged {
                    let send = self.graph.messages[message as usize].send;
                    self.finish(send, now);
                }
            }
        }
        self.advance(now, open);
        let &Reverse((next, ..)) = self.due.peek()?;
        if self.resumes_at.is_some_and(|time| time <= next) {
            return None;
        }
        self.resumes_at = Some(next);
        Some(next)
    }

    fn records(&self) -> Vec<RankRecord> {
        let jobs = (0_u32..).zip(&self.jobs);
        jobs.filter(|&(job, _)| self.graph.tasks_of_job(self.rank, job) > 0)
            .map(|(job, progress)| RankRecord {
                job,
                rank: self.rank,
                start: progress.start,
                end: progress.end,
                computed: progress.computed,
                busy: progress.busy,
            })
            .collect()
    }

    fn tasks(&self) -> Option<RankTasks<'_>> {
        let recorded = self.recorded.as_ref()?;
        Some(RankTasks {
            rank: self.rank,
            times: &recorded.times,
            arrivals: &recorded.arrivals,
        })
    }
}
