//! Peers, users and containers that mean harm.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command as Process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr as NetlinkAddr};
use socket2::{Domain, Protocol, Socket as MptcpSocket, Type};
use weft_kernel::path_manager::{Command, Namespace, mptcp_subflows, open};
use weft_test_support::mptcp_event::established as established_event;
use weftd::daemon::settings;

use crate::scene::{Scene, load, missing, stays, until};
use crate::scene_or_skip;

fn established(namespace: &Namespace) -> usize {
    let subflows = mptcp_subflows(namespace).expect("subflows");
    subflows.iter().filter(|subflow| subflow.established).count()
}

/// The kernel of the server's namespace accepts each of them.
#[test]
fn a_peer_without_weftd_that_joins_two_hundred_times_gets_as_many_subflows_as_configured() {
    let scene = scene_or_skip!(
        "a_peer_without_weftd_that_joins_two_hundred_times_gets_as_many_subflows_as_configured"
    );
    scene
        .client
        .run_in(|| fs::write("/proc/sys/net/mptcp/pm_type", "1"))
        .expect("a path manager of user space");
    for limit in [8, 20] {
        let configuration = format!("subflows.max_accepted = {limit}");
        let daemon = scene.daemon_of_these(&[&scene.server_name()], &configuration);
        join_without_end(&scene, limit);
        daemon.stop();
    }
}

fn join_without_end(scene: &Scene, limit: usize) {
    let (commands, _events) = open(&scene.client).expect("a path manager");
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    stream.write_all(&[0; 10_000]).unwrap();
    until("its bytes arrive", || server.read() == 10_000);
    let subflows = mptcp_subflows(&scene.client).expect("subflows");
    let join = Command::CreateSubflow {
        token: subflows.first().expect("a subflow").token,
        local: stream.local_addr().unwrap().ip(),
        local_id: 1,
        remote: server.address,
        backup: false,
    };
    for _ in 0..10 {
        commands.send(&[join; 20]).expect("commands");
    }
    until("the limit", || established(&scene.server) == limit);
    stays("the limit", Duration::from_secs(1), || {
        established(&scene.server) == limit
    });
    let status = scene.status();
    let connection = status.connections.iter().find(|c| c.role == "server").unwrap();
    assert_eq!(connection.subflows.len(), limit);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("data still arrives", || server.read() == 1_010_000);
    drop(stream);
    until("the connection closes", || established(&scene.server) == 0);
}

/// Netlink ports of sockets that listen to generic netlink's groups in a namespace.
pub fn event_ports(namespace: &Namespace) -> Vec<u32> {
    let table = namespace
        .run_in(|| fs::read_to_string("/proc/thread-self/net/netlink"))
        .expect("the namespace's sockets");
    let ports = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let groups = u32::from_str_radix(fields.get(3)?, 16).ok()?;
        let port = fields.get(2)?.parse().ok()?;
        (*fields.get(1)? == "16" && groups != 0 && port != 0).then_some(port)
    });
    ports.collect()
}

/// Returns an event that says a connection is established, as the kernel writes it.
pub fn forged(token: u32) -> Vec<u8> {
    established_event(token, [10, 99, 0, 1], [10, 99, 0, 2])
}

#[test]
fn events_that_a_container_forges_are_ignored() {
    let scene = scene_or_skip!("events_that_a_container_forges_are_ignored");
    let daemon = scene.daemon("");
    let ports = event_ports(&scene.client);
    assert!(!ports.is_empty(), "the daemon listens in the client's namespace");
    let socket = scene
        .client
        .run_in(|| Socket::new(NETLINK_GENERIC))
        .expect("a socket");
    let mut delivered = 0;
    for token in 1..=1000 {
        for port in &ports {
            let sent = socket.send_to(&forged(token), &NetlinkAddr::new(*port, 0), 0);
            delivered += usize::from(sent.is_ok());
        }
    }
    assert!(delivered > 0, "the kernel delivers them");
    for port in &ports {
        let _ = socket.send_to(b"malformed message", &NetlinkAddr::new(*port, 0), 0);
    }
    stays("no connection", Duration::from_millis(500), || {
        scene.status().connections.is_empty()
    });
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("three joins", || scene.subflows().len() == 4);
    daemon.stop();
}

#[test]
fn a_metrics_port_that_is_taken_stops_neither_a_start_nor_a_reload() {
    let scene = scene_or_skip!("a_metrics_port_that_is_taken_stops_neither_a_start_nor_a_reload");
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = other.local_addr().unwrap();
    let configuration = format!("metrics.listen = \"{address}\"\n[subflows]\ncount = 2");
    let daemon = scene.daemon(&configuration.replace("count = 2", "count = 3"));
    scene.configure(&configuration);
    scene.reload(&daemon);
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("one join, as configured at the reload", || {
        scene.subflows().len() == 2
    });
    drop(other);
    until("metrics are served", || {
        TcpStream::connect(address).is_ok_and(|mut client| {
            let mut answer = String::new();
            let asked = client.write_all(b"GET /metrics HTTP/1.0\r\n\r\n");
            asked.and_then(|()| client.read_to_string(&mut answer)).is_ok()
                && answer.contains("weft_connections")
        })
    });
    daemon.stop();
}

