//! Networks of any shape: links listed in the spec, or read from a file of GraphML, htsim or HPCC.
//!
//! All shortest paths, by number of links, have equal cost, unless the spec lists paths between two
//! hosts.

mod graphml;
mod hpcc;
mod listed_paths;
mod shortest_paths;
mod topo;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_spec::{
    Layer, Mark, QueueKindSpec, QueueSize, Rate, SpecError, Time, Within, conflict, read_text, refuse,
};

use crate::builder::FabricBuilder;
use crate::{Fabric, Link, NodeId, PortQueues, Topology, resolve_queue_kind};
use listed_paths::ListedPaths;
use shortest_paths::ShortestPaths;

/// Maximum size of a file in bytes, so that no file fills the memory.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Named nodes, and cables between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// Path of a file that replaces `switches` and `links`, relative to the spec's folder. If its
    /// name ends in `.topo`, the format is htsim's with tiers of switches. If its text begins with `<`,
    /// the format is GraphML. Otherwise it is HPCC's: `NODES SWITCHES LINKS`, the numbers of the switches,
    /// and a line `A B RATE DELAY ERROR_RATE` per link, whose error rate must be 0. GraphML edges may have
    /// data `rate`, `bandwidth` or `capacity` with a unit, `LinkSpeedRaw` in bits per second, and `delay`
    /// or `latency` with a unit. Hosts are the nodes in `hosts`, or otherwise those whose data `type` is
    /// "host", or otherwise those with a single edge.
    pub file: Option<String>,
    /// Names of the hosts, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Names of the switches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<String>,
    /// Cables, each with one link in each direction. Several cables may connect two nodes. Hosts
    /// may be in separate parts of the network if no traffic connects these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Cable>,
    /// Paths that replace the shortest ones between two hosts, each as the list of its nodes from
    /// the first host to the last. They are numbered in this order. Of several cables between two
    /// nodes, a path has the first one. Acknowledgements take the reversed paths, unless paths are
    /// listed for their direction or a cable is one-way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Vec<String>>,
    /// Rate of links without a rate of their own.
    pub rate: Rate,
    /// Propagation delay of links without one of their own.
    pub delay: Time,
}

/// A cable between two nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cable {
    /// Name of a node.
    pub a: String,
    /// Name of the other node.
    pub b: String,
    /// Rate of its links, if it differs.
    pub rate: Option<Rate>,
    /// Propagation delay of its links, if it differs.
    pub delay: Option<Time>,
    /// Capacity of the queues that feed its links, if it differs, as in `queues`. It has no effect
    /// on a host's port that `hosts.qdisc` governs.
    pub limit: Option<QueueSize>,
    /// Marking threshold K of these queues, if it differs, as in `queues`.
    pub mark: Option<Mark>,
    /// Kind of these queues, if it differs, as `kind` in `queues`. It has no effect on a host's port
    /// that `hosts.qdisc` governs.
    pub queue: Option<QueueKindSpec>,
    /// If true, the cable has only the link from `a` to `b`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_way: bool,
}

/// The content of a list or a file.
struct GraphSpec {
    hosts: Vec<String>,
    switches: Vec<String>,
    /// Each cable with its path in the spec or its place in the file.
    cables: Vec<(String, Cable)>,
    /// Warnings about the file.
    warnings: Vec<String>,
}

