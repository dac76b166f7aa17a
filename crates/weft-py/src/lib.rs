//! The Python module `weft._weft`, which only translates between Python and the simulator. Texts
//! are passed as JSON, tables as Arrow. `_weft.pyi` has its types; users import `weft.api`.

#![allow(clippy::needless_pass_by_value)] // pyo3 extracts owned arguments

mod congestion_control;
mod error;
mod experiment;
mod panic;
mod run;
mod table;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Set up for huge pages in `.cargo/config.toml`.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// `weft._weft`.
#[pymodule]
mod _weft {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::congestion_control::{Ack, Round, Window};
    #[pymodule_export]
    use crate::experiment::{Experiment, Progress};
    #[pymodule_export]
    use crate::panic::{last_panic, record_panics};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::{equilibrium, max_min, registry, schema};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Everything that can be chosen in a spec, as JSON: lists of `{"name", "about"}` by what is
/// chosen.
#[pyfunction]
fn registry() -> String {
    serde_json::json!(weft_lab::registry()).to_string()
}

/// The JSON Schema of a spec.
#[pyfunction]
fn schema() -> String {
    weft_lab::schema().to_string()
}

/// Goodputs of subflows in bit/s and prices of links at the equilibrium of a congestion control,
/// and whether the search converged. Links have `capacities` bit/s and drop packets. A connection
/// is a list of paths, one for each subflow, which are lists of links; `rtts` has the round-trip
/// time of each subflow in seconds. Raises `ValueError`.
#[pyfunction]
fn equilibrium(
    py: Python<'_>,
    capacities: Vec<f64>,
    connections: Vec<Vec<Vec<u32>>>,
    rtts: Vec<f64>,
    cc: &str,
) -> PyResult<(Vec<f64>, Vec<f64>, bool)> {
    let found = py.detach(|| weft_lab::equilibrium(capacities, &connections, &rtts, cc));
    let found = found.map_err(PyValueError::new_err)?;
    Ok((found.goodputs, found.prices, found.converged))
}

/// Max-min fair rates of subflows on links of `capacities` bit/s, and the seconds that building the
/// network took and that solving it took. A connection is a list of paths, one for each subflow,
/// which are lists of links. Raises `ValueError`.
#[pyfunction]
fn max_min(
    py: Python<'_>,
    capacities: Vec<f64>,
    connections: Vec<Vec<Vec<u32>>>,
) -> PyResult<(Vec<f64>, f64, f64)> {
    let found = py.detach(|| weft_lab::max_min(capacities, &connections));
    let found = found.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((found.rates, found.building, found.solving))
}
