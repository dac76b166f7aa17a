//! Redis and `HAProxy` over one and two paths, with losses and with a failed path. `make measure-linux`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::{self, sleep, spawn};
use std::time::{Duration, Instant};

use libbpf_rs::TC_INGRESS;
use weft_kernel::path_manager::Namespace;
use weft_test_support::skip;

use crate::number;
use crate::paths::{FULL_MESH, Hosts};
use crate::scene::{NO_DEFAULT, Plan, Scene, ip, missing, wait};
use crate::scene_or_skip;

/// Mbit/s of each path.
const RATE: u64 = 100;
const SERVER: &str = "10.77.0.2";
const REDIS: &str = "6379";
const PROXY: u16 = 8080;
const BACKEND: u16 = 8081;
/// Bytes of a file that is sent through `HAProxy`.
const FILE: usize = 60_000_000;
/// Kernel's path manager with this algorithm, without a daemon.
const LINUX: &str = "cubic";

/// The state of the paths.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Paths {
    One,
    Two,
    /// Two, of which each loses 1 % of the packets.
    Lossy,
    /// Two, of which the first loses everything for five seconds.
    Failed,
}

#[test]
#[ignore = "a measurement: make measure-linux"]
fn redis_and_haproxy_over_one_and_two_paths() {
    let scene = scene_or_skip!("redis_and_haproxy_over_one_and_two_paths");
    for program in ["redis-server", "redis-benchmark", "haproxy", "curl", "mptcpize"] {
        if Command::new(program).arg("--version").output().is_err() {
            skip(
                "redis_and_haproxy_over_one_and_two_paths",
                &format!("no `{program}`"),
            );
            return;
        }
    }
    for _ in 0..number("RUNS", 1) {
        for paths in [Paths::One, Paths::Two, Paths::Lossy, Paths::Failed] {
            for cc in [LINUX, "weft_lia", "weft_amp"] {
                measure(&scene, cc, paths);
            }
        }
    }
}

fn measure(scene: &Scene, cc: &str, paths: Paths) {
    let hosts = Hosts::new(&[RATE, RATE]);
    let both = [hosts.client(), hosts.server()];
    let count = if paths == Paths::One { 1 } else { 2 };
    let daemon = (cc != LINUX).then(|| {
        let settings =
            format!("{NO_DEFAULT}congestion.default = \"{cc}\"\n{FULL_MESH}subflows.count = {count}\n");
        scene.daemon_of_these(&both, &settings)
    });
    if cc == LINUX {
        with_cubic(&hosts, count);
    }
    let losses = (0..2).map(|n| {
        let device = format!("v{n}");
        Plan::attached(
            weft_test_support::DISORDER,
            &Namespace::named(hosts.server()),
            &device,
            TC_INGRESS,
        )
    });
    let losses: Vec<_> = losses.collect();
    if paths == Paths::Lossy {
        for loss in &losses {
            loss.set(0, 100);
        }
    }
    let fails = paths == Paths::Failed;
    let redis = Server::start(
        hosts.server(),
        &[
            "redis-server",
            "--port",
            REDIS,
            "--save",
            "",
            "--protected-mode",
            "no",
        ],
        REDIS.parse().expect("a port"),
    );
    let small = redis_benchmark(&hosts, 30_000, 100, 50, false);
    let large = redis_benchmark(&hosts, 2_500, 65_536, 4, fails);
    drop(redis);
    let seconds = proxied(&hosts, fails);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    eprintln!(
        "{paths:?}, {cc}: SET of 100 bytes {small:?}; SET of 64 KiB {large:?}; HAProxy {:.0} Mbit/s; load {}",
        8e-6 * FILE as f64 / seconds,
        load.split(' ').next().unwrap_or_default()
    );
    if let Some(daemon) = daemon {
        daemon.stop();
    }
}

/// Gives connections of the client CUBIC by its routes, and additional subflows by the kernel's path manager.
fn with_cubic(hosts: &Hosts, count: usize) {
    for n in 0..2 {
        let (network, device) = (format!("10.77.{n}.0/24"), format!("v{n}"));
        let (from, table) = (format!("10.77.{n}.1"), (100 + n).to_string());
        let via = format!("10.77.{n}.2");
        let client = ["-n", hosts.client(), "route", "replace"];
        let connected = [&network, "dev", &device, "src", &from, "congctl", LINUX];
        ip(&[&client[..], &connected].concat());
        let default = [
            "default", "via", &via, "dev", &device, "table", &table, "congctl", LINUX,
        ];
        ip(&[&client[..], &default].concat());
    }
    for name in [hosts.client(), hosts.server()] {
        let limits = ["limits", "set", "subflow", "4", "add_addr_accepted", "4"];
        ip(&[&["-n", name, "mptcp"], &limits[..]].concat());
    }
    if count == 2 {
        let second = ["endpoint", "add", "10.77.1.1", "dev", "v1", "subflow"];
        ip(&[&["-n", hosts.client(), "mptcp"], &second[..]].concat());
    }
}

