//! The part of a host that all of its transports share: recorders, completions, jobs, and the
//! context of a callback.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use weft_cc::Window;
use weft_run::{JobRecord, Sample};
use weft_traffic::{HostProgress, RankRecord, RankTasks};

use crate::engine::Context;

use super::latencies::Latencies;
use super::nic::Nics;
use super::shared::Shared;
use super::timer_keys::{HostTimer, host_timer};
use super::tracer::FlowTracer;

/// A job that has not finished, at its client.
pub struct RunningJob {
    /// The record of the job so far.
    pub record: JobRecord,
    /// Blocks that have not arrived.
    pub left: u32,
}

/// The part of a host that all of its transports share.
pub struct HostState {
    pub(super) shared: Arc<Shared>,
    /// The NICs, for which flows of all transports wait.
    pub(super) nics: Nics,
    /// Index among the fabric's hosts.
    pub(super) index: u32,
    /// Number of links over which the host sends.
    links: u32,
    /// Flows that a generator opens because of the event that is being handled.
    pub(super) to_open: Vec<u32>,
    /// The recorder of flows.
    pub(super) tracer: FlowTracer,
    /// The recorded latencies.
    pub(super) latencies: Latencies,
    /// Times at which flows sent from this host had all their data acknowledged, by class.
    pub(super) completions: Vec<Vec<u64>>,
    /// Finished jobs whose client this host is.
    pub(super) jobs: Vec<JobRecord>,
    /// Number of trimmed packets that arrived, by flow and subflow.
    pub(super) trimmed: HashMap<(u32, u32), u64>,
    /// Running jobs whose client this host is, by (generator, job).
    pub(super) running_jobs: HashMap<(u32, u32), RunningJob>,
    /// The progress of generators that decide by host when flows open; empty if none has a part at this host.
    pub(super) progress: Vec<Option<Box<dyn HostProgress>>>,
}

/// The access of a transport to its surroundings during a callback: time, packets and timers, as
/// the engine provides them, and the state of the host.
pub struct HostContext<'a, 'e> {
    /// The state that the host's transports share.
    pub host: &'a mut HostState,
    engine: &'a mut Context<'e>,
}

impl<'a, 'e> HostContext<'a, 'e> {
    /// Combines the state of a host with the context of one of its callbacks.
    #[inline(always)]
    pub fn new(host: &'a mut HostState, engine: &'a mut Context<'e>) -> Self {
        Self { host, engine }
    }

    /// Returns the NICs of the host and the context that they need.
    #[inline(always)]
    pub fn nics(&mut self) -> (&mut Nics, &mut Context<'e>) {
        (&mut self.host.nics, self.engine)
    }

    /// Returns the time that all links of the host together take to send this many bytes, in picoseconds.
    pub fn serialisation_of_host(&self, bytes: u32) -> f64 {
        let time = |port| self.engine.serialisation_of(port, bytes) as f64;
        match self.host.links {
            1 => time(0),
            links => 1.0 / (0..links).map(|port| 1.0 / time(port)).sum::<f64>(),
        }
    }

    /// Handles the acknowledgement of all data of a flow that this host sends.
    pub fn on_acked(&mut self, flow: u32) {
        self.host.on_acked(flow, self.engine);
    }

    /// Handles the arrival of all data of a flow that a persistent connection carries.
    pub fn on_delivered(&mut self, flow: u32) {
        self.host.on_delivered(flow, self.engine);
    }

    /// Handles the arrival of data of a flow of which this host has received all chunks before
    /// `next` and `bytes` bytes. The flow's generator is notified at `notify_at` bytes; a transport
    /// need not call this before (see [`HostState::track_receiver`]).
    #[cold]
    pub fn on_delivered_data(&mut self, flow: u32, next: u32, bytes: u64, notify_at: &mut u64) {
        let now = self.engine.now;
        let tracked = self.host.latencies.record_delivered(flow, next, now);
        let notify_at = tracked.unwrap_or(notify_at);
        if bytes >= *notify_at {
            *notify_at = u64::MAX;
            self.host.on_delivered(flow, self.engine);
        }
    }

