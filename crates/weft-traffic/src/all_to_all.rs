//! Flows between all pairs of hosts at the same time: the shuffle of Greenberg et al., "VL2" (SIGCOMM
//! 2009), section 5.1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, Within, refuse};

use crate::template::FlowTemplate;
use crate::{Flow, HostSet, MAX_FLOWS, Pattern, PatternContext, random};

/// Flows between all pairs of a set of hosts, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllToAll {
    /// Hosts that send to each other.
    #[serde(default)]
    pub hosts: HostSet,
    /// Application bytes of each flow; by default a flow sends until the end of the experiment.
    pub size: Option<Size>,
    /// Time at which the flows open.
    #[serde(default)]
    pub start: Time,
    /// Maximum random delay of each flow after `start`.
    #[serde(default)]
    pub jitter: Time,
}

impl Pattern for AllToAll {
    fn flows(&self, context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        let template = FlowTemplate::new(self.size, self.start, self.jitter)?;
        let hosts = self.hosts.resolve(context).within("hosts")?;
        let n = hosts.len() as u64;
        if n < 2 || n * (n - 1) > MAX_FLOWS {
            let allowed = format!("at least 2 hosts, and at most {MAX_FLOWS} flows");
            return refuse("hosts", format!("{n} hosts"), allowed);
        }
        let mut rng = context.rng();
        // Each host starts with the host after it, so that not all start with the first one.
        let count = hosts.len();
        let others = |i: usize| (1..count).map(move |step| (i + step) % count);
        let mut flows = Vec::with_capacity((n * (n - 1)) as usize);
        for (i, &from) in hosts.iter().enumerate() {
            for to in others(i).map(|j| hosts[j]) {
                flows.push(template.flow(context, from, to, &mut rng));
            }
        }
        Ok(flows)
    }

    fn draws_openings(&self, end: Time) -> bool {
        random::jitter_decides(self.start, self.jitter, end)
    }
}
