//! Probes of flows: their windows, the latency of their data, and their throughput.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_packet::RecordedState;
use weft_run::{Probe, ProbedFlows};
use weft_spec::{Spec, SpecError, Time, Traffic, conflict};
use weft_transports::TransportConfig;

use super::flow_selection::{Indices, select_flows};
use super::{ProbeContext, ProbeKind};

/// Windows of the subflows of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowProbe {
    /// Name of a traffic entry; by default all entries.
    traffic: Option<String>,
    /// Indices of flows in their traffic entry, from 0; by default all flows. A closed loop numbers
    /// the first flows of all loops, then the second flows, and so on. A job numbers its requests,
    /// then its blocks. To select flows of loops or jobs, set `traffic` to the name of their entry.
    flows: Option<Indices>,
    /// Sampling interval; by default every change is recorded.
    interval: Option<Time>,
}

/// One-way latency of flows' data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LatencyProbe {
    /// Name of a traffic entry; by default all entries.
    traffic: Option<String>,
    /// Indices of flows, as in the probe `flow`; by default all flows.
    flows: Option<Indices>,
}

/// Application bytes that flows deliver in each interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ThroughputProbe {
    /// Name of a traffic entry; by default all entries.
    traffic: Option<String>,
    /// Indices of flows, as in the probe `flow`; by default all flows.
    flows: Option<Indices>,
    /// Length of the intervals.
    interval: Time,
}

impl ProbeKind for ThroughputProbe {
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError> {
        let interval = self.interval;
        let chosen = select_flows(self.traffic.as_deref(), self.flows.as_ref(), context)?;
        Ok(chosen
            .into_iter()
            .map(|flows| Probe::Throughput { flows, interval })
            .collect())
    }

    fn interval(&self) -> Option<Time> {
        Some(self.interval)
    }
}

impl ProbeKind for FlowProbe {
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError> {
        let interval = self.interval;
        let chosen = select_flows(self.traffic.as_deref(), self.flows.as_ref(), context)?;
        let recorded = self.recorded(chosen, context)?;
        Ok(recorded
            .into_iter()
            .map(|flows| Probe::Flow { flows, interval })
            .collect())
    }

    fn interval(&self) -> Option<Time> {
        self.interval
    }
}

impl FlowProbe {
    /// Returns those of the chosen flows whose senders have something to record.
    ///
    /// # Errors
    /// Returns an error if none of them has, or if one of them is only sampled and there is no interval.
    fn recorded(
        &self,
        chosen: Vec<ProbedFlows>,
        context: &ProbeContext<'_>,
    ) -> Result<Vec<ProbedFlows>, SpecError> {
        let transports_of = |selection: &ProbedFlows| match *selection {
            ProbedFlows::One(flow) => match context.flows.get(flow as usize) {
                Some(flow) => std::slice::from_ref(&context.transports.all[flow.transport as usize]).to_vec(),
                None => Vec::new(),
            },
            ProbedFlows::Generated(generator) => {
                let traffic = context.generators[generator as usize].flow(0).traffic;
                let transports = context.transports.of_traffic[traffic as usize].iter();
                transports
                    .map(|&transport| context.transports.all[transport].clone())
                    .collect()
            }
        };
        let mut nothing = None;
        let mut kept = Vec::new();
        for selection in chosen {
            let states = transports_of(&selection);
            let sampled = states
                .iter()
                .find(|(_, _, state)| *state == RecordedState::Samples);
            if let (Some((name, kind, _)), None) = (sampled, self.interval) {
                let problem =
                    format!("not set, and transports.{name} (kind {kind:?}) is recorded at intervals only");
                return conflict("interval", problem, "set it, such as \"10us\"");
            }
            match states
                .iter()
                .find(|(_, _, state)| *state == RecordedState::Nothing)
            {
                Some(state)
                    if states
                        .iter()
                        .all(|(_, _, state)| *state == RecordedState::Nothing) =>
                {
                    nothing.get_or_insert_with(|| state.clone());
                }
                _ => kept.push(selection),
            }
        }
        match nothing {
            Some((name, kind, _)) if kept.is_empty() => {
                let problem =
                    format!("\"flow\", and transports.{name} (kind {kind:?}) has neither window nor rate");
                conflict("kind", problem, "use \"throughput\"")
            }
            _ => Ok(kept),
        }
    }
}

/// The state that probes record, by transport.
pub(crate) struct TransportStates {
    /// Name, kind and recorded state of each transport.
    pub all: Vec<(String, &'static str, RecordedState)>,
    /// The transports of each traffic entry.
    pub of_traffic: Vec<Vec<usize>>,
}

impl TransportStates {
    /// Returns the states of the transports of a spec.
    pub fn new(spec: &Spec, transports: &[TransportConfig]) -> Self {
        let state = |transport: &TransportConfig| {
            let kind = weft_packet::transports()
                .iter()
                .find(|kind| kind.name() == transport.kind);
            kind.map_or(RecordedState::Nothing, |kind| kind.recorded_state(transport))
        };
        let all = spec.transports.keys().zip(transports);
        let index = |name: &String| spec.transports.keys().position(|known| known == name);
        let of_entry = |entry: &Traffic| {
            let names =
                std::iter::once(&entry.transport).chain(entry.classes.iter().map(|class| &class.transport));
            names.filter_map(index).collect()
        };
        Self {
            all: all
                .map(|(name, transport)| (name.clone(), transport.kind, state(transport)))
                .collect(),
            of_traffic: spec.traffic.iter().map(of_entry).collect(),
        }
    }
}

impl ProbeKind for LatencyProbe {
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError> {
        let chosen = select_flows(self.traffic.as_deref(), self.flows.as_ref(), context)?;
        Ok(chosen.into_iter().map(|flows| Probe::Latency { flows }).collect())
    }

    fn interval(&self) -> Option<Time> {
        None
    }
}
