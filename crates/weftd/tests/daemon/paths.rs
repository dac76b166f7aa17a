//! Measurements with iperf3: several paths, and many connections. `make measure-linux`.

use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use weft_kernel::path_manager::Namespace;

use crate::delays::delayed_cable;
use crate::fabric::{connect, port};
use crate::scene::{NO_DEFAULT, Plan, Scene, ip, missing, tc, until};
use crate::share::{goodput, is_skipped, within};
use crate::{number, scene_or_skip};

/// Time after the start of flows that is not measured.
const WARM_UP: Duration = Duration::from_secs(2);
const ALGORITHMS: [&str; 2] = ["weft_amp", "weft_warp"];
/// Two subflows per path with two paths, one with four.
pub const FULL_MESH: &str = "subflows.policy = \"fullmesh\"\nsubflows.join_after = \"0B\"\n";
const ONE_PATH: &str = "subflows.join_after = \"0B\"\n";

/// Packets in the queue of a cable from which packets are marked.
pub const MARK: u32 = 20;

/// Two hosts and the cables between them, of which each has a rate in Mbit/s. The addresses on cable N are 10.77.N.1 and 10.77.N.2.
pub struct Hosts {
    names: [String; 2],
    rates: Vec<u64>,
    _marks: Vec<Plan>,
}

impl Hosts {
    pub fn new(rates: &[u64]) -> Self {
        Self::connected(rates, |_, ends, prefix| connect(ends, prefix, 1))
    }

    /// The same with the round-trip time of each cable.
    fn delayed(rates: &[u64], rtts: &[Duration]) -> Self {
        Self::connected(rates, |n, ends, prefix| delayed_cable(ends, prefix, rtts[n]))
    }

