//! One-to-many traffic: every sender sends to several receivers. Hosts of distributed file systems
//! and searches do so in Raiciu et al., "Data Center Networking with Multipath TCP" (2010), section
//! 1.

use rand::seq::index::sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, Within, refuse};

use crate::template::FlowTemplate;
use crate::{Flow, HostSet, MAX_FLOWS, Pattern, PatternContext, random};

/// Flows from each sender to several receivers, which are drawn for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneToMany {
    /// Receivers per sender, all different.
    #[schemars(range(min = 1))]
    pub receivers: u32,
    /// Senders.
    #[serde(default = "default_from")]
    pub from: HostSet,
    /// Application bytes of each flow; by default a flow sends until the end of the experiment.
    pub size: Option<Size>,
    /// Time at which the flows open.
    #[serde(default)]
    pub start: Time,
    /// Maximum random delay of each flow after `start`.
    #[serde(default)]
    pub jitter: Time,
}

fn default_from() -> HostSet {
    HostSet::All
}

impl Pattern for OneToMany {
    fn flows(&self, context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        let template = FlowTemplate::new(self.size, self.start, self.jitter)?;
        let senders = self.from.resolve(context).within("from")?;
        let others = context.hosts.len().saturating_sub(1);
        let each = self.receivers as usize;
        if each == 0 || each > others || (each as u64) * senders.len() as u64 > MAX_FLOWS {
            let given = format!("{each} of {others} others, for {} senders", senders.len());
            let allowed = format!("1 to {others}, and at most {MAX_FLOWS} flows");
            return refuse("receivers", given, allowed);
        }
        let mut rng = context.rng();
        let mut flows = Vec::with_capacity(senders.len() * each);
        for from in senders {
            for other in sample(&mut rng, others, each) {
                let to = other as u32 + u32::from(other as u32 >= from);
                flows.push(template.flow(context, from, to, &mut rng));
            }
        }
        Ok(flows)
    }

    fn draws_openings(&self, end: Time) -> bool {
        random::jitter_decides(self.start, self.jitter, end)
    }
}
