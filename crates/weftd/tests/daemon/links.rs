//! Paths between network namespaces over links in user space, for kernels without `netem` and RED: TUN devices, and threads that
//! queue, drop and delay packets as a router and a cable would.

use std::collections::VecDeque;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use tun_rs::{DeviceBuilder, SyncDevice};
use weft_kernel::path_manager::Namespace;

use crate::scene::ip;
use crate::soak::Chance;

/// More than the largest packet of a TUN device, which has no segmentation offload.
const LARGEST_PACKET: usize = 1 << 16;
/// Weight of the queue of one arrival in RED's average (Floyd and Jacobson, 1993, section 6).
const WEIGHT: f64 = 0.02;
const MBIT: u64 = 1_000_000;

/// A link's rate and the queue before it.
#[derive(Clone, Copy)]
pub struct Link {
    pub mbps: f64,
    pub queue: Queue,
}

/// The rule by which a queue drops, with lengths in packets per 10 Mbit/s of its link.
#[derive(Clone, Copy)]
pub enum Queue {
    /// RED as in the testbed of CoNEXT 2012, section 3: the probability is 0 up to an average of 25 packets, 0.1 at 50, and 1 at 100.
    Red,
    /// Packets that find this many waiting are dropped.
    DropTail(f64),
}

impl Queue {
    /// Returns the probability that a packet is dropped which finds this many packets, and this average.
    fn probability(self, now: f64, average: f64) -> f64 {
        match self {
            Self::Red if average <= 25.0 => 0.0,
            Self::Red if average <= 50.0 => 0.1 * (average - 25.0) / 25.0,
            Self::Red => 0.1 + 0.9 * (average - 50.0) / 50.0,
            Self::DropTail(limit) => f64::from(u8::from(now >= limit)),
        }
    }
}

/// A packet on its way: the time at which it is there, its bytes, and its path.
struct Transit {
    at: Instant,
    bytes: Vec<u8>,
    path: Arc<Path>,
    /// Links that it has behind it.
    passed: usize,
}

/// Where packets of one path go.
struct Path {
    links: Vec<Sender<Transit>>,
    delay: Duration,
    end: Mutex<Sender<Transit>>,
    carried: Arc<AtomicU64>,
}

impl Path {
    /// Passes a packet to the next link, or to the end of the path. Nobody takes it when the test ends.
    fn pass(transit: Transit) {
        let path = Arc::clone(&transit.path);
        if let Some(link) = path.links.get(transit.passed) {
            let _ = link.send(transit);
        } else {
            path.carried
                .fetch_add(transit.bytes.len() as u64, Ordering::Relaxed);
            let at = transit.at + path.delay;
            let _ = path.end.lock().expect("the end").send(Transit { at, ..transit });
        }
    }
}

/// Network namespaces of clients and one server, and the paths between them.
pub struct Network {
    pub clients: Vec<String>,
    pub server: String,
    /// IP bytes that each path of each client has carried towards the server.
    carried: Vec<Vec<Arc<AtomicU64>>>,
}

