//! Marks on loopback, and what AMP makes of them.

use std::time::{Duration, Instant};

use libbpf_rs::{
    MapCore, MapFlags, Object, ObjectBuilder, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHook, TcHookBuilder,
};
use std::os::fd::AsFd;

use weft_kernel::events::{Event, EventKind, Events};
use weft_kernel::programs::{ConnectionStats, KernelAlgorithm, Options, Programs};
use weft_test_support::skip;

use crate::machine::{
    NO_JOINS, eventually, in_namespace, is_emulated, join, join_over_loopback, load, patience, run,
    slow_loopback,
};
use crate::peers::{Family, Kind, Peers};

/// Marks packets that leave by loopback.
pub struct Marks {
    object: Object,
    _hook: TcHook,
}

impl Marks {
    pub fn on_loopback() -> Self {
        let (object, hook) = on_loopback(weft_test_support::MARK, TC_EGRESS);
        Self { object, _hook: hook }
    }

    /// Marks one packet in so many from now on; 0: none.
    pub fn one_in(&self, n: u32) {
        let map = self
            .object
            .maps()
            .find(|map| map.name() == "one_in")
            .expect("a map");
        map.update(&[0; 4], &n.to_ne_bytes(), MapFlags::ANY)
            .expect("a map");
    }
}

/// A middlebox that clears the option of Accurate ECN on loopback.
pub struct Middlebox {
    object: Object,
    _hook: TcHook,
}

impl Middlebox {
    pub fn on_loopback() -> Self {
        let (object, hook) = on_loopback(weft_test_support::CLEAR_ACCECN, TC_INGRESS);
        Self { object, _hook: hook }
    }

    /// Returns how many options were cleared.
    pub fn cleared(&self) -> u32 {
        let map = self.object.maps().find(|map| map.name() == "cleared");
        let value = map.expect("a map").lookup(&[0; 4], MapFlags::ANY).expect("a map");
        u32::from_ne_bytes(value.expect("an entry").try_into().expect("a number"))
    }
}

/// Loads a program of tests, and attaches it to loopback.
fn on_loopback(program: &[u8], point: TcAttachPoint) -> (Object, TcHook) {
    /// Index of the loopback interface in every namespace.
    const LOOPBACK: i32 = 1;
    let object = ObjectBuilder::default()
        .open_memory(program)
        .and_then(libbpf_rs::OpenObject::load);
    let object = object.expect("the program loads");
    let program = object.progs().next().expect("a program");
    let mut hook = TcHookBuilder::new(program.as_fd())
        .ifindex(LOOPBACK)
        .replace(true)
        .handle(1)
        .priority(1)
        .hook(point);
    let hook = hook
        .create()
        .and_then(|mut hook| hook.attach())
        .expect("clsact on loopback");
    (object, hook)
}

/// The next events of `kind`, until there are `enough`.
pub fn wait(events: &Events, kind: EventKind, enough: usize) -> Vec<Event> {
    wait_for(events, |event| event.kind == kind, enough)
}

/// The next ones of a connection.
pub fn wait_of(events: &Events, token: u32, kind: EventKind, enough: usize) -> Vec<Event> {
    wait_for(events, |event| event.kind == kind && event.token == token, enough)
}

fn wait_for(events: &Events, wanted: impl Fn(&Event) -> bool, enough: usize) -> Vec<Event> {
    let (begin, mut found) = (Instant::now(), Vec::new());
    while found.len() < enough && begin.elapsed() < patience() {
        let more = events.wait(Duration::from_millis(100)).expect("the ring");
        found.extend(more.into_iter().filter(&wanted));
    }
    found
}

