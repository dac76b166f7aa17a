//! VL2: Greenberg et al., "VL2: A Scalable and Flexible Data Center Network" (SIGCOMM 2009),
//! section 4.1.
//!
//! Aggregation switches have `D_A` ports and intermediate switches `D_I`. There are `D_A` / 2
//! intermediate switches, each with a link to each of `D_I` aggregation switches. There are `D_A` *
//! `D_I` / 4 ToRs, each with links to two aggregation switches and 20 servers. Links between
//! switches have ten times the rate of the servers' links.
//!
//! The paper does not say which two aggregation switches a ToR is connected to; here switches 2i
//! and 2i + 1 have the same ToRs. Traffic between racks passes an intermediate switch (section
//! 4.2.2). Between two racks of the same pair it passes one switch of the pair, so that it does not
//! return by the link on which it came.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time};

use crate::builder::FabricBuilder;
use crate::{Fabric, NetworkSize, NodeId, PortQueues, Routing, Topology};

/// Maximum number of ports, above that of real switches.
const MAX_PORTS: u32 = 256;

/// Hosts h0, h1, … rack by rack; switches torT, aggA and intI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vl2 {
    /// Ports of an aggregation switch, even: half lead to ToRs, half to intermediate switches.
    #[schemars(range(min = 2, max = MAX_PORTS), extend("multipleOf" = 2))]
    pub aggregation_ports: u32,
    /// Ports of an intermediate switch, even; also the number of aggregation switches.
    #[schemars(range(min = 2, max = MAX_PORTS), extend("multipleOf" = 2))]
    pub intermediate_ports: u32,
    /// Hosts per ToR.
    #[serde(default = "weft_spec::default_number::<20>")]
    #[schemars(range(min = 1, max = MAX_PORTS))]
    pub hosts_per_tor: u32,
    /// Rate of the hosts' links.
    pub rate: Rate,
    /// Rate of the links between switches; by default ten times the hosts'.
    pub switch_rate: Option<Rate>,
    /// Propagation delay of every link.
    pub delay: Time,
}

impl Topology for Vl2 {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        let half = self.aggregation_ports / 2;
        let mut net = FabricBuilder::new(queues);
        let (mut hosts, mut tors, mut aggs) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 0..self.intermediate_ports / 2 {
            for tor in 0..half {
                for _ in 0..self.hosts_per_tor {
                    hosts.push(net.host(format!("h{}", hosts.len())));
                }
                tors.push(net.switch(format!("tor{}", pair * half + tor)));
            }
            aggs.extend([0, 1].map(|i| net.switch(format!("agg{}", 2 * pair + i))));
        }
        let ints: Vec<NodeId> = (0..half).map(|i| net.switch(format!("int{i}"))).collect();
        for (hosts, &tor) in hosts.chunks(self.hosts_per_tor as usize).zip(&tors) {
            for &host in hosts {
                net.cable(host, tor, self.rate, self.delay, ["host-tor", "tor-host"]);
            }
        }
        let rate = self.switch_rate.unwrap_or(Rate(10 * self.rate.0));
        for (tors, pair) in tors.chunks(half as usize).zip(aggs.chunks(2)) {
            for (&tor, &agg) in tors.iter().flat_map(|tor| pair.iter().map(move |agg| (tor, agg))) {
                net.cable(tor, agg, rate, self.delay, ["tor-agg", "agg-tor"]);
            }
        }
        for (&agg, &int) in aggs.iter().flat_map(|agg| ints.iter().map(move |int| (agg, int))) {
            net.cable(agg, int, rate, self.delay, ["agg-int", "int-agg"]);
        }
        let routing = Vl2Routing {
            half,
            hosts_per_tor: self.hosts_per_tor,
        };
        Ok(net.finish(hosts, Box::new(routing)))
    }

    fn size(&self) -> NetworkSize {
        let [half, pairs, hosts_per_tor] = [
            self.aggregation_ports / 2,
            self.intermediate_ports / 2,
            self.hosts_per_tor,
        ]
        .map(u64::from);
        let (tors, aggs) = (half * pairs, 2 * pairs);
        let hosts = tors * hosts_per_tor;
        NetworkSize {
            nodes: hosts + tors + aggs + half,
            hosts,
            links: 2 * (hosts + 2 * tors + aggs * half),
        }
    }
}

/// Routing by the ToR, by one of the pair of aggregation switches, or over any intermediate switch.
struct Vl2Routing {
    /// ToRs per pair of aggregation switches, and number of intermediate switches.
    half: u32,
    /// Hosts per `ToR`.
    hosts_per_tor: u32,
}

impl Vl2Routing {
    /// Returns the pair of aggregation switches of a host, the `ToR` below them, and the host's
    /// position in its rack.
    fn locate(&self, host: NodeId) -> (u32, u32, u32) {
        let rack = self.hosts_per_tor + 1;
        let pair = self.half * rack + 2;
        (host / pair, host % pair / rack, host % pair % rack)
    }
}

impl Routing for Vl2Routing {
    fn path_count(&self, from: NodeId, to: NodeId) -> u64 {
        let ((pair, tor, _), (to_pair, to_tor, _)) = (self.locate(from), self.locate(to));
        match () {
            () if from == to => 0,
            () if pair != to_pair => 4 * u64::from(self.half),
            () if tor != to_tor => 2,
            () => 1,
        }
    }

    /// Paths are numbered by the first aggregation switch, the intermediate one and the last
    /// aggregation switch.
    fn append_ports(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>) {
        let ((pair, tor, _), (to_pair, to_tor, to_position)) = (self.locate(from), self.locate(to));
        let up = |port: u64, below: u32| (u64::from(below) + port) as u16;
        ports.push(0);
        if pair != to_pair {
            let half = u64::from(self.half);
            let (first, int, last) = (n / 2 / half, n / 2 % half, n % 2);
            ports.extend([
                up(first, self.hosts_per_tor),
                up(int, self.half),
                (2 * to_pair) as u16 + last as u16,
                to_tor as u16,
            ]);
        } else if tor != to_tor {
            ports.extend([up(n, self.hosts_per_tor), to_tor as u16]);
        }
        ports.push(to_position as u16);
    }

    /// One branch per aggregation switch of the sender's ToR.
    fn first_branches(&self, from: NodeId, to: NodeId) -> u64 {
        self.path_count(from, to).min(2)
    }
}
