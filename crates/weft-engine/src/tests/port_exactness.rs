//! Tests that a port, which computes departures when packets arrive, equals a queue that is served
//! packet by packet.

use proptest::prelude::*;
use weft_fabric::{QueueConfig, QueueKind};
use weft_spec::{QueueSize, Rate, Time};

use super::exactness::{SIZES, trimmed};
use super::random_networks::{any_kind_at_enqueue, any_queue};
use super::reference::queue::{Fifo, Source, Surroundings};
use super::reference::serialisation;
use crate::hash::queue_stream;
use crate::packet::{CE, ECT, PROTECTED, Packet};
use crate::port::Port;
use crate::port_state::{PortState, PortStates, Refusal};
use weft_queues::Site;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The port and the queue agree in arrivals at the far end, marks, drops, the length at any
    /// time and the time at each length.
    #[test]
    fn a_port_equals_a_queue_served_packet_by_packet(
        queue in any_queue(),
        kind in any_kind_at_enqueue(),
        // The last three: a byte takes 1142 6/7, 2.5 and 6 2/3 ps.
        mbps in prop::sample::select(vec![1, 1_000, 10_000, 10_000, 100_000, 7_000, 3_200_000, 1_200_000]),
        delay in prop::sample::select(vec![0, 1, 2_000_000]),
        probed in any::<bool>(),
        arrivals in prop::collection::vec(any_arrival(), 1..300),
    ) {
        Ports::new(queue, kind, Rate(mbps * 1_000_000), Time(delay), probed).compare(&arrivals)?;
    }
}

/// The arrival of a packet, relative to the arrival before it.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// Time since the arrival before: a number of serialisation times of the smallest packet, plus
    /// picoseconds.
    gap: (u64, u64),
    size: u16,
    flags: u16,
    /// Processing time at the host in picoseconds, if the port is idle.
    processing: u64,
    /// Time in picoseconds after which the length is compared, if it is.
    query: Option<u64>,
}

fn any_arrival() -> impl Strategy<Value = Arrival> {
    let whole = prop::sample::select(vec![0, 0, 0, 0, 1, 16, 37, 38, 100]);
    let rest = prop::sample::select(vec![0, 0, 0, 1, 799]);
    let flags = prop::sample::select(vec![0, ECT, ECT, ECT, ECT | PROTECTED, PROTECTED]);
    let processing = prop::sample::select(vec![0, 0, 1, 40_000, 2_000_000]);
    let query = prop::option::of(prop::sample::select(vec![0, 1, 32_000, 1_200_000]));
    (
        (whole, rest),
        prop::sample::select(SIZES.to_vec()),
        flags,
        processing,
        query,
    )
        .prop_map(|(gap, size, flags, processing, query)| Arrival {
            gap,
            size,
            flags,
            processing,
            query,
        })
}

/// The source of random numbers of the port and the queue.
const SOURCE: Source = Source { seed: 7, link: 3 };

/// The state of `count` ports with this queue, which share a buffer if the kind has one.
pub fn states(count: usize, queue: QueueConfig, kind: &QueueKind, probed: bool) -> PortStates {
    let mut states = PortStates::default();
    for _ in 0..count {
        let site = Site {
            queue,
            stream: queue_stream(SOURCE.seed, SOURCE.link),
            max_packet: 1500,
            port: states.ports.len() as u32,
            node: 0,
            is_switch: false,
        };
        let discipline = kind.discipline(&site, &mut states.buffers);
        states
            .ports
            .push(PortState::new(discipline, probed, [0, 1], 0, 0..1));
    }
    states
}

/// The state of a port without other ports.
pub fn alone(queue: QueueConfig, kind: &QueueKind, probed: bool) -> PortStates {
    states(1, queue, kind, probed)
}

/// Enqueues a packet at the port with this index. Returns the time of arrival and the flags, if it is accepted.
pub fn offer(
    ports: &mut [Port],
    states: &mut PortStates,
    index: usize,
    [now, ready]: [u64; 2],
    [size, flags]: [u16; 2],
) -> Option<(u64, u16)> {
    let accepted = ports[index].enqueue(states, index, now, ready, size, flags);
    if accepted.is_none() && matches!(states.refusal, (_, Refusal::Uncounted)) {
        Port::count_buffer(ports, states, index, now);
        return ports[index].enqueue(states, index, now, ready, size, flags);
    }
    accepted
}

/// The port and the queue under test.
struct Ports {
    rate: Rate,
    delay: Time,
    port: Port,
    states: PortStates,
    fifo: Fifo,
    /// Departure of the packet in service.
    served: Option<u64>,
    /// Arrivals at the far end: predicted by the port, and observed at the queue.
    predicted: Vec<u64>,
    observed: Vec<u64>,
}

impl Ports {
    fn new(queue: QueueConfig, kind: QueueKind, rate: Rate, delay: Time, probed: bool) -> Self {
        let states = alone(queue, &kind, probed);
        Self {
            rate,
            delay,
            port: Port::new(rate, delay, &states.ports[0], &states.buffers, 0, 0),
            states,
            fifo: Fifo::new(queue, kind, 1500, false, SOURCE),
            served: None,
            predicted: Vec::new(),
            observed: Vec::new(),
        }
    }

    /// Serves the queue up to and including `now`.
    fn serve(&mut self, now: u64) {
        while let Some(time) = self.served.filter(|&time| time <= now) {
            let (_, next) = self.fifo.served(time);
            self.observed.push(time + self.delay.0);
            self.served = next.map(|size| time + serialisation(self.rate, size));
        }
    }

