//! An experiment at a level that runs in a process of its own: the checked spec goes there, tables and manifest come back.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use weft_spec::Time;

use crate::tables::NAMES;
use crate::{Error, Progress, Run};

/// Environment variable that names the program.
const VARIABLE: &str = "WEFTD";

/// Has `weftd testbed` run a resolved spec. It gets the spec as a file and keeps running while its standard input is open; how far it is
/// comes as a fraction a line.
///
/// # Errors
/// [`Error::Elsewhere`] with the process' own line, [`Error::Missing`], [`Error::Internal`] when it fails otherwise.
pub(crate) fn run(
    spec: &Value,
    duration: Time,
    mut on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Run, Error> {
    let failed = |error: std::io::Error| Error::Internal(format!("weftd testbed: {error}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    let (given, out) = (folder.path().join("spec.json"), folder.path().join("out"));
    fs::write(&given, spec.to_string()).map_err(failed)?;
    let mut child = start(&given, &out)?;
    // Taken once: closing it asks the process to stop.
    let mut lifeline = child.stdin.take();
    let stderr = child.stderr.take();
    let complaint = thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.read_to_string(&mut text);
        }
        text
    });
    let (tell, told) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            for fraction in lines.filter_map(|line| line.parse::<f64>().ok()) {
                if tell.send(fraction).is_err() {
                    break;
                }
            }
        });
    }
    let (began, mut fraction) = (Instant::now(), 0.0);
    loop {
        match told.recv_timeout(TELL) {
            Ok(now) => fraction = now,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let progress = Progress {
            fraction,
            simulated: Time((duration.0 as f64 * fraction) as u64),
            packet_hops: 0,
            wall_seconds: began.elapsed().as_secs_f64(),
        };
        if lifeline.is_some() && on_progress(&progress).is_break() {
            lifeline = None;
        }
    }
    let status = child.wait().map_err(failed)?;
    drop(lifeline);
    let complaint = complaint.join().unwrap_or_default();
    judge(status, &complaint)?;
    read(&out)
}

fn start(spec: &Path, out: &Path) -> Result<Child, Error> {
    let program = program();
    Command::new(&program)
        .arg("testbed")
        .arg("--lifeline")
        .arg("--out")
        .arg(out)
        .arg(spec)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            let program = Path::new(&program).display();
            Error::Missing(format!(
                "level \"linux\" is run by the program {program}, which cannot be started: {error}; install the package \
                 weftd, or name the program in the environment variable {VARIABLE}"
            ))
        })
}

/// What [`VARIABLE`] names, or `weftd` beside this program, or `weftd` on the path.
fn program() -> OsString {
    if let Some(named) = env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return named;
    }
    // By the name it was called: a virtual environment's Python is a link to one that knows nothing of it.
    let called = env::args_os().next().map(PathBuf::from);
    [called, env::current_exe().ok()]
        .into_iter()
        .flatten()
        .filter_map(|program| program.parent().map(Path::to_owned))
        // A bare name says nothing of where it was found.
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join("weftd"))
        .find(|program| program.is_file())
        .map_or_else(|| "weftd".into(), PathBuf::into_os_string)
}

/// Exit codes of `weftd`: 2 bad input, 3 the machine lacks something.
fn judge(status: ExitStatus, complaint: &str) -> Result<(), Error> {
    let line = complaint.lines().last().unwrap_or("no word about why").trim();
    let line = line.strip_prefix("weftd: ").unwrap_or(line).to_owned();
    match status.code() {
        Some(0 | STOPPED) => Ok(()),
        Some(2) => Err(Error::Elsewhere(line)),
        Some(3) => Err(Error::Missing(line)),
        _ => Err(Error::Internal(format!(
            "weftd testbed ended with {status}: {line}"
        ))),
    }
}

/// Tables and manifest from a folder that [`Run::write`] made.
fn read(folder: &Path) -> Result<Run, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Internal(format!("the results of weftd: {error}"));
    let mut tables = Vec::with_capacity(NAMES.len());
    for &name in NAMES {
        let file = File::open(folder.join(format!("{name}.parquet"))).map_err(|error| failed(&error))?;
        tables.push((name, table(file).map_err(|error| failed(&error))?));
    }
    let manifest = fs::read(folder.join("manifest.json")).map_err(|error| failed(&error))?;
    let manifest = serde_json::from_slice(&manifest).map_err(|error| failed(&error))?;
    Ok(Run { tables, manifest })
}

fn table(file: File) -> Result<RecordBatch, parquet::errors::ParquetError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let schema = builder.schema().clone();
    let batches: Vec<RecordBatch> = builder.build()?.collect::<Result<_, _>>()?;
    Ok(concat_batches(&schema, &batches)?)
}

/// Progress is told that often even when there is none, so that a run can be stopped.
const TELL: Duration = Duration::from_millis(100);
/// What `weftd testbed` exits with when it was stopped and left what there was.
const STOPPED: i32 = 130;
