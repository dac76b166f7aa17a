//! An idle fat-tree: multipath flows of 256 KB by defaults, as a user would ask for them, end when they have arrived.

use crate::experiment::{
    GBPS, TcpTransport, cc, config, everywhere, fat_tree, queue, run, sized, sum, transport,
};
use weft_packet::Outcome;
use weft_spec::{Rate, Time};
use weft_traffic::Flow;
use weft_transports::{Profile, Scheduler};

const HOSTS: u32 = 16;
const FLOWS: u32 = 800;

/// Flows at irregular times, one every 128 us in the mean, from every host to any other; AMP with four subflows.
fn flows(scheduler: Scheduler) -> Outcome {
    let fabric = fat_tree(
        4,
        Rate(10 * GBPS),
        Time::from_us(5),
        &everywhere(queue(100, Some(10))),
    );
    let hash = |i: u32| i.wrapping_mul(2_654_435_761) ^ i.wrapping_mul(40_503) >> 3;
    let flows = (0..FLOWS).map(|i| {
        let (from, step) = (hash(i) % HOSTS, 1 + hash(i + FLOWS) % (HOSTS - 1));
        Flow {
            start: Time::from_us(u64::from(i * 128 + hash(i + 2 * FLOWS) % 256)),
            ..sized(from, (from + step) % HOSTS, 256_000)
        }
    });
    let amp = TcpTransport {
        scheduler,
        ..transport(cc("amp", &[]), 4, Profile::linux())
    };
    run(config(fabric, vec![amp], flows.collect()), Time::from_ms(1_000))
}

/// Without loss, a flow ends at its sender at most an RTT after its receiver has the last byte. In particular, no flow waits for
/// the timer of delayed acknowledgements.
#[test]
fn no_flow_waits_for_a_delayed_acknowledgement() {
    for scheduler in [Scheduler::RoundRobin, Scheduler::LowestRtt, Scheduler::Linux] {
        let outcome = flows(scheduler);
        let (mut without_loss, mut total) = (0, 0.0);
        for (i, flow) in outcome.flows.iter().enumerate() {
            let (finish, acked) = (flow.finish.unwrap().seconds(), flow.acked.unwrap().seconds());
            total += finish - flow.established.unwrap().seconds();
            if sum(flow, |s| s.packets_dropped) > 0 {
                continue;
            }
            without_loss += 1;
            let srtt = flow.subflows.iter().map(|s| s.srtt).fold(0.0, f64::max);
            let later = acked - finish;
            assert!(
                later <= srtt,
                "{scheduler:?}, flow {i}: {later} s after, RTT {srtt} s"
            );
        }
        assert!(without_loss > FLOWS * 9 / 10, "{without_loss}");
        // 256 KB take 0.21 ms at the link's rate.
        let mean = total / f64::from(FLOWS);
        assert!(
            (0.2e-3..1.5e-3).contains(&mean),
            "{scheduler:?}: mean FCT {mean} s"
        );
        let by_joins: u64 = outcome
            .flows
            .iter()
            .flat_map(|flow| &flow.subflows[1..])
            .map(|s| s.packets_sent)
            .sum();
        println!(
            "{scheduler:?}: mean FCT {mean} s, {without_loss} flows without loss, {by_joins} packets by joins"
        );
    }
}
