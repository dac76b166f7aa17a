//! The steady state of long-lived flows, and the times of packets on idle paths, compared with theory. Bands are stated with
//! the theory that they surround.

use crate::experiment::{
    GBPS, TcpTransport, assert_conserved, assert_within, cc, config, everywhere, fat_tree, flow, queue, run,
    sized, transport,
};
use weft_fabric::{Fabric, ManyToOne, PortQueues, Topology, TwoBottlenecks};
use weft_packet::{Outcome, PacketSimulation, Probe, ProbedFlows, Sample, SimulationConfig};
use weft_paths::ByInterface;
use weft_spec::{Rate, Time};
use weft_traffic::Flow;
use weft_transports::{Profile, Recovery};

/// The bottlenecks' rate.
const RATE: u64 = 10 * GBPS;

/// Every packet is acknowledged, and a timeout costs a few milliseconds.
fn undelayed() -> Profile {
    Profile::linux().with(|p| {
        p.acks.ack_every = 1;
        p.rto.initial_rto = Time::from_ms(2);
        p.rto.min_rto = Time::from_ms(2);
    })
}

/// Senders at 40 Gbps, whose own queues hold whatever they send, and a receiver behind the bottleneck's queue.
fn bottleneck(senders: u32, delay: Time, limit: u32, mark: Option<u32>) -> Fabric {
    let queues = PortQueues {
        switch: queue(limit, mark),
        host: queue(100_000, None),
    };
    ManyToOne {
        senders,
        rate: Rate(RATE),
        delay,
        sender_rate: Some(Rate(4 * RATE)),
    }
    .build(&queues)
    .unwrap()
}

/// The link from node `from` to node `to`.
fn link(fabric: &Fabric, from: u32, to: u32) -> usize {
    let found = fabric.links.iter().position(|l| (l.from, l.to) == (from, to));
    found.unwrap()
}

/// Returns the link of [`bottleneck`] from the switch, which is the last node, to the receiver.
fn last_link(fabric: &Fabric) -> usize {
    let switch = fabric.nodes.len() as u32 - 1;
    link(fabric, switch, switch - 1)
}

/// Outcomes after `warm_up` and `length` later.
fn settle(config: SimulationConfig, warm_up: Time, length: Time) -> [Outcome; 2] {
    let rates: Vec<u64> = config.fabric.links.iter().map(|link| link.rate.0).collect();
    let mut simulation = PacketSimulation::new(config).unwrap();
    [warm_up, Time(warm_up.0 + length.0)].map(|end| {
        simulation.run_until(end);
        let outcome = simulation.outcome();
        assert_conserved(&outcome);
        // No link is ever used above its rate: what has left a queue took its time.
        for (i, (link, rate)) in outcome.links.iter().zip(&rates).enumerate() {
            assert_within(
                &format!("utilisation of link {i}"),
                link.bytes as f64 * 8.0 / (*rate as f64 * end.seconds()),
                0.0,
                1.000_001,
            );
        }
        outcome
    })
}

/// Growth of a counter between two outcomes.
fn grown([before, after]: &[Outcome; 2], of: impl Fn(&Outcome) -> u64) -> f64 {
    (of(after) - of(before)) as f64
}

/// Goodput of a flow in bits per second.
fn goodput(outcomes: &[Outcome; 2], flow: usize) -> f64 {
    let time = outcomes[1].end.seconds() - outcomes[0].end.seconds();
    8.0 * grown(outcomes, |o| o.flows[flow].delivered_bytes) / time
}

/// The goodput of a link of this rate full of data packets.
fn full(rate: u64, profile: &Profile) -> f64 {
    rate as f64 * f64::from(profile.sizes.mss) / f64::from(profile.wire_size())
}

