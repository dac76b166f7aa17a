//! The flows whose windows or latencies are recorded.

use std::collections::{HashMap, HashSet};

use weft_run::Probe;
use weft_spec::Time;

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
                Probe::Queue { .. }
                | Probe::QueueTrace { .. }
                | Probe::Buffer { .. }
                | Probe::Packets { .. }
                | Probe::Steps { .. }
                | Probe::Throughput { .. }
                | Probe::GeneratorThroughput { .. } => {}
            }
        }
        new
    }

    /// Returns true if the latencies of `flow` are recorded, because a probe names the flow or the
    /// generator that opened it.
    pub fn latencies_of(&self, flow: u32, generator: Option<u32>) -> bool {
        self.latencies.contains(&flow) || generator.is_some_and(|g| self.generator_latencies.contains(&g))
    }

    /// Returns true if nothing is recorded.
    pub fn is_empty(&self) -> bool {
        let windows = self.flows.is_empty() && self.generators.is_empty();
        windows && self.latencies.is_empty() && self.generator_latencies.is_empty()
    }

    /// Returns the intervals at which a flow is recorded, which `generator` may have opened; `None`
    /// stands for every change.
    pub fn of_flow(&self, flow: u32, generator: Option<u32>) -> impl Iterator<Item = Option<Time>> {
        let of_generator = generator.and_then(|generator| self.generators.get(&generator));
        let of_flow = self.flows.get(&flow);
        of_flow.into_iter().chain(of_generator).flatten().copied()
    }
}
