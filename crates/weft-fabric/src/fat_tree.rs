//! The fat-tree: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture" (SIGCOMM 2008),
//! section 3.
//!
//! k pods of k/2 ToR and k/2 aggregation switches, k/2 hosts at each ToR, (k/2)^2 core switches; all switches have k ports.
//! Aggregation switch a of every pod leads to the k/2 core switches of group a.
//!
//! Nodes are numbered pod by pod, in a pod rack by rack (hosts, then their ToR), then aggregation switches. Core switches
//! belong to no pod: they are dealt out to the pods' ends, so that equal ranges of nodes have about equal work.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time};

use crate::builder::Builder;
use crate::{Fabric, NodeId, PortQueues, Routing, Topology};

/// Beyond 254 ports (4 million hosts) the network alone takes gigabytes.
const MAX_K: u32 = 254;

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
}

impl Topology for FatTree {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        if !(2..=MAX_K).contains(&self.k) || !self.k.is_multiple_of(2) {
            let odd = if self.k % 2 == 1 { " is odd" } else { "" };
            return Err(SpecError::new(
                "k",
                format!("{}{odd}", self.k),
                format!("even numbers from 2 to {MAX_K}"),
            ));
        }
        let half = self.k / 2;
        let mut net = Builder::new(queues);
        let (mut hosts, mut tors, mut aggs) = (Vec::new(), Vec::new(), Vec::new());
        let mut cores = Vec::new();
        let mut pods = Vec::new();
        for p in 0..self.k {
            let first = hosts.len();
            for t in 0..half {
                for _ in 0..half {
                    hosts.push(net.host(format!("h{}", hosts.len())));
                }
                tors.push(net.switch(format!("tor{p}.{t}")));
            }
            pods.push(hosts[first]);
            aggs.extend((0..half).map(|a| net.switch(format!("agg{p}.{a}"))));
            // Pod p's share of the core switches, in order.
            while (cores.len() as u32) * self.k < half * half * (p + 1) {
                let (a, i) = (cores.len() as u32 / half, cores.len() as u32 % half);
                cores.push(net.switch(format!("core{a}.{i}")));
            }
        }
        let mut cable = |a, b, layers| net.cable(a, b, self.rate, self.delay, layers);
        for (i, &host) in hosts.iter().enumerate() {
            cable(host, tors[i / half as usize], ["host-tor", "tor-host"]);
        }
        for (tors, aggs) in tors.chunks(half as usize).zip(aggs.chunks(half as usize)) {
            for (&tor, &agg) in tors.iter().flat_map(|tor| aggs.iter().map(move |agg| (tor, agg))) {
                cable(tor, agg, ["tor-agg", "agg-tor"]);
            }
            for (&agg, group) in aggs.iter().zip(cores.chunks(half as usize)) {
                for &core in group {
                    cable(agg, core, ["agg-core", "core-agg"]);
                }
            }
        }
        Ok(net.finish(hosts, Box::new(UpAndDown { half, pods })))
    }
}

/// Up to a switch that both hosts are below, any of the nearest ones, and down again.
struct UpAndDown {
    /// k/2: the number of the first port that leads up.
    half: u32,
    /// First node of each pod.
    pods: Vec<NodeId>,
}

impl UpAndDown {
    /// Pod, rack in the pod and place in the rack of a host.
    fn place(&self, host: NodeId) -> (u32, u32, u32) {
        // A guess that is never too low, since no pod has fewer nodes than the first has without its core switches.
        let smallest = self.half * (self.half + 2);
        let mut pod = (host / smallest).min(self.pods.len() as u32 - 1);
        while self.pods[pod as usize] > host {
            pod -= 1;
        }
        let within = host - self.pods[pod as usize];
        (pod, within / (self.half + 1), within % (self.half + 1))
    }
}

impl Routing for UpAndDown {
    fn paths(&self, from: NodeId, to: NodeId) -> u64 {
        let ((pod, rack, _), (to_pod, to_rack, _)) = (self.place(from), self.place(to));
        let half = u64::from(self.half);
        match () {
            () if from == to => 0,
            () if pod != to_pod => half * half,
            () if rack != to_rack => half,
            () => 1,
        }
    }

    /// Numbered by aggregation switch, then core switch.
    fn path(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>) {
        let ((pod, rack, _), (to_pod, to_rack, to_place)) = (self.place(from), self.place(to));
        let half = u64::from(self.half);
        let up = |n: u64| (half + n) as u16;
        let [to_pod_port, to_rack_port, to_port] = [to_pod, to_rack, to_place].map(|port| port as u16);
        if pod != to_pod {
            ports.extend([0, up(n / half), up(n % half), to_pod_port, to_rack_port, to_port]);
        } else if rack != to_rack {
            ports.extend([0, up(n), to_rack_port, to_port]);
        } else {
            ports.extend([0, to_port]);
        }
    }

    /// Aggregation switches; within a rack the one path.
    fn branches(&self, from: NodeId, to: NodeId) -> u64 {
        self.paths(from, to).min(self.half.into())
    }
}
