//! Interfaces, addresses and translators that change under open connections.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::scene::{SERVER_V6, Scene, ip, load, missing, stays, until, wait};
use crate::scene_or_skip;

/// The interface between client and server, at both ends.
const DEVICE: &str = "v0";

fn set_link(namespace: &str, settings: &[&str]) {
    ip(&[&["-n", namespace, "link", "set", DEVICE][..], settings].concat());
}

#[test]
fn hosts_without_ipv4_have_joins() {
    let scene = scene_or_skip!("hosts_without_ipv4_have_joins");
    for name in [scene.client_name(), scene.server_name()] {
        ip(&["-n", &name, "-4", "address", "flush", "dev", DEVICE]);
    }
    let daemon = scene.daemon("");
    let server = scene.serve_at(SERVER_V6.into());
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    assert!(
        scene
            .subflows()
            .iter()
            .all(|s| s.ecn && s.congestion == "weft_amp")
    );
    daemon.stop();
}

#[test]
fn an_interface_that_flaps_costs_no_connection() {
    let scene = scene_or_skip!("an_interface_that_flaps_costs_no_connection");
    let _daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let client = scene.client_name();
    for milliseconds in [20, 50, 100, 200, 400] {
        set_link(&client, &["down"]);
        sleep(Duration::from_millis(milliseconds));
        set_link(&client, &["up"]);
        let before = server.read();
        until("it goes on", || server.read() > before + 1_000_000);
    }
    until("four subflows again", || scene.subflows().len() == 4);
    stays("at most four subflows", Duration::from_secs(2), || {
        scene.subflows().len() <= 4
    });
}

/// The kernel's minimum for IPv6 is 1,280 B; the client's route learns of it first, the server's when the link changes there.
#[test]
fn packets_follow_the_mtu() {
    let scene = scene_or_skip!("packets_follow_the_mtu");
    let _daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    for mtu in ["1280", "9000", "1500"] {
        for name in [scene.client_name(), scene.server_name()] {
            set_link(&name, &["mtu", mtu]);
        }
        let before = server.read();
        until("it goes on", || server.read() > before + 5_000_000);
        assert_eq!(scene.subflows().len(), 4);
    }
}

/// A translator that forgets all mappings gives each subflow another port. The server rejects what comes from there.
#[test]
fn a_translator_that_forgets_its_mappings_costs_no_connection() {
    let name = "a_translator_that_forgets_its_mappings_costs_no_connection";
    let scene = scene_or_skip!("a_translator_that_forgets_its_mappings_costs_no_connection");
    let client = scene.client_name();
    let within = |program: &str, arguments: &[&str]| {
        let command = [&["netns", "exec", &client, program][..], arguments].concat();
        Command::new("ip").args(command).output()
    };
    let rules = "add table nat; add chain nat out { type nat hook postrouting priority 100; }; \
                 add rule nat out oif v0 meta l4proto tcp masquerade random";
    let translates = within("nft", &[rules]).is_ok_and(|done| done.status.success());
    let forgets = || within("conntrack", &["-F"]).is_ok_and(|done| done.status.success());
    if !translates || !forgets() {
        weft_test_support::skip(name, "no nft and conntrack (Debian: nftables, conntrack)");
        return;
    }
    let _daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    for _ in 0..3 {
        assert!(forgets(), "conntrack");
        let began = Instant::now();
        let before = server.read();
        assert!(
            wait(30, || server.read() > before + 1_000_000),
            "it never goes on"
        );
        eprintln!("goes on after {:?}", began.elapsed());
        // If some subflows keep their ports, weftd cannot tell the resets of the others from joins that the peer rejects.
        until("a subflow", || !scene.subflows().is_empty());
    }
}

/// Messages of the kernel that do not fit its queue are lost; weftd then asks for the state of all.
#[test]
fn a_flood_of_addresses_leaves_joins_in_time() {
    let scene = scene_or_skip!("a_flood_of_addresses_leaves_joins_in_time");
    let client = scene.client_name();
    ip(&[
        "-n", &client, "link", "add", "flood", "type", "veth", "peer", "name", "other",
    ]);
    ip(&["-n", &client, "link", "set", "flood", "up"]);
    let _daemon = scene.daemon("");
    let batch = scene.folder.path().join("addresses");
    let lines = |verb: &str| {
        let lines =
            (0..4000).map(|n| format!("address {verb} 10.78.{}.{}/32 dev flood", n / 250, n % 250 + 1));
        lines.collect::<Vec<_>>().join("\n")
    };
    std::fs::write(&batch, [lines("add"), lines("del")].join("\n")).expect("a file");
    let mut flood = Command::new("ip")
        .args(["-n", &client, "-batch"])
        .arg(&batch)
        .spawn()
        .expect("ip");
    let server = scene.serve();
    let began = Instant::now();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    eprintln!("joined after {:?}", began.elapsed());
    assert!(flood.wait().expect("its end").success());
    let status = scene.status();
    assert_eq!(status.connections.len(), 2, "{status:#?}");
}
