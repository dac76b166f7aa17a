//! Strides: Al-Fares et al., "Hedera" (NSDI 2010), section 5.2: "Stride(i): A host with index x
//! sends to the host with index (x + i) mod (num hosts)."

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, conflict};

use crate::template::FlowTemplate;
use crate::{Flow, Pattern, PatternContext, random};

/// Flows from every host to the host whose index is larger by a constant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stride {
    /// Difference of the indices; the first host follows the last.
    #[schemars(range(min = 1))]
    pub stride: u32,
    /// Application bytes of each flow; by default a flow sends until the end of the experiment.
    pub size: Option<Size>,
    /// Time at which the flows open.
    #[serde(default)]
    pub start: Time,
    /// Maximum random delay of each flow after `start`.
    #[serde(default)]
    pub jitter: Time,
}

impl Pattern for Stride {
    fn flows(&self, context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        let template = FlowTemplate::new(self.size, self.start, self.jitter)?;
        let hosts = context.hosts.len() as u32;
        if self.stride.is_multiple_of(hosts.max(1)) {
            let given = format!("with {} of {hosts} hosts, each sends to itself", self.stride);
            return conflict(
                "stride",
                given,
                "use a number that the number of hosts does not divide",
            );
        }
        let mut rng = context.rng();
        let to = |from: u32| (u64::from(from) + u64::from(self.stride)) % u64::from(hosts);
        let flow = |from| template.flow(context, from, to(from) as u32, &mut rng);
        Ok((0..hosts).map(flow).collect())
    }

    fn draws_openings(&self, end: Time) -> bool {
        random::jitter_decides(self.start, self.jitter, end)
    }
}
