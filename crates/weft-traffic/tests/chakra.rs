//! Traces of Chakra: times on full-duplex links against those of GOAL text and closed forms, and nodes that are refused.

mod chakra_files;
mod links;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use chakra_files::{Node, Trace};
use flate2::Compression;
use flate2::write::GzEncoder;
use links::Links;
use weft_spec::{SpecError, Time, find};
use weft_traffic::{FlowGenerator, PatternContext, TRAFFIC};

fn generator(prefix: &Path, hosts: usize, fields: &str) -> Result<Arc<dyn FlowGenerator>, SpecError> {
    let names: Vec<String> = (0..hosts).map(|i| format!("h{i}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let table = format!(
        "format = \"chakra\"\nfile = {:?}\n{fields}",
        prefix.display().to_string()
    );
    let loaded = (find(TRAFFIC, "kind", "trace")?.parse)(&table.parse().unwrap())?;
    let context = PatternContext::new(&names, 0, 0, 1).with_duration(Time::from_ms(10_000));
    Ok(loaded.value.generator(&context)?.unwrap())
}

/// Returns the end of each rank on links of 1 byte per nanosecond and a latency of 1,000 ns, in nanoseconds.
fn ends(prefix: &Path, hosts: usize, fields: &str) -> Vec<u64> {
    let links = Links {
        latency: 1_000_000,
        gap: 1_000,
        done_at_departure: true,
    };
    let found = links.run(generator(prefix, hosts, fields).unwrap().as_ref());
    found
        .ranks
        .iter()
        .map(|rank| rank.end.unwrap().0 / 1_000)
        .collect()
}

/// Returns the end of the last rank of files.
fn end(files: &[Trace], fields: &str) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let prefix = write(folder.path(), files);
    *ends(&prefix, files.len().max(2), fields).iter().max().unwrap()
}

fn write(folder: &Path, files: &[Trace]) -> std::path::PathBuf {
    for (rank, file) in files.iter().enumerate() {
        fs::write(folder.join(format!("job.{rank}.et")), file.bytes()).unwrap();
    }
    folder.join("job")
}

/// The time of a message of some bytes.
fn message(bytes: u64) -> u64 {
    1_000 + bytes - 1
}

/// Four stages and eight micro-batches, of which GOAL text has the same operations.
#[test]
fn a_pipeline_takes_the_time_of_its_goal_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let csv = fs::read_to_string(folder.join("goal/overlap.csv")).unwrap();
    let line = csv
        .lines()
        .find(|line| line.starts_with("pipeline_4x8.goal,"))
        .unwrap();
    let times: Vec<u64> = line
        .rsplit(',')
        .next()
        .unwrap()
        .split(' ')
        .map(|time| time.parse().unwrap())
        .collect();
    assert_eq!(ends(&folder.join("chakra/pipeline_4x8"), 4, ""), times);
}

fn all_ranks(n: usize, node: &Node) -> Vec<Trace> {
    (0..n).map(|_| Trace::new(std::slice::from_ref(node))).collect()
}

#[test]
fn collective_nodes_take_the_time_of_their_algorithm() {
    let collective = |kind: i64, size: i64| Node::new(0, 7).int64("comm_type", kind).int64("comm_size", size);
    let time = |n, kind| end(&all_ranks(n, &collective(kind, 1 << 20)), "");
    let part = |n: u64| message((1 << 20) / n);
    assert_eq!(time(8, 0), 14 * part(8));
    assert_eq!(time(4, 7), 3 * part(4));
    assert_eq!(time(4, 8), 3 * part(4));
    assert_eq!(time(4, 6), 3 * part(4));
    // The size of an all-gather is that of a rank's part.
    assert_eq!(time(4, 2), 3 * part(1));
    assert_eq!(time(8, 5), 3 * part(1));
    let files = all_ranks(8, &collective(0, 1 << 20));
    let halving: u64 = [2, 4, 8].map(part).iter().sum();
    assert_eq!(end(&files, "algorithm = \"halving-doubling\""), 2 * halving);
}

