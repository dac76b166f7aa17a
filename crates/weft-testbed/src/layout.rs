//! Addresses and routes for a fabric. Every path between two hosts gets a pair of addresses of its own, so that routing by
//! destination, the default of a kernel, follows it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use weft_fabric::{Fabric, NodeId};

/// An interface: the sending end of one of the fabric's links, by that link's index.
pub type Interface = u32;

/// A route of a node: packets to this address leave by this interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// Node that has the route.
    pub at: NodeId,
    /// Address of a host.
    pub to: Ipv4Addr,
    /// Interface of the node.
    pub by: Interface,
}

/// The two ends of a path between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPair {
    /// The sender's address.
    pub from: Ipv4Addr,
    /// The receiver's address.
    pub to: Ipv4Addr,
}

/// Addresses and interfaces of all nodes.
#[derive(Debug)]
pub struct AddressPlan {
    /// The link in the other direction, by link.
    pub back: Vec<u32>,
    /// Addresses of hosts with the interface that has each.
    pub addresses: BTreeMap<Ipv4Addr, Interface>,
    /// Routes of all nodes.
    pub routes: Vec<Route>,
    /// The address of a host for paths that end at an interface of it and have this number.
    address_of: BTreeMap<(Interface, u32), Ipv4Addr>,
}

impl AddressPlan {
    /// Creates the plan for a fabric whose hosts do not forward.
    ///
    /// # Errors
    /// In words: a cable that leads one way only, or two paths that routing by destination cannot distinguish.
    pub fn new(fabric: &Fabric) -> Result<Self, String> {
        let back = (0..fabric.links.len())
            .map(|i| reverse(fabric, i).ok_or_else(|| format!("link {i} has none in the other direction")))
            .collect::<Result<_, _>>()?;
        let mut layout = Self {
            back,
            addresses: BTreeMap::new(),
            routes: Vec::new(),
            address_of: BTreeMap::new(),
        };
        let mut next: BTreeMap<(NodeId, Ipv4Addr), Interface> = BTreeMap::new();
        let mut routes = BTreeSet::new();
        for &from in &fabric.hosts {
            for &to in fabric.hosts.iter().filter(|&&to| to != from) {
                for number in 0..path_count(fabric, from, to) {
                    let path = path(fabric, from, to, number);
                    let address = layout.address_at(fabric, to, &path, number);
                    for &by in &path {
                        let at = fabric.links[by as usize].from;
                        if *next.entry((at, address)).or_insert(by) != by {
                            let node = &fabric.nodes[at as usize].name;
                            return Err(format!("{node} has two ways to one address"));
                        }
                        routes.insert(Route { at, to: address, by });
                    }
                }
            }
        }
        layout.routes = routes.into_iter().collect();
        Ok(layout)
    }

    /// The address of `to` at the end of a path.
    fn address_at(&mut self, fabric: &Fabric, to: NodeId, path: &[Interface], number: u32) -> Ipv4Addr {
        let interface = self.back[path[path.len() - 1] as usize];
        let key = (interface, number_at(fabric, to, number));
        let fresh = HOSTS + self.address_of.len() as u32;
        let address = *self.address_of.entry(key).or_insert(Ipv4Addr::from(fresh));
        self.addresses.insert(address, interface);
        address
    }

    /// The addresses at the ends of path `number` from one host to another.
    pub fn pair(&self, fabric: &Fabric, from: NodeId, to: NodeId, number: u32) -> Option<AddressPair> {
        let end = |from, to| {
            let last = *path(fabric, from, to, number).last()?;
            let key = (self.back[last as usize], number_at(fabric, to, number));
            self.address_of.get(&key).copied()
        };
        Some(AddressPair {
            from: end(to, from)?,
            to: end(from, to)?,
        })
    }

    /// Returns the address of an interface on its cable, for nodes that route through it.
    pub fn gateway(&self, interface: Interface) -> Ipv4Addr {
        let back = self.back[interface as usize];
        let cable = interface.min(back);
        Ipv4Addr::from(CABLES + 4 * cable + 1 + u32::from(interface > back))
    }
}

/// Paths between two hosts, as many as have addresses.
pub fn path_count(fabric: &Fabric, from: NodeId, to: NodeId) -> u32 {
    fabric.routing.path_count(from, to).min(MAX_PATHS) as u32
}

/// The links of a path.
pub fn path(fabric: &Fabric, from: NodeId, to: NodeId, number: u32) -> Vec<Interface> {
    let mut ports = Vec::new();
    fabric.routing.append_ports(from, to, number.into(), &mut ports);
    let mut at = from;
    ports
        .iter()
        .map(|&port| {
            let first = fabric.first_link(at) as u32;
            let link = first + u32::from(port);
            at = fabric.links[link as usize].to;
            link
        })
        .collect()
}

