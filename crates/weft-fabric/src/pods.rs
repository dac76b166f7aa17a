//! Pods of racks below a core, from which fat-trees are built.
//!
//! Nodes are numbered pod by pod, within a pod rack by rack (hosts, then their ToRs), then
//! aggregation switches. Core switches belong to no pod. They are distributed over the ends of the
//! pods, so that equal ranges of nodes have about equal work.

use weft_spec::{Rate, Time};

use crate::builder::FabricBuilder;
use crate::{Fabric, NetworkSize, NodeId, PortQueues, Routing};

/// Maximum number of ports: above 254 (4 million hosts) the network alone takes gigabytes.
pub const MAX_K: u32 = 254;

/// A fat-tree whose racks may have more hosts than uplinks, and whose hosts may be connected to
/// several ToRs.
pub struct GeneralFatTree {
    /// Number of pods; each has k/2 ToR and k/2 aggregation switches.
    pub k: u32,
    /// Hosts per rack.
    pub hosts_per_rack: u32,
    /// ToRs per rack: each of its hosts has a link to each. Divides k/2.
    pub homes: u32,
    /// Rate of links between switches.
    pub rate: Rate,
    /// Rate of hosts' links.
    pub host_rate: Rate,
    /// Propagation delay of every link.
    pub delay: Time,
}

impl GeneralFatTree {
    /// Returns the size of the network, also if its parameters are out of range.
    pub fn size(&self) -> NetworkSize {
        let [k, hosts_per_rack, homes] = [self.k, self.hosts_per_rack, self.homes].map(u64::from);
        let hosts = k * (k / 2 / homes) * hosts_per_rack;
        let cables = hosts * homes + 2 * k * (k / 2) * (k / 2);
        NetworkSize {
            nodes: hosts + 5 * k * k / 4,
            hosts,
            links: 2 * cables,
        }
    }

    /// Builds the network.
    pub fn build(&self, queues: &PortQueues) -> Fabric {
        let half = self.k / 2;
        let mut net = FabricBuilder::new(queues);
        let (mut hosts, mut tors, mut aggs) = (Vec::new(), Vec::new(), Vec::new());
        let mut cores = Vec::new();
        let mut pods = Vec::new();
        for p in 0..self.k {
            let first = hosts.len();
            for rack in 0..half / self.homes {
                for _ in 0..self.hosts_per_rack {
                    hosts.push(net.host(format!("h{}", hosts.len())));
                }
                let ours = rack * self.homes..(rack + 1) * self.homes;
                tors.extend(ours.map(|t| net.switch(format!("tor{p}.{t}"))));
            }
            pods.push(hosts[first]);
            aggs.extend((0..half).map(|a| net.switch(format!("agg{p}.{a}"))));
            // The part of the core switches that follows pod p, in order.
            while (cores.len() as u32) * self.k < half * half * (p + 1) {
                let (a, i) = (cores.len() as u32 / half, cores.len() as u32 % half);
                cores.push(net.switch(format!("core{a}.{i}")));
            }
        }
        for (rack, tors) in hosts
            .chunks(self.hosts_per_rack as usize)
            .zip(tors.chunks(self.homes as usize))
        {
            for &host in rack {
                for &tor in tors {
                    net.cable(host, tor, self.host_rate, self.delay, ["host-tor", "tor-host"]);
                }
            }
        }
        let mut cable = |a, b, layers| net.cable(a, b, self.rate, self.delay, layers);
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
        let routing = FatTreeRouting {
            half,
            hosts_per_rack: self.hosts_per_rack,
            homes: self.homes,
            pods,
        };
        net.finish(hosts, Box::new(routing))
    }
}

/// Routing up to the nearest level of switches above both hosts, over any of them, and down.
struct FatTreeRouting {
    /// k/2: aggregation switches per pod, and core switches per aggregation switch.
    half: u32,
    /// Hosts per rack, and so the number of a `ToR`'s first port that leads up.
    hosts_per_rack: u32,
    /// ToRs per rack.
    homes: u32,
    /// First node of each pod.
    pods: Vec<NodeId>,
}

impl FatTreeRouting {
    /// Returns the pod of a host, its rack in the pod and its position in the rack.
    fn locate(&self, host: NodeId) -> (u32, u32, u32) {
        // An estimate that is never too low, because no pod has fewer nodes than one without core
        // switches.
        let rack = self.hosts_per_rack + self.homes;
        let smallest = self.half / self.homes * rack + self.half;
        let mut pod = (host / smallest).min(self.pods.len() as u32 - 1);
        while self.pods[pod as usize] > host {
            pod -= 1;
        }
        let within = host - self.pods[pod as usize];
        (pod, within / rack, within % rack)
    }
}

impl Routing for FatTreeRouting {
    fn path_count(&self, from: NodeId, to: NodeId) -> u64 {
        let ((pod, rack, _), (to_pod, to_rack, _)) = (self.locate(from), self.locate(to));
        let [half, homes] = [self.half, self.homes].map(u64::from);
        match () {
            () if from == to => 0,
            () if pod != to_pod => homes * half * half * homes,
            () if rack != to_rack => homes * half * homes,
            () => homes,
        }
    }

    /// Paths are numbered by the sender's link, aggregation switch, core switch, and the receiver's
    /// link.
    fn append_ports(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>) {
        let ((pod, rack, _), (to_pod, to_rack, to_position)) = (self.locate(from), self.locate(to));
        let [half, hosts_per_rack, homes] = [self.half, self.hosts_per_rack, self.homes].map(u64::from);
        let [to_pod, to_position] = [to_pod, to_position].map(|port| port as u16);
        if (pod, rack) == (u32::from(to_pod), to_rack) {
            ports.extend([n as u16, to_position]);
            return;
        }
        let (n, down) = (n / homes, n % homes);
        let to_tor = (u64::from(to_rack) * homes + down) as u16;
        let up = |n: u64| (half + n) as u16;
        if pod == u32::from(to_pod) {
            let (first_tor, agg) = (n / half, n % half);
            ports.extend([
                first_tor as u16,
                (hosts_per_rack + agg) as u16,
                to_tor,
                to_position,
            ]);
        } else {
            let (first_tor, agg, core) = (n / half / half, n / half % half, n % half);
            ports.extend([
                first_tor as u16,
                (hosts_per_rack + agg) as u16,
                up(core),
                to_pod,
                to_tor,
                to_position,
            ]);
        }
    }

    /// One branch per link of the sender or, if it has one link, per aggregation switch.
    fn first_branches(&self, from: NodeId, to: NodeId) -> u64 {
        let ways = if self.homes > 1 { self.homes } else { self.half };
        self.path_count(from, to).min(ways.into())
    }
}