#[test]
fn groups_are_those_of_the_spec_or_of_metadata() {
    let collective = |name: &str| {
        Node::new(1, 7)
            .int64("comm_type", 0)
            .int64("comm_size", 8_000)
            .text("pg_name", name)
    };
    let plain = all_ranks(4, &collective("pair"));
    let trace = |rank: usize| Trace::new(&[collective(if rank < 2 { "a" } else { "b" })]);
    let pairs: Vec<Trace> = (0..4).map(trace).collect();
    let groups = "groups = { a = [0, 1], b = [3, 2] }";
    assert_eq!(end(&pairs, groups), 2 * message(4_000));
    let metadata = |json: &str| Node::new(0, 1).inputs(json);
    let described = |json: &str| {
        let trace = |_| Trace::new(&[metadata(json), collective("pair")]);
        let files: Vec<Trace> = (0..4).map(trace).collect();
        end(&files, "")
    };
    let ring = 6 * message(2_000);
    // An empty list are all ranks. PyTorch puts the list into a text.
    assert_eq!(described(r#"[{"pg_name": "pair", "ranks": []}]"#), ring);
    assert_eq!(
        described(r#"["[{\"pg_name\": \"pair\", \"ranks\": [0, 2, 1, 3]}]"]"#),
        ring
    );
    let folder = tempfile::tempdir().unwrap();
    let error = generator(&write(folder.path(), &plain), 4, "")
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.ends_with("pg_name \"pair\"; allowed: 0, or groups in the spec or in metadata of the trace"),
        "{error}"
    );
}

/// Ids count from any number, dependencies name later nodes, `ctrl_deps` have no effect, and integers have any type.
#[test]
fn what_generators_differ_in_is_read() {
    let computes = Trace::new(&[
        Node::new(700, 4).duration(3).after(&[5]).control(&[99]),
        Node::new(5, 4).duration(2),
        // A processor of the host computes meanwhile.
        Node::new(6, 4).duration(5).bool("is_cpu_op", true),
        Node::new(7, 7).duration(9).bool("is_cpu_op", true).after(&[6]),
    ]);
    assert_eq!(end(&[computes], ""), 14_000);
    let send = |node: Node| Trace::new(&[node]);
    let receive = || Trace::new(&[Node::new(0, 6).int32("comm_src", 0).int32("comm_tag", 4)]);
    for size in [
        Node::new(0, 5).int64("comm_size", 4_096),
        Node::new(0, 5).uint64("comm_size", 4_096),
        Node::new(0, 5).sint64("comm_size", 4_096),
        Node::new(0, 5).fixed64("comm_size", 4_096),
    ] {
        let node = size
            .int64("comm_dst", 1)
            .int32("comm_tag", 4)
            .text("unknown", "x");
        assert_eq!(end(&[send(node), receive()], ""), message(4_096));
    }
}

#[test]
fn files_may_be_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::new(0, 4).duration(3);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&Trace::new(&[node]).bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    let file = folder.path().join("job.0.et");
    fs::write(&file, &bytes).unwrap();
    assert_eq!(ends(&folder.path().join("job"), 2, ""), [3_000]);
    for end in 2..bytes.len() {
        fs::write(&file, &bytes[..end]).unwrap();
        assert!(
            generator(&folder.path().join("job"), 2, "").is_err(),
            "{end} bytes"
        );
    }
}

/// Returns the message of the refusal of files.
fn refusal(files: &[Vec<u8>], fields: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (rank, bytes) in files.iter().enumerate() {
        fs::write(folder.path().join(format!("job.{rank}.et")), bytes).unwrap();
    }
    let prefix = folder.path().join("job");
    let error = generator(&prefix, files.len().max(2), fields)
        .err()
        .unwrap()
        .to_string();
    assert!(!error.contains('\n'), "{error}");
    error.replace(&prefix.display().to_string(), "job")
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_cannot_be_read_is_refused_by_node() {
    let send = || Node::new(3, 5).int64("comm_size", 8).int32("comm_dst", 1);
    let receive = || Node::new(4, 6).int32("comm_src", 0);
    let collective = || Node::new(9, 7).int64("comm_type", 0).int64("comm_size", 64);
    let one = |node: Node| vec![Trace::new(&[node])];
    let two = |a: &[Node], b: &[Node]| vec![Trace::new(a), Trace::new(b)];
    let cases: Vec<(Vec<Trace>, &str)> = vec![
        (
            one(Node::new(3, 0)),
            "job.0.et: node 3: type 0; allowed: 1 (metadata), 4 (compute), 5 (send), 6 (receive), 7 (collective)",
        ),
        (
            one(Node::new(3, 2)),
            "job.0.et: node 3: type 2, a memory load; allowed: 1 (metadata), 4 (compute), 5 (send), 6 (receive), 7 (collective)",
        ),
        (
            one(Node::new(3, 4).after(&[8])),
            "job.0.et: node 3: data_deps 8; allowed: ids of nodes in the file",
        ),
        (
            one(Node::new(3, 4).after(&[3])),
            "job.0.et: node 3: a node that waits for itself, through the others of a cycle; allowed: an order without cycles",
        ),
        (
            vec![Trace::new(&[Node::new(3, 4), Node::new(3, 4)])],
            "job.0.et: node 3: an id for the second time; allowed: an id per node of a rank",
        ),
        (
            one(Node::new(3, 4).duration(u64::MAX)),
            "job.0.et: node 3: duration_micros 18446744073709551615; allowed: at most 18446744073709",
        ),
        (
            one(Node::new(3, 5).int64("comm_size", 8)),
            "job.0.et: node 3: no comm_dst; allowed: 0 to 0, the ranks that have files",
        ),
        (
            one(send()),
            "job.0.et: node 3: comm_dst 1; allowed: 0 to 0, the ranks that have files",
        ),
        (
            one(Node::new(3, 5).int64("comm_size", -8).int32("comm_dst", 0)),
            "job.0.et: node 3: comm_size -8; allowed: bytes from 0",
        ),
        (
            one(Node::new(3, 5).text("comm_size", "8").int32("comm_dst", 0)),
            "job.0.et: node 3: comm_size, which is no integer; allowed: bytes from 0",
        ),
        (
            two(&[send()], &[]),
            "job.0.et: node 3: a message that is not received; allowed: a receive for each send",
        ),
        (
            two(&[], &[receive()]),
            "job.1.et: node 4: a receive whose message is not sent; allowed: a send for each receive",
        ),
        (
            two(&[send().int32("comm_tag", 1)], &[receive().int32("comm_tag", 2)]),
            "job.1.et: node 4: a receive whose message is not sent; allowed: a send for each receive",
        ),
        (
            // A receive waits for the send of the own rank, which waits for the other's message.
            two(
                &[send().after(&[5]), Node::new(5, 6).int32("comm_src", 1)],
                &[
                    receive(),
                    Node::new(6, 5)
                        .int64("comm_size", 8)
                        .int32("comm_dst", 0)
                        .after(&[4]),
                ],
            ),
            "job.0.et: node 3: a node that waits for itself, through the others of a cycle; allowed: an order without cycles",
        ),
        (
            one(Node::new(3, 7).int64("comm_size", 64)),
            "job.0.et: node 3: no comm_type; allowed: 0 (all-reduce), 2 (all-gather), 5 (broadcast), 6 (all-to-all), 7 or 8 (reduce-scatter)",
        ),
        (
            one(Node::new(3, 7).int64("comm_type", 9).int64("comm_size", 64)),
            "job.0.et: node 3: comm_type 9; allowed: 0 (all-reduce), 2 (all-gather), 5 (broadcast), 6 (all-to-all), 7 or 8 (reduce-scatter)",
        ),
        (
            two(&[collective()], &[]),
            "job.0.et: node 9: operation 1 of group \"\", which rank 1 does not have; allowed: an operation at each rank of a group",
        ),
        (
            two(
                &[collective()],
                &[Node::new(9, 7).int64("comm_type", 0).int64("comm_size", 65)],
            ),
            "job.0.et: node 9: comm_type or comm_size of operation 1 of group \"\", which are others at another rank; allowed: the same at each rank of a group",
        ),
    ];
    for (files, expected) in cases {
        let bytes: Vec<Vec<u8>> = files.iter().map(Trace::bytes).collect();
        assert_eq!(refusal(&bytes, ""), format!("file: {expected}"));
    }
    let files: Vec<Vec<u8>> = two(
        &[collective().text("pg_name", "a")],
        &[collective().text("pg_name", "a")],
    )
    .iter()
    .map(Trace::bytes)
    .collect();
    assert_eq!(
        refusal(&files, "groups = { a = [0, 7] }"),
        "file: job.0.et: node 9: group \"a\" with rank 7; allowed: each of 0 to 1 once"
    );
    assert_eq!(
        refusal(&files, "groups = { a = [0] }"),
        "file: job.1.et: node 9: pg_name \"a\", a group without this rank; allowed: a group of the rank"
    );
}

#[test]
fn files_of_another_kind_are_refused() {
    assert_eq!(
        refusal(&[Vec::new()], ""),
        "file: job.0.et: 0 bytes; allowed: a trace of Chakra"
    );
    for other in [
        "num_ranks 2\nrank 0 {\n}\n",
        "PK\u{3}\u{4} archive",
        "{\"nodes\": []}\r\n",
        "\u{7f}ELF",
    ] {
        let refused = refusal(&[other.as_bytes().to_vec()], "");
        assert!(refused.starts_with("file: job.0.et: "), "{refused}");
        assert!(refused.ends_with("; allowed: a trace of Chakra"), "{refused}");
    }
    let whole = Trace::new(&[Node::new(3, 4).duration(8), Node::new(4, 4).after(&[3])]);
    let (bytes, ends) = (whole.bytes(), whole.ends());
    for end in 1..bytes.len() {
        if ends.contains(&end) {
            continue;
        }
        let refused = refusal(&[bytes[..end].to_vec()], "");
        assert!(refused.contains("ends within the "), "{end}: {refused}");
    }
    assert_eq!(
        refusal(&[], ""),
        "file: job: no file of a rank; allowed: the beginning of the paths of files that end in .0.et, .1.et and so on"
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("job.1.et"), &bytes).unwrap();
    let missing = generator(&folder.path().join("job"), 2, "")
        .err()
        .unwrap()
        .to_string();
    assert!(
        missing.ends_with("job.0.et: no such file; allowed: a file for each rank from 0 on"),
        "{missing}"
    );
}
