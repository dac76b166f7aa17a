//! Warp, whose subflows have shares of one window: the shares, and when subflows are inactive.

use std::collections::HashSet;

use weft_kernel::events::EventKind;
use weft_kernel::programs::{ConnectionStats, KernelAlgorithm, Programs};
use weft_test_support::skip;

use crate::machine::{
    NO_JOINS, becomes, eventually, in_namespace, is_emulated, join_over_loopback, load, run, slow_loopback,
    take_out_of_use,
};
use crate::marks::{Marks, wait, wait_of};
use crate::peers::{Family, Kind, Peers};

/// The client's connection.
fn connection(programs: &Programs, token: u32) -> ConnectionStats {
    let all = programs.connections().expect("a map");
    all.into_iter().find(|c| c.token == token).expect("the client's")
}

/// All packets marked: alpha is 1, each cut halves the window, and at its floor of two packets one subflow sends. Without marks it
/// grows until there is room for two, then for three. The kernel's first window of ten packets is not enough for three.
#[test]
fn warp_lets_all_but_one_rest_when_all_is_marked_and_wakes_them_when_nothing_is() {
    in_namespace("warp_lets_all_but_one_rest", || {
        if !join_over_loopback(2) {
            skip("warp_lets_all_but_one_rest", NO_JOINS);
            return;
        }
        run("ip", &["mptcp", "endpoint", "add", "127.0.0.1", "dev", "lo"]);
        let programs = load(&[KernelAlgorithm::Warp]);
        let events = programs.events().expect("the ring");
        // Loopback must be slower than the processor, or one subflow carries all data.
        slow_loopback(if is_emulated() { 40 } else { 400 }, "1mb");
        // Windows of packets of loopback's own 64 KB would not be used.
        run("ip", &["link", "set", "dev", "lo", "mtu", "1500"]);
        let marks = Marks::on_loopback();
        let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_warp", "weft_warp");
        let local = peers.client_address();
        let sender = peers.send_until_stopped();
        // Two ends of three subflows.
        let joined = wait(&events, EventKind::Joined, 6);
        assert_eq!(joined.len(), 6, "{joined:?}");
        let token = joined
            .iter()
            .find(|event| event.local == local)
            .expect("it")
            .token;
        let client = || connection(&programs, token);
        let all_send = || client().subflows.iter().all(|s| s.active);
        eventually("without marks all send", all_send);
        let before = client();

        marks.one_in(1);
        let inactive = wait_of(&events, token, EventKind::Deactivate, 2);
        assert!(inactive.len() >= 2, "{:#?}", client());
        assert!(inactive.iter().all(|event| !event.active), "{inactive:#?}");
        // As weftd does, also when Warp tries another subflow. Otherwise the scheduler may leave all data
        // to an inactive one.
        let mut set_aside = HashSet::new();
        let mut apply = |now: &ConnectionStats| {
            for subflow in &now.subflows {
                let address = subflow.local.ip();
                if subflow.active && set_aside.remove(&address) {
                    take_out_of_use(address, false);
                } else if !subflow.active && set_aside.insert(address) {
                    take_out_of_use(address, true);
                }
            }
        };
        let one_sends_two_packets = || {
            let now = client();
            apply(&now);
            let sends: Vec<_> = now.subflows.iter().filter(|s| s.active).collect();
            let rest = now.subflows.iter().filter(|s| !s.active);
            matches!(sends[..], [one] if one.cwnd == 2.0 && one.alpha > Some(0.9))
                && rest.map(|s| s.share).all(|share| share == Some(0.0))
        };
        assert!(becomes(one_sends_two_packets), "{:#?}", client());
        // Trials of inactive subflows count, too.
        assert!(client().suppressions >= before.suppressions + 2);

        marks.one_in(0);
        // A share each, of at least four packets on average.
        let all_have_shares = || {
            let now = client();
            apply(&now);
            let total: f64 = now.subflows.iter().filter_map(|s| s.share).sum();
            !now.suppressed && total >= 12.0 && now.subflows.iter().all(|s| s.share > Some(0.0))
        };
        assert!(becomes(all_have_shares), "{:#?}", client());
        let activated = wait_of(&events, token, EventKind::Activate, 2);
        assert!(activated.len() >= 2, "{:#?}", client());
        assert!(activated.iter().all(|event| event.active), "{activated:#?}");
        assert!(client().releases >= before.releases + 2);
        sender.close();
    });
}

/// Only subflows that work have shares. If no data was acknowledged, the first subflow keeps the kernel's first window of ten
/// packets, and the others have the two packets of an inactive one.
#[test]
fn warp_opens_subflows_without_a_share() {
    in_namespace("warp_opens_subflows_without_a_share", || {
        if !join_over_loopback(3) {
            skip("warp_opens_a_subflow", NO_JOINS);
            return;
        }
        let programs = load(&[KernelAlgorithm::Warp]);
        let events = programs.events().expect("the ring");
        let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_warp", "weft_warp");
        peers.send(1 << 10);
        assert_eq!(wait(&events, EventKind::Joined, 8).len(), 8);
        // The server's end has sent nothing, so its window is the kernel's first one.
        let client = peers.client_address();
        let all = programs.connections().expect("a map");
        let server = all.iter().find(|c| c.subflows.iter().all(|s| s.local != client));
        let server = server.expect("the server's");
        assert_eq!(server.subflows.len(), 4, "{server:#?}");
        let total: f64 = server.subflows.iter().filter_map(|s| s.share).sum();
        assert!((total - 10.0).abs() < 1e-6, "{server:#?}");
        let windows = |active: bool| {
            let those = server.subflows.iter().filter(move |s| s.active == active);
            those.map(|s| s.cwnd).collect::<Vec<_>>()
        };
        assert_eq!(windows(true), [10.0], "{server:#?}");
        assert_eq!(windows(false), [2.0, 2.0, 2.0], "{server:#?}");
        peers.close();
    });
}
