//! The fat-tree: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network
//! Architecture" (SIGCOMM 2008), section 3.
//!
//! k pods of k/2 ToR and k/2 aggregation switches, k/2 hosts at each ToR, (k/2)^2 core switches;
//! all switches have k ports. Aggregation switch a of every pod is connected to the k/2 core
//! switches of group a. With oversubscription a ToR has more hosts than uplinks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time, refuse};

use crate::pods::{GeneralFatTree, MAX_K};
use crate::{Fabric, NetworkSize, PortQueues, Topology};

/// Maximum number of hosts per uplink, above that of real fabrics.
const MAX_OVERSUBSCRIPTION: u32 = 64;

/// Maximum number of hosts: that of the largest `k` without oversubscription.
const MAX_HOSTS: u64 = (MAX_K as u64).pow(3) / 4;

/// Hosts h0, h1, …; switches torP.T, aggP.A and coreA.I, with pod P, rack T, aggregation switch A and its core switch I.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTree {
    /// Ports of every switch, even: k pods, k^3/4 hosts.
    #[schemars(range(min = 2, max = MAX_K), extend("multipleOf" = 2))]
    pub k: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Propagation delay of every link.
    pub delay: Time,
    /// Hosts per uplink of a ToR: 1 gives full bisection bandwidth, 4 has four times the hosts.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1, max = MAX_OVERSUBSCRIPTION))]
    pub oversubscription: u32,
    /// Rate of the hosts' links, if it differs.
    pub host_rate: Option<Rate>,
}

impl Topology for FatTree {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        let hosts = u64::from(self.k).pow(3) / 4 * u64::from(self.oversubscription);
        if hosts > MAX_HOSTS {
            return refuse(
                "oversubscription",
                format!(
                    "{} with k = {} makes {hosts} hosts",
                    self.oversubscription, self.k
                ),
                format!("at most {MAX_HOSTS} hosts"),
            );
        }
        Ok(self.general().build(queues))
    }

    fn size(&self) -> NetworkSize {
        self.general().size()
    }
}

impl FatTree {
    fn general(&self) -> GeneralFatTree {
        GeneralFatTree {
            k: self.k,
            hosts_per_rack: self.k / 2 * self.oversubscription,
            homes: 1,
            rate: self.rate,
            host_rate: self.host_rate.unwrap_or(self.rate),
            delay: self.delay,
        }
    }
}
