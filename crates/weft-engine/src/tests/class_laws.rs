//! Laws of traffic classes: the waiting times of priorities, and the shares of weights.

use weft_fabric::{Link, Overflow, Priority, PriorityClass, QueueKind, TrimTo, Trimming, Victim};
use weft_spec::{QueueSize, Rate, Size, Time};

use super::networks::{config, limited, network};
use super::reference::serialisation;
use crate::hash::uniform;
use crate::packet::{DATA, Packet, class_flags};
use crate::route::{HopBits, Route};
use crate::{Context, Endpoint, Engine};

const RATE: Rate = Rate(10_000_000_000);
const DELAY: u64 = 1_000_000;

/// Poisson arrivals of packets of these sizes, each as frequent as the others.
#[derive(Clone, Copy)]
struct Traffic {
    /// Load as a fraction of the link.
    load: f64,
    sizes: &'static [u16],
}

impl Traffic {
    /// The `n`-th moment of the serialisation time in picoseconds.
    fn moment(self, n: i32) -> f64 {
        let times = self.sizes.iter().map(|&size| serialisation(RATE, size) as f64);
        times.map(|time| time.powi(n)).sum::<f64>() / self.sizes.len() as f64
    }

    /// Packets per picosecond.
    fn rate(self) -> f64 {
        self.load / self.moment(1)
    }
}

/// The packets of a class that arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    packets: u64,
    bytes: u64,
    waited: u64,
    trimmed: u64,
}

/// A host that sends the traffic of each class, or the host that receives it.
struct Station {
    traffic: Vec<Traffic>,
    route: Route,
    drawn: u64,
    received: [Received; 8],
}

impl Station {
    /// Returns a number from 0 to 1.
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        uniform(7, self.drawn)
    }
}

impl Endpoint for Station {
    fn on_packet(&mut self, packet: &Packet, _: &mut Context<'_>) {
        let sent = u64::from(packet.hi) << 32 | u64::from(packet.lo);
        let received = &mut self.received[packet.class()];
        if packet.is_trimmed() {
            received.trimmed += 1;
            return;
        }
        received.packets += 1;
        received.bytes += u64::from(packet.size);
        received.waited += packet.time - DELAY - serialisation(RATE, packet.size) - sent;
    }

    fn on_timer(&mut self, class: u64, cx: &mut Context<'_>) {
        let traffic = self.traffic[class as usize];
        let size = (self.draw() * traffic.sizes.len() as f64) as usize;
        cx.send(&Packet {
            route: self.route,
            lo: cx.now as u32,
            hi: (cx.now >> 32) as u32,
            size: traffic.sizes[size],
            flags: DATA | class_flags(class as u8),
            ..Packet::default()
        });
        let gap = -(1.0 - self.draw()).ln() / traffic.rate();
        cx.set_timer(cx.now + gap as u64, class);
    }
}

/// Sends this traffic, class by class, over a link with these weights. Returns what arrived until `end`.
fn run(traffic: &[Traffic], weights: &[Option<u32>], limit: u32, end: Time) -> [Received; 8] {
    let class = |&weight| PriorityClass {
        weight,
        ..PriorityClass::default()
    };
    let priority = Priority {
        classes: weights.iter().map(class).collect(),
    };
    run_through(&priority.into(), traffic, limit, end)
}

/// Sends this traffic over a link with queues of this kind. Returns what arrived until `end`.
fn run_through(kind: &QueueKind, traffic: &[Traffic], limit: u32, end: Time) -> [Received; 8] {
    let link = |from, to| Link {
        kind: kind.clone(),
        ..Link::new([from, to], RATE, Time(DELAY), limited(QueueSize::Packets(limit)))
    };
    let fabric = network(2, &[0, 1], vec![link(0, 1), link(1, 0)]);
    let config = config(64, 1500);
    let route = Route::from_ports(&[0], HopBits::new(fabric.max_ports())).unwrap();
    let mut engine = Engine::new(&fabric, &config, |_| Station {
        traffic: traffic.to_vec(),
        route,
        drawn: 0,
        received: [Received::default(); 8],
    });
    for class in 0..traffic.len() as u64 {
        engine.set_timer(0, 0, 0, class);
    }
    engine.run_until(end.0);
    engine.endpoint(1).received
}

