//! Random networks with initial timers and changes of links.

use std::sync::Arc;

use proptest::prelude::*;
use weft_fabric::{
    CoDel, Fabric, Link, Lossless, Lossy, NodeId, Overflow, Priority, PriorityClass, QueueConfig, QueueKind,
    Red, RedAction, RedAt, Shared, TrimTo, Trimming, Victim,
};
use weft_spec::{Mark, QueueSize, Rate, Size, Time};

use super::networks::network;
use crate::packet::Packet;
use crate::route::{HopBits, Route};
use crate::{Jitter, LinkChange, MAX_ARRIVALS, ReturnRoutes, mix};

/// Common divisor in picoseconds of all times in a uniform network: 40 bytes at 10 Gbps take 32 ns,
/// and delays are 1, 5 or 40 us.
const TIME_DIVISOR: u64 = 8_000;

/// A random network and its initial events.
#[derive(Clone, Debug)]
pub struct RandomNetwork {
    pub nodes: u32,
    pub links: Vec<Link>,
    pub hosts: Vec<NodeId>,
    /// Initial timers: (host, time, key). Some have the same time.
    pub timers: Vec<(u32, u64, u64)>,
    pub probes: Vec<u32>,
    /// Links whose queue is sampled, and the interval in eighths of the lookahead.
    pub samples: Vec<(u32, u64)>,
    /// True if packets, links and intervals are all equal, so that most packets arrive at the same
    /// picosecond as others.
    pub uniform: bool,
    /// Maximum number of packets that a node gets in a window.
    pub arrivals: u64,
    /// Maximum processing time at a host.
    pub jitter: Jitter,
    /// Lengths of slices in units of 1/16 of the lookahead, plus single picoseconds if the network
    /// is not uniform.
    pub slices: Vec<u64>,
    /// Changes of links at the start of slices: (slice, link, change).
    pub changes: Vec<(usize, u32, LinkChange)>,
    pub seed: u64,
}

/// Random routes from every node, for headers that go back.
pub struct RandomReturns(Vec<Arc<[Route]>>);

impl ReturnRoutes for RandomReturns {
    fn route_back(&self, node: NodeId, header: &Packet) -> Option<Route> {
        let routes = &self.0[node as usize];
        routes.get(header.slot as usize % (routes.len() + 1)).copied()
    }
}

impl RandomNetwork {
    pub fn fabric(&self) -> Fabric {
        network(self.nodes, &self.hosts, self.links.clone())
    }

    /// Returns random routes for headers that go back. Some go to other hosts than the sender.
    pub fn return_routes(&self, hops: HopBits) -> RandomReturns {
        RandomReturns((0..self.nodes).map(|node| self.routes(node, hops)).collect())
    }

    /// Lengths of slices in picoseconds: short ones with a few events each, and two long ones.
    pub fn lengths(&self, lookahead: u64) -> impl Iterator<Item = u64> {
        let some = self.slices.iter().map(move |slice| {
            let length = slice * lookahead / 16;
            if self.uniform {
                // Links change exactly when packets leave and arrive.
                length / TIME_DIVISOR * TIME_DIVISOR
            } else {
                length + slice % 3
            }
        });
        some.chain([300 * lookahead, 3_000 * lookahead])
    }

    /// Returns random walks of one to five links from `node` that end at a host. Other hosts on the
    /// path forward. There are none if all hosts are farther away.
    pub fn routes(&self, node: NodeId, hops: HopBits) -> Arc<[Route]> {
        let mut hash = self.seed;
        let mut routes = Vec::new();
        for _ in 0..1_000 {
            if routes.len() >= 5 {
                break;
            }
            let (mut position, mut walked, mut best) = (node, Vec::new(), None);
            for hop in 0..5 {
                mix(&mut hash, u64::from(position) << 8 | hop);
                let ports: Vec<&Link> = self.links.iter().filter(|l| l.from == position).collect();
                let port = (hash >> 40) % ports.len() as u64;
                position = ports[port as usize].to;
                walked.push(port as u16);
                if self.hosts.contains(&position) {
                    best = Route::from_ports(&walked, hops);
                    if hash >> 32 & 1 == 0 {
                        break;
                    }
                }
            }
            routes.extend(best);
        }
        routes.into()
    }
}

fn any_amount(max: u32) -> impl Strategy<Value = QueueSize> {
    let bytes = u64::from(max) * 900;
    prop_oneof![
        (0..max).prop_map(QueueSize::Packets),
        (0..bytes).prop_map(QueueSize::Bytes),
    ]
}

