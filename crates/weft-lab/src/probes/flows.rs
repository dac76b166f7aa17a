//! Probes of flows: their windows, and the latency of their data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_run::Probe;
use weft_spec::{SpecError, Time};

use super::flow_selection::{Indices, Selection, select_flows};
use super::{ProbeContext, ProbeKind};

/// Windows of the subflows of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowProbe {
    /// Name of a traffic entry; by default all entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traffic: Option<String>,
    /// Indices of flows in their traffic entry, from 0; by default all flows. A closed loop numbers
    /// the first flows of all loops, then the second flows, and so on. A job numbers its requests,
    /// then its blocks. To select flows of loops or jobs, set `traffic` to the name of their entry.
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
    /// Name of a traffic entry; by default all entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traffic: Option<String>,
    /// Indices of flows, as in the probe `flow`; by default all flows.
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
