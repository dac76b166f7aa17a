//! Laws of telemetry: what ports report, by the definition, and the same for kinds of queues and numbers of threads.

use weft_fabric::{Link, LinkChange, Lossless, Priority, PriorityClass, QueueKind, Shared};
use weft_spec::{QueueSize, Rate, Size, Time};

use super::networks::{config, limited, network};
use super::reference::serialisation;
use crate::hash::uniform;
use crate::packet::{DATA, Packet};
use crate::route::{HopBits, Route};
use crate::{Context, Endpoint, Engine, HopRecord, PathRecord, Threads};

/// Flags of packets that ask for telemetry.
const ASKS: u16 = DATA | 1 << 9;
const FAST: Rate = Rate(10_000_000_000);
const SLOW: Rate = Rate(7_000_000_000);
const DELAY: u64 = 1_000_000;
const PACKETS: u64 = 400;
/// Time at which the senders read the telemetry, after all packets have arrived.
const END: u64 = 2_000_000_000;
/// Key of the timer at `END`.
const READ: u64 = u64::MAX >> 8;

/// A sender, or the receiver. The first host asks for telemetry of two of three packets.
#[derive(Default)]
struct Host {
    node: u32,
    route: Route,
    paths: Vec<Option<PathRecord>>,
}

/// Returns when a host creates its `n`-th packet, and the size.
fn packet_of(node: u32, n: u64) -> (u64, u16) {
    let draw = |part: u64| uniform(u64::from(node) + 3, 2 * n + part);
    let time = 1_000_000 * n + (draw(0) * 900_000.0) as u64;
    (time, 64 + (draw(1) * 1_400.0) as u16)
}

fn asks(node: u32, n: u64) -> bool {
    node == 0 && n % 3 < 2
}