/// Each has an answer of its own to write.
#[test]
fn callers_of_the_status_that_do_not_read_do_not_end_the_daemon() {
    let scene = scene_or_skip!("callers_of_the_status_that_do_not_read_do_not_end_the_daemon");
    let daemon = scene.daemon("");
    let path = scene.folder.path().join("status");
    let callers: Vec<_> = (0..100)
        .filter_map(|_| std::os::unix::net::UnixStream::connect(&path).ok())
        .collect();
    assert!(callers.len() > 8, "{}", callers.len());
    sleep(Duration::from_secs(1));
    drop(callers);
    until("it answers", || scene.try_status().is_some());
    daemon.stop();
}

/// Opens connections over the loopback of a namespace without a pause, each of which gets an algorithm at both ends.
pub fn churn(namespace: &Namespace, cc: &str, stop: &AtomicBool, count: &AtomicU64) {
    let churn = || {
        let socket = || MptcpSocket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP));
        let listener = socket()?;
        listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        listener.listen(128)?;
        let address = listener.local_addr()?;
        while !stop.load(Ordering::Relaxed) {
            let client = socket()?;
            client.connect(&address)?;
            let (server, _) = listener.accept()?;
            for end in [&client, &server] {
                end.set_tcp_congestion(cc.as_bytes())?;
            }
            // So that no port waits for its end.
            client.set_linger(Some(Duration::ZERO))?;
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    namespace.run_in(churn).expect("connections");
}

/// Users of the machine, in a namespace that is not served.
#[test]
fn two_processes_that_open_connections_without_a_pause_cost_the_daemon_little() {
    let scene = scene_or_skip!("two_processes_that_open_connections_without_a_pause_cost_the_daemon_little");
    let name = format!("weftd-test-{}-else", std::process::id());
    let ip = |arguments: &[&str]| assert!(Process::new("ip").args(arguments).status().unwrap().success());
    ip(&["netns", "add", &name]);
    ip(&["-n", &name, "link", "set", "lo", "up"]);
    let namespace = Namespace::named(&name);
    let daemon = scene.daemon("");
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let seconds = 4;
    let cost = std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| churn(&namespace, "weft_amp", &stop, &count));
        }
        sleep(Duration::from_secs(1));
        let before = daemon.cpu_seconds();
        sleep(Duration::from_secs(seconds));
        let cost = daemon.cpu_seconds() - before;
        stop.store(true, Ordering::Relaxed);
        cost
    });
    ip(&["netns", "delete", &name]);
    let part = cost / seconds as f64;
    let rate = count.load(Ordering::Relaxed) / (seconds + 1);
    eprintln!(
        "{rate} connections a second: {:.1} % of a processor",
        100.0 * part
    );
    assert!(rate > 100, "{rate} connections a second");
    assert!(
        part < 0.05,
        "{part} of a processor at {rate} connections a second"
    );
    daemon.stop();
}

/// Its settings cannot be remembered; joins that the kernel accepts would have no limit.
#[test]
fn a_namespace_whose_settings_fail_is_served_later() {
    let scene = scene_or_skip!("a_namespace_whose_settings_fail_is_served_later");
    let name = format!("weftd-test-{}-late", std::process::id());
    let ip = |verb: &str| Process::new("ip").args(["netns", verb, &name]).status().unwrap();
    let daemon = scene.daemon_of_these(&[&name], "");
    let obstacle = scene.folder.path().join("settings.new");
    fs::create_dir(&obstacle).unwrap();
    assert!(ip("add").success());
    let namespace = Namespace::named(&name);
    until("the failure", || daemon.has_logged("not served yet"));
    let mode = || settings::read(&namespace, "net.mptcp.pm_type").unwrap_or_default();
    assert_eq!(mode(), "0");
    assert!(
        event_ports(&namespace).is_empty(),
        "no listener, so the kernel accepts no joins"
    );
    fs::remove_dir(&obstacle).unwrap();
    until("it is served", || mode() == "1");
    daemon.stop();
    assert!(ip("delete").success());
}

/// Each second of the flood, events are lost and all connections are read.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn a_flood_beside_thousands_of_idle_connections_leaves_decisions_fast() {
    let scene = scene_or_skip!("a_flood_beside_thousands_of_idle_connections_leaves_decisions_fast");
    let count = crate::number("WEFT_IDLE", 10_000);
    let daemon = scene.daemon("");
    let idle = scene.serve_idle(count as i32);
    let address = idle.local_addr().unwrap();
    let _idle: Vec<_> = (0..count).map(|_| scene.connect(address)).collect();
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || {
        scene.subflows().iter().filter(|s| !s.initial).count() == 3
    });
    let toggled = scene.connect(server.address);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let toggling = spawn(move || {
        let socket = socket2::SockRef::from(&toggled);
        while !stopped.load(Ordering::Relaxed) {
            socket.set_tcp_congestion(b"reno").unwrap();
            socket.set_tcp_congestion(b"weft_amp").unwrap();
        }
    });
    let (before, seconds) = (daemon.cpu_seconds(), 20);
    for burst in 0..seconds {
        scene.mark(burst % 2 == 0);
        sleep(Duration::from_secs(1));
    }
    let part = (daemon.cpu_seconds() - before) / f64::from(seconds);
    stop.store(true, Ordering::Relaxed);
    toggling.join().unwrap();
    let decisions = scene.status().decisions;
    eprintln!(
        "{count} idle connections and a flood: {:.1} % of a processor, {decisions:?}",
        100.0 * part
    );
    assert!(decisions.count > 0 && decisions.p99_us < 1e6, "{decisions:?}");
    assert_eq!(scene.status().process, daemon.process());
    daemon.stop();
}
