//! A router at whose exit one connection of an algorithm meets a DCTCP flow.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libbpf_rs::{ObjectBuilder, OpenObject, TC_EGRESS, TcHookBuilder};
use weft_kernel::events::{EventKind, Events};
use weft_kernel::programs::{KernelAlgorithm, Programs};

use crate::machine::{NamespaceThread, is_emulated, succeeds, take_out_of_use};
use crate::peers::{Family, Kind, Peers, listener_at};

/// Checks the share of a connection that competes with a DCTCP flow: its bytes, divided by the flow's.
///
/// The share must be within a factor of `within` of `expected` after one, two or three spans. Two flows of a few packets
/// each change places for seconds. In emulation the share is printed only, because a guest of a busy machine is late for its own packets.
pub fn compare(
    programs: &Programs,
    server: &NamespaceThread,
    (name, kind): (KernelAlgorithm, Kind),
    expected: f64,
    within: f64,
) {
    let near = |share: f64| (1.0 / within..within).contains(&(share / expected));
    let share = share(programs, server, name, kind, near);
    println!(
        "{} over {kind:?}: {share:.2} of DCTCP's bytes, expected {expected:.2}",
        name.kernel()
    );
    assert!(share > 0.0 && (is_emulated() || near(share)), "{share}");
}

/// Returns the share over the first span, or over two or three if it is not near.
fn share(
    programs: &Programs,
    server: &NamespaceThread,
    name: KernelAlgorithm,
    kind: Kind,
    near: impl Fn(f64) -> bool,
) -> f64 {
    let flows = [(name.kernel(), kind), ("weft_dctcp", Kind::Tcp)].map(|(cc, kind)| {
        let at = Ipv4Addr::new(10, 2, 0, 1).into();
        let listener = server.within(move || listener_at(at, kind, cc));
        Peers::over(listener, Family::V4, kind, cc)
    });
    let mut suppression = Suppression::new(programs.events().expect("the ring"));
    let bytes = || flows.each_ref().map(|peers| sent(programs, peers));
    let stop = AtomicBool::new(false);
    let mut share = 0.0;
    std::thread::scope(|scope| {
        for peers in &flows {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    peers.send_for(TURN);
                }
            });
        }
        suppression.apply(BEGIN);
        let before = bytes();
        let (spans, span) = if is_emulated() { (1, BEGIN) } else { (SPANS, SPAN) };
        for _ in 0..spans {
            suppression.apply(span);
            let after = bytes();
            share = (after[0] - before[0]) / (after[1] - before[1]);
            if near(share) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    for peers in flows {
        peers.close();
    }
    share
}

/// The client's.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 1, 0, 2)];
const TURN: Duration = Duration::from_millis(100);
const BEGIN: Duration = Duration::from_secs(1);
const SPAN: Duration = Duration::from_secs(12);
const SPANS: u32 = 3;

/// Takes inactive subflows out of use, and back, as weftd does.
struct Suppression {
    events: Events,
    /// Of the client's addresses, those whose subflow the server knows.
    joined: HashSet<IpAddr>,
    inactive: HashSet<IpAddr>,
}

impl Suppression {
    fn new(events: Events) -> Self {
        Self {
            events,
            joined: HashSet::new(),
            inactive: HashSet::new(),
        }
    }

    fn apply(&mut self, time: Duration) {
        let begin = Instant::now();
        while let Some(left) = time.checked_sub(begin.elapsed()) {
            for event in self.events.wait(left.min(TURN)).expect("the ring") {
                let (from, to) = (event.local.ip(), event.remote.ip());
                let of_client = |address| ADDRESSES.iter().any(|own| address == *own);
                match event.kind {
                    // Until the peer has answered, the kernel does not find the subflow whose flag changes.
                    EventKind::Joined
                        if of_client(to) && self.joined.insert(to) && self.inactive.contains(&to) =>
                    {
                        take_out_of_use(to, true);
                    }
                    EventKind::Deactivate
                        if of_client(from) && self.inactive.insert(from) && self.joined.contains(&from) =>
                    {
                        take_out_of_use(from, true);
                    }
                    EventKind::Activate if self.inactive.remove(&from) && self.joined.contains(&from) => {
                        take_out_of_use(from, false);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Bytes acknowledged on all subflows of the client's connection.
fn sent(programs: &Programs, peers: &Peers) -> f64 {
    let connections = programs.connections().expect("a map");
    let local = peers.client_address();
    let mut own = connections
        .iter()
        .filter(|c| c.subflows.iter().any(|s| s.local == local));
    let subflows = &own.next().expect("the client's").subflows;
    assert!(subflows.iter().any(|s| s.marked > 0), "{subflows:#?}");
    subflows.iter().map(|s| s.sent).sum::<u64>() as f64
}

/// One, from an address of its own. False: iproute2 is too old.
pub fn additional_subflow(server: &NamespaceThread) -> bool {
    let limits = ["mptcp", "limits", "set", "subflow", "8", "add_addr_accepted", "8"];
    if !succeeds("ip", &limits) || !server.within(move || succeeds("ip", &limits)) {
        return false;
    }
    let [first, second] = ADDRESSES;
    ip(&format!("address add {second}/24 dev c0"));
    ip(&format!("mptcp endpoint add {first} dev c0"));
    ip(&format!("mptcp endpoint add {second} dev c0 subflow"));
    true
}

/// A router between here and the server, at a rate that emulation can carry. RED marks, or a program where the kernel has no RED.
pub fn bottleneck(router: &NamespaceThread, server: &NamespaceThread) {
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
    let object = ObjectBuilder::default()
        .open_memory(weft_test_support::MARK_QUEUE)
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
