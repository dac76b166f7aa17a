//! Other users of a machine, and namespaces that come and go.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use weft_kernel::path_manager::Namespace;
use weftd::daemon::settings;
use weftd::status::Status;

use crate::scene::{Scene, load, missing, stays, until, wait};
use crate::scene_or_skip;

/// Where the BPF file system is mounted as it is by default, everybody may make a folder.
#[test]
fn another_users_folder_in_the_place_of_the_pins_is_not_used() {
    let scene = scene_or_skip!("another_users_folder_in_the_place_of_the_pins_is_not_used");
    let pins = "/sys/fs/bpf/weft";
    fs::DirBuilder::new().mode(0o777).create(pins).unwrap();
    std::os::unix::fs::chown(pins, Some(65534), Some(65534)).unwrap();
    let daemon = scene.daemon("");
    let folder = fs::metadata(pins).unwrap();
    assert_eq!((folder.uid(), folder.mode() & 0o022), (0, 0));
    daemon.stop();
}

#[test]
fn a_missing_capability_is_named() {
    let scene = scene_or_skip!("a_missing_capability_is_named");
    let refused = Command::new("setpriv")
        .args(["--bounding-set=-net_admin", "--inh-caps=-net_admin"])
        .args([env!("CARGO_BIN_EXE_weftd"), "attach"])
        .env("RUNTIME_DIRECTORY", scene.folder.path())
        .output()
        .unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(3), "{message}");
    assert!(message.starts_with("weftd: CAP_NET_ADMIN missing"), "{message}");
}

#[test]
fn a_namespace_is_served_when_it_comes_and_let_go_when_it_goes() {
    let scene = scene_or_skip!("a_namespace_is_served_when_it_comes_and_let_go_when_it_goes");
    let name = format!("weftd-test-{}-later", std::process::id());
    let ip = |verb: &str| Command::new("ip").args(["netns", verb, &name]).status().unwrap();
    let daemon = scene.daemon_of_these(&[&name], "");
    let algorithm =
        || settings::read(&Namespace::named(&name), "net.ipv4.tcp_congestion_control").unwrap_or_default();
    for _ in 0..2 {
        assert!(ip("add").success());
        until("it is served", || algorithm() == "weft_amp");
        // With a namespace its interfaces go, and the other ends of their cables.
        scene.cable_to(&name);
        assert!(ip("delete").success());
        until("nobody holds it", || !scene.has_cable());
    }
    daemon.stop();
}

/// Bytes of a download in 100 ms from which it carries more than an upload of 200 Mbit/s. Linux 6.18 now and then carries 32 KB per
/// 200 ms for seconds where a connection sends and receives, with CUBIC, too.
const PAUSE: u64 = 2_500_000;

/// The kernel takes a backup out of use in both directions.
#[test]
fn a_download_is_not_suppressed_for_the_sake_of_an_upload() {
    let scene = scene_or_skip!("a_download_is_not_suppressed_for_the_sake_of_an_upload");
    let _daemon = scene.daemon("");
    let server = scene.serve_both_ways();
    let stream = scene.connect(server.address);
    let mut reader = stream.try_clone().unwrap();
    let received = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&received);
    let drain = spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(n @ 1..) = reader.read(&mut buffer) {
            counter.fetch_add(n as u64, Ordering::Relaxed);
        }
    });
    // As much as 200 Mbit/s carry, against what comes without a limit.
    let upload = load(stream.try_clone().unwrap());
    until("three joins", || scene.subflows().len() == 4);
    until("the download is under way", || {
        received.load(Ordering::Relaxed) > 1 << 28
    });
    scene.mark(true);
    let client = || {
        let status = scene.status();
        let mut clients = status.connections.into_iter().filter(|c| c.role == "client");
        clients.next().unwrap()
    };
    let asked = wait(60, || client().suppressions > 0);
    assert!(asked, "the algorithm never asks for suppression");
    until("it is not obeyed", || !client().suppressed);
    let mut before = received.load(Ordering::Relaxed);
    for _ in 0..20 {
        sleep(Duration::from_millis(100));
        let now = received.load(Ordering::Relaxed);
        if now - before < PAUSE {
            eprintln!("the download pauses");
            break;
        }
        assert!(!client().suppressed, "{} bytes came in 100 ms", now - before);
        before = now;
    }
    stream.shutdown(Shutdown::Both).unwrap();
    drop(upload);
    drain.join().unwrap();
}