#[test]
fn amp_suppresses_when_all_is_marked_and_releases_when_nothing_is() {
    in_namespace(
        "amp_suppresses_when_all_is_marked_and_releases_when_nothing_is",
        || {
            if !join_over_loopback(2) {
                skip("amp_suppresses_when_all_is_marked", NO_JOINS);
                return;
            }
            let programs = load(&[KernelAlgorithm::Amp]);
            let events = programs.events().expect("the ring");
            // In the packets of loopback, a burst of the scheduler is one packet. A subflow that gets a burst at a time then waits
            // for a delayed acknowledgement, and its window does not grow.
            run("ip", &["link", "set", "lo", "mtu", "1500"]);
            // In emulation 400 Mbit/s are more than the processor can do. On 7.3 one subflow then carries all data, and another gets
            // packets of 80 bytes, which are not marked.
            slow_loopback(if is_emulated() { 40 } else { 400 }, "1mb");
            let marks = Marks::on_loopback();
            let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_amp", "weft_amp");
            let sender = peers.send_until_stopped();
            // Two ends of three subflows.
            let joined = wait(&events, EventKind::Joined, 6);
            assert_eq!(joined.len(), 6, "{joined:?}");
            assert!(joined.iter().all(|event| event.active && event.token != 0));

            marks.one_in(1);
            let suppressed = wait(&events, EventKind::Suppress, 2);
            assert_eq!(suppressed.len(), 2, "{:#?}", programs.connections());
            assert!(suppressed.iter().all(|event| !event.active));
            let connections = programs.connections().expect("a map");
            let connection = connections
                .iter()
                .find(|c| c.token == suppressed[0].token)
                .expect("the connection");
            assert!(connection.suppressed && connection.suppressions == 1);
            for subflow in &connection.subflows {
                assert_eq!(subflow.active, subflow.slot == connection.initial, "{subflow:?}");
            }
            // One that comes late is suppressed too.
            join("127.0.0.4");
            let late = wait(&events, EventKind::Joined, 2);
            assert!(late.iter().any(|event| !event.active), "{late:?}");

            marks.one_in(0);
            let token = suppressed[0].token;
            let mut released = wait_of(&events, token, EventKind::Release, 3);
            let connections = programs.connections().expect("a map");
            let connection = connections.iter().find(|c| c.token == token);
            // Linux 7.3 may reset the late one soon: what it repeats there has no mapping (MPTcpExtDSSNotMatching).
            let open = &connection.expect("the connection").subflows;
            let missing = open.len().saturating_sub(released.len());
            released.extend(wait_of(&events, token, EventKind::Release, missing));
            let is_released = |slot| released.iter().any(|event| event.slot == slot && event.active);
            assert!((0..3).all(is_released), "{released:#?}");
            assert!(open.iter().all(|s| s.active && is_released(s.slot)), "{open:#?}");
            sender.close();
        },
    );
}

/// Subflows are suppressed together, which would be two events of one user at the same time.
#[test]
fn the_limit_of_a_user_includes_suppression() {
    in_namespace("the_limit_of_a_user_includes_suppression", || {
        if !join_over_loopback(2) {
            skip("the_limit_of_a_user_includes_suppression", NO_JOINS);
            return;
        }
        let options = Options {
            max_events_per_user: Some(1),
            ..Options::default()
        };
        let programs = Programs::load(&[KernelAlgorithm::Amp], &options).expect("the program loads");
        let events = programs.events().expect("the ring");
        slow_loopback(if is_emulated() { 40 } else { 400 }, "1mb");
        let marks = Marks::on_loopback();
        marks.one_in(1);
        let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_amp", "weft_amp");
        let connections = || programs.connections().expect("a map");
        let mut sent = Vec::new();
        eventually("two subflows are suppressed", || {
            peers.send_for(Duration::from_millis(20));
            sent.extend(events.read().expect("the ring"));
            let inactive = |c: &ConnectionStats| c.subflows.iter().filter(|s| !s.active).count();
            connections().iter().any(|c| c.suppressed && inactive(c) == 2)
        });
        sent.extend(events.wait(Duration::from_millis(100)).expect("the ring"));
        let suppressed = sent.iter().filter(|event| event.kind == EventKind::Suppress);
        assert!(suppressed.count() <= 1, "{sent:#?}");
        assert!(programs.totals().expect("a map").lost_events > 0);
        peers.close();
    });
}
