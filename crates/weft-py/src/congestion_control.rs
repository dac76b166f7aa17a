//! Congestion control written in Python: the events of `weft-cc` become calls of a user's methods.
//!
//! Methods that a class does not override cost no call, because the base class is Reno and Reno is
//! native. A call gets copies of the connection's windows; afterwards `cwnd`, `ssthresh` and
//! `active` are copied back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use weft_cc::{Algorithm, AlgorithmFactory, CongestionControl, Echo, slow_start};

/// A subflow's window during an event.
#[pyclass(module = "weft._weft")]
pub struct Window {
    inner: weft_cc::Window,
}

#[pymethods]
impl Window {
    /// Congestion window in packets of one MSS. The transport sends while fewer than `floor(cwnd)`
    /// are in flight. Below 1, a packet at a time leaves every `srtt / cwnd`.
    #[getter]
    fn cwnd(&self) -> f64 {
        self.inner.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, packets: f64) -> PyResult<()> {
        if !(packets > 0.0 && packets.is_finite()) {
            let line = format!("cwnd: {packets}; allowed: a number of packets above 0");
            return Err(PyValueError::new_err(line));
        }
        self.inner.cwnd = packets;
        Ok(())
    }

    /// Slow-start threshold in packets; infinite before the first cut, unless the profile says
    /// otherwise.
    #[getter]
    fn ssthresh(&self) -> f64 {
        self.inner.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, packets: f64) -> PyResult<()> {
        if packets.is_nan() || packets < 0.0 {
            let line = format!("ssthresh: {packets}; allowed: a number of packets, at least 0");
            return Err(PyValueError::new_err(line));
        }
        self.inner.ssthresh = packets;
        Ok(())
    }

    /// True if the scheduler may give this subflow new data.
    #[getter]
    fn active(&self) -> bool {
        self.inner.active
    }

    #[setter]
    fn set_active(&mut self, active: bool) {
        self.inner.active = active;
    }

    /// True if the subflow's handshake has completed and the subflow has not closed.
    #[getter]
    fn established(&self) -> bool {
        self.inner.established
    }

    /// True if the subflow is in fast recovery or recovers from a timeout.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.inner.in_recovery
    }

    /// Smoothed round-trip time in seconds; 0 before the first sample.
    #[getter]
    fn srtt(&self) -> f64 {
        self.inner.srtt
    }

    /// Smallest round-trip time seen, in seconds; 0 before the first sample.
    #[getter]
    fn min_rtt(&self) -> f64 {
        self.inner.min_rtt
    }

    /// `cwnd` before the last loss or timeout that may prove spurious; 0 before the first.
    #[getter]
    fn prior_cwnd(&self) -> f64 {
        self.inner.prior_cwnd
    }

    /// `ssthresh` before the last loss or timeout that may prove spurious; 0 before the first.
    #[getter]
    fn prior_ssthresh(&self) -> f64 {
        self.inner.prior_ssthresh
    }

    /// Slow start (RFC 5681, section 3.1): `cwnd` grows by a packet for each of `acked`, up to
    /// `ssthresh`. Returns the packets that are left for congestion avoidance, at most a window of
    /// them.
    fn slow_start(&mut self, acked: u32) -> f64 {
        f64::from(slow_start(&mut self.inner, acked)).min(self.inner.cwnd)
    }

    fn __repr__(&self) -> String {
        let active = if self.inner.active { "" } else { ", suppressed" };
        format!(
            "<Window cwnd={}, ssthresh={}{active}>",
            self.inner.cwnd, self.inner.ssthresh
        )
    }
}

/// A number of marks, or `None` if the class does not say whether it wants any.
#[derive(Clone, Copy, Debug)]
struct Marks(Option<u32>);

impl Marks {
    fn new(marked: u32, class: &PyAlgorithm) -> Self {
        Self(class.sets_echo.then_some(marked))
    }

    /// Returns the number.
    ///
    /// # Errors
    /// Returns an error if the class does not set `echo`. A 0 would be taken for a network without
    /// congestion.
    fn get(self) -> PyResult<u32> {
        self.0.ok_or_else(|| {
            let line = "marked: the class does not set `echo`, so its packets are never marked; \
                        set echo to \"classic\", \"dctcp\" or \"count\" for marks, or to \"off\"";
            PyValueError::new_err(line)
        })
    }
}

/// An acknowledgement.
#[pyclass(frozen, module = "weft._weft")]
pub struct Ack {
    /// Packets newly delivered; 0 for a plain duplicate.
    #[pyo3(get)]
    acked: u32,
    marked: Marks,
    /// True if the window may grow: not in fast recovery, not on a duplicate, and only if most of
    /// the window is used.
    #[pyo3(get)]
    may_grow: bool,
    /// RTT sample of the acknowledgement in seconds; None if it has none.
    #[pyo3(get)]
    rtt: Option<f64>,
    /// Seconds since the connection opened.
    #[pyo3(get)]
    now: f64,
}

