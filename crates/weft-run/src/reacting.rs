//! Traffic that reacts, for homes in which senders and receivers are in one place: what opens next once a
//! flow's last byte has arrived. It has no sockets and no clock.
//!
//! Flow or job `n` of a program is the same as at the packet level. At the packet level the next flow opens
//! after the last acknowledgement; here it opens when the last byte arrives, half a round-trip time sooner. A
//! job that follows a job of another client starts without a packet between the clients.

use std::collections::HashMap;
use std::sync::Arc;

use weft_spec::Time;
use weft_traffic::{Action, Flow, FlowGenerator, OnDelivered};

use crate::JobRecord;

/// What opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Next {
    /// Index of the program.
    pub program: u32,
    /// Flow or job.
    pub what: What,
}

/// Of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// This flow opens.
    Flow(u32),
    /// This job begins: all its requests open.
    Job(u32),
}

/// Programs and where they are.
pub struct Reacting {
    programs: Vec<Arc<dyn FlowGenerator>>,
    statics: u32,
    /// Jobs that have not ended: place among `jobs` and blocks still to come.
    running: HashMap<(u32, u32), (usize, u32)>,
    jobs: Vec<JobRecord>,
}

impl Reacting {
    /// Before anything has opened. `statics` flows of the spec itself come before those of programs.
    pub fn new(programs: &[Arc<dyn FlowGenerator>], statics: u32) -> Self {
        Self {
            programs: programs.to_vec(),
            statics,
            running: HashMap::new(),
            jobs: Vec::new(),
        }
    }

    /// What opens by the clock.
    pub fn first(&self) -> Vec<(Time, Next)> {
        let of = |(program, it): (u32, &Arc<dyn FlowGenerator>)| {
            let steps = it.timed_actions().into_iter();
            steps.map(move |(time, _, step)| (time, next(program, step)))
        };
        (0..).zip(&self.programs).flat_map(of).collect()
    }

    /// Flow `n` of a program and its index in tables; none if 32 bits cannot number it.
    pub fn flow(&self, program: u32, n: u32) -> Option<(u32, Flow)> {
        let many = self.programs.len() as u32;
        let index = n
            .checked_mul(many)?
            .checked_add(program)?
            .checked_add(self.statics)?;
        Some((index, self.programs[program as usize].flow(n)))
    }

    /// Program and number of a flow by its index.
    pub fn origin(&self, index: u32) -> Option<(u32, u32)> {
        let many = self.programs.len() as u32;
        let beyond = index.checked_sub(self.statics)?;
        (many > 0).then(|| (beyond % many, beyond / many))
    }

    /// A job begins. Returns the numbers of the flows that open.
    pub fn begin(&mut self, program: u32, job: u32, now: Time) -> Vec<u32> {
        let Some(it) = self.programs[program as usize].job(job) else {
            return Vec::new();
        };
        let servers = it.servers.len() as u32;
        self.running.insert((program, job), (self.jobs.len(), servers));
        self.jobs.push(JobRecord {
            program,
            job,
            start: now,
            end: None,
        });
        (it.first_request..it.first_request + servers).collect()
    }

    /// The last byte of the flow of this index has arrived. Returns what opens because of it, and when.
    pub fn arrived(&mut self, index: u32, now: Time) -> Vec<(Time, Next)> {
        let Some((program, n)) = self.origin(index) else {
            return Vec::new();
        };
        let it = Arc::clone(&self.programs[program as usize]);
        let mut opens = Vec::new();
        if let Some((time, step)) = it.on_acked(n, now) {
            opens.push((time, next(program, step)));
        }
        match it.on_delivered(n) {
            OnDelivered::Nothing => {}
            OnDelivered::Reply(answer) => opens.push((now, next(program, Action::OpenFlow(answer)))),
            OnDelivered::JobBlock(job) => {
                if self.block(program, job, now)
                    && let Some(job) = it.next_job(job, now)
                {
                    opens.push((now, next(program, Action::StartJob(job))));
                }
            }
        }
        opens
    }

