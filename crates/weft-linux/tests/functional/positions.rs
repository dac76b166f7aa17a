//! AMP-FG, which has to see every acknowledgement: where marks are in a round, who must echo them, and its share beside DCTCP.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::Command;
use std::time::Duration;

use libbpf_rs::{ObjectBuilder, OpenObject, TC_EGRESS, TcHookBuilder};
use weft_linux::programs::{Name, Options, Programs, Subflow};

use crate::machine::{Place, eventually, in_namespace, is_emulated, load, load_with, run, succeeds};
use crate::marks::Marks;
use crate::peers::{Family, Kind, Peers, listener_at};

/// The client's subflow of a connection.
fn subflow(programs: &Programs, peers: &Peers) -> Subflow {
    let connections = programs.connections().expect("a map");
    let local = peers.client_address();
    let mut subflows = connections.into_iter().flat_map(|c| c.subflows);
    subflows.find(|s| s.local == local).expect("the client's")
}

/// Rounds of marked packets differ in nothing, so beta is 0, alpha 1, and the window falls to its floor of one packet.
#[test]
fn amp_fg_falls_to_its_floor_when_all_is_marked_and_grows_when_nothing_is() {
    in_namespace("amp_fg_falls_to_its_floor_when_all_is_marked", || {
        let programs = load(&[Name::AmpFg]);
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
            (now.alpha, now.cwnd) == (Some(1.0), 1.0)
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
        let programs = load(&[Name::AmpFg]);
        std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").expect("a setting");
        let peers = Peers::connect(Family::V4, Kind::Tcp, "weft_amp_fg", "reno");
        peers.send(1 << 20);
        assert_eq!(peers.client_algorithm(), "reno");
        assert_eq!(programs.totals().expect("a map").without_ecn, 1);
        assert!(programs.connections().expect("a map").is_empty());
    });
}

/// Packets are marked where ten or more wait. At the packet level (`many-to-one`, 20 Mbit/s, delays of 20 us, `cwnd_min = 2`) the shares are
/// these: AMP-FG's cuts are deeper than DCTCP's, and its subflows are not coupled.
const ONE_SUBFLOW: f64 = 0.225;
const TWO_SUBFLOWS: f64 = 0.549;

#[test]
fn amp_fg_beside_dctcp_has_the_share_that_the_packet_level_says() {
    in_namespace(
        "amp_fg_beside_dctcp_has_the_share_that_the_packet_level_says",
        || {
            let options = Options {
                parameters: vec![(Name::AmpFg, vec![("cwnd_min".to_owned(), 2.0)])],
                ..Options::default()
            };
            let programs = load_with(&[Name::AmpFg, Name::Dctcp], &options);
            let (router, server) = (Place::new(), Place::new());
            bottleneck(&router, &server);
            compare(share(&programs, &server, Kind::Tcp), ONE_SUBFLOW);
            if !further_subflow(&server) {
                println!("amp_fg_beside_dctcp: two subflows skipped, it needs iproute2 with `ip mptcp`");
                return;
            }
            compare(share(&programs, &server, Kind::Mptcp), TWO_SUBFLOWS);
        },
    );
}

/// Within a factor of two. In emulation it is printed only: a guest of a busy machine is late for its own packets.
fn compare(share: f64, packet_level: f64) {
    let ratio = share / packet_level;
    assert!(share > 0.0);
    assert!(is_emulated() || (0.5..2.0).contains(&ratio), "{ratio}");
}

/// What AMP-FG takes beside a DCTCP flow, in the latter's bytes.
fn share(programs: &Programs, server: &Place, kind: Kind) -> f64 {
    let flows = [("weft_amp_fg", kind), ("weft_dctcp", Kind::Tcp)].map(|(cc, kind)| {
        let at = Ipv4Addr::new(10, 2, 0, 1).into();
        let listener = server.within(move || listener_at(at, kind, cc));
        Peers::over(listener, Family::V4, kind, cc)
    });
    let bytes = || flows.each_ref().map(|peers| sent(programs, peers));
    let mut share = 0.0;
    std::thread::scope(|scope| {
        for peers in &flows {
            scope.spawn(|| peers.send_for(BEGIN + MEASURED));
        }
        std::thread::sleep(BEGIN);
        let before = bytes();
        std::thread::sleep(MEASURED);
        let after = bytes();
        share = (after[0] - before[0]) / (after[1] - before[1]);
    });
    println!("AMP-FG over {kind:?}: {share:.2} of DCTCP's bytes");
    for peers in flows {
        peers.close();
    }
    share
}

