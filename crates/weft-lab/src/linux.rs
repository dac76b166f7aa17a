//! The kernel of this machine as a backend. A separate process runs the experiment, because that
//! needs root and the kernel's libraries. The process gets the checked spec and returns tables and
//! a manifest.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;
use weft_run::{ActiveRun, Backend, Counters, Error, Level, Plan, RunOptions, RunOutput, RunResult, TABLES};
use weft_spec::{Spec, SpecError, Time, conflict};
use weft_transports::TcpSpec;

use crate::ports::link_path;
use crate::transports::algorithms;

/// Environment variable that names the program.
const WEFTD_ENV: &str = "WEFTD";

/// The backend that runs on this machine's kernel.
pub(crate) struct LinuxBackend;

impl Backend for LinuxBackend {
    fn level(&self) -> &'static Level {
        &Level {
            name: "linux",
            about: "the kernel of this machine: network namespaces, TCP and MPTCP sockets, a marking switch; needs root and weftd",
            deterministic: false,
            exclusive: true,
            features: &[],
        }
    }

    /// Accepts every plan: `weftd testbed` refuses those that the kernel cannot run.
    fn check(&self, plan: &Plan) -> Result<(), SpecError> {
        if !plan.events.is_empty() {
            return conflict(
                "events",
                "not supported at level \"linux\"",
                "remove them or use another level",
            );
        }
        let layer = plan.spec.layers.keys().map(|name| format!("layers.{name}"));
        let link = plan.spec.links.keys().map(|name| link_path(name));
        if let Some(path) = layer.chain(link).next() {
            return conflict(
                path,
                "not supported at level \"linux\"",
                "remove it or use another level",
            );
        }
        for (name, transport) in &plan.spec.transports {
            let cc = TcpSpec::from_spec(transport)?.cc;
            let known = |(known, _): (&str, _)| known == cc.name;
            if !algorithms().any(known) {
                let path = format!("transports.{name}.cc");
                let problem = format!(
                    "{:?} is a user-defined algorithm, which level \"linux\" cannot run",
                    cc.name
                );
                return conflict(path, problem, "use a built-in algorithm or another level");
            }
        }
        Ok(())
    }

    fn start(&self, plan: Plan, options: RunOptions) -> Result<Box<dyn ActiveRun>, Error> {
        if options.trace_hash {
            return Err(Error::Option {
                option: "trace_hash",
                value: "true at level \"linux\", where no two runs are equal".to_owned(),
                allowed: "false",
            });
        }
        Ok(Box::new(LinuxRun::start(&plan.spec)?))
    }
}

/// A running `weftd testbed`. It gets the spec as a file and runs as long as its standard input is
/// open. It reports its progress as one fraction per line.
struct LinuxRun {
    folder: TempDir,
    child: Child,
    /// Standard input of the process; closing it asks the process to stop.
    lifeline: Option<ChildStdin>,
    stderr_reader: JoinHandle<String>,
    progress: Receiver<f64>,
    duration: Time,
    now: Time,
}

impl LinuxRun {
    fn start(spec: &Spec) -> Result<Self, Error> {
        let folder = tempfile::tempdir().map_err(failed)?;
        let spec_file = folder.path().join("spec.json");
        let text = serde_json::to_string(&weft_spec::to_table(spec))
            .map_err(|error| Error::Internal(error.to_string()))?;
        fs::write(&spec_file, text).map_err(failed)?;
        let mut child = start(&spec_file, &folder.path().join("out"))?;
        let stderr = child.stderr.take();
        let stderr_reader = thread::spawn(move || {
            let mut text = String::new();
            if let Some(mut stderr) = stderr {
                let _ = stderr.read_to_string(&mut text);
            }
            text
        });
        let (sender, progress) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(stdout).lines().map_while(Result::ok);
                for fraction in lines.filter_map(|line| line.parse::<f64>().ok()) {
                    if sender.send(fraction).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self {
            lifeline: child.stdin.take(),
            folder,
            child,
            stderr_reader,
            progress,
            duration: spec.duration,
            now: Time(0),
        })
    }
}

impl ActiveRun for LinuxRun {
    fn slice_granularity(&self) -> Time {
        Time((self.duration.0 / 1_000).max(1))
    }

