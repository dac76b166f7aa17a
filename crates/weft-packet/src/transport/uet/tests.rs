//! Runs whose times and counters follow from the laws by arithmetic.

use std::fmt::Write as _;

use weft_fabric::{
    Fabric, FatTree, Overflow, PortQueues, QueueConfig, QueueKind, Topology, TrimTo, Trimming, Victim,
};
use weft_run::{ControlCounters, Outcome, SubflowRecord};
use weft_spec::{QueueSize, Rate, Size, Time};
use weft_traffic::Flow;
use weft_transports::{TransportConfig, UetConfig, UetControl};

use crate::transport::test_runs::{self, flow};

const MTU: u32 = 4150;
/// Longest round-trip time of three tiers: six links of 1 us, each with a full packet and a header.
const NETWORK_RTT: Time = Time(14_022_720);

/// A transport of one of the scenes, with the timeout of queues of 43 packets.
fn transport(control: UetControl) -> TransportConfig {
    let uet = UetConfig {
        control,
        mtu: MTU,
        network_rtt: NETWORK_RTT,
        target_delay: Time(10_517_040),
        rto: Time(100_656_000),
        rate: Rate(100_000_000_000),
        oversubscription: 1.0,
        simulator_quirks: true,
        ..UetConfig::default()
    };
    test_runs::transport("uet", uet)
}

/// A fat-tree of the scenes: 42 waiting packets and one in transmission per port.
fn fat_tree(k: u32) -> Fabric {
    let queue = QueueConfig {
        limit: QueueSize::Packets(42),
        mark: None,
    };
    let topology = FatTree {
        k,
        oversubscription: 1,
        host_rate: None,
        rate: Rate(100_000_000_000),
        delay: Time::from_us(1),
    };
    let queues = PortQueues {
        switch: queue,
        host: queue,
    };
    let mut fabric = topology.build(&queues).unwrap();
    let trimming = Trimming {
        size: Size(64),
        headers: Some(QueueSize::Bytes(356_900)),
        ratio: None,
        victim: Victim::Random,
        to: TrimTo::Receiver,
        overflow: Overflow::Drop,
        mark_min: Some(QueueSize::Bytes(37_350)),
        mark_max: Some(QueueSize::Bytes(145_250)),
    };
    for link in &mut fabric.links {
        link.kind = QueueKind::from(trimming.clone());
    }
    fabric
}

fn run(k: u32, control: UetControl, flows: Vec<Flow>, threads: usize) -> Outcome {
    let config = test_runs::config(fat_tree(k), vec![transport(control)], flows, threads);
    test_runs::run_until(config, Time::from_ms(5))
}

/// The counters of all flows: packets without retransmissions, retransmissions, and control packets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    new: u64,
    retransmitted: u64,
    control: ControlCounters,
    /// Time of the last acknowledgement in picoseconds.
    last: u64,
}

fn totals(outcome: &Outcome) -> Totals {
    let mut totals = Totals::default();
    for flow in &outcome.flows {
        let SubflowRecord {
            packets_sent,
            retransmitted,
            control,
            ..
        } = flow.subflows[0];
        let control = control.unwrap();
        totals.new += packets_sent - retransmitted;
        totals.retransmitted += retransmitted;
        totals.control.acks += control.acks;
        totals.control.nacks += control.nacks;
        *totals.control.pulls.get_or_insert(0) += control.pulls.unwrap();
        *totals.control.rts.get_or_insert(0) += control.rts.unwrap();
        totals.last = totals.last.max(flow.acked.expect("a finished flow").0);
    }
    totals
}

/// Published scenes whose result does not depend on random numbers: `uec_connreuse` 1, 4, 7 and 10, `uec_sender`
/// 1 and 2, `uec_rcv` 1 and `uec_both` 1. Each has the time of the last acknowledgement in picoseconds, the
/// acknowledgements and the pulls.
#[test]
fn scenes_of_one_or_two_flows_are_exact() {
    let one = |bytes| vec![flow(0, 0, 1, bytes)];
    let two = vec![flow(0, 0, 1, 2_000_000), flow(1, 1, 0, 2_000_000)];
    let (ten, hundred) = (10 * 4086, 100 * 4086);
    let mut differences = String::new();
    for (name, control, flows, last, acks, pulls) in [
        ("10 packets", UetControl::Sender, one(ten), 17_010_720, 4, 0),
        ("100 packets", UetControl::Sender, one(hundred), 46_890_720, 26, 0),
        (
            "one flow",
            UetControl::Sender,
            one(2_000_000),
            176_199_520,
            124,
            0,
        ),
        ("two flows", UetControl::Sender, two, 176_803_680, 248, 0),
        ("10 packets", UetControl::Receiver, one(ten), 17_010_720, 4, 18),
        (
            "100 packets",
            UetControl::Receiver,
            one(hundred),
            46_890_720,
            26,
            97,
        ),
        (
            "one flow",
            UetControl::Receiver,
            one(2_000_000),
            177_367_660,
            126,
            206,
        ),
        (
            "one flow",
            UetControl::Both,
            one(2_000_000),
            177_367_660,
            126,
            206,
        ),
    ] {
        let new: u64 = flows.iter().map(|flow| flow.size.unwrap().0.div_ceil(4086)).sum();
        let found = totals(&run(2, control, flows, 1));
        let ControlCounters {
            acks: a,
            nacks,
            pulls: p,
            rts,
            ..
        } = found.control;
        let counters = (found.new, found.retransmitted, a, nacks, p, rts);
        // The published times have six digits.
        if counters != (new, 0, acks, 0, Some(pulls), Some(0)) || found.last.abs_diff(last) > 500 {
            let _ = writeln!(
                differences,
                "{name}, {control:?}: {found:?} instead of {last}, {acks}, {pulls}"
            );
        }
    }
    assert!(differences.is_empty(), "{differences}");
}
