//! Tests that the window engine equals the simulator of [`reference`](super::reference), event by
//! event, on random networks with endpoints that reply, forward and set timers.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use weft_fabric::Link;
use weft_spec::{QueueSize, Rate, Time};

use super::networks::{config, limited, network};
use super::random_networks::{RandomNetwork, any_network};
use super::reference::pauses::Totals;
use super::reference::{Reference, TestAction, TestEndpoint, serialisation};
use crate::packet::{DATA, ECT, PROTECTED, Packet, class_flags};
use crate::route::{HopBits, Route};
use crate::thread_choice::ThreadChoice;
use crate::{
    Blocked, Context, Endpoint, Engine, EngineConfig, Jitter, MAX_ARRIVALS, SampleTarget, Threads, mix,
};

pub const SIZES: [u16; 5] = [40, 41, 64, 700, 1500];

/// Maximum number of packets that a host sends.
const BUDGET: u32 = 300;

/// An event that a host observed.
#[derive(Clone, Debug, PartialEq)]
enum Observation {
    Packet(Packet),
    Timer { now: u64, key: u64 },
}

/// An endpoint that acts differently at every event, by a hash of all its observations.
#[derive(Clone)]
struct Hasher {
    routes: Arc<[Route]>,
    /// The value of [`RandomNetwork::uniform`].
    uniform: bool,
    /// About the length of a window in picoseconds.
    pace: u64,
    state: u64,
    sent: u32,
    observed: Vec<Observation>,
}

impl Hasher {
    /// Returns a number below `n`.
    fn draw(&mut self, n: u64) -> u64 {
        mix(&mut self.state, n);
        (self.state >> 32) % n
    }

    fn send(&mut self, actions: &mut Vec<TestAction>) {
        if self.sent == BUDGET {
            return;
        }
        self.sent += 1;
        let route = self.draw(self.routes.len() as u64) as usize;
        let sizes = if self.uniform { 1 } else { SIZES.len() as u64 };
        let size = self.draw(sizes) as usize;
        let mut flags = 0;
        for (flag, one_in) in [(ECT, 2), (PROTECTED, 8), (DATA, 3)] {
            if self.draw(one_in) == 0 {
                flags |= flag;
            }
        }
        flags |= class_flags(self.draw(8) as u8);
        actions.push(TestAction::Send(Packet {
            route: self.routes[route],
            slot: self.state as u32,
            seq: self.sent,
            chunk: (self.state >> 20) as u32,
            lo: self.sent % 3,
            hi: self.sent % 2,
            size: SIZES[size],
            flags,
            time: 0,
        }));
    }

    fn set_timer(&mut self, now: u64, actions: &mut Vec<TestAction>) {
        let pace = self.pace;
        let even = [0, 0, pace, pace, 3 * pace, 50 * pace, 2000 * pace];
        let odd = [1, pace / 7, pace - 1];
        let ahead = [&even[..], if self.uniform { &[] } else { &odd }].concat();
        let time = now + ahead[self.draw(ahead.len() as u64) as usize];
        actions.push(TestAction::Timer(time, self.draw(1 << 20)));
    }

    fn react(&mut self, now: u64) -> Vec<TestAction> {
        let mut actions = Vec::new();
        match self.draw(8) {
            0 => {}
            1..=3 => self.send(&mut actions),
            4 => {
                self.send(&mut actions);
                self.set_timer(now, &mut actions);
            }
            5 => {
                self.set_timer(now, &mut actions);
                self.set_timer(now, &mut actions);
            }
            6 => {
                for _ in 0..self.draw(20) {
                    self.send(&mut actions);
                }
            }
            _ => {
                self.set_timer(now, &mut actions);
                self.send(&mut actions);
                self.send(&mut actions);
            }
        }
        actions
    }
}

impl TestEndpoint for Hasher {
    fn packet(&mut self, packet: &Packet, now: u64) -> Vec<TestAction> {
        self.observed.push(Observation::Packet(*packet));
        mix(&mut self.state, now);
        mix(
            &mut self.state,
            u64::from(packet.slot) << 16 | u64::from(packet.flags),
        );
        self.react(now)
    }

