//! Users, containers and peers that mean harm, all at once: `make soak-linux MINUTES=5`.
//!
//! The machine is busy with what the actors do, and with other work. Slices in which they act on the daemon therefore alternate with
//! slices in which they do the same elsewhere, so that only the harm to the daemon differs.
//!
//! The median of the decision latency is compared, because work that others cause delays all decisions. The 99th percentile is that of
//! the kernel, which handles the commands of all namespaces one after another (`genl_mutex`). A path manager of another namespace
//! holds the lock while it waits for the socket of its connection (`mptcp_pm_nl_subflow_create_doit`).

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket as Netlink, SocketAddr as NetlinkAddr};
use socket2::{Domain, Protocol, Socket, Type};
use weft_kernel::path_manager::{Command, Namespace, mptcp_subflows, open};
use weftd::status::{Decisions, Status};

use crate::hostile::{churn, event_ports, forged};
use crate::number;
use crate::scene::{Daemon, Scene, StockPeer, load, missing, wait};
use crate::scene_or_skip;

/// Connections that others have meanwhile, whose decisions are timed.
const LOADED: usize = 4;
/// The configured limits of subflows.
const COUNT: usize = 4;
const MAX_ACCEPTED: usize = 8;
/// Resident memory of the daemon, which is far below the unit's `MemoryMax` of 512 MB.
const MEGABYTES: u64 = 128;
/// Slices of each kind.
const SLICES: usize = 4;
/// The maximum of the median decision latency as a multiple of that of slices in which the actors act elsewhere.
const MAX_RATIO: f64 = 2.0;
/// The maximum part of a processor that the daemon takes: a fifth for the events of each namespace, and its decisions.
const MAX_PROCESSOR: f64 = 0.5;
/// The longest time without an arrival: several timeouts in a row, which back off, on a busy machine.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Time between two readings of what has arrived.
const STEP: Duration = Duration::from_millis(10);
/// Time between two changes of the marks, which make the algorithm decide.
const BURST: Duration = Duration::from_millis(500);

#[test]
#[ignore = "a soak: make soak-linux"]
fn invariants_hold_under_hostile_actors() {
    let scene = scene_or_skip!("invariants_hold_under_hostile_actors");
    let minutes = number("MINUTES", 5);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = taken.local_addr().expect("an address");
    let configuration =
        format!("metrics.listen = \"{listen}\"\n[suppression]\nrelease_after = \"0s\"\nmin_cycle = \"0s\"");
    let slice = Duration::from_secs(60 * minutes) / (2 * SLICES as u32);
    let mut figures = [Vec::new(), Vec::new()];
    let mut peer = None;
    for _ in 0..SLICES {
        for target in [Target::Elsewhere, Target::Daemon] {
            let of_slice = one_slice(&scene, &configuration, &mut peer, target, slice);
            figures[target as usize].push(of_slice);
        }
    }
    let [elsewhere, daemon] = figures.each_ref().map(|slices| {
        let mut p50: Vec<f64> = slices
            .iter()
            .map(|slice: &Figures| slice.decisions.p50_us)
            .collect();
        p50.sort_by(f64::total_cmp);
        f64::midpoint(p50[(SLICES - 1) / 2], p50[SLICES / 2])
    });
    let ratio = daemon / elsewhere;
    eprintln!("medians: {elsewhere:.0} us elsewhere and {daemon:.0} us, ratio {ratio:.2}");
    assert!(
        ratio <= MAX_RATIO,
        "the median is {ratio:.1} times its value while the actors act elsewhere"
    );
    drop(taken);
}

/// The target of the actors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    /// Sockets that the daemon does not serve: same calls, same packets.
    Elsewhere,
    Daemon,
}

/// Runs a daemon with its actors for a time, and checks what must hold.
fn one_slice(
    scene: &Scene,
    configuration: &str,
    peer: &mut Option<StockPeer>,
    target: Target,
    time: Duration,
) -> Figures {
    // It has the real-time priority of its unit. Otherwise actors that keep the processors busy delay it by their time slices.
    let daemon = scene.daemon(configuration);
    // Its listener takes an algorithm of the daemon's.
    let peer = peer.get_or_insert_with(|| scene.stock_peer());
    let actors = Actors::start(scene, peer, target);
    let before = daemon.cpu_seconds();
    let began = Instant::now();
    let mut figures = Soak::new(scene, &daemon).run(time);
    figures.processor = (daemon.cpu_seconds() - before) / began.elapsed().as_secs_f64();
    let done = actors.stop();
    assert!(done.iter().all(|(_, count)| *count > 0), "{done:?}");
    eprintln!("{target:?}: {figures:?}, {done:?}");
    assert!(figures.decisions.count > 50, "{:?}", figures.decisions);
    assert!(
        figures.processor <= MAX_PROCESSOR,
        "{:.2} of a processor",
        figures.processor
    );
    daemon.stop();
    figures
}

