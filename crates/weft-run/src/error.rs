//! Errors between a spec and its results.

use std::path::PathBuf;

use weft_spec::SpecError;

/// The reason why there are no results. The message is one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The spec is invalid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The spec is valid, but the run as a whole cannot be simulated.
    #[error("this experiment cannot be simulated: {0}")]
    CannotRun(String),
    /// The spec is valid, but the run does not fit into the machine's memory.
    #[error("this experiment {0}; use fewer concurrent flows, fewer subflows or a smaller network")]
    Memory(String),
    /// The spec is valid, but its level does not support it: the field, its value, the allowed
    /// values.
    #[error("{0}")]
    Unsupported(String),
    /// This machine lacks something that the level needs.
    #[error("{0}")]
    MissingRequirement(String),
    /// An option of the run (not of the spec) is out of range.
    #[error("{option}: {value}; allowed: {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// The value that was given.
        value: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// The results cannot be written.
    #[error("{}: {problem}", path.display())]
    Output {
        /// File or folder.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// The simulator contradicts itself: a bug.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

impl Error {
    /// Returns true if the user can correct the error. (A command then exits with code 2.)
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Error::Internal(_))
    }
}
