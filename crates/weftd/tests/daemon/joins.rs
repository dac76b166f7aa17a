//! Joins where the network or the peer is not as kind as it might be.

use std::io::Write;
use std::net::{Ipv6Addr, SocketAddr};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::scene::{SERVER, SERVER_TOO, Scene, load, missing, stays, until, wait};
use crate::scene_or_skip;

/// Four subflows, all of them coupled, and both ends echo marks.
fn all_are_coupled(scene: &Scene) -> bool {
    let subflows = scene.subflows();
    subflows.len() == 4 && subflows.iter().all(|s| s.ecn && s.congestion == "weft_amp")
}

/// The kernel sends the SYN again after a second, without ECN. The join is then closed and asked for again.
#[test]
fn a_join_whose_first_syn_is_lost_gets_ecn_in_the_end() {
    let scene = scene_or_skip!("a_join_whose_first_syn_is_lost_gets_ecn_in_the_end");
    let joins = scene.joins();
    let _daemon = scene.daemon("");
    let server = scene.serve();
    joins.lose(3);
    let _load = load(scene.connect(server.address));
    until("four subflows with ECN", || all_are_coupled(&scene));
}

#[test]
fn a_join_without_ecn_is_closed_and_tried_again() {
    let scene = scene_or_skip!("a_join_without_ecn_is_closed_and_tried_again");
    let joins = scene.joins();
    let _daemon = scene.daemon("");
    let server = scene.serve();
    joins.bleach(3);
    let _load = load(scene.connect(server.address));
    until("four subflows with ECN", || all_are_coupled(&scene));
    assert!(joins.seen() >= 6, "{}", joins.seen());
}

/// The kernel sends a SYN without ECN after the first one was lost (RFC 3168, section 6.1.1.1).
#[test]
fn a_device_that_drops_syns_with_ecn_does_not_keep_sockets_from_connecting() {
    let scene = scene_or_skip!("a_device_that_drops_syns_with_ecn_does_not_keep_sockets_from_connecting");
    let network = scene.joins();
    let _daemon = scene.daemon("");
    let server = scene.serve();
    network.lose_ecn(true);
    let limit = Duration::from_secs(8);
    for cc in [None, Some("weft_dctcp")] {
        let began = Instant::now();
        let connected = scene.try_connect(server.address, cc, limit);
        assert!(connected.is_ok(), "{cc:?}: {connected:?}");
        assert!(
            began.elapsed() > Duration::from_millis(500),
            "its first SYN is lost"
        );
    }
    let mut stream = scene.try_connect(server.address, None, limit).unwrap();
    stream.write_all(&[0; 1000]).unwrap();
    until("the status says why it is not coupled", || {
        let status = scene.status();
        let mut uncoupled = status.connections.iter().filter_map(|c| c.uncoupled.as_ref());
        uncoupled.any(|why| why.starts_with("no ECN"))
    });
    assert_eq!(scene.setting("net.ipv4.tcp_ecn_fallback"), "1");
}

/// A connection without ECN runs Reno; four subflows would be as aggressive as four Reno flows.
#[test]
fn a_connection_without_ecn_stays_single_path() {
    let scene = scene_or_skip!("a_connection_without_ecn_stays_single_path");
    let _daemon = scene.daemon("");
    let server = scene.serve_with(SERVER.into(), Some("reno"));
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    until("its bytes arrive", || server.read() == 1_000_000);
    stays("one subflow", Duration::from_secs(1), || {
        scene.subflows().len() == 1
    });
}

/// The kernel goes on sending a SYN for two minutes, so that a join is not lost because it takes long.
#[test]
fn joins_that_take_long_are_not_asked_for_twice() {
    let scene = scene_or_skip!("joins_that_take_long_are_not_asked_for_twice");
    let joins = scene.joins();
    let _daemon = scene.daemon("");
    let server = scene.serve();
    joins.lose(u32::MAX);
    let _load = load(scene.connect(server.address));
    until("the first SYNs", || joins.seen() >= 3);
    // Those of 1, 3 and 7 s follow.
    sleep(Duration::from_secs(5));
    joins.lose(0);
    let mut most = 0;
    let began = Instant::now();
    // The SYNs that arrive have no ECN by then, so that those joins are closed and asked for once more.
    while began.elapsed() < Duration::from_secs(9) {
        most = most.max(scene.subflows().len());
        sleep(Duration::from_millis(50));
    }
    assert_eq!(most, 4);
    assert!(all_are_coupled(&scene), "{:#?}", scene.subflows());
}

/// The kernel's path manager accepts two additional subflows by default, and rejects a third one only after
/// this end has seen it established.
#[test]
fn what_a_peer_rejects_is_not_asked_for_again_and_again() {
    let scene = scene_or_skip!("what_a_peer_rejects_is_not_asked_for_again_and_again");
    let joins = scene.joins();
    let _daemon = scene.daemon_of_the_client("");
    let server = scene.serve_with(SERVER.into(), Some("weft_dctcp"));
    let _loads: Vec<_> = (0..3).map(|_| load(scene.connect(server.address))).collect();
    until("what the peer takes", || scene.subflows().len() == 9);
    sleep(Duration::from_secs(15));
    assert_eq!(scene.subflows().len(), 9, "{:#?}", scene.subflows());
    assert!(joins.seen() <= 6 + 10, "{} SYNs", joins.seen());
}

/// The peer has the default limits of the kernel.
#[test]
#[ignore = "a measurement: make measure-linux"]
fn a_stock_peer_is_asked_in_vain_ten_times_in_the_first_minute_and_once_a_minute_then() {
    let scene =
        scene_or_skip!("a_stock_peer_is_asked_in_vain_ten_times_in_the_first_minute_and_once_a_minute_then");
    let joins = scene.joins();
    let _daemon = scene.daemon_of_the_client("");
    let server = scene.serve_with(SERVER.into(), Some("weft_dctcp"));
    let began = Instant::now();
    let connections = 20;
    let _loads: Vec<_> = (0..connections)
        .map(|_| load(scene.connect(server.address)))
        .collect();
    let vain: Vec<_> = (1..=3)
        .map(|minute| {
            sleep((60 * minute * Duration::from_secs(1)).saturating_sub(began.elapsed()));
            assert_eq!(scene.subflows().len(), 3 * connections);
            joins.seen() as usize - 2 * connections
        })
        .collect();
    eprintln!("in vain by the end of each minute: {vain:?}");
    assert!(
        vain[0] <= 10 && vain.windows(2).all(|minutes| minutes[1] - minutes[0] <= 1),
        "{vain:?}"
    );
}

#[test]
fn a_listener_of_both_families_announces_its_ipv4_addresses() {
    let scene = scene_or_skip!("a_listener_of_both_families_announces_its_ipv4_addresses");
    scene.add_addresses();
    let _daemon = scene.daemon(&format!(
        "[subflows]\npolicy = \"fullmesh\"\naddresses = [\"{SERVER}\", \"{SERVER_TOO}\"]"
    ));
    let server = scene.serve_at(Ipv6Addr::UNSPECIFIED.into());
    let _load = load(scene.connect(SocketAddr::from((SERVER, server.address.port()))));
    let joined = wait(10, || {
        let subflows = scene.subflows();
        subflows.iter().any(|s| s.subflow.remote.ip() == SERVER_TOO)
    });
    assert!(joined, "{:#?}", scene.subflows());
}
