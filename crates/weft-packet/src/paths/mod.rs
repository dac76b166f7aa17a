//! Path policies: which of the equal-cost paths a subflow's packets take.

use weft_fabric::{Fabric, NodeId};

use crate::engine::{finish, hop_bits, mix};

/// ECMP: a hash of the subflow's identity, as of a five-tuple, selects one path for each direction; of the connection's
/// where addresses say the paths.
pub struct Ecmp {
    seed: u64,
    /// Bits of a route that one hop takes.
    pub hop_bits: u32,
}

impl Ecmp {
    /// Hash functions of the whole fabric, drawn by `seed`.
    pub fn new(fabric: &Fabric, seed: u64) -> Self {
        Self {
            seed,
            hop_bits: hop_bits(fabric),
        }
    }

    /// The route from `from` to `to` of subflow `subflow` of `flow`, ready for a packet; `back` is the receiver's
    /// direction.
    ///
    /// # Errors
    /// The path has more hops than a route can hold.
    pub fn route(
        &self,
        fabric: &Fabric,
        from: NodeId,
        to: NodeId,
        flow: u32,
        subflow: u32,
        back: bool,
    ) -> Result<u64, String> {
        let within = if fabric.routing.by_address() {
            0
        } else {
            u64::from(subflow) << 1 | u64::from(back)
        };
        let mut hash = self.seed;
        mix(&mut hash, u64::from(flow) << 32 | within);
        let mut ports = Vec::with_capacity(8);
        fabric
            .routing
            .subflow_path(from, to, subflow, finish(hash), &mut ports);
        if ports.len() as u32 * self.hop_bits > u64::BITS {
            return Err(format!(
                "a path of {} hops over nodes of up to {} ports; allowed: hops times bits of a port number at most 64",
                ports.len(),
                (1_u64 << self.hop_bits) - 1
            ));
        }
        Ok(ports
            .iter()
            .rev()
            .fold(0, |route, &port| route << self.hop_bits | (u64::from(port) + 1)))
    }
}

#[cfg(test)]
mod tests {
    use weft_fabric::{PortQueues, Queue, TOPOLOGIES};
    use weft_spec::{Amount, find};

    use super::*;

    fn fabric(kind: &str, fields: &str) -> Fabric {
        let queue = Queue {
            limit: Amount::Packets(100),
            mark: None,
        };
        let queues = PortQueues {
            switch: queue,
            host: queue,
        };
        let table = weft_spec::read_table(fields).unwrap();
        let entry = find(TOPOLOGIES, "kind", kind).unwrap();
        (entry.load)(&table).unwrap().it.build(&queues).unwrap()
    }

    /// The port by which a route leaves the sender's switch.
    fn upwards(ecmp: &Ecmp, route: u64) -> u64 {
        route >> ecmp.hop_bits & ((1 << ecmp.hop_bits) - 1)
    }

    #[test]
    fn where_addresses_say_the_path_two_subflows_have_one_each_and_acknowledgements_their_datas() {
        let fabric = fabric("two-paths", "rate = \"100Mbps\"\ndelay = \"20us\"");
        let ecmp = Ecmp::new(&fabric, 7);
        let (from, to) = (fabric.hosts[0], fabric.hosts[2]);
        let mut upper = [0_u32; 2];
        for flow in 0..1000 {
            let port = |subflow, back| {
                let (from, to) = if back { (to, from) } else { (from, to) };
                let route = ecmp.route(&fabric, from, to, flow, subflow, back).unwrap();
                // Ports are counted from 1 in a route, and a switch has two hosts below.
                upwards(&ecmp, route) as usize - 3
            };
            let first = port(0, false);
            assert_eq!([port(1, false), port(2, false)], [1 - first, first]);
            assert_eq!([port(0, true), port(1, true)], [first, 1 - first]);
            upper[first] += 1;
        }
        // 500 of each, standard deviation 16.
        assert!(upper[0].abs_diff(500) < 80, "{upper:?}");
    }

    #[test]
    fn in_a_fat_tree_every_subflow_has_a_hash_of_its_own_each_way() {
        let fabric = fabric("fat-tree", "k = 4\nrate = \"100Mbps\"\ndelay = \"20us\"");
        let ecmp = Ecmp::new(&fabric, 7);
        let (from, to) = (fabric.hosts[0], fabric.hosts[12]);
        let alike = |other: &dyn Fn(u32) -> u64| {
            let port = |flow| upwards(&ecmp, ecmp.route(&fabric, from, to, flow, 0, false).unwrap());
            (0..1000)
                .filter(|&flow| port(flow) == upwards(&ecmp, other(flow)))
                .count()
        };
        let subflow = alike(&|flow| ecmp.route(&fabric, from, to, flow, 1, false).unwrap());
        let back = alike(&|flow| ecmp.route(&fabric, to, from, flow, 0, true).unwrap());
        for (what, alike) in [("another subflow", subflow), ("the way back", back)] {
            assert!(alike.abs_diff(500) < 80, "{what}: {alike}");
        }
    }
}
