//! A driver of generators for levels that run senders and receivers in one process. It returns the
//! flows that open once the last byte of a flow has arrived. The driver has no sockets and no
//! clock.
//!
//! Flows and jobs have a *number* in their generator. A flow also has an *index* in the tables, in
//! which static flows come first.
//!
//! Flow or job `n` of a generator is equal to that at the packet level. At the packet level the
//! next flow opens after the last acknowledgement; with this driver it opens when the last byte
//! arrives, half a round-trip time sooner. A job that follows a job of another client starts
//! without a packet between the clients.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use weft_spec::Time;
use weft_traffic::{Action, Flow, FlowGenerator, HostEvent, HostProgress, OnDelivered, RankTasks};

use crate::{GeneratorOperation, GeneratorRank, GeneratorStep, JobRecord, Probe};

/// An action of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GeneratorAction {
    /// Index of the generator.
    pub generator: u32,
    /// The flow that opens, or the job that starts.
    pub action: Action,
}

/// The consequences of an action.
#[derive(Clone, Debug, Default)]
pub struct Performed {
    /// Numbers of the flows that open.
    pub open: Vec<u32>,
    /// Actions that follow, with their times.
    pub next: Vec<(Time, GeneratorAction)>,
}

impl Performed {
    fn open(open: Vec<u32>) -> Self {
        Self {
            open,
            next: Vec::new(),
        }
    }
}

/// The records of jobs.
#[derive(Clone, Debug, Default)]
pub struct GeneratorRecords {
    /// Jobs with a client, by generator and number.
    pub jobs: Vec<JobRecord>,
    /// Parts of ranks, by generator, job and rank.
    pub ranks: Vec<GeneratorRank>,
    /// Steps of the jobs of probed generators, by generator, job and start.
    pub steps: Vec<GeneratorStep>,
    /// Operations of these jobs, by generator, job and start.
    pub operations: Vec<GeneratorOperation>,
}

/// Returns true if a probe records the steps of the jobs of a generator.
pub fn records_steps(probes: &[Probe], generator: u32) -> bool {
    let records = |probe: &Probe| matches!(probe, Probe::Steps { generator: of } if *of == generator);
    probes.iter().any(records)
}

