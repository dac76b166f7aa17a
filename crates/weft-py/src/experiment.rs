//! An experiment that was checked in full, and a run of it without the interpreter's lock.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyType;
use weft_lab::{ReadOptions, RunOptions, SpecError};

use crate::congestion_control::{Raised, factory};
use crate::error;
use crate::run::Run;

/// How far a run is.
#[pyclass(frozen, get_all, module = "weft._weft")]
pub struct Progress {
    /// Simulated time over the experiment's duration, 0 to 1.
    fraction: f64,
    /// Simulated seconds.
    simulated: f64,
    /// Packets over links so far.
    packet_hops: u64,
    /// Wall-clock seconds so far.
    wall_seconds: f64,
}

/// A checked experiment.
#[pyclass(frozen, module = "weft._weft")]
pub struct Experiment {
    inner: weft_lab::Experiment,
    /// Of congestion control written in Python, if there is any.
    raised: Option<Arc<Raised>>,
}

#[pymethods]
impl Experiment {
    /// Reads a spec in TOML, or in JSON when the first character is `{`, applies the overrides `"a.b[0].c=value"` in
    /// order and checks everything. Relative paths in the text start at `folder`. With `force` it may need more memory than
    /// the machine has free. `algorithms` are congestion controls written in Python: class, name, echo, overridden methods.
    /// Raises `SpecError`.
    #[staticmethod]
    #[pyo3(signature = (text, overrides = Vec::new(), folder = None, force = false, algorithms = Vec::new()))]
    fn parse(
        py: Python<'_>,
        text: &str,
        overrides: Vec<String>,
        folder: Option<PathBuf>,
        force: bool,
        algorithms: Vec<(Py<PyType>, String, String, Vec<String>)>,
    ) -> PyResult<Self> {
        let raised = Arc::new(Raised::default());
        let own = algorithms
            .into_iter()
            .map(|(class, name, echo, overridden)| factory(class, name, &echo, &overridden, &raised))
            .collect::<PyResult<Vec<_>>>()?;
        let reading = ReadOptions {
            overrides: &overrides,
            folder: folder.as_deref(),
            force,
            custom_algorithms: &own,
        };
        let inner = py.detach(|| weft_lab::Experiment::read(text, &reading));
        let inner = inner.map_err(|e| error::spec_error(&e))?;
        if !own.is_empty() && inner.level() != "packet" {
            let given = format!("{:?} beside congestion control in Python", inner.level());
            return Err(error::spec_error(&SpecError::new("level", given, "\"packet\"")));
        }
        let raised = (!own.is_empty()).then_some(raised);
        Ok(Self { inner, raised })
    }

    /// The resolved spec as JSON: every default filled in.
    fn spec(&self) -> String {
        self.inner.spec().to_string()
    }

    /// Runs the experiment without holding the interpreter's lock, unless congestion control is written in Python: then it keeps
    /// the lock, on one thread. `on_progress` is called some ten times a second; when it
    /// returns `False`, and on Ctrl-C in the main thread, the run stops and yields its tables so far, marked partial.
    /// With threads None the run chooses their number. With a folder, tables and manifest go there while the experiment runs, and what is returned has no tables.
    /// Raises `RunError`, `OutputError`, `InternalError` and whatever `on_progress` raises.
    #[pyo3(signature = (threads = Some(1), trace_hash = false, on_progress = None, folder = None))]
    fn run(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        trace_hash: bool,
        on_progress: Option<Py<PyAny>>,
        folder: Option<PathBuf>,
    ) -> PyResult<Run> {
        let threads = match threads {
            Some(1) | None if self.raised.is_some() => Some(1),
            Some(given) if self.raised.is_some() => {
                let line = format!("threads: {given} beside congestion control in Python; allowed: 1");
                return Err(error::run_error(line));
            }
            other => other,
        };
        let options = RunOptions { threads, trace_hash };
        let mut raised = None;
        let simulate = || {
            let on_progress = |progress: &weft_lab::Progress| match Python::attach(|py| {
                go_on(py, on_progress.as_ref(), progress)
            }) {
                Ok(true) if self.raised.as_ref().is_none_or(|own| !own.any()) => ControlFlow::Continue(()),
                Ok(_) => ControlFlow::Break(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            };
            match folder {
                None => self.inner.run(options, on_progress).map(Outcome::InMemory),
                Some(folder) => self
                    .inner
                    .run_into(&folder, options, on_progress)
                    .map(Outcome::OnDisk),
            }
        };
        let outcome = match &self.raised {
            // Handing the lock back and forth at every event would cost more than the events.
            Some(own) => {
                let outcome = simulate();
                raised = own.take().or(raised);
                outcome
            }
            None => py.detach(simulate),
        };
        if let Some(error) = raised {
            return Err(error);
        }
        let run = outcome.and_then(|outcome| match outcome {
            Outcome::InMemory(run) => Ok(run),
            Outcome::OnDisk(written) => {
                let manifest = written.manifest.clone();
                let tables = Vec::new();
                py.detach(|| written.keep())?;
                Ok(weft_lab::RunResult { tables, manifest })
            }
        });
        run.map(Run::new).map_err(|e| error::error(&e))
    }
}

/// Where a run's tables are.
enum Outcome {
    InMemory(weft_lab::RunResult),
    OnDisk(weft_lab::UnsavedRun),
}

/// Shall the run go on? Signals only reach Python code, which does not run meanwhile, so they are looked at here.
fn go_on(py: Python<'_>, on_progress: Option<&Py<PyAny>>, progress: &weft_lab::Progress) -> PyResult<bool> {
    let asked = py.check_signals().and_then(|()| {
        let Some(on_progress) = on_progress else {
            return Ok(true);
        };
        let progress = Progress {
            fraction: progress.fraction,
            simulated: progress.simulated.seconds(),
            packet_hops: progress.packet_hops,
            wall_seconds: progress.wall_seconds,
        };
        let answer = on_progress.call1(py, (progress,))?;
        Ok(answer.is_none(py) || answer.is_truthy(py)?)
    });
    match asked {
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(false),
        other => other,
    }
}