impl Ack {
    fn new(ack: weft_cc::Ack, class: &PyAlgorithm) -> Self {
        Self {
            acked: ack.acked,
            marked: Marks::new(ack.marked, class),
            may_grow: ack.may_grow,
            rtt: (ack.rtt > 0.0).then_some(ack.rtt),
            now: ack.now.seconds(),
        }
    }
}

#[pymethods]
impl Ack {
    /// Packets that the acknowledgement reports as marked. Raises `ValueError` if the class does not
    /// set `echo`.
    #[getter]
    fn marked(&self) -> PyResult<u32> {
        self.marked.get()
    }
}

/// A round of a subflow.
#[pyclass(frozen, module = "weft._weft")]
pub struct Round {
    /// Packets acknowledged in the round.
    #[pyo3(get)]
    acked: u32,
    marked: Marks,
}

impl Round {
    fn new(round: weft_cc::Round, class: &PyAlgorithm) -> Self {
        Self {
            acked: round.acked,
            marked: Marks::new(round.marked, class),
        }
    }
}

#[pymethods]
impl Round {
    /// Number of these packets that were marked. Raises `ValueError` if the class does not set
    /// `echo`.
    #[getter]
    fn marked(&self) -> PyResult<u32> {
        self.marked.get()
    }
}

/// The methods that a class overrides.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a method")]
struct Overrides {
    open: bool,
    ack: bool,
    mark: bool,
    round: bool,
    loss: bool,
    timeout: bool,
    undo: bool,
    close: bool,
    pacing: bool,
}

/// The first exception of a run, after which no method is called any more.
#[derive(Debug, Default)]
pub struct FirstException {
    any: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

impl FirstException {
    /// Returns true if a method has raised an exception.
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Returns the exception, with its traceback; afterwards methods are called as before.
    pub fn take(&self) -> Option<PyErr> {
        self.any.store(false, Ordering::Relaxed);
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, error: PyErr) {
        self.any.store(true, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }
}

/// A user's class.
#[derive(Debug)]
struct PyAlgorithm {
    name: String,
    echo: Echo,
    /// Whether the class sets `echo`.
    sets_echo: bool,
    overrides: Overrides,
    object: Py<PyType>,
    exception: Arc<FirstException>,
}

/// Creates a factory of a user's class, which `weft.congestion_control` has checked: its name, the
/// echo that it sets, and the methods that it overrides. Without an echo its packets are not
/// ECN-capable, like those of the native Reno.
///
/// # Errors
/// Returns an error if there is no such echo.
pub fn factory(
    class: Py<PyType>,
    name: String,
    echo: Option<&str>,
    overridden: &[String],
    exception: &Arc<FirstException>,
) -> PyResult<Arc<dyn AlgorithmFactory>> {
    let sets_echo = echo.is_some();
    let echo = match echo {
        None | Some("off") => Echo::Off,
        Some("classic") => Echo::Classic,
        Some("dctcp") => Echo::Dctcp,
        Some("count") => Echo::Count,
        Some(echo) => {
            return Err(PyValueError::new_err(format!(
                "echo: {echo:?}; allowed: \"off\", \"classic\", \"dctcp\", \"count\""
            )));
        }
    };
    let has = |method: &str| overridden.iter().any(|name| name == method);
    let overrides = Overrides {
        open: has("on_open"),
        ack: has("on_ack"),
        mark: has("on_mark"),
        round: has("on_round"),
        loss: has("on_loss"),
        timeout: has("on_timeout"),
        undo: has("on_undo"),
        close: has("on_close"),
        pacing: has("pacing_rate"),
    };
    Ok(Arc::new(PyAlgorithmFactory(Arc::new(PyAlgorithm {
        name,
        echo,
        sets_echo,
        overrides,
        object: class,
        exception: Arc::clone(exception),
    }))))
}

/// A factory of connections of a user's class.
#[derive(Debug)]
struct PyAlgorithmFactory(Arc<PyAlgorithm>);

impl AlgorithmFactory for PyAlgorithmFactory {
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The user's object is created at the connection's first event, so that each connection has
    /// exactly one.
    fn new_connection(&self) -> Box<dyn CongestionControl + Send> {
        Box::new(PyConnection {
            class: Arc::clone(&self.0),
            // Classes may have windows with fractions of a packet.
            native: Algorithm::build("reno", &[("rfc_growth".to_owned(), 1.0)]).ok(),
            object: None,
        })
    }
}

/// The state of a connection.
struct PyConnection {
    class: Arc<PyAlgorithm>,
    /// The algorithm that handles events which the class does not override.
    native: Option<Algorithm>,
    object: Option<PyInstance>,
}

/// A user's object, and the windows that its methods get: as a tuple and individually.
struct PyInstance {
    instance: Py<PyAny>,
    tuple: Py<PyTuple>,
    windows: Vec<Py<Window>>,
}

impl PyInstance {
    fn new(py: Python<'_>, class: &Py<PyType>, w: &[weft_cc::Window]) -> PyResult<Self> {
        let window = |inner: &weft_cc::Window| Py::new(py, Window { inner: inner.clone() });
        let windows: Vec<_> = w.iter().map(window).collect::<PyResult<_>>()?;
        Ok(Self {
            instance: class.call0(py)?,
            tuple: PyTuple::new(py, &windows)?.unbind(),
            windows,
        })
    }

