//! Laws of the kinds of queues, on ports without a network.

use weft_fabric::{QueueConfig, QueueKind, QueueParameters, Red, RedAction, RedAt, Shared};
use weft_spec::{QueueSize, Rate, Size, Time};

use super::port_exactness::{alone, offer, states};
use crate::packet::{CE, ECT, PROTECTED};
use crate::port::Port;
use crate::port_state::PortStates;

const PACKET: u16 = 1500;
/// Threshold of queues that have no ramp, in bytes.
const THRESHOLD: u64 = 900_000;
/// The ramp of test plans of switch vendors.
const RAMP: Red = Red {
    min: QueueSize::Bytes(500_000),
    max: QueueSize::Bytes(2_000_000),
    probability: 0.2,
    action: RedAction::Mark,
    nodrop: false,
    at: RedAt::Enqueue,
    weight: None,
};
const UNLIMITED: QueueConfig = QueueConfig {
    limit: QueueSize::Packets(u32::MAX),
    mark: None,
};

/// The ports of a switch with a shared buffer.
struct Switch {
    ports: Vec<Port>,
    states: PortStates,
}

impl Switch {
    fn new(ports: usize, shared: Shared) -> Self {
        let states = states(ports, UNLIMITED, &shared.into(), false);
        let port = |state| Port::new(Rate(10_000_000_000), Time(0), state, &states.buffers, 0, 0);
        Self {
            ports: states.ports.iter().map(port).collect(),
            states,
        }
    }

    /// Offers a packet to `port`. Returns whether it was accepted.
    fn offer(&mut self, port: usize, now: u64) -> bool {
        offer(&mut self.ports, &mut self.states, port, [now; 2], [PACKET, 0]).is_some()
    }

    /// Offers `offers` packets to each of the first `congested` ports in turn, twice as fast as they
    /// leave. Returns the time of the last offer.
    fn overload(&mut self, congested: usize, offers: u64) -> u64 {
        let gap = self.ports[0].serialisation(PACKET.into()) / 2;
        for n in 0..offers {
            for port in 0..congested {
                self.offer(port, n * gap);
            }
        }
        (offers - 1) * gap
    }

    /// Bytes that wait at `port` at `now`.
    fn waiting(&self, port: usize, now: u64) -> u64 {
        u64::from(self.ports[port].length(now)) * u64::from(PACKET)
    }
}

/// Choudhury and Hahne (1998): with a buffer of B bytes, n congested ports hold
/// alpha B / (1 + alpha n) each, and what is left of the buffer is free.
#[test]
fn congested_ports_hold_the_share_of_the_dynamic_threshold_to_a_packet() {
    let buffer = 600_000;
    for alpha in [0.5, 1.0, 2.0, 8.0] {
        for reserve in [0, 4_000] {
            for congested in 1..=12 {
                let mut switch = Switch::new(
                    12,
                    Shared {
                        buffer: Size(buffer),
                        alpha,
                        reserve: Size(reserve),
                        drop_not_ect: false,
                    },
                );
                let end = switch.overload(congested, 3_000);
                let common = (buffer - 12 * reserve) as f64;
                let share = reserve as f64 + alpha * common / (1.0 + alpha * congested as f64);
                for port in 0..congested {
                    let waiting = switch.waiting(port, end) as f64;
                    assert!(
                        (waiting - share).abs() <= f64::from(PACKET),
                        "alpha {alpha}, {congested} ports, reserve {reserve}: {waiting} instead of {share}"
                    );
                }
            }
        }
    }
}

/// A port whose reserve is free accepts packets although other ports have filled the buffer.
#[test]
fn a_reserve_is_free_for_its_port_alone() {
    let shared = |reserve| Shared {
        buffer: Size(60_000),
        alpha: 1024.0,
        reserve: Size(reserve),
        drop_not_ect: false,
    };
    for (reserve, accepted) in [(0, false), (3_000, true)] {
        let mut switch = Switch::new(2, shared(reserve));
        while switch.offer(0, 0) {}
        // The first packet is sent, so it needs no buffer.
        assert!(switch.offer(1, 0));
        assert_eq!(switch.offer(1, 0), accepted, "reserve {reserve}");
    }
}

