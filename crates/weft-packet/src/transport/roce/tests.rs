//! Runs whose times and counters follow from the laws by arithmetic.

use weft_run::{Outcome, SubflowRecord};
use weft_spec::{Rate, Size, Time};
use weft_transports::{HpccConfig, RoceConfig, RoceControl, RoceRetransmission};

use crate::transport::test_runs;

const MTU: u32 = 1062;
/// Time of a full packet and of an acknowledgement on a link of 10 Gbps, and its delay, in picoseconds.
const PACKET: u64 = 849_600;
const ACK: u64 = 52_800;
const DELAY: u64 = 1_000_000;

fn plain() -> RoceConfig {
    RoceConfig {
        control: RoceControl::None,
        mtu: MTU,
        rto: Time::from_us(500),
        ..RoceConfig::default()
    }
}

fn run(config: RoceConfig, packets: &[u64], every: Option<u32>, threads: usize) -> Outcome {
    let transport = test_runs::transport("roce", config);
    test_runs::many_to_one(transport, Time(DELAY), packets, every, threads)
}

/// The times of a flow of this many packets: the arrival of the last packet, and of its acknowledgement.
fn unloaded(packets: u64) -> (u64, u64) {
    let finish = (packets + 1) * PACKET + 2 * DELAY;
    (finish, finish + 2 * (ACK + DELAY))
}

#[test]
fn a_flow_alone_sends_back_to_back() {
    for packets in [1, 2, 100] {
        let outcome = run(plain(), &[packets], None, 1);
        let flow = &outcome.flows[0];
        let (finish, acked) = unloaded(packets);
        assert_eq!((flow.finish, flow.acked), (Some(Time(finish)), Some(Time(acked))));
        let SubflowRecord {
            packets_sent,
            retransmitted,
            control,
            acked_bytes,
            ..
        } = flow.subflows[0];
        assert_eq!((packets_sent, retransmitted), (packets, 0));
        assert_eq!(acked_bytes, Some(1_000 * packets));
        let control = control.unwrap();
        assert_eq!((control.acks, control.nacks, control.cnps), (packets, 0, Some(0)));
    }
}

#[test]
fn fewer_acknowledgements_change_no_time() {
    let config = RoceConfig {
        ack_every: 16,
        ..plain()
    };
    let outcome = run(config, &[100], None, 1);
    let flow = &outcome.flows[0];
    assert_eq!(flow.acked, Some(Time(unloaded(100).1)));
    assert_eq!(flow.subflows[0].control.unwrap().acks, 7);
}

/// A window of two packets waits for an acknowledgement after each pair, which it asks for.
#[test]
fn a_window_limits_the_packets_without_acknowledgement() {
    let config = RoceConfig {
        ack_every: 16,
        window: Some(Size(2 * u64::from(MTU) + 1)),
        ..plain()
    };
    let outcome = run(config, &[10], None, 1);
    let flow = &outcome.flows[0];
    // Both packets of a pair, then the acknowledgement of the second one.
    assert_eq!(flow.acked, Some(Time(5 * unloaded(2).1)));
    assert_eq!(flow.subflows[0].control.unwrap().acks, 5);
}

/// The sender has sent `k` packets beyond the missing one when the report arrives, and repeats all of them.
#[test]
fn go_back_n_repeats_what_follows_a_loss() {
    let outcome = run(plain(), &[100], Some(60), 1);
    let flow = &outcome.flows[0];
    // The report of packet 59 (the 60th) leaves when packet 60 arrives: 2 packets and 2 delays after it was sent.
    // It takes 2 acknowledgements and 2 delays. At that time, the sender has begun packets for 3 packet times and
    // more, beginning with packet 60.
    let report = 2 * PACKET + 2 * ACK + 4 * DELAY;
    let repeated = 2 + report / PACKET;
    let subflow = &flow.subflows[0];
    assert_eq!(subflow.packets_dropped, 1);
    assert_eq!(subflow.timeouts, 0);
    assert_eq!(subflow.control.unwrap().nacks, 1);
    assert_eq!(subflow.retransmitted, repeated);
    assert_eq!(subflow.packets_received, 100 + repeated - 1);
    assert_eq!(flow.delivered_bytes, 100_000);
    // Packets that follow the missing one are discarded, so the flow ends later by as many packets, and by the
    // transmission that the report found.
    let begins = (59 + repeated) * PACKET;
    assert_eq!(flow.finish, Some(Time(begins + unloaded(41).0)));
}

