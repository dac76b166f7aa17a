//! Places connections on a fabric: a path policy chooses the links that each subflow crosses.
//! Other rules for choosing paths are policies of `weft-paths`.

use weft_fabric::{Fabric, NodeId};
use weft_paths::{PathPolicy, Paths, Policy, SubflowDirection, draw};
use weft_spec::Time;

use crate::{Error, Instance};

/// A connection to place: its hosts and its number of subflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionSpec {
    /// Index of the sending host in [`Fabric::hosts`].
    pub from: u32,
    /// Index of the receiving host in [`Fabric::hosts`].
    pub to: u32,
    /// Subflows, at least 1.
    pub subflows: u32,
}

/// The result of [`place_connections`].
#[derive(Clone, Debug)]
pub struct Placement {
    /// The input of a solver. Its link `l` is link `l` of the fabric.
    pub instance: Instance,
    /// Round-trip time of each subflow without queues in seconds: twice the propagation delay of its forward path.
    pub rtts: Vec<f64>,
}

/// Places connections on the paths that `policy` chooses. Connections are numbered from 0, and their choices depend on the number
/// and on `seed`.
///
/// # Errors
/// Returns an error if two hosts have no path between them, or if a connection has no subflow.
///
/// # Panics
/// Panics if an index of a host is out of range.
pub fn place_connections(
    fabric: &Fabric,
    policy: &Policy,
    seed: u64,
    connections: impl IntoIterator<Item = ConnectionSpec>,
) -> Result<Placement, Error> {
    let capacities = fabric.links.iter().map(|link| link.rate.0 as f64).collect();
    let mut instance = Instance::new(capacities)?;
    let resolver = PathResolver::new(fabric);
    let (mut rtts, mut links, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (connection, spec) in connections.into_iter().enumerate() {
        let [from, to] = [spec.from, spec.to].map(|host| fabric.hosts[host as usize]);
        let paths = Paths::between(fabric, from, to).ok_or(Error::NoPath {
            connection,
            subflow: 0,
        })?;
        links.clear();
        ends.clear();
        for subflow in 0..spec.subflows {
            let direction = SubflowDirection {
                flow: connection as u64,
                subflow,
                subflows: spec.subflows,
                reverse: false,
            };
            let delay = resolver.path(
                fabric,
                (from, to),
                policy.path(paths, seed, direction),
                &mut links,
            );
            rtts.push(2.0 * delay.seconds());
            ends.push(links.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        instance.connect(starts.zip(&ends).map(|(start, &end)| &links[start..end]))?;
    }
    Ok(Placement { instance, rtts })
}

/// Maps the number of a path between two nodes to its links, and avoids links that are known to be down.
#[derive(Clone, Debug)]
pub(crate) struct PathResolver {
    /// First outgoing link of each node, then the number of links. The links of a node are in the order of its ports.
    first_link: Vec<u32>,
    /// Whether each link is known to be down; empty until [`set_down`](Self::set_down) is called.
    down: Vec<bool>,
}

/// Number of random draws of a path without failed links.
const MAX_RANDOM_TRIES: u64 = 64;

/// Maximum number of paths that are tried in order after the random draws; there may be millions.
const MAX_LINEAR_TRIES: u64 = 4096;

impl PathResolver {
    pub fn new(fabric: &Fabric) -> Self {
        let mut first_link = vec![0_u32; fabric.nodes.len() + 1];
        for link in &fabric.links {
            first_link[link.from as usize + 1] += 1;
        }
        for node in 0..fabric.nodes.len() {
            first_link[node + 1] += first_link[node];
        }
        let down = Vec::new();
        Self { first_link, down }
    }

    /// Sets whether `link` is down. `links` is the number of links of the fabric.
    pub fn set_down(&mut self, link: u32, down: bool, links: usize) {
        self.down.resize(links, false);
        self.down[link as usize] = down;
    }

    /// Appends the links of path `n` between two nodes, and returns their total propagation delay.
    pub fn path(&self, fabric: &Fabric, (from, to): (NodeId, NodeId), n: u64, links: &mut Vec<u32>) -> Time {
        let mut ports = Vec::with_capacity(8);
        fabric.routing.append_ports(from, to, n, &mut ports);
        let (mut node, mut delay) = (from, 0);
        for &port in &ports {
            let link = self.first_link[node as usize] + u32::from(port);
            links.push(link);
            node = fabric.links[link as usize].to;
            delay += fabric.links[link as usize].delay.0;
        }
        Time(delay)
    }

    /// Appends the links of the policy's path, or of a replacement if that path crosses a link known to be down. The replacement
    /// is the one that the packet level draws; its first and last link are those of the policy's path if subflows of the policy
    /// keep their interfaces. If no try finds one, the policy's path stays. Returns the propagation delay.
    pub fn live_path(
        &self,
        fabric: &Fabric,
        ends: (NodeId, NodeId),
        (policy, paths): (&Policy, Paths),
        (seed, direction): (u64, SubflowDirection),
        links: &mut Vec<u32>,
    ) -> Time {
        let start = links.len();
        let count = paths.count;
        let chosen = policy.path(paths, seed, direction);
        let delay = self.path(fabric, ends, chosen, links);
        let is_up = |links: &[u32]| self.down.is_empty() || links.iter().all(|&l| !self.down[l as usize]);
        if is_up(&links[start..]) {
            return delay;
        }
        let subflow = direction.hash_key();
        let nth = |n| (u128::from(draw(&[seed, subflow, n])) * u128::from(count)) >> 64;
        let drawn = (1..=MAX_RANDOM_TRIES).map(|n| nth(n) as u64);
        let mut other = Vec::with_capacity(8);
        for n in drawn.chain(0..count.min(MAX_LINEAR_TRIES)) {
            other.clear();
            let delay = self.path(fabric, ends, n, &mut other);
            let has_same_ends = other.first() == links.get(start) && other.last() == links.last();
            if (has_same_ends || !policy.keeps_interfaces()) && is_up(&other) {
                links.truncate(start);
                links.append(&mut other);
                return delay;
            }
        }
        delay
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use weft_fabric::{FatTree, PortQueues, QueueConfig, Topology};
    use weft_spec::{QueueSize, Rate};

    use super::*;

    pub fn fat_tree(k: u32) -> Fabric {
        let queue = QueueConfig {
            limit: QueueSize::Packets(100),
            mark: None,
        };
        let table = format!("k = {k}\nrate = \"1Gbps\"\ndelay = \"5us\"");
        let tree: FatTree = toml::from_str(&table).unwrap();
        let queues = PortQueues {
            switch: queue,
            host: queue,
        };
        tree.build(&queues).unwrap()
    }

    #[test]
    fn paths_begin_and_end_at_the_hosts() {
        let fabric = fat_tree(4);
        let all: Vec<ConnectionSpec> = (0..16)
            .flat_map(|from| (0..16).map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
            .map(|(from, to)| ConnectionSpec {
                from,
                to,
                subflows: 3,
            })
            .collect();
        let policy = Policy::by_name("ecmp").unwrap();
        let placement = place_connections(&fabric, &policy, 1, all.iter().copied()).unwrap();
        for (c, spec) in all.iter().enumerate() {
            for s in placement.instance.subflows_of(c) {
                let path: Vec<_> = placement
                    .instance
                    .path(s)
                    .iter()
                    .map(|&l| &fabric.links[l as usize])
                    .collect();
                assert_eq!(path[0].from, fabric.hosts[spec.from as usize]);
                assert_eq!(path[path.len() - 1].to, fabric.hosts[spec.to as usize]);
                assert!(path.windows(2).all(|pair| pair[0].to == pair[1].from));
                assert!((placement.rtts[s] - path.len() as f64 * 10e-6).abs() < 1e-12);
            }
        }
        assert_eq!(fabric.links[0].rate, Rate(1_000_000_000));
        assert_eq!(fabric.links[0].delay, Time::from_us(5));
    }

    #[test]
    fn a_host_has_no_path_to_itself() {
        let policy = Policy::by_name("ecmp").unwrap();
        let itself = ConnectionSpec {
            from: 1,
            to: 1,
            subflows: 1,
        };
        let refused = place_connections(&fat_tree(4), &policy, 1, [itself]).map(|_| ());
        assert_eq!(
            refused,
            Err(Error::NoPath {
                connection: 0,
                subflow: 0
            })
        );
    }
}
