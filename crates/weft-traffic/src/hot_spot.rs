//! Hot spots: some hosts receive more traffic than the others, as in Al-Fares et al., "A Scalable,
//! Commodity Data Center Network Architecture" (SIGCOMM 2008), section 5.1.

use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Size, SpecError, Time, Within, refuse};

use crate::template::FlowTemplate;
use crate::{Flow, HostSet, MAX_FLOWS, Pattern, PatternContext, random};

/// Flows from every host, some of which go to a few busy hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotSpot {
    /// Hosts that receive more than the others.
    pub spots: HostSet,
    /// Probability that a flow goes to one of `spots`; otherwise it goes to any host except these and its
    /// sender.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
    /// Flows per sender.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1))]
    pub count: u32,
    /// Application bytes of each flow; by default a flow sends until the end of the experiment.
    pub size: Option<Size>,
    /// Time at which the flows open.
    #[serde(default)]
    pub start: Time,
    /// Maximum random delay of each flow after `start`.
    #[serde(default)]
    pub jitter: Time,
}

impl Pattern for HotSpot {
    fn flows(&self, context: &PatternContext<'_>) -> Result<Vec<Flow>, SpecError> {
        let template = FlowTemplate::new(self.size, self.start, self.jitter)?;
        let spots = self.spots.resolve(context).within("spots")?;
        let hosts = context.hosts.len() as u32;
        let others: Vec<u32> = (0..hosts).filter(|host| !spots.contains(host)).collect();
        if spots.is_empty() || others.len() < 2 {
            let given = format!("{} of {hosts} hosts", spots.len());
            return refuse("spots", given, "at least 1, and at least 2 others");
        }
        let total = u64::from(hosts) * u64::from(self.count);
        if !(1..=MAX_FLOWS).contains(&total) {
            let given = format!("{} for {hosts} hosts makes {total} flows", self.count);
            return refuse("count", given, format!("1 to {MAX_FLOWS} flows in all"));
        }
        let mut rng = context.rng();
        let mut flows = Vec::with_capacity(total as usize);
        for from in 0..hosts {
            // A single hot spot has no other hot spot as its receiver.
            let hot: Vec<u32> = spots.iter().copied().filter(|&spot| spot != from).collect();
            let cold: Vec<u32> = others.iter().copied().filter(|&other| other != from).collect();
            for _ in 0..self.count {
                let to = if !hot.is_empty() && rng.random_bool(self.share) {
                    &hot
                } else {
                    &cold
                };
                let to = to[rng.random_range(0..to.len())];
                flows.push(template.flow(context, from, to, &mut rng));
            }
        }
        Ok(flows)
    }

    fn draws_openings(&self, end: Time) -> bool {
        random::jitter_decides(self.start, self.jitter, end)
    }
}