/// Returns the steps and the operations of jobs by generator, job and start, from the recorded times of ranks, each with its
/// generator.
pub fn steps_and_operations(
    generators: &[Arc<dyn FlowGenerator>],
    ranks: &[(u32, RankTasks<'_>)],
) -> (Vec<GeneratorStep>, Vec<GeneratorOperation>) {
    let (mut steps, mut operations) = (Vec::new(), Vec::new());
    for (generator, traffic) in (0_u32..).zip(generators) {
        let tasks = ranks.iter().filter(|(of, _)| *of == generator);
        let tasks: Vec<RankTasks<'_>> = tasks.map(|&(_, tasks)| tasks).collect();
        if tasks.is_empty() {
            continue;
        }
        let records = traffic.steps(&tasks).into_iter();
        steps.extend(records.map(|record| GeneratorStep { generator, record }));
        let records = traffic.operations(&tasks).into_iter();
        operations.extend(records.map(|record| GeneratorOperation { generator, record }));
    }
    (steps, operations)
}

/// The generators of a run, and the jobs that have not finished.
pub struct GeneratorDriver {
    generators: Vec<Arc<dyn FlowGenerator>>,
    static_flows: u32,
    /// Unfinished jobs, by generator and number: index in `jobs`, and number of blocks that have
    /// not arrived.
    running: HashMap<(u32, u32), (usize, u32)>,
    jobs: Vec<JobRecord>,
    /// Progress of generators that decide by host when flows open, by generator and host.
    progress: HashMap<(u32, u32), Box<dyn HostProgress>>,
    /// Probes of the run.
    probes: Vec<Probe>,
}

impl GeneratorDriver {
    /// Creates a driver before any flow has opened. The `static_flows` of the spec have lower
    /// indices than the flows of generators. `probes` are those of the run.
    pub fn new(generators: &[Arc<dyn FlowGenerator>], static_flows: u32, probes: &[Probe]) -> Self {
        Self {
            generators: generators.to_vec(),
            static_flows,
            running: HashMap::new(),
            jobs: Vec::new(),
            progress: HashMap::new(),
            probes: probes.to_vec(),
        }
    }

    /// Returns the actions whose times are known before the run.
    pub fn timed_actions(&self) -> Vec<(Time, GeneratorAction)> {
        let actions = |(generator, traffic): (u32, &Arc<dyn FlowGenerator>)| {
            let actions = traffic.timed_actions().into_iter();
            actions.map(move |(time, _, action)| (time, GeneratorAction { generator, action }))
        };
        (0..).zip(&self.generators).flat_map(actions).collect()
    }

    /// Returns flow `n` of a generator and its index in tables; `None` if the index exceeds 32
    /// bits.
    pub fn flow(&self, generator: u32, n: u32) -> Option<(u32, Flow)> {
        let generators = self.generators.len() as u32;
        let index = n
            .checked_mul(generators)?
            .checked_add(generator)?
            .checked_add(self.static_flows)?;
        Some((index, self.generators[generator as usize].flow(n)))
    }

    /// Returns the generator and the number of a flow by its index; `None` for a static flow.
    pub fn generator_of(&self, index: u32) -> Option<(u32, u32)> {
        let generators = self.generators.len() as u32;
        let beyond = index.checked_sub(self.static_flows)?;
        (generators > 0).then(|| (beyond % generators, beyond / generators))
    }

    /// Returns the persistent connection that carries a flow, by the index of the first flow that it may carry; `None` if the
    /// flow has a connection of its own.
    pub fn connection_of(&self, index: u32) -> Option<u32> {
        let (generator, n) = self.generator_of(index)?;
        let connection = self.generators[generator as usize].connection_of(n)?;
        Some(self.flow(generator, connection)?.0)
    }

    /// Starts a job. Returns the numbers of the flows that open.
    fn start_job(&mut self, generator: u32, number: u32, now: Time) -> Vec<u32> {
        let Some(job) = self.generators[generator as usize].job(number) else {
            return Vec::new();
        };
        let servers = job.servers.len() as u32;
        self.running
            .insert((generator, number), (self.jobs.len(), servers));
        self.jobs.push(JobRecord {
            generator,
            job: number,
            start: now,
            end: None,
        });
        (job.first_request..job.first_request + servers).collect()
    }

    /// Handles the arrival of the last byte of the flow with this index. Returns the actions that
    /// follow, with their times.
    pub fn on_flow_delivered(&mut self, index: u32, now: Time) -> Vec<(Time, GeneratorAction)> {
        let Some((generator, n)) = self.generator_of(index) else {
            return Vec::new();
        };
        let traffic = Arc::clone(&self.generators[generator as usize]);
        let mut actions = Vec::new();
        let mut push = |time, action| actions.push((time, GeneratorAction { generator, action }));
        if let Some((time, action)) = traffic.on_acked(n, now) {
            push(time, action);
        }
        match traffic.on_delivered(n) {
            OnDelivered::Nothing => {}
            OnDelivered::Reply(answer) => push(now, Action::OpenFlow(answer)),
            OnDelivered::Progress => {
                let flow = traffic.flow(n);
                // The sender learns of the end at the same time as the receiver.
                actions.extend(self.progress(generator, flow.to, HostEvent::Delivered(n), now));
                actions.extend(self.progress(generator, flow.from, HostEvent::Acknowledged(n), now));
            }
            OnDelivered::JobBlock(job) => {
                if self.on_block(generator, job, now)
                    && let Some(job) = traffic.next_job(job, now)
                {
                    push(now, Action::StartJob(job));
                }
            }
        }
        actions
    }

    /// Carries out an action.
    pub fn perform(
        &mut self,
        GeneratorAction { generator, action }: GeneratorAction,
        now: Time,
    ) -> Performed {
        match action {
            Action::OpenFlow(n) => Performed::open(vec![n]),
            Action::StartJob(job) => Performed::open(self.start_job(generator, job, now)),
            Action::Resume(host) => Performed {
                open: Vec::new(),
                next: self.progress(generator, host, HostEvent::Resume, now),
            },
        }
    }

    fn progress(
        &mut self,
        generator: u32,
        host: u32,
        event: HostEvent,
        now: Time,
    ) -> Vec<(Time, GeneratorAction)> {
        let progress = match self.progress.entry((generator, host)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let records_tasks = records_steps(&self.probes, generator);
                let Some(new) = self.generators[generator as usize].progress(host, records_tasks) else {
                    return Vec::new();
                };
                entry.insert(new)
            }
        };
        let mut open = Vec::new();
        let resume = progress.on_event(event, now, &mut open);
        let resume = resume.map(|time| (time, Action::Resume(host)));
        let opened = open.into_iter().map(|n| (now, Action::OpenFlow(n)));
        opened
            .chain(resume)
            .map(|(time, action)| (time, GeneratorAction { generator, action }))
            .collect()
    }

    fn ranks(&self) -> Vec<GeneratorRank> {
        let records = self.progress.iter().flat_map(|(&(generator, _), progress)| {
            let records = progress.records().into_iter();
            records.map(move |record| GeneratorRank { generator, record })
        });
        let mut records: Vec<_> = records.collect();
        records.sort_by_key(GeneratorRank::key);
        records
    }

    /// Handles the arrival of a block of a job. Returns true if it was the last one.
    fn on_block(&mut self, generator: u32, job: u32, now: Time) -> bool {
        let Some((index, left)) = self.running.get_mut(&(generator, job)) else {
            return false;
        };
        *left -= 1;
        if *left > 0 {
            return false;
        }
        self.jobs[*index].end = Some(now);
        self.running.remove(&(generator, job));
        true
    }

    /// Returns the records of all jobs that have started.
    pub fn into_records(mut self) -> GeneratorRecords {
        self.jobs.sort_by_key(|record| (record.generator, record.job));
        let recorded = self.progress.iter();
        let recorded =
            recorded.filter_map(|(&(generator, _), progress)| Some((generator, progress.tasks()?)));
        let (steps, operations) = steps_and_operations(&self.generators, &recorded.collect::<Vec<_>>());
        GeneratorRecords {
            ranks: self.ranks(),
            steps,
            operations,
            jobs: self.jobs,
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_spec::find;
    use weft_traffic::{PatternContext, TRAFFIC};

    use super::*;

    fn generator(kind: &str, fields: &str) -> Arc<dyn FlowGenerator> {
        let entry = find(TRAFFIC, "kind", kind).unwrap();
        let loaded = (entry.parse)(&weft_spec::read_table(fields).unwrap()).unwrap();
        let context = PatternContext::new(&["a", "b", "c"], 0, 0, 1).with_duration(Time::from_ms(1000));
        loaded.value.generator(&context).unwrap().unwrap()
    }

    const LOOP: &str = "size = \"1MB\"\npairs = [[0, 1], [1, 2]]\nthink_time = \"3ms\"\nstop = \"500ms\"";

    #[test]
    fn a_loop_goes_on_until_its_stop() {
        let generators = [generator("closed-loop", LOOP), generator("closed-loop", LOOP)];
        let mut driver = GeneratorDriver::new(&generators, 10, &[]);
        let flow = |generator, n| GeneratorAction {
            generator,
            action: Action::OpenFlow(n),
        };
        let first: Vec<_> = driver.timed_actions().into_iter().map(|(_, next)| next).collect();
        assert_eq!(first, [flow(0, 0), flow(0, 1), flow(1, 0), flow(1, 1)]);
        let (index, opened) = driver.flow(1, 4).unwrap();
        assert_eq!(
            (index, opened.from, opened.to, opened.round),
            (10 + 4 * 2 + 1, 0, 1, 2)
        );
        assert_eq!(driver.generator_of(index), Some((1, 4)));
        assert_eq!(
            driver.on_flow_delivered(index, Time::from_ms(100)),
            [(Time::from_ms(103), flow(1, 6))]
        );
        assert_eq!(driver.on_flow_delivered(index, Time::from_ms(498)), []);
        assert_eq!(
            driver.on_flow_delivered(9, Time::from_ms(100)),
            [],
            "a flow of the spec itself"
        );
        assert_eq!(driver.flow(1, u32::MAX), None, "no number of 32 bits");
    }

    #[test]
    fn a_job_ends_with_its_last_block() {
        let fields =
            "servers = 2\nrequest = \"2KB\"\nblock = \"64KB\"\nclient_hosts = [0]\nslots = 1\nstop = \"1s\"";
        let generators = [generator("jobs", fields)];
        let mut driver = GeneratorDriver::new(&generators, 0, &[]);
        let job = |n| GeneratorAction {
            generator: 0,
            action: Action::StartJob(n),
        };
        assert_eq!(driver.timed_actions()[0].1, job(0));
        let requests = driver.start_job(0, 0, Time::from_ms(1));
        assert_eq!(requests.len(), 2);
        let answers: Vec<u32> = requests
            .into_iter()
            .flat_map(|n| driver.on_flow_delivered(n, Time::from_ms(2)))
            .map(|(_, next)| match next.action {
                Action::OpenFlow(n) => n,
                Action::StartJob(_) | Action::Resume(_) => panic!("an answer is a flow"),
            })
            .collect();
        assert_eq!(driver.on_flow_delivered(answers[0], Time::from_ms(3)), []);
        assert_eq!(
            driver.on_flow_delivered(answers[1], Time::from_ms(4)),
            [(Time::from_ms(4), job(1))]
        );
        driver.start_job(0, 1, Time::from_ms(4));
        let times: Vec<_> = driver
            .into_records()
            .jobs
            .iter()
            .map(|record| (record.start, record.end))
            .collect();
        assert_eq!(
            times,
            [
                (Time::from_ms(1), Some(Time::from_ms(4))),
                (Time::from_ms(4), None)
            ]
        );
    }
}
