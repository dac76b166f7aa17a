//! The multi-homed fat-tree: a fat-tree whose hosts have a link to each of several ToRs of their
//! pod. With two links it is the dual-homed fat-tree of Raiciu et al., "Improving Datacenter
//! Performance and Robustness with Multipath TCP" (SIGCOMM 2011), section 5. That section says that
//! with a single link per host, the links of racks are a bottleneck which many paths in the core do
//! not relieve.
//!
//! Switches have k ports as in a fat-tree, so with n links per host there are 1/n of its hosts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time, refuse};

use crate::pods::{GeneralFatTree, MAX_K};
use crate::{Fabric, NetworkSize, PortQueues, Topology};

/// Hosts h0, h1, …; switches torP.T, aggP.A and coreA.I, with pod P, ToR T, aggregation switch A and its core switch I.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiHomedFatTree {
    /// Ports of every switch, even: k pods, and k^3/4 hosts divided by `homes`.
    #[schemars(range(min = 2, max = MAX_K), extend("multipleOf" = 2))]
    pub k: u32,
    /// Links per host, each to a different ToR of its pod; must divide k/2.
    #[serde(default = "weft_spec::default_number::<2>")]
    #[schemars(range(min = 1))]
    pub homes: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Propagation delay of every link.
    pub delay: Time,
}

impl Topology for MultiHomedFatTree {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        let half = self.k / 2;
        if !half.is_multiple_of(self.homes) {
            let divisors: Vec<_> = (1..=half)
                .filter(|n| half.is_multiple_of(*n))
                .map(|n| n.to_string())
                .collect();
            let allowed = format!("a divisor of k/2 = {half}: {}", divisors.join(", "));
            return refuse("homes", self.homes, allowed);
        }
        Ok(self.general().build(queues))
    }

    fn size(&self) -> NetworkSize {
        self.general().size()
    }

    /// A policy with one subflow over each link.
    fn default_policy(&self) -> &'static str {
        "disjoint"
    }
}

impl MultiHomedFatTree {
    fn general(&self) -> GeneralFatTree {
        GeneralFatTree {
            k: self.k,
            hosts_per_rack: self.k / 2,
            homes: self.homes,
            rate: self.rate,
            host_rate: self.rate,
            delay: self.delay,
        }
    }
}
