//! The probe of the steps of jobs of ranks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_run::Probe;
use weft_spec::{SpecError, Time};

use super::{ProbeContext, ProbeKind};

/// Computing, messages and operations of ranks, and the critical path of each job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StepProbe {
    /// Name of a traffic entry whose jobs run on ranks; by default all these entries.
    traffic: Option<String>,
}

impl ProbeKind for StepProbe {
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError> {
        let generators = (0_u32..).zip(context.generators);
        let ranked = generators.filter_map(|(generator, traffic)| Some((generator, traffic.ranked_jobs()?)));
        let ranked: Vec<(u32, &str)> = ranked
            .map(|(generator, jobs)| (generator, &*context.traffic[jobs.traffic as usize]))
            .collect();
        let chosen = ranked
            .iter()
            .filter(|(_, name)| self.traffic.as_ref().is_none_or(|traffic| traffic == name));
        let probes: Vec<Probe> = chosen.map(|&(generator, _)| Probe::Steps { generator }).collect();
        if probes.is_empty() {
            return Err(match &self.traffic {
                Some(traffic) if !ranked.is_empty() => {
                    SpecError::unknown_name("traffic", traffic, ranked.iter().map(|(_, name)| *name))
                }
                _ => SpecError::new(
                    "traffic",
                    "no traffic with jobs of ranks",
                    "an entry of kind collective, training or trace, or a flow-list with `after`",
                ),
            });
        }
        Ok(probes)
    }

    fn interval(&self) -> Option<Time> {
        None
    }
}
