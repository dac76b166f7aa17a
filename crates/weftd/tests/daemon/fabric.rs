//! Goodput over four paths at data-centre rates: two leaves, four spines, and a permutation of four flows.
//!
//! `RATE=1000 SEGMENTS=8 cargo test -p weftd --test daemon -- --ignored --nocapture four_flows_over_four_spines`

use std::fs;
use std::net::IpAddr;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use libbpf_rs::TC_EGRESS;
use socket2::Protocol;
use weft_kernel::path_manager::Namespace;

use crate::number;
use crate::scene::{Load, NO_DEFAULT, Plan, Scene, Server, ip, load, missing, tc, until};
use crate::scene_or_skip;

/// Hosts per leaf and spines.
const WIDTH: usize = 4;
/// Bytes of a full packet with Ethernet's header.
const PACKET: u32 = 1514;
/// The time after which a flow without new data counts as one that stands still. A delayed acknowledgement waits for 40 ms.
const STILL: Duration = Duration::from_millis(30);

/// Prints the goodput of each flow, and for how long flows stood still, for one path and for four subflows.
///
/// `RATE` is the rate of all links in Mbit/s, `SEGMENTS` the number of packets that TSO and GRO combine, `K` the marking
/// threshold in packets. Each of `RUNS` runs draws other paths and lasts `SECONDS`.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn four_flows_over_four_spines() {
    let scene = scene_or_skip!("four_flows_over_four_spines");
    let fabric = Fabric::new(
        number("RATE", 1000),
        number("SEGMENTS", 8),
        number("K", 20) as u32,
    );
    let names: Vec<&str> = fabric.hosts.iter().map(String::as_str).collect();
    for (name, subflows) in [
        ("dctcp", 1),
        ("dctcp", 4),
        ("amp", 4),
        ("dcm", 4),
        ("xmp", 4),
        ("warp", 4),
    ] {
        let daemon = scene.daemon_of_these(
            &names,
            &format!(
                "{NO_DEFAULT}congestion.default = \"weft_{name}\"\n\
                 subflows.count = {subflows}\nsubflows.join_after = \"0B\"\n"
            ),
        );
        let counted = fabric.counters();
        let mut goodputs = Vec::new();
        let mut still = Duration::ZERO;
        let (runs, seconds) = (number("RUNS", 5), number("SECONDS", 5));
        for _ in 0..runs {
            let run = Run::new(&fabric, subflows);
            sleep(Duration::from_secs(1));
            still += run.observe(Duration::from_secs(seconds), &mut goodputs);
        }
        daemon.stop();
        let (delayed, resent) = fabric.counters();
        let (delayed, resent) = (delayed - counted.0, resent - counted.1);
        goodputs.sort_by(f64::total_cmp);
        let mean = goodputs.iter().sum::<f64>() / goodputs.len() as f64;
        let share = still.as_secs_f64() / (runs * seconds * WIDTH as u64) as f64;
        eprintln!(
            "{name} x {subflows}: mean {mean:.0}, least {:.0} Mbit/s, still for {:.2} % of the time, {delayed} delayed \
             acknowledgements, {resent} retransmissions by MPTCP: {goodputs:.0?}",
            goodputs[0],
            100.0 * share
        );
        assert!(goodputs[0] > 0.0, "a flow delivered nothing");
    }
}

/// Namespaces of hosts and leaves; those of a leaf's hosts are `c0` to `c3` and `s0` to `s3`.
struct Fabric {
    hosts: Vec<String>,
    leaves: [String; 2],
    _marks: Vec<Plan>,
}

