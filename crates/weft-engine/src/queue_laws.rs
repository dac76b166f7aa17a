//! Laws of the kinds of queues, on ports without a network.

use weft_fabric::{QueueConfig, QueueKind, Red, RedAction, RedAt, Shared};
use weft_spec::{QueueSize, Rate, Size, Time};

use crate::admission::{Admission, Admissions};
use crate::packet::{CE, ECT};
use crate::port::Port;
use crate::port_exactness::alone;
use crate::queue::{Discipline, Pool, SharedPort};

const PACKET: u16 = 1500;
const UNLIMITED: QueueConfig = QueueConfig {
    limit: QueueSize::Packets(u32::MAX),
    mark: None,
};

/// The ports of a switch with a shared buffer.
struct Switch {
    ports: Vec<Port>,
    admissions: Admissions,
}

impl Switch {
    fn new(ports: usize, shared: Shared) -> Self {
        let mut admissions = Admissions {
            pools: vec![Pool::new(shared.buffer.0)],
            ..Admissions::default()
        };
        for _ in 0..ports {
            let of_switch = |shared| SharedPort::new(&mut admissions.pools, 0, shared);
            let discipline = Discipline::new(
                &shared.into(),
                UNLIMITED,
                0,
                PACKET.into(),
                true,
                of_switch,
                |_| 0,
            );
            let admission = Admission::new(UNLIMITED, discipline, PACKET.into(), false);
            admissions.ports.push(admission);
        }
        let port = |admission| Port::new(Rate(10_000_000_000), Time(0), admission, 0, 0);
        Self {
            ports: admissions.ports.iter().map(port).collect(),
            admissions,
        }
    }

    /// Offers a packet to `port`. Returns whether it was accepted.
    fn offer(&mut self, port: usize, now: u64) -> bool {
        let accepted = self.ports[port].enqueue(&mut self.admissions, port, now, now, PACKET, 0);
        accepted.is_some()
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
    };
    for (reserve, accepted) in [(0, false), (3_000, true)] {
        let mut switch = Switch::new(2, shared(reserve));
        while switch.offer(0, 0) {}
        // The first packet is sent, so it needs no buffer.
        assert!(switch.offer(1, 0));
        assert_eq!(switch.offer(1, 0), accepted, "reserve {reserve}");
    }
}

/// Holds a queue at `length` bytes by replacing each packet that leaves, and returns the fraction of
/// the packets that were marked.
fn marked_fraction(red: Red, length: u64, packets: u64) -> f64 {
    let mut admissions = alone(UNLIMITED, &QueueKind::from(red), false);
    let mut port = Port::new(Rate(100_000_000_000), Time(0), &admissions.ports[0], 0, 0);
    let gap = port.serialisation(PACKET.into());
    // One packet is being sent, and one leaves as each packet arrives.
    for _ in 0..length / u64::from(PACKET) + 2 {
        port.enqueue(&mut admissions, 0, 0, 0, PACKET, 0);
    }
    let mut marked = 0;
    for n in 1..=packets {
        let accepted = port.enqueue(&mut admissions, 0, n * gap, n * gap, PACKET, ECT);
        marked += u64::from(accepted.is_some_and(|(_, flags)| flags & CE != 0));
    }
    marked as f64 / packets as f64
}

/// Test plans of switch vendors hold a queue between 500 KB and 2 MB and accept a marking rate within
/// 5 % of the ramp. With an average, marks are spaced evenly (Floyd and Jacobson, figure 2). After a
/// mark, each of the next 1/p - 1 packets is the next one with equal probability, so that 2p are marked.
#[test]
fn marks_are_as_frequent_as_the_ramp_says_within_5_percent() {
    for (weight, probability, factor) in [(None, 0.2, 1.0), (None, 1.0, 1.0), (Some(1.0), 0.2, 2.0)] {
        let red = Red {
            min: QueueSize::Bytes(500_000),
            max: QueueSize::Bytes(2_000_000),
            probability,
            action: RedAction::Mark,
            at: RedAt::Enqueue,
            weight,
        };
        for length in [650_000_u64, 1_250_000, 1_850_000] {
            let length = length - length % u64::from(PACKET);
            let found = marked_fraction(red, length, 300_000);
            let expected = factor * probability * (length as f64 - 500_000.0) / 1_500_000.0;
            assert!(
                (found / expected - 1.0).abs() < 0.05,
                "{found} at {length} bytes instead of {expected}"
            );
        }
        assert!(marked_fraction(red, 498_000, 10_000) <= 0.0);
        assert!(marked_fraction(red, 2_001_000, 10_000) >= 1.0);
    }
}
