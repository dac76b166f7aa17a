//! Runs whose times and counters follow from the laws by arithmetic.

use weft_run::Outcome;
use weft_spec::Time;
use weft_transports::SwiftConfig;

use crate::transport::test_runs;

const MTU: u32 = 1_064;
/// Time of a full packet and of an acknowledgement on a link of 10 Gbps, and its delay, in picoseconds.
const PACKET: u64 = 851_200;
const ACK: u64 = 51_200;
const DELAY: u64 = 1_000_000;
/// Round-trip time of a packet without queues.
const RTT: u64 = 2 * PACKET + 2 * ACK + 4 * DELAY;

/// A target that is never reached, and a window that is never full.
fn wide() -> SwiftConfig {
    SwiftConfig {
        mtu: MTU,
        initial_window: 100.0,
        base_target: Time::from_ms(1),
        hop_target: Some(Time(0)),
        flow_range: Some(Time(0)),
        endpoint_target: Some(Time::from_ms(1)),
        ..SwiftConfig::default()
    }
}

fn run(config: SwiftConfig, packets: &[u64], every: Option<u32>, threads: usize) -> Outcome {
    let transport = test_runs::transport("swift", config);
    test_runs::many_to_one(transport, Time(DELAY), packets, every, threads)
}

/// The times of a flow of this many packets back to back: the arrival of the last packet, and of its acknowledgement.
fn unloaded(packets: u64) -> (u64, u64) {
    let acked = (packets - 1) * PACKET + RTT;
    (acked - 2 * (ACK + DELAY), acked)
}

#[test]
fn a_flow_with_a_wide_window_sends_back_to_back() {
    for packets in [1, 2, 90] {
        let outcome = run(wide(), &[packets], None, 1);
        let flow = &outcome.flows[0];
        let (finish, acked) = unloaded(packets);
        assert_eq!((flow.finish, flow.acked), (Some(Time(finish)), Some(Time(acked))));
        let subflow = &flow.subflows[0];
        assert_eq!((subflow.packets_sent, subflow.retransmitted), (packets, 0));
        assert_eq!(subflow.acked_bytes, Some(1_000 * packets));
        assert_eq!(subflow.control.unwrap().acks, packets);
    }
}

#[test]
fn a_window_of_two_packets_sends_a_pair_per_round_trip() {
    let config = SwiftConfig {
        initial_window: 2.0,
        max_window: 2.0,
        ..wide()
    };
    let outcome = run(config, &[10], None, 1);
    // The acknowledgements of a pair arrive a packet apart, and so do the packets that they release.
    assert_eq!(outcome.flows[0].acked, Some(Time(4 * RTT + unloaded(2).1)));
}

/// A window of a quarter of a packet sends a packet every four round-trip times.
#[test]
fn a_window_below_one_packet_is_paced() {
    let config = SwiftConfig {
        initial_window: 0.25,
        min_window: 0.25,
        base_target: Time(RTT),
        hop_target: Some(Time(0)),
        flow_range: Some(Time(0)),
        ..wide()
    };
    let outcome = run(config, &[10], None, 1);
    assert_eq!(outcome.flows[0].acked, Some(Time(9 * 4 * RTT + RTT)));
    assert!((outcome.flows[0].subflows[0].cwnd - 0.25).abs() < 1e-9);
}

/// The host needs four packet times per packet, so that the endpoint's delay grows; its target holds the window down.
#[test]
fn a_slow_host_limits_the_window_of_the_endpoint() {
    let config = SwiftConfig {
        initial_window: 10.0,
        endpoint_target: Some(Time::from_us(20)),
        endpoint_gain: 1.0,
        host_time: Time(4 * PACKET),
        ..wide()
    };
    let outcome = run(config, &[2_000], None, 1);
    let flow = &outcome.flows[0];
    assert_eq!(
        flow.finish,
        Some(Time(PACKET * 2 + DELAY * 2 + 2_000 * 4 * PACKET))
    );
    // 20 us of the target hold 20 / 3.4 packets, and the rest of the round trip 6 / 3.4.
    let window = flow.subflows[0].cwnd;
    assert!((7.0..9.5).contains(&window), "{window}");
}

