//! Devices on the way that drop SYNs with MPTCP.

use std::io::Write;
use std::time::Duration;

use crate::scene::{Scene, missing, until, wait};
use crate::scene_or_skip;

/// The kernel then opens no MPTCP connection for an hour.
#[test]
fn a_blackhole_of_mptcp_is_reported_and_reset_on_request() {
    let scene = scene_or_skip!("a_blackhole_of_mptcp_is_reported_and_reset_on_request");
    let network = scene.joins();
    let daemon = scene.daemon("");
    let server = scene.serve();
    let connect = || {
        scene
            .try_connect(server.address, None, Duration::from_secs(20))
            .unwrap()
    };
    let is_mptcp = || {
        let mut stream = connect();
        stream.write_all(&[0; 1000]).unwrap();
        let local = stream.local_addr().unwrap();
        wait(1, || {
            let status = scene.status();
            status.connections.iter().any(|c| c.subflows[0].local == local)
        })
    };
    assert!(is_mptcp());
    network.lose_mptcp(true);
    assert!(!is_mptcp(), "the connection goes on as TCP");
    network.lose_mptcp(false);
    assert!(!is_mptcp(), "MPTCP is switched off although the device is gone");
    let name = scene.client.path().display().to_string();
    let client = || {
        let status = scene.status();
        status
            .namespaces
            .into_iter()
            .find(|namespace| namespace.name == name)
            .unwrap()
    };
    until("the status counts it", || {
        let client = client();
        (client.blackholes, client.plain_connections) == (1, 1)
    });
    assert!(daemon.has_logged("MPTCP: switched off by the kernel"));
    assert!(daemon.has_logged("connections: opened without MPTCP"));
    let listed = scene.weftd(&["list"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("1 connections without MPTCP"), "{listed}");
    let doctor = scene.weftd(&["doctor"]).output().unwrap();
    let report = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        report.contains("MPTCP is switched off for new connections"),
        "{report}"
    );
    assert_eq!(doctor.status.code(), Some(1), "{report}");

    scene.configure("subflows.blackhole_reset = \"1s\"");
    scene.reload(&daemon);
    assert!(!is_mptcp(), "a connection shows that MPTCP is off");
    until("weftd switches it on", || {
        daemon.has_logged("MPTCP is switched on again")
    });
    assert!(is_mptcp());
    let doctor = scene.weftd(&["doctor"]).output().unwrap();
    let report = String::from_utf8(doctor.stdout).unwrap();
    assert!(report.contains("MPTCP is on; detected 1 times"), "{report}");
}
