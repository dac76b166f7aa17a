//! Probes of flows: their windows, and the latency of their data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_run::Probe;
use weft_spec::{SpecError, Time};

use super::flow_selection::{Indices, Selection, select_flows};
use super::{ProbeContext, ProbeKind};

/// Windows of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowProbe {
    /// Name of a traffic entry; by default flows of all entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traffic: Option<String>,
    /// Which of these flows, by index from 0; by default all. The order in a closed loop is the first flow of
    /// each loop, then the second of each, and so on; in jobs, a job's requests, then its blocks. To choose
    /// among flows of loops or jobs, `traffic` must name their entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flows: Option<Indices>,
    /// Sampling interval; by default every change is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interval: Option<Time>,
}

/// One-way latency of flows' data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LatencyProbe {
    /// Name of a traffic entry; by default flows of all entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traffic: Option<String>,
    /// Which of these flows, by index from 0; by default all. Numbered as for the probe `flow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flows: Option<Indices>,
}

impl ProbeKind for FlowProbe {
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError> {
        let interval = self.interval;
        let probe = |chosen| match chosen {
            Selection::Flow(flow) => Probe::Flow { flow, interval },
            Selection::Generator(generator) => Probe::Generator { generator, interval },
        };
        let chosen = select_flows(self.traffic.as_deref(), self.flows.as_ref(), context)?;
        Ok(chosen.into_iter().map(probe).collect())
    }

    fn interval(&self) -> Option<Time> {
        self.interval
    }
}

impl ProbeKind for LatencyProbe {
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError> {
        let probe = |chosen| match chosen {
            Selection::Flow(flow) => Probe::Latency { flow },
            Selection::Generator(generator) => Probe::GeneratorLatency { generator },
        };
        let chosen = select_flows(self.traffic.as_deref(), self.flows.as_ref(), context)?;
        Ok(chosen.into_iter().map(probe).collect())
    }

    fn interval(&self) -> Option<Time> {
        None
    }
}
