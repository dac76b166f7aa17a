//! Shares of AMP and Warp that compete with DCTCP. A quiet machine is needed: `make measure-linux`.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::number;
use crate::scene::{Load, SERVER, SERVER_TOO, Scene, Server, load, missing, until};
use crate::scene_or_skip;
use weft_test_support::skip;

const PORT: usize = 5201;
/// Of 200 Mbit/s, Ethernet's header included, what TCP with timestamps makes of it.
const GOODPUT: f64 = 200e6 * 1448.0 / 1514.0;

/// AMP with the defaults of weftd, and as in the paper. For comparison, a connection of one subflow with DCTCP shows the cost of
/// MPTCP itself.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn amp_takes_the_share_of_a_dctcp_flow() {
    let scene = scene_or_skip!("amp_takes_the_share_of_a_dctcp_flow");
    if is_skipped("amp_takes_the_share_of_a_dctcp_flow") {
        return;
    }
    scene.add_addresses();
    scene.mark_queue();
    let mut failed = Vec::new();
    for (set, more, cc) in [
        ("default", "", "weft_amp"),
        (
            "the paper's",
            "[congestion.parameters.weft_amp]\ndctcp_cut = 0",
            "weft_amp",
        ),
        ("DCTCP", "subflows.count = 1", "weft_dctcp"),
    ] {
        let daemon = scene.daemon(more);
        // The kernel knows the names only while they are registered.
        scene.route(SERVER, cc);
        scene.route(SERVER_TOO, "weft_dctcp");
        for others in [2, 4, 8] {
            let (share, fairness) = median(&scene, set, 1, others);
            let good = (0.85..=1.15).contains(&share) && fairness >= 0.98;
            if set == "default" && !good {
                failed.push((others, share, fairness));
            }
        }
        daemon.stop();
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Four subflows each, as weftd sets Warp by default.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn warp_takes_the_share_of_a_dctcp_flow() {
    let scene = scene_or_skip!("warp_takes_the_share_of_a_dctcp_flow");
    if is_skipped("warp_takes_the_share_of_a_dctcp_flow") {
        return;
    }
    scene.add_addresses();
    scene.mark_queue();
    let daemon = scene.daemon("");
    scene.route(SERVER, "weft_warp");
    scene.route(SERVER_TOO, "weft_dctcp");
    let mut failed = Vec::new();
    for multipath in [1, 2] {
        for others in [2, 4, 8] {
            let set = format!("{multipath} of Warp");
            let (_, fairness) = median(&scene, &set, multipath, others);
            if fairness < 0.98 {
                failed.push((multipath, others, fairness));
            }
        }
    }
    daemon.stop();
    assert!(failed.is_empty(), "{failed:?}");
}

/// A tenth of all SYNs is lost, those of joins among them.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn amp_keeps_its_share_where_syns_are_lost() {
    let scene = scene_or_skip!("amp_keeps_its_share_where_syns_are_lost");
    scene.mark_queue();
    let joins = scene.joins();
    let _daemon = scene.daemon("");
    joins.lose_percent(10);
    let mut shares: Vec<_> = (0..number("RUNS", 5))
        .map(|_| {
            let flows = Flows::beside(&scene, 8);
            sleep(Duration::from_secs(5));
            let parts = flows.parts(Duration::from_secs(10));
            parts[0] / (parts[1..].iter().sum::<f64>() / 8.0)
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    eprintln!("with one SYN in ten lost, beside 8 DCTCP flows: {shares:.2?}");
    assert!(
        shares.iter().all(|share| (0.8..=1.25).contains(share)),
        "{shares:.2?}"
    );
}

#[test]
#[ignore = "a measurement: make measure-linux"]
fn restarts_reloads_and_stops_change_no_share() {
    let scene = scene_or_skip!("restarts_reloads_and_stops_change_no_share");
    scene.mark_queue();
    let mut daemon = Some(scene.daemon(""));
    let flows = Flows::beside(&scene, 8);
    sleep(Duration::from_secs(5));
    let mut wrong = Vec::new();
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = format!("metrics.listen = \"{}\"", busy.local_addr().expect("a port"));
    for what in [
        "nothing",
        "reload",
        "reload that is rolled back",
        "restart",
        "kill and start",
        "stop",
    ] {
        let before = flows.parts(Duration::from_secs(5));
        let old = daemon.take().expect("a daemon");
        daemon = match what {
            "reload" => {
                old.reload();
                Some(old)
            }
            "reload that is rolled back" => {
                scene.configure(&taken);
                old.reload();
                Some(old)
            }
            "restart" => {
                old.stop();
                Some(scene.daemon(""))
            }
            "kill and start" => {
                old.kill();
                Some(scene.daemon(""))
            }
            "stop" => {
                old.stop();
                None
            }
            _ => Some(old),
        };
        // A reload's trial lasts five seconds, after which the successor starts once more.
        for seconds in [5, 10] {
            let after = flows.parts(Duration::from_secs(5));
            let changes: Vec<_> = after
                .iter()
                .zip(&before)
                .map(|(after, before)| after / before)
                .collect();
            eprintln!("{what}, {seconds} s: {changes:.2?}");
            if changes.iter().any(|change| !(0.85..=1.15).contains(change)) {
                wrong.push((what, seconds, changes));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:.2?}");
}

/// An MPTCP connection, the first one, and TCP flows of DCTCP, each to a server of its own.
pub struct Flows {
    servers: Vec<Server>,
    _loads: Vec<Load>,
}

impl Flows {
    pub fn beside(scene: &Scene, others: usize) -> Self {
        let servers: Vec<_> = (0..=others).map(|_| scene.serve()).collect();
        let loads = servers.iter().enumerate().map(|(i, server)| {
            load(match i {
                0 => scene.connect(server.address),
                _ => scene.connect_dctcp(server.address),
            })
        });
        Self {
            _loads: loads.collect(),
            servers,
        }
    }

    pub fn none() -> Self {
        Self {
            servers: Vec::new(),
            _loads: Vec::new(),
        }
    }

    /// Returns the bytes of each flow that have arrived.
    pub fn read(&self) -> Vec<u64> {
        self.servers.iter().map(Server::read).collect()
    }

    /// Each one's part of what arrives in this time.
    fn parts(&self, time: Duration) -> Vec<f64> {
        let before = self.read();
        sleep(time);
        let bytes: Vec<_> = self
            .read()
            .iter()
            .zip(&before)
            .map(|(after, before)| (after - before) as f64)
            .collect();
        let all: f64 = bytes.iter().sum();
        bytes.into_iter().map(|bytes| bytes / all).collect()
    }
}

/// Skips a test if a program is missing that these tests call in addition to `ip` and `tc`. Returns true then.
pub fn is_skipped(test: &str) -> bool {
    let mut tools = ["iperf3", "mptcpize"].into_iter();
    let missing = tools.find(|tool| Command::new(tool).arg("-v").output().is_err());
    if let Some(tool) = missing {
        skip(test, &format!("no `{tool}` (Debian: {tool})"));
    }
    missing.is_some()
}

/// Returns the run with the median share of this many `multipath` flows that compete with `others` of DCTCP.
fn median(scene: &Scene, set: &str, multipath: usize, others: usize) -> (f64, f64) {
    let (runs, seconds) = (number("RUNS", 5) as usize, number("SECONDS", 20));
    let tries = (0..3 * runs).map(|_| share(scene, multipath, others, seconds));
    let mut shares: Vec<_> = tries.flatten().take(runs).collect();
    assert_eq!(shares.len(), runs, "the machine is too busy to measure");
    shares.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (share, fairness) = shares[runs / 2];
    let load = fs::read_to_string("/proc/loadavg").expect("the machine's load");
    let load = load.split(' ').next().unwrap_or_default();
    eprintln!(
        "{set}: beside {others} DCTCP flows {share:.2}, Jain's index {fairness:.3}, load {load}: {shares:.3?}"
    );
    (share, fairness)
}

/// A multipath flow's goodput in a DCTCP flow's, and Jain's index of all. None if something else than the marking queue limited: a
/// machine that has other things to do.
fn share(scene: &Scene, multipath: usize, others: usize, seconds: u64) -> Option<(f64, f64)> {
    let seconds = seconds.to_string();
    let before = scene.dropped();
    let ports = PORT..PORT + multipath + others;
    let ports: Vec<String> = ports.map(|port| port.to_string()).collect();
    let mut servers: Vec<_> = ports
        .iter()
        .map(|port| scene.within_server("mptcpize", &["run", "iperf3", "-s", "-1", "-p", port]))
        .collect();
    until("the servers listen", || scene.listeners() == ports.len());
    let clients: Vec<_> = ports
        .iter()
        .enumerate()
        .map(|(i, port)| {
            let to = if i < multipath { SERVER } else { SERVER_TOO }.to_string();
            let measure = [
                "iperf3",
                "-J",
                "-t",
                seconds.as_str(),
                "-p",
                port.as_str(),
                "-c",
                to.as_str(),
            ];
            if i < multipath {
                scene.within_client("mptcpize", &[&["run"], &measure[..]].concat())
            } else {
                scene.within_client(measure[0], &measure[1..])
            }
        })
        .collect();
    let goodputs: Vec<f64> = clients.into_iter().map(goodput).collect();
    for server in &mut servers {
        server.wait().expect("its end");
    }
    let (all, dropped) = (goodputs.iter().sum::<f64>(), scene.dropped() - before);
    if !(0.95..1.01).contains(&(all / GOODPUT)) || dropped > 100 {
        eprintln!(
            "not counted: {:.0} Mbit/s altogether, {dropped} packets dropped",
            all / 1e6
        );
        return None;
    }
    let (own, dctcp) = goodputs.split_at(multipath);
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let (sum, squares) = goodputs.iter().fold((0.0, 0.0), |(sum, squares), goodput| {
        (sum + goodput, squares + goodput * goodput)
    });
    Some((
        mean(own) / mean(dctcp),
        sum * sum / (squares * goodputs.len() as f64),
    ))
}

pub fn goodput(client: Child) -> f64 {
    let output = client.wait_with_output().expect("its end");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("iperf3's report");
    let goodput = &report["end"]["sum_received"]["bits_per_second"];
    goodput.as_f64().unwrap_or_else(|| panic!("{report:#}"))
}

impl Scene {
    fn within_client(&self, program: &str, arguments: &[&str]) -> Child {
        within(&self.client_name(), program, arguments)
    }

    fn within_server(&self, program: &str, arguments: &[&str]) -> Child {
        within(&self.server_name(), program, arguments)
    }
}

pub fn within(namespace: &str, program: &str, arguments: &[&str]) -> Child {
    Command::new("ip")
        .args(["netns", "exec", namespace, program])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("ip")
}
