//! Hosts with several addresses, which come and go.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::scene::{CLIENT_TOO, SERVER, SERVER_TOO, Scene, load, missing, until};
use crate::scene_or_skip;

fn address(verb: &str, name: &str, address: Ipv4Addr) {
    let address = format!("{address}/24");
    let arguments = ["-n", name, "address", verb, &address, "dev", "v0"];
    assert!(Command::new("ip").args(arguments).status().unwrap().success());
}

impl Scene {
    /// How many of the client's subflows have these ends.
    fn between(&self, local: Option<Ipv4Addr>, remote: Option<Ipv4Addr>) -> usize {
        let is = |wanted: Option<Ipv4Addr>, ip| wanted.is_none_or(|wanted| wanted == ip);
        let subflows = self.subflows();
        let of_it = subflows
            .iter()
            .map(|s| (s.subflow.local.ip(), s.subflow.remote.ip()));
        of_it.filter(|(l, r)| is(local, *l) && is(remote, *r)).count()
    }
}

#[test]
fn addresses_that_come_are_used_and_those_that_go_are_not() {
    let scene = scene_or_skip!("addresses_that_come_are_used_and_those_that_go_are_not");
    let (client, server_name) = (scene.client_name(), scene.server_name());
    let _daemon = scene.daemon("subflows.policy = \"fullmesh\"");
    // The server listens on all addresses.
    let server = scene.serve_at(Ipv4Addr::UNSPECIFIED.into());
    let to = SocketAddr::from((SERVER, server.address.port()));
    let _load = load(scene.connect(to));
    sleep(Duration::from_secs(1));
    assert_eq!(scene.subflows().len(), 1, "one pair of addresses");

    address("add", &client, CLIENT_TOO);
    until("a join from the new address", || {
        scene.between(Some(CLIENT_TOO), Some(SERVER)) == 1
    });
    address("add", &server_name, SERVER_TOO);
    until("joins to what was announced", || {
        scene.between(None, Some(SERVER_TOO)) == 2
    });

    address("delete", &server_name, SERVER_TOO);
    until("they end", || scene.between(None, Some(SERVER_TOO)) == 0);
    assert_eq!(scene.subflows().len(), 2);
    address("add", &server_name, SERVER_TOO);
    until("they come back", || scene.between(None, Some(SERVER_TOO)) == 2);

    address("delete", &client, CLIENT_TOO);
    until("those from the address end", || {
        scene.between(Some(CLIENT_TOO), None) == 0
    });
    let before = server.read();
    until("it goes on", || server.read() > before + 1_000_000);
}

#[test]
fn what_an_endpoint_says_of_backup_holds() {
    let scene = scene_or_skip!("what_an_endpoint_says_of_backup_holds");
    let client = scene.client_name();
    address("add", &client, CLIENT_TOO);
    let too = CLIENT_TOO.to_string();
    let endpoint = [
        "-n", &client, "mptcp", "endpoint", "add", &too, "dev", "v0", "subflow", "backup",
    ];
    if !Command::new("ip").args(endpoint).status().unwrap().success() {
        eprintln!("SKIPPED what_an_endpoint_says_of_backup_holds: iproute2 has no `ip mptcp`");
        return;
    }
    let daemon = scene
        .daemon("subflows.policy = \"fullmesh\"\n[suppression]\nrelease_after = \"0s\"\nmin_cycle = \"0s\"");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("a join", || scene.subflows().len() == 2);
    let backups = || {
        let subflows = scene.subflows();
        let backups = subflows.iter().filter(|s| s.subflow.backup);
        backups.map(|s| s.subflow.local.ip()).collect::<Vec<_>>()
    };
    until("it is a backup", || backups() == [CLIENT_TOO]);
    // The flag stays for every decision of the algorithm, and after a restart.
    scene.mark(true);
    sleep(Duration::from_millis(500));
    scene.mark(false);
    sleep(Duration::from_millis(500));
    assert_eq!(backups(), [CLIENT_TOO]);
    daemon.stop();
    let _daemon = scene.daemon("subflows.policy = \"fullmesh\"");
    sleep(Duration::from_millis(500));
    assert_eq!(backups(), [CLIENT_TOO]);
}
