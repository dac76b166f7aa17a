//! Generators at a host: flows that open when others finish, and the jobs whose client the host is.

use weft_paths::SubflowDirection;
use weft_run::JobRecord;
use weft_spec::Time;
use weft_traffic::{Action, HostEvent, OnDelivered};

use crate::engine::Context;
use crate::packet::{PROTECTED, Packet, class_flags};

use super::state::{HostState, RunningJob};
use super::tcp::wire::{LAST, SYN};

/// Flags of the packet that notifies a job's client that the previous job in its slot has ended.
pub const NEXT_JOB: u16 = SYN | LAST | PROTECTED;

impl HostState {
    /// Handles the acknowledgement of all data of a flow that this host sends.
    pub fn on_acked(&mut self, flow: u32, cx: &mut Context<'_>) {
        let class = self.shared.flow(flow).class as usize;
        if self.completions.len() <= class {
            self.completions.resize(class + 1, Vec::new());
        }
        self.completions[class].push(cx.now);
        let Some((generator, n)) = self.shared.generator_of(flow) else {
            return;
        };
        if !self.progress.is_empty() {
            self.progress(generator, HostEvent::Acknowledged(n), cx);
        }
        let next = self.shared.generators[generator as usize].on_acked(n, Time(cx.now));
        if let Some((time, action)) = next
            && let Some(key) = self.shared.action_timer_key(generator, action)
        {
            cx.set_timer(time.0, key);
        }
    }

    /// Handles the arrival of all data of a flow at this host.
    pub fn on_delivered(&mut self, flow: u32, cx: &mut Context<'_>) {
        let Some((generator, n)) = self.shared.generator_of(flow) else {
            return;
        };
        match self.shared.generators[generator as usize].on_delivered(n) {
            OnDelivered::Nothing => {}
            OnDelivered::Reply(answer) => {
                self.to_open.extend(self.shared.flow_index(generator, answer));
            }
            OnDelivered::JobBlock(job) => self.on_block(generator, job, cx),
            OnDelivered::Progress => self.progress(generator, HostEvent::Delivered(n), cx),
        }
    }

    /// Continues the progress of a generator at this host with an event. The flows that open are added to `to_open`.
    pub fn progress(&mut self, generator: u32, event: HostEvent, cx: &mut Context<'_>) {
        let Some(Some(progress)) = self.progress.get_mut(generator as usize) else {
            return;
        };
        let mut open = Vec::new();
        let resume = progress.on_event(event, Time(cx.now), &mut open);
        let flows = open
            .into_iter()
            .filter_map(|n| self.shared.flow_index(generator, n));
        self.to_open.extend(flows);
        if let Some(time) = resume
            && let Some(key) = self
                .shared
                .action_timer_key(generator, Action::Resume(self.index))
        {
            cx.set_timer(time.0, key);
        }
    }

    /// Starts a job whose timer fired: `index` is `job * generators + generator`.
    pub fn on_job_timer(&mut self, index: u32, cx: &mut Context<'_>) {
        let generators = self.shared.generators.len() as u32;
        self.start_job(index % generators, index / generators, cx);
    }

    /// Starts a job whose predecessor has finished at another host.
    pub fn on_next_job(&mut self, packet: &Packet, cx: &mut Context<'_>) {
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
            self.to_open.extend(self.shared.flow_index(generator, request));
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
        let Some(flow) = shared.flow_index(generator, job.first_request) else {
            return;
        };
        let nodes = &shared.fabric.hosts;
        let (here, there) = (nodes[self.index as usize], nodes[job.client as usize]);
        let request = shared.flow(flow);
        let transport = &shared.transports[request.transport as usize];
        let direction = SubflowDirection {
            flow: request.id,
            subflow: 0,
            subflows: transport.subflows(),
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
            size: transport.sizes().control as u16,
            flags: NEXT_JOB | class_flags(transport.class),
            ..Packet::default()
        });
    }
}