/// Cobham, "Priority assignment in waiting line problems" (1954): without preemption, class k waits for
/// W0 / ((1 - s) (1 - t)) on average. Half of the second moments times the arrival rates sum up to W0; s is
/// the load of the classes before k, and t includes that of k.
#[test]
fn classes_wait_as_long_as_cobham_says_within_2_percent() {
    let traffic = [
        Traffic {
            load: 0.1,
            sizes: &[64],
        },
        Traffic {
            load: 0.25,
            sizes: &[64, 64, 64, 1500],
        },
        Traffic {
            load: 0.3,
            sizes: &[300, 1500],
        },
    ];
    let received = run(&traffic, &[None; 3], u32::MAX, Time::from_ms(1_000));
    let residual: f64 = traffic
        .iter()
        .map(|class| class.rate() * class.moment(2) / 2.0)
        .sum();
    let mut before = 0.0;
    for (class, received) in traffic.iter().zip(received) {
        let expected = residual / ((1.0 - before) * (1.0 - before - class.load));
        let found = received.waited as f64 / received.packets as f64;
        assert!(
            (found / expected - 1.0).abs() < 0.02,
            "{found} ps instead of {expected} after {} packets",
            received.packets
        );
        before += class.load;
    }
}

/// A strict class gets what it sends. Weighted classes share the rest by weight, whatever their packets.
#[test]
fn shares_are_those_of_the_weights_within_1_percent() {
    let full = |sizes| Traffic { load: 1.0, sizes };
    let strict = Traffic {
        load: 0.3,
        sizes: &[1500],
    };
    let traffic = [strict, full(&[1500]), full(&[64, 1500]), full(&[700])];
    for weights in [[1, 2, 5], [50, 50, 50], [3, 100, 7]] {
        let [a, b, c] = weights.map(Some);
        let received = run(&traffic, &[None, a, b, c], 50, Time::from_ms(400));
        let bytes = received.map(|class| class.bytes as f64);
        let weighted: f64 = bytes[1..].iter().sum();
        let capacity = Time::from_ms(400).seconds() * RATE.0 as f64 / 8.0;
        assert!(
            (bytes[0] / capacity / 0.3 - 1.0).abs() < 0.01,
            "{}",
            bytes[0] / capacity
        );
        assert!((bytes[0] + weighted) / capacity > 0.999);
        for (bytes, weight) in bytes[1..].iter().zip(weights) {
            let expected = weighted * f64::from(weight) / f64::from(weights.iter().sum::<u32>());
            assert!(
                (bytes / expected - 1.0).abs() < 0.01,
                "{bytes} instead of {expected} with weight {weight}"
            );
        }
    }
}

/// With strict service, the headers of what does not fit take the capacity that they need, and data the
/// rest. At `load` times the capacity in packets of S bytes and headers of H bytes, the share of data is
/// (1 - load H / S) / (1 - H / S).
#[test]
fn headers_take_the_capacity_that_they_need_within_1_percent() {
    for (load, size) in [(2.0, &[4150_u16]), (8.0, &[4150]), (3.0, &[1000])] {
        for victim in [Victim::Random, Victim::Arriving] {
            let trimming = Trimming {
                size: Size(64),
                headers: None,
                ratio: None,
                victim,
                to: TrimTo::Receiver,
                overflow: Overflow::Drop,
                mark_min: None,
                mark_max: None,
            };
            let (end, traffic) = (Time::from_ms(100), Traffic { load, sizes: size });
            let [received, ..] = run_through(&trimming.into(), &[traffic], 43, end);
            let ratio = 64.0 / f64::from(size[0]);
            let expected = (1.0 - load * ratio) / (1.0 - ratio);
            let found = received.bytes as f64 * 8.0 / RATE.0 as f64 / end.seconds();
            assert!(
                (found / expected - 1.0).abs() < 0.01,
                "{found} instead of {expected}"
            );
            let arrived = (received.packets + received.trimmed) as f64;
            let sent = load * end.seconds() * RATE.0 as f64 / 8.0 / f64::from(size[0]);
            assert!((arrived / sent - 1.0).abs() < 0.01, "{arrived} of {sent}");
        }
    }
}
