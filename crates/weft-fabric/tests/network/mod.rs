//! Checks of networks, for tests.

// Each test crate uses only a part of this module.
#![allow(dead_code)]

use std::collections::{HashMap, HashSet, VecDeque};

use weft_fabric::{Fabric, NodeId, PortQueues, QueueConfig, TOPOLOGIES};
use weft_spec::{QueueSize, SpecError, find};

pub const QUEUES: PortQueues = PortQueues {
    switch: QueueConfig {
        limit: QueueSize::Packets(100),
        mark: Some(QueueSize::Packets(10)),
    },
    host: QueueConfig {
        limit: QueueSize::Packets(1000),
        mark: None,
    },
};

pub fn build(kind: &str, fields: &str) -> Result<Fabric, SpecError> {
    let entry = find(TOPOLOGIES, "kind", kind)?;
    let table = fields.parse().unwrap();
    (entry.parse)(&table)?.value.build(&QUEUES)
}

/// Fields that every topology needs.
pub const LINKS: &str = "rate = \"10Gbps\"\ndelay = \"1us\"";

/// Returns a network after checking its shape.
pub fn made(kind: &str, fields: &str) -> Fabric {
    let fabric = build(kind, &format!("{fields}\n{LINKS}")).unwrap();
    check_shape(&fabric);
    fabric
}

/// Checks every pair of these hosts: each path leads to the receiver, and all paths are different.
pub fn check_all(fabric: &Fabric, hosts: &[NodeId]) {
    let first = first_links(fabric);
    for &from in hosts {
        for &to in hosts.iter().filter(|&&to| to != from) {
            check_paths(fabric, &first, from, to);
        }
    }
}

/// Returns the first link of each node, so that port p of node n is link `first[n] + p`.
pub fn first_links(fabric: &Fabric) -> Vec<usize> {
    let mut first = vec![0; fabric.nodes.len() + 1];
    for link in &fabric.links {
        first[link.from as usize + 1] += 1;
    }
    for n in 1..first.len() {
        first[n] += first[n - 1];
    }
    first
}

/// Returns the nodes along the ports, after `from`; every port must exist.
pub fn walk(fabric: &Fabric, first: &[usize], from: NodeId, ports: &[u16]) -> Vec<NodeId> {
    let mut at = from as usize;
    let step = |port: &u16| {
        let link = first[at] + usize::from(*port);
        assert!(link < first[at + 1], "port {port} of {}", fabric.nodes[at].name);
        at = fabric.links[link].to as usize;
        at as NodeId
    };
    ports.iter().map(step).collect()
}

pub fn path(fabric: &Fabric, from: NodeId, to: NodeId, n: u64) -> Vec<u16> {
    let mut ports = Vec::new();
    fabric.routing.append_ports(from, to, n, &mut ports);
    ports
}

/// Checks that links are sorted and come in pairs, names are unique, hosts are marked as hosts, and
/// each port has the right queue.
pub fn check_shape(fabric: &Fabric) {
    assert!(fabric.links.is_sorted_by_key(|link| link.from));
    let mut ends: HashMap<_, Vec<_>> = HashMap::new();
    for link in &fabric.links {
        assert!(link.from != link.to);
        ends.entry((link.from, link.to)).or_default().push(link);
        let from_host = fabric.nodes[link.from as usize].is_host;
        assert_eq!(link.queue, if from_host { QUEUES.host } else { QUEUES.switch });
        assert_eq!(from_host, link.layer.starts_with("host-"), "{}", link.layer);
        assert_eq!(
            fabric.nodes[link.to as usize].is_host,
            link.layer.ends_with("-host"),
            "{}",
            link.layer
        );
    }
    for (&(from, to), links) in &ends {
        let back = &ends[&(to, from)];
        assert_eq!(links.len(), back.len());
        for (link, back) in links.iter().zip(back) {
            assert_eq!((link.rate, link.delay), (back.rate, back.delay));
            let reversed: Vec<_> = link.layer.split('-').rev().collect();
            assert_eq!(
                back.layer,
                reversed.join("-"),
                "the layer of the way back from {}",
                link.layer
            );
        }
    }
    let names: HashSet<_> = fabric.nodes.iter().map(|node| &node.name).collect();
    assert_eq!(names.len(), fabric.nodes.len());
    assert_eq!(
        fabric.hosts.len(),
        fabric.nodes.iter().filter(|node| node.is_host).count()
    );
    assert!(
        fabric
            .hosts
            .iter()
            .all(|&host| fabric.nodes[host as usize].is_host)
    );
    assert_eq!(
        fabric.hosts.iter().collect::<HashSet<_>>().len(),
        fabric.hosts.len()
    );
}

