//! Generators at a host: flows that open when others finish, and the jobs whose client the host is.

use weft_paths::SubflowDirection;
use weft_run::JobRecord;
use weft_spec::Time;
use weft_traffic::{Action, Flow, OnDelivered};

use crate::engine::Context;
use crate::packet::{LAST, PROTECTED, Packet, SYN};

use super::host::{Host, Shared, TimerKind, timer_key};

/// Flags of the packet that notifies a job's client that the previous job in its slot has ended.
pub const NEXT_JOB: u16 = SYN | LAST | PROTECTED;

/// A job that has not finished, at its client.
pub struct RunningJob {
    /// The record of the job so far.
    pub record: JobRecord,
    /// Blocks that have not arrived.
    left: u32,
}

impl Shared {
    /// Returns the generator that opened a flow, and the flow's number in it.
    pub fn generator_of(&self, flow: u32) -> Option<(u32, u32)> {
        let generators = self.generators.len() as u32;
        let beyond = flow.checked_sub(self.flows.len() as u32)?;
        (generators > 0).then(|| (beyond % generators, beyond / generators))
    }

    /// Returns the index of flow `n` of a generator, or `None` if 32 bits cannot number it.
    fn index(&self, generator: u32, n: u32) -> Option<u32> {
        n.checked_mul(self.generators.len() as u32)?
            .checked_add(generator)?
            .checked_add(self.flows.len() as u32)
    }

    /// Returns the flow with this index.
    pub fn flow(&self, flow: u32) -> Flow {
        match self.generator_of(flow) {
            Some((generator, n)) => self.generators[generator as usize].flow(n),
            None => self.flows[flow as usize].clone(),
        }
    }

    /// Returns the key of the timer that makes a host execute an action of a generator.
    pub fn action_timer_key(&self, generator: u32, action: Action) -> Option<u64> {
        Some(match action {
            Action::OpenFlow(n) => timer_key(TimerKind::Start, self.index(generator, n)?),
            Action::StartJob(job) => {
                let index = job
                    .checked_mul(self.generators.len() as u32)?
                    .checked_add(generator)?;
                timer_key(TimerKind::StartJob, index)
            }
        })
    }

    /// Returns the number of delivered bytes at which the generator of a flow is notified;
    /// `u64::MAX` if it is not.
    pub fn notify_at(&self, flow: u32, spec: &Flow) -> u64 {
        let is_notified = |(generator, n): (u32, u32)| {
            self.generators[generator as usize].on_delivered(n) != OnDelivered::Nothing
        };
        match spec.size {
            Some(size) if self.generator_of(flow).is_some_and(is_notified) => size.0,
            _ => u64::MAX,
        }
    }
}

impl Host {
    /// Handles the acknowledgement of all data of a flow that this host sends.
    pub(super) fn on_acked(&mut self, flow: u32, cx: &mut Context<'_>) {
        let class = self.shared.flow(flow).class as usize;
        if self.completions.len() <= class {
            self.completions.resize(class + 1, Vec::new());
        }
        self.completions[class].push(cx.now);
        let Some((generator, n)) = self.shared.generator_of(flow) else {
            return;
        };
        let next = self.shared.generators[generator as usize].on_acked(n, Time(cx.now));
        if let Some((time, action)) = next
            && let Some(key) = self.shared.action_timer_key(generator, action)
        {
            cx.set_timer(time.0, key);
        }
    }

    /// Handles the arrival of all data of a flow at this host.
    pub(super) fn on_delivered(&mut self, flow: u32, cx: &mut Context<'_>) {
        let Some((generator, n)) = self.shared.generator_of(flow) else {
            return;
        };
        match self.shared.generators[generator as usize].on_delivered(n) {
            OnDelivered::Nothing => {}
            OnDelivered::Reply(answer) => {
                if let Some(index) = self.shared.index(generator, answer) {
                    self.open(index, cx);
                }
            }
            OnDelivered::JobBlock(job) => self.on_block(generator, job, cx),
        }
    }

    /// Starts a job whose timer fired: `index` is `job * generators + generator`.
    pub(super) fn on_job_timer(&mut self, index: u32, cx: &mut Context<'_>) {
        let generators = self.shared.generators.len() as u32;
        self.start_job(index % generators, index / generators, cx);
    }

    /// Starts a job whose predecessor has finished at another host.
    pub(super) fn on_next_job(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        self.start_job(packet.hi, packet.lo, cx);
    }

    fn start_job(&mut self, generator: u32, number: u32, cx: &mut Context<'_>) {
        let Some(job) = self.shared.generators[generator as usize].job(number) else {
            return;
        };
        let servers = job.servers.len() as u32;
        let record = JobRecord {
            generator,
            job: number,
            start: Time(cx.now),
            end: None,
        };
        let running = RunningJob {
            record,
            left: servers,
        };
        self.running_jobs.insert((generator, number), running);
        for request in job.first_request..job.first_request + servers {
            if let Some(index) = self.shared.index(generator, request) {
                self.open(index, cx);
            }
        }
    }

    fn on_block(&mut self, generator: u32, number: u32, cx: &mut Context<'_>) {
        let Some(running) = self.running_jobs.get_mut(&(generator, number)) else {
            return;
        };
        running.left -= 1;
        if running.left > 0 {
            return;
        }
        running.record.end = Some(Time(cx.now));
        self.jobs.extend(
            self.running_jobs
                .remove(&(generator, number))
                .map(|job| job.record),
        );
        let jobs = &self.shared.generators[generator as usize];
        let Some(next) = jobs.next_job(number, Time(cx.now)) else {
            return;
        };
        let Some(job) = jobs.job(next) else { return };
        if job.client == self.index {
            self.start_job(generator, next, cx);
            return;
        }
        let shared = &self.shared;
        let Some(flow) = shared.index(generator, job.first_request) else {
            return;
        };
        let nodes = &shared.fabric.hosts;
        let (here, there) = (nodes[self.index as usize], nodes[job.client as usize]);
        let request = shared.flow(flow);
        let transport = &shared.transports[request.transport as usize];
        let direction = SubflowDirection {
            flow: request.id,
            subflow: 0,
            subflows: transport.subflows,
            reverse: false,
        };
        // Whether routes fit was checked when the run was set up.
        let route = shared
            .route(request.transport, direction, here, there)
            .unwrap_or_default();
        cx.send(&Packet {
            route,
            lo: next,
            hi: generator,
            size: transport.profile.ack_size as u16,
            flags: NEXT_JOB,
            ..Packet::default()
        });
    }
}