/// Holds a queue at `length` bytes by replacing each packet that leaves, and returns the fractions of packets with
/// these flags that were marked and dropped.
fn chosen_fractions(kind: impl Into<QueueKind>, length: u64, packets: u64, flags: u16) -> [f64; 2] {
    let limit = QueueConfig {
        mark: Some(QueueSize::Bytes(THRESHOLD)),
        ..UNLIMITED
    };
    let kind = kind.into();
    let queue = if kind.marks() { UNLIMITED } else { limit };
    let mut states = alone(queue, &kind, false);
    let mut port = Port::new(
        Rate(100_000_000_000),
        Time(0),
        &states.ports[0],
        &states.buffers,
        0,
        0,
    );
    let gap = port.serialisation(PACKET.into());
    // One packet is being sent, and one leaves as each packet arrives.
    for _ in 0..length / u64::from(PACKET) + 2 {
        port.enqueue(&mut states, 0, 0, 0, PACKET, PROTECTED);
    }
    let (mut marked, mut dropped) = (0, 0);
    for n in 1..=packets {
        let now = n * gap;
        if let Some((_, flags)) = port.enqueue(&mut states, 0, now, now, PACKET, flags) {
            marked += u64::from(flags & CE != 0);
        } else {
            dropped += 1;
            port.enqueue(&mut states, 0, now, now, PACKET, PROTECTED);
        }
    }
    [marked, dropped].map(|count| count as f64 / packets as f64)
}

/// Test plans of switch vendors hold a queue between 500 KB and 2 MB and accept a marking rate within
/// 5 % of the ramp. With an average, marks are spaced evenly (Floyd and Jacobson, figure 2). After a
/// mark, each of the next 1/p - 1 packets is the next one with equal probability, so that 2p are marked.
#[test]
fn marks_are_as_frequent_as_the_ramp_says_within_5_percent() {
    for (weight, probability, factor) in [(None, 0.2, 1.0), (None, 1.0, 1.0), (Some(1.0), 0.2, 2.0)] {
        let red = Red {
            probability,
            weight,
            ..RAMP
        };
        for length in [650_000_u64, 1_250_000, 1_850_000] {
            let length = length - length % u64::from(PACKET);
            let [found, _] = chosen_fractions(red, length, 300_000, ECT);
            let expected = factor * probability * (length as f64 - 500_000.0) / 1_500_000.0;
            assert!(
                (found / expected - 1.0).abs() < 0.05,
                "{found} at {length} bytes instead of {expected}"
            );
        }
        assert_eq!(chosen_fractions(red, 498_000, 10_000, ECT), [0.0, 0.0]);
        assert_eq!(chosen_fractions(red, 2_001_000, 10_000, ECT), [1.0, 0.0]);
    }
}

/// A packet that cannot be marked is dropped with the probability of a mark (`red_enqueue` of Linux's `sch_red.c`
/// with `ecn`, WRED), or accepted with `nodrop`. A threshold accepts it unless the queue drops it there.
#[test]
fn packets_without_ecn_are_dropped_as_often_as_others_are_marked() {
    for length in [650_000_u64, 1_250_000, 2_001_000] {
        let length = length - length % u64::from(PACKET);
        let [marked, none] = chosen_fractions(RAMP, length, 300_000, ECT);
        assert_eq!(none, 0.0);
        assert_eq!(chosen_fractions(RAMP, length, 300_000, 0), [0.0, marked]);
        let nodrop = Red { nodrop: true, ..RAMP };
        assert_eq!(chosen_fractions(nodrop, length, 10_000, 0), [0.0, 0.0]);
        let dropping = Red {
            action: RedAction::Drop,
            ..RAMP
        };
        for flags in [0, ECT] {
            assert_eq!(chosen_fractions(dropping, length, 300_000, flags), [0.0, marked]);
        }
    }
    let shared = |drop_not_ect| Shared {
        buffer: Size(100_000_000),
        alpha: 1.0,
        reserve: Size(0),
        drop_not_ect,
    };
    for drops in [false, true] {
        for (length, is_long) in [(THRESHOLD - u64::from(PACKET), false), (THRESHOLD, true)] {
            let chosen = if is_long { 1.0 } else { 0.0 };
            let dropped = if drops { chosen } else { 0.0 };
            assert_eq!(chosen_fractions(shared(drops), length, 1_000, ECT), [chosen, 0.0]);
            assert_eq!(chosen_fractions(shared(drops), length, 1_000, 0), [0.0, dropped]);
        }
    }
}
