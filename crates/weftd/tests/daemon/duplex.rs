//! Downloads of a connection that also uploads over paths with little upload rate. `make measure-linux`.

use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use socket2::Protocol;
use weft_kernel::path_manager::Namespace;

use crate::fabric::port;
use crate::paths::{FULL_MESH, Hosts, MARK, joined};
use crate::scene::{NO_DEFAULT, Plan, Scene, load, missing, tc, until};
use crate::{number, scene_or_skip};

/// Rates of each of two paths in Mbit/s.
const UPLOAD: u64 = 5;
const DOWNLOAD: u64 = 100;
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// The connection that uploads.
#[derive(Clone, Copy, PartialEq)]
enum Upload {
    None,
    SameConnection,
    OtherConnection,
}

/// Two paths, slow in the direction from the client to the server.
struct Paths {
    hosts: Hosts,
    _marks: Vec<Plan>,
}

impl Paths {
    /// With `express`, acknowledgements of the client do not wait behind its data.
    fn new(express: bool) -> Self {
        let hosts = Hosts::new(&[UPLOAD; 2]);
        let device = |n: usize| format!("v{n}");
        let marks = (0..2).map(|n| port(hosts.server(), &device(n), DOWNLOAD, MARK));
        let marks = marks.collect();
        for device in (0..2).map(device).filter(|_| express) {
            let on = |kind: &str, more: &[&str]| {
                tc(&[&["-n", hosts.client(), kind, "add", "dev", &device][..], more].concat());
            };
            on(
                "class",
                &["parent", "1:", "classid", "1:2", "htb", "rate", "100mbit"],
            );
            // IPv4 packets of less than 128 bytes.
            on(
                "filter",
                &[
                    "parent", "1:", "protocol", "ip", "prio", "1", "u32", "match", "u16", "0", "0xff80",
                    "at", "2", "flowid", "1:2",
                ],
            );
        }
        Self { hosts, _marks: marks }
    }

    fn connect(&self, to: SocketAddr) -> TcpStream {
        Scene::connect_from(&Namespace::named(self.hosts.client()), to, Protocol::MPTCP, None)
    }

    /// Returns the goodput of a download and of the upload in Mbit/s.
    fn goodputs(&self, upload: Upload, seconds: u64) -> [f64; 2] {
        let server = Namespace::named(self.hosts.server());
        let (both, sink) = (
            Scene::serve_both_ways_in(&server, ADDRESS.into()),
            Scene::serve_in(&server, ADDRESS.into()),
        );
        let download = self.connect(both.address);
        let received = counted(download.try_clone().expect("a handle"));
        let _load = match upload {
            Upload::None => None,
            Upload::SameConnection => Some(load(download.try_clone().expect("a handle"))),
            Upload::OtherConnection => Some(load(self.connect(sink.address))),
        };
        let subflows = if upload == Upload::OtherConnection { 4 } else { 2 };
        until("both paths", || joined(&self.hosts) >= subflows);
        sleep(Duration::from_secs(3));
        let read = || [received.load(Ordering::Relaxed), both.read() + sink.read()];
        let before = read();
        sleep(Duration::from_secs(seconds));
        let after = read();
        let _ = download.shutdown(Shutdown::Both);
        [0, 1].map(|i| 8e-6 * (after[i] - before[i]) as f64 / seconds as f64)
    }
}

/// Reads a connection to its end, and counts the bytes.
fn counted(mut stream: TcpStream) -> Arc<AtomicU64> {
    let received = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&received);
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(n) = stream.read(&mut buffer)
            && n > 0
        {
            counter.fetch_add(n as u64, Ordering::Relaxed);
        }
    });
    received
}

/// Separates what an upload costs a download by acknowledgements that wait behind it, and by subflows that are out of use.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn uploads_that_compete_with_downloads() {
    let scene = scene_or_skip!("uploads_that_compete_with_downloads");
    for cc in ["weft_dctcp", "weft_amp", "weft_warp"] {
        for express in [false, true] {
            let paths = Paths::new(express);
            let both = [paths.hosts.client(), paths.hosts.server()];
            let settings =
                format!("{NO_DEFAULT}congestion.default = \"{cc}\"\nsubflows.count = 2\n{FULL_MESH}");
            let daemon = scene.daemon_of_these(&both, &settings);
            for (what, upload) in [
                ("no upload", Upload::None),
                ("upload of the same connection", Upload::SameConnection),
                ("upload of another connection", Upload::OtherConnection),
            ] {
                let runs = (0..number("RUNS", 3)).map(|_| paths.goodputs(upload, number("SECONDS", 10)));
                let mut runs: Vec<_> = runs.collect();
                runs.sort_by(|a, b| a[0].total_cmp(&b[0]));
                let [down, up] = runs[runs.len() / 2];
                let acks = if express {
                    "acknowledgements first"
                } else {
                    "one queue"
                };
                eprintln!("{cc}, {acks}, {what}: download {down:.0}, upload {up:.1} Mbit/s: {runs:.1?}");
                assert!(down > 0.0, "nothing arrived");
            }
            daemon.stop();
        }
    }
}