    fn copy_in(&self, py: Python<'_>, w: &[weft_cc::Window]) {
        for (window, inner) in self.windows.iter().zip(w) {
            window.borrow_mut(py).inner.clone_from(inner);
        }
    }

    fn copy_out(&self, py: Python<'_>, w: &mut [weft_cc::Window]) {
        for (window, inner) in self.windows.iter().zip(w) {
            let window = &window.borrow(py).inner;
            inner.cwnd = window.cwnd;
            inner.ssthresh = window.ssthresh;
            inner.active = window.active;
        }
    }
}

impl PyConnection {
    /// Calls a method of the user's object with the windows. A connection has the same number of
    /// subflows from its first event to its last.
    fn call(
        &mut self,
        w: &mut [weft_cc::Window],
        method: impl for<'py> FnOnce(&Bound<'py, PyAny>, &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        if self.class.exception.any() {
            return;
        }
        let called = Python::attach(|py| {
            let object = match &mut self.object {
                Some(object) => object,
                none => none.insert(PyInstance::new(py, &self.class.object, w)?),
            };
            object.copy_in(py, w);
            method(object.instance.bind(py), object.tuple.bind(py))?;
            object.copy_out(py, w);
            Ok(())
        });
        if let Err(error) = called {
            self.class.exception.set(error);
        }
    }
}

/// An event of [`CongestionControl`]: a call of the method if its class overrides the method, or
/// else Reno's.
macro_rules! event {
    ($event:ident, $overrides:ident, $method:literal $(, $argument:ident: $kind:ty => $convert:expr)*) => {
        fn $event(&mut self, w: &mut [weft_cc::Window], s: usize $(, $argument: $kind)*) {
            if self.class.overrides.$overrides {
                $(let $argument = $convert($argument, &self.class);)*
                self.call(w, |instance, w| instance.call_method1(intern!(instance.py(), $method), (w, s $(, $argument)*)));
            } else if let Some(native) = &mut self.native {
                native.$event(w, s $(, $argument)*);
            }
        }
    };
}

impl CongestionControl for PyConnection {
    fn echo(&self) -> Echo {
        self.class.echo
    }

    fn on_open(&mut self, w: &mut [weft_cc::Window], s: usize) {
        let Overrides { open, pacing, .. } = self.class.overrides;
        if open {
            self.call(w, |instance, w| {
                instance.call_method1(intern!(instance.py(), "on_open"), (w, s))
            });
        } else if let Some(native) = &mut self.native {
            native.on_open(w, s);
        }
        if pacing && !open {
            // Creates the object before the first packet.
            self.call(w, |instance, _| Ok(instance.clone()));
        }
    }

    event!(on_ack, ack, "on_ack", ack: weft_cc::Ack => Ack::new);
    event!(on_mark, mark, "on_mark");
    event!(on_round, round, "on_round", round: weft_cc::Round => Round::new);
    event!(on_fast_retransmit, loss, "on_loss");
    event!(on_timeout, timeout, "on_timeout", first: bool => |first, _| first);
    event!(on_undo, undo, "on_undo");
    event!(on_close, close, "on_close");

    fn pacing_rate(&self, w: &[weft_cc::Window], s: usize) -> Option<f64> {
        let object = self.object.as_ref()?;
        if !self.class.overrides.pacing || self.class.exception.any() {
            return None;
        }
        let rate = Python::attach(|py| {
            object.copy_in(py, w);
            let instance = object.instance.bind(py);
            let rate: Option<f64> = instance
                .call_method1(intern!(py, "pacing_rate"), (object.tuple.bind(py), s))?
                .extract()?;
            match rate {
                Some(rate) if rate.is_nan() || rate <= 0.0 => Err(PyValueError::new_err(format!(
                    "pacing_rate returned {rate}; return packets per second above 0, or None"
                ))),
                rate => Ok(rate),
            }
        });
        rate.unwrap_or_else(|error| {
            self.class.exception.set(error);
            None
        })
    }
}