/// Checks that every path from `from` to `to` arrives without passing a node twice, that all paths
/// are different, and that those of a branch are numbered consecutively.
pub fn check_paths(fabric: &Fabric, first: &[usize], from: NodeId, to: NodeId) {
    let count = fabric.routing.path_count(from, to);
    let branches = fabric.routing.first_branches(from, to);
    assert_eq!(count % branches, 0, "as many paths in each branch");
    let mut seen = HashSet::new();
    for n in 0..count {
        let ports = path(fabric, from, to, n);
        let nodes = walk(fabric, first, from, &ports);
        assert_eq!(nodes.last(), Some(&to));
        let distinct: HashSet<_> = nodes.iter().chain([&from]).collect();
        assert_eq!(distinct.len(), nodes.len() + 1, "a loop");
        assert!(seen.insert(ports), "path {n} of {count} is one of those before");
    }
    let common = |n, m| {
        let [n, m] = [n, m].map(|n| path(fabric, from, to, n));
        n.iter().zip(&m).take_while(|(n, m)| n == m).count()
    };
    let each = count / branches;
    let parting = if branches > 1 { common(0, count - 1) } else { 0 };
    for n in 1..count {
        let same_branch = n / each == (n - 1) / each;
        assert!(
            branches == 1 || (common(n - 1, n) > parting) == same_branch,
            "path {n} of {count}"
        );
    }
}

/// Returns the length of the longest shortest path between hosts, in links; hosts may forward.
pub fn diameter(fabric: &Fabric) -> u32 {
    let farthest = |&from: &NodeId| {
        let mut distance = vec![u32::MAX; fabric.nodes.len()];
        distance[from as usize] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for link in links_of(fabric, node) {
                if distance[link.to as usize] == u32::MAX {
                    distance[link.to as usize] = distance[node as usize] + 1;
                    queue.push_back(link.to);
                }
            }
        }
        fabric.hosts.iter().map(|&host| distance[host as usize]).max()
    };
    fabric.hosts.iter().filter_map(farthest).max().unwrap_or(0)
}

fn links_of(fabric: &Fabric, node: NodeId) -> &[weft_fabric::Link] {
    let end = |node| fabric.links.partition_point(|link| link.from < node);
    &fabric.links[end(node)..end(node + 1)]
}

/// Returns the maximum flow between two sets of hosts, in units of the slowest link's rate (Ford
/// and Fulkerson, 1956).
pub fn flow(fabric: &Fabric, from: &[NodeId], to: &[NodeId]) -> u64 {
    let unit = fabric.links.iter().map(|link| link.rate.0).min().unwrap();
    let mut left: Vec<u64> = fabric.links.iter().map(|link| link.rate.0 / unit).collect();
    let first = first_links(fabric);
    let mut used = vec![0; left.len()];
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); fabric.nodes.len()];
    for (l, link) in fabric.links.iter().enumerate() {
        back[link.to as usize].push(l);
    }
    let ends: HashSet<NodeId> = to.iter().copied().collect();
    let mut total = 0;
    loop {
        // The link by which a node was reached, and whether in its direction.
        let mut by: HashMap<NodeId, Option<(usize, bool)>> = from.iter().map(|&node| (node, None)).collect();
        let mut queue: VecDeque<NodeId> = from.iter().copied().collect();
        let mut end = None;
        while let Some(node) = queue.pop_front() {
            if ends.contains(&node) {
                end = Some(node);
                break;
            }
            let along = (first[node as usize]..first[node as usize + 1]).filter(|&l| left[l] > 0);
            let along = along.map(|l| (fabric.links[l].to, (l, true)));
            let against = back[node as usize].iter().filter(|&&l| used[l] > 0);
            let against = against.map(|&l| (fabric.links[l].from, (l, false)));
            for (next, way) in along.chain(against).collect::<Vec<_>>() {
                by.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    Some(way)
                });
            }
        }
        let Some(mut node) = end else { return total };
        while let Some((l, along)) = by[&node] {
            let link = &fabric.links[l];
            if along {
                (left[l], used[l], node) = (left[l] - 1, used[l] + 1, link.from);
            } else {
                (left[l], used[l], node) = (left[l] + 1, used[l] - 1, link.to);
            }
        }
        total += 1;
    }
}
