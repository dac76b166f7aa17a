//! A grid of small experiments as a table: a change of behaviour is reviewed as a change of numbers.

use std::fmt::Write;

use crate::experiment::{
    TcpTransport, cc, config, everywhere, fat_tree, flow, many_to_one, queue, run, sum, transport,
};
use weft_cc::Algorithm;
use weft_packet::Outcome;
use weft_spec::{Rate, Time};
use weft_traffic::Flow;
use weft_transports::{Profile, Scheduler};

/// Goodput of all flows, packets marked and dropped, and timeouts, as one cell.
fn cell(algorithm: &str, subflows: u32, profile: &Profile, limit: u32, mark: Option<u32>) -> String {
    const SENDERS: u32 = 4;
    let end = Time::from_ms(20);
    let flows = (0..SENDERS).map(|i| Flow {
        start: Time::from_us(u64::from(i) * 100),
        ..flow(i, SENDERS)
    });
    let fabric = many_to_one(SENDERS, Time::from_us(5), queue(limit, mark));
    let outcome = run(
        config(
            fabric,
            vec![transport(cc(algorithm, &[]), subflows, profile.clone())],
            flows.collect(),
        ),
        end,
    );
    numbers(&outcome, end)
}

/// Goodput of all flows, packets marked and dropped, and timeouts.
fn numbers(outcome: &Outcome, end: Time) -> String {
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.delivered_bytes).sum();
    let timeouts: u64 = outcome.flows.iter().map(|flow| sum(flow, |s| s.timeouts)).sum();
    let counters = &outcome.counters;
    format!(
        "{:>7.3}{:>7}{:>6}{:>5}",
        bytes as f64 * 8.0 / end.seconds() / 1e9,
        counters.marks,
        counters.drops,
        timeouts
    )
}

/// Four bulk flows of 10 Gbps into one link of 10 Gbps, 20 ms, links of 5 us; minimum RTO 1 ms, so that timeouts count.
#[test]
fn queues_marks_and_algorithms() {
    let profiles = [("linux", Profile::linux()), ("amp-2019", Profile::amp_2019())].map(|(name, profile)| {
        let hasty = profile.with(|p| {
            p.rto.initial_rto = Time::from_ms(2);
            p.rto.min_rto = Time::from_ms(1);
        });
        (name, hasty)
    });
    let algorithms = [
        ("reno", 1),
        ("reno", 4),
        ("lia", 1),
        ("lia", 4),
        ("dctcp", 1),
        ("dctcp", 4),
        ("dcm", 4),
        ("xmp", 1),
        ("xmp", 4),
        ("amp", 1),
        ("amp", 4),
    ];
    let limits = [10, 30, 100];
    let mut table = String::from("Goodput (Gbps), marks, drops, timeouts by queue limit (packets)\n");
    for (name, profile) in &profiles {
        write!(table, "\n{name:<23}").unwrap();
        for limit in limits {
            write!(table, "{limit:>25}").unwrap();
        }
        table.push('\n');
        for (algorithm, subflows) in algorithms {
            let marks: &[_] = if matches!(algorithm, "reno" | "lia") {
                &[None]
            } else {
                &[None, Some(5), Some(20)]
            };
            for &mark in marks {
                let k = mark.map_or("off".to_owned(), |k: u32| k.to_string());
                write!(table, "{algorithm:<6} x {subflows}   K {k:>3}    ").unwrap();
                for limit in limits {
                    let text = if mark.is_some_and(|k| k > limit) {
                        "-".to_owned()
                    } else {
                        cell(algorithm, subflows, profile, limit, mark)
                    };
                    write!(table, "{text:>25}").unwrap();
                }
                table.push('\n');
            }
        }
    }
    insta::assert_snapshot!(table);
}

/// Sixteen bulk flows between the pods of a fat-tree for 100 ms; links of 1 Gbps and 5 us. Profile and scheduler are
/// those that a spec has by default.
#[test]
fn every_algorithm_with_the_default_profile() {
    const HOSTS: u32 = 16;
    let end = Time::from_ms(100);
    let mut table = String::from("Goodput (Gbps), marks, drops, timeouts by queue (packets)\n\n");
    writeln!(table, "{:<18}{:>25}{:>25}", "", "100, K off", "100, K 20").unwrap();
    for algorithm in Algorithm::BUILT_IN {
        for subflows in [1, 4] {
            write!(table, "{:<14} x {subflows}", algorithm.name).unwrap();
            for mark in [None, Some(20)] {
                let queues = everywhere(queue(100, mark));
                let fabric = fat_tree(4, Rate(1_000_000_000), Time::from_us(5), &queues);
                let flows = (0..HOSTS).map(|i| Flow {
                    start: Time::from_us(u64::from(i) * 10),
                    ..flow(i, (i + 5) % HOSTS)
                });
                let own = TcpTransport {
                    scheduler: Scheduler::Linux,
                    ..transport(cc(algorithm.name, &[]), subflows, Profile::linux())
                };
                let outcome = run(config(fabric, vec![own], flows.collect()), end);
                write!(table, "{:>25}", numbers(&outcome, end)).unwrap();
            }
            table.push('\n');
        }
    }
    insta::assert_snapshot!(table);
}
