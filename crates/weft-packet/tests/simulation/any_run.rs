//! Random simulations on any number of threads: no panic, no packet that is not accounted for, and all data arrives.

use std::sync::Arc;

use crate::experiment::{TcpTransport, cc, config, flow, queue, run, sized, sum, transport};
use proptest::prelude::*;
use weft_cc::Algorithm;
use weft_fabric::{
    Fabric, Overflow, PortQueues, Priority, PriorityClass, QueueConfig, QueueKind, Red, RedAction, RedAt,
    SAMPLES, Shared, TOPOLOGIES, TrimTo, Trimming, Victim,
};
use weft_packet::{Jitter, LinkChange, LinkEvent, NicConfig, Offload, Probe, SimulationConfig, Threads};
use weft_paths::{Controller, FirstFit, POLICIES, Policy};
use weft_spec::{QueueSize, Rate, Size, Time, find};
use weft_traffic::Flow;
use weft_transports::{Profile, Recovery, RoundEnd, Scheduler, TcpMode, WindowValidation};

/// Header and the largest MSS below.
const MAX_PACKET_BYTES: u64 = 9_066;

/// A topology of the registry: its kind, and fields in TOML.
type Shape = (&'static str, String);

#[derive(Clone, Debug)]
struct Network {
    shape: Shape,
    /// Rate of the links, which replaces those among the fields of `shape`.
    rate: Rate,
    delay: Time,
    switch: QueueConfig,
    host: QueueConfig,
    /// Kind of all queues.
    kind: QueueKind,
}

impl Network {
    fn build(&self) -> Fabric {
        let (kind, fields) = &self.shape;
        let mut fields: toml::Table = fields.parse().unwrap();
        fields.insert("rate".into(), self.rate.to_string().into());
        fields.insert("delay".into(), self.delay.to_string().into());
        let topology = (find(TOPOLOGIES, "kind", kind).unwrap().parse)(&fields).unwrap();
        let queues = PortQueues {
            switch: self.switch,
            host: self.host,
        };
        let mut fabric = topology.value.build(&queues).unwrap();
        for link in &mut fabric.links {
            link.kind = self.kind.clone();
        }
        fabric
    }
}

/// Every kind of topology, and some in other sizes.
fn any_shape() -> impl Strategy<Value = Shape> {
    let samples: Vec<Shape> = SAMPLES
        .iter()
        .map(|&(kind, fields)| (kind, fields.to_owned()))
        .collect();
    prop_oneof![
        prop::sample::select(samples),
        (1_u32..8).prop_map(|n| ("many-to-one", format!("senders = {n}"))),
        (1_u32..8, any_rate())
            .prop_map(|(n, rate)| ("many-to-one", format!("senders = {n}\nsender_rate = \"{rate}\""))),
        any_rate().prop_map(|rate| ("two-bottlenecks", format!("host_rate = \"{rate}\""))),
        Just(("fat-tree", "k = 2".to_owned())),
        prop::sample::select(vec![(3, 1), (2, 2)]).prop_map(|(n, k)| ("bcube", format!("n = {n}\nk = {k}"))),
    ]
}

fn any_rate() -> impl Strategy<Value = Rate> {
    prop::sample::select(vec![100, 1_000, 3_300, 10_000, 40_000]).prop_map(|mbps| Rate(mbps * 1_000_000))
}

fn any_queue() -> impl Strategy<Value = QueueConfig> {
    let packets = (1_u32..60, prop::option::of(0_u32..20));
    let bytes = (MAX_PACKET_BYTES..100_000, prop::option::of(0_u64..30_000));
    prop_oneof![
        packets.prop_map(|(limit, mark)| QueueConfig {
            limit: QueueSize::Packets(limit),
            mark: mark.map(QueueSize::Packets),
        }),
        bytes.prop_map(|(limit, mark)| QueueConfig {
            limit: QueueSize::Bytes(limit),
            mark: mark.map(QueueSize::Bytes),
        }),
    ]
}

/// Kinds that let a packet pass an empty queue, so that everything arrives at last.
fn any_kind() -> impl Strategy<Value = QueueKind> {
    let action = prop::sample::select(vec![RedAction::Mark, RedAction::Drop]);
    let average = prop::sample::select(vec![
        (RedAt::Dequeue, None),
        (RedAt::Enqueue, None),
        (RedAt::Enqueue, Some(0.002)),
        (RedAt::Enqueue, Some(0.25)),
    ]);
    let red = (0_u32..20, 1_u32..20, 0.0_f64..1.0, action, average);
    let shared = (MAX_PACKET_BYTES..200_000, 0.25_f64..8.0, 0_u64..500);
    let weights = prop::collection::vec(1_u32..9, 1..=8);
    let trimming = (
        64_u64..200,
        1_u32..60,
        prop::option::of(1_u32..11),
        any::<[bool; 3]>(),
    );
    let priority = (weights, 0_usize..8, prop::option::of(1_u32..20));
    prop_oneof![
        2 => Just(QueueKind::default()),
        1 => trimming.prop_map(|(size, headers, ratio, [at_random, back, returns])| QueueKind::Trimming(Trimming {
            size: Size(size),
            headers: Some(QueueSize::Packets(headers)),
            ratio,
            victim: if at_random { Victim::Random } else { Victim::Arriving },
            to: if back { TrimTo::Sender } else { TrimTo::Receiver },
            overflow: if returns { Overflow::Return } else { Overflow::Drop },
            mark_min: None,
            mark_max: None,
        })),
        1 => priority.prop_map(|(weights, strict, limit)| QueueKind::Priority(Priority {
            classes: (0..)
                .zip(weights)
                .map(|(i, weight)| PriorityClass {
                    limit: limit.map(QueueSize::Packets),
                    mark: None,
                    drop_not_ect: false,
                    weight: (i >= strict).then_some(weight),
                })
                .collect(),
        })),
        1 => red.prop_map(|(min, width, probability, action, (at, weight))| QueueKind::Red(Red {
            min: QueueSize::Packets(min),
            max: QueueSize::Packets(min + width),
            probability,
            action,
            nodrop: action == RedAction::Mark && min % 2 == 0,
            at,
            weight,
        })),
        1 => shared.prop_map(|(buffer, alpha, reserve)| QueueKind::Shared(Shared {
            buffer: Size(buffer),
            alpha,
            reserve: Size(reserve),
            drop_not_ect: reserve % 2 == 0,
        })),
    ]
}

fn any_network() -> impl Strategy<Value = Network> {
    let delay = prop::sample::select(vec![0, 1, 100_000, 1_000_000, 5_000_000, 50_000_001]);
    (
        any_shape(),
        any_rate(),
        delay,
        any_queue(),
        any_queue(),
        any_kind(),
    )
        .prop_map(|(shape, rate, delay, switch, host, mut kind)| {
            // A threshold of 0 that drops what it cannot mark lets no SYN through.
            if let QueueKind::Shared(shared) = &mut kind
                && [switch.mark, host.mark].contains(&Some(QueueSize::Packets(0)))
            {
                shared.drop_not_ect = false;
            }
            Network {
                shape,
                rate,
                delay: Time(delay),
                switch,
                host,
                kind,
            }
        })
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let recovery = prop::sample::select(vec![Recovery::NewReno, Recovery::Sack, Recovery::Rack]);
    let sizes = (1_u32..9_000, 0_u32..66, 1_u32..100, prop::option::of(1_u64..400));
    let windows = (1.0_f64..20.0, prop::option::of(1.0_f64..100.0), 1_u32..6);
    let acks = (1_u32..5, 1_u64..2_000, 0_u32..20);
    // Timeouts of a few milliseconds at most, so that all is over soon.
    let timers = (1_u64..3_000, 50_u64..3_000, 0_u64..100);
    let switches = (
        prop::array::uniform11(any::<bool>()),
        prop::array::uniform6(any::<bool>()),
    );
    (recovery, sizes, windows, acks, timers, switches).prop_map(
        |(
            recovery,
            (mss, header, ack_size, buffer),
            (initial_cwnd, initial_ssthresh, dupack_threshold),
            (ack_every, delayed_ack_us, quick_acks),
            (initial_us, min_us, join_us),
            (
                [
                    sample_handshake_rtt,
                    limited_transmit,
                    grow_after_mark,
                    round_ends_beyond,
                    react_after_last_data,
                    protect_handshake,
                    full_handshakes,
                    reinject,
                    complete_on_data_ack,
                    round_robin_waits_for_join,
                    stall_on_held_data,
                ],
                [tail_loss_probe, prr, frto, timestamps, confirmed_joins, pacing],
            ),
        )| {
            Profile::linux().with(|p| {
                p.sizes.mss = mss;
                p.sizes.header = header;
                p.sizes.ack_size = ack_size;
                p.window.initial_cwnd = initial_cwnd;
                p.window.initial_ssthresh = initial_ssthresh.unwrap_or(f64::INFINITY);
                p.handshake.sample_handshake_rtt = sample_handshake_rtt;
                p.rto.initial_rto = Time::from_us(initial_us);
                p.rto.min_rto = Time::from_us(min_us);
                p.loss.timer_slack = Time::from_us(min_us / 2);
                p.loss.tail_loss_probe = tail_loss_probe;
                p.options.prr = prr;
                p.options.frto = frto;
                p.options.timestamps = timestamps;
                p.handshake.syn_linear_timeouts = quick_acks % 3;
                p.joins.confirmed_joins = confirmed_joins;
                p.window.pacing = pacing;
                p.window.window_validation = if quick_acks % 2 == 0 {
                    WindowValidation::Linux
                } else {
                    WindowValidation::HalfUsed
                };
                p.rto.max_rto = Time::from_ms(10);
                p.loss.recovery = recovery;
                p.loss.dupack_threshold = dupack_threshold;
                p.loss.limited_transmit = limited_transmit;
                p.acks.ack_every = ack_every;
                p.acks.delayed_ack_timeout = Time::from_us(delayed_ack_us);
                p.acks.quick_acks = quick_acks;
                p.marks.grow_after_mark = grow_after_mark;
                p.marks.round_end = if round_ends_beyond {
                    RoundEnd::Rfc8257
                } else {
                    RoundEnd::Linux
                };
                p.marks.react_after_last_data = react_after_last_data;
                p.handshake.protect_handshake = protect_handshake;
                p.handshake.full_handshakes = full_handshakes;
                p.joins.join_delay = Time::from_us(join_us);
                p.connection.receive_buffer =
                    buffer.map_or(6 << 20, |segments| segments * u64::from(mss) + 1);
                p.connection.send_buffer = p.connection.receive_buffer;
                p.connection.reinject = reinject;
                p.connection.complete_on_data_ack = complete_on_data_ack;
                p.joins.round_robin_waits_for_join = round_robin_waits_for_join;
                p.connection.stall_on_held_data = stall_on_held_data && !reinject;
            })
        },
    )
}

/// Any algorithm, path policy and scheduler with a profile.
fn any_transport(
    subflows: std::ops::Range<u32>,
    profile: impl Strategy<Value = Profile>,
) -> impl Strategy<Value = TcpTransport> {
    let algorithms: Vec<_> = Algorithm::BUILT_IN.iter().map(|entry| entry.name).collect();
    let paths: Vec<_> = POLICIES.iter().map(|entry| entry.name).collect();
    let schedulers = vec![Scheduler::RoundRobin, Scheduler::LowestRtt, Scheduler::Linux];
    (
        prop::sample::select(algorithms),
        subflows,
        prop::sample::select(paths),
        prop::sample::select(schedulers),
        profile,
        [0_u8..8, 0_u8..8],
    )
        .prop_map(
            |(name, subflows, paths, scheduler, mut profile, [class, ack_class])| {
                let paths = Policy::by_name(paths).unwrap();
                // As specs are checked.
                profile.connection.stall_on_held_data &= !matches!(paths, Policy::Opn(_));
                TcpTransport {
                    paths,
                    scheduler,
                    class,
                    ack_class,
                    ..transport(cc(name, &[]), subflows, profile)
                }
            },
        )
}

/// Hosts and transports by any number, taken modulo how many there are; segments; start and how long a bulk flow lasts in
/// microseconds.
#[derive(Clone, Copy, Debug)]
struct Sent {
    from: u32,
    to: u32,
    transport: u32,
    bytes: Option<u64>,
    mbps: Option<u64>,
    start: u64,
    lasts: u64,
}

fn any_sent() -> impl Strategy<Value = Sent> {
    let bytes = prop::option::weighted(0.8, prop_oneof![1_u64..10, 1_u64..150_000]);
    let mbps = prop::option::weighted(0.2, 10_u64..2_000);
    (any::<[u32; 3]>(), bytes, mbps, 0_u64..500, 1_u64..400).prop_map(
        |([from, to, transport], bytes, mbps, start, lasts)| Sent {
            from,
            to,
            transport,
            bytes,
            mbps,
            start,
            lasts,
        },
    )
}

impl Sent {
    fn flow(self, network: &Network, hosts: u32, transports: &[TcpTransport]) -> Flow {
        // Of two bottlenecks only S2 and D2 (hosts 1 and 4) are connected to everyone.
        let (from, to) = if network.shape.0 == "two-bottlenecks" {
            [(0, 3), (1, 4), (2, 5), (4, 1), (1, 3), (5, 1)][self.from as usize % 6]
        } else {
            let from = self.from % hosts;
            (from, (from + 1 + self.to % (hosts - 1)) % hosts)
        };
        let transport = self.transport % transports.len() as u32;
        // At most 3,000 segments, lest tiny ones make a run long.
        let max = 3_000 * u64::from(transports[transport as usize].profile.sizes.mss);
        let start = Time::from_us(self.start);
        let rate = self.mbps.map(|mbps| Rate(mbps * 1_000_000));
        match self.bytes {
            Some(bytes) => Flow {
                transport,
                start,
                rate,
                ..sized(from, to, bytes.min(max))
            },
            None => Flow {
                transport,
                start,
                rate,
                stop: Some(Time::from_us(self.start + self.lasts)),
                ..flow(from, to)
            },
        }
    }
}

fn first_fit(us: u64) -> Arc<dyn Controller> {
    Arc::new(FirstFit {
        interval: Time::from_us(us),
        threshold: 0.1,
    })
}

fn any_nic() -> impl Strategy<Value = Option<NicConfig>> {
    let limit = prop::sample::select(vec![1, 3_000, 16_000]);
    prop::option::of((limit, any::<bool>()).prop_map(|(bql_limit, fair)| NicConfig { bql_limit, fair }))
}

fn any_offload() -> impl Strategy<Value = Offload> {
    let gro = prop::sample::select(vec![0, 0, 1, 5_000_000, 200_000_000]);
    (any::<bool>(), gro).prop_map(|(tso, gro)| Offload { tso, gro: Time(gro) })
}

/// Events of links, whose numbers are taken modulo the number of links. A link that goes down comes back up.
fn any_events() -> impl Strategy<Value = Vec<LinkEvent>> {
    let change = prop_oneof![
        3 => Just(LinkChange::Down),
        1 => Just(LinkChange::Up),
        1 => any_rate().prop_map(LinkChange::Rate),
        1 => prop::sample::select(vec![0, 1, 700_000, 50_000_001]).prop_map(|delay| LinkChange::Delay(Time(delay))),
    ];
    let event = (
        any::<u32>(),
        0_u64..3_000,
        0_u64..300,
        prop::sample::select(vec![0, 1, 200]),
        change,
    );
    let events = prop_oneof![
        Just(Vec::new()).boxed(),
        prop::collection::vec(event, 1..8).boxed(),
    ];
    events.prop_map(|events| {
        let event = |(link, at, lasts, detect, change)| {
            let changed = LinkEvent {
                at: Time::from_us(at),
                link,
                change,
                detection_delay: Time::from_us(detect),
            };
            let restored = LinkEvent {
                at: Time::from_us(at + lasts),
                change: LinkChange::Up,
                ..changed
            };
            [changed, restored]
        };
        events.into_iter().flat_map(event).collect()
    })
}

/// As many as the environment says, else few enough for every day.
fn cases() -> u32 {
    let value = std::env::var("WEFT_ANY_RUNS").ok();
    value.map_or(150, |value| value.parse().expect("WEFT_ANY_RUNS is a number"))
}

/// Long enough for everything above: a few megabytes at 100 Mbps at worst, with timeouts of 10 ms.
const END: Time = Time::from_ms(20_000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn everything_arrives(
        network in any_network(),
        transports in prop::collection::vec(any_transport(1..6, any_profile()), 1..4),
        sent in prop::collection::vec(any_sent(), 1..12),
        jitter in prop::sample::select(vec![0, 0, 1, 500_000]),
        nic in any_nic(),
        offload in any_offload(),
        mut events in any_events(),
        controlled in prop::option::of(100_u64..3_000),
        seed in any::<u64>(),
    ) {
        for transport in &transports {
            prop_assert_eq!(transport.profile.check(), Ok(()));
        }
        let hosts = network.build().hosts.len() as u32;
        let links = network.build().links.len() as u32;
        for event in &mut events {
            event.link %= links;
        }
        let flows: Vec<Flow> = sent.iter().map(|sent| sent.flow(&network, hosts, &transports)).collect();
        let experiment = |threads| SimulationConfig {
            probes: vec![Probe::Queue { link: 1 }],
            jitter: Jitter { time: jitter, packet: if jitter == 1 { 1_500 } else { 0 } },
            clock_ppm: if jitter == 0 { 0 } else { 100 },
            nic,
            offload,
            events: events.clone(),
            controller: controlled.map(first_fit),
            seed,
            threads: Threads::Exactly(threads),
            trace_hash: true,
            ..config(network.build(), transports.clone(), flows.clone())
        };
        // `run` checks conservation of every link and subflow.
        let outcome = run(experiment(1), END);
        for (i, (flow, record)) in flows.iter().zip(&outcome.flows).enumerate() {
            prop_assert!(record.finish.is_some(), "flow {} never ended: {:?}", i, record);
            prop_assert!(record.finish <= record.acked, "flow {} was acknowledged first: {:?}", i, record);
            if let Some(Size(bytes)) = flow.size {
                prop_assert_eq!(record.delivered_bytes, bytes, "flow {}", i);
                prop_assert!(record.established.is_some());
            }
            for s in &record.subflows {
                prop_assert!(s.packets_sent >= s.retransmitted && s.packets_in_flight == 0);
                prop_assert!(s.cwnd >= 1.0 && s.cwnd.is_finite(), "cwnd {}", s.cwnd);
            }
        }
        prop_assert!(outcome.links.iter().all(|link| link.in_flight == 0), "the network is empty at the end");
        prop_assert_eq!(outcome.queues[0].time_at_length.iter().map(|time| time.0).sum::<u64>(), END.0);
        prop_assert_eq!(run(experiment(3), END), outcome);
    }
}

/// A network in which nothing is lost: its queues take all that [`any_transfers`] sends.
fn any_lossless_network() -> impl Strategy<Value = Network> {
    let rate = prop::sample::select(vec![1_000, 10_000]).prop_map(|mbps| Rate(mbps * 1_000_000));
    let delay = prop::sample::select(vec![0, 1_000_000, 12_500_000]);
    let mark = || prop::sample::select(vec![None, Some(20)]).prop_map(|mark| queue(10_000, mark));
    (any_shape(), rate, delay, mark(), mark()).prop_map(|(shape, rate, delay, switch, host)| Network {
        shape,
        rate,
        delay: Time(delay),
        switch,
        host,
        kind: QueueKind::default(),
    })
}

/// Any algorithm by a profile as it is, but that no acknowledgement is delayed: with a window of one packet each would cost 40 ms.
fn any_transfers() -> impl Strategy<Value = (TcpTransport, Vec<Sent>)> {
    let profiles = prop::sample::select(vec![Profile::linux(), Profile::amp_2019()]);
    let at_once = profiles.prop_map(|profile| profile.with(|p| p.acks.ack_every = 1));
    let transport = any_transport(2..6, at_once);
    let sent = (any::<[u32; 2]>(), 1_u64..400_000, 0_u64..300).prop_map(|([from, to], bytes, start)| Sent {
        from,
        to,
        transport: 0,
        bytes: Some(bytes),
        mbps: None,
        start,
        lasts: 0,
    });
    (transport, prop::collection::vec(sent, 1..6))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10 * cases()))]

    /// Without loss no flow times out, and a flow takes at most the time that a link needs for all flows, and some round trips.
    #[test]
    fn without_loss_no_flow_waits(
        network in any_lossless_network(),
        (transport, sent) in any_transfers(),
        jitter in prop::sample::select(vec![0, 500_000]),
        fair in prop::option::of(any::<bool>()),
        tso in any::<bool>(),
        gro in prop::sample::select(vec![0, 5_000_000]),
        seed in any::<u64>(),
    ) {
        // Linux's scheduler has a suppressed subflow carry all while the path of the active one is slow.
        let may_leave_one_suppressed =
            TcpMode::from_policy(&transport.paths).monitor().is_some() && transport.scheduler == Scheduler::Linux;
        let transports = vec![transport];
        let fabric = network.build();
        let hosts = fabric.hosts.len() as u32;
        let slowest = fabric.links.iter().map(|link| link.rate.0).min().unwrap();
        let flows: Vec<Flow> = sent.iter().map(|sent| sent.flow(&network, hosts, &transports)).collect();
        let experiment = SimulationConfig {
            jitter: Jitter { time: jitter, packet: if jitter == 1 { 1_500 } else { 0 } },
            clock_ppm: if jitter == 0 { 0 } else { 100 },
            nic: fair.map(|fair| NicConfig { bql_limit: 16_000, fair }),
            offload: Offload { tso, gro: Time(gro) },
            seed,
            ..config(fabric, transports, flows)
        };
        let outcome = run(experiment, Time::from_ms(5_000));
        prop_assert_eq!(outcome.counters.drops, 0);
        let bytes: u64 = sent.iter().filter_map(|sent| sent.bytes).sum();
        // A hundred over six links there and back: a burst of 46 packets given to a subflow with a window of one takes half of them.
        let mut round_trips = 1200.0 * network.delay.seconds() + 0.5e-3;
        if may_leave_one_suppressed {
            // The subflow sends one packet per round trip.
            round_trips = 3600.0 * (network.delay.seconds() + 12_000.0 / network.rate.0 as f64);
        }
        let max = 3.3 * bytes as f64 * 8.0 / slowest as f64 + round_trips;
        for (sent, record) in sent.iter().zip(&outcome.flows) {
            let took = record.finish.map(|at| at.seconds() - sent.start as f64 * 1e-6);
            prop_assert!(took.is_some_and(|took| took < max), "{:?} s, at most {}: {:?}", took, max, record);
            prop_assert_eq!(sum(record, |s| s.timeouts + s.syn_timeouts.unwrap()), 0, "{:?}", record);
        }
    }
}
