//! BCube: Guo et al., "BCube: A High Performance, Server-centric Network Architecture for Modular
//! Data Centers" (SIGCOMM 2009), section 3.
//!
//! `BCube_k` has n^(k+1) hosts with k+1 ports each and k+1 levels of n^k switches with n ports. A
//! host's address has k+1 digits in base n; the switch at level l connects the n hosts that differ
//! only in digit l. Switches are not connected to each other: hosts forward.
//!
//! Between two hosts there are k+1 paths that share no node (section 3.3, `BuildPathSet`). The i-th
//! path takes level i first: it corrects the digits from digit i downwards, cyclically
//! (`DCRouting`). If digit i is already right, it is first changed to the next value and corrected
//! last (`AltDCRouting`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time, refuse};

use crate::builder::FabricBuilder;
use crate::{Fabric, NetworkSize, NodeId, PortQueues, Routing, Topology};

/// Maximum number of ports of a switch.
const MAX_PORTS: u32 = 64;
/// Maximum number of hosts, so that the network fits into memory.
const MAX_HOSTS: u64 = 1 << 18;
/// Names of the layers up and down, by level.
const LAYERS: [[&str; 2]; 5] = [
    ["host-level0", "level0-host"],
    ["host-level1", "level1-host"],
    ["host-level2", "level2-host"],
    ["host-level3", "level3-host"],
    ["host-level4", "level4-host"],
];

/// Hosts h0, h1, … by address; switches swL.I, with level L.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BCube {
    /// Ports of a switch.
    #[schemars(range(min = 2, max = MAX_PORTS))]
    pub n: u32,
    /// The highest level, counted from 0; hosts have k + 1 ports.
    #[schemars(range(min = 0, max = LAYERS.len() - 1))]
    pub k: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Propagation delay of every link.
    pub delay: Time,
}

impl Topology for BCube {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        let fits = |k: usize| u64::from(self.n).pow(k as u32 + 1) <= MAX_HOSTS;
        let most = (0..LAYERS.len()).rev().find(|&k| fits(k)).unwrap_or(0);
        if self.k as usize > most {
            let allowed = format!("0 to {most} with n = {}", self.n);
            return refuse("k", self.k, allowed);
        }
        let (n, levels) = (self.n, self.k + 1);
        let mut net = FabricBuilder::new(queues);
        let mut hosts = Vec::new();
        let mut switches = vec![Vec::new()];
        for i in 0..n.pow(self.k) {
            for _ in 0..n {
                hosts.push(net.host(format!("h{}", hosts.len())));
            }
            switches[0].push(net.switch(format!("sw0.{i}")));
        }
        switches.extend((1..levels).map(|level| {
            let name = |i| net.switch(format!("sw{level}.{i}"));
            (0..n.pow(self.k)).map(name).collect::<Vec<NodeId>>()
        }));
        for ((level, switches), layers) in (0..).zip(&switches).zip(LAYERS) {
            for (i, &switch) in (0..).zip(switches) {
                for digit in 0..n {
                    let low = n.pow(level);
                    let host = i / low * low * n + digit * low + i % low;
                    net.cable(hosts[host as usize], switch, self.rate, self.delay, layers);
                }
            }
        }
        Ok(net.finish(hosts, Box::new(BCubeRouting { n, levels })))
    }

    fn size(&self) -> NetworkSize {
        let [n, levels] = [self.n, self.k + 1].map(u64::from);
        let hosts = n.pow(levels as u32).min(MAX_HOSTS);
        NetworkSize {
            nodes: hosts + levels * hosts / n,
            hosts,
            links: 2 * hosts * levels,
        }
    }

    /// A policy with one subflow over each port; single-path transports begin with any port.
    fn default_policy(&self) -> &'static str {
        "consecutive"
    }
}

/// Routing that corrects one digit of the address at each switch.
struct BCubeRouting {
    n: u32,
    levels: u32,
}

impl BCubeRouting {
    /// Returns a host's address. Hosts are numbered in groups of n, with a switch after each group.
    fn address(&self, host: NodeId) -> u32 {
        host - host / (self.n + 1)
    }

    fn digit(&self, address: u32, level: u32) -> u32 {
        address / self.n.pow(level) % self.n
    }
}

impl Routing for BCubeRouting {
    fn path_count(&self, from: NodeId, to: NodeId) -> u64 {
        if from == to { 0 } else { self.levels.into() }
    }

    fn append_ports(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>) {
        let [from, to] = [from, to].map(|host| self.address(host));
        // The host's port is numbered by level, the switch's by digit.
        let mut correct = |level: u32, digit: u32| ports.extend([level as u16, digit as u16]);
        let first = n as u32;
        let wanted = |level| self.digit(to, level);
        let detour = self.digit(from, first) == wanted(first);
        let away = if detour {
            (wanted(first) + 1) % self.n
        } else {
            wanted(first)
        };
        correct(first, away);
        for level in (0..first).rev().chain((first + 1..self.levels).rev()) {
            if self.digit(from, level) != wanted(level) {
                correct(level, wanted(level));
            }
        }
        if detour {
            correct(first, wanted(first));
        }
    }
}