/// A host with several interfaces chooses its paths by them, one with a single interface by number.
fn number_at(fabric: &Fabric, host: NodeId, number: u32) -> u32 {
    let interfaces = fabric.links.iter().filter(|link| link.from == host).count();
    if interfaces > 1 { 0 } else { number }
}

fn reverse(fabric: &Fabric, link: usize) -> Option<u32> {
    let there = &fabric.links[link];
    fabric
        .links
        .iter()
        .position(|back| back.from == there.to && back.to == there.from)
        .map(|back| back as u32)
}

/// 10.128.0.0: addresses of hosts.
const HOSTS: u32 = 0x0a80_0001;
/// 10.0.0.0: addresses on cables, four a cable.
const CABLES: u32 = 0x0a00_0000;
/// Paths of a pair that get addresses.
const MAX_PATHS: u64 = 8;

#[cfg(test)]
mod tests {
    use weft_fabric::{PortQueues, QueueConfig, TOPOLOGIES};
    use weft_spec::{QueueSize, find};

    use super::*;

    fn fabric(kind: &str, fields: &str) -> Fabric {
        let queue = QueueConfig {
            limit: QueueSize::Packets(100),
            mark: None,
        };
        let queues = PortQueues {
            switch: queue,
            host: queue,
        };
        let entry = find(TOPOLOGIES, "kind", kind).unwrap();
        let loaded = (entry.parse)(&weft_spec::read_table(fields).unwrap()).unwrap();
        loaded.value.build(&queues).unwrap()
    }

    /// Where a packet to `to` goes from `at`, by the routes alone.
    fn follow(fabric: &Fabric, layout: &AddressPlan, mut at: NodeId, to: Ipv4Addr) -> Vec<Interface> {
        let end = fabric.links[layout.addresses[&to] as usize].from;
        let mut taken = Vec::new();
        while at != end {
            let route = layout
                .routes
                .iter()
                .find(|route| route.at == at && route.to == to);
            let by = route.expect("a route").by;
            taken.push(by);
            assert!(taken.len() <= fabric.nodes.len(), "a loop");
            at = fabric.links[by as usize].to;
        }
        taken
    }

    #[test]
    fn routes_take_every_path_there_and_back() {
        for (kind, fields) in [
            ("many-to-one", "senders = 3\nrate = \"200Mbps\"\ndelay = \"10us\""),
            ("two-bottlenecks", "rate = \"200Mbps\"\ndelay = \"10us\""),
            ("two-paths", "rate = \"200Mbps\"\ndelay = \"10us\""),
        ] {
            let fabric = fabric(kind, fields);
            let layout = AddressPlan::new(&fabric).unwrap();
            for &from in &fabric.hosts {
                for &to in fabric.hosts.iter().filter(|&&to| to != from) {
                    for number in 0..path_count(&fabric, from, to) {
                        let pair = layout.pair(&fabric, from, to, number).unwrap();
                        assert_eq!(
                            follow(&fabric, &layout, from, pair.to),
                            path(&fabric, from, to, number)
                        );
                        assert_eq!(
                            follow(&fabric, &layout, to, pair.from),
                            path(&fabric, to, from, number)
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn two_paths_are_told_by_both_addresses() {
        let fabric = fabric("two-paths", "rate = \"200Mbps\"\ndelay = \"10us\"");
        let layout = AddressPlan::new(&fabric).unwrap();
        let (from, near, far) = (fabric.hosts[0], fabric.hosts[1], fabric.hosts[3]);
        let [first, second] = [0, 1].map(|number| layout.pair(&fabric, from, far, number).unwrap());
        assert!(first.from != second.from && first.to != second.to);
        for pair in [first, second] {
            let there = follow(&fabric, &layout, from, pair.to);
            let back: Vec<_> = follow(&fabric, &layout, far, pair.from)
                .iter()
                .rev()
                .map(|&link| layout.back[link as usize])
                .collect();
            assert_eq!(there, back, "acknowledgements take the way of the data");
        }
        assert_ne!(
            follow(&fabric, &layout, from, first.to)[1],
            follow(&fabric, &layout, from, second.to)[1]
        );
        assert_eq!(path_count(&fabric, from, near), 1);
        assert_eq!(layout.pair(&fabric, from, near, 0).unwrap().from, first.from);
    }

    #[test]
    fn two_bottlenecks_bind_paths_to_interfaces() {
        let fabric = fabric("two-bottlenecks", "rate = \"200Mbps\"\ndelay = \"10us\"");
        let layout = AddressPlan::new(&fabric).unwrap();
        let [upper, lower] = [0, 1].map(|number| layout.pair(&fabric, 1, 4, number).unwrap());
        assert_ne!(upper.from, lower.from);
        assert_ne!(upper.to, lower.to);
        assert_eq!(path_count(&fabric, 0, 3), 1);
        assert_eq!(path_count(&fabric, 0, 5), 0);
    }
}
