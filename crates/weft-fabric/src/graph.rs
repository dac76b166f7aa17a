//! Networks of any shape: links listed in the spec, or read from a GraphML or htsim file.
//!
//! All shortest paths, by number of links, have equal cost. They are counted and numbered on
//! demand, by a breadth-first search from the receiver whose time is proportional to the number of
//! links; nothing is stored per pair of hosts. Hosts do not forward.

mod graphml;
mod topo;

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{Rate, SpecError, Time};

use crate::builder::FabricBuilder;
use crate::{Fabric, Link, NodeId, PortQueues, Routing, Topology};

/// Maximum number of ports of a node, because port numbers have 16 bits.
const MAX_PORTS: usize = u16::MAX as usize;

/// Named nodes, and cables between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Path of a file that replaces `switches` and `links`, relative to the spec's folder. If its
    /// name ends in `.topo`, the format is htsim's with tiers of switches; otherwise it is GraphML.
    /// GraphML edges may have data `rate` and `delay`. Hosts are the nodes in `hosts`, or otherwise
    /// those whose data `type` is "host", or otherwise those with a single edge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Names of the hosts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Names of the switches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<String>,
    /// Cables, each with one link in each direction. Several cables may connect two nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Cable>,
    /// Rate of links without a rate of their own.
    pub rate: Rate,
    /// Propagation delay of links without one of their own.
    pub delay: Time,
}

/// A cable between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cable {
    /// Name of a node.
    pub a: String,
    /// Name of the other node.
    pub b: String,
    /// Rate of its links, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of its links, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
}

/// The content of a list or a file.
struct GraphSpec {
    hosts: Vec<String>,
    switches: Vec<String>,
    /// Each cable with its path in the spec or its place in the file.
    cables: Vec<(String, Cable)>,
}

impl Graph {
    fn spec(&self) -> Result<GraphSpec, SpecError> {
        if let Some(file) = &self.file {
            for (field, given) in [
                ("switches", !self.switches.is_empty()),
                ("links", !self.links.is_empty()),
            ] {
                if given {
                    return Err(SpecError::conflict(
                        field,
                        "given together with a file",
                        "remove one of the two",
                    ));
                }
            }
            let is_topo = Path::new(file)
                .extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case("topo"));
            let read = if is_topo { topo::read } else { graphml::read };
            return read(file, &self.hosts).map_err(|error| error.within("file"));
        }
        let cables = self.links.iter().enumerate();
        Ok(GraphSpec {
            hosts: self.hosts.clone(),
            switches: self.switches.clone(),
            cables: cables
                .map(|(i, cable)| (format!("links[{i}]"), cable.clone()))
                .collect(),
        })
    }
}

impl Topology for Graph {
    fn build(&self, queues: &PortQueues) -> Result<Fabric, SpecError> {
        let spec = self.spec()?;
        let mut net = FabricBuilder::new(queues);
        let mut nodes: HashMap<&str, (NodeId, bool)> = HashMap::new();
        let named = spec.hosts.iter().map(|name| ("hosts", name, true));
        let named = named.chain(spec.switches.iter().map(|name| ("switches", name, false)));
        let mut hosts = Vec::new();
        for (field, name, host) in named {
            let node = if host { net.host(name) } else { net.switch(name) };
            if nodes.insert(name, (node, host)).is_some() {
                return Err(SpecError::new(
                    field,
                    format!("{name:?} is given twice"),
                    "a unique name",
                ));
            }
            hosts.extend(host.then_some(node));
        }
        if hosts.len() < 2 {
            let given = format!("{} hosts", hosts.len());
            return Err(SpecError::new("hosts", given, "at least 2"));
        }
        for (path, cable) in &spec.cables {
            let end = |field: &str, name: &String| {
                nodes.get(name.as_str()).copied().ok_or_else(|| {
                    let allowed = "the name of a host or of a switch";
                    SpecError::new(
                        format!("{path}.{field}"),
                        format!("{name:?} does not exist"),
                        allowed,
                    )
                })
            };
            let ((a, a_host), (b, b_host)) = (end("a", &cable.a)?, end("b", &cable.b)?);
            if a == b {
                let given = format!("{:?} is both ends", cable.a);
                return Err(SpecError::new(path, given, "two different nodes"));
            }
            let layers = match (a_host, b_host) {
                (true, true) => ["host-host", "host-host"],
                (true, false) => ["host-switch", "switch-host"],
                (false, true) => ["switch-host", "host-switch"],
                (false, false) => ["switch-switch", "switch-switch"],
            };
            let rate = cable.rate.unwrap_or(self.rate);
            net.cable(a, b, rate, cable.delay.unwrap_or(self.delay), layers);
        }
        let fabric = net.finish(hosts, Box::new(ShortestPaths::default()));
        let routing = ShortestPaths::new(&fabric);
        routing.check(&fabric)?;
        Ok(Fabric {
            routing: Box::new(routing),
            ..fabric
        })
    }
}

/// Routing over all shortest paths through switches.
#[derive(Default)]
struct ShortestPaths {
    /// Index in `to` of the first link of each node; the last element is the number of links.
    first: Vec<u32>,
    /// The receiving node of each link.
    to: Vec<NodeId>,
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
    fn new(fabric: &Fabric) -> Self {
        let ends = |node| fabric.links.partition_point(|link| link.from < node) as u32;
        Self {
            first: (0..=fabric.nodes.len() as u32).map(ends).collect(),
            to: fabric.links.iter().map(|link: &Link| link.to).collect(),
            forwards: fabric.nodes.iter().map(|node| !node.is_host).collect(),
        }
    }

    fn next(&self, node: NodeId) -> &[NodeId] {
        &self.to[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// Searches from the receiver. That gives the distances to the receiver, because every link has
    /// a link in the opposite direction.
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
            for &before in self.next(node) {
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

    /// Returns an error if the graph is not connected, or if a node has more links than port
    /// numbers.
    fn check(&self, fabric: &Fabric) -> Result<(), SpecError> {
        let name = |node: usize| &fabric.nodes[node].name;
        let most = (0..self.forwards.len()).find(|&node| self.next(node as u32).len() > MAX_PORTS);
        if let Some(node) = most {
            let given = format!("{} has {} links", name(node), self.next(node as u32).len());
            return Err(SpecError::new("links", given, format!("at most {MAX_PORTS}")));
        }
        let start = fabric.hosts[0];
        let distances = self.search(None, start);
        match distances.links.iter().position(|&distance| distance == u32::MAX) {
            Some(node) => {
                let given = format!("no path leads from {} to {}", name(start as usize), name(node));
                Err(SpecError::conflict(
                    "links",
                    given,
                    "add links so that switches connect all hosts",
                ))
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