    fn timer(&mut self, key: u64, now: u64) -> Vec<TestAction> {
        self.observed.push(Observation::Timer { now, key });
        mix(&mut self.state, now ^ key);
        self.react(now)
    }
}

fn perform(actions: Vec<TestAction>, cx: &mut Context<'_>) {
    for action in actions {
        match action {
            TestAction::Send(packet) => cx.send(&packet),
            TestAction::Timer(time, key) => cx.set_timer(time, key),
        }
    }
}

impl Endpoint for Hasher {
    fn on_packet(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        assert_eq!(packet.time, cx.now);
        perform(self.packet(packet, cx.now), cx);
    }

    fn on_timer(&mut self, key: u64, cx: &mut Context<'_>) {
        perform(self.timer(key, cx.now), cx);
    }
}

pub fn trimmed(mut times: Vec<u64>) -> Vec<u64> {
    while times.last() == Some(&0) {
        times.pop();
    }
    times
}

/// Compares the counters of every link.
fn compare_links(engine: &Engine<Hasher>, reference: &Reference<'_, Hasher>) -> Result<(), TestCaseError> {
    for (l, (found, wire)) in engine.link_counters().iter().zip(&reference.wires).enumerate() {
        let found = [
            found.packets,
            found.bytes,
            found.delivered,
            found.in_flight,
            found.unsent.packets,
            found.drops,
            found.lost,
            found.marks,
        ];
        let f = &wire.fifo;
        let expected = [
            f.packets,
            f.bytes,
            wire.delivered,
            wire.in_flight(),
            reference.unsent(l as u32, engine.now()),
            f.drops,
            wire.lost,
            f.marks,
        ];
        prop_assert_eq!(
            found,
            expected,
            "packets, bytes, delivered, in flight, unsent, drops, lost, marks of link {}",
            l
        );
        prop_assert_eq!(
            engine.class_counters(l as u32),
            &f.counters[..],
            "classes of link {}",
            l
        );
        let pauses = engine.pause_counters(l as u32);
        prop_assert_eq!(pauses.is_some(), reference.is_lossless(l as u32));
        if let Some(found) = pauses {
            let found = [found.pauses, found.time, found.expired];
            let expected = reference.stopped(l as u32, engine.now());
            prop_assert_eq!(found, expected, "pause frames, time, expired of link {}", l);
        }
    }
    let blocked = |(key, blocked): (_, Blocked)| (key, (blocked.packets, blocked.time));
    let found: HashMap<_, _> = engine.victims().into_iter().map(blocked).collect();
    prop_assert_eq!(&found, &reference.stops.blocked, "blocked packets");
    Ok(())
}

/// Compares the samples and the times at each length of the probed queues at `end`.
fn compare_queues(
    case: &RandomNetwork,
    engine: &Engine<Hasher>,
    reference: &mut Reference<'_, Hasher>,
    end: u64,
) -> Result<(), TestCaseError> {
    for &link in &case.probes {
        let found = engine.distribution(link).expect("a probed queue");
        let expected = reference.wires[link as usize].fifo.distribution(end);
        prop_assert_eq!(trimmed(found), trimmed(expected), "distribution of link {}", link);
    }
    let mut samples: Vec<_> = engine.samples().copied().collect();
    let mut expected = reference.sampled.clone();
    samples.sort_unstable();
    expected.sort_unstable();
    prop_assert_eq!(samples, expected, "samples");
    Ok(())
}