    /// Waits only for a short time, so that a run can be stopped. The run is over once the process
    /// has reported everything.
    fn run_until(&mut self, end: Time) -> Result<Time, Error> {
        let moment = Instant::now() + REPORT_INTERVAL;
        while self.now < end.min(Time(self.duration.0 - 1)) {
            match self
                .progress
                .recv_timeout(moment.saturating_duration_since(Instant::now()))
            {
                Ok(fraction) => {
                    let reached = Time((self.duration.0 as f64 * fraction) as u64);
                    self.now = reached.clamp(self.now, Time(self.duration.0 - 1));
                }
                Err(RecvTimeoutError::Timeout) => return Ok(self.now),
                Err(RecvTimeoutError::Disconnected) => return Ok(self.duration),
            }
        }
        if end < self.duration {
            return Ok(self.now);
        }
        match self
            .progress
            .recv_timeout(moment.saturating_duration_since(Instant::now()))
        {
            Err(RecvTimeoutError::Disconnected) => Ok(self.duration),
            Ok(_) | Err(RecvTimeoutError::Timeout) => Ok(self.now),
        }
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn completed_flows(&self, _class: u32) -> u64 {
        0
    }

    fn nth_completion(&self, _class: u32, _n: u64) -> Option<Time> {
        None
    }

    fn finish(mut self: Box<Self>) -> Result<RunOutput, Error> {
        self.lifeline = None;
        let status = self.child.wait().map_err(failed)?;
        let stderr_text = self.stderr_reader.join().unwrap_or_default();
        check_exit_status(status, &stderr_text)?;
        Ok(RunOutput::Tables(read(&self.folder.path().join("out"))?))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: std::io::Error) -> Error {
    Error::Internal(format!("weftd testbed: {error}"))
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
            Error::MissingRequirement(format!(
                "level \"linux\" needs the program {program}, which cannot be started: {error}; install the package \
                 weftd, or set the environment variable {WEFTD_ENV} to the path of the program"
            ))
        })
}

/// Returns the program that [`WEFTD_ENV`] names, else `weftd` next to this program, else `weftd` on
/// the path.
fn program() -> OsString {
    if let Some(named) = env::var_os(WEFTD_ENV).filter(|named| !named.is_empty()) {
        return named;
    }
    // The name by which this program was called: in a virtual environment, Python is a link to an
    // interpreter outside of it.
    let called = env::args_os().next().map(PathBuf::from);
    [called, env::current_exe().ok()]
        .into_iter()
        .flatten()
        .filter_map(|program| program.parent().map(Path::to_owned))
        // A bare name does not contain a folder.
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join("weftd"))
        .find(|program| program.is_file())
        .map_or_else(|| "weftd".into(), PathBuf::into_os_string)
}

/// Translates the exit codes of `weftd`: 2 is bad input, 3 is a missing requirement of the machine.
fn check_exit_status(status: ExitStatus, stderr_text: &str) -> Result<(), Error> {
    let line = stderr_text.lines().last().unwrap_or("no reason given").trim();
    let line = line.strip_prefix("weftd: ").unwrap_or(line).to_owned();
    match status.code() {
        Some(0 | STOPPED) => Ok(()),
        Some(2) => Err(Error::Unsupported(line)),
        Some(3) => Err(Error::MissingRequirement(line)),
        _ => Err(Error::Internal(format!(
            "weftd testbed ended with {status}: {line}"
        ))),
    }
}

/// Reads tables and manifest from a folder that [`RunResult::write`] wrote.
fn read(folder: &Path) -> Result<RunResult, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Internal(format!("the results of weftd: {error}"));
    let mut tables = Vec::with_capacity(TABLES.len());
    for &name in TABLES {
        let file = File::open(folder.join(format!("{name}.parquet"))).map_err(|error| failed(&error))?;
        tables.push((name, table(file).map_err(|error| failed(&error))?));
    }
    let manifest = fs::read(folder.join("manifest.json")).map_err(|error| failed(&error))?;
    let manifest = serde_json::from_slice(&manifest).map_err(|error| failed(&error))?;
    Ok(RunResult { tables, manifest })
}

fn table(file: File) -> Result<RecordBatch, parquet::errors::ParquetError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let schema = builder.schema().clone();
    let batches: Vec<RecordBatch> = builder.build()?.collect::<Result<_, _>>()?;
    Ok(concat_batches(&schema, &batches)?)
}

/// Interval of progress reports, also without progress, so that a run can be stopped.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// Exit code of `weftd testbed` if it was stopped and wrote a partial result.
const STOPPED: i32 = 130;
