//! Flows that share the queue of a router. `make measure-linux`.
//!
//! TCP small queues limit what a sender keeps in its own device, so shares and delays are measured at a queue behind the sender.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use socket2::Protocol;
use weft_kernel::path_manager::Namespace;

use crate::fabric::{connect, port};
use crate::scene::{Load, NO_DEFAULT, Plan, Scene, Server, ip, load, missing, tc, until};
use crate::{number, scene_or_skip};

/// Rate of the router's queue in Mbit/s.
const RATE: u64 = 200;
/// Packets in the queue from which packets are marked.
const MARK: u32 = 20;
/// Packets that a queue without marks holds.
const LIMIT: u32 = 100;
/// Subflows open at once.
const SETTINGS: &str = "subflows.join_after = \"0B\"\n";
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 81, 0, 2);

/// A client, a router with the queue, and a server.
struct Network {
    client: String,
    router: String,
    server: String,
    mark: Plan,
}

impl Network {
    fn new() -> Self {
        let own = std::process::id();
        let [client, router, server] =
            ["client", "router", "server"].map(|host| format!("weftd-test-{own}-{host}"));
        for name in [&client, &router, &server] {
            ip(&["netns", "add", name]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
        }
        connect([(&client, "v0"), (&router, "port0")], "10.80.0", 1);
        connect([(&router, "port1"), (&server, "v0")], "10.81.0", 1);
        ip(&["-n", &client, "route", "add", "default", "via", "10.80.0.2"]);
        ip(&["-n", &server, "route", "add", "default", "via", "10.81.0.1"]);
        Namespace::named(&router)
            .run_in(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"))
            .expect("settings of a router");
        let mark = port(&router, "port1", RATE, MARK);
        Self {
            client,
            router,
            server,
            mark,
        }
    }

    /// Marks from now on, or drops what does not fit [`LIMIT`].
    fn set_marks(&self, marks: bool) {
        let (threshold, limit) = if marks {
            (MARK * 1514, 1000)
        } else {
            (u32::MAX, LIMIT)
        };
        self.mark.set(0, threshold);
        let queue = [
            "dev",
            "port1",
            "parent",
            "1:1",
            "pfifo",
            "limit",
            &limit.to_string(),
        ];
        tc(&[&["-n", &self.router, "qdisc", "replace"][..], &queue].concat());
    }

    /// Returns the namespaces that the daemon serves.
    fn ends(&self) -> [&str; 2] {
        [&self.client, &self.server]
    }

    fn serve(&self) -> Server {
        Scene::serve_in(&Namespace::named(&self.server), ADDRESS.into())
    }

    /// Starts a connection that always has data: TCP with the algorithm `cc`, or MPTCP with the default one.
    fn load(&self, to: SocketAddr, cc: Option<&str>) -> Load {
        let protocol = if cc.is_some() {
            Protocol::TCP
        } else {
            Protocol::MPTCP
        };
        load(Scene::connect_from(
            &Namespace::named(&self.client),
            to,
            protocol,
            cc,
        ))
    }

    fn subflows(&self) -> usize {
        let seen = weft_kernel::path_manager::mptcp_subflows(&Namespace::named(&self.client));
        seen.expect("subflows")
            .iter()
            .filter(|seen| seen.established)
            .count()
    }

    /// Returns the goodput of a connection in that of a flow with `cc`, of which there are `others`, and Jain's index of all.
    /// The connection is MPTCP, or TCP with the algorithm `first`.
    fn share(&self, first: Option<&str>, cc: &str, others: usize, seconds: u64) -> (f64, f64) {
        let servers: Vec<Server> = (0..=others).map(|_| self.serve()).collect();
        let flows = servers.iter().enumerate();
        let _loads: Vec<Load> = flows
            .map(|(i, server)| self.load(server.address, if i > 0 { Some(cc) } else { first }))
            .collect();
        if first.is_none() {
            until("four subflows", || self.subflows() == 4);
        }
        sleep(Duration::from_secs(1));
        let read = || servers.iter().map(Server::read).collect::<Vec<u64>>();
        let before = read();
        sleep(Duration::from_secs(seconds));
        let bytes: Vec<f64> = read()
            .iter()
            .zip(before)
            .map(|(now, before)| (now - before) as f64)
            .collect();
        let goodput = 8e-6 * bytes.iter().sum::<f64>() / seconds as f64;
        assert!(
            goodput > 0.85 * RATE as f64,
            "{goodput} Mbit/s: the machine limits"
        );
        let squares: f64 = bytes.iter().map(|bytes| bytes * bytes).sum();
        (
            bytes[0] * others as f64 / bytes[1..].iter().sum::<f64>(),
            bytes.iter().sum::<f64>().powi(2) / (squares * bytes.len() as f64),
        )
    }

    /// Returns the completion times in seconds of flows one after another, from the SYN to the FIN of the server, sorted. It takes
    /// `time` and that of one flow.
    fn completions(&self, server: &Server, cc: &str, bytes: usize, time: Duration) -> Vec<f64> {
        let (client, data) = (Namespace::named(&self.client), vec![0; bytes]);
        let start = Instant::now();
        let mut times = Vec::new();
        while start.elapsed() < time {
            let began = Instant::now();
            let mut stream = Scene::connect_from(&client, server.address, Protocol::TCP, Some(cc));
            stream.write_all(&data).expect("it is open");
            stream.shutdown(Shutdown::Write).expect("it is open");
            let end = stream.read(&mut [0]).expect("the server ends");
            assert_eq!(end, 0);
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        times
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in [&self.client, &self.router, &self.server] {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}

fn configuration(cc: &str) -> String {
    format!("{NO_DEFAULT}congestion.default = \"{cc}\"\n{SETTINGS}")
}

/// One connection of four subflows that competes with flows of the kernel's algorithms.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn shares_at_the_queue_of_a_router() {
    let scene = scene_or_skip!("shares_at_the_queue_of_a_router");
    let network = Network::new();
    let mut failed = Vec::new();
    // The first is one more TCP flow of the others' kind: its shares show how far equal flows differ here.
    for algorithm in [None, Some("weft_amp"), Some("weft_warp")] {
        let daemon =
            scene.daemon_of_these(&network.ends(), &configuration(algorithm.unwrap_or("weft_dctcp")));
        for (cc, marks) in [("weft_dctcp", true), ("cubic", false), ("reno", false)] {
            network.set_marks(marks);
            let first = algorithm.is_none().then_some(cc);
            for others in [2, 4, 8] {
                let runs = 0..number("RUNS", 5);
                let mut shares: Vec<(f64, f64)> = runs
                    .map(|_| network.share(first, cc, others, number("SECONDS", 20)))
                    .collect();
                shares.sort_by(|a, b| a.0.total_cmp(&b.0));
                let (median, _) = shares[shares.len() / 2];
                let name = algorithm.unwrap_or("one more");
                eprintln!("{name} with {others} of {cc}: {median:.2} ({shares:.2?})");
                if algorithm.is_some() && marks && !(0.85..=1.15).contains(&median) {
                    failed.push((name, others, median));
                }
            }
        }
        daemon.stop();
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Flows of 64 KB one after another, and a flow that always has data.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn mice_and_an_elephant() {
    let scene = scene_or_skip!("mice_and_an_elephant");
    let network = Network::new();
    let mut means = Vec::new();
    for (what, default, cc) in [
        ("nothing", "weft_dctcp", None),
        ("DCTCP", "weft_dctcp", Some(Some("weft_dctcp"))),
        ("CUBIC", "weft_dctcp", Some(Some("cubic"))),
        ("AMP", "weft_amp", Some(None)),
        ("Warp", "weft_warp", Some(None)),
    ] {
        let daemon = scene.daemon_of_these(&network.ends(), &configuration(default));
        network.set_marks(true);
        let (elephant, mice) = (network.serve(), network.serve());
        let load = cc.map(|cc| network.load(elephant.address, cc));
        sleep(Duration::from_secs(2));
        let time = Duration::from_secs(number("SECONDS", 20));
        let times = network.completions(&mice, "weft_dctcp", 64_000, time);
        let (mean, p99) = (
            times.iter().sum::<f64>() / times.len() as f64,
            times[times.len() * 99 / 100],
        );
        eprintln!(
            "64 KB and {what}, {} flows: median {:.2}, mean {:.2}, p99 {:.2} ms",
            times.len(),
            1e3 * times[times.len() / 2],
            1e3 * mean,
            1e3 * p99
        );
        means.push((what, mean));
        drop(load);
        daemon.stop();
    }
    let mean = |what| means.iter().find(|(name, _)| *name == what).expect("a row").1;
    // CUBIC without ECN fills the queue, and marks cut the short flows to the smallest window.
    for what in ["DCTCP", "AMP", "Warp"] {
        assert!(mean(what) < 0.1 * mean("CUBIC"), "{means:?}");
    }
}
