//! A table handed to Python through the Arrow `PyCapsule` interface, without copying.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table of a run. Every library with Arrow's C stream interface can read it:
/// `polars.DataFrame(table)`.
#[pyclass(frozen, module = "weft._weft")]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// Wraps a batch; its columns are shared, not copied.
    pub fn new(batch: RecordBatch) -> Self {
        Self { batch }
    }
}

#[pymethods]
impl Table {
    /// Number of rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The table as a capsule that holds an `ArrowArrayStream` of one batch. A requested schema may
    /// be ignored (Arrow's `PyCapsule` interface), and is.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
