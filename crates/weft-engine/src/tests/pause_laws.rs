//! Laws of priority flow control: no loss if the headroom is large enough, pauses that propagate, and
//! deadlocks.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use weft_fabric::{Fabric, Link, LinkChange, Lossless};
use weft_spec::{QueueSize, Rate, Size, Time};

use super::exactness::compare;
use super::networks::{config, limited, network};
use super::random_networks::any_network;
use super::reference::serialisation;
use crate::packet::{DATA, Packet};
use crate::route::{HopBits, Route};
use crate::{Context, Endpoint, Engine, Jitter, PauseCounters};

const GBPS: u64 = 1_000_000_000;
const MTU: u64 = 1500;
const XOFF: u64 = 20 * MTU;

const LOSSLESS: Lossless = Lossless {
    headroom: None,
    headroom_pool: None,
    xoff: Some(Size(XOFF)),
    xon: None,
    reaction: Time(0),
    watchdog: None,
    classes: 1,
    mark_min: None,
    mark_max: None,
    mark_probability: None,
};

/// A host that sends packets back to back along its routes in turn, or the host that receives them.
#[derive(Default)]
struct Station {
    routes: Vec<Route>,
    /// Number of packets to send, and that were sent.
    packets: u64,
    sent: u64,
    /// Time between two packets in picoseconds.
    gap: u64,
    received: u64,
    arrivals: Vec<u64>,
    asks: Asks,
}

/// Times at which a station asks whether its port is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Asks {
    /// Never: packets wait in its port.
    #[default]
    Never,
    /// Every `gap`.
    Always,
    /// After the pause, at the first of these times.
    AtResume,
}

impl Endpoint for Station {
    fn on_packet(&mut self, _: &Packet, cx: &mut Context<'_>) {
        self.received += 1;
        self.arrivals.push(cx.now);
    }

    fn on_timer(&mut self, key: u64, cx: &mut Context<'_>) {
        if self.sent == self.packets {
            return;
        }
        let flow = self.sent % self.routes.len() as u64;
        if self.asks != Asks::Never && cx.is_paused(0, 0) {
            match self.asks {
                Asks::AtResume => cx.set_timer_at_resume(0, cx.now + self.gap, self.gap, key),
                _ => cx.set_timer(cx.now + self.gap, key),
            }
            return;
        }
        cx.send(&Packet {
            route: self.routes[flow as usize],
            size: MTU as u16,
            flags: DATA,
            lo: key as u32,
            hi: flow as u32,
            ..Packet::default()
        });
        self.sent += 1;
        cx.set_timer(cx.now + self.gap, key);
    }
}

/// A network of cables and stations.
struct Network {
    nodes: u32,
    hosts: Vec<u32>,
    links: Vec<Link>,
    stations: Vec<Station>,
    starts: Vec<u64>,
}