pub fn any_queue() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![
        (1_u32..12).prop_map(QueueSize::Packets),
        (1500_u64..12_000).prop_map(QueueSize::Bytes),
    ];
    (limit, prop::option::of(any_amount(8))).prop_map(|(limit, mark)| QueueConfig { limit, mark })
}

/// A RED queue with a low ramp, so that many packets are on it.
fn any_red() -> impl Strategy<Value = Red> {
    let ramp = prop_oneof![
        (0_u32..5, 0_u32..5)
            .prop_map(|(min, width)| (QueueSize::Packets(min), QueueSize::Packets(min + width))),
        (0_u64..4_000, 0_u64..4_000)
            .prop_map(|(min, width)| (QueueSize::Bytes(min), QueueSize::Bytes(min + width))),
    ];
    let probability = prop::sample::select(vec![0.0, 0.1, 0.5, 1.0]);
    let action = prop::sample::select(vec![
        (RedAction::Mark, false),
        (RedAction::Mark, true),
        (RedAction::Drop, false),
    ]);
    let weight = prop::option::of(prop::sample::select(vec![0.002, 0.25, 1.0]));
    let ramp = (ramp, probability, action, weight);
    ramp.prop_map(|((min, max), probability, (action, nodrop), weight)| Red {
        min,
        max,
        probability,
        action,
        nodrop,
        at: RedAt::Enqueue,
        weight,
    })
}

/// As [`any_red`], with decisions at dequeue.
fn any_dequeue_red() -> impl Strategy<Value = Red> {
    any_red().prop_map(|red| Red {
        at: RedAt::Dequeue,
        weight: None,
        ..red
    })
}

/// A port with a small shared buffer.
fn any_shared() -> impl Strategy<Value = Shared> {
    let alpha = prop::sample::select(vec![0.25, 0.5, 1.0, 3.0, 100.0]);
    let values = (3_000_u64..20_000, alpha, 0_u64..3_000, any::<bool>());
    values.prop_map(|(buffer, alpha, reserve, drop_not_ect)| Shared {
        buffer: Size(buffer),
        alpha,
        reserve: Size(reserve),
        drop_not_ect,
    })
}

/// Strict and weighted classes, most of them with limits of their own.
fn any_priority() -> impl Strategy<Value = Priority> {
    let mark = prop_oneof![
        Just(None),
        Just(Some(Mark::Off)),
        any_amount(4).prop_map(|amount| Some(Mark::At(amount))),
    ];
    let limit = prop_oneof![
        (1_u32..6).prop_map(QueueSize::Packets),
        (1500_u64..6_000).prop_map(QueueSize::Bytes),
    ];
    let weight = prop::sample::select(vec![1, 2, 3, 7, 100]);
    let class = (prop::option::of(limit), mark, weight, any::<bool>());
    (prop::collection::vec(class, 1..=8), 0_usize..8).prop_map(|(classes, strict)| {
        let class = |(i, (limit, mark, weight, drop_not_ect))| PriorityClass {
            limit,
            mark,
            drop_not_ect,
            weight: (i >= strict).then_some(weight),
        };
        Priority {
            classes: classes.into_iter().enumerate().map(class).collect(),
        }
    })
}

/// A queue whose link loses packets.
fn any_lossy() -> impl Strategy<Value = Lossy> {
    let loss = prop::sample::select(vec![0.0, 0.01, 0.3, 1.0]);
    prop_oneof![
        loss.prop_map(|loss| (Some(loss), None)),
        (1_u32..20).prop_map(|every| (None, Some(every))),
    ]
    .prop_map(|(loss, every)| Lossy { loss, every })
}

/// A queue that trims, with little room for headers, so that some are dropped.
fn any_trimming() -> impl Strategy<Value = Trimming> {
    let headers = prop_oneof![
        (1_u32..6).prop_map(QueueSize::Packets),
        (64_u64..800).prop_map(QueueSize::Bytes),
    ];
    let ratio = prop::option::of(prop::sample::select(vec![1, 2, 10]));
    let victim = prop::sample::select(vec![Victim::Random, Victim::Random, Victim::Arriving]);
    let to = prop::sample::select(vec![TrimTo::Receiver, TrimTo::Sender]);
    let overflow = prop::sample::select(vec![Overflow::Drop, Overflow::Return]);
    let size = prop::sample::select(vec![64, 64, 65, 700]);
    let ramp = prop::option::of((0_u64..2_000, 0_u64..4_000));
    let values = (size, prop::option::of(headers), ratio, victim, to, overflow, ramp);
    values.prop_map(|(size, headers, ratio, victim, to, overflow, ramp)| Trimming {
        size: Size(size),
        headers,
        ratio,
        victim,
        to,
        overflow,
        mark_min: ramp.map(|(min, _)| QueueSize::Bytes(min)),
        mark_max: ramp.map(|(min, width)| QueueSize::Bytes(min + width)),
    })
}