    fn connected(rates: &[u64], connect: impl Fn(usize, [(&str, &str); 2], &str)) -> Self {
        let own = std::process::id();
        let names = ["client", "server"].map(|end| format!("weftd-test-{own}-{end}"));
        for name in &names {
            ip(&["netns", "add", name]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
        }
        let [client, server] = &names;
        let mut marks = Vec::new();
        for (n, &rate) in rates.iter().enumerate() {
            let (device, table) = (format!("v{n}"), (100 + n).to_string());
            connect(n, [(client, &device), (server, &device)], &format!("10.77.{n}"));
            // A subflow from an address of this cable uses this cable, whatever address of the server it goes to.
            let (from, via) = (format!("10.77.{n}.1"), format!("10.77.{n}.2"));
            let route = ["default", "via", &via, "dev", &device, "table", &table];
            ip(&[&["-n", client, "route", "add"][..], &route].concat());
            ip(&["-n", client, "rule", "add", "from", &from, "table", &table]);
            marks.push(port(client, &device, rate, MARK));
        }
        Self {
            rates: rates.to_vec(),
            _marks: marks,
            names,
        }
    }

    pub fn client(&self) -> &str {
        &self.names[0]
    }

    pub fn server(&self) -> &str {
        &self.names[1]
    }

    /// Returns the rate of all cables together, in Mbit/s.
    pub fn mbps(&self) -> f64 {
        self.rates.iter().sum::<u64>() as f64
    }

    /// Lets cable `n` lose all data beyond the sender's device, or ends that. A sender notices if its own device drops a packet.
    pub fn lose(&self, n: usize, lost: bool) {
        let device = format!("v{n}");
        let hook = [
            "qdisc",
            if lost { "add" } else { "del" },
            "dev",
            &device,
            "clsact",
        ];
        tc(&[&["-n", self.server()][..], &hook].concat());
        if lost {
            // One instruction of classic BPF, which returns TC_ACT_SHOT.
            let drop = ["dev", &device, "ingress", "bpf", "bytecode", "1,6 0 0 2", "da"];
            tc(&[&["-n", self.server(), "filter", "add"][..], &drop].concat());
        }
    }

    /// Calls `see` with the rates of the cables in Mbit/s, headers included, until the time is over or it returns true.
    pub fn observe(&self, time: Duration, step: Duration, mut see: impl FnMut(Duration, &[f64]) -> bool) {
        let began = Instant::now();
        let mut before = (began, self.arrived());
        while began.elapsed() < time {
            sleep(step);
            let now = (Instant::now(), self.arrived());
            let seconds = (now.0 - before.0).as_secs_f64();
            let mbps: Vec<f64> = now
                .1
                .iter()
                .zip(&before.1)
                .map(|(now, before)| 8e-6 * (now - before) as f64 / seconds)
                .collect();
            before = now;
            if see(began.elapsed(), &mbps) {
                return;
            }
        }
    }

    /// Returns the bytes that have arrived over each cable.
    pub fn arrived(&self) -> Vec<u64> {
        let shown = Command::new("ip")
            .args(["-n", self.server(), "-s", "-j", "link", "show"])
            .output();
        let shown: serde_json::Value =
            serde_json::from_slice(&shown.expect("what ip shows").stdout).expect("what ip shows");
        let links = shown.as_array().expect("links");
        let bytes = |device: &str| {
            let link = links.iter().find(|link| link["ifname"] == device);
            link.and_then(|link| link["stats64"]["rx"]["bytes"].as_u64())
        };
        (0..self.rates.len())
            .map(|n| bytes(&format!("v{n}")).expect("a cable"))
            .collect()
    }

    /// Starts an iperf3 client with so many connections, for `seconds` after the warm-up.
    fn iperf3(&self, connections: usize, seconds: u64) -> Iperf3 {
        let port = "5201";
        let serve = ["run", "iperf3", "-s", "-1", "-p", port];
        let server = within(self.server(), "mptcpize", &serve);
        let namespace = Namespace::named(self.server());
        until("the server listens", || {
            let listeners = weft_kernel::path_manager::listeners(&namespace);
            listeners.expect("listeners").len() == 1
        });
        let (time, warm_up) = (seconds.to_string(), WARM_UP.as_secs().to_string());
        let parallel = connections.to_string();
        let times = ["-t", &time, "-O", &warm_up];
        let load = [
            "run",
            "iperf3",
            "-J",
            "-c",
            "10.77.0.2",
            "-p",
            port,
            "-P",
            &parallel,
        ];
        let client = within(self.client(), "mptcpize", &[&load[..], &times].concat());
        Iperf3 {
            client: Some(client),
            server,
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}

/// A client and its server.
struct Iperf3 {
    client: Option<Child>,
    server: Child,
}

impl Iperf3 {
    /// Waits for the end, and returns the goodput in Mbit/s.
    fn mbps(mut self) -> f64 {
        goodput(self.client.take().expect("a client")) / 1e6
    }
}

impl Drop for Iperf3 {
    fn drop(&mut self) {
        for process in self.client.iter_mut().chain([&mut self.server]) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Runs a measurement of each algorithm several times, prints the median, the lowest and the highest value, and returns the medians.
fn measured<const N: usize, const A: usize>(
    scene: &Scene,
    what: &str,
    algorithms: [&str; A],
    hosts: impl Fn() -> Hosts,
    settings: &str,
    names: [&str; N],
    measure: impl Fn(&Hosts) -> [f64; N],
) -> Vec<[f64; N]> {
    let each = algorithms.map(|cc| {
        let hosts = hosts();
        let both = [hosts.client(), hosts.server()];
        let daemon = scene.daemon_of_these(
            &both,
            &format!("{NO_DEFAULT}congestion.default = \"{cc}\"\n{settings}"),
        );
        let runs: Vec<_> = (0..number("RUNS", 5)).map(|_| measure(&hosts)).collect();
        daemon.stop();
        std::array::from_fn(|i| {
            let mut values: Vec<f64> = runs.iter().map(|run| run[i]).collect();
            values.sort_by(f64::total_cmp);
            let (middle, last) = (values[values.len() / 2], values[values.len() - 1]);
            let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
            let load = load.split(' ').next().unwrap_or_default();
            eprintln!(
                "{what}, {cc}: {} {middle:.2} ({:.2} to {last:.2}), load {load}",
                names[i], values[0]
            );
            middle
        })
    });
    each.to_vec()
}

/// Returns the number of established subflows.
pub fn joined(hosts: &Hosts) -> usize {
    let seen = weft_kernel::path_manager::mptcp_subflows(&Namespace::named(hosts.client()));
    seen.expect("subflows")
        .iter()
        .filter(|seen| seen.established)
        .count()
}

/// One connection that has all paths for itself.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn one_connection_uses_all_paths() {
    let scene = scene_or_skip!("one_connection_uses_all_paths");
    if is_skipped("one_connection_uses_all_paths") {
        return;
    }
    let mut failed = Vec::new();
    for (what, rates) in [
        ("2 x 100 Mbit/s", &[100, 100][..]),
        ("4 x 50 Mbit/s", &[50; 4]),
        ("20 and 200 Mbit/s", &[20, 200]),
        ("100 and 1000 Mbit/s", &[100, 1000]),
    ] {
        let medians = measured(
            &scene,
            what,
            ALGORITHMS,
            || Hosts::new(rates),
            FULL_MESH,
            ["part of the rates", "subflows"],
            |hosts| {
                let client = hosts.iperf3(1, number("SECONDS", 10));
                sleep(2 * WARM_UP);
                // iperf3 has a connection for its control as well, which does not join.
                let subflows = joined(hosts) as f64;
                [client.mbps() / hosts.mbps(), subflows]
            },
        );
        // Without room for a burst in send buffers, AMP had 0.34 of 20 and 200 Mbit/s.
        let least = if what == "2 x 100 Mbit/s" { 0.9 } else { 0.6 };
        failed.extend(medians.into_iter().filter(|[part, _]| *part < least));
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// One connection over two paths of the same rate; the round-trip time of the second is twenty times that of the first, and each
/// has one subflow or two. Uncoupled DCTCP shows how much of a difference is due to the coupling.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn round_trip_times_of_paths_may_differ() {
    const RATE: u64 = 100;
    let scene = scene_or_skip!("round_trip_times_of_paths_may_differ");
    if is_skipped("round_trip_times_of_paths_may_differ") {
        return;
    }
    let rtts = [1, 20].map(Duration::from_millis);
    let medians = [2, 4].map(|count| {
        measured(
            &scene,
            &format!("2 x 100 Mbit/s, RTT 1 and 20 ms, {count} subflows"),
            ["weft_dctcp", "weft_amp", "weft_warp"],
            || Hosts::delayed(&[RATE; 2], &rtts),
            &format!("{FULL_MESH}subflows.count = {count}\n"),
            ["part of the rates", "of the path of 1 ms", "of the path of 20 ms"],
            |hosts| {
                let seconds = number("SECONDS", 10);
                let client = hosts.iperf3(1, seconds);
                sleep(2 * WARM_UP);
                let began = (Instant::now(), hosts.arrived());
                sleep(Duration::from_secs(seconds / 2));
                let elapsed = began.0.elapsed().as_secs_f64();
                let bytes: Vec<u64> = hosts
                    .arrived()
                    .iter()
                    .zip(began.1)
                    .map(|(now, before)| now - before)
                    .collect();
                let part = |n: usize| 8e-6 * bytes[n] as f64 / elapsed / RATE as f64;
                [client.mbps() / hosts.mbps(), part(0), part(1)]
            },
        )
    });
    eprintln!("{medians:?}");
    // The path of 1 ms alone would be half, and coupled algorithms with two subflows per path have less (research/linux.md).
    let parts = |n: usize| medians[n].iter().map(|[part, ..]| *part);
    assert!(parts(0).all(|part| part > 0.5), "{medians:?}");
    assert!(parts(1).all(|part| part > 0.3), "{medians:?}");
}

/// Many connections of one program over one path.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn sixty_four_connections_fill_a_path() {
    let scene = scene_or_skip!("sixty_four_connections_fill_a_path");
    if is_skipped("sixty_four_connections_fill_a_path") {
        return;
    }
    measured(
        &scene,
        "64 connections",
        ALGORITHMS,
        || Hosts::new(&[200]),
        ONE_PATH,
        ["part of the rate", "subflows"],
        |hosts| {
            let client = hosts.iperf3(64, number("SECONDS", 10));
            sleep(2 * WARM_UP);
            let subflows = joined(hosts) as f64;
            [client.mbps() / hosts.mbps(), subflows]
        },
    );
}