    /// Attaches the probes of a flow that this host has just opened. Returns true if the transport
    /// has to report every change of a window, or the times at which data is sent.
    pub fn attach_probes(&mut self, flow: u32, windows: &[Window]) -> bool {
        let Self { host, engine } = self;
        if host.shared.probes.is_empty() {
            return false;
        }
        let mut traced = false;
        let generator = host.shared.generator_of(flow).map(|(generator, _)| generator);
        for interval in host.shared.probes.of_flow(flow, generator) {
            let Some(interval) = interval else {
                traced = true;
                host.tracer.record_every_change(flow);
                continue;
            };
            let (sampler, first) = host.tracer.start_sampler(flow, interval, engine.now);
            engine.set_timer(first, host_timer(HostTimer::Sample, sampler));
        }
        if host.shared.has_latencies(flow) {
            traced = true;
            host.latencies.track_sender(flow);
        }
        host.tracer.record_changes(flow, windows, engine.now);
        traced
    }
}

impl<'e> Deref for HostContext<'_, 'e> {
    type Target = Context<'e>;

    #[inline(always)]
    fn deref(&self) -> &Context<'e> {
        self.engine
    }
}

impl DerefMut for HostContext<'_, '_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.engine
    }
}

impl HostState {
    /// Creates the state of an idle host.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        let progress = shared
            .generators
            .iter()
            .zip(&shared.records_steps)
            .map(|(generator, &records)| generator.progress(index, records));
        let mut progress: Vec<_> = progress.collect();
        if progress.iter().all(Option::is_none) {
            progress = Vec::new();
        }
        Self {
            progress,
            nics: Nics::new(shared.nic),
            links: shared.links_of(index),
            shared,
            index,
            to_open: Vec::new(),
            tracer: FlowTracer::default(),
            latencies: Latencies::default(),
            completions: Vec::new(),
            jobs: Vec::new(),
            trimmed: HashMap::new(),
            running_jobs: HashMap::new(),
        }
    }

    /// Returns the recorder of flows.
    pub fn tracer(&mut self) -> &mut FlowTracer {
        &mut self.tracer
    }

    /// Returns the recorder of latencies.
    pub fn latencies(&mut self) -> &mut Latencies {
        &mut self.latencies
    }

    /// Starts to record the deliveries of a flow, if a probe asks for its latencies. Returns the
    /// bytes from which on the transport reports its data with
    /// [`on_delivered_data`](HostContext::on_delivered_data): 0 if latencies are recorded.
    pub fn track_receiver(&mut self, flow: u32, notify_at: u64) -> u64 {
        if !self.shared.has_latencies(flow) {
            return notify_at;
        }
        self.latencies.track_receiver(flow, notify_at);
        0
    }

    /// Returns the samples and changes of recorded flows so far.
    pub fn samples(&self) -> &[Sample] {
        self.tracer.samples()
    }

    /// Returns the times at which flows of a class had all their data acknowledged.
    pub fn completions(&self, class: u32) -> &[u64] {
        self.completions.get(class as usize).map_or(&[], |times| times)
    }

    /// Returns the records of this host's ranks, each with its generator.
    pub fn ranks(&self) -> impl Iterator<Item = (u32, RankRecord)> {
        let progress = (0..).zip(&self.progress);
        let progress = progress.filter_map(|(generator, progress)| Some((generator, progress.as_ref()?)));
        progress.flat_map(|(generator, progress)| {
            let records = progress.records().into_iter();
            records.map(move |record| (generator, record))
        })
    }

    /// Returns the recorded tasks of this host's ranks, each with its generator.
    pub fn tasks(&self) -> impl Iterator<Item = (u32, RankTasks<'_>)> {
        let progress = (0..).zip(&self.progress);
        progress.filter_map(|(generator, progress)| Some((generator, progress.as_ref()?.tasks()?)))
    }

    /// Returns the records of finished jobs, and of jobs that run.
    pub fn jobs(&self) -> impl Iterator<Item = &JobRecord> {
        let running = self.running_jobs.values().map(|job| &job.record);
        self.jobs.iter().chain(running)
    }
}
