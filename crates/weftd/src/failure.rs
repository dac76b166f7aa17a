//! Why a command ends early, and with which exit code.

/// One line for the user.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input of the user is not valid.
    #[error("{0}")]
    Input(String),
    /// The kernel or the caller's privileges lack something.
    #[error("{0}")]
    Missing(String),
    /// Something else went wrong.
    #[error("{0}")]
    Failed(String),
}

impl Failure {
    /// The process's exit code.
    pub fn code(&self) -> u8 {
        match self {
            Failure::Input(_) => 2,
            Failure::Missing(_) => 3,
            Failure::Failed(_) => 1,
        }
    }

    /// Turns an error into a failure about `what`.
    pub fn about<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Failure::Failed(format!("{what}: {error}"))
    }
}
