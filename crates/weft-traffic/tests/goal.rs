//! Traces in GOAL text: times on full-duplex links against those of another evaluator, and lines that are refused.

mod links;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use links::{Evaluation, Links};
use weft_spec::{SpecError, Time, find};
use weft_traffic::{FlowGenerator, PatternContext, TRAFFIC};

fn trace(file: &Path, hosts: usize, fields: &str) -> Result<Arc<dyn FlowGenerator>, SpecError> {
    let names: Vec<String> = (0..hosts).map(|i| format!("h{i}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let table = format!(
        "format = \"goal\"\nfile = {:?}\n{fields}",
        file.display().to_string()
    );
    let loaded = (find(TRAFFIC, "kind", "trace")?.parse)(&table.parse().unwrap())?;
    let context = PatternContext::new(&names, 0, 0, 1).with_duration(Time::from_ms(10_000));
    Ok(loaded.value.generator(&context)?.unwrap())
}

/// Returns the folder of traces. `overlap.csv` has the times of another evaluator, with links of 1 byte per nanosecond and a
/// latency of 1,000 ns. Its links are first in first out at both ends, receiving costs no processor time, and a send is
/// done at its start.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goal")
}

fn evaluate(file: &str, ranks: usize) -> (Arc<dyn FlowGenerator>, Evaluation) {
    let generator = trace(&folder().join(file), ranks.max(2), "").unwrap();
    let links = Links {
        latency: 1_000_000,
        gap: 1_000,
        done_at_departure: true,
    };
    let found = links.run(generator.as_ref());
    (generator, found)
}

