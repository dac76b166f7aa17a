//! Experiments: specs that were checked completely and are ready to run.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use weft_cc::AlgorithmFactory;
use weft_run::{
    ActiveRun, Backend, Error, Folder, MAX_THREADS, Progress, ResultWriter, RunOptions, RunOutput, RunResult,
    RunSummary, TableContext, Unfinished, UnsavedRun, manifest,
};
use weft_spec::{Spec, SpecError, apply_override, read_table};

use crate::classes::ClassNames;
use crate::constant_windows::{self, EngineSpeed};
use crate::files;
use crate::hints;
use crate::memory::MemoryBudget;
use crate::resolve::{Resolved, resolve};
use crate::run_loop::{RunLoop, Step};
use crate::throughput::ThroughputRecorders;

/// A checked experiment. It can be run any number of times; every run yields the same tables.
#[derive(Clone, Debug)]
pub struct Experiment {
    spec: Spec,
    json: serde_json::Value,
    custom_algorithms: Vec<Arc<dyn AlgorithmFactory>>,
    memory: MemoryBudget,
}

/// Options for reading a spec.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// Overrides, `"a.b[0].c=value"`, applied in order before the check.
    pub overrides: &'a [String],
    /// User-defined congestion controls, in addition to the built-in ones. A spec names them in
    /// `transports.NAME.cc`; they take precedence and have no parameters there.
    pub custom_algorithms: &'a [Arc<dyn AlgorithmFactory>],
    /// The folder at which relative paths in the spec start. By default, and in overrides, they
    /// start at the working directory.
    pub folder: Option<&'a Path>,
    /// Run the experiment even if it needs more memory than the machine has free.
    pub force: bool,
}

impl Experiment {
    /// Reads a spec, applies the overrides (`"a.b[0].c=value"`, in order) and checks everything:
    /// types, ranges, names, the topology, hosts and links. The spec is TOML, or JSON if its first
    /// character is `{`.
    ///
    /// # Errors
    /// Returns the first error: the path of the field, the given value and the allowed ones.
    pub fn parse(text: &str, overrides: &[String]) -> Result<Self, SpecError> {
        Self::read(
            text,
            &ReadOptions {
                overrides,
                ..ReadOptions::default()
            },
        )
    }

    /// Reads a spec like [`parse`](Self::parse), with all options.
    ///
    /// # Errors
    /// Returns the errors of [`parse`](Self::parse), and an error if the network needs more memory
    /// than the machine has free, unless forced.
    pub fn read(text: &str, options: &ReadOptions<'_>) -> Result<Self, SpecError> {
        let mut table = read_table(text)?;
        if let Some(folder) = options.folder {
            // Absolute paths, so that the resolved spec is the same experiment from any folder.
            files::resolve_paths(
                &mut table,
                &std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            );
        }
        for assignment in options.overrides {
            apply_override(&mut table, assignment)?;
        }
        let memory = if options.force {
            MemoryBudget::Unlimited
        } else {
            MemoryBudget::Available
        };
        let spec = Spec::from_table(&table)
            .and_then(|spec| resolve(&spec, options.custom_algorithms, memory))
            .map_err(|error| hints::suggest_tables(error, &table))?
            .plan
            .spec;
        let json = serde_json::to_value(weft_spec::to_table(&spec))
            .map_err(|error| SpecError::new("", error.to_string(), "values of JSON"))?;
        Ok(Self {
            spec,
            json,
            custom_algorithms: options.custom_algorithms.to_vec(),
            memory,
        })
    }

    /// Returns the name of the spec.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Returns the resolved spec, with every default filled in. If it is parsed, it gives an equal
    /// experiment.
    pub fn spec(&self) -> &serde_json::Value {
        &self.json
    }

    /// Returns the level at which the experiment runs.
    pub fn level(&self) -> &str {
        &self.spec.level
    }

    /// Returns the resolved spec.
    pub(crate) fn checked(&self) -> &Spec {
        &self.spec
    }

