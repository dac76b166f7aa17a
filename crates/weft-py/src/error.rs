//! The laboratory's errors as Python exceptions of `weft.errors`.

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

/// A wrong spec.
pub fn spec_error(error: &SpecError) -> PyErr {
    python::SpecError::new_err(error.to_string())
}

/// An option of a run that it does not have.
pub fn run_error(line: String) -> PyErr {
    python::RunError::new_err(line)
}

/// Anything else.
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