#[test]
fn traces_take_the_times_of_another_evaluator() {
    let csv = fs::read_to_string(folder().join("overlap.csv")).unwrap();
    let mut wrong = Vec::new();
    let lines: Vec<Vec<&str>> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    for line in &lines {
        let [file, ranks, _, _, end, _, queued, _, times] = line[..] else {
            panic!("{line:?}");
        };
        if file.starts_with("dag_") {
            // A send that waits for its link waits for the processor there too, which may go to a later computation. Such a
            // processor is in `src/trace/loggops.rs`, whose times equal those of `LogGOPSim` for these traces.
            continue;
        }
        let (_, found) = evaluate(file, ranks.parse().unwrap());
        let end_ns = found.end().map(|end| end / 1_000);
        if end_ns != Some(end.parse().unwrap()) || found.queued.to_string() != queued {
            wrong.push(format!(
                "{file}: {end_ns:?} {} instead of {end} {queued}",
                found.queued
            ));
        }
        let times: Vec<u64> = times.split(' ').map(|time| time.parse().unwrap()).collect();
        for rank in &found.ranks {
            let expected = times[rank.rank as usize];
            // A rank ends there no sooner than its last message leaves.
            let departure = found.last_departures.get(&rank.rank);
            let given = rank.end.unwrap().0.max(departure.copied().unwrap_or(0)) / 1_000;
            if given != expected {
                wrong.push(format!(
                    "{file}: rank {} {given} instead of {expected}",
                    rank.rank
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(lines.len() > 15, "{}", lines.len());
}

/// Returns the message of the refusal of a text.
fn refusal(text: &[u8], hosts: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.goal");
    fs::write(&file, text).unwrap();
    let error = trace(&file, hosts, "").unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error.replace(&file.display().to_string(), "job.goal")
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_cannot_be_read_is_refused_by_line() {
    let two =
        |first: &str, second: &str| format!("num_ranks 2\nrank 0 {{\n{first}\n}}\nrank 1 {{\n{second}\n}}\n");
    let pair = |first: &str| two(first, "r: recv 8b from 0");
    let cases: [(String, &str); 25] = [
        (String::new(), "job.goal: no num_ranks; allowed: GOAL text"),
        (
            "PK\u{3}\u{4}".to_owned(),
            "job.goal: line 1: PK??; allowed: num_ranks NUMBER",
        ),
        (
            "num_ranks 0".to_owned(),
            "job.goal: line 1: num_ranks 0; allowed: 1 to 16777216",
        ),
        (
            "num_ranks 2\nrank 0 {\n}\n".to_owned(),
            "job.goal: rank 1 has no block, with num_ranks 2; allowed: a block per rank",
        ),
        (
            "num_ranks 2\nrank 0 {\nl: calc 5\n".to_owned(),
            "job.goal: ends within the block of rank 0, which begins in line 2; allowed: a complete file",
        ),
        (
            "num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n".to_owned(),
            "job.goal: line 4: rank 0 for the second time; allowed: a block per rank",
        ),
        (
            "num_ranks 1\nrank 1 {\n}\n".to_owned(),
            "job.goal: line 2: rank 1; allowed: 0 to 0",
        ),
        (
            pair("s: send 8b to 7"),
            "job.goal: line 3: rank 7; allowed: 0 to 1",
        ),
        (
            pair("send 0b to 9999999"),
            "job.goal: line 3: rank 9999999; allowed: 0 to 1",
        ),
        (
            pair("s: send 8b from 1"),
            "job.goal: line 3: send 8b from 1; allowed: send BYTESb to RANK, recv BYTESb from RANK, calc TIME, LABEL requires LABEL, or }",
        ),
        (
            pair("s: send -8b to 1"),
            "job.goal: line 3: send -8; allowed: a whole number from 0",
        ),
        (
            pair("s: send 8b to 1 tag"),
            "job.goal: line 3: tag without a value; allowed: tag, cpu, nic with a number",
        ),
        (
            pair("s: send 8b to 1 tag 1 tag 2"),
            "job.goal: line 3: tag for the second time; allowed: once",
        ),
        (
            pair("s: send 8b to 1 tag -1"),
            "job.goal: line 3: send with tag -1; allowed: a tag from 0",
        ),
        (
            pair("s: send 8b to 1 nic 1"),
            "job.goal: line 3: nic 1; allowed: 0: the transport chooses the links of a host with several",
        ),
        (
            pair("s: send 8b to 1 cpu 256"),
            "job.goal: line 3: cpu 256; allowed: 0 to 255",
        ),
        (
            pair("s: send 8b to 1 colour 2"),
            "job.goal: line 3: colour; allowed: tag, cpu, nic",
        ),
        (
            pair("s: send 8b to 1\ns: calc 1"),
            "job.goal: line 4: label \"s\" for the second time; allowed: a label per operation of a rank",
        ),
        (
            pair("s: send 8b to 1\ns requires t"),
            "job.goal: line 4: label \"t\"; allowed: labels of rank 0",
        ),
        (
            pair("s: send 8b to 1\nt: calc 1\ns requires t\nt requires s"),
            "job.goal: line 3: an operation that waits for itself, through the others of a cycle; allowed: an order without cycles",
        ),
        (
            // Each rank waits for the other's message.
            two(
                "s: send 8b to 1\nr: recv 8b from 1\ns requires r",
                "s: send 8b to 0\nr: recv 8b from 0\ns requires r",
            ),
            "job.goal: line 3: an operation that waits for itself, through the others of a cycle; allowed: an order without cycles",
        ),
        (
            pair("c: calc 1"),
            "job.goal: line 6: a receive whose message is not sent; allowed: a send for each receive",
        ),
        (
            two("s: send 8b to 1 tag 3", "r: recv 8b from 0 tag 4"),
            "job.goal: line 6: a receive whose message is not sent; allowed: a send for each receive",
        ),
        (
            two("s: send 8b to 1", "c: calc 1"),
            "job.goal: line 3: a message that is not received; allowed: a receive for each send",
        ),
        (
            two("s: send 8b to 1", "r: recv 8b from -1\nt: recv 8b from -1"),
            "job.goal: line 7: a receive whose message is not sent; allowed: a send for each receive",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text.as_bytes(), 4), format!("file: {expected}"), "{text}");
    }
    let few = refusal(
        pair("s: send 8b to 1")
            .replace("num_ranks 2", "num_ranks 3")
            .as_bytes(),
        2,
    );
    assert_eq!(
        few,
        "file: job.goal: rank 2 has no block, with num_ranks 3; allowed: a block per rank"
    );
    let placed = refusal(pair("s: send 8b to 1").as_bytes(), 1);
    assert_eq!(placed, "hosts: 1 hosts for 2 ranks; allowed: a host per rank");
    assert!(refusal(b"num_ranks 1\nrank 0 {\n\xff\n", 2).contains("line 3: bytes that are not text"));
    let missing = trace(Path::new("/absent.goal"), 2, "").unwrap_err().to_string();
    assert_eq!(
        missing,
        "file: /absent.goal: No such file or directory (os error 2); allowed: a file of a trace"
    );
}

/// `LogGOPSim`'s converter refuses some of these.
#[test]
fn what_is_meant_is_read() {
    let plain = "num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 4096b to 1 tag 7\nl2 requires l1\n}\nrank 1 {\nl1: recv 4096b from 0 tag 7\n}\n";
    let end = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("job.goal");
        fs::write(&file, text).unwrap();
        let links = Links {
            latency: 1_000_000,
            gap: 1_000,
            done_at_departure: true,
        };
        links.run(trace(&file, 2, "").unwrap().as_ref()).end().unwrap()
    };
    let expected = (100 + 1_000 + 4_095) * 1_000;
    assert_eq!(end(plain), expected);
    for same in [
        plain.replace('\n', "\r\n"),
        plain.replace('\n', "\n\n\t "),
        plain.replace("4096b", "4096 b"),
        plain.replace("calc 100", "calc 100 cpu 3 // a comment"),
        format!("\u{feff}/* a comment\n over lines */ {plain}"),
        plain.replace("l2: send", "l2:send").replace(" {", "{"),
        // A label may stand before its operation, and blocks in any order.
        "num_ranks 2\nrank 1 {\nl1: recv 4096b from 0 tag 7\n}\nrank 0 {\nl2 requires l1\nl1: calc 100\nl2: send 4096b to 1 tag 7\n}\n"
            .to_owned(),
    ] {
        assert_eq!(end(&same), expected, "{same}");
    }
}

/// Every message of a graph ends once, and starts exactly when all that it waits for is done.
#[test]
fn messages_of_random_graphs_start_when_what_they_wait_for_is_done() {
    const GRAPHS: u64 = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.goal");
    let mut messages = 0;
    for seed in 0..GRAPHS {
        let graph = RandomGraph::new(seed);
        fs::write(&file, graph.text()).unwrap();
        let generator = trace(&file, graph.ranks, "").unwrap();
        let links = Links {
            latency: 10_000,
            gap: 100,
            done_at_departure: false,
        };
        let found = links.run(generator.as_ref());
        graph.check(&found, links.latency);
        messages += found.flows.len();
    }
    assert!(messages as u64 > 5 * GRAPHS, "{messages}");
}

/// Operations in an order in which each may happen.
struct RandomGraph {
    ranks: usize,
    operations: Vec<Operation>,
}

struct Operation {
    rank: usize,
    kind: Kind,
    /// Operations of the same rank that are done before this one starts; true: that have started.
    before: Vec<(usize, bool)>,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Nanoseconds.
    Compute(u64),
    /// Receiver and bytes. The tag is the number of the operation.
    Send(usize, u64),
    /// The operation that sends.
    Receive(usize),
}

impl RandomGraph {
    fn new(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut draw = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as usize % below
        };
        let ranks = 2 + draw(6);
        let mut operations: Vec<Operation> = Vec::new();
        let mut unreceived: Vec<usize> = Vec::new();
        let steps = 10 + draw(50);
        while operations.len() < steps || !unreceived.is_empty() {
            let (rank, kind) = match draw(3) {
                _ if operations.len() >= steps => {
                    let sent = unreceived.swap_remove(0);
                    let Kind::Send(to, _) = operations[sent].kind else {
                        unreachable!()
                    };
                    (to, Kind::Receive(sent))
                }
                0 => (draw(ranks), Kind::Compute(draw(500) as u64)),
                1 if !unreceived.is_empty() => {
                    let sent = unreceived.swap_remove(draw(unreceived.len()));
                    let Kind::Send(to, _) = operations[sent].kind else {
                        unreachable!()
                    };
                    (to, Kind::Receive(sent))
                }
                _ => {
                    let rank = draw(ranks);
                    let to = (rank + 1 + draw(ranks - 1)) % ranks;
                    unreceived.push(operations.len());
                    (rank, Kind::Send(to, 1 + draw(3_000) as u64))
                }
            };
            let same: Vec<usize> = (0..operations.len())
                .filter(|&i| operations[i].rank == rank)
                .collect();
            let before = (0..draw(3).min(same.len())).map(|_| (same[draw(same.len())], draw(4) == 0));
            operations.push(Operation {
                rank,
                kind,
                before: before.collect(),
            });
        }
        Self { ranks, operations }
    }

    fn text(&self) -> String {
        let mut text = format!("num_ranks {}\n", self.ranks);
        for rank in 0..self.ranks {
            let _ = writeln!(text, "rank {rank} {{");
            let own = self
                .operations
                .iter()
                .enumerate()
                .filter(|(_, own)| own.rank == rank);
            for (i, operation) in own {
                // Each computation has a processor of its own, so that it waits for none.
                let line = match operation.kind {
                    Kind::Compute(time) => format!("calc {time} cpu {}", i + 1),
                    Kind::Send(to, bytes) => format!("send {bytes}b to {to} tag {i}"),
                    Kind::Receive(send) => {
                        format!("recv 1b from {} tag {send}", self.operations[send].rank)
                    }
                };
                let _ = writeln!(text, "l{i}: {line}");
                for &(before, started) in &operation.before {
                    let word = if started { "irequires" } else { "requires" };
                    let _ = writeln!(text, "l{i} {word} l{before}");
                }
            }
            text += "}\n";
        }
        text
    }

    fn check(&self, found: &Evaluation, return_delay: u64) {
        // Flows have the numbers of sends in the order of the text.
        let mut sends: Vec<usize> = (0..self.operations.len())
            .filter(|&i| matches!(self.operations[i].kind, Kind::Send(..)))
            .collect();
        sends.sort_by_key(|&i| (self.operations[i].rank, i));
        let flow_of = |send: usize| sends.iter().position(|&i| i == send).unwrap() as u32;
        assert_eq!(found.flows.len(), sends.len());
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for (i, operation) in self.operations.iter().enumerate() {
            let points = operation.before.iter().map(
                |&(before, started): &(usize, bool)| if started { starts[before] } else { ends[before] },
            );
            let start: u64 = points.max().unwrap_or(0);
            let end = match operation.kind {
                Kind::Compute(time) => start + time * 1_000,
                Kind::Send(..) => {
                    let (opened, arrived) = found.flows[&flow_of(i)];
                    assert_eq!(opened, start, "operation {i} of\n{}", self.text());
                    arrived + return_delay
                }
                Kind::Receive(send) => start.max(found.flows[&flow_of(send)].1),
            };
            starts.push(start);
            ends.push(end);
        }
        for record in &found.ranks {
            let own = (0..self.operations.len()).filter(|&i| self.operations[i].rank == record.rank as usize);
            let ends = own.map(|i| match self.operations[i].kind {
                Kind::Send(..) => starts[i],
                _ => ends[i],
            });
            assert_eq!(record.end.unwrap().0, ends.max().unwrap());
        }
    }
}