    /// A block of a job has arrived. Was it the last?
    fn block(&mut self, program: u32, job: u32, now: Time) -> bool {
        let Some((place, left)) = self.running.get_mut(&(program, job)) else {
            return false;
        };
        *left -= 1;
        if *left > 0 {
            return false;
        }
        self.jobs[*place].end = Some(now);
        self.running.remove(&(program, job));
        true
    }

    /// Records of all jobs that began, by program and job.
    pub fn jobs(mut self) -> Vec<JobRecord> {
        self.jobs.sort_by_key(|record| (record.program, record.job));
        self.jobs
    }
}

fn next(program: u32, step: Action) -> Next {
    let what = match step {
        Action::OpenFlow(n) => What::Flow(n),
        Action::StartJob(job) => What::Job(job),
    };
    Next { program, what }
}

#[cfg(test)]
mod tests {
    use weft_spec::find;
    use weft_traffic::{PatternContext, TRAFFIC};

    use super::*;

    fn program(kind: &str, fields: &str) -> Arc<dyn FlowGenerator> {
        let entry = find(TRAFFIC, "kind", kind).unwrap();
        let loaded = (entry.parse)(&weft_spec::read_table(fields).unwrap()).unwrap();
        let context = PatternContext::new(&["a", "b", "c"], 0, 0, 1).with_duration(Time::from_ms(1000));
        loaded.value.generator(&context).unwrap().unwrap()
    }

    const LOOP: &str = "size = \"1MB\"\npairs = [[0, 1], [1, 2]]\npause = \"3ms\"\nstop = \"500ms\"";

    #[test]
    fn a_loop_goes_on_until_its_stop() {
        let programs = [program("closed-loop", LOOP), program("closed-loop", LOOP)];
        let mut reacting = Reacting::new(&programs, 10);
        let flow = |program, n| Next {
            program,
            what: What::Flow(n),
        };
        let first: Vec<_> = reacting.first().into_iter().map(|(_, next)| next).collect();
        assert_eq!(first, [flow(0, 0), flow(0, 1), flow(1, 0), flow(1, 1)]);
        let (index, it) = reacting.flow(1, 4).unwrap();
        assert_eq!((index, it.from, it.to, it.round), (10 + 4 * 2 + 1, 0, 1, 2));
        assert_eq!(reacting.origin(index), Some((1, 4)));
        assert_eq!(
            reacting.arrived(index, Time::from_ms(100)),
            [(Time::from_ms(103), flow(1, 6))]
        );
        assert_eq!(reacting.arrived(index, Time::from_ms(498)), []);
        assert_eq!(
            reacting.arrived(9, Time::from_ms(100)),
            [],
            "a flow of the spec itself"
        );
        assert_eq!(reacting.flow(1, u32::MAX), None, "no number of 32 bits");
    }

    #[test]
    fn a_job_ends_with_its_last_block() {
        let fields =
            "servers = 2\nrequest = \"2KB\"\nblock = \"64KB\"\nclients = [0]\nslots = 1\nstop = \"1s\"";
        let programs = [program("jobs", fields)];
        let mut reacting = Reacting::new(&programs, 0);
        let job = |n| Next {
            program: 0,
            what: What::Job(n),
        };
        assert_eq!(reacting.first()[0].1, job(0));
        let requests = reacting.begin(0, 0, Time::from_ms(1));
        assert_eq!(requests.len(), 2);
        let answers: Vec<u32> = requests
            .into_iter()
            .flat_map(|n| reacting.arrived(n, Time::from_ms(2)))
            .map(|(_, next)| match next.what {
                What::Flow(n) => n,
                What::Job(_) => panic!("an answer is a flow"),
            })
            .collect();
        assert_eq!(reacting.arrived(answers[0], Time::from_ms(3)), []);
        assert_eq!(
            reacting.arrived(answers[1], Time::from_ms(4)),
            [(Time::from_ms(4), job(1))]
        );
        reacting.begin(0, 1, Time::from_ms(4));
        let times: Vec<_> = reacting
            .jobs()
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