/// Samples from the first outcome's end on.
fn later<T>([before, after]: &[Outcome; 2], of: impl Fn(&Sample) -> Option<(Time, T)>) -> Vec<T> {
    let samples = after.samples.iter().filter_map(of);
    samples
        .filter(|(time, _)| *time > before.end)
        .map(|(_, x)| x)
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.3. The queue of one flow is a sawtooth below
/// `Q_max = K + 1` (equation 10) of amplitude `A = sqrt(2 (C RTT + K)) / 2` (equation 8), and the link stays full.
///
/// Bands: the mean is within 0.2 A of the sawtooth's, K + 1 - A / 2. The queue is never above K + 3 or below K + 1 - 1.6 A.
/// The amplitude is 0.65 to 1.15 A, since sawteeth differ in depth. It is that of a regular sawtooth of the same standard
/// deviation (times the root of 12). Utilisation is above 0.999.
#[test]
fn a_dctcp_queue_oscillates_about_k() {
    // 17 to 170 packets of bandwidth-delay product.
    let points = [(5, 20), (10, 20), (20, 40), (25, 65), (50, 65)];
    for profile in [undelayed(), Profile::linux(), Profile::amp_2019()] {
        for (us, k) in points {
            let fabric = bottleneck(1, Time::from_us(us), 1000, Some(k));
            let last = last_link(&fabric);
            let wire = f64::from(profile.wire_size()) * 8.0;
            let rtt = 4e-6 * us as f64 + wire / RATE as f64 * 1.25;
            let outcomes = settle(
                SimulationConfig {
                    probes: vec![Probe::QueueTrace {
                        link: last as u32,
                        interval: Time::from_ns(700),
                    }],
                    ..config(
                        fabric,
                        vec![transport(cc("dctcp", &[]), 1, profile.clone())],
                        vec![flow(0, 1)],
                    )
                },
                Time::from_ms(60),
                Time::from_ms(60),
            );
            let lengths = later(&outcomes, |sample| match *sample {
                Sample::Queue { time, length, .. } => Some((time, f64::from(length))),
                _ => None,
            });
            let what = format!(
                "links of {us} us, K = {k}, ack_every = {}",
                profile.acks.ack_every
            );
            let amplitude = (2.0 * (RATE as f64 * rtt / wire + f64::from(k))).sqrt() / 2.0;
            let (k, mean) = (f64::from(k), mean(&lengths));
            assert_within(
                &format!("{what}: mean below K + 1, over A"),
                (k + 1.0 - mean) / amplitude,
                0.3,
                0.7,
            );
            for &length in &lengths {
                let floor = k + 1.0 - 1.6 * amplitude;
                assert_within(&format!("{what}: length"), length, floor, k + 3.0);
            }
            let squares = lengths.iter().map(|length| (length - mean).powi(2));
            let deviation = (squares.sum::<f64>() / lengths.len() as f64).sqrt();
            let found = deviation * 12_f64.sqrt() / amplitude;
            assert_within(&format!("{what}: amplitude over theory's"), found, 0.65, 1.15);
            let used = grown(&outcomes, |o| o.links[last].delivered) * wire / (RATE as f64 * 0.06);
            assert_within(&format!("{what}: utilisation"), used, 0.999, 1.0001);
        }
    }
}

/// Mathis et al., ACM SIGCOMM Computer Communication Review 27(3), 1997, section 2. With one loss per sawtooth from W/2 to
/// W and p losses per packet, the mean window is `sqrt(3 / 2p)` and the rate `MSS / RTT sqrt(3 / 2p)`.
/// The queue is far shorter than the bandwidth-delay product, so that the RTT is nearly constant.
///
/// Bands: mean cwnd 0.9 to 1.05 of the law; goodput 0.85 to 1.05 (the queue is not quite nothing). A delayed
/// acknowledgement can grow the window by two packets at once, of which both are then dropped: p counts episodes, and
/// with `ack_every` = 1 it counts drops too. Growth counts packets, so delayed acknowledgements leave the law as it is.
#[test]
fn reno_follows_the_square_root_law() {
    let newreno = undelayed().with(|p| p.loss.recovery = Recovery::NewReno);
    let points = [
        (undelayed(), 10, 4, 300),
        (undelayed(), 20, 8, 500),
        (undelayed(), 50, 8, 1_000),
        (undelayed(), 100, 16, 2_000),
        (newreno, 50, 8, 1_000),
        (Profile::linux(), 20, 8, 500),
        (Profile::linux(), 100, 16, 2_000),
    ];
    for (profile, us, limit, ms) in points {
        let fabric = bottleneck(1, Time::from_us(us), limit, None);
        let base_rtt = 4e-6 * us as f64;
        let (mss, delayed) = (f64::from(profile.sizes.mss), profile.acks.ack_every > 1);
        let outcomes = settle(
            SimulationConfig {
                probes: vec![Probe::Flow {
                    flows: ProbedFlows::One(0),
                    interval: Some(Time::from_us(us)),
                }],
                ..config(
                    fabric,
                    vec![transport(cc("reno", &[]), 1, profile)],
                    vec![flow(0, 1)],
                )
            },
            Time::from_ms(200),
            Time::from_ms(ms),
        );
        let cwnds = later(&outcomes, |sample| match *sample {
            Sample::Subflow { time, cwnd, .. } => Some((time, cwnd)),
            _ => None,
        });
        let what = format!("links of {us} us, limit {limit}");
        let subflow = |of: fn(&weft_packet::SubflowRecord) -> u64| {
            grown(&outcomes, |outcome| of(&outcome.flows[0].subflows[0]))
        };
        assert_eq!(subflow(|s| s.timeouts), 0.0, "{what}");
        let (sent, episodes) = (
            subflow(|s| s.packets_sent),
            subflow(|s| s.fast_retransmits.unwrap()),
        );
        assert!(episodes >= 10.0, "{what}: {episodes} episodes");
        if !delayed {
            // The first episode may have had its drop before.
            let min = 1.0 - 1.0 / episodes;
            assert_within(&what, subflow(|s| s.packets_dropped) / episodes, min, 1.1);
        }
        let law = (1.5 * sent / episodes).sqrt();
        assert_within(&format!("{what}: cwnd over law"), mean(&cwnds) / law, 0.9, 1.05);
        let rate = law * mss * 8.0 / base_rtt;
        assert_within(
            &format!("{what}: goodput over law"),
            goodput(&outcomes, 0) / rate,
            0.85,
            1.05,
        );
    }
}

/// Returns the goodput of a connection of `subflows` subflows over that of a competing Reno flow. Both share one drop-tail queue
/// as long as the bandwidth-delay product. Short flows of 20 % of the load make losses random. Without them, drop-tail hits the
/// flow that grows when the queue is full, while theory assumes the same loss probability for each packet.
fn share_competing_with_reno(algorithm: &str, subflows: u32, us: u64, seed: u64) -> f64 {
    const SHORT_SENDERS: u32 = 8;
    let (warm_up, length) = (Time::from_ms(100), Time::from_ms(900));
    let receiver = 2 + SHORT_SENDERS;
    let mut flows = vec![
        flow(0, receiver),
        Flow {
            transport: 1,
            start: Time::from_ms(1),
            ..flow(1, receiver)
        },
    ];
    let mut state = seed;
    let mut draw = |below: u64| {
        // Knuth's generator, of which the upper half is random enough to spread flows over time.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) % below
    };
    let end = warm_up.0 + length.0;
    let mut bytes = 0;
    while (bytes as f64) < 0.2 * RATE as f64 / 8.0 * (end as f64 * 1e-12) {
        let size = 1448 * (1 + draw(20));
        bytes += size;
        flows.push(Flow {
            start: Time(draw(end / 1_000_000) * 1_000_000),
            ..sized(2 + draw(u64::from(SHORT_SENDERS)) as u32, receiver, size)
        });
    }
    let fabric = bottleneck(receiver, Time::from_us(us), 4 * us as u32, None);
    let transports = vec![
        transport(cc("reno", &[]), 1, undelayed()),
        transport(cc(algorithm, &[]), subflows, undelayed()),
    ];
    let outcomes = settle(config(fabric, transports, flows), warm_up, length);
    goodput(&outcomes, 1) / goodput(&outcomes, 0)
}

/// RFC 6356, section 2, goal 2: on a shared bottleneck a connection takes no more than one TCP would, and by goal 1 no
/// less. Band: 0.8 to 1.25 in the mean of three seeds. Uncoupled, two subflows take two shares (1.6 to 2.5).
#[test]
fn equal_lia_subflows_take_what_one_tcp_takes() {
    let share = |algorithm, subflows, us| {
        let shares = [1, 2, 3].map(|seed| share_competing_with_reno(algorithm, subflows, us, seed));
        mean(&shares)
    };
    assert_within("2 subflows, 25 us", share("lia", 2, 25), 0.8, 1.25);
    assert_within("2 subflows, 50 us", share("lia", 2, 50), 0.8, 1.25);
    assert_within("4 subflows, 25 us", share("lia", 4, 25), 0.8, 1.25);
    assert_within("2 subflows uncoupled", share("reno", 2, 25), 1.6, 2.5);
}

/// RFC 6356, section 2, goals 1 and 3: alone on two paths a connection fills both. Band: above 0.97 of both, with queues
/// longer than the bandwidth-delay product.
#[test]
fn two_lia_subflows_fill_two_idle_paths() {
    let fabric = || {
        TwoBottlenecks {
            rate: Rate(RATE),
            delay: Time::from_us(10),
            host_rate: Some(Rate(4 * RATE)),
        }
        .build(&everywhere(queue(100, None)))
        .unwrap()
    };
    // From S2 to D2.
    let both = |subflows| {
        let transport = TcpTransport {
            paths: ByInterface {}.into(),
            ..transport(cc("lia", &[]), subflows, undelayed())
        };
        let outcomes = settle(
            config(fabric(), vec![transport], vec![flow(1, 4)]),
            Time::from_ms(100),
            Time::from_ms(300),
        );
        goodput(&outcomes, 0) / full(RATE, &undelayed())
    };
    assert_within("two subflows, in links", both(2), 1.94, 2.0001);
    assert_within("one subflow, in links", both(1), 0.97, 1.0001);
}

/// Jain's index of n long-lived DCTCP flows over 300 ms. Band: above 0.99, which is what the paper's section 4.1 reports of
/// five flows; together they fill the link.
#[test]
fn dctcp_flows_are_fair() {
    for n in [2, 5, 10] {
        let flows = (0..n).map(|i| Flow {
            start: Time::from_us(u64::from(i) * 731),
            ..flow(i, n)
        });
        let fabric = bottleneck(n, Time::from_us(20), 1000, Some(40));
        let transports = vec![transport(cc("dctcp", &[]), 1, Profile::linux())];
        let outcomes = settle(
            config(fabric, transports, flows.collect()),
            Time::from_ms(100),
            Time::from_ms(300),
        );
        let rates: Vec<f64> = (0..n as usize).map(|i| goodput(&outcomes, i)).collect();
        let squares: f64 = rates.iter().map(|x| x * x).sum();
        let sum: f64 = rates.iter().sum();
        assert_within(
            &format!("Jain's index of {n}"),
            sum * sum / (f64::from(n) * squares),
            0.99,
            1.0,
        );
        assert_within(
            "goodput in links",
            sum / full(RATE, &Profile::linux()),
            0.999,
            1.0001,
        );
    }
}

/// Picoseconds that `bytes` take at `rate`, which divides them.
fn serialisation(bytes: u32, rate: Rate) -> u64 {
    u64::from(bytes) * 8_000_000_000_000 / rate.0
}

/// Time over the given links without a queue.
fn crossing<'a>(links: impl IntoIterator<Item = &'a weft_fabric::Link>, bytes: u32) -> u64 {
    let links = links.into_iter();
    links
        .map(|link| link.delay.0 + serialisation(bytes, link.rate))
        .sum()
}

