//! Two paths between racks: the testbed of Raiciu et al., "Data Center Networking with Multipath
//! TCP" (2010), section 4. It is a trimmed fat-tree with two paths between each pair of endpoints.
//!
//! ```text
//!        agg0        agg1          each ToR is connected with both
//!       /  |  \     /  |  \
//!     tor0   tor1   tor2
//!     /  \   /  \   /  \
//!    h0  h1 h2  h3 h4  h5
//! ```
//! The available text of the paper lacks the drawing. If a rack has as many uplinks as hosts, the
//! permutations of the paper need six hosts in three racks. In TM1 a host sends to its second
//! neighbour, in TM2 to its third, and both are "in a different rack".
//!
//! The paper chooses the path by the sender's address (a VLAN per path), which corresponds to the
//! policy `consecutive`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time};

use crate::builder::FabricBuilder;
use crate::{Fabric, NetworkSize, NodeId, PortQueues, Routing, Topology};

/// Maximum number of racks and of hosts per rack: limited by port numbers and memory.
const MAX_RACKS_OR_HOSTS: u32 = 1000;
/// Number of switches above the racks.
const UPPER: u32 = 2;

/// Hosts h0, h1, … rack by rack; switches tor0, tor1, … of the racks, and agg0 and agg1 above them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoPaths {
    /// Number of racks.
    #[serde(default = "weft_spec::default_number::<3>")]
    #[schemars(range(min = 2, max = MAX_RACKS_OR_HOSTS))]
    pub racks: u32,
    /// Hosts per rack.
    #[serde(default = "weft_spec::default_number::<2>")]
    #[schemars(range(min = 1, max = MAX_RACKS_OR_HOSTS))]
    pub hosts_per_rack: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Propagation delay of every link.
    pub delay: Time,
    /// Rate of the hosts' links, if it differs.
    pub host_rate: Option<Rate>,
}

impl Topology for TwoPaths {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        let mut net = FabricBuilder::new(queues);
        let (mut hosts, mut tors) = (Vec::new(), Vec::new());
        for rack in 0..self.racks {
            for _ in 0..self.hosts_per_rack {
                hosts.push(net.host(format!("h{}", hosts.len())));
            }
            tors.push(net.switch(format!("tor{rack}")));
        }
        let upper: Vec<NodeId> = (0..UPPER).map(|i| net.switch(format!("agg{i}"))).collect();
        let host_rate = self.host_rate.unwrap_or(self.rate);
        for (rack, &tor) in hosts.chunks(self.hosts_per_rack as usize).zip(&tors) {
            for &host in rack {
                net.cable(host, tor, host_rate, self.delay, ["host-tor", "tor-host"]);
            }
        }
        for &tor in &tors {
            for &agg in &upper {
                net.cable(tor, agg, self.rate, self.delay, ["tor-agg", "agg-tor"]);
            }
        }
        let hosts_per_rack = self.hosts_per_rack;
        Ok(net.finish(hosts, Box::new(TwoPathsRouting { hosts_per_rack })))
    }

    fn size(&self) -> NetworkSize {
        let [racks, hosts_per_rack, upper] = [self.racks, self.hosts_per_rack, UPPER].map(u64::from);
        let hosts = racks * hosts_per_rack;
        NetworkSize {
            nodes: hosts + racks + upper,
            hosts,
            links: 2 * (hosts + racks * upper),
        }
    }

    fn default_policy(&self) -> &'static str {
        "consecutive"
    }
}

/// Routing within a rack by its switch, between racks by one of the two switches above.
struct TwoPathsRouting {
    /// Hosts per rack. The nodes of a rack are its hosts, then its switch.
    hosts_per_rack: u32,
}

impl TwoPathsRouting {
    /// Returns the rack of a host, and the host's position in it.
    fn locate(&self, host: NodeId) -> (u32, u32) {
        (host / (self.hosts_per_rack + 1), host % (self.hosts_per_rack + 1))
    }
}

impl Routing for TwoPathsRouting {
    fn path_count(&self, from: NodeId, to: NodeId) -> u64 {
        match () {
            () if from == to => 0,
            () if self.locate(from).0 == self.locate(to).0 => 1,
            () => UPPER.into(),
        }
    }

    fn append_ports(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>) {
        let ((rack, _), (to_rack, to_position)) = (self.locate(from), self.locate(to));
        ports.push(0);
        if rack != to_rack {
            ports.extend([(u64::from(self.hosts_per_rack) + n) as u16, to_rack as u16]);
        }
        ports.push(to_position as u16);
    }
}
