//! Tables of layers of `SimAI`: times on full-duplex links, and lines that are refused.

mod links;

use std::fs;
use std::sync::Arc;

use links::Links;
use weft_spec::{SpecError, Time, find};
use weft_traffic::{FlowGenerator, PatternContext, TRAFFIC};

fn trace(text: &[u8], hosts: usize, fields: &str) -> Result<Arc<dyn FlowGenerator>, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.txt");
    fs::write(&file, text).unwrap();
    let names: Vec<String> = (0..hosts).map(|i| format!("h{i}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let table = format!(
        "format = \"simai\"\nfile = {:?}\n{fields}",
        file.display().to_string()
    );
    let loaded = (find(TRAFFIC, "kind", "trace").unwrap().parse)(&table.parse().unwrap()).unwrap();
    let context = PatternContext::new(&names, 0, 0, 1).with_duration(Time::from_ms(10_000));
    let generator: Result<_, SpecError> = loaded.value.generator(&context);
    generator.map(Option::unwrap).map_err(|error| {
        let text = error.to_string();
        assert!(!text.contains('\n'), "{text}");
        text.replace(&file.display().to_string(), "job.txt")
    })
}

/// Returns the nanoseconds of a table on links of 1 byte per nanosecond and a latency of 1,000 ns.
fn nanoseconds(text: &str, hosts: usize, fields: &str) -> u64 {
    let links = Links {
        latency: 1_000_000,
        gap: 1_000,
        done_at_departure: true,
    };
    let found = links.run(trace(text.as_bytes(), hosts, fields).unwrap().as_ref());
    found.end().unwrap() / 1_000
}

fn header(tensor: u32, experts: u32, all: u32) -> String {
    format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tensor} ep: {experts} pp: 1 vpp: 8 ga: 1 all_gpus: {all} checkpoints: 0 checkpoint_initiates: 0"
    )
}

fn table(header: &str, rows: &[&str]) -> String {
    format!("{header}\n{}\n{}\n", rows.len(), rows.join("\n"))
}

/// The time of a message of some bytes.
fn message(bytes: u64) -> u64 {
    1_000 + bytes - 1
}

#[test]
fn passes_take_the_sum_of_their_parts() {
    // A ring all-reduce of eight ranks has 14 messages of an eighth of the bytes.
    let ring = 14 * message(16_777_216 / 8);
    let public = table(
        &header(8, 1, 8),
        &["embedding_layer     -1 556000  ALLREDUCE   16777216      1       NONE 0        1      NONE   0      1 ";
            2],
    );
    assert_eq!(nanoseconds(&public, 8, ""), 2 * (556_000 + ring) + 2 * 2 + 2);
    assert_eq!(
        nanoseconds(&public.replace('\n', "\r\n"), 8, ""),
        nanoseconds(&public, 8, "")
    );
    // Halves, quarters and eighths there and back.
    let halving = 2 * [2, 4, 8]
        .iter()
        .map(|part| message(16_777_216 / part))
        .sum::<u64>();
    let fields = "algorithm = \"halving-doubling\"";
    assert_eq!(
        nanoseconds(&public, 8, fields),
        2 * (556_000 + halving) + 2 * 2 + 2
    );
}

#[test]
fn operations_run_in_their_groups() {
    // Eight ranks: two tensor-parallel ones, four data-parallel ones, of which two hold the same experts.
    let time = |row: &str| nanoseconds(&table(&header(2, 2, 8), &[row]), 8, "");
    let forward = |kind: &str| time(&format!("a -1 5 {kind} 8000 0 NONE 0 0 NONE 0 0"));
    assert_eq!(forward("ALLREDUCE"), 5 + 2 * message(4_000));
    assert_eq!(forward("ALLGATHER"), 5 + message(4_000));
    assert_eq!(forward("ALLTOALL_EP"), 5 + message(4_000));
    assert_eq!(forward("REDUCESCATTER_DP_EP"), 5 + message(4_000));
    let weights = |kind: &str| time(&format!("a -1 0 NONE 0 0 NONE 0 5 {kind} 8000 7"));
    assert_eq!(weights("REDUCESCATTER"), 5 + 3 * message(2_000) + 7);
    assert_eq!(weights("ALLREDUCE"), 5 + 6 * message(2_000) + 7);
    assert_eq!(weights("ALLREDUCE_EP"), 5 + 2 * message(4_000) + 7);
}

