//! What is missing on this machine, and the command that mends it.

mod kernel;
mod network;
mod offloads;

pub use kernel::missing_capabilities;

use std::fmt;

use serde::Serialize;

use crate::path_manager::Namespace;

/// All findings.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// In the order in which they are worth reading.
    pub findings: Vec<Finding>,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How it is.
    pub state: State,
    /// What was found, and what is wrong with it.
    pub found: String,
    /// The command that mends it.
    pub mend: Option<String>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Good,
    /// Works, but not as well or not in every case.
    Warning,
    /// Does not work.
    Failure,
}

impl Report {
    /// Does anything not work?
    pub fn fails(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.state == State::Failure)
    }
}

impl Finding {
    fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Good,
            found: found.into(),
            mend: None,
        }
    }

    fn warning(check: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Warning,
            found: found.into(),
            mend: Some(mend.into()),
        }
    }

    fn failure(check: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            state: State::Failure,
            ..Self::warning(check, found, mend)
        }
    }
}

/// Looks at everything, as seen from a network namespace.
pub fn examine(namespace: &Namespace) -> Report {
    let mut findings = kernel::findings();
    findings.extend(network::findings(namespace));
    findings.push(offloads::finding(namespace));
    Report { findings }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding {
            check,
            state,
            found,
            mend,
        } in &self.findings
        {
            let state = match state {
                State::Good => "ok  ",
                State::Warning => "warn",
                State::Failure => "FAIL",
            };
            writeln!(f, "{state}  {check:<24} {found}")?;
            if let Some(mend) = mend {
                writeln!(f, "      {:<24} fix: {mend}", "")?;
            }
        }
        Ok(())
    }
}
