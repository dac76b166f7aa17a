//! Results on disk: complete or absent, and equal to those in memory.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use weft_lab::{Experiment, RunOptions, RunResult};

use crate::experiment::{self, parse, run_with};

fn run() -> RunResult {
    let text = r#"
        name = "two flows"
        duration = "2ms"
        topology = { kind = "many-to-one", senders = 2, rate = "10Gbps", delay = "2us" }
        queues = { limit = "100 packets" }
        transports.reno.cc = "reno"
        traffic = [{ kind = "incast", transport = "reno", flows = 2, size = "50KB" }]
        probes = [{ kind = "queue", at = ["s0->r0"] }]
    "#;
    run_with(&parse::<&str>(text, &[]), RunOptions::default())
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn tables_and_manifest_are_read_back() {
    let (run, folder) = (run(), tempfile::tempdir().unwrap());
    let out = folder.path().join("some/results");
    run.write(&out).unwrap();
    let expected = [
        "drops.parquet",
        "flows.parquet",
        "jobs.parquet",
        "latencies.parquet",
        "links.parquet",
        "manifest.json",
        "operations.parquet",
        "packets.parquet",
        "pause_frames.parquet",
        "queues.parquet",
        "ranks.parquet",
        "steps.parquet",
        "subflows.parquet",
        "suppressions.parquet",
        "throughput.parquet",
        "traces.parquet",
        "traffic_classes.parquet",
    ];
    assert_eq!(names(&out), expected);
    assert_eq!(
        names(&folder.path().join("some")),
        ["results"],
        "nothing else stays behind"
    );
    for (name, table) in &run.tables {
        let file = File::open(out.join(format!("{name}.parquet"))).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert_eq!(reader.schema().fields(), table.schema().fields());
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        assert_eq!(
            batches.iter().map(RecordBatch::num_rows).sum::<usize>(),
            table.num_rows()
        );
        for batch in batches {
            assert_eq!(batch.columns(), table.columns(), "{name}");
        }
    }
    let manifest = fs::read_to_string(out.join("manifest.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&manifest).unwrap(),
        run.manifest
    );
}

#[test]
fn an_empty_folder_is_taken_and_anything_else_is_left_alone() {
    let (run, folder) = (run(), tempfile::tempdir().unwrap());
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    run.write(&empty).unwrap();
    assert!(empty.join("manifest.json").exists());

    let again = run.write(&empty).unwrap_err();
    assert!(
        again.to_string().ends_with(
            "empty: exists and is not empty; allowed: a folder that does not exist yet, or an empty one"
        ),
        "{again}"
    );
    assert!(again.is_bad_input());

    let file = folder.path().join("file");
    fs::write(&file, "precious").unwrap();
    let onto = run.write(&file).unwrap_err().to_string();
    assert!(
        onto.ends_with("file: is not a folder; allowed: a folder that does not exist yet, or an empty one"),
        "{onto}"
    );
    let below = run.write(&file.join("out")).unwrap_err().to_string();
    assert!(below.contains("is not a folder"), "{below}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    let root = run.write(Path::new("/")).unwrap_err().to_string();
    assert!(root.starts_with("/: "), "{root}");
    assert_eq!(names(folder.path()), ["empty", "file"]);
}

#[cfg(unix)]
#[test]
fn results_are_as_readable_as_any_new_folder() {
    use std::os::unix::fs::PermissionsExt;
    let (run, folder) = (run(), tempfile::tempdir().unwrap());
    let (out, plain) = (folder.path().join("out"), folder.path().join("plain"));
    run.write(&out).unwrap();
    fs::create_dir(&plain).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&out), mode(&plain));
}

/// Closed loops of very short flows: more than one row group holds.
const BUSY: &str = r#"
    name = "busy"
    duration = "25ms"
    topology = { kind = "fat-tree", k = 4, rate = "100Gbps", delay = "500ns" }
    queues = { limit = "100 packets", mark = "10 packets" }
    transports.amp = { cc = "amp", subflows = 1 }
    traffic = [{ kind = "closed-loop", transport = "amp", pairs = "random", size = "1KB", count = 16 }]
    probes = [{ kind = "queue", at = ["host-tor"], interval = "1ms" }]
"#;

/// Returns the rows of a column of indices, and the number of row groups that contain them.
fn indices(folder: &Path, table: &str, column: &str) -> (usize, Vec<u32>) {
    let file = File::open(folder.join(format!("{table}.parquet"))).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let groups = reader.metadata().num_row_groups();
    let batches = reader.build().unwrap().map(Result::unwrap);
    (
        groups,
        batches
            .flat_map(|batch| experiment::indices(&batch, column).to_vec())
            .collect(),
    )
}

#[test]
fn a_folder_written_during_the_run_has_the_same_rows() {
    let experiment = Experiment::parse(BUSY, &[]).unwrap();
    let go_on = |_: &weft_lab::Progress| ControlFlow::Continue(());
    let whole = experiment.run(RunOptions::default(), go_on).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let written = experiment.run_into(&out, RunOptions::default(), go_on).unwrap();
    assert!(!out.exists(), "not before it is kept");
    assert_eq!(written.manifest["rows"], whole.manifest["rows"]);
    assert_eq!(
        written.manifest["counters"]["packet_hops"],
        whole.manifest["counters"]["packet_hops"]
    );
    written.keep().unwrap();
    assert_eq!(names(folder.path()), ["results"]);
    for (table, column, least) in [
        ("flows", "flow", 2),
        ("subflows", "flow", 2),
        ("links", "link", 1),
    ] {
        let (groups, mut streamed) = indices(&out, table, column);
        assert!(groups >= least, "{table}: {groups} row groups");
        let mut kept = experiment::indices(experiment::table(&whole, table), column).to_vec();
        kept.sort_unstable();
        streamed.sort_unstable();
        assert_eq!(streamed, kept);
    }
}

#[test]
fn a_folder_that_is_not_kept_vanishes() {
    let experiment = Experiment::parse(&BUSY.replace("25ms", "1ms"), &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let written = experiment.run_into(&out, RunOptions::default(), |_| ControlFlow::Continue(()));
    drop(written.unwrap());
    assert_eq!(names(folder.path()), [""; 0]);
}