/// Runs both simulators and compares all their results. After every `phase` windows, the engine
/// changes between `threads` threads and one.
pub fn compare(case: &RandomNetwork, threads: usize, phase: u64) -> Result<Totals, TestCaseError> {
    let fabric = case.fabric();
    let hops = HopBits::new(fabric.max_ports());
    let lookahead = case
        .links
        .iter()
        .map(|l| l.delay.0 + serialisation(l.rate, SIZES[0]))
        .min()
        .unwrap_or(1);
    let endpoint = |host: u32| Hasher {
        routes: case.routes(case.hosts[host as usize], hops),
        uniform: case.uniform,
        pace: lookahead.max(2),
        state: case.seed ^ u64::from(host),
        sent: 0,
        observed: Vec::new(),
    };
    // The queues of links, and the buffers of the nodes that send into them.
    let samples = case.samples.iter().flat_map(|&(link, n)| {
        let node = case.links[link as usize].from;
        let targets = [SampleTarget::Queue { link }, SampleTarget::Buffer { node }];
        targets.map(|target| (target, n * lookahead / 8 + 1))
    });
    let config = EngineConfig {
        seed: case.seed,
        arrivals: case.arrivals,
        jitter: case.jitter,
        trace: true,
        distributions: case.probes.clone(),
        samples: samples.collect(),
        return_routes: Some(Arc::new(case.return_routes(hops))),
        // Ports are observed in half of the networks. No packet has all flags, so none asks for a report.
        telemetry: (!case.seed.is_multiple_of(2)).then_some(u16::MAX),
        captures: (0..case.links.len() as u32).collect(),
        changes: case
            .changes
            .iter()
            .map(|&(_, link, change)| (link, change))
            .collect(),
        ..EngineConfig::new(SIZES[0].into(), 1500, Threads::Exactly(threads))
    };
    let hosts = 0..case.hosts.len() as u32;
    let mut engine = Engine::new(&fabric, &config, endpoint);
    engine.thread_choice = ThreadChoice::alternating(phase);
    let mut reference = Reference::new(&fabric, &config, hops, hosts.clone().map(endpoint).collect());
    for &(host, time, key) in &case.timers {
        let node = case.hosts[host as usize];
        engine.set_timer(host, node, time, key);
        reference.set_timer(node, time, key);
    }
    let mut captured = vec![0; case.links.len()];
    let mut end = 0;
    for (i, length) in case.lengths(lookahead).enumerate() {
        for &(_, link, change) in case.changes.iter().filter(|&&(slice, ..)| slice == i) {
            engine.change(link, change);
            reference.change(link, change, end);
        }
        end += length;
        engine.run_until(end);
        reference.run_until(end);
        for host in hosts.clone() {
            let (found, expected) = (
                &engine.endpoint(host).observed,
                &reference.endpoints[host as usize].observed,
            );
            for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
                prop_assert_eq!(found, expected, "event {} at host {}", i, host);
            }
            prop_assert_eq!(found.len(), expected.len(), "events at host {}", host);
        }
        compare_links(&engine, &reference)?;
        let mut before = 0;
        for (link, packet) in engine.take_captured() {
            prop_assert!(
                (before..end).contains(&packet.time),
                "packets on record go by time"
            );
            before = packet.time;
            captured[link as usize] += 1;
        }
        let delivered = reference.wires.iter().map(|wire| wire.delivered);
        prop_assert!(
            delivered.eq(captured.iter().copied()),
            "every arrival is recorded"
        );
        prop_assert_eq!(engine.events(), reference.events_so_far);
        let mut trace = 0;
        reference.trace.iter().for_each(|&node| mix(&mut trace, node));
        prop_assert_eq!(engine.trace_hash(), Some(trace));
        let dropped: HashMap<_, _> = engine.drops().fold(HashMap::new(), |mut sum, (key, n)| {
            *sum.entry(key).or_default() += n;
            sum
        });
        prop_assert_eq!(&dropped, &reference.drops);
        compare_queues(case, &engine, &mut reference, end)?;
    }
    Ok(reference.totals(end))
}

