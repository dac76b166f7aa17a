//! Runs whose times and counters follow from the laws by arithmetic.

use weft_fabric::{
    Fabric, FatTree, Overflow, PortQueues, QueueConfig, QueueKind, Topology, TrimTo, Trimming, Victim,
};
use weft_run::{Outcome, SubflowRecord};
use weft_spec::{QueueSize, Rate, Size, Time};
use weft_traffic::Flow;
use weft_transports::{NdpConfig, TransportConfig};

use crate::transport::test_runs;

/// A full packet takes 7.2512 us, and a header 51.2 ns.
const MTU: u32 = 9064;
const PACKET: u64 = 7_251_200;
const HEADER: u64 = 51_200;
const DELAY: u64 = 1_000_000;
const WINDOW: u32 = 30;

fn transport(initial_window: u32) -> TransportConfig {
    let ndp = NdpConfig {
        initial_window,
        mtu: MTU,
        rto: Time::from_ms(1),
        rate: Rate(10_000_000_000),
        ..NdpConfig::default()
    };
    test_runs::transport("ndp", ndp)
}

/// A fat-tree with the switches of the paper, and room for this many headers.
fn fat_tree(k: u32, headers: u32, overflow: Overflow) -> Fabric {
    let queue = |packets| QueueConfig {
        limit: QueueSize::Packets(packets),
        mark: None,
    };
    let topology = FatTree {
        k,
        oversubscription: 1,
        host_rate: None,
        rate: Rate(10_000_000_000),
        delay: Time(DELAY),
    };
    let queues = PortQueues {
        switch: queue(8),
        host: queue(8),
    };
    let mut fabric = topology.build(&queues).unwrap();
    let trimming = Trimming {
        size: Size(64),
        headers: Some(QueueSize::Packets(headers)),
        ratio: Some(10),
        victim: Victim::Random,
        to: TrimTo::Receiver,
        overflow,
        mark_min: None,
        mark_max: None,
    };
    for link in &mut fabric.links {
        link.kind = QueueKind::from(trimming.clone());
    }
    fabric
}

fn flow(n: u32, from: u32, to: u32, packets: u64) -> Flow {
    test_runs::flow(n, from, to, packets * 9000)
}

fn run(fabric: Fabric, window: u32, flows: Vec<Flow>, threads: usize) -> Outcome {
    let config = test_runs::config(fabric, vec![transport(window)], flows, threads);
    test_runs::run_until(config, Time::from_ms(60))
}

/// The counters of all flows.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    new: u64,
    retransmitted: u64,
    timeouts: u64,
    acks: u64,
    nacks: u64,
    trimmed: u64,
    pulls: u64,
    /// Time of the last acknowledgement in picoseconds.
    last: u64,
}

fn totals(outcome: &Outcome) -> Totals {
    let mut totals = Totals::default();
    for flow in &outcome.flows {
        let subflow: &SubflowRecord = &flow.subflows[0];
        let control = subflow.control.unwrap();
        totals.new += subflow.packets_sent - subflow.retransmitted;
        totals.retransmitted += subflow.retransmitted;
        totals.timeouts += subflow.timeouts;
        totals.acks += control.acks;
        totals.nacks += control.nacks;
        totals.trimmed += subflow.packets_trimmed;
        totals.pulls += control.pulls.unwrap();
        assert_eq!((control.rts, control.cnps), (None, None));
        totals.last = totals.last.max(flow.acked.expect("a finished flow").0);
    }
    totals
}

/// The first window arrives back to back. Packets pulled by acknowledgements arrive back to back, too, if the window
/// lasts for a round-trip time.
#[test]
fn a_flow_fills_its_link_from_the_first_packet_to_the_last() {
    for (hosts, hops) in [([0, 1], 2), ([0, 2], 4), ([0, 15], 6)] {
        for packets in [1, 30, 1000] {
            let [from, to] = hosts;
            let found = run(
                fat_tree(4, 1125, Overflow::Drop),
                WINDOW,
                vec![flow(0, from, to, packets)],
                1,
            );
            let data = hops * (PACKET + DELAY) + (packets - 1) * PACKET;
            let expected = Totals {
                new: packets,
                acks: packets,
                last: data + hops * (HEADER + DELAY),
                ..Totals::default()
            };
            assert_eq!(totals(&found), expected, "{hosts:?}, {packets} packets");
        }
    }
}

/// With a window of one packet, a packet is sent per round-trip time.
#[test]
fn a_window_of_one_packet_is_pulled_once_per_round_trip() {
    let found = run(fat_tree(4, 1125, Overflow::Drop), 1, vec![flow(0, 0, 15, 50)], 1);
    let round_trip = 6 * (PACKET + DELAY) + 6 * (HEADER + DELAY);
    assert_eq!(totals(&found).last, 50 * round_trip);
}

/// 15 senders, each of which has more than its window to send, keep the last link busy.
#[test]
fn an_incast_is_bound_by_the_last_link() {
    let packets = 100;
    let flows = || (0..15).map(|n| flow(n, n, 15, packets)).collect::<Vec<_>>();
    let one = run(fat_tree(4, 1125, Overflow::Drop), WINDOW, flows(), 1);
    let found = totals(&one);
    let link = 15 * packets * PACKET + 2 * (PACKET + DELAY);
    assert!(found.trimmed > 100 && found.nacks == found.trimmed, "{found:?}");
    assert_eq!((found.new, found.timeouts), (15 * packets, 0));
    assert_eq!(found.retransmitted, found.trimmed);
    assert_eq!(found.acks, 15 * packets);
    assert!(
        found.last > link && (found.last as f64) < 1.02 * link as f64,
        "{found:?}"
    );
    let three = run(fat_tree(4, 1125, Overflow::Drop), WINDOW, flows(), 3);
    assert_eq!(one.trace_hash, three.trace_hash);
}

/// If there is no room for headers, switches return them. No packet is lost, and no sender waits for a timeout.
#[test]
fn returned_headers_replace_timeouts() {
    let flows = || (0..15).map(|n| flow(n, n, 15, 40)).collect::<Vec<_>>();
    let dropped = totals(&run(fat_tree(4, 4, Overflow::Drop), WINDOW, flows(), 1));
    let returned = totals(&run(fat_tree(4, 4, Overflow::Return), WINDOW, flows(), 1));
    assert!(
        dropped.timeouts > 100 && dropped.nacks == dropped.trimmed,
        "{dropped:?}"
    );
    assert_eq!(returned.timeouts, 0);
    assert!(returned.trimmed > returned.nacks + 100, "{returned:?}");
    assert_eq!(returned.retransmitted, returned.trimmed);
    let link = 15 * 40 * PACKET;
    assert!((returned.last as f64) < 1.05 * link as f64, "{returned:?}");
}