impl Fabric {
    fn new(rate: u64, segments: u64, threshold: u32) -> Self {
        let own = std::process::id();
        let leaves = ["lc", "ls"].map(|leaf| format!("weftd-test-{own}-{leaf}"));
        let host = |side: &str, i: usize| format!("weftd-test-{own}-{side}{i}");
        let hosts: Vec<String> = ["c", "s"]
            .iter()
            .flat_map(|side| (0..WIDTH).map(|i| host(side, i)))
            .collect();
        for name in hosts.iter().chain(&leaves) {
            ip(&["netns", "add", name]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
        }
        let mut ports = Vec::new();
        for (side, leaf) in leaves.iter().enumerate() {
            for i in 0..WIDTH {
                let (host, port) = (&hosts[side * WIDTH + i], format!("host{i}"));
                connect(
                    [(host, "eth0"), (leaf, &port)],
                    &format!("10.{}.{i}", side + 1),
                    segments,
                );
                ip(&[
                    "-n",
                    host,
                    "route",
                    "add",
                    "default",
                    "via",
                    &format!("10.{}.{i}.2", side + 1),
                ]);
                ports.push((host.clone(), "eth0".to_owned()));
                ports.push((leaf.clone(), port));
            }
        }
        for spine in 0..WIDTH {
            let name = format!("spine{spine}");
            connect(
                [(&leaves[0], &name), (&leaves[1], &name)],
                &format!("10.3.{spine}"),
                segments,
            );
            ports.extend(leaves.iter().map(|leaf| (leaf.clone(), name.clone())));
        }
        for (side, leaf) in leaves.iter().enumerate() {
            let there = format!("10.{}.0.0/16", 2 - side);
            let hops: Vec<String> = (0..WIDTH)
                .map(|spine| format!("10.3.{spine}.{}", 2 - side))
                .collect();
            let hops = hops.iter().flat_map(|hop| ["nexthop", "via", hop]);
            ip(&["-n", leaf, "route", "add", &there]
                .into_iter()
                .chain(hops)
                .collect::<Vec<_>>());
            let settings = || {
                fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
                // By addresses and ports, as a switch of a data centre does.
                fs::write("/proc/sys/net/ipv4/fib_multipath_hash_policy", "1")
            };
            Namespace::named(leaf)
                .run_in(settings)
                .expect("settings of a router");
        }
        let marks = ports
            .iter()
            .map(|(name, device)| port(name, device, rate, threshold))
            .collect();
        Self {
            hosts,
            leaves,
            _marks: marks,
        }
    }
}

impl Fabric {
    /// Returns the delayed acknowledgements of the receivers and the retransmissions of the senders' MPTCP since the start.
    fn counters(&self) -> (u64, u64) {
        let (clients, servers) = self.hosts.split_at(WIDTH);
        let sum = |hosts: &[String], name| hosts.iter().map(|host| counter(host, name)).sum();
        (sum(servers, "DelayedACKs"), sum(clients, "MPTCPRetrans"))
    }
}

/// Returns a counter of a namespace, which is 0 until the kernel lists it.
fn counter(namespace: &str, name: &str) -> u64 {
    let read = || fs::read_to_string("/proc/thread-self/net/netstat");
    let text = Namespace::named(namespace).run_in(read).expect("counters");
    // Pairs of lines: names, then values.
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let pairs = lines
        .chunks_exact(2)
        .flat_map(|pair| pair[0].iter().zip(&pair[1]));
    let found = pairs
        .filter(|(known, _)| **known == name)
        .find_map(|(_, value)| value.parse().ok());
    found.unwrap_or(0)
}

impl Drop for Fabric {
    fn drop(&mut self) {
        for name in self.hosts.iter().chain(&self.leaves) {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}

/// Connects two namespaces by a link of the network `prefix`.0/24, whose ends are .1 and .2.
pub fn connect(ends: [(&str, &str); 2], prefix: &str, segments: u64) {
    let [(first, device), (second, peer)] = ends;
    ip(&[
        "-n", first, "link", "add", device, "type", "veth", "peer", "name", peer, "netns", second,
    ]);
    for (end, (name, device)) in ends.into_iter().enumerate() {
        let address = format!("{prefix}.{}/24", end + 1);
        ip(&["-n", name, "address", "add", &address, "dev", device]);
        ip(&[
            "-n",
            name,
            "link",
            "set",
            device,
            "gso_max_segs",
            &segments.to_string(),
        ]);
        ip(&["-n", name, "link", "set", device, "up"]);
        // Otherwise packets of a flow overtake each other where they are sent by different processors.
        let steer = format!("echo 3 > /sys/class/net/{device}/queues/rx-0/rps_cpus");
        ip(&["netns", "exec", name, "sh", "-c", &steer]);
    }
}

/// Limits the rate of a device, and marks packets that find `threshold` full packets in its queue. An HTB class does not split packets
/// that TSO has combined.
pub fn port(name: &str, device: &str, rate: u64, threshold: u32) -> Plan {
    let rate = format!("{rate}mbit");
    let at = ["dev", device];
    tc(&[
        &["-n", name, "qdisc", "add"][..],
        &at,
        &["root", "handle", "1:", "htb", "default", "1"],
    ]
    .concat());
    let class = [
        "parent", "1:", "classid", "1:1", "htb", "rate", &rate, "burst", "16kb", "cburst", "16kb",
    ];
    tc(&[&["-n", name, "class", "add"][..], &at, &class].concat());
    tc(&[
        &["-n", name, "qdisc", "add"][..],
        &at,
        &["parent", "1:1", "pfifo", "limit", "1000"],
    ]
    .concat());
    tc(&[&["-n", name, "qdisc", "add"][..], &at, &["clsact"]].concat());
    let plan = Plan::attached(
        weft_test_support::MARK_BYTES,
        &Namespace::named(name),
        device,
        TC_EGRESS,
    );
    plan.set(0, threshold * PACKET);
    plan
}

/// A flow from each host of the first leaf to one of the second.
struct Run {
    servers: Vec<Server>,
    _loads: Vec<Load>,
}

impl Run {
    fn new(fabric: &Fabric, subflows: usize) -> Self {
        let (clients, servers) = fabric.hosts.split_at(WIDTH);
        let servers: Vec<Server> = (0..WIDTH)
            .map(|i| {
                let address: IpAddr = format!("10.2.{i}.1").parse().expect("an address");
                Scene::serve_in(&Namespace::named(&servers[i]), address)
            })
            .collect();
        let protocol = if subflows > 1 {
            Protocol::MPTCP
        } else {
            Protocol::TCP
        };
        let loads = servers.iter().zip(clients).map(|(server, client)| {
            load(Scene::connect_from(
                &Namespace::named(client),
                server.address,
                protocol,
                None,
            ))
        });
        let run = Self {
            _loads: loads.collect(),
            servers,
        };
        for client in clients {
            until("all subflows", || {
                let seen = weft_kernel::path_manager::mptcp_subflows(&Namespace::named(client));
                subflows == 1
                    || seen
                        .expect("subflows")
                        .iter()
                        .filter(|seen| seen.established)
                        .count()
                        >= subflows
            });
        }
        run
    }

    /// Appends the goodput of each flow in Mbit/s, and returns for how long flows stood still, added up.
    fn observe(&self, time: Duration, goodputs: &mut Vec<f64>) -> Duration {
        let read = || self.servers.iter().map(Server::read).collect::<Vec<_>>();
        let (began, first) = (Instant::now(), read());
        let mut last = first.clone();
        let mut since = [began; WIDTH];
        let mut still = Duration::ZERO;
        let pause = |waited: Duration| if waited >= STILL { waited } else { Duration::ZERO };
        while began.elapsed() < time {
            sleep(Duration::from_millis(2));
            let now = Instant::now();
            for (flow, bytes) in read().into_iter().enumerate() {
                if bytes > last[flow] {
                    still += pause(now - since[flow]);
                    (last[flow], since[flow]) = (bytes, now);
                }
            }
        }
        // Pauses that have not ended.
        let end = Instant::now();
        still += since.iter().map(|&since| pause(end - since)).sum();
        let elapsed = began.elapsed().as_secs_f64();
        let bits = last
            .iter()
            .zip(&first)
            .map(|(last, first)| 8.0 * (last - first) as f64);
        goodputs.extend(bits.map(|bits| bits / elapsed / 1e6));
        still
    }
}
