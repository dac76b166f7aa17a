//! Conversion of Weft's errors to the Python exceptions of `weft.errors`.

use pyo3::{PyErr, import_exception};
use weft_lab::{Error, SpecError};

mod python {
    use super::import_exception;
    import_exception!(weft.errors, InternalError);
    import_exception!(weft.errors, RequirementError);
    import_exception!(weft.errors, OutputError);
    import_exception!(weft.errors, RunError);
    import_exception!(weft.errors, SpecError);
}

/// Converts the error of a wrong spec.
pub fn spec_error(error: &SpecError) -> PyErr {
    python::SpecError::new_err(error.to_string())
}

/// Converts an error about an option of a run.
pub fn run_error(line: String) -> PyErr {
    python::RunError::new_err(line)
}

/// Converts any other error.
pub fn error(error: &Error) -> PyErr {
    let line = error.to_string();
    match error {
        Error::Spec(_) | Error::Unsupported(_) => python::SpecError::new_err(line),
        Error::CannotRun(_) | Error::Memory(_) | Error::Option { .. } => python::RunError::new_err(line),
        Error::MissingRequirement(_) => python::RequirementError::new_err(line),
        Error::Output { .. } => python::OutputError::new_err(line),
        Error::Internal(_) => python::InternalError::new_err(line),
    }
}
