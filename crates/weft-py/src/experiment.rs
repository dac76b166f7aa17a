//! An experiment that was checked completely, and a run of it without the interpreter's lock.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyType;
use weft_lab::{ReadOptions, RunOptions, SpecError};

use crate::congestion_control::{FirstException, factory};
use crate::error;
use crate::run::Run;

/// The progress of a run.
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
    /// The first exception of congestion control written in Python, if there is any.
    exception: Option<Arc<FirstException>>,
}

/// A congestion control written in Python: class, name, echo, overridden methods.
type PyClass = (Py<PyType>, String, Option<String>, Vec<String>);

#[pymethods]
impl Experiment {
    /// Reads a spec in TOML, or in JSON when the first character is `{`, applies the overrides
    /// `"a.b[0].c=value"` in order and checks everything. Relative paths in the text start at
    /// `folder`. With `force` it may need more memory than the machine has free. `algorithms` are
    /// congestion controls written in Python: class, name, echo, overridden methods. Raises
    /// `SpecError`.
    #[staticmethod]
    #[pyo3(signature = (text, overrides = Vec::new(), folder = None, force = false, algorithms = Vec::new()))]
    fn parse(
        py: Python<'_>,
        text: &str,
        overrides: Vec<String>,
        folder: Option<PathBuf>,
        force: bool,
        algorithms: Vec<PyClass>,
    ) -> PyResult<Self> {
        let exception = Arc::new(FirstException::default());
        let custom_algorithms = algorithms
            .into_iter()
            .map(|(class, name, echo, overridden)| {
                factory(class, name, echo.as_deref(), &overridden, &exception)
            })
            .collect::<PyResult<Vec<_>>>()?;
        let options = ReadOptions {
            overrides: &overrides,
            folder: folder.as_deref(),
            force,
            custom_algorithms: &custom_algorithms,
        };
        let inner = py.detach(|| weft_lab::Experiment::read(text, &options));
        let inner = inner.map_err(|e| error::spec_error(&e))?;
        if !custom_algorithms.is_empty() && inner.level() != "packet" {
            let given = format!("{:?} with congestion control in Python", inner.level());
            return Err(error::spec_error(&SpecError::new("level", given, "\"packet\"")));
        }
        let exception = (!custom_algorithms.is_empty()).then_some(exception);
        Ok(Self { inner, exception })
    }

    /// The resolved spec as JSON: every default filled in.
    fn spec(&self) -> String {
        self.inner.spec().to_string()
    }

    /// Runs the experiment without holding the interpreter's lock, unless a congestion control is
    /// written in Python: then it keeps the lock, on one thread. `on_progress` is called about ten
    /// times per second. The run stops if it returns `False`, and on Ctrl-C in the main thread, and
    /// yields its tables so far, marked as partial. If `threads` is None, the run chooses their
    /// number. With a folder, tables and manifest go there while the experiment runs, and the
    /// result has no tables. Raises `RunError`, `OutputError`, `InternalError` and the exceptions
    /// of `on_progress`.
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
            Some(1) | None if self.exception.is_some() => Some(1),
            Some(given) if self.exception.is_some() => {
                let line = format!("threads: {given} with congestion control in Python; allowed: 1");
                return Err(error::run_error(line));
            }
            other => other,
        };
        let options = RunOptions { threads, trace_hash };
        let mut exception = None;
        let simulate = || {
            let on_progress = |progress: &weft_lab::Progress| match Python::attach(|py| {
                should_continue(py, on_progress.as_ref(), progress)
            }) {
                Ok(true) if self.exception.as_ref().is_none_or(|first| !first.any()) => {
                    ControlFlow::Continue(())
                }
                Ok(_) => ControlFlow::Break(()),
                Err(error) => {
                    exception = Some(error);
                    ControlFlow::Break(())
                }
            };
            match folder {
                None => self.inner.run(options, on_progress).map(StoredRun::InMemory),
                Some(folder) => self
                    .inner
                    .run_into(&folder, options, on_progress)
                    .map(StoredRun::OnDisk),
            }
        };
        let stored = match &self.exception {
            // Handing the lock back and forth at every event would cost more than the events.
            Some(first) => {
                let stored = simulate();
                exception = first.take().or(exception);
                stored
            }
            None => py.detach(simulate),
        };
        if let Some(error) = exception {
            return Err(error);
        }
        // Only the package knows the commit from which it was built.
        let version: String = py.import("weft.version")?.getattr("__version__")?.extract()?;
        let run = stored.and_then(|stored| match stored {
            StoredRun::InMemory(mut run) => {
                run.manifest["version"] = version.into();
                Ok(run)
            }
            StoredRun::OnDisk(mut unsaved) => {
                unsaved.manifest["version"] = version.into();
                let manifest = unsaved.manifest.clone();
                let tables = Vec::new();
                py.detach(|| unsaved.keep())?;
                Ok(weft_lab::RunResult { tables, manifest })
            }
        });
        run.map(Run::new).map_err(|e| error::error(&e))
    }

    /// Measures the packet engine without a transport, with the network and the flows of the experiment and with
    /// constant windows: packet-hops, and seconds without the set-up. Raises `RunError` and `KeyboardInterrupt`.
    fn measure_engine(&self, py: Python<'_>, threads: usize) -> PyResult<(u64, f64)> {
        let mut interrupt = None;
        let goes_on = || {
            interrupt = Python::attach(|py| py.check_signals().err());
            interrupt.is_none()
        };
        let measured = py.detach(|| self.inner.measure_engine(threads, goes_on));
        match interrupt {
            Some(error) => Err(error),
            None => measured
                .map(|speed| (speed.packet_hops, speed.seconds))
                .map_err(|e| error::error(&e)),
        }
    }
}

/// Storage of a run's tables.
enum StoredRun {
    InMemory(weft_lab::RunResult),
    OnDisk(weft_lab::UnsavedRun),
}

/// Returns true if the run is to continue. Signals only reach Python code, which does not run
/// during the simulation, so this function checks for them.
fn should_continue(
    py: Python<'_>,
    on_progress: Option<&Py<PyAny>>,
    progress: &weft_lab::Progress,
) -> PyResult<bool> {
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
