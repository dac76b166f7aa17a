//! Counts, bisection width, diameter and path diversity of the papers' topologies, compared with
//! the papers' formulas.

mod network;

use std::collections::HashSet;

use network::{check_all, diameter, first_links, flow, made, path, walk};
use weft_fabric::{Fabric, NodeId};

fn counts(fabric: &Fabric) -> (usize, usize, usize) {
    let switches = fabric.nodes.len() - fabric.hosts.len();
    (fabric.hosts.len(), switches, fabric.links.len() / 2)
}

/// Returns the capacity between one half of the hosts and the other, in units of a host's rate.
fn bisection(fabric: &Fabric) -> u64 {
    let (left, right) = fabric.hosts.split_at(fabric.hosts.len() / 2);
    flow(fabric, left, right)
}

#[test]
fn leaf_spine() {
    for (leaves, spines, width, links) in [(4, 3, 5, 1), (2, 2, 4, 3), (6, 4, 2, 2)] {
        let fabric = made(
            "leaf-spine",
            &format!("leaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {width}\nlinks = {links}"),
        );
        let cables = leaves * width + leaves * spines * links;
        assert_eq!(counts(&fabric), (leaves * width, leaves + spines, cables));
        check_all(&fabric, &fabric.hosts);
        let [near, far] =
            [1, width].map(|host| fabric.routing.path_count(fabric.hosts[0], fabric.hosts[host]));
        assert_eq!((near, far), (1, (spines * links * links) as u64));
        // The minimum of what half of the hosts and half of the leaves can send.
        let most = (leaves / 2) * (width.min(spines * links));
        assert_eq!(bisection(&fabric), most as u64);
        assert_eq!(diameter(&fabric), 4);
    }
    let fabric = made(
        "leaf-spine",
        "leaves = 2\nspines = 2\nhosts_per_leaf = 2\nspine_rate = \"40Gbps\"",
    );
    assert!(fabric.links.iter().all(|link| {
        let fast = link.rate.0 == 40_000_000_000;
        fast == link.layer.contains("spine")
    }));
}

/// Section 4.1: `D_A` / 2 intermediate and `D_I` aggregation switches, `D_A D_I / 4` ToRs, 20
/// servers each; full bisection bandwidth ("no over-subscription" between switches and servers).
#[test]
fn vl2() {
    for (da, di) in [(4_usize, 4_usize), (6, 4), (2, 6)] {
        let fabric = made(
            "vl2",
            &format!("aggregation_ports = {da}\nintermediate_ports = {di}"),
        );
        let tors = da * di / 4;
        let cables = 20 * tors + 2 * tors + di * da / 2;
        assert_eq!(counts(&fabric), (20 * tors, tors + di + da / 2, cables));
        let some: Vec<NodeId> = fabric.hosts.iter().copied().step_by(19).collect();
        check_all(&fabric, &some);
        let paths = |host: usize| fabric.routing.path_count(fabric.hosts[0], fabric.hosts[host]);
        assert_eq!(paths(1), 1);
        assert_eq!(
            paths(20 * tors - 1),
            2 * da as u64,
            "two up, each intermediate switch, two down"
        );
        if da > 2 {
            assert_eq!(paths(20), 2, "racks of one pair");
        }
        assert_eq!(diameter(&fabric), 6);
        if di % 4 == 0 {
            assert_eq!(
                bisection(&fabric),
                10 * tors as u64,
                "half of the hosts at full rate"
            );
        }
    }
}

/// Section 3: n^(k+1) servers and k+1 levels of n^k switches. The diameter is k+1 (in hops between
/// servers). Any two servers have k+1 paths that share no node (theorems 1 and 3). The bisection
/// width is half of the servers.
#[test]
fn bcube() {
    for (n, k) in [(4_usize, 1_u32), (2, 3), (3, 2), (4, 0)] {
        let fabric = made("bcube", &format!("n = {n}\nk = {k}"));
        let (hosts, levels) = (n.pow(k + 1), k as usize + 1);
        assert_eq!(counts(&fabric), (hosts, levels * n.pow(k), levels * hosts));
        check_all(&fabric, &fabric.hosts);
        assert_eq!(diameter(&fabric), 2 * (k + 1));
        if n % 2 == 0 {
            assert_eq!(bisection(&fabric), hosts as u64 / 2);
        }
        let first = first_links(&fabric);
        for &from in &fabric.hosts {
            for &to in fabric.hosts.iter().filter(|&&to| to != from) {
                assert_eq!(fabric.routing.path_count(from, to), levels as u64);
                let mut seen = HashSet::new();
                for number in 0..levels as u64 {
                    let nodes = walk(&fabric, &first, from, &path(&fabric, from, to, number));
                    let between = &nodes[..nodes.len() - 1];
                    assert!(
                        between.iter().all(|&node| seen.insert(node)),
                        "paths share a node"
                    );
                }
            }
        }
    }
}

#[test]
fn hosts_of_bcube_forward() {
    let fabric = made("bcube", "n = 3\nk = 2");
    let first = first_links(&fabric);
    let (from, to) = (fabric.hosts[0], fabric.hosts[26]);
    for number in 0..3 {
        let nodes = walk(&fabric, &first, from, &path(&fabric, from, to, number));
        let through = nodes[..nodes.len() - 1]
            .iter()
            .filter(|&&node| fabric.nodes[node as usize].is_host);
        assert_eq!((nodes.len(), through.count()), (6, 2));
    }
}

/// With `homes` links per host there are k^3/4 divided by `homes` hosts, and `homes`^2 times the
/// paths.
#[test]
fn multi_homed_fat_tree() {
    for (k, homes) in [(4_usize, 2_usize), (8, 2), (8, 4), (6, 3), (4, 1)] {
        let fabric = made("multi-homed-fat-tree", &format!("k = {k}\nhomes = {homes}"));
        let half = k / 2;
        let hosts = k * half * half / homes;
        assert_eq!(counts(&fabric), (hosts, k * k + half * half, 3 * k * half * half));
        let some: Vec<NodeId> = fabric.hosts.iter().copied().step_by(k - 1).collect();
        check_all(&fabric, &some);
        let paths = |host: usize| fabric.routing.path_count(fabric.hosts[0], fabric.hosts[host]);
        assert_eq!(paths(1), homes as u64);
        assert_eq!(paths(hosts - 1), (homes * half * half * homes) as u64);
        if half > homes {
            assert_eq!(paths(half), (homes * half * homes) as u64);
        }
        assert_eq!(bisection(&fabric), (k * half * half / 2) as u64);
        assert_eq!(diameter(&fabric), if k == 2 { 4 } else { 6 });
    }
}

/// Section 3: full bisection bandwidth. With oversubscription o, o times the hosts share the core.
#[test]
fn fat_tree() {
    for (k, o) in [(4_usize, 1_usize), (8, 1), (6, 1), (4, 4), (8, 2)] {
        let fabric = made("fat-tree", &format!("k = {k}\noversubscription = {o}"));
        let half = k / 2;
        let hosts = k * half * half * o;
        assert_eq!(
            counts(&fabric),
            (hosts, k * k + half * half, hosts + 2 * k * half * half)
        );
        let some: Vec<NodeId> = fabric
            .hosts
            .iter()
            .copied()
            .step_by(half * o - 1)
            .take(20)
            .collect();
        check_all(&fabric, &some);
        assert_eq!(bisection(&fabric), (k * half * half / 2) as u64);
        assert_eq!(diameter(&fabric), 6);
    }
}
