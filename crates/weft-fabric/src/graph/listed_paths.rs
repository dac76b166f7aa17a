//! Routing over paths that a spec lists, and over shortest paths between other hosts.

use std::collections::HashMap;

use weft_spec::{SpecError, Within, conflict, refuse};

use super::shortest_paths::ShortestPaths;
use crate::{Fabric, NodeId, Routing};

/// The ports of each listed path, by sender and receiver.
pub(super) struct ListedPaths {
    ports: HashMap<(NodeId, NodeId), Vec<Vec<u16>>>,
    shortest: ShortestPaths,
}

impl ListedPaths {
    /// Creates the routing from lists of names of nodes.
    ///
    /// # Errors
    /// Returns an error if a list is not a path between two hosts; its path in the spec is relative
    /// to the list of paths.
    pub fn new(paths: &[Vec<String>], fabric: &Fabric, shortest: ShortestPaths) -> Result<Self, SpecError> {
        let numbers = (0..).zip(&fabric.nodes);
        let by_name: HashMap<&str, NodeId> = numbers.map(|(n, node)| (node.name.as_str(), n)).collect();
        let mut nodes_of: HashMap<(NodeId, NodeId), Vec<Vec<NodeId>>> = HashMap::new();
        for (i, names) in paths.iter().enumerate() {
            let nodes = resolve(names, fabric, &by_name, &shortest).within(&format!("[{i}]"))?;
            let ends = (nodes[0], nodes[nodes.len() - 1]);
            nodes_of.entry(ends).or_default().push(nodes);
        }
        let mut routing = Self {
            ports: HashMap::new(),
            shortest,
        };
        for (&(from, to), listed) in &nodes_of {
            let ports: Vec<_> = listed
                .iter()
                .filter_map(|nodes| routing.ports_along(nodes))
                .collect();
            routing.ports.insert((from, to), ports);
            let reversed = |nodes: &Vec<NodeId>| {
                let nodes: Vec<NodeId> = nodes.iter().rev().copied().collect();
                routing.ports_along(&nodes)
            };
            let reversed: Option<Vec<_>> = listed.iter().map(reversed).collect();
            if let Some(ports) = reversed.filter(|_| !nodes_of.contains_key(&(to, from))) {
                routing.ports.insert((to, from), ports);
            }
        }
        Ok(routing)
    }

    /// Returns the ports along these nodes; `None` if a link is missing.
    fn ports_along(&self, nodes: &[NodeId]) -> Option<Vec<u16>> {
        let ports = nodes
            .windows(2)
            .map(|pair| port(&self.shortest, pair[0], pair[1]));
        ports.collect()
    }
}

/// Returns the port of a node's first link to another node.
fn port(graph: &ShortestPaths, from: NodeId, to: NodeId) -> Option<u16> {
    let index = graph.next(from).iter().position(|&next| next == to)?;
    Some(index as u16)
}

/// Returns the nodes of a listed path.
fn resolve(
    names: &[String],
    fabric: &Fabric,
    by_name: &HashMap<&str, NodeId>,
    graph: &ShortestPaths,
) -> Result<Vec<NodeId>, SpecError> {
    if names.len() < 2 {
        let given = format!("{} nodes", names.len());
        return refuse("", given, "at least 2 nodes");
    }
    let mut nodes = Vec::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        let path = format!("[{i}]");
        let Some(&node) = by_name.get(name.as_str()) else {
            let allowed = "the name of a host or of a switch";
            return refuse(path, format!("{name:?} does not exist"), allowed);
        };
        let is_end = i == 0 || i + 1 == names.len();
        if fabric.nodes[node as usize].is_host != is_end {
            let (given, allowed) = if is_end {
                ("is a switch", "a host at either end")
            } else {
                ("is a host", "a switch between the ends")
            };
            return refuse(path, format!("{name:?} {given}"), allowed);
        }
        if nodes.contains(&node) {
            return refuse(path, format!("{name:?} is given twice"), "each node once");
        }
        if let Some(&before) = nodes.last()
            && port(graph, before, node).is_none()
        {
            let problem = format!(
                "no link leads from {} to {name}",
                fabric.nodes[before as usize].name
            );
            return conflict(path, problem, "add the link or choose another node");
        }
        nodes.push(node);
    }
    Ok(nodes)
}

impl Routing for ListedPaths {
    fn path_count(&self, from: NodeId, to: NodeId) -> u64 {
        match self.ports.get(&(from, to)) {
            Some(paths) => paths.len() as u64,
            None => self.shortest.path_count(from, to),
        }
    }

    fn append_ports(&self, from: NodeId, to: NodeId, n: u64, ports: &mut Vec<u16>) {
        match self.ports.get(&(from, to)) {
            Some(paths) => ports.extend_from_slice(&paths[n as usize]),
            None => self.shortest.append_ports(from, to, n, ports),
        }
    }

    fn first_branches(&self, from: NodeId, to: NodeId) -> u64 {
        self.shortest.first_branches(from, to)
    }
}