/// A scan finds changes that no event reports.
#[test]
fn a_flood_of_one_users_events_keeps_nobody_from_joins() {
    let scene = scene_or_skip!("a_flood_of_one_users_events_keeps_nobody_from_joins");
    let _daemon = scene.daemon("");
    let server = scene.serve();
    let toggled = scene.connect(server.address);
    let toggling = spawn(move || {
        for _ in 0..50_000 {
            let socket = socket2::SockRef::from(&toggled);
            socket.set_tcp_congestion(b"reno").unwrap();
            socket.set_tcp_congestion(b"weft_amp").unwrap();
        }
    });
    let _load = load(scene.connect(server.address));
    until("joins in the midst of it", || scene.subflows().len() >= 4);
    toggling.join().unwrap();
    until("the status", || !scene.status().connections.is_empty());
}

#[test]
#[ignore = "a measurement: make measure-linux"]
fn a_flood_of_one_users_events_costs_others_little() {
    let scene = scene_or_skip!("a_flood_of_one_users_events_costs_others_little");
    let _daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let goodput = || {
        let before = server.read();
        sleep(Duration::from_secs(4));
        (server.read() - before) as f64
    };
    let mut kept: Vec<_> = (0..5)
        .map(|_| {
            let without = goodput();
            let stop = Arc::new(AtomicBool::new(false));
            let (stopped, to, client) = (Arc::clone(&stop), server.address, scene.client.clone());
            // Of another user: a socket belongs to whom its thread is for the file system.
            let toggling = spawn(move || {
                nix::unistd::setfsuid(nix::unistd::Uid::from_raw(65534));
                let socket = client.run_in(|| {
                    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP))?;
                    socket.connect(&to.into())?;
                    Ok(socket)
                });
                let socket = socket.unwrap();
                let mut times = 0_u64;
                while !stopped.load(Ordering::Relaxed) {
                    socket.set_tcp_congestion(b"reno").unwrap();
                    socket.set_tcp_congestion(b"weft_amp").unwrap();
                    times += 1;
                }
                times
            });
            let with = goodput();
            stop.store(true, Ordering::Relaxed);
            eprintln!("{} toggles in 4 s", toggling.join().unwrap());
            with / without
        })
        .collect();
    kept.sort_by(f64::total_cmp);
    eprintln!("of its goodput a connection keeps {kept:.3?}");
    assert!(kept[2] > 0.9, "{kept:.3?}");
}

#[test]
#[ignore = "a measurement: make measure-linux"]
fn ten_thousand_idle_connections_cost_little() {
    let scene = scene_or_skip!("ten_thousand_idle_connections_cost_little");
    let daemon = scene.daemon("");
    let server = scene.serve_idle(10_000);
    let address = server.local_addr().unwrap();
    let _idle: Vec<_> = (0..10_000).map(|_| scene.connect(address)).collect();
    let known = || scene.status().connections.len();
    // The end that accepts reports a connection when it has received something.
    assert!(wait(60, || known() == 10_000), "{} are known", known());
    let seconds = 30;
    let before = daemon.cpu_seconds();
    sleep(Duration::from_secs(seconds));
    let part = (daemon.cpu_seconds() - before) / seconds as f64;
    eprintln!(
        "10,000 idle connections: {:.1} % of a processor, {} MB",
        100.0 * part,
        daemon.megabytes()
    );
    assert!(part < 0.05, "{part}");
    daemon.kill();
}

/// Reno, which has one path.
#[test]
fn a_connection_for_which_there_is_no_room_stays_single_path_and_says_so() {
    let scene = scene_or_skip!("a_connection_for_which_there_is_no_room_stays_single_path_and_says_so");
    let _daemon = scene.daemon("congestion.max_connections = 16");
    let server = scene.serve();
    // Each has an entry at both ends, which share the map here.
    let idle: Vec<_> = (0..8).map(|_| scene.connect(server.address)).collect();
    until("the map is full", || scene.status().entries == 16);
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("its bytes arrive", || server.read() == 1_000_000);
    let local = stream.local_addr().unwrap();
    let own = |status: Status| {
        let mut all = status.connections.into_iter();
        all.find(|c| c.role == "client" && c.subflows[0].local == local)
    };
    until("the daemon knows it", || own(scene.status()).is_some());
    let is_single = || own(scene.status()).is_some_and(|c| c.subflows.len() == 1);
    stays("one path", Duration::from_millis(500), is_single);
    let connection = own(scene.status()).unwrap();
    assert_eq!(
        (
            connection.subflows.len(),
            connection.subflows[0].congestion.as_str()
        ),
        (1, "reno")
    );
    assert!(connection.uncoupled.unwrap().starts_with("no free slot"));
    drop(idle);
    until("there is room again", || scene.status().entries == 0);
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("three joins", || scene.subflows().len() == 1 + 4);
}