#[test]
fn gradients_of_weights_hide_behind_computing() {
    // While the first layer computes backwards, the second one's gradients are on their way.
    let rows = |first: u64| {
        let rows = [
            format!("a -1 0 NONE 0 {first} NONE 0 0 NONE 0 0"),
            "b -1 0 NONE 0 0 NONE 0 10 ALLREDUCE 40000 0".to_owned(),
        ];
        nanoseconds(&table(&header(1, 1, 4), &[&rows[0], &rows[1]]), 4, "")
    };
    let ring = 6 * message(10_000);
    assert_eq!(rows(1), 10 + ring);
    assert_eq!(rows(ring + 500), 10 + ring + 500);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_cannot_be_read_is_refused_by_line_and_column() {
    let head = header(2, 1, 4);
    let good = "a -1 5 NONE 0 5 NONE 0 5 NONE 0 5";
    let row = |row: &str| table(&head, &[good, row]);
    let cases: Vec<(String, &str)> = vec![
        (
            String::new(),
            "job.txt: ends before its rows; allowed: a table of SimAI, which begins with HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        ),
        (
            format!("{head}\n"),
            "job.txt: ends before its rows; allowed: a table of SimAI, which begins with HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        ),
        (
            "MICRO\n".to_owned(),
            "job.txt: line 1: MICRO; allowed: HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        ),
        (
            "num_ranks 2\n".to_owned(),
            "job.txt: line 1: num_ranks; allowed: HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        ),
        (
            table(&head.replace("ga:", "tp:"), &[good]),
            "job.txt: line 1: tp; allowed: model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, checkpoints, checkpoint_initiates, pp_comm",
        ),
        (
            table(&head.replace("all_gpus: 4", ""), &[good]),
            "job.txt: line 1: no all_gpus; allowed: all_gpus: NUMBER",
        ),
        (
            table(&head.replace("all_gpus: 4", "all_gpus: 0"), &[good]),
            "job.txt: line 1: all_gpus 0; allowed: 1 to 16777216",
        ),
        (
            table(&head.replace("all_gpus: 4", "all_gpus: 5"), &[good]),
            "job.txt: line 1: all_gpus 5 with model_parallel_NPU_group 2; allowed: a multiple",
        ),
        (
            table(&head.replace("ep: 1", "ep: 3"), &[good]),
            "job.txt: line 1: ep 3 with 2 data-parallel ranks; allowed: a divisor of these",
        ),
        (
            table(&head.replace("pp: 1 ", "pp: 12 "), &[good]),
            "job.txt: line 1: pp 12; allowed: 1, because the table has the layers of one stage",
        ),
        (
            table(&head.replace("checkpoints: 0", "checkpoints: 1"), &[good]),
            "job.txt: line 1: checkpoints; allowed: 0: layers are not computed twice",
        ),
        (
            table(&format!("{head} pp_comm"), &[good]),
            "job.txt: line 1: pp_comm without a value; allowed: a number",
        ),
        (
            format!("{head}\nmany\n"),
            "job.txt: line 2: many rows; allowed: a whole number from 0",
        ),
        (
            format!("{head}\n2\n{good}\n"),
            "job.txt: line 2: 2 rows are announced, and the file has 1; allowed: as many as it has",
        ),
        (
            format!("{head}\n1\n{good}\n{good}\n"),
            "job.txt: line 4: row 2 of 1 that are announced; allowed: as many rows as line 2 announces",
        ),
        (
            row("a -1 5 NONE 0 5 NO"),
            "job.txt: line 4: 7 columns; allowed: 12 columns",
        ),
        (
            row("a 3 5 NONE 0 5 NONE 0 5 NONE 0 5"),
            "job.txt: line 4: column 2, dependency: 3; allowed: -1",
        ),
        (
            row("a -1 5.5 NONE 0 5 NONE 0 5 NONE 0 5"),
            "job.txt: line 4: column 3, forward_time: 5.5; allowed: a whole number from 0",
        ),
        (
            row("a -1 5 NONE 0 5 ALLREDUCEALLTOALL 9 5 NONE 0 5"),
            "job.txt: line 4: column 7, input_gradient_kind: ALLREDUCEALLTOALL; allowed: NONE; ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, perhaps with _EP or _DP_EP",
        ),
        (
            row("a -1 5 NONE 0 5 NONE 0 5 NONE -1 5"),
            "job.txt: line 4: column 11, weight_gradient_bytes: -1; allowed: a whole number from 0",
        ),
        (
            row("a -1 5 NONE 0 5 NONE 0 5 NONE 0 99999999999999999"),
            "job.txt: line 4: column 12, update_time: 99999999999999999; allowed: at most 18446744073709551 nanoseconds",
        ),
        (
            table(
                &header(1, 1, 60_000),
                &["a -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 99999 5"],
            ),
            "job.txt: line 3: 7199880000 messages up to this row; allowed: at most 10000000 messages",
        ),
    ];
    for (text, expected) in cases {
        let refused = trace(text.as_bytes(), 4, "").unwrap_err();
        assert_eq!(refused, format!("file: {expected}"), "{text}");
    }
    let text = row(good);
    assert!(trace(text.as_bytes(), 4, "").is_ok());
    for end in 1..text.len() - 1 {
        // A table that is cut off within its last number remains a table.
        let cut = trace(&text.as_bytes()[..end], 4, "");
        assert!(cut.is_err(), "{}", &text[..end]);
    }
    let binary = trace(b"PK\x03\x04\xff\n", 4, "").unwrap_err();
    assert_eq!(
        binary,
        "file: job.txt: line 1: bytes that are not text; allowed: a table of SimAI"
    );
    let groups = trace(text.as_bytes(), 4, "groups = { a = [0, 1] }").unwrap_err();
    assert_eq!(
        groups,
        "groups: given with another format; allowed: format \"chakra\""
    );
}
