//! The results of a run.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error;
use crate::table::Table;

/// Tables and manifest of a run.
#[pyclass(frozen, module = "weft._weft")]
pub struct Run {
    inner: weft_lab::RunResult,
}

impl Run {
    /// Wraps a run.
    pub fn new(inner: weft_lab::RunResult) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl Run {
    /// The tables by name.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for (name, batch) in &self.inner.tables {
            tables.set_item(name, Table::new(batch.clone()))?;
        }
        Ok(tables)
    }

    /// The manifest as JSON.
    fn manifest(&self) -> String {
        self.inner.manifest.to_string()
    }

    /// Writes `TABLE.parquet` for each table and `manifest.json` into a new folder, all or nothing.
    /// Raises `OutputError`.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| self.inner.write(&folder))
            .map_err(|e| error::error(&e))
    }
}
