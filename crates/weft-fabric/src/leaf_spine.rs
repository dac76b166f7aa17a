//! Leaf and spine: the two-layer Clos network of Alizadeh and Edsall, "On the Data Path Performance
//! of Leaf-Spine Datacenter Fabrics" (HOTI 2013), section II. Every leaf has a link, or several, to
//! every spine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time};

use crate::builder::FabricBuilder;
use crate::{Fabric, NetworkSize, NodeId, PortQueues, Routing, Topology};

/// Maximum number of leaves, spines or hosts per leaf: limited by port numbers and memory.
const MAX_SWITCHES_OR_HOSTS: u32 = 4096;
/// Maximum number of links between a leaf and a spine.
const MAX_LINKS: u32 = 16;

/// Hosts h0, h1, … leaf by leaf; switches leaf0, leaf1, … and spine0, spine1, …
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Number of leaves.
    #[schemars(range(min = 1, max = MAX_SWITCHES_OR_HOSTS))]
    pub leaves: u32,
    /// Number of spines.
    #[schemars(range(min = 1, max = MAX_SWITCHES_OR_HOSTS))]
    pub spines: u32,
    /// Hosts per leaf.
    #[schemars(range(min = 1, max = MAX_SWITCHES_OR_HOSTS))]
    pub hosts_per_leaf: u32,
    /// Links between a leaf and a spine.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1, max = MAX_LINKS))]
    pub links: u32,
    /// Rate of the hosts' links. The oversubscription of a leaf is `hosts_per_leaf` * `rate`
    /// divided by `spines` * `links` * `spine_rate`.
    pub rate: Rate,
    /// Rate of the links between leaves and spines, if it differs.
    pub spine_rate: Option<Rate>,
    /// Propagation delay of every link.
    pub delay: Time,
}

impl Topology for LeafSpine {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        let mut net = FabricBuilder::new(queues);
        let (mut hosts, mut leaves, mut spines) = (Vec::new(), Vec::new(), Vec::new());
        for leaf in 0..self.leaves {
            for _ in 0..self.hosts_per_leaf {
                hosts.push(net.host(format!("h{}", hosts.len())));
            }
            leaves.push(net.switch(format!("leaf{leaf}")));
        }
        spines.extend((0..self.spines).map(|spine| net.switch(format!("spine{spine}"))));
        for (hosts, &leaf) in hosts.chunks(self.hosts_per_leaf as usize).zip(&leaves) {
            for &host in hosts {
                net.cable(host, leaf, self.rate, self.delay, ["host-leaf", "leaf-host"]);
            }
        }
        let rate = self.spine_rate.unwrap_or(self.rate);
        for &leaf in &leaves {
            for &spine in &spines {
                for _ in 0..self.links {
                    net.cable(leaf, spine, rate, self.delay, ["leaf-spine", "spine-leaf"]);
                }
            }
        }
        let routing = LeafSpineRouting {
            hosts_per_leaf: self.hosts_per_leaf,
            spines: self.spines,
            links: self.links,
        };
        Ok(net.finish(hosts, Box::new(routing)))
    }

    fn size(&self) -> NetworkSize {
        let [leaves, spines, hosts_per_leaf, links] =
            [self.leaves, self.spines, self.hosts_per_leaf, self.links].map(u64::from);
        let hosts = leaves * hosts_per_leaf;
        NetworkSize {
            nodes: hosts + leaves + spines,
            hosts,
            links: 2 * (hosts + leaves * spines * links),
        }
    }
}

/// Routing between two hosts of a leaf by that leaf, otherwise over a spine.
struct LeafSpineRouting {
    /// Number of hosts per leaf. The nodes of a leaf are its hosts, then the leaf.
    hosts_per_leaf: u32,
    spines: u32,
    links: u32,
}

impl LeafSpineRouting {
    /// Returns the leaf of a host, and the host's position at the leaf.
    fn locate(&self, host: NodeId) -> (u32, u32) {
        (host / (self.hosts_per_leaf + 1), host % (self.hosts_per_leaf + 1))
    }
}

impl Routing for LeafSpineRouting {
    fn path_count(&self, from: NodeId, to: NodeId) -> u64 {
        match () {
            () if from == to => 0,
            () if self.locate(from).0 == self.locate(to).0 => 1,
            () => u64::from(self.spines) * u64::from(self.links) * u64::from(self.links),
        }
    }

    /// Paths are numbered by spine, link up, link down.
    fn append_ports(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>) {
        let ((leaf, _), (to_leaf, to_position)) = (self.locate(from), self.locate(to));
        ports.push(0);
        if leaf != to_leaf {
            let links = u64::from(self.links);
            let (up, down) = (n / links, n % links);
            ports.push((u64::from(self.hosts_per_leaf) + up) as u16);
            ports.push((u64::from(to_leaf) * links + down) as u16);
        }
        ports.push(to_position as u16);
    }

    /// One branch per link up.
    fn first_branches(&self, from: NodeId, to: NodeId) -> u64 {
        self.path_count(from, to)
            .min(u64::from(self.spines) * u64::from(self.links))
    }
}