/// On an idle path a handshake, a segment and its acknowledgement take the sum of their serialisations and propagations,
/// to the picosecond; so says the measured RTT.
#[test]
fn idle_paths_take_what_they_must() {
    const START: u64 = 1_234_567;
    let profile = undelayed().with(|p| {
        p.handshake.sample_handshake_rtt = false;
        p.sizes.header += 24;
        p.sizes.ack_size += 24;
    });
    let check = |fabric: Fabric,
                 from: u32,
                 to: u32,
                 bytes: u64,
                 there: Vec<weft_fabric::Link>,
                 back: Vec<weft_fabric::Link>| {
        let flows = vec![Flow {
            start: Time(START),
            ..sized(from, to, bytes)
        }];
        let transports = vec![transport(cc("dctcp", &[]), 1, profile.clone())];
        let outcome = run(config(fabric, transports, flows), Time::from_ms(5));
        let returns = crossing(&back, profile.sizes.ack_size);
        let established = START + crossing(&there, profile.sizes.ack_size) + returns;
        assert_eq!(outcome.flows[0].established, Some(Time(established)));
        let packets = bytes.div_ceil(u64::from(profile.sizes.mss));
        let last = (bytes - (packets - 1) * u64::from(profile.sizes.mss)) as u32 + profile.sizes.header;
        if packets == 1 {
            let one_way = crossing(&there, last);
            let rtt = one_way + returns;
            assert_eq!(outcome.flows[0].finish, Some(Time(established + one_way)));
            assert_eq!(outcome.flows[0].acked, Some(Time(established + rtt)));
            assert_eq!((outcome.flows[0].subflows[0].srtt * 1e12).round() as u64, rtt);
        } else {
            // The packets leave at once and queue before the slowest link, the last of them behind all others there.
            let slowest = there.iter().min_by_key(|link| link.rate).unwrap();
            let queueing = (packets - 1) * serialisation(profile.wire_size(), slowest.rate);
            let arrived = established + crossing(&there, last) + queueing;
            assert_eq!(outcome.flows[0].finish, Some(Time(arrived)));
            assert_eq!(outcome.flows[0].acked, Some(Time(arrived + returns)));
        }
    };
    for bytes in [1, 700, 1447, 1448] {
        let queues = everywhere(queue(100, Some(10)));
        let fabric = fat_tree(4, Rate(25 * GBPS), Time(777_777), &queues);
        // To another pod: six links, all alike.
        let path = vec![fabric.links[0].clone(); 6];
        check(fabric, 0, 15, bytes, path.clone(), path);
    }
    for bytes in [1, 1448, 10 * 1448] {
        let mut fabric = bottleneck(3, Time(0), 100, None);
        for (i, link) in (0..).zip(&mut fabric.links) {
            link.delay = Time(1_000_003 * (i + 1));
        }
        let switch = fabric.nodes.len() as u32 - 1;
        let path = |ends: [(u32, u32); 2]| {
            let links = ends.map(|(from, to)| fabric.links[link(&fabric, from, to)].clone());
            links.to_vec()
        };
        let there = path([(2, switch), (switch, 3)]);
        let back = path([(3, switch), (switch, 2)]);
        check(fabric, 2, 3, bytes, there, back);
    }
}
