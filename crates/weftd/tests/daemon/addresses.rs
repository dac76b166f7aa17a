//! Hosts with several addresses, which come and go.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use crate::scene::{CLIENT_TOO, SERVER, SERVER_TOO, Scene, load, missing, stays, until};
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
    // There is one pair of addresses.
    stays("one subflow", Duration::from_secs(1), || {
        scene.subflows().len() == 1
    });

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

const THIRD: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 5);

#[test]
fn what_an_endpoint_says_of_backup_holds() {
    let scene = scene_or_skip!("what_an_endpoint_says_of_backup_holds");
    let client = scene.client_name();
    address("add", &client, CLIENT_TOO);
    // A backup carries no data, so a decision needs two others.
    address("add", &client, THIRD);
    let endpoint = |address: Ipv4Addr, flags: &[&str]| {
        let address = address.to_string();
        let words = ["-n", &client, "mptcp", "endpoint", "add", &address, "dev", "v0"];
        let added = Command::new("ip").args(words).args(flags).status();
        added.unwrap().success()
    };
    if !endpoint(CLIENT_TOO, &["subflow", "backup"]) || !endpoint(THIRD, &["subflow"]) {
        weft_test_support::skip(
            "what_an_endpoint_says_of_backup_holds",
            "iproute2 has no `ip mptcp`",
        );
        return;
    }
    let daemon = scene
        .daemon("subflows.policy = \"fullmesh\"\n[suppression]\nrelease_after = \"0s\"\nmin_cycle = \"0s\"");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("two joins", || scene.subflows().len() == 3);
    let backups = || {
        let subflows = scene.subflows();
        let backups = subflows.iter().filter(|s| s.subflow.backup);
        backups.map(|s| s.subflow.local.ip()).collect::<Vec<_>>()
    };
    until("it is a backup", || backups() == [CLIENT_TOO]);
    // The flag stays for every decision of the algorithm, and after a restart.
    let is_suppressed = || {
        let status = scene.status();
        let client = status.connections.iter().find(|c| c.role == "client");
        client.is_some_and(|c| c.suppressed)
    };
    scene.mark(true);
    until("suppression", is_suppressed);
    assert!(backups().contains(&CLIENT_TOO.into()), "{:?}", backups());
    scene.mark(false);
    until("release", || !is_suppressed());
    until("only it is a backup", || backups() == [CLIENT_TOO]);
    daemon.stop();
    let _daemon = scene.daemon("subflows.policy = \"fullmesh\"");
    until("it finds both ends", || scene.status().connections.len() == 2);
    stays("it is a backup", Duration::from_millis(500), || {
        backups() == [CLIENT_TOO]
    });
}
