//! The Python face of the laboratory: `weft._weft`, which only translates. Texts cross the border as JSON, tables as
//! Arrow; `_weft.pyi` types what is here and `weft.api` is what people use.

#![allow(clippy::needless_pass_by_value)] // pyo3 extracts owned arguments

mod error;
mod experiment;
mod panic;
mod run;
mod table;

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
    use crate::experiment::{Experiment, Progress};
    #[pymodule_export]
    use crate::panic::{last_panic, record_panics};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::{registry, schema};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Everything that can be chosen in a spec, as JSON: lists of `{"name", "about"}` by what is chosen.
#[pyfunction]
fn registry() -> String {
    serde_json::json!(weft_lab::registry()).to_string()
}

/// The JSON Schema of a spec.
#[pyfunction]
fn schema() -> String {
    weft_lab::schema().to_string()
}