impl Graph {
    fn spec(&self) -> Result<GraphSpec, SpecError> {
        if let Some(file) = &self.file {
            for (field, given) in [
                ("switches", !self.switches.is_empty()),
                ("links", !self.links.is_empty()),
            ] {
                if given {
                    return conflict(field, "given together with a file", "remove one of the two");
                }
            }
            let is_topo = Path::new(file)
                .extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case("topo"));
            let text = read_text(file, MAX_FILE_BYTES).map_err(|error| {
                let allowed = "a topology file of at most 64 MiB: GraphML, htsim's .topo, or HPCC's";
                SpecError::new("file", format!("{file}: {error}"), allowed)
            })?;
            let read = match () {
                () if is_topo => topo::read,
                () if text.trim_start().starts_with('<') => graphml::read,
                () => hpcc::read,
            };
            return read(file, &text, &self.hosts).within("file");
        }
        let cables = self.links.iter().enumerate();
        Ok(GraphSpec {
            hosts: self.hosts.clone(),
            switches: self.switches.clone(),
            cables: cables
                .map(|(i, cable)| (format!("links[{i}]"), cable.clone()))
                .collect(),
            warnings: Vec::new(),
        })
    }

    /// Returns the error for fewer than two hosts, which says how a file declares hosts.
    fn too_few_hosts(&self, hosts: usize) -> SpecError {
        match &self.file {
            Some(file) if self.hosts.is_empty() => {
                let given = format!(
                    "{hosts} in {file}, whose nodes with the data type \"host\" are hosts, or otherwise those with a single edge"
                );
                let allowed = "at least 2, named here or given such data or a single edge; hosts do not forward, so each needs a switch";
                SpecError::new("hosts", given, allowed)
            }
            _ => SpecError::new("hosts", format!("{hosts} hosts"), "at least 2"),
        }
    }
}

/// Returns a rate of this many bits per second.
fn rate_in_bps(bits: f64) -> Result<Rate, SpecError> {
    format!("{}bps", bits.round()).parse()
}

impl Cable {
    /// Returns the settings of its queues. Its links have its rate from the beginning.
    fn settings(&self) -> Layer {
        Layer {
            rate: None,
            limit: self.limit,
            mark: self.mark,
            queue: self.queue.clone(),
        }
    }
}

impl Graph {
    /// Checks the kinds of the cables' queues, and fills in their parameters.
    ///
    /// # Errors
    /// Returns the first error; its path is relative to the topology.
    pub(crate) fn fill_defaults(&mut self) -> Result<(), SpecError> {
        for (i, cable) in self.links.iter_mut().enumerate() {
            if let Some(queue) = &mut cable.queue {
                resolve_queue_kind(queue).within(&format!("links[{i}].queue"))?;
            }
        }
        Ok(())
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
                return refuse(field, format!("{name:?} is given twice"), "a unique name");
            }
            hosts.extend(host.then_some(node));
        }
        if hosts.len() < 2 {
            return Err(self.too_few_hosts(hosts.len()));
        }
        let mut cables = Vec::with_capacity(spec.cables.len());
        for (index, (path, cable)) in (0..).zip(spec.cables) {
            let path = &path;
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
                return refuse(path, given, "two different nodes");
            }
            let layers = match (a_host, b_host) {
                (true, true) => ["host-host", "host-host"],
                (true, false) => ["host-switch", "switch-host"],
                (false, true) => ["switch-host", "host-switch"],
                (false, false) => ["switch-switch", "switch-switch"],
            };
            let own = cable.settings();
            let has_own = own != Layer::default();
            let rate = cable.rate.unwrap_or(self.rate);
            let delay = cable.delay.unwrap_or(self.delay);
            let directions = [(a, b, layers[0]), (b, a, layers[1])];
            for (from, to, layer) in directions.into_iter().take(2 - usize::from(cable.one_way)) {
                let queue = net.default_queue(from);
                net.link(Link {
                    layer,
                    cable: has_own.then_some(index),
                    ..Link::new([from, to], rate, delay, queue)
                });
            }
            cables.push(own);
        }
        let mut fabric = net.finish(hosts, Box::new(ShortestPaths::default()));
        fabric.warnings = spec.warnings;
        fabric.cables = cables;
        let shortest = ShortestPaths::new(&fabric);
        shortest.check_ports(&fabric)?;
        fabric.routing = if self.paths.is_empty() {
            Arc::new(shortest)
        } else {
            Arc::new(ListedPaths::new(&self.paths, &fabric, shortest).within("paths")?)
        };
        Ok(fabric)
    }
}