impl Network {
    /// Each client has the listed paths, each over links with these indices; a round-trip time without queues is `rtt`.
    pub fn new(links: &[Link], clients: &[Vec<Vec<usize>>], rtt: Duration) -> Self {
        let own = std::process::id();
        let name = |what: &str| format!("weftd-test-{own}-{what}");
        let (names, server): (Vec<String>, _) = (
            (0..clients.len()).map(|n| name(&format!("client{n}"))).collect(),
            name("server"),
        );
        for name in names.iter().chain([&server]) {
            ip(&["netns", "add", name]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
            Namespace::named(name).run_in(large_buffers).expect("settings");
        }
        let entries: Vec<_> = (0..).zip(links).map(|(n, link)| open(*link, n)).collect();
        let connect = |client: usize, path: usize, over: &[usize]| {
            let cable = 10 * client + path;
            let prefix = format!("10.78.{cable}");
            let device = format!("v{cable}");
            let [near, far] = [(&names[client], 1), (&server, 2)].map(|(name, end)| {
                // In the namespace of this process until it is moved, so its name is unique.
                let unique = format!("wl{own}-{end}");
                let opened = DeviceBuilder::new()
                    .name(&unique)
                    .build_sync()
                    .expect("a TUN device");
                ip(&["link", "set", "dev", &unique, "netns", name, "name", &device]);
                let address = format!("{prefix}.{end}/24");
                ip(&["-n", name, "address", "add", &address, "dev", &device]);
                ip(&["-n", name, "link", "set", &device, "txqueuelen", "2000", "up"]);
                Arc::new(opened)
            });
            // A subflow from an address of this path uses it, whatever address of the server it goes to.
            let (from, table) = (format!("{prefix}.1"), (100 + cable).to_string());
            let client = names[client].as_str();
            ip(&[
                "-n", client, "route", "add", "default", "dev", &device, "table", &table,
            ]);
            ip(&["-n", client, "rule", "add", "from", &from, "table", &table]);
            let carried = Arc::new(AtomicU64::new(0));
            let over = over.iter().map(|link| entries[*link].clone()).collect();
            forward(
                Arc::clone(&near),
                Arc::clone(&far),
                over,
                rtt / 2,
                Arc::clone(&carried),
            );
            forward(far, near, Vec::new(), rtt / 2, Arc::default());
            carried
        };
        let carried = (0..).zip(clients).map(|(client, paths)| {
            let each = (0..).zip(paths);
            each.map(|(path, over)| connect(client, path, over)).collect()
        });
        Self {
            carried: carried.collect(),
            clients: names,
            server,
        }
    }

    /// Returns the addresses of the clients at their paths.
    pub fn addresses(&self) -> Vec<String> {
        let each = self.carried.iter().enumerate();
        each.flat_map(|(client, paths)| (0..paths.len()).map(move |path| address(client, path)))
            .collect()
    }

    /// Returns the IP bytes that each path of each client has carried towards the server.
    pub fn carried(&self) -> Vec<Vec<u64>> {
        let read = |paths: &Vec<Arc<AtomicU64>>| paths.iter().map(|n| n.load(Ordering::Relaxed)).collect();
        self.carried.iter().map(read).collect()
    }
}

/// Makes windows of congestion control the limit. The packet scheduler gives 64 KB at a time to one subflow. At a window of two
/// packets these take seconds, and what the other subflow sends meanwhile must have room.
fn large_buffers() -> std::io::Result<()> {
    std::fs::write("/proc/sys/net/ipv4/tcp_wmem", "4096 8388608 16777216")?;
    std::fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 8388608 16777216")
}

/// The address of a client at one of its paths; that of the server there ends in 2.
fn address(client: usize, path: usize) -> String {
    format!("10.78.{}.1", 10 * client + path)
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in self.clients.iter().chain([&self.server]) {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}

/// Starts a link, and returns where packets for it go. The seed of its drops is its number.
fn open(link: Link, number: u64) -> Sender<Transit> {
    let (entry, arrived) = channel();
    let (leaves, sent) = channel();
    spawn(move || queue(link, number, &arrived, &leaves));
    spawn(move || {
        for transit in sent {
            let Transit { at, .. } = transit;
            sleep(at.saturating_duration_since(Instant::now()));
            Path::pass(transit);
        }
    });
    entry
}

/// Drops packets, or passes them on with the time at which the link has sent them.
fn queue(link: Link, seed: u64, arrived: &Receiver<Transit>, leaves: &Sender<Transit>) {
    let mut chance = Chance::new(seed);
    let unit = link.mbps / 10.0;
    let (mut waiting, mut average) = (VecDeque::new(), 0.0);
    let mut free = Instant::now();
    while let Ok(transit) = arrived.recv() {
        let now = transit.at;
        while waiting.front().is_some_and(|departure| *departure <= now) {
            waiting.pop_front();
        }
        let length = waiting.len() as f64 / unit;
        average += WEIGHT * (length - average);
        let drops = link.queue.probability(length, average) * MBIT as f64;
        if (chance.below(MBIT as usize) as f64) < drops {
            continue;
        }
        let bits = 8.0 * transit.bytes.len() as f64;
        free = free.max(now) + Duration::from_secs_f64(bits / (link.mbps * MBIT as f64));
        waiting.push_back(free);
        if leaves
            .send(Transit {
                at: free,
                passed: transit.passed + 1,
                ..transit
            })
            .is_err()
        {
            return;
        }
    }
}

/// Carries what leaves one device over links to another one.
fn forward(
    from: Arc<SyncDevice>,
    to: Arc<SyncDevice>,
    links: Vec<Sender<Transit>>,
    delay: Duration,
    carried: Arc<AtomicU64>,
) {
    let (end, due) = channel::<Transit>();
    let path = Arc::new(Path {
        links,
        delay,
        end: Mutex::new(end),
        carried,
    });
    spawn(move || {
        let mut buffer = vec![0; LARGEST_PACKET];
        while let Ok(len) = from.recv(&mut buffer) {
            Path::pass(Transit {
                at: Instant::now(),
                bytes: buffer[..len].to_vec(),
                path: Arc::clone(&path),
                passed: 0,
            });
        }
    });
    spawn(move || {
        for transit in due {
            sleep(transit.at.saturating_duration_since(Instant::now()));
            if to.send(&transit.bytes).is_err() {
                return;
            }
        }
    });
}
