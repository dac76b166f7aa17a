//! What is missing on this machine, and the command that fixes it.

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
    /// What the check saw, and what is wrong with it.
    pub detail: String,
    /// The command that fixes it.
    pub fix: Option<String>,
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
    fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Good,
            detail: detail.into(),
            fix: None,
        }
    }

    fn warning(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Warning,
            detail: detail.into(),
            fix: Some(fix.into()),
        }
    }

    fn failure(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            state: State::Failure,
            ..Self::warning(check, detail, fix)
        }
    }
}

/// Looks at everything, as seen from a network namespace.
pub fn run_checks(namespace: &Namespace) -> Report {
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
            detail,
            fix,
        } in &self.findings
        {
            let state = match state {
                State::Good => "ok  ",
                State::Warning => "warn",
                State::Failure => "FAIL",
            };
            let detail = printable(detail);
            writeln!(f, "{state}  {check:<24} {detail}")?;
            if let Some(fix) = fix {
                writeln!(f, "      {:<24} fix: {}", "", printable(fix))?;
            }
        }
        Ok(())
    }
}

/// A text without control characters, which a namespace's device names may contain.
fn printable(text: &str) -> String {
    text.replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names_do_not_reach_the_terminal_as_they_are() {
        let finding = Finding::warning("offloads", "\u{1b}[2Jeth0: tso", "ethtool -K \u{7}eth0 tso off");
        let report = Report {
            findings: vec![finding],
        };
        let text = report.to_string();
        assert!(
            text.contains("?[2Jeth0: tso") && text.contains("-K ?eth0"),
            "{text}"
        );
    }
}