impl Network {
    fn new(nodes: u32, hosts: Vec<u32>) -> Self {
        Self {
            nodes,
            hosts,
            links: Vec::new(),
            stations: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Adds a cable.
    fn cable(&mut self, [a, b]: [u32; 2], rate: Rate, delay: Time, lossless: Lossless) {
        for (from, to) in [(a, b), (b, a)] {
            let queue = limited(QueueSize::Bytes(1_000_000));
            self.links.push(Link {
                kind: lossless.into(),
                ..Link::new([from, to], rate, delay, queue)
            });
        }
        self.links.sort_by_key(|link| link.from);
    }

    /// The number of the link between two nodes.
    fn link(&self, [from, to]: [u32; 2]) -> u32 {
        let position = self
            .links
            .iter()
            .position(|link| link.from == from && link.to == to);
        position.unwrap() as u32
    }

    /// The ports along a path.
    fn ports(&self, path: &[u32]) -> Vec<u16> {
        let port = |hop: &[u32]| {
            let first = self.links.iter().position(|link| link.from == hop[0]).unwrap();
            self.link([hop[0], hop[1]]) as u16 - first as u16
        };
        path.windows(2).map(port).collect()
    }

    /// Lets the next host send `packets` packets along `paths` in turn, from `start` on, at `rate`.
    fn station(&mut self, paths: &[Vec<u32>], packets: u64, rate: Rate, start: u64) {
        let fabric = self.fabric();
        let hops = HopBits::new(fabric.max_ports());
        let route = |path: &Vec<u32>| Route::from_ports(&self.ports(path), hops).unwrap();
        let routes = paths.iter().map(route).collect();
        self.stations.push(Station {
            routes,
            packets,
            gap: serialisation(rate, MTU as u16),
            ..Station::default()
        });
        self.starts.push(start);
    }

    fn fabric(&self) -> Fabric {
        network(self.nodes, &self.hosts, self.links.clone())
    }

    fn engine(&mut self) -> Engine<Station> {
        let fabric = self.fabric();
        let config = config(64, MTU as u32);
        let mut stations = std::mem::take(&mut self.stations).into_iter();
        let mut engine = Engine::new(&fabric, &config, |_| stations.next().unwrap_or_default());
        for (host, &start) in (0..).zip(&self.starts) {
            let node = self.hosts[host as usize];
            engine.set_timer(host, node, start, u64::from(host));
        }
        engine
    }
}

/// The delay of the cable whose headroom is under test: so that the largest number of packets that arrive
/// after a pause takes the whole bound but 40 bytes.
fn cable_delay(packets: u64) -> Time {
    Time((packets * MTU + 40 - 64) * 800 / 2)
}

/// Returns the largest number of drops, if host 0 sends to host 1 over a slow link, and host 2 to host 0,
/// for several starts of host 2. The frames of the switch then wait up to a packet of host 2.
fn most_drops(lossless: Lossless, delay: Time) -> u64 {
    let drops = |phase| {
        let mut network = Network::new(4, vec![0, 1, 2]);
        network.cable([0, 3], Rate(10 * GBPS), delay, lossless);
        network.cable([1, 3], Rate(GBPS / 1000), Time(1_000_000), lossless);
        network.cable([2, 3], Rate(10 * GBPS), Time(1_000_000), lossless);
        network.station(&[vec![0, 3, 1]], 400, Rate(10 * GBPS), 0);
        network.station(&[], 0, Rate(GBPS), 0);
        network.station(&[vec![2, 3, 0]], 400, Rate(10 * GBPS), phase);
        network.stations[1].packets = 0;
        let mut engine = network.engine();
        engine.run_until(Time::from_ms(3).0);
        let [toward, back] = [network.link([0, 3]), network.link([3, 0])];
        assert!(engine.pause_counters(toward).unwrap().pauses > 0);
        assert_eq!(engine.pause_counters(back).unwrap().pauses, 0);
        engine.drops_and_marks().0
    };
    (0..60).map(|n| drops(n * 20_000)).max().unwrap()
}

/// Nothing is lost with the default headroom. A headroom that is 41 bytes smaller loses a packet.
#[test]
fn nothing_is_lost_if_and_only_if_the_headroom_is_as_large_as_the_bound() {
    for (packets, reaction) in [(1, 0), (4, 0), (4, 7 * 1_200_000)] {
        let delay = cable_delay(packets);
        let lossless = Lossless {
            reaction: Time(reaction),
            ..LOSSLESS
        };
        let mut network = Network::new(2, vec![0]);
        network.cable([0, 1], Rate(10 * GBPS), delay, lossless);
        let bound = lossless.headroom_bound(&network.links[0].wire(), &network.links[1].wire(), MTU as u32);
        assert_eq!(bound / MTU, packets + 2 + reaction / 1_200_000);
        let with = |headroom| Lossless {
            headroom: Some(Size(headroom)),
            ..lossless
        };
        assert_eq!(most_drops(lossless, delay), 0, "the default");
        assert_eq!(most_drops(with(bound), delay), 0, "{bound} B");
        assert_eq!(most_drops(with(bound - 41), delay), 1, "41 B less");
        assert_eq!(most_drops(with(bound - MTU), delay), 1, "a packet less");
        assert_eq!(most_drops(with(bound - 2 * MTU), delay), 2, "two packets less");
    }
}

/// Returns the number of drops, if three hosts send at once to a fourth over a slow link.
fn drops_of_three(lossless: Lossless, delay: Time) -> u64 {
    let mut network = Network::new(5, vec![0, 1, 2, 3]);
    for host in 0..3 {
        network.cable([host, 4], Rate(10 * GBPS), delay, lossless);
    }
    network.cable([3, 4], Rate(GBPS / 1000), Time(1_000_000), lossless);
    for host in 0..3 {
        network.station(&[vec![host, 4, 3]], 400, Rate(10 * GBPS), 0);
    }
    let mut engine = network.engine();
    engine.run_until(Time::from_ms(3).0);
    for host in 0..3 {
        assert!(engine.pause_counters(network.link([host, 4])).unwrap().pauses > 0);
    }
    engine.drops_and_marks().0
}

/// Three links that are paused at once need three times the headroom of one in a pool, and no more. One link
/// needs that of one.
#[test]
fn nothing_is_lost_if_and_only_if_the_pool_holds_what_paused_links_need_at_once() {
    let delay = cable_delay(4);
    let mut network = Network::new(2, vec![0]);
    network.cable([0, 1], Rate(10 * GBPS), delay, LOSSLESS);
    let bound = LOSSLESS.headroom_bound(&network.links[0].wire(), &network.links[1].wire(), MTU as u32);
    let with = |pool| Lossless {
        headroom_pool: Some(Size(pool)),
        ..LOSSLESS
    };
    // No packet delays a frame here, so each link needs a packet less than the bound.
    let needed = 3 * (bound / MTU - 1) * MTU;
    assert_eq!(drops_of_three(with(needed), delay), 0, "{needed} B");
    assert_eq!(drops_of_three(with(needed - 1), delay), 1, "a byte less");
    assert_eq!(
        drops_of_three(with(needed - 2 * MTU), delay),
        2,
        "two packets less"
    );
    assert_eq!(drops_of_three(LOSSLESS, delay), 0, "without a pool");
    assert_eq!(most_drops(with(bound), delay), 0, "one link");
    assert_eq!(most_drops(with(bound - 41), delay), 1, "41 B less");
}

/// A slow receiver pauses the links before it one after the other, from the last one to the first one.
#[test]
fn a_pause_propagates_hop_by_hop() {
    let mut network = Network::new(5, vec![0, 4]);
    for node in 0..3 {
        network.cable([node, node + 1], Rate(10 * GBPS), Time(1_000_000), LOSSLESS);
    }
    network.cable([3, 4], Rate(GBPS), Time(1_000_000), LOSSLESS);
    network.station(&[vec![0, 1, 2, 3, 4]], 1_000, Rate(10 * GBPS), 0);
    let mut engine = network.engine();
    let mut first = [None; 3];
    let mut now = 0;
    while engine.endpoint(1).received < 1_000 {
        now += 1_000_000;
        assert!(now < Time::from_ms(20).0);
        engine.run_until(now);
        for (node, first) in (0..3).zip(&mut first) {
            let counters = engine.pause_counters(network.link([node, node + 1])).unwrap();
            if counters.time > 0 {
                *first = first.or(Some(now));
            }
        }
    }
    let first = first.map(Option::unwrap);
    // Each buffer first fills at 9 Gbps up to the threshold.
    let fill = XOFF * 8 * 1_000 / 9;
    for pair in first.windows(2) {
        let between = pair[0] - pair[1];
        assert!(
            between.abs_diff(fill) < fill / 5,
            "{between} ps instead of {fill}"
        );
    }
    assert_eq!(engine.drops_and_marks().0, 0);
    assert_eq!(engine.deadlock(), None);
    let last = engine.pause_counters(network.link([3, 4])).unwrap();
    assert_eq!(last, PauseCounters::default(), "the receiver takes what it gets");
}

/// Four switches, each with a host that sends to the host two switches on.
fn ring(watchdog: Option<Time>, clockwise: bool) -> (Network, Engine<Station>) {
    let lossless = Lossless { watchdog, ..LOSSLESS };
    let mut network = Network::new(8, vec![0, 1, 2, 3]);
    for n in 0..4 {
        network.cable([n, 4 + n], Rate(10 * GBPS), Time(1_000_000), lossless);
        network.cable(
            [4 + n, 4 + (n + 1) % 4],
            Rate(10 * GBPS),
            Time(1_000_000),
            lossless,
        );
    }
    for n in 0..4_u32 {
        let switches = |turn: bool| {
            let step = if turn { 1 } else { 3 };
            (0..3).map(move |hop| 4 + (n + step * hop) % 4)
        };
        // The paths that avoid the cable from the last switch to the first one have no cycle.
        let turn = clockwise || n < 2;
        let path = [n].into_iter().chain(switches(turn)).chain([(n + 2) % 4]);
        network.station(&[path.collect()], 4_000, Rate(10 * GBPS), 0);
    }
    let engine = network.engine();
    (network, engine)
}

fn received(engine: &Engine<Station>) -> u64 {
    (0..4).map(|host| engine.endpoint(host).received).sum()
}

/// Paths around a ring wait for each other, and nothing moves any more. Paths that never use one of the
/// cables do not.
#[test]
fn a_ring_deadlocks_unless_its_paths_have_no_cycle() {
    let (network, mut engine) = ring(None, true);
    engine.run_until(Time::from_ms(20).0);
    let stuck = received(&engine);
    engine.run_until(Time::from_ms(40).0);
    assert_eq!(received(&engine), stuck);
    assert!(stuck < 16_000, "{stuck}");
    assert_eq!(engine.drops_and_marks().0, 0);
    let cycle = engine.deadlock().expect("a deadlock");
    let mut expected: Vec<_> = (0..4)
        .map(|n| (network.link([4 + n, 4 + (n + 1) % 4]), 0))
        .collect();
    for pair in cycle.windows(2) {
        let [a, b] = [pair[0].0, pair[1].0].map(|link| &network.links[link as usize]);
        assert_eq!(a.to, b.from, "in the order of the path");
    }
    let mut cycle = cycle;
    cycle.sort_unstable();
    expected.sort_unstable();
    assert_eq!(cycle, expected);

    let (_, mut engine) = ring(None, false);
    engine.run_until(Time::from_ms(20).0);
    assert_eq!(received(&engine), 16_000);
    assert_eq!(engine.deadlock(), None);
    assert_eq!(engine.drops_and_marks().0, 0);
}

/// A watchdog ends the deadlock at the price of drops.
#[test]
fn a_watchdog_breaks_a_deadlock_and_is_counted() {
    let (network, mut engine) = ring(Some(Time::from_ms(1)), true);
    engine.run_until(Time::from_ms(60).0);
    let (drops, _) = engine.drops_and_marks();
    assert!(drops > 0);
    assert_eq!(received(&engine) + drops, 16_000);
    let links = 0..network.links.len() as u32;
    let expired: u64 = links
        .filter_map(|link| Some(engine.pause_counters(link)?.expired))
        .sum();
    assert!(expired > 0);
    assert_eq!(engine.deadlock(), None);
}

/// Host 0 sends to a slow host and to a fast host. The packets to the fast one wait behind pauses that the
/// slow one causes; those to the slow one do not.
#[test]
fn victims_are_the_packets_to_other_ports_than_the_cause() {
    let mut network = Network::new(5, vec![0, 1, 2]);
    network.cable([0, 3], Rate(10 * GBPS), Time(1_000_000), LOSSLESS);
    network.cable([3, 4], Rate(10 * GBPS), Time(1_000_000), LOSSLESS);
    network.cable([1, 4], Rate(GBPS), Time(1_000_000), LOSSLESS);
    network.cable([2, 4], Rate(10 * GBPS), Time(1_000_000), LOSSLESS);
    network.station(&[vec![0, 3, 4, 1], vec![0, 3, 4, 2]], 1_000, Rate(10 * GBPS), 0);
    let mut engine = network.engine();
    engine.run_until(Time::from_ms(50).0);
    assert_eq!(engine.endpoint(1).received + engine.endpoint(2).received, 1_000);
    let victims = engine.victims();
    // At the port of the host all packets wait for pauses that the port to the second switch caused.
    assert_eq!(victims.keys().collect::<Vec<_>>(), [&(0, 1)]);
    let victim = victims[&(0, 1)];
    assert!(victim.packets > 300, "{victim:?}");
    assert!(victim.time > Time::from_ms(5).0, "{victim:?}");
}

/// In random networks of cables whose headrooms are at their bounds, nothing is dropped.
#[test]
fn random_networks_with_enough_headroom_drop_nothing() {
    let mut runner = TestRunner::deterministic();
    let (mut pauses, mut runs) = (0, 0);
    while runs < 1_000 {
        let mut case = any_network().new_tree(&mut runner).unwrap().current();
        let thresholds = (MTU..6 * MTU, 1_u8..=8, prop::sample::select(vec![0, 700_000]));
        let (xoff, classes, reaction) = thresholds.new_tree(&mut runner).unwrap().current();
        let links = std::mem::take(&mut case.links);
        case.links = links
            .iter()
            .flat_map(|link| {
                let mut reverse = link.clone();
                (reverse.from, reverse.to) = (link.to, link.from);
                [link.clone(), reverse]
            })
            .collect();
        for link in &mut case.links {
            link.kind = Lossless {
                xoff: Some(Size(xoff)),
                reaction: Time(reaction),
                classes,
                ..LOSSLESS
            }
            .into();
        }
        case.links.sort_by_key(|link| link.from);
        case.changes.clear();
        // A host's own processing time would delay the frames of hosts that forward.
        case.jitter = Jitter::default();
        let totals = compare(&case, 1, u64::MAX).unwrap();
        assert_eq!(totals.drops, 0, "{case:?}");
        pauses += totals.pauses;
        runs += 1;
    }
    assert!(pauses > 10_000, "{pauses} pauses");
}

/// The random networks of [`exactness`](super::exactness) pause, drop, block and expire.
#[test]
fn random_networks_do_all_that_pauses_do() {
    let mut runner = TestRunner::deterministic();
    let mut sum = [0; 4];
    for run in 0..400 {
        let case = any_network().new_tree(&mut runner).unwrap().current();
        let threads = if run % 10 == 0 { 2 + run / 10 % 3 } else { 1 };
        let totals = compare(&case, threads, u64::MAX).unwrap_or_else(|error| panic!("{error}: {case:?}"));
        let found = [totals.pauses, totals.expired, totals.blocked, totals.drops];
        sum = std::array::from_fn(|i| sum[i] + found[i]);
    }
    let [pauses, expired, blocked, _] = sum;
    assert!(pauses > 1_000 && expired > 20 && blocked > 500, "{sum:?}");
}

/// A station that waits for the end of a pause sends at the same times as one that asks whether the pause lasts,
/// but has fewer timers. Rates may change meanwhile.
#[test]
fn a_station_that_waits_for_the_end_of_a_pause_sends_as_one_that_asks() {
    let run = |asks: Asks, changed_at: u64| {
        let mut network = Network::new(5, vec![0, 1, 2, 3]);
        for host in 0..3 {
            network.cable([host, 4], Rate(10 * GBPS), Time(1_000_000), LOSSLESS);
        }
        network.cable([3, 4], Rate(GBPS), Time(1_000_000), LOSSLESS);
        for host in 0..3 {
            network.station(
                &[vec![host, 4, 3]],
                400,
                Rate(10 * GBPS),
                u64::from(host) * 333_333,
            );
            network.stations[host as usize].asks = asks;
        }
        let mut engine = network.engine();
        engine.run_until(changed_at);
        engine.change(network.link([4, 3]), LinkChange::Rate(Rate(3 * GBPS)));
        engine.end_waits();
        engine.run_until(1_000_000_000_000);
        let pauses: u64 = (0..3)
            .map(|host| engine.pause_counters(network.link([host, 4])).unwrap().pauses)
            .sum();
        assert!(pauses > 100, "{pauses}");
        let receiver = engine.endpoint(3);
        assert_eq!(receiver.received, 1_200);
        (receiver.arrivals.clone(), engine.events().1)
    };
    for changed_at in [700_000_000, 3_000_000_000, 3_333_333_333] {
        let (asked, asking) = run(Asks::Always, changed_at);
        let (waited, waiting) = run(Asks::AtResume, changed_at);
        assert_eq!(asked, waited);
        assert!(waiting < asking / 2, "{waiting} of {asking}");
    }
}