/// A program that listens in a namespace.
struct Server(Child);

impl Server {
    fn start(namespace: &str, program: &[&str], port: u16) -> Self {
        let server = within(namespace, program).stdout(Stdio::null()).spawn();
        let server = Self(server.expect("a server"));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listens = || {
            Namespace::named(namespace)
                .run_in(|| TcpStream::connect(address))
                .is_ok()
        };
        assert!(wait(10, listens), "{program:?} does not listen");
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn within(namespace: &str, program: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", namespace, "mptcpize", "run"])
        .args(program);
    command
}

/// Requests per second, and the median, the 99th percentile and the maximum of their times in milliseconds.
#[derive(Debug)]
#[allow(dead_code, reason = "printed")]
struct Requests {
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

fn redis_benchmark(hosts: &Hosts, requests: u32, bytes: u32, clients: u32, fails: bool) -> Requests {
    let (requests, bytes, clients) = (requests.to_string(), bytes.to_string(), clients.to_string());
    let benchmark = ["redis-benchmark", "-h", SERVER, "-p", REDIS, "-t", "set", "--csv"];
    let sizes = ["-n", &requests, "-d", &bytes, "-c", &clients];
    let benchmark = within(hosts.client(), &[&benchmark[..], &sizes].concat())
        .stdout(Stdio::piped())
        .spawn();
    let benchmark = benchmark.expect("redis-benchmark");
    if fails {
        fail(hosts);
    }
    let output = benchmark.wait_with_output().expect("redis-benchmark");
    let output = String::from_utf8_lossy(&output.stdout);
    let line = output
        .lines()
        .find(|line| line.starts_with("\"SET\""))
        .expect(&output);
    let numbers: Vec<f64> = line
        .split(',')
        .filter_map(|field| field.trim_matches('"').parse().ok())
        .collect();
    let [per_second, _, _, p50_ms, _, p99_ms, max_ms] = numbers[..] else {
        panic!("{output}");
    };
    Requests {
        per_second,
        p50_ms,
        p99_ms,
        max_ms,
    }
}

/// Lets the first path lose everything for five seconds, one second from now.
fn fail(hosts: &Hosts) {
    sleep(Duration::from_secs(1));
    hosts.lose(0, true);
    sleep(Duration::from_secs(5));
    hosts.lose(0, false);
}

/// Sends a file through `HAProxy`, and returns the seconds that it takes.
fn proxied(hosts: &Hosts, fails: bool) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let (configuration, file) = (folder.path().join("haproxy.cfg"), folder.path().join("file"));
    let text = format!(
        "defaults\n mode http\n timeout connect 10s\n timeout client 60s\n timeout server 60s\n\
         listen proxy\n bind :{PROXY}\n server backend 127.0.0.1:{BACKEND}\n"
    );
    std::fs::write(&configuration, text).expect("a configuration");
    std::fs::write(&file, vec![0; FILE]).expect("a file");
    let backend = Namespace::named(hosts.server())
        .run_in(|| TcpListener::bind((Ipv4Addr::LOCALHOST, BACKEND)))
        .expect("a listener");
    spawn(move || backend.incoming().flatten().for_each(answer));
    let configuration = configuration.display().to_string();
    let _proxy = Server::start(hosts.server(), &["haproxy", "-db", "-f", &configuration], PROXY);
    let (file, url) = (file.display().to_string(), format!("http://{SERVER}:{PROXY}/"));
    let began = Instant::now();
    let curl = within(
        hosts.client(),
        &["curl", "-sS", "-f", "-H", "Expect:", "-T", &file, &url],
    )
    .spawn();
    let mut curl = curl.expect("curl");
    thread::scope(|scope| {
        if fails {
            scope.spawn(|| fail(hosts));
        }
        assert!(curl.wait().expect("curl").success());
        began.elapsed().as_secs_f64()
    })
}

/// Reads a request with a body and answers it.
fn answer(stream: TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let _ = std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink());
    let _ = reader
        .get_mut()
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}
