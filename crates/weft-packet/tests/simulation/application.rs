//! Flows whose applications write at a rate.

use crate::experiment::{
    TcpTransport, assert_within, cc, config, flow, many_to_one, queue, run, sized, transport,
};
use weft_fabric::Fabric;
use weft_spec::{Rate, Time};
use weft_traffic::Flow;
use weft_transports::{Profile, Scheduler};

fn star() -> Fabric {
    many_to_one(2, Time::from_us(5), queue(100, Some(20)))
}

fn sends(scheduler: Scheduler, subflows: u32) -> TcpTransport {
    TcpTransport {
        scheduler,
        ..transport(cc("dctcp", &[]), subflows, Profile::linux())
    }
}

/// With every scheduler, the data that arrives is the data that was written, and another flow gets the rest of the link.
#[test]
fn a_flow_carries_what_its_application_writes() {
    for scheduler in [Scheduler::RoundRobin, Scheduler::LowestRtt, Scheduler::Linux] {
        for subflows in [1, 2] {
            let paced = Flow {
                rate: Some(Rate(500_000_000)),
                ..flow(0, 2)
            };
            let outcome = run(
                config(star(), vec![sends(scheduler, subflows)], vec![paced, flow(1, 2)]),
                Time::from_ms(40),
            );
            let gbps = |i: usize| outcome.flows[i].delivered_bytes as f64 * 8.0 / 0.04 / 1e9;
            assert_within("the paced flow", gbps(0), 0.48, 0.5);
            assert_within("the other", gbps(1), 7.5, 9.6);
        }
    }
}

/// 250,000 bytes at 1 Gbps take 2 ms to write, and the end is noticed.
#[test]
fn a_size_ends_when_all_of_it_is_written() {
    for subflows in [1, 3] {
        let paced = Flow {
            rate: Some(Rate(1_000_000_000)),
            ..sized(0, 2, 250_000)
        };
        let outcome = run(
            config(star(), vec![sends(Scheduler::Linux, subflows)], vec![paced]),
            Time::from_ms(100),
        );
        let record = &outcome.flows[0];
        assert_eq!(record.delivered_bytes, 250_000);
        assert_within("seconds", record.finish.unwrap().seconds(), 0.002, 0.0023);
        assert!(record.acked.is_some());
    }
}

/// A rate above the link's changes nothing but the beginning; one that stops is over.
#[test]
fn rates_beyond_the_link_and_stops() {
    let paced = Flow {
        rate: Some(Rate(100_000_000_000)),
        stop: Some(Time::from_ms(5)),
        ..flow(0, 2)
    };
    let outcome = run(
        config(star(), vec![sends(Scheduler::RoundRobin, 1)], vec![paced]),
        Time::from_ms(50),
    );
    assert!(outcome.flows[0].delivered_bytes > 4_000_000);
    assert!(outcome.flows[0].acked.is_some());
}