/// A queue that pauses its neighbours. Some have so little headroom that they drop packets.
fn any_lossless() -> impl Strategy<Value = Lossless> {
    let size = |max: u64| prop::option::of((0..max).prop_map(Size));
    let reaction = prop::sample::select(vec![0, 0, 1, 600_000, 30_000_000]);
    let watchdog = prop::sample::select(vec![1, 2_000_000, 50_000_000, 2_000_000_000]);
    let classes = prop::sample::select(vec![1, 1, 2, 8]);
    let watchdog = prop::option::weighted(0.3, watchdog);
    let ramp = prop::option::of((0_u64..2_000, 0_u64..4_000, 0.0..=1.0));
    // A pool is small enough to be full now and then.
    let pool = prop::option::weighted(0.3, (1..9_000_u64).prop_map(Size));
    let values = (
        (size(6_000), pool),
        size(9_000),
        size(9_000),
        reaction,
        watchdog,
        classes,
        ramp,
    );
    values.prop_map(
        |((headroom, headroom_pool), xoff, xon, reaction, watchdog, classes, ramp)| Lossless {
            mark_min: ramp.map(|(min, ..)| QueueSize::Bytes(min)),
            mark_max: ramp.map(|(min, width, _)| QueueSize::Bytes(min + width)),
            mark_probability: ramp.map(|(.., probability)| probability),
            headroom,
            headroom_pool,
            xoff,
            xon,
            reaction: Time(reaction),
            watchdog: watchdog.map(Time),
            classes,
        },
    )
}

/// A queue that decides when packets arrive.
pub fn any_kind_at_enqueue() -> impl Strategy<Value = QueueKind> {
    prop_oneof![
        Just(QueueKind::default()),
        any_red().prop_map(QueueKind::from),
        any_shared().prop_map(QueueKind::from),
    ]
}

/// A queue of any kind.
fn any_kind() -> impl Strategy<Value = QueueKind> {
    prop_oneof![
        3 => any_kind_at_enqueue(),
        1 => any_codel().prop_map(QueueKind::from),
        1 => any_dequeue_red().prop_map(QueueKind::from),
        2 => any_priority().prop_map(QueueKind::from),
        1 => any_lossy().prop_map(QueueKind::from),
        2 => any_trimming().prop_map(QueueKind::from),
        3 => any_lossless().prop_map(QueueKind::from),
    ]
}

/// `CoDel` with times of a few packets, so that it drops.
fn any_codel() -> impl Strategy<Value = CoDel> {
    let times = (1_u64..4, 1_u64..6).prop_map(|(target, more)| [target, target + more]);
    (times, any::<bool>()).prop_map(|([target, interval], ecn)| CoDel {
        target: Time(target * 300_000),
        interval: Time(interval * 300_000),
        ecn,
    })
}

/// Few different delays and rates, so that packets often arrive at the same picosecond.
fn any_link(from: impl Strategy<Value = u32>, to: impl Strategy<Value = u32>) -> impl Strategy<Value = Link> {
    let delays = prop::sample::select(vec![0, 1, 800_000, 1_000_000, 1_000_000, 1_000_001, 40_000_000]);
    let gbps = prop::sample::select(vec![1, 7, 10, 10, 25, 40, 100]);
    let queue = (any_queue(), any_kind());
    (from, to, delays, gbps, queue).prop_map(|(from, to, delay, gbps, (queue, kind))| Link {
        kind,
        ..Link::new([from, to], Rate(gbps * 1_000_000_000), Time(delay), queue)
    })
}