impl Endpoint for Host {
    fn on_packet(&mut self, _: &Packet, _: &mut Context<'_>) {}

    fn on_timer(&mut self, n: u64, cx: &mut Context<'_>) {
        if n == READ {
            let numbers = 0..PACKETS as u32;
            self.paths = numbers.map(|number| cx.take_telemetry(7, number)).collect();
            return;
        }
        if n == 0 {
            cx.open_telemetry(7);
        }
        cx.send(&Packet {
            route: self.route,
            slot: n as u32,
            chunk: self.node,
            lo: 7,
            size: packet_of(self.node, n).1,
            flags: if asks(self.node, n) { ASKS } else { DATA },
            ..Packet::default()
        });
        if n + 1 < PACKETS {
            cx.set_timer(packet_of(self.node, n + 1).0, n + 1);
        } else {
            cx.set_timer(END, READ);
        }
    }
}

/// Two hosts send over two switches to a third one. Returns what the first one reads.
fn run(kind: &QueueKind, threads: usize, changes: &[(u64, LinkChange)]) -> Vec<Option<PathRecord>> {
    let link = |from, to, rate| Link {
        kind: kind.clone(),
        ..Link::new(
            [from, to],
            rate,
            Time(DELAY),
            limited(QueueSize::Bytes(10_000_000)),
        )
    };
    let (first, second) = (2, 3);
    let links = vec![
        link(0, first, FAST),
        link(1, first, FAST),
        link(first, 0, FAST),
        link(first, 1, FAST),
        link(first, second, FAST),
        link(second, first, FAST),
        link(second, 4, SLOW),
        link(4, second, FAST),
    ];
    let fabric = network(5, &[0, 1, 4], links);
    let mut config = config(64, 1500);
    config.telemetry = Some(ASKS);
    config.threads = Threads::Exactly(threads);
    config.changes = changes.iter().map(|&(_, change)| (6, change)).collect();
    let route = Route::from_ports(&[0, 2, 1], HopBits::new(fabric.max_ports())).unwrap();
    let mut engine = Engine::new(&fabric, &config, |host| Host {
        node: host,
        route,
        paths: Vec::new(),
    });
    for node in 0..2 {
        engine.set_timer(node, node, packet_of(node, 0).0, 0);
    }
    for &(time, change) in changes {
        engine.run_until(time);
        engine.change(6, change);
    }
    engine.run_until(END + 1);
    engine.endpoint(0).paths.clone()
}

/// A packet at a port: when it arrives, its size, and its number if the first host sent it.
type Arriving = (u64, u16, Option<u64>);

/// Returns when the packets of a FIFO begin, in their order.
fn begins(packets: &[Arriving], rate: Rate) -> Vec<u64> {
    let mut free = 0;
    let begin = |&(time, size, _): &Arriving| {
        let begin = free.max(time);
        free = begin + serialisation(rate, size);
        begin
    };
    packets.iter().map(begin).collect()
}

/// Returns the records of a port by their definition, and the packets as they arrive at the next node.
fn definition(mut packets: Vec<Arriving>, rate: Rate) -> (Vec<(u64, HopRecord)>, Vec<Arriving>) {
    packets.sort_unstable();
    let begins = begins(&packets, rate);
    let bytes = |packets: &[Arriving]| packets.iter().map(|&(_, size, _)| u64::from(size)).sum();
    let (mut records, mut next) = (Vec::new(), Vec::new());
    for (i, (&(_, size, number), &time)) in packets.iter().zip(&begins).enumerate() {
        let behind = packets[i + 1..]
            .iter()
            .take_while(|(arrives, ..)| *arrives < time);
        let record = HopRecord {
            time,
            sent: bytes(&packets[..i]),
            queue: bytes(&packets[i + 1..i + 1 + behind.count()]),
            rate,
        };
        records.extend(number.map(|number| (number, record)));
        next.push((time + serialisation(rate, size) + DELAY, size, number));
    }
    (records, next)
}

/// The kinds of queues, without a limit that matters.
fn kinds() -> Vec<QueueKind> {
    let shared = Shared {
        buffer: Size(100_000_000),
        alpha: 1.0,
        reserve: Size(0),
        drop_not_ect: false,
    };
    let priority = Priority {
        classes: vec![PriorityClass::default()],
    };
    let lossless = Lossless {
        headroom: None,
        headroom_pool: None,
        xoff: None,
        xon: None,
        reaction: Time(0),
        watchdog: None,
        classes: 1,
        mark_min: None,
        mark_max: None,
        mark_probability: None,
    };
    vec![
        QueueKind::default(),
        shared.into(),
        priority.into(),
        lossless.into(),
    ]
}

#[test]
fn ports_report_their_state_when_a_packet_begins() {
    let sent = |node| {
        let packets = (0..PACKETS).map(|n| {
            let (time, size) = packet_of(node, n);
            (time, size, asks(node, n).then_some(n))
        });
        definition(packets.collect(), FAST).1
    };
    let (first, arriving) = definition([sent(0), sent(1)].concat(), FAST);
    let (second, _) = definition(arriving, SLOW);
    assert!(first.iter().filter(|(_, record)| record.queue > 0).count() > 20);
    assert!(second.iter().filter(|(_, record)| record.queue > 0).count() > 100);
    for kind in kinds() {
        for threads in 1..=3 {
            let paths = run(&kind, threads, &[]);
            for (hop, expected) in [&first, &second].into_iter().enumerate() {
                for (number, record) in expected {
                    let found = paths[*number as usize].unwrap();
                    assert_eq!(found.hops()[hop], *record, "packet {number}, hop {hop}, {kind:?}");
                }
            }
            let asking = (0..PACKETS).filter(|&n| !asks(0, n));
            for number in asking {
                assert!(paths[number as usize].is_none_or(|path| path.hops().is_empty()));
            }
        }
    }
}

/// Changes of the link of the second switch, of which scheduled queues and FIFOs know in different ways.
#[test]
fn changes_of_a_link_change_reports_of_all_kinds_alike() {
    let changes = [
        (80_000_123, LinkChange::Rate(Rate(3_000_000_000))),
        (150_000_000, LinkChange::Rate(FAST)),
        (200_000_000, LinkChange::Delay(Time(2 * DELAY))),
        (240_000_000, LinkChange::Down),
        (250_000_000, LinkChange::Up),
        (300_000_000, LinkChange::Rate(SLOW)),
    ];
    let expected = run(&QueueKind::default(), 1, &changes);
    let lost = expected.iter().flatten().filter(|path| path.hops().len() == 1);
    assert!(lost.count() > 2);
    for kind in kinds() {
        for threads in 1..=3 {
            assert_eq!(
                run(&kind, threads, &changes),
                expected,
                "{threads} threads, {kind:?}"
            );
        }
    }
}
