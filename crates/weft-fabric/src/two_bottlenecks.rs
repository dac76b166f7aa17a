//! Traffic shifting: figure 5 of Kheirkhah and Lee, "AMP: An Adaptive Multipath TCP for Data Center
//! Networks", section 4.1.
//!
//! ```text
//! S1 ─┐                        ┌─ D1
//!     ├ upper-in ─── upper-out ┤
//! S2 ─┤                        ├─ D2
//!     ├ lower-in ─── lower-out ┤
//! S3 ─┘                        └─ D3
//! ```
//! S2 and D2 have an interface in each half, so a connection between them has two paths, one over
//! each bottleneck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time};

use crate::builder::FabricBuilder;
use crate::{Fabric, NodeId, PortQueues, Routing, Topology};

/// Hosts S1, S2, S3, D1, D2 and D3; switches upper-in, upper-out, lower-in and lower-out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoBottlenecks {
    /// Rate of every link.
    pub rate: Rate,
    /// Propagation delay of every link.
    pub delay: Time,
    /// Rate of the hosts' links, if it differs.
    pub host_rate: Option<Rate>,
}

impl Topology for TwoBottlenecks {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        let mut net = FabricBuilder::new(queues);
        let hosts: Vec<NodeId> = ["S1", "S2", "S3", "D1", "D2", "D3"]
            .map(|name| net.host(name))
            .to_vec();
        for (half, [enter, leave]) in [["upper-in", "upper-out"], ["lower-in", "lower-out"]]
            .into_iter()
            .enumerate()
        {
            let (enter, leave) = (net.switch(enter), net.switch(leave));
            for side in [enter, leave] {
                for interface in INTERFACES
                    .iter()
                    .filter(|i| i.half == half && i.is_sender == (side == enter))
                {
                    let rate = self.host_rate.unwrap_or(self.rate);
                    net.cable(
                        interface.host,
                        side,
                        rate,
                        self.delay,
                        ["host-switch", "switch-host"],
                    );
                }
            }
            net.cable(
                enter,
                leave,
                self.rate,
                self.delay,
                ["switch-switch", "switch-switch"],
            );
        }
        Ok(net.finish(hosts, Box::new(TwoBottlenecksRouting)))
    }

    fn default_policy(&self) -> &'static str {
        "by-interface"
    }
}

/// An interface of a host: its half, its side (senders or receivers), and the ports by which host
/// and switch reach each other.
struct Interface {
    host: NodeId,
    half: usize,
    is_sender: bool,
    host_port: u16,
    switch_port: u16,
}

const fn interface(
    host: NodeId,
    half: usize,
    is_sender: bool,
    host_port: u16,
    switch_port: u16,
) -> Interface {
    Interface {
        host,
        half,
        is_sender,
        host_port,
        switch_port,
    }
}

/// All interfaces: for each half, in the order of the switches' ports.
const INTERFACES: [Interface; 8] = [
    interface(0, 0, true, 0, 0),
    interface(1, 0, true, 0, 1),
    interface(3, 0, false, 0, 0),
    interface(4, 0, false, 0, 1),
    interface(1, 1, true, 1, 0),
    interface(2, 1, true, 0, 1),
    interface(4, 1, false, 1, 0),
    interface(5, 1, false, 0, 1),
];

/// The port of every switch that leads to the other switch of its half.
const CROSS_LINK: u16 = 2;

/// Routing in which a path stays in one half.
struct TwoBottlenecksRouting;

/// Returns the interfaces of `from` and `to` in each half in which both have one.
fn common(from: NodeId, to: NodeId) -> impl Iterator<Item = (&'static Interface, &'static Interface)> {
    let both = move |half| {
        let interface = |host| INTERFACES.iter().find(move |i| i.half == half && i.host == host);
        interface(from).zip(interface(to))
    };
    (0..2).filter_map(both).filter(move |_| from != to)
}

impl Routing for TwoBottlenecksRouting {
    fn path_count(&self, from: NodeId, to: NodeId) -> u64 {
        common(from, to).count() as u64
    }

    fn append_ports(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>) {
        if let Some((out, back)) = common(from, to).nth(n as usize) {
            ports.push(out.host_port);
            if out.is_sender != back.is_sender {
                ports.push(CROSS_LINK);
            }
            ports.push(back.switch_port);
        }
    }
}