#[test]
fn a_packet_that_a_later_one_overtakes_is_repeated_at_once() {
    let outcome = run(wide(), &[90], Some(60), 1);
    let flow = &outcome.flows[0];
    let subflow = &flow.subflows[0];
    assert_eq!((subflow.packets_dropped, subflow.retransmitted), (1, 1));
    assert_eq!((subflow.timeouts, subflow.fast_retransmits), (0, Some(1)));
    // The window stays above the packets on their way, so the repeated packet takes one more packet time.
    assert_eq!(flow.finish, Some(Time(unloaded(91).0)));
}

#[test]
fn a_lost_last_packet_waits_for_the_timeout() {
    let config = SwiftConfig {
        min_rto: Time::from_us(300),
        ..wide()
    };
    let outcome = run(config, &[60], Some(60), 1);
    let flow = &outcome.flows[0];
    let subflow = &flow.subflows[0];
    assert_eq!((subflow.timeouts, subflow.retransmitted), (1, 1));
    // The acknowledgement of packet 58, and the timeout.
    let timeout = unloaded(59).1 + 300_000_000;
    assert_eq!(flow.finish, Some(Time(timeout + unloaded(1).0)));
}

/// The first subflow sends a packet before the others open. Then each sends in its turn at the NIC, so that they carry equal
/// parts.
#[test]
fn subflows_with_wide_windows_share_the_data_equally() {
    let config = SwiftConfig {
        subflows: 4,
        ..wide()
    };
    let outcome = run(config, &[90], None, 1);
    let flow = &outcome.flows[0];
    let (finish, acked) = unloaded(90);
    assert_eq!((flow.finish, flow.acked), (Some(Time(finish)), Some(Time(acked))));
    let sent: Vec<u64> = flow.subflows.iter().map(|subflow| subflow.packets_sent).collect();
    assert_eq!(sent, [1 + 23, 22, 22, 22]);
    for subflow in &flow.subflows {
        assert_eq!(subflow.acked_bytes, Some(1_000 * subflow.packets_sent));
        assert_eq!(subflow.packets_received, subflow.packets_sent);
        assert_eq!(subflow.control.unwrap().acks, subflow.packets_sent);
    }
}

/// Windows are those of subflows: two of one packet each let the flow send what one of two packets does.
#[test]
fn each_subflow_has_a_window_of_its_own() {
    let config = SwiftConfig {
        subflows: 2,
        initial_window: 1.0,
        max_window: 1.0,
        ..wide()
    };
    let outcome = run(config, &[10], None, 1);
    assert_eq!(outcome.flows[0].acked, Some(Time(4 * RTT + unloaded(2).1)));
}

/// The subflow that lost a packet repeats it. It sees the loss when its own next packet has arrived, and no other subflow
/// reacts.
#[test]
fn a_subflow_repeats_what_it_has_lost() {
    let config = SwiftConfig {
        subflows: 3,
        ..wide()
    };
    let outcome = run(config, &[90], Some(61), 1);
    let flow = &outcome.flows[0];
    assert_eq!(flow.finish, Some(Time(unloaded(91).0)));
    for (number, subflow) in flow.subflows.iter().enumerate() {
        let lost = u64::from(number == 2);
        assert_eq!((subflow.packets_dropped, subflow.retransmitted), (lost, lost));
        assert_eq!((subflow.timeouts, subflow.fast_retransmits), (0, Some(lost)));
        assert_eq!(subflow.acked_bytes, Some([31_000, 30_000, 29_000][number]));
    }
}

#[test]
fn threads_change_nothing_for_subflows() {
    let config = SwiftConfig {
        subflows: 3,
        base_target: Time::from_us(10),
        flow_range: Some(Time::from_us(50)),
        host_time: Time(100_000),
        ..wide()
    };
    let packets = [500, 400, 300, 200];
    let one = run(config, &packets, Some(70), 1);
    for threads in 2..=4 {
        let other = run(config, &packets, Some(70), threads);
        assert_eq!((one.trace_hash, &one.flows), (other.trace_hash, &other.flows));
    }
    assert!(one.flows.iter().all(|flow| flow.acked.is_some()));
}

#[test]
fn threads_change_nothing() {
    let config = SwiftConfig {
        base_target: Time::from_us(10),
        flow_range: Some(Time::from_us(50)),
        host_time: Time(100_000),
        ..wide()
    };
    let packets = [500, 400, 300, 200];
    let one = run(config, &packets, Some(70), 1);
    for threads in 2..=4 {
        let other = run(config, &packets, Some(70), threads);
        assert_eq!((one.trace_hash, &one.flows), (other.trace_hash, &other.flows));
    }
    assert!(one.flows.iter().all(|flow| flow.acked.is_some()));
}