    /// Free bytes of a buffer in which the queue is the only one.
    fn free(&self) -> u64 {
        self.fifo.shared().map_or(0, |shared| {
            let used = self.fifo.bytes_waiting().max(shared.reserve.0);
            shared.buffer.0.saturating_sub(used)
        })
    }

    fn compare(&mut self, arrivals: &[Arrival]) -> Result<(), TestCaseError> {
        let mut now = 0;
        for (i, arrival) in arrivals.iter().enumerate() {
            now += arrival.gap.0 * serialisation(self.rate, SIZES[0]) + arrival.gap.1;
            self.serve(now);
            let ready = now
                + if self.port.is_idle(now) {
                    arrival.processing
                } else {
                    0
                };
            let ports = std::slice::from_mut(&mut self.port);
            let packet = [arrival.size, arrival.flags];
            let predicted = offer(ports, &mut self.states, 0, [now, ready], packet);
            let flags = predicted.map_or(arrival.flags, |(_, flags)| flags);
            self.predicted.extend(predicted.map(|(time, _)| time));
            let packet = Packet {
                size: arrival.size,
                flags: arrival.flags,
                ..Packet::default()
            };
            let around = Surroundings {
                now,
                full_packet: serialisation(self.rate, 1500),
                free: self.free(),
            };
            match self.fifo.offer(packet, &around) {
                Ok((expected, idle)) => {
                    prop_assert!(predicted.is_some(), "packet {} was dropped", i);
                    prop_assert_eq!(flags & CE, expected & CE, "mark of packet {}", i);
                    if idle {
                        self.served = Some(now + arrival.processing + serialisation(self.rate, arrival.size));
                    }
                }
                Err(_) => prop_assert!(predicted.is_none(), "packet {} was not dropped", i),
            }
            if let Some(later) = arrival.query {
                now += later;
                self.serve(now);
                prop_assert_eq!(
                    self.port.length(now),
                    self.fifo.length(),
                    "length after packet {}",
                    i
                );
                if let Some(found) = self.port.distribution(&self.states.ports[0], now) {
                    prop_assert_eq!(trimmed(found), trimmed(self.fifo.distribution(now)));
                }
            }
        }
        self.serve(u64::MAX);
        prop_assert_eq!(&self.predicted, &self.observed);
        let admission = &self.states.ports[0];
        prop_assert_eq!(
            [
                self.port.packets,
                self.port.bytes,
                admission.drops,
                admission.marks
            ],
            [
                self.fifo.packets,
                self.fifo.bytes,
                self.fifo.drops,
                self.fifo.marks
            ]
        );
        Ok(())
    }
}

/// A limit in bytes is exact to the byte, although the times of hundreds of packets were each cut
/// by half a picosecond.
#[test]
fn bytes_are_counted_not_derived_from_times() {
    let queue = QueueConfig {
        limit: QueueSize::Bytes(41 * 300 + 40),
        mark: Some(QueueSize::Bytes(41 * 250 + 1)),
    };
    let mut states = alone(queue, &QueueKind::default(), false);
    let mut port = Port::new(
        Rate(3_200_000_000_000),
        Time(0),
        &states.ports[0],
        &states.buffers,
        0,
        0,
    );
    let mut enqueue = || port.enqueue(&mut states, 0, 0, 0, 41, ECT);
    let accepted = (0..400).filter_map(|_| enqueue()).count();
    // One is in service and 300 wait; the last 49 of them found more than 250 waiting.
    assert_eq!(accepted, 301);
    let [admission] = &states.ports[..] else {
        panic!("one port");
    };
    assert_eq!((admission.drops, admission.marks), (99, 49));
}

/// The time of a byte is cut at 2^-16 ps. A packet is therefore at most 1 ps early, and exact at
/// the usual rates.
#[test]
fn serialisation_is_exact_at_usual_rates_and_a_picosecond_off_at_most() {
    let queue = QueueConfig {
        limit: QueueSize::Packets(1),
        mark: None,
    };
    let states = alone(queue, &QueueKind::default(), false);
    let mbps = [
        1, 10, 100, 1_000, 2_500, 5_000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000,
    ];
    let usual = mbps.map(|m| m * 1_000_000);
    for rate in usual.into_iter().chain((1..3_000).map(|i| i * i * 1_234_567)) {
        let port = Port::new(Rate(rate), Time(0), &states.ports[0], &states.buffers, 0, 0);
        for bytes in (1..=9_000).step_by(7) {
            let exact = u128::from(bytes) * 8_000_000_000_000 / u128::from(rate);
            let found = u128::from(port.serialisation(bytes));
            let min = exact.saturating_sub(u128::from(!usual.contains(&rate)));
            assert!(
                (min..=exact).contains(&found),
                "{bytes} bytes at {rate} bps: {found} for {exact}"
            );
        }
    }
}

#[test]
fn a_packet_whose_last_bit_leaves_as_its_link_changes_has_left() {
    let queue = QueueConfig {
        limit: QueueSize::Packets(8),
        mark: None,
    };
    let (rate, delay) = (Rate(10_000_000_000), Time(1_000_000));
    // 40 bytes take 32 ns.
    for (now, stay) in [(31_999, 1), (32_000, 0)] {
        let mut states = alone(queue, &QueueKind::default(), false);
        let mut port = Port::new(rate, delay, &states.ports[0], &states.buffers, 0, 0);
        assert_eq!(port.enqueue(&mut states, 0, 0, 0, 40, 0), Some((1_032_000, 0)));
        assert_eq!(
            port.clone()
                .set_rate(&mut states, 0, now, Rate(1_000_000_000))
                .len(),
            stay
        );
        assert_eq!(
            port.clone().set_delay(&mut states.ports[0], now, Time(0)).len(),
            stay
        );
        assert_eq!(port.fail(&mut states, 0, now) as usize, stay);
    }
}