/// The values of a soak.
#[derive(Debug, Default)]
struct Figures {
    decisions: Decisions,
    megabytes: u64,
    accepted: usize,
    /// The longest time without an arrival, except while the status is asked for; no less than [`STEP`].
    pause: Duration,
    /// Part of a processor that the daemon took.
    processor: f64,
}

struct Soak<'a> {
    scene: &'a Scene,
    daemon: &'a Daemon,
}

impl<'a> Soak<'a> {
    fn new(scene: &'a Scene, daemon: &'a Daemon) -> Self {
        Self { scene, daemon }
    }

    /// Makes the algorithm decide again and again for a time, and checks what must hold.
    fn run(&self, time: Duration) -> Figures {
        let server = self.scene.serve();
        let loads: Vec<_> = (0..LOADED)
            .map(|_| load(self.scene.connect(server.address)))
            .collect();
        let joined = || {
            let additional = self
                .scene
                .subflows()
                .into_iter()
                .filter(|subflow| !subflow.initial);
            additional
                .filter(|subflow| subflow.subflow.remote == server.address)
                .count()
        };
        assert!(
            wait(30, || joined() == LOADED * (COUNT - 1)),
            "{} joins",
            joined()
        );
        let mut figures = Figures::default();
        let began = Instant::now();
        let (mut read, mut last) = (server.read(), Instant::now());
        while began.elapsed() < time {
            for on in [true, false] {
                self.scene.mark(on);
                let burst = Instant::now();
                while burst.elapsed() < BURST {
                    sleep(STEP);
                    let now = server.read();
                    // The time since the last step with an arrival, whether or not something arrives now.
                    figures.pause = figures.pause.max(last.elapsed());
                    if now > read {
                        (read, last) = (now, Instant::now());
                    }
                    assert!(last.elapsed() < MAX_PAUSE, "nothing arrives any more");
                }
            }
            self.check(&mut figures);
            last = Instant::now();
        }
        drop(loads);
        figures
    }

    fn check(&self, figures: &mut Figures) {
        let mut status = None;
        assert!(
            wait(10, || {
                status = self.scene.try_status();
                status.is_some()
            }),
            "the status does not answer"
        );
        let status: Status = status.expect("a status");
        assert_eq!(status.process, self.daemon.process());
        for connection in &status.connections {
            let limit = if connection.role == "client" {
                COUNT
            } else {
                MAX_ACCEPTED
            };
            let count = connection.subflows.len();
            assert!(count <= limit, "{count} subflows: {connection:?}");
        }
        figures.accepted = figures.accepted.max(self.accepted());
        figures.megabytes = figures.megabytes.max(self.daemon.megabytes());
        assert!(figures.megabytes <= MEGABYTES, "{} MB", figures.megabytes);
        figures.decisions = status.decisions;
    }

    /// Most established subflows of a connection of the client's namespace, in the kernel. The surplus of joins is closed
    /// after the kernel has accepted it.
    fn accepted(&self) -> usize {
        let seen = mptcp_subflows(&self.scene.client).unwrap_or_default();
        let established = seen.iter().filter(|subflow| subflow.established);
        let mut counts = std::collections::HashMap::new();
        for subflow in established {
            *counts.entry(subflow.token).or_insert(0) += 1;
        }
        counts.into_values().max().unwrap_or(0)
    }
}

/// Threads that do harm until they are stopped, each with a name and what it has done so often.
struct Actors {
    stop: Arc<AtomicBool>,
    threads: Vec<(&'static str, Arc<AtomicU64>, JoinHandle<()>)>,
}

impl Actors {
    fn start(scene: &Scene, peer: &StockPeer, target: Target) -> Self {
        let mut actors = Self {
            stop: Arc::default(),
            threads: Vec::new(),
        };
        let (client, to) = (scene.client.clone(), scene.serve().address);
        let protocol = match target {
            // The programs report no events of a TCP socket.
            Target::Elsewhere => Protocol::TCP,
            Target::Daemon => Protocol::MPTCP,
        };
        actors.add("toggles", move |stop, count| {
            toggle(&client, to, protocol, stop, count);
        });
        let client = scene.client.clone();
        actors.add("forged events", move |stop, count| {
            forge(&client, target, stop, count);
        });
        let namespace = peer.namespace();
        let victim = match target {
            Target::Elsewhere => Scene::serve_in(&namespace, Ipv4Addr::LOCALHOST.into()).address,
            Target::Daemon => scene.serve_stock_peer().address,
        };
        actors.add("joins", move |stop, count| join(&namespace, victim, stop, count));
        let cc = match target {
            Target::Elsewhere => "reno",
            Target::Daemon => "weft_amp",
        };
        for name in ["connections elsewhere", "more of them"] {
            let namespace = peer.namespace();
            actors.add(name, move |stop, count| churn(&namespace, cc, stop, count));
        }
        actors
    }

