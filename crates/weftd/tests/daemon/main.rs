//! The daemon on this machine's kernel, in network namespaces of its own.
//!
//! Without root, MPTCP, BTF or iproute2 these tests are skipped by name, or fail if `WEFT_KERNEL_TESTS` is "required".

mod addresses;
mod blackholes;
mod coupling;
mod defaults;
mod delays;
mod doctor;
mod duplex;
mod entries;
mod fabric;
mod failures;
mod hostile;
mod interfaces;
mod joins;
mod links;
mod memory;
mod others;
mod paths;
mod processor_time;
mod restart;
mod router;
mod scene;
mod scope;
mod servers;
mod share;
mod soak;
mod soak_hostile;
mod trial;
mod unsent;

use std::fs;
use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

use weft_kernel::path_manager::mptcp_subflows;

use scene::{SERVER_V6, Scene, load, missing, stays, until, wait};

/// A scene, unless the test cannot run here.
macro_rules! scene_or_skip {
    ($name:literal) => {
        match missing() {
            Some(why) => {
                weft_test_support::skip($name, &why);
                return;
            }
            None => Scene::new(),
        }
    };
}
use scene_or_skip;

/// A setting of a measurement, from the environment.
fn number(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn joins_wait_for_their_bytes() {
    let scene = scene_or_skip!("joins_wait_for_their_bytes");
    let daemon = scene.daemon("subflows.join_after = \"256KB\"");
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 200_000]).unwrap();
    until("the first bytes arrive", || server.read() == 200_000);
    stays("one subflow", Duration::from_millis(300), || {
        scene.subflows().len() == 1
    });
    stream.write_all(&vec![0; 100_000]).unwrap();
    until("three joins", || scene.subflows().len() == 4);
    until("the daemon knows them", || {
        let status = scene.status();
        let client = status.connections.iter().find(|c| c.role == "client");
        client.is_some_and(|c| {
            c.algorithm.as_deref() == Some("weft_amp")
                && c.subflows.len() == 4
                && c.subflows.iter().all(|s| s.window.is_some())
        })
    });
    drop(stream);
    daemon.stop();
}

#[test]
fn ipv6_has_joins_suppression_and_release_too() {
    let scene = scene_or_skip!("ipv6_has_joins_suppression_and_release_too");
    let _daemon = scene.daemon("[suppression]\nrelease_after = \"0s\"\nmin_cycle = \"0s\"");
    let server = scene.serve_at(SERVER_V6.into());
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let subflows = scene.subflows();
    assert!(
        subflows.iter().all(|s| s.subflow.remote.is_ipv6()),
        "{subflows:#?}"
    );
    let backups = || scene.subflows().iter().filter(|s| s.subflow.backup).count();
    scene.mark(true);
    until("suppression", || backups() == 3);
    scene.mark(false);
    until("release", || backups() == 0);
}

#[test]
fn a_daemon_killed_while_it_joins_breaks_nothing() {
    let scene = scene_or_skip!("a_daemon_killed_while_it_joins_breaks_nothing");
    for milliseconds in [0, 1, 2, 4, 8, 16] {
        let daemon = scene.daemon("subflows.join_after = \"64KB\"");
        let server = scene.serve();
        let load = load(scene.connect(server.address));
        until("the bytes that joins wait for", || server.read() > 64_000);
        sleep(Duration::from_millis(milliseconds));
        daemon.kill();
        let killed = server.read();
        until("10 MB more", || server.read() > killed + 10_000_000);
        let daemon = scene.daemon("subflows.join_after = \"64KB\"");
        until("the joins are made up for", || scene.subflows().len() == 4);
        drop(load);
        until("the connection is gone", || scene.subflows().is_empty());
        daemon.stop();
    }
}

#[test]
fn a_congestion_control_that_reports_nothing_is_looked_at() {
    let scene = scene_or_skip!("a_congestion_control_that_reports_nothing_is_looked_at");
    let _daemon = scene.daemon("subflows.count = 2");
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    socket2::SockRef::from(&stream)
        .set_tcp_congestion(b"reno")
        .unwrap();
    stream.write_all(&vec![0; 300_000]).unwrap();
    until("a join", || scene.subflows().len() == 2);
}

/// The programs report its first subflow to a daemon that knows the connection, and then have it no more.
#[test]
fn a_connection_that_changes_its_congestion_control_is_looked_at() {
    let scene = scene_or_skip!("a_connection_that_changes_its_congestion_control_is_looked_at");
    let _daemon = scene.daemon("subflows.count = 2");
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    until("the daemon knows it", || !scene.status().connections.is_empty());
    for (cc, bytes) in [("reno", 1000), ("weft_amp", 2000), ("reno", 3000)] {
        socket2::SockRef::from(&stream)
            .set_tcp_congestion(cc.as_bytes())
            .unwrap();
        stream.write_all(&[0; 1000]).unwrap();
        until("the server reads", || server.read() == bytes);
    }
    stream.write_all(&vec![0; 300_000]).unwrap();
    until("a join", || scene.subflows().len() == 2);
}

