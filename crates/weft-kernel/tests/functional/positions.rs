//! AMP-FG, which has to see every acknowledgement: where marks are in a round, and who must echo them.

use std::time::Duration;

use weft_kernel::programs::{KernelAlgorithm, Programs, Subflow};

use crate::machine::{eventually, in_namespace, load, run};
use crate::marks::Marks;
use crate::peers::{Family, Kind, Peers};

/// The client's subflow of a connection.
fn subflow(programs: &Programs, peers: &Peers) -> Subflow {
    let connections = programs.connections().expect("a map");
    let local = peers.client_address();
    let mut subflows = connections.into_iter().flat_map(|c| c.subflows);
    subflows.find(|s| s.local == local).expect("the client's")
}

/// Rounds of marked packets differ in nothing, so beta is 0, alpha 1, and the window falls to its floor of two packets.
#[test]
fn amp_fg_falls_to_its_floor_when_all_is_marked_and_grows_when_nothing_is() {
    in_namespace("amp_fg_falls_to_its_floor_when_all_is_marked", || {
        let programs = load(&[KernelAlgorithm::AmpFg]);
        let marks = Marks::on_loopback();
        run("ip", &["link", "set", "lo", "mtu", "1500", "gso_max_segs", "1"]);
        let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_amp_fg", "weft_amp_fg");
        let send = || peers.send_for(Duration::from_millis(20));
        send();
        let begin = subflow(&programs, &peers);
        assert_eq!(begin.alpha, Some(0.0), "{begin:?}");
        marks.one_in(1);
        eventually("all are marked", || {
            send();
            let now = subflow(&programs, &peers);
            (now.alpha, now.cwnd) == (Some(1.0), 2.0)
        });
        marks.one_in(0);
        eventually("none is", || {
            send();
            let now = subflow(&programs, &peers);
            now.alpha == Some(0.0) && now.cwnd > 4.0
        });
        // One in ten: alpha is never the whole window for long.
        marks.one_in(10);
        let before = subflow(&programs, &peers).marks;
        eventually("some are", || {
            send();
            let now = subflow(&programs, &peers);
            now.marks > before + 10 && now.alpha.is_some_and(|alpha| alpha > 0.0 && alpha < 1.0)
        });
        peers.close();
    });
}

/// Linux refuses the ECN of RFC 3168 to a SYN that is ECN-capable itself, as those of DCTCP are.
#[test]
fn a_listener_that_would_echo_as_rfc_3168_has_it_gets_reno() {
    in_namespace("a_listener_that_would_echo_as_rfc_3168_has_it_gets_reno", || {
        let programs = load(&[KernelAlgorithm::AmpFg]);
        std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").expect("a setting");
        let peers = Peers::connect(Family::V4, Kind::Tcp, "weft_amp_fg", "reno");
        peers.send(1 << 20);
        assert_eq!(peers.client_algorithm(), "reno");
        assert_eq!(programs.totals().expect("a map").without_ecn, 1);
        assert!(programs.connections().expect("a map").is_empty());
    });
}
