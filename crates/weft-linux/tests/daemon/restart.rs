//! What a restart, a kill and a stop do to connections, old ones and new ones.

use std::fs;
use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

use crate::scene::{Scene, load, missing, until};
use crate::scene_or_skip;

/// The setting has the same name as before, but the program that it stands for is another.
#[test]
fn after_a_kill_new_sockets_get_the_new_program() {
    let scene = scene_or_skip!("after_a_kill_new_sockets_get_the_new_program");
    let daemon = scene.daemon("subflows.after = \"64KB\"");
    daemon.kill();
    let _daemon = scene.daemon("subflows.after = \"100MB\"");
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("its bytes arrive", || server.read() == 1_000_000);
    sleep(Duration::from_millis(500));
    let status = scene.status();
    let client = status.connections.iter().find(|c| c.role == "client").unwrap();
    assert_eq!(client.algorithm.as_deref(), Some("weft_amp"));
    // After the new number of bytes, not the old one.
    assert_eq!(client.subflows.len(), 1);
}

#[test]
fn a_stop_leaves_suppressed_what_is_suppressed_and_the_next_start_goes_on() {
    let scene = scene_or_skip!("a_stop_leaves_suppressed_what_is_suppressed_and_the_next_start_goes_on");
    let daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let backups = || scene.subflows().iter().filter(|s| s.subflow.backup).count();
    scene.mark(true);
    until("suppression", || backups() == 3);
    daemon.stop();
    assert_eq!(backups(), 3);
    let stopped = server.read();
    until("it goes on", || server.read() > stopped + 1_000_000);
    let daemon = scene.daemon("");
    sleep(Duration::from_millis(700));
    assert_eq!(backups(), 3);
    scene.mark(false);
    until("release", || backups() == 0);
    daemon.stop();
}

/// As one that was made while the machine's default was one of Weft's.
#[test]
fn a_namespace_that_is_not_served_does_not_keep_a_name_that_is_taken_back() {
    let scene = scene_or_skip!("a_namespace_that_is_not_served_does_not_keep_a_name_that_is_taken_back");
    let daemon = scene.daemon_of_the_client("");
    let key = "/proc/sys/net/ipv4/tcp_congestion_control";
    scene.server.within(|| fs::write(key, "weft_amp")).unwrap();
    daemon.stop();
    let now = scene.server.within(|| fs::read_to_string(key)).unwrap();
    assert_eq!(now, fs::read_to_string(key).unwrap());
    assert!(!now.starts_with("weft_"), "{now}");
}

#[test]
fn a_reload_takes_the_configuration_and_leaves_connections_and_names() {
    let scene = scene_or_skip!("a_reload_takes_the_configuration_and_leaves_connections_and_names");
    let daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let backups = || scene.subflows().iter().filter(|s| s.subflow.backup).count();
    scene.mark(true);
    until("suppression", || backups() == 3);
    // A configuration that is not understood changes nothing.
    let process = scene.status().process;
    scene.configure("subflow.count = 2");
    daemon.reload();
    sleep(Duration::from_millis(500));
    assert!(scene.status().uptime_s > 0.5);

    scene.configure("subflows.count = 2");
    daemon.reload();
    until("the next one runs", || {
        scene.try_status().is_some_and(|status| status.uptime_s < 0.4)
    });
    assert_eq!(scene.status().process, process);
    assert_eq!(backups(), 3);
    let available = scene.setting("net.ipv4.tcp_available_congestion_control");
    assert!(available.contains("weft_amp"), "{available}");
    scene.mark(false);
    until("release", || backups() == 0);
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("one join", || scene.subflows().len() == 4 + 2);
    sleep(Duration::from_millis(500));
    let subflows = scene.subflows();
    assert_eq!(subflows.len(), 4 + 2, "{subflows:#?}");
    assert!(
        subflows.iter().all(|s| s.congestion == "weft_amp"),
        "{subflows:#?}"
    );
    daemon.stop();
}
