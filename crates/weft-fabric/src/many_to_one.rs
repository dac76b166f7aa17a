//! A star of n senders, a switch and a receiver: figure 1 of Kheirkhah and Lee, "AMP: An Adaptive
//! Multipath TCP for Data Center Networks".

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time};

use crate::builder::FabricBuilder;
use crate::{Fabric, NetworkSize, NodeId, PortQueues, Routing, Topology};

/// Maximum number of senders. Port numbers have 16 bits, and the switch has one port for each
/// sender and one for the receiver.
const MAX_SENDERS: u32 = u16::MAX as u32;

/// Hosts h0 to h(n-1) send to host r0, the last host, through switch s0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManyToOne {
    /// Number of senders.
    #[schemars(range(min = 1, max = MAX_SENDERS))]
    pub senders: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Propagation delay of every link.
    pub delay: Time,
    /// Rate of the senders' links, if it differs.
    pub sender_rate: Option<Rate>,
}

impl Topology for ManyToOne {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        let mut net = FabricBuilder::new(queues);
        let mut hosts: Vec<NodeId> = (0..self.senders).map(|i| net.host(format!("h{i}"))).collect();
        let receiver = net.host("r0");
        let switch = net.switch("s0");
        for &sender in &hosts {
            let rate = self.sender_rate.unwrap_or(self.rate);
            net.cable(sender, switch, rate, self.delay, ["host-switch", "switch-host"]);
        }
        net.cable(
            receiver,
            switch,
            self.rate,
            self.delay,
            ["host-switch", "switch-host"],
        );
        hosts.push(receiver);
        Ok(net.finish(hosts, Box::new(StarRouting)))
    }

    fn size(&self) -> NetworkSize {
        let hosts = u64::from(self.senders) + 1;
        NetworkSize {
            nodes: hosts + 1,
            hosts,
            links: 2 * hosts,
        }
    }
}

/// Routing over the switch. Hosts are nodes 0, 1, …, and the switch's ports lead to them in this
/// order.
struct StarRouting;

impl Routing for StarRouting {
    fn path_count(&self, from: NodeId, to: NodeId) -> u64 {
        u64::from(from != to)
    }

    fn append_ports(&self, _: NodeId, to: NodeId, _: u64, ports: &mut Vec<u16>) {
        ports.extend([0, to as u16]);
    }
}