/// A tree of cables, so that all nodes are connected, and additional links, some of them parallel. In
/// half of the cases all queues are plain FIFOs. In an eighth, all queues are lossless with the same
/// thresholds. Otherwise, all shared buffers have one size.
/// In half of the cases all links are equally long, so that windows are long compared with the
/// packets and hold many of them. In a `uniform` network the links are also equally fast.
fn any_links(nodes: u32, uniform: bool) -> impl Strategy<Value = Vec<Link>> {
    let tree: Vec<_> = (1..nodes)
        .map(|n| (any_link(0..n, Just(n)), any_link(Just(0), Just(0))))
        .collect();
    let more = any_link(0..nodes, 1..nodes).prop_map(move |mut link| {
        link.to = (link.from + link.to) % nodes;
        link
    });
    let length = (
        any::<bool>(),
        prop::sample::select(vec![1_000_000, 5_000_000, 40_000_000]),
    );
    let kinds = prop::option::of(3_000_u64..20_000);
    let lossless = prop::option::weighted(0.25, any_lossless());
    let links = (tree, prop::collection::vec(more, 0..6), length, (kinds, lossless));
    links.prop_map(move |(tree, more, (equally_long, length), (kinds, lossless))| {
        let mut links = more;
        for (forward, mut reverse) in tree {
            (reverse.from, reverse.to) = (forward.to, forward.from);
            links.extend([forward, reverse]);
        }
        for link in &mut links {
            if equally_long || uniform {
                link.delay = Time(length);
            }
            if uniform {
                link.rate = Rate(10_000_000_000);
            }
            match (kinds, lossless, &mut link.kind) {
                (None, _, kind) => *kind = QueueKind::default(),
                (Some(_), Some(lossless), kind) => *kind = lossless.into(),
                (Some(buffer), None, QueueKind::Shared(shared)) => shared.buffer = Size(buffer),
                (Some(_), None, _) => {}
            }
        }
        links.sort_by_key(|l| l.from);
        links
    })
}

/// Changes of links; none in half of the cases.
fn any_changes(links: u32) -> impl Strategy<Value = Vec<(usize, u32, LinkChange)>> {
    let delays = prop::sample::select(vec![0, 1, 1_000_000, 1_000_001, 40_000_000]);
    let change = prop_oneof![
        Just(LinkChange::Down),
        Just(LinkChange::Up),
        prop::sample::select(vec![1, 7, 10, 100])
            .prop_map(|gbps| LinkChange::Rate(Rate(gbps * 1_000_000_000))),
        delays.prop_map(|delay| LinkChange::Delay(Time(delay))),
    ];
    let some = prop::collection::vec((0_usize..9, 0..links, change), 1..8);
    prop_oneof![Just(Vec::new()).boxed(), some.boxed()]
}

pub fn any_network() -> impl Strategy<Value = RandomNetwork> {
    (2_u32..8, prop::bool::weighted(0.3)).prop_flat_map(|(nodes, uniform)| {
        let hosts = prop_oneof![
            prop::sample::subsequence((0..nodes).collect::<Vec<_>>(), 1..=nodes as usize).prop_shuffle(),
            Just((0..nodes).collect()),
        ];
        (any_links(nodes, uniform), hosts).prop_flat_map(move |(links, hosts)| {
            let n = hosts.len() as u32;
            let l = links.len() as u32;
            let times = prop::sample::select(vec![0, 1, 1_000_000, 1_000_000, 5_000_000, 77_777_777]);
            let arrivals = prop::sample::select(vec![MAX_ARRIVALS, MAX_ARRIVALS, 30]);
            let bounds = [
                (0, 0),
                (0, 0),
                (1, 0),
                (3_000, 0),
                (700_000, 0),
                (5_000_000, 0),
                (0, 1500),
                (500_000, 1500),
            ];
            let jitter = prop::sample::select(bounds.map(|(time, packet)| Jitter { time, packet }).to_vec());
            (
                Just((links, hosts)),
                prop::collection::vec((0..n, times, 0_u64..4), 1..6),
                prop::collection::vec(0..l, 0..3),
                prop::collection::vec((0..l, 1_u64..40), 0..3),
                prop::collection::vec(1_u64..200, 1..8),
                any_changes(l),
                (arrivals, jitter),
                any::<u64>(),
            )
                .prop_map(
                    move |(
                        (links, hosts),
                        timers,
                        probes,
                        samples,
                        slices,
                        changes,
                        (arrivals, jitter),
                        seed,
                    )| RandomNetwork {
                        nodes,
                        links,
                        hosts,
                        timers,
                        probes,
                        samples,
                        uniform,
                        arrivals,
                        jitter,
                        slices,
                        changes,
                        seed,
                    },
                )
        })
    })
}