#[test]
fn selective_repeat_repeats_only_the_loss() {
    let config = RoceConfig {
        retransmission: RoceRetransmission::SelectiveRepeat,
        ..plain()
    };
    let outcome = run(config, &[290], Some(60), 1);
    let flow = &outcome.flows[0];
    let subflow = &flow.subflows[0];
    assert_eq!((subflow.packets_dropped, subflow.retransmitted), (4, 4));
    assert_eq!(subflow.timeouts, 0);
    // Each packet that arrives while another one is missing causes a report.
    assert!(subflow.control.unwrap().nacks > 4 * 5);
    assert_eq!(subflow.packets_received, 290);
    assert_eq!(flow.finish, Some(Time(unloaded(294).0)));
}

/// Nothing follows the last packet, so only the timeout finds its loss.
#[test]
fn a_lost_last_packet_waits_for_the_timeout() {
    for retransmission in [RoceRetransmission::GoBackN, RoceRetransmission::SelectiveRepeat] {
        let config = RoceConfig {
            retransmission,
            ..plain()
        };
        let outcome = run(config, &[60], Some(60), 1);
        let flow = &outcome.flows[0];
        let subflow = &flow.subflows[0];
        assert_eq!((subflow.timeouts, subflow.retransmitted), (1, 1));
        // The acknowledgement of packet 58, and the timeout.
        let timeout = unloaded(59).1 + plain().rto.0;
        assert_eq!(flow.finish, Some(Time(timeout + unloaded(1).0)));
    }
}

/// A flow alone fills 95 % of its link, of which telemetry takes a part, and loses no packet.
#[test]
fn hpcc_keeps_a_part_of_the_link_free() {
    let config = RoceConfig {
        control: RoceControl::Hpcc,
        hpcc: Some(HpccConfig {
            rtt: Time::from_us(10),
            increase: Some(Rate(1_000_000)),
            ..HpccConfig::default()
        }),
        ..plain()
    };
    let outcome = run(config, &[10_000], None, 1);
    let flow = &outcome.flows[0];
    assert_eq!(flow.delivered_bytes, 10_000_000);
    let packets = 10_000_000_u64.div_ceil(1_000 - 42);
    assert_eq!(flow.subflows[0].packets_sent, packets);
    let seconds = flow.finish.unwrap().0 as f64 * 1e-12;
    let rate = (10_000_000 + packets * u64::from(MTU - 958)) as f64 * 8.0 / seconds;
    assert!((9.45e9..9.56e9).contains(&rate), "{rate}");
    assert_eq!(
        (flow.subflows[0].packets_dropped, flow.subflows[0].timeouts),
        (0, 0)
    );
}

#[test]
fn threads_change_nothing() {
    let packets = [500, 400, 300, 200];
    let hpcc = HpccConfig {
        rtt: Time::from_us(8),
        increase: Some(Rate(10_000_000)),
        ..HpccConfig::default()
    };
    for retransmission in [RoceRetransmission::GoBackN, RoceRetransmission::SelectiveRepeat] {
        for control in [RoceControl::None, RoceControl::Hpcc] {
            let config = RoceConfig {
                retransmission,
                control,
                hpcc: (control == RoceControl::Hpcc).then_some(hpcc),
                ..plain()
            };
            let one = run(config, &packets, Some(70), 1);
            for threads in 2..=4 {
                let other = run(config, &packets, Some(70), threads);
                assert_eq!((one.trace_hash, &one.flows), (other.trace_hash, &other.flows));
            }
            assert!(one.flows.iter().all(|flow| flow.delivered_bytes > 100_000));
        }
    }
}
