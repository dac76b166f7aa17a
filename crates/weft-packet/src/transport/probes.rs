//! The flows whose windows or latencies are recorded.

use std::collections::{HashMap, HashSet};

use weft_run::{Probe, ProbedFlows};
use weft_spec::Time;

/// The flows that are recorded.
#[derive(Default)]
pub struct FlowProbes {
    /// Flows whose windows are recorded: at an interval, or at every change (`None`).
    windows: HashMap<ProbedFlows, Vec<Option<Time>>>,
    /// Flows whose latencies are recorded.
    latencies: HashSet<ProbedFlows>,
}

impl FlowProbes {
    /// Selects those of `probes` that record flows.
    pub fn new(probes: &[Probe]) -> Self {
        let mut new = Self::default();
        for probe in probes {
            match *probe {
                Probe::Flow { flows, interval } => new.windows.entry(flows).or_default().push(interval),
                Probe::Latency { flows } => {
                    new.latencies.insert(flows);
                }
                // The engine records queues and packets, and the run records the others.
                Probe::Queue { .. }
                | Probe::QueueTrace { .. }
                | Probe::Buffer { .. }
                | Probe::Packets { .. }
                | Probe::Steps { .. }
                | Probe::Throughput { .. } => {}
            }
        }
        new
    }

    /// Returns true if the latencies of `flow` are recorded, because a probe names the flow or the
    /// generator that opened it.
    pub fn latencies_of(&self, flow: u32, generator: Option<u32>) -> bool {
        self.latencies.contains(&ProbedFlows::One(flow))
            || generator.is_some_and(|g| self.latencies.contains(&ProbedFlows::Generated(g)))
    }

    /// Returns true if nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty() && self.latencies.is_empty()
    }

    /// Returns the intervals at which a flow is recorded, which `generator` may have opened; `None`
    /// stands for every change.
    pub fn of_flow(&self, flow: u32, generator: Option<u32>) -> impl Iterator<Item = Option<Time>> {
        let of_flow = self.windows.get(&ProbedFlows::One(flow));
        let of_generator = generator.and_then(|g| self.windows.get(&ProbedFlows::Generated(g)));
        of_flow.into_iter().chain(of_generator).flatten().copied()
    }
}
