//! Recorded flows: the windows of selected flows, at intervals or at every change, and the flows
//! whose latencies are recorded.

use std::collections::{HashMap, HashSet};

use weft_cc::Window;
use weft_run::{Probe, Sample};
use weft_spec::Time;

use crate::engine::Context;

use super::connection::ConnectionSender;
use super::host::{Host, Shared, TimerKind, timer_key};

/// The flows that are recorded: at an interval, or at every change (`None`).
#[derive(Default)]
pub struct FlowProbes {
    flows: HashMap<u32, Vec<Option<Time>>>,
    generators: HashMap<u32, Vec<Option<Time>>>,
    /// Flows whose latencies are recorded.
    latencies: HashSet<u32>,
    /// Generators for which the latencies of all flows are recorded.
    generator_latencies: HashSet<u32>,
}

impl FlowProbes {
    /// Selects those of `probes` that record flows.
    pub fn new(probes: &[Probe]) -> Self {
        let mut new = Self::default();
        for probe in probes {
            match *probe {
                Probe::Flow { flow, interval } => new.flows.entry(flow).or_default().push(interval),
                Probe::Generator { generator, interval } => {
                    new.generators.entry(generator).or_default().push(interval);
                }
                Probe::Latency { flow } => {
                    new.latencies.insert(flow);
                }
                Probe::GeneratorLatency { generator } => {
                    new.generator_latencies.insert(generator);
                }
                Probe::Queue { .. } | Probe::QueueTrace { .. } | Probe::Packets { .. } => {}
            }
        }
        new
    }

    /// Returns true if the latencies of `flow` are recorded, because a probe names the flow or the
    /// generator that opened it.
    pub fn latencies_of(&self, flow: u32, generator: Option<u32>) -> bool {
        self.latencies.contains(&flow) || generator.is_some_and(|g| self.generator_latencies.contains(&g))
    }

    fn is_empty(&self) -> bool {
        let windows = self.flows.is_empty() && self.generators.is_empty();
        windows && self.latencies.is_empty() && self.generator_latencies.is_empty()
    }
}

/// The recorder of flows at one host.
#[derive(Default)]
pub struct FlowTracer {
    /// Samplers of flows that this host sends; a timer has their index.
    samplers: Vec<Sampler>,
    /// Samplers whose flows have finished.
    idle_samplers: Vec<u32>,
    /// The last recorded state of each subflow, by flow whose every change is recorded.
    last_recorded: HashMap<u32, Vec<State>>,
}

#[derive(Clone, Copy)]
struct Sampler {
    flow: u32,
    /// Picoseconds.
    interval: u64,
}

/// cwnd, ssthresh and active.
type State = (f64, f64, bool);

fn state(window: &Window) -> State {
    (window.cwnd, window.ssthresh, window.active)
}

fn sample(flow: u32, subflow: usize, window: &Window, now: u64) -> Sample {
    Sample::Subflow {
        time: Time(now),
        flow,
        subflow: subflow as u32,
        cwnd: window.cwnd,
        ssthresh: window.ssthresh,
        active: window.active,
    }
}

impl Shared {
    /// Returns the probes of a flow.
    fn probes_of(&self, flow: u32) -> impl Iterator<Item = Option<Time>> {
        let generator = self.generator_of(flow).map(|(generator, _)| generator);
        let of_generator = generator.and_then(|generator| self.probes.generators.get(&generator));
        let of_flow = self.probes.flows.get(&flow);
        of_flow.into_iter().chain(of_generator).flatten().copied()
    }
}

impl Host {
    /// Attaches the probes of a flow to its connection, which has just been opened.
    pub(super) fn attach_probes(&mut self, index: u32, cx: &mut Context<'_>) {
        if self.shared.probes.is_empty() {
            return;
        }
        let connection = &mut self.connections[index as usize];
        let flow = connection.flow;
        for interval in self.shared.probes_of(flow) {
            let Some(Time(interval)) = interval else {
                connection.traced = true;
                self.tracer.last_recorded.entry(flow).or_default();
                continue;
            };
            let interval = interval.max(1);
            let sampling = Sampler { flow, interval };
            let slot = self.tracer.idle_samplers.pop().unwrap_or_else(|| {
                self.tracer.samplers.push(sampling);
                self.tracer.samplers.len() as u32 - 1
            });
            self.tracer.samplers[slot as usize] = sampling;
            let first = (cx.now / interval + 1) * interval;
            cx.set_timer(first, timer_key(TimerKind::Sample, slot));
        }
        if self.shared.has_latencies(flow) {
            connection.traced = true;
            self.track_sender(flow);
        }
        self.record_changes(index, cx.now);
    }

    /// Records the windows of a connection that differ from what was last recorded.
    #[cold]
    pub(super) fn record_changes(&mut self, index: u32, now: u64) {
        let ConnectionSender { flow, windows, .. } = &self.connections[index as usize];
        let Some(recorded) = self.tracer.last_recorded.get_mut(flow) else {
            return;
        };
        for (s, window) in windows.iter().enumerate() {
            let state = state(window);
            match recorded.get_mut(s) {
                Some(last) if *last == state => continue,
                Some(last) => *last = state,
                None => recorded.push(state),
            }
            self.samples.push(sample(*flow, s, window, now));
        }
    }

    /// Records the last changes of a connection that finishes.
    pub(super) fn finish_trace(&mut self, index: u32, now: u64) {
        self.record_changes(index, now);
        self.tracer
            .last_recorded
            .remove(&self.connections[index as usize].flow);
        self.connections[index as usize].traced = false;
    }

    /// Samples a flow, by a timer that runs from when it opens until it finishes.
    pub(super) fn sample(&mut self, slot: u32, cx: &mut Context<'_>) {
        let Sampler { flow, interval } = self.tracer.samplers[slot as usize];
        let Some((connection, _)) = self.connection(flow).filter(|(c, _)| c.finished == u64::MAX) else {
            self.tracer.idle_samplers.push(slot);
            return;
        };
        let windows = connection.windows.iter().enumerate();
        let samples: Vec<Sample> = windows
            .map(|(s, window)| sample(flow, s, window, cx.now))
            .collect();
        self.samples.extend(samples);
        cx.set_timer(cx.now + interval, timer_key(TimerKind::Sample, slot));
    }
}