#[test]
fn suppression_and_release_reach_the_kernel_within_a_millisecond() {
    let scene = scene_or_skip!("suppression_and_release_reach_the_kernel_within_a_millisecond");
    // Other work delays a wake-up, so the best of some tries counts.
    let mut medians = Vec::new();
    while medians.len() < 5 && medians.iter().all(|median| *median >= 1000.0) {
        medians.push(decision_us(&scene));
    }
    assert!(medians.iter().any(|median| *median < 1000.0), "{medians:?}");
}

#[test]
#[ignore = "a measurement: make measure-linux"]
fn suppression_and_release_reach_the_kernel_within_200_us() {
    let scene = scene_or_skip!("suppression_and_release_reach_the_kernel_within_200_us");
    let mut medians: Vec<_> = (0..5).map(|_| decision_us(&scene)).collect();
    medians.sort_by(f64::total_cmp);
    assert!(medians[2] < 200.0, "{medians:?}");
}

/// The median from a decision until the kernel had been notified.
fn decision_us(scene: &Scene) -> f64 {
    let daemon = scene.daemon("[suppression]\nrelease_after = \"0s\"\nmin_cycle = \"0s\"");
    let server = scene.serve();
    let load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let backups = || scene.subflows().iter().filter(|s| s.subflow.backup).count();
    for _ in 0..15 {
        scene.mark(true);
        until("suppression", || backups() == 3);
        scene.mark(false);
        until("release", || backups() == 0);
    }
    let decisions = scene.status().decisions;
    eprintln!("{decisions:?}");
    assert!(decisions.count >= 30, "{decisions:?}");
    drop(load);
    daemon.stop();
    until("the connection is gone", || scene.subflows().is_empty());
    decisions.p50_us
}

#[test]
fn bursts_make_one_cycle_each_at_most() {
    let scene = scene_or_skip!("bursts_make_one_cycle_each_at_most");
    let _daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let decisions = || scene.status().decisions.count;
    let before = decisions();
    for _ in 0..6 {
        scene.mark(true);
        sleep(Duration::from_millis(350));
        scene.mark(false);
        sleep(Duration::from_millis(350));
    }
    let decisions = decisions() - before;
    assert!(
        (1..=12).contains(&decisions),
        "{decisions} suppressions and releases in six bursts"
    );
}

#[test]
fn bursts_of_other_flows_make_one_cycle_each_at_most() {
    let scene = scene_or_skip!("bursts_of_other_flows_make_one_cycle_each_at_most");
    scene.mark_queue();
    let _daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let decisions = || scene.status().decisions.count;
    let before = decisions();
    let bursts = 10;
    for _ in 0..bursts {
        let burst: Vec<_> = (0..16)
            .map(|_| load(scene.connect_dctcp(server.address)))
            .collect();
        sleep(Duration::from_millis(350));
        drop(burst);
        sleep(Duration::from_millis(350));
    }
    let decisions = decisions() - before;
    eprintln!("{decisions} suppressions and releases in {bursts} bursts");
    assert!((1..=2 * bursts).contains(&decisions), "{decisions}");
}

#[test]
fn what_joins_a_suppressed_connection_is_suppressed_too() {
    let scene = scene_or_skip!("what_joins_a_suppressed_connection_is_suppressed_too");
    let daemon = scene.daemon("subflows.count = 2");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("a join", || scene.subflows().len() == 2);
    scene.mark(true);
    let backups = || scene.subflows().iter().filter(|s| s.subflow.backup).count();
    until("suppression", || backups() == 1);
    // The next daemon opens more.
    daemon.kill();
    let _daemon = scene.daemon("subflows.count = 4");
    until("all but one are suppressed", || {
        scene.subflows().len() == 4 && backups() == 3
    });
}

