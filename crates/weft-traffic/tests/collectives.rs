//! Collective operations against their closed forms, on links of one switch.

mod links;

use std::sync::Arc;

use links::Links;
use weft_spec::{SpecError, Time, find};
use weft_traffic::{FlowGenerator, PatternContext, TRAFFIC};

fn collective(fields: &str, hosts: usize) -> Result<Arc<dyn FlowGenerator>, SpecError> {
    let names: Vec<String> = (0..hosts).map(|i| format!("h{i}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let loaded = (find(TRAFFIC, "kind", "collective")?.parse)(&fields.parse().unwrap())?;
    let context = PatternContext::new(&names, 0, 0, 1).with_duration(Time::from_ms(10_000));
    Ok(loaded.value.generator(&context)?.unwrap())
}

const LATENCY: u64 = 1_000;
const LINKS: Links = Links {
    latency: LATENCY,
    gap: 1,
    done_at_departure: false,
};

/// Time of a message of this many bytes.
fn message(bytes: u64) -> u64 {
    LATENCY + bytes - 1
}

fn end(fields: &str, ranks: u64) -> u64 {
    let generator = collective(fields, ranks as usize).unwrap();
    LINKS.run(generator.as_ref()).end().unwrap()
}

const SIZES: [u64; 9] = [2, 3, 4, 5, 8, 13, 16, 32, 60];

/// Patarasuk and Yuan: 2 (n - 1) (alpha + beta S / n), where reductions take no time.
#[test]
fn ring_all_reduce() {
    for n in SIZES {
        let size = 2_000 * n;
        let fields = format!("operation = \"all-reduce\"\nsize = \"{size}B\"");
        assert_eq!(end(&fields, n), 2 * (n - 1) * message(2_000), "{n}");
        for operation in ["reduce-scatter", "all-gather"] {
            let fields = format!("operation = \"{operation}\"\nsize = \"{size}B\"");
            assert_eq!(end(&fields, n), (n - 1) * message(2_000), "{operation} {n}");
        }
    }
}

/// Thakur, Rabenseifner and Gropp, section 4.5, and its extension for other numbers than powers of two.
#[test]
fn recursive_all_reduce() {
    for n in SIZES {
        let (steps, core) = (n.ilog2(), 1 << n.ilog2());
        let size = 4_096 * core;
        let fields = |algorithm: &str| {
            format!("operation = \"all-reduce\"\nalgorithm = \"{algorithm}\"\nsize = \"{size}B\"")
        };
        let halves: u64 = (0..steps).map(|i| 2 * message(size >> (i + 1))).sum();
        let doubling = u64::from(steps) * message(size);
        for (algorithm, expected) in [("halving-doubling", halves), ("recursive-doubling", doubling)] {
            let found = end(&fields(algorithm), n);
            if n == core {
                assert_eq!(found, expected, "{algorithm} {n}");
            } else {
                // The surplus ranks give and get the array, while messages of ranks without a partner are in their way.
                let range = expected + message(size)..2 * (expected + 2 * message(size));
                assert!(range.contains(&found), "{algorithm} {n}: {found}, {range:?}");
            }
        }
    }
}

/// A sender sends one message after another: the next one begins when the acknowledgement of the last has arrived.
#[test]
fn broadcasts() {
    for n in SIZES {
        let fields = |algorithm: &str, chunks: u64| {
            format!(
                "operation = \"broadcast\"\nalgorithm = \"{algorithm}\"\nchunks = {chunks}\nsize = \"96000B\"\nsend_done = \"started\""
            )
        };
        let depth = u64::from(n.next_power_of_two().ilog2());
        if n.is_power_of_two() {
            let expected = depth * (LATENCY + 95_999);
            assert_eq!(end(&fields("binomial-tree", 1), n), expected, "binomial {n}");
        }
        for chunks in [1, 4] {
            // The last part waits for the others at the first link only.
            let part = 96_000 / chunks - 1;
            let expected = (n - 1) * (LATENCY + part) + (chunks - 1) * part;
            assert_eq!(end(&fields("chain", chunks), n), expected, "chain {n} {chunks}");
        }
    }
}

/// A double binary tree takes at least 2 beta S. With links that are first in first out, and not in the order of the two-tree
/// schedule, it takes 2.5 to 2.6 beta S with 16 ranks.
#[test]
fn double_binary_tree() {
    for n in [8, 16, 32, 60] {
        let size = 20_000_000;
        let fields = format!(
            "operation = \"all-reduce\"\nalgorithm = \"double-binary-tree\"\nsize = \"{size}B\"\nchunks = 200\nsend_done = \"started\""
        );
        let found = end(&fields, n) as f64;
        assert!((2.0..2.7).contains(&(found / size as f64)), "{n}: {found}");
    }
}

#[test]
fn all_to_all() {
    for n in SIZES {
        let fields = |more: &str| format!("operation = \"all-to-all\"\nsize = \"{}B\"\n{more}", 3_000 * n);
        // A step follows the acknowledgement of the message of the previous one.
        let acknowledged = (n - 1) * message(3_000) + (n - 2) * LATENCY;
        assert_eq!(end(&fields(""), n), acknowledged, "{n}");
        let started = fields("send_done = \"started\"");
        assert_eq!(end(&started, n), (n - 1) * message(3_000), "{n}");
        let at_once = fields("send_done = \"started\"\nalgorithm = \"at-once\"");
        assert_eq!(end(&at_once, n), LATENCY + (n - 1) * 2_999, "{n}");
    }
}

#[test]
fn repetitions_follow_one_another_with_computing_between() {
    let generator = collective(
        "operation = \"all-reduce\"\nsize = \"8000B\"\nrepeats = 3\ncompute = \"70ns\"\nsend_done = \"started\"",
        4,
    )
    .unwrap();
    let found = LINKS.run(generator.as_ref());
    let all_reduce = 6 * message(2_000);
    for rank in &found.ranks {
        let begins = u64::from(rank.job) * all_reduce + u64::from(rank.job + 1) * 70_000;
        let record = (rank.start, rank.end);
        assert_eq!(record, (Some(Time(begins)), Some(Time(begins + all_reduce))));
    }
    assert_eq!((found.ranks.len(), found.flows.len()), (12, 72));
    assert_eq!(generator.job_of(0), Some(0));
    assert_eq!(generator.job_of(71), Some(2));
}

#[test]
fn groups_run_at_the_same_time() {
    let fields = "operation = \"all-reduce\"\nsize = \"8000B\"\nsend_done = \"started\"";
    let grouped = format!("{fields}\ngroup_size = 4");
    let generator = collective(&grouped, 12).unwrap();
    let found = LINKS.run(generator.as_ref());
    assert_eq!(
        (found.end(), found.flows.len()),
        (Some(6 * message(2_000)), 3 * 24)
    );
    assert!(found.flows.keys().all(|&n| {
        let flow = generator.flow(n);
        flow.from / 4 == flow.to / 4
    }));
}

#[test]
fn placements_use_hosts_once() {
    let generator = |fields: &str| {
        let all = format!("operation = \"all-gather\"\nsize = \"1KB\"\n{fields}");
        collective(&all, 20).unwrap().ranked_jobs().unwrap().hosts
    };
    assert_eq!(generator("ranks = 4"), [0, 1, 2, 3]);
    assert_eq!(generator("hosts = [7, \"h3\", \"10..12\"]"), [7, 3, 10, 11]);
    let mut drawn = generator("ranks = 6\nplacement = \"random\"");
    assert_ne!(drawn, [0, 1, 2, 3, 4, 5]);
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 6);
}

#[test]
fn wrong_fields_are_refused_in_one_line() {
    for (fields, expected) in [
        (
            "ranks = 9",
            "hosts: 8 hosts for 9 ranks; allowed: a host per rank",
        ),
        ("ranks = 1", "ranks: 1; allowed: at least 2"),
        ("hosts = [2]", "hosts: 1 hosts; allowed: at least 2"),
        (
            "algorithm = \"chain\"",
            "algorithm: \"chain\" with this operation; allowed: \"ring\", \"halving-doubling\", \"recursive-doubling\", \"binomial-tree\", \"double-binary-tree\"",
        ),
        (
            "group_size = 3",
            "group_size: 3 with 8 ranks; allowed: a divisor of the ranks, at least 2",
        ),
        ("chunks = 0", "chunks: 0; allowed: at least 1"),
        ("repeats = 0", "repeats: 0; allowed: at least 1"),
        (
            "repeats = 1000000",
            "ranks: 8 ranks with 112000000 messages; allowed: at most 10000000 messages",
        ),
    ] {
        let all = format!("operation = \"all-reduce\"\nsize = \"8KB\"\n{fields}");
        assert_eq!(collective(&all, 8).unwrap_err().to_string(), expected);
    }
    let small = collective("operation = \"all-reduce\"\nsize = \"7B\"", 8).unwrap_err();
    assert_eq!(
        small.to_string(),
        "size: 7 bytes for 8 ranks; allowed: at least a byte per rank"
    );
}