    /// Measures the packet engine without a transport, on at most `threads` threads: with the network and the
    /// flows of the experiment, and constant windows. Stops early once `goes_on` returns false.
    ///
    /// # Errors
    /// Returns an error if a path is too long for the engine, or if the spec no longer resolves.
    pub fn measure_engine(
        &self,
        threads: usize,
        goes_on: impl FnMut() -> bool,
    ) -> Result<EngineSpeed, Error> {
        let Resolved { plan, .. } = resolve(&self.spec, &self.custom_algorithms, self.memory)?;
        constant_windows::measure(plan, threads, goes_on)
    }

    /// Runs the experiment. `on_progress` is called about every 50 to 100 ms of wall-clock time and
    /// at the end. If it breaks, the run stops and its tables so far are marked as partial.
    ///
    /// # Errors
    /// Returns [`Error::Option`], [`Error::CannotRun`], [`Error::Unsupported`] and
    /// [`Error::MissingRequirement`] of the level, and [`Error::Internal`] if conservation does not
    /// hold.
    pub fn run(
        &self,
        options: RunOptions,
        on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RunResult, Error> {
        let (result, _) = self.execute(options, None, on_progress)?;
        Ok(result)
    }

    /// Runs the experiment and writes its tables and manifest to a new folder, like
    /// [`RunResult::write`]. Rows are written as soon as their flow or job has finished, so a long
    /// run needs no more memory than a short one. Flows and jobs are in the order in which they
    /// finished. The folder gets its name when [`UnsavedRun::keep`] is called.
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run), and [`Error::Output`] if `dir` exists and is not
    /// an empty folder, or cannot be written.
    pub fn run_into(
        &self,
        dir: &Path,
        options: RunOptions,
        on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<UnsavedRun, Error> {
        let (result, folder) = self.execute(options, Some(Folder::begin(dir)?), on_progress)?;
        let manifest = result.manifest;
        Ok(UnsavedRun { manifest, folder })
    }

    /// Checks that the run fits into memory, and starts it.
    fn prepare(&self, options: RunOptions, streaming: bool) -> Result<Prepared, Error> {
        let Resolved {
            backend,
            plan,
            classes,
            stop,
            warnings,
        } = resolve(&self.spec, &self.custom_algorithms, self.memory)?;
        let needed = backend.estimate_run_bytes(&plan, streaming, self.memory.bytes());
        self.memory
            .check(needed)
            .map_err(|error| Error::Memory(error.to_string()))?;
        let writer = ResultWriter::new(
            &plan,
            TableContext::new(&plan, &classes.names, backend.provides()),
            plan.transports
                .iter()
                .map(|transport| backend.wire_format(transport))
                .collect(),
            None,
        );
        Ok(Prepared {
            backend,
            throughput: ThroughputRecorders::new(&plan),
            run: backend.start(plan, options)?,
            writer,
            classes,
            stop,
            warnings,
        })
    }

    /// Executes the run at its level. The tables do not contain rows that were written to the
    /// folder during the run.
    fn execute(
        &self,
        options: RunOptions,
        folder: Option<Folder>,
        mut on_progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(RunResult, Option<Folder>), Error> {
        check_threads(options.threads)?;
        let Prepared {
            backend,
            run,
            throughput,
            mut writer,
            classes,
            stop,
            warnings,
        } = self.prepare(options, folder.is_some())?;
        writer.folder = folder;
        let began = Instant::now();
        let duration = self.spec.duration;
        let mut run_loop = RunLoop::new(run, throughput, duration, stop, began);
        loop {
            let progress = match run_loop.step(&mut writer)? {
                Step::Continue => continue,
                Step::Report(progress) => progress,
                Step::End => break,
            };
            if on_progress(&progress).is_break() {
                break;
            }
            if run_loop.stopped.is_some() {
                break;
            }
        }
        run_loop.finish_throughput();
        let RunLoop {
            run,
            stopped,
            throughput,
            ..
        } = run_loop;
        let wall_seconds = began.elapsed().as_secs_f64();
        let (more_warnings, manifest_entries) = (run.warnings(), run.manifest_entries());
        let threads = run.threads();
        let mut outcome = match run.finish()? {
            RunOutput::Records(outcome) => *outcome,
            RunOutput::Tables(mut result) => {
                add_warnings(&mut result, &warnings);
                let mut folder = writer.folder;
                if let Some(folder) = &mut folder {
                    folder.append(&result.tables)?;
                }
                return Ok((result, folder));
            }
        };
        outcome.throughput = throughput.into_records();
        let tables = writer.finish(&outcome)?;
        let summary = RunSummary {
            unfinished: Unfinished::from_tables(&tables),
            warnings: [
                warnings,
                classes.warnings(&writer.classes_seen),
                writer.warnings(outcome.end),
                more_warnings,
            ]
            .concat(),
            outcome,
            stopped,
            wall_seconds,
            provided: backend.provides(),
            manifest_entries,
        };
        let manifest = manifest(&self.spec, &self.json, threads, &summary, &writer.row_counts);
        Ok((RunResult { tables, manifest }, writer.folder))
    }
}

/// A run that is about to begin, and the data that its tables need.
struct Prepared {
    backend: &'static dyn Backend,
    run: Box<dyn ActiveRun>,
    throughput: ThroughputRecorders,
    writer: ResultWriter,
    classes: ClassNames,
    stop: Option<(u32, u64)>,
    /// Warnings about the spec.
    warnings: Vec<String>,
}

/// Adds warnings about the spec to the result of another process, which gets a resolved spec.
fn add_warnings(result: &mut RunResult, warnings: &[String]) {
    if let Some(all) = result.manifest["warnings"].as_array_mut() {
        all.splice(0..0, warnings.iter().cloned().map(Into::into));
    }
}

/// Checks the number of threads, if it is given.
fn check_threads(threads: Option<usize>) -> Result<(), Error> {
    match threads {
        Some(given) if !(1..=MAX_THREADS).contains(&given) => Err(Error::Option {
            option: "threads",
            value: given.to_string(),
            allowed: "1 to 1024",
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use weft_run::Outcome;
    use weft_spec::Time;

    use super::*;

    const TEXT: &str = r#"
        name = "shared"
        duration = "5ms"
        topology = { kind = "many-to-one", senders = 3, rate = "1Gbps", delay = "5us" }
        queues = { limit = "20 packets", mark = "5 packets" }
        transports.lia = { cc = "lia", subflows = 3 }
        transports.dctcp.cc = "dctcp"
        traffic = [
            { kind = "bulk", transport = "lia", from = "h0", to = "r0" },
            { kind = "incast", transport = "dctcp", flows = 3, size = "50KB", interval = "2ms", rounds = 2, jitter = "5us" },
        ]
        probes = [{ kind = "queue", at = ["s0->r0"], interval = "70us" }, { kind = "flow", interval = "130us" }]
    "#;

    /// Returns the outcome of the experiment above if it is cut at these times (and at its end).
    fn outcome(cuts: &[u64]) -> Outcome {
        let mut table = read_table(TEXT).unwrap();
        apply_override(&mut table, "seed=3").unwrap();
        let Resolved { backend, plan, .. } =
            resolve(&Spec::from_table(&table).unwrap(), &[], MemoryBudget::Unlimited).unwrap();
        let duration = plan.spec.duration;
        let options = RunOptions {
            threads: Some(1),
            trace_hash: true,
        };
        let mut run = backend.start(plan, options).unwrap();
        for &cut in cuts {
            run.run_until(Time(cut)).unwrap();
        }
        run.run_until(duration).unwrap();
        let RunOutput::Records(outcome) = run.finish().unwrap() else {
            panic!("the packet level has records")
        };
        *outcome
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn where_a_run_is_cut_changes_nothing(mut cuts in prop::collection::vec(0u64..5_000_000_000, 0..30)) {
            cuts.sort_unstable();
            let (whole, mut cut) = (outcome(&[]), outcome(&cuts));
            cut.counters.windows = whole.counters.windows; // cuts change their number
            prop_assert_eq!(whole, cut);
        }
    }
}