    fn add(&mut self, name: &'static str, act: impl FnOnce(&AtomicBool, &AtomicU64) + Send + 'static) {
        let (stop, count) = (Arc::clone(&self.stop), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&count);
        let thread = spawn(move || act(&stop, &counted));
        self.threads.push((name, count, thread));
    }

    fn stop(self) -> Vec<(&'static str, u64)> {
        self.stop.store(true, Ordering::Relaxed);
        let threads = self.threads.into_iter();
        threads
            .map(|(name, count, thread)| {
                thread.join().expect(name);
                (name, count.load(Ordering::Relaxed))
            })
            .collect()
    }
}

fn is_over(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

/// A user whose sockets change their congestion control without a pause. A socket belongs to the user that its thread is for
/// the file system.
fn toggle(client: &Namespace, to: SocketAddr, protocol: Protocol, stop: &AtomicBool, count: &AtomicU64) {
    nix::unistd::setfsuid(nix::unistd::Uid::from_raw(65534));
    let socket = client.run_in(|| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol))?;
        socket.connect(&to.into())?;
        Ok(socket)
    });
    let socket = socket.expect("a connection");
    while !is_over(stop) {
        for cc in [b"reno".as_slice(), b"weft_amp"] {
            socket.set_tcp_congestion(cc).expect("a congestion control");
        }
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// A container with `CAP_NET_ADMIN` that sends events of the kernel's form to the daemon's sockets, or to one of its own.
fn forge(client: &Namespace, target: Target, stop: &AtomicBool, count: &AtomicU64) {
    let socket = client.run_in(|| Netlink::new(NETLINK_GENERIC)).expect("a socket");
    let mut own = client.run_in(|| Netlink::new(NETLINK_GENERIC)).expect("a socket");
    let port = own.bind_auto().expect("a port").port_number();
    own.set_non_blocking(true).expect("a socket");
    let ports = match target {
        Target::Elsewhere => vec![port],
        Target::Daemon => event_ports(client),
    };
    let mut token = 0;
    let mut buffer = Vec::with_capacity(1 << 16);
    while !is_over(stop) {
        for _ in 0..100 {
            token += 1;
            for port in &ports {
                let sent = socket.send_to(&forged(token), &NetlinkAddr::new(*port, 0), 0);
                count.fetch_add(u64::from(sent.is_ok()), Ordering::Relaxed);
            }
        }
        while own.recv(&mut buffer, 0).is_ok() {
            buffer.clear();
        }
        sleep(Duration::from_millis(1));
    }
}

/// A peer whose path manager opens and announces without end.
fn join(peer: &Namespace, victim: SocketAddr, stop: &AtomicBool, count: &AtomicU64) {
    let set = || fs::write("/proc/sys/net/mptcp/pm_type", "1");
    peer.run_in(set).expect("a path manager of user space");
    let (commands, events) = open(peer).expect("a path manager");
    while !is_over(stop) {
        let socket = peer.run_in(|| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP))?;
            socket.connect_timeout(&victim.into(), Duration::from_secs(10))?;
            Ok(socket)
        });
        let Ok(mut socket) = socket else { continue };
        let local = socket.local_addr().ok().and_then(|address| address.as_socket());
        let _ = socket.write_all(&[0; 10_000]);
        let Some(local) = local else { continue };
        let mut token = None;
        let found = wait(5, || {
            let subflows = mptcp_subflows(peer).unwrap_or_default();
            let own = subflows
                .into_iter()
                .find(|subflow| subflow.subflow.local == local);
            token = own.map(|own| own.token);
            token.is_some()
        });
        let (true, Some(token)) = (found, token) else {
            continue;
        };
        let join = Command::CreateSubflow {
            token,
            local: local.ip(),
            local_id: 1,
            remote: victim,
            backup: false,
        };
        for round in 0..20_u8 {
            let announce = Command::Announce {
                token,
                address: Ipv4Addr::new(10, 97, round, 1).into(),
                id: round + 2,
                backup: false,
            };
            let _ = commands.send(&[[join; 10].as_slice(), &[announce]].concat());
            count.fetch_add(10, Ordering::Relaxed);
            let _ = events.receive(|_| {});
            if is_over(stop) {
                return;
            }
            sleep(Duration::from_millis(100));
        }
    }
}