/// Returns how many networks a test draws: `usual` of every 1,000, of which `WEFT_NETWORKS` sets the number.
fn cases(usual: u32) -> u32 {
    let networks = std::env::var("WEFT_NETWORKS").ok();
    let networks = networks.map_or(1000, |value| {
        value.parse::<u64>().expect("WEFT_NETWORKS is a number")
    });
    (u64::from(usual) * networks / 1000).max(1) as u32
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1000)))]

    /// At every host, both simulators process the same packets, with the same marks, and timers at
    /// the same picosecond in the same order. Their counters of links, samples of queues and times
    /// at each length are equal for any slices.
    #[test]
    fn the_window_engine_equals_a_heap_of_events(case in any_network()) {
        compare(&case, 1, u64::MAX)?;
    }
}

proptest! {
    // Threads wait for each other at every window, which takes long if other tests use the cores.
    #![proptest_config(ProptestConfig::with_cases(cases(30)))]

    #[test]
    fn so_it_does_on_several_threads(case in any_network(), threads in 2_usize..5) {
        compare(&case, threads, u64::MAX)?;
    }
}

proptest! {
    // Each phase starts its threads.
    #![proptest_config(ProptestConfig::with_cases(cases(8)))]

    #[test]
    fn phases_on_one_thread_change_nothing(
        case in any_network(),
        threads in 2_usize..5,
        phase in 5_u64..40,
    ) {
        compare(&case, threads, phase)?;
    }
}

/// Six hosts around a switch, with equal links and packets: many packets arrive at the same time,
/// and then either link goes first equally often.
#[test]
fn ties_are_many_and_favour_nobody() {
    let queue = limited(QueueSize::Packets(20));
    let link = |from, to| Link::new([from, to], Rate(10_000_000_000), Time(1_000_000), queue);
    let links = (0..6)
        .map(|host| link(host, 6))
        .chain((0..6).map(|host| link(6, host)));
    let case = |seed| RandomNetwork {
        nodes: 7,
        links: links.clone().collect(),
        hosts: (0..6).collect(),
        timers: (0..6).map(|host| (host, 0, 0)).collect(),
        probes: Vec::new(),
        samples: Vec::new(),
        uniform: true,
        arrivals: MAX_ARRIVALS,
        jitter: Jitter::default(),
        slices: vec![100],
        changes: Vec::new(),
        seed,
    };
    let ties = (0..10).map(|seed| compare(&case(seed), 1, u64::MAX).unwrap().ties);
    let [upward, downward] = ties.fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
    let all = upward + downward;
    assert!(all > 3000, "{all} ties");
    // Four standard deviations are twice the square root of the number of ties.
    assert!(
        upward.abs_diff(downward) < 2 * 2 * all.isqrt(),
        "{upward} and {downward}"
    );
}

/// With long links at a high rate, a node would get more packets per lookahead than a sort key can
/// number.
#[test]
fn windows_are_short_enough_for_what_arrives() {
    let queue = limited(QueueSize::Packets(20));
    let case = |hosts: u32, gbps: u64, ms| {
        let rate = Rate(gbps * 1_000_000_000);
        let link = |from, to| Link::new([from, to], rate, Time::from_ms(ms), queue);
        let links = (0..hosts).map(|host| link(host, hosts));
        let links = links.chain((0..hosts).map(|host| link(hosts, host))).collect();
        let all: Vec<u32> = (0..hosts).collect();
        let fabric = network(hosts + 1, &all, links);
        let config = config(66, 1514);
        let endpoint = |_| Hasher {
            routes: Arc::default(),
            uniform: true,
            pace: 1,
            state: 0,
            sent: BUDGET,
            observed: Vec::new(),
        };
        let window = Engine::new(&fabric, &config, endpoint).window();
        (
            window,
            u64::from(hosts) * (window / serialisation(fabric.links[0].rate, 66) + 1),
        )
    };
    // A lookahead would bring 16 million packets.
    let (window, packets) = case(21, 400, 1);
    assert!(
        window > 10_000_000 && packets <= MAX_ARRIVALS,
        "{packets} in {window} ps"
    );
    assert!(packets > MAX_ARRIVALS / 2, "longer would do");
    // In this network the window is the lookahead.
    let (window, packets) = case(21, 10, 1);
    assert_eq!((window, packets), (1_000_052_800, 21 * 18_941));
}
