//! What else there is on a machine: other users, and namespaces that come and go.

use std::fs;
use std::io::Read;
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::process::Command;
use std::thread::{sleep, spawn};
use std::time::Duration;

use weft_linux::daemon::settings;
use weft_linux::path_manager::Namespace;

use crate::scene::{Scene, load, missing, until};
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

/// The kernel takes a backup out of use in both directions.
#[test]
fn a_download_is_not_suppressed_for_the_sake_of_an_upload() {
    let scene = scene_or_skip!("a_download_is_not_suppressed_for_the_sake_of_an_upload");
    let _daemon = scene.daemon("");
    let server = scene.serve_both_ways();
    let stream = scene.connect(server.address);
    let mut reader = stream.try_clone().unwrap();
    let drain = spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while reader.read(&mut buffer).is_ok_and(|n| n > 0) {}
    });
    // As much as 200 Mbit/s carry, against what comes without a limit.
    let upload = load(stream.try_clone().unwrap());
    until("three joins", || scene.subflows().len() == 4);
    scene.mark(true);
    let client = || {
        let status = scene.status();
        let mut clients = status.connections.into_iter().filter(|c| c.role == "client");
        clients.next().unwrap()
    };
    until("the algorithm asks for suppression", || client().suppressions > 0);
    until("it is not obeyed", || !client().suppressed);
    for _ in 0..20 {
        sleep(Duration::from_millis(100));
        assert!(!client().suppressed);
    }
    stream.shutdown(Shutdown::Both).unwrap();
    drop(upload);
    drain.join().unwrap();
}

/// What no event tells is looked up.
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