const BEGIN: Duration = Duration::from_secs(1);
const MEASURED: Duration = Duration::from_secs(6);

/// Bytes acknowledged on all subflows of the client's connection.
fn sent(programs: &Programs, peers: &Peers) -> f64 {
    let connections = programs.connections().expect("a map");
    let local = peers.client_address();
    let mut own = connections
        .iter()
        .filter(|c| c.subflows.iter().any(|s| s.local == local));
    let subflows = &own.next().expect("the client's").subflows;
    assert!(subflows.iter().all(|s| s.marked > 0), "{subflows:#?}");
    subflows.iter().map(|s| s.sent).sum::<u64>() as f64
}

/// One, from an address of its own. False: iproute2 is too old.
fn further_subflow(server: &Place) -> bool {
    let limits = ["mptcp", "limits", "set", "subflow", "8", "add_addr_accepted", "8"];
    if !succeeds("ip", &limits) || !server.within(move || succeeds("ip", &limits)) {
        return false;
    }
    ip("address add 10.1.0.2/24 dev c0");
    ip("mptcp endpoint add 10.1.0.2 dev c0 subflow");
    true
}

/// A router between here and the server, at a rate that emulation can carry. RED marks, or a program where the kernel has no RED.
fn bottleneck(router: &Place, server: &Place) {
    ip(&format!(
        "link add c0 type veth peer name r0 netns {}",
        router.name
    ));
    ip("address add 10.1.0.1/24 dev c0");
    ip("link set c0 up gso_max_segs 1");
    ip("route add default via 10.1.0.9");
    let next = format!("link add r1 type veth peer name s0 netns {}", server.name);
    router.within(move || {
        ip(&next);
        ip("address add 10.1.0.9/24 dev r0");
        ip("address add 10.2.0.9/24 dev r1");
        ip("link set r0 up gso_max_segs 1");
        ip("link set r1 up gso_max_segs 1");
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a setting");
        let queue = "qdisc add dev r1 root handle 1: tbf rate 20mbit burst 5kb limit 150kb";
        assert!(words_succeed("tc", queue), "tc {queue}");
        let red = "qdisc add dev r1 parent 1:1 handle 2: red limit 150kb min 15000 max 15001 avpkt 1500 burst 11 \
                   probability 1 bandwidth 20mbit ecn";
        if !words_succeed("tc", red) {
            mark_at("r1");
        }
    });
    server.within(|| {
        ip("address add 10.2.0.1/24 dev s0");
        ip("link set s0 up gso_max_segs 1");
        ip("route add default via 10.2.0.9");
    });
}

/// From now on, until the namespace has gone.
fn mark_at(interface: &str) {
    let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/tests_mark_queue.o"));
    let object = ObjectBuilder::default()
        .open_memory(bytes)
        .and_then(OpenObject::load);
    let object = object.expect("the marking program loads");
    let program = object.progs().next().expect("a program");
    let hook = TcHookBuilder::new(program.as_fd())
        .ifindex(index(interface))
        .replace(true)
        .handle(1)
        .priority(1)
        .hook(TC_EGRESS)
        .create()
        .and_then(|mut hook| hook.attach());
    hook.expect("clsact before the queue");
}

fn ip(words: &str) {
    assert!(words_succeed("ip", words), "ip {words}");
}

fn words_succeed(program: &str, words: &str) -> bool {
    succeeds(program, &words.split_whitespace().collect::<Vec<_>>())
}

/// Of an interface, as `ip -oneline` begins.
fn index(interface: &str) -> i32 {
    let shown = Command::new("ip")
        .args(["-o", "link", "show", interface])
        .output();
    let shown = String::from_utf8(shown.expect("ip").stdout).expect("text");
    let index = shown.split(':').next().and_then(|index| index.parse().ok());
    index.expect("its number")
}