#[test]
fn a_killed_daemon_breaks_no_connection_and_the_next_one_adopts_it() {
    let scene = scene_or_skip!("a_killed_daemon_breaks_no_connection_and_the_next_one_adopts_it");
    let before = scene.setting("net.ipv4.tcp_congestion_control");
    let daemon = scene.daemon("subflows.stale_timeouts = 2");
    assert_eq!(scene.setting("net.ipv4.tcp_congestion_control"), "weft_amp");
    assert_eq!(scene.setting("net.mptcp.pm_type"), "1");
    assert_eq!(scene.setting("net.mptcp.stale_loss_cnt"), "2");
    let server = scene.serve();
    let load = load(scene.connect(server.address));
    // At the server as well: if no process listens to its events, the kernel refuses joins that are under way.
    let joined = |end| mptcp_subflows(end).expect("a mptcp_subflows").len() == 4;
    until("three joins", || joined(&scene.client) && joined(&scene.server));
    daemon.kill();
    let killed = server.read();
    until("10 MB more", || server.read() > killed + 10_000_000);
    let alive = scene.subflows();
    assert_eq!(alive.len(), 4, "{alive:#?}");

    let daemon = scene.daemon("");
    let status = scene.status();
    let client = status.connections.iter().find(|c| c.role == "client");
    let client = client.expect("the connection is adopted");
    assert_eq!(client.subflows.len(), 4);
    assert!(client.subflows.iter().all(|s| s.window.is_some()), "{client:?}");
    scene.mark(true);
    until("its suppression is obeyed", || {
        scene.subflows().iter().filter(|s| s.subflow.backup).count() == 3
    });
    daemon.stop();
    assert_eq!(scene.setting("net.ipv4.tcp_congestion_control"), before);
    assert_eq!(scene.setting("net.mptcp.pm_type"), "0");
    assert_eq!(scene.setting("net.mptcp.stale_loss_cnt"), "4");
    scene.mark(false);
    let stopped = server.read();
    until("it goes on without a daemon", || {
        server.read() > stopped + 1_000_000
    });
    drop(load);
}

#[test]
fn ten_thousand_connections_leave_nothing() {
    let scene = scene_or_skip!("ten_thousand_connections_leave_nothing");
    let daemon = scene.daemon("");
    let server = scene.serve();
    for _ in 0..10_000 {
        let mut stream = scene.connect(server.address);
        stream.write_all(&[0; 100]).unwrap();
    }
    // A connection that found the server's queue full waits for retransmissions, each twice as long as the one before.
    let arrived = wait(90, || server.read() == 1_000_000);
    assert!(arrived, "{} bytes have arrived", server.read());
    let mut left = String::new();
    // The last socket to close may wait for a retransmission.
    let nothing = wait(90, || {
        let status = scene.status();
        left = format!(
            "{} entries, {} connections",
            status.entries,
            status.connections.len()
        );
        status.entries == 0 && status.connections.is_empty()
    });
    assert!(nothing, "{left}");
    daemon.stop();
}

#[test]
fn a_second_daemon_refuses() {
    let scene = scene_or_skip!("a_second_daemon_refuses");
    let _daemon = scene.daemon("");
    let config = scene.folder.path().join("weftd.toml");
    for arguments in [
        &["run", "--config", config.to_str().unwrap()][..],
        &["attach"],
        &["detach"],
    ] {
        let second = scene.weftd(arguments).output().unwrap();
        let message = String::from_utf8(second.stderr).unwrap();
        assert_eq!(second.status.code(), Some(1), "{message}");
        assert!(
            message.starts_with("weftd: weftd runs already: process "),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn algorithms_can_be_attached_without_a_daemon() {
    let scene = scene_or_skip!("algorithms_can_be_attached_without_a_daemon");
    let available = || scene.setting("net.ipv4.tcp_available_congestion_control");
    let attached = scene
        .weftd(&["attach", "weft_amp", "weft_dctcp"])
        .output()
        .unwrap();
    assert!(
        attached.status.success(),
        "{}",
        String::from_utf8_lossy(&attached.stderr)
    );
    assert!(
        available().contains("weft_amp") && available().contains("weft_dctcp"),
        "{}",
        available()
    );
    assert!(scene.weftd(&["detach"]).status().unwrap().success());
    until("the names are taken back", || !available().contains("weft_"));
}

#[test]
fn the_capabilities_of_the_unit_are_enough() {
    let scene = scene_or_skip!("the_capabilities_of_the_unit_are_enough");
    let unit = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/weftd.service")).unwrap();
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let allowed: Vec<String> = line
        .expect("the unit limits capabilities")
        .split_whitespace()
        .map(|name| format!("+{}", name.strip_prefix("CAP_").unwrap_or(name).to_lowercase()))
        .collect();
    let set = format!("-all,{}", allowed.join(","));
    let config = scene.folder.path().join("least.toml");
    fs::write(&config, "metrics.enabled = false\n").unwrap();
    // The machine's own namespace: entering another takes CAP_SYS_ADMIN. Nothing of it is changed by --check, and
    // attach needs all that loading does.
    let attached = std::process::Command::new("setpriv")
        .args([
            "--bounding-set",
            &set,
            "--inh-caps=-all",
            env!("CARGO_BIN_EXE_weftd"),
            "attach",
        ])
        .env("RUNTIME_DIRECTORY", scene.folder.path())
        .output()
        .unwrap();
    assert!(
        attached.status.success(),
        "{}",
        String::from_utf8_lossy(&attached.stderr)
    );
}
