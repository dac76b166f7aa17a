//! Routing over shortest paths of any graph. They are counted and numbered on demand, by a
//! breadth-first search from the receiver whose time is proportional to the number of links; nothing
//! is stored per pair of hosts. Hosts do not forward.

use std::collections::VecDeque;

use weft_spec::{SpecError, refuse};

use crate::{Fabric, NodeId, Routing};

/// Maximum number of ports of a node, because port numbers have 16 bits.
const MAX_PORTS: usize = u16::MAX as usize;

/// Routing over all shortest paths through switches.
#[derive(Default)]
pub(super) struct ShortestPaths {
    /// Index in `to` of the first link of each node; the last element is the number of links.
    first: Vec<u32>,
    /// The receiving node of each link.
    to: Vec<NodeId>,
    /// Index in `from` of the first link into each node; the last element is the number of links.
    first_into: Vec<u32>,
    /// The sending node of each link, ordered by the receiving node.
    from: Vec<NodeId>,
    /// True for nodes that forward.
    forwards: Vec<bool>,
}

/// Distances of all nodes that are not farther from the receiver than the sender is.
struct Distances {
    /// Number of links to the receiver; `u32::MAX` if the search did not reach the node.
    links: Vec<u32>,
    /// Number of shortest paths to the receiver, at most `u32::MAX`.
    paths: Vec<u32>,
}

impl ShortestPaths {
    pub fn new(fabric: &Fabric) -> Self {
        let nodes = 0..=fabric.nodes.len() as u32;
        let ends = |node| fabric.first_link(node) as u32;
        let mut into: Vec<(NodeId, NodeId)> = fabric.links.iter().map(|link| (link.to, link.from)).collect();
        into.sort_unstable();
        let ends_into = |node| into.partition_point(|&(to, _)| to < node) as u32;
        Self {
            first: nodes.clone().map(ends).collect(),
            to: fabric.links.iter().map(|link| link.to).collect(),
            first_into: nodes.map(ends_into).collect(),
            from: into.iter().map(|&(_, from)| from).collect(),
            forwards: fabric.nodes.iter().map(|node| !node.is_host).collect(),
        }
    }

    /// Returns the receiving nodes of a node's links, in the order of its ports.
    pub fn next(&self, node: NodeId) -> &[NodeId] {
        &self.to[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// Returns the sending nodes of the links into a node.
    fn previous(&self, node: NodeId) -> &[NodeId] {
        &self.from[self.first_into[node as usize] as usize..self.first_into[node as usize + 1] as usize]
    }

    /// Searches from the receiver, against the direction of links.
    fn search(&self, from: Option<NodeId>, to: NodeId) -> Distances {
        let nodes = self.forwards.len();
        let mut distances = Distances {
            links: vec![u32::MAX; nodes],
            paths: vec![0; nodes],
        };
        distances.links[to as usize] = 0;
        distances.paths[to as usize] = 1;
        let mut queue = VecDeque::from([to]);
        while let Some(node) = queue.pop_front() {
            if Some(node) == from {
                break; // The paths of all nearer nodes have been counted.
            }
            if node != to && !self.forwards[node as usize] {
                continue;
            }
            let (distance, paths) = (distances.links[node as usize], distances.paths[node as usize]);
            for &before in self.previous(node) {
                let known = &mut distances.links[before as usize];
                if *known == u32::MAX {
                    *known = distance + 1;
                    queue.push_back(before);
                }
                if *known == distance + 1 {
                    let sum = &mut distances.paths[before as usize];
                    *sum = sum.saturating_add(paths);
                }
            }
        }
        distances
    }

    /// Returns an error if a node has more links than port numbers.
    pub fn check_ports(&self, fabric: &Fabric) -> Result<(), SpecError> {
        let links = |node: usize| self.next(node as u32).len();
        match (0..self.forwards.len()).find(|&node| links(node) > MAX_PORTS) {
            Some(node) => {
                let given = format!("{} has {} links", fabric.nodes[node].name, links(node));
                refuse("links", given, format!("at most {MAX_PORTS}"))
            }
            None => Ok(()),
        }
    }
}

impl Routing for ShortestPaths {
    fn path_count(&self, from: NodeId, to: NodeId) -> u64 {
        if from == to {
            return 0;
        }
        self.search(Some(from), to).paths[from as usize].into()
    }

    /// Paths are numbered by their first port, then by their second, and so on.
    fn append_ports(&self, from: NodeId, to: NodeId, mut n: u64, ports: &mut Vec<u16>) {
        let distances = self.search(Some(from), to);
        let mut at = from;
        while at != to {
            let nearer = |next: NodeId| {
                let way = next == to || self.forwards[next as usize];
                way && distances.links[next as usize] < distances.links[at as usize]
            };
            let mut chosen = None;
            for (port, &next) in (0..).zip(self.next(at)).filter(|&(_, &next)| nearer(next)) {
                chosen = Some((port, next));
                let paths = u64::from(distances.paths[next as usize]);
                if n < paths {
                    break;
                }
                n -= paths;
            }
            let Some((port, next)) = chosen else { return };
            ports.push(port);
            at = next;
        }
    }

    /// The links do not begin equally many paths, so all paths count as one branch.
    fn first_branches(&self, from: NodeId, to: NodeId) -> u64 {
        u64::from(from != to)
    }
}
