//! The recorder of flows at one host: windows of selected flows, at intervals or at every change.

use std::collections::HashMap;

use weft_cc::Window;
use weft_run::Sample;
use weft_spec::Time;

/// A sample of the state of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// Congestion window in packets, if there is one.
    pub cwnd: Option<f64>,
    /// Rate in bits per second, if there is one.
    pub rate: Option<f64>,
}

impl SenderState {
    /// Returns the state of two subflows of a flow together.
    pub fn sum(self, other: Self) -> Self {
        let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        Self {
            cwnd: sum(self.cwnd, other.cwnd),
            rate: sum(self.rate, other.rate),
        }
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
    /// Samples and changes so far.
    samples: Vec<Sample>,
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

impl FlowTracer {
    /// Starts to record every change of the windows of a flow.
    pub fn record_every_change(&mut self, flow: u32) {
        self.last_recorded.entry(flow).or_default();
    }

    /// Starts to sample the windows of a flow at an interval. Returns the sampler and the time of
    /// its first sample.
    pub fn start_sampler(&mut self, flow: u32, interval: Time, now: u64) -> (u32, u64) {
        let interval = interval.0.max(1);
        let sampler = Sampler { flow, interval };
        let slot = self.idle_samplers.pop().unwrap_or_else(|| {
            self.samplers.push(sampler);
            self.samplers.len() as u32 - 1
        });
        self.samplers[slot as usize] = sampler;
        (slot, (now / interval + 1) * interval)
    }

    /// Returns the flow of a sampler.
    pub fn flow_of(&self, sampler: u32) -> u32 {
        self.samplers[sampler as usize].flow
    }

    /// Samples the windows of a sampler's flow. Returns the time of the next sample; `None` if the
    /// flow has finished, so that it has no windows.
    pub fn sample(&mut self, sampler: u32, windows: Option<&[Window]>, now: u64) -> Option<u64> {
        let Sampler { flow, interval } = self.samplers[sampler as usize];
        let Some(windows) = windows else {
            self.idle_samplers.push(sampler);
            return None;
        };
        let windows = windows.iter().enumerate();
        self.samples
            .extend(windows.map(|(s, window)| sample(flow, s, window, now)));
        Some(now + interval)
    }

    /// Samples the state of a sampler's flow, which has no windows. Returns the time of the next sample.
    pub fn sample_sender(&mut self, sampler: u32, state: SenderState, now: u64) -> u64 {
        let Sampler { flow, interval } = self.samplers[sampler as usize];
        self.samples.push(Sample::Sender {
            time: Time(now),
            flow,
            cwnd: state.cwnd,
            rate: state.rate,
        });
        now + interval
    }

    /// Records the windows of a flow that differ from what was last recorded.
    #[cold]
    pub fn record_changes(&mut self, flow: u32, windows: &[Window], now: u64) {
        let Some(recorded) = self.last_recorded.get_mut(&flow) else {
            return;
        };
        for (s, window) in windows.iter().enumerate() {
            let state = state(window);
            match recorded.get_mut(s) {
                Some(last) if *last == state => continue,
                Some(last) => *last = state,
                None => recorded.push(state),
            }
            self.samples.push(sample(flow, s, window, now));
        }
    }

    /// Records the last changes of a flow that finishes.
    pub fn finish(&mut self, flow: u32, windows: &[Window], now: u64) {
        self.record_changes(flow, windows, now);
        self.last_recorded.remove(&flow);
    }

    /// Returns the samples and changes so far.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Drops the samples and changes so far.
    pub fn drop_samples(&mut self) {
        self.samples = Vec::new();
    }
}
