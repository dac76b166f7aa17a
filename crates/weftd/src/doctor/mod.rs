//! Requirements that this machine lacks, each with the command that fixes it.

mod kernel;
mod network;
mod offloads;

pub use kernel::missing_capabilities;

use std::fmt;

use serde::Serialize;

use crate::Failure;
use crate::daemon;
use crate::status::{self, Status};
use weft_kernel::path_manager::Namespace;

/// All findings.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Results of the checks, in the order of their importance.
    pub findings: Vec<Finding>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name of the check.
    pub check: &'static str,
    /// The examined network namespace; empty for the doctor's own, `None` if the finding is about the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// State of the checked item.
    pub state: State,
    /// The state of the machine, and the problem with it.
    pub detail: String,
    /// The command that fixes it.
    pub fix: Option<String>,
}

/// State of a checked item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The item works.
    Good,
    /// The item works worse than it could, or not in every case.
    Warning,
    /// The item does not work.
    Failure,
}

impl Report {
    /// Returns true if a check failed.
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
            namespace: None,
            state: State::Good,
            detail: detail.into(),
            fix: None,
        }
    }

    fn warning(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            check,
            namespace: None,
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

/// Runs all checks, in `namespace` if it is set, otherwise in the network namespaces that a running daemon manages.
///
/// # Errors
/// There is no such namespace.
pub fn run_checks(namespace: Option<&Namespace>) -> Result<Report, Failure> {
    if let Some(namespace) = namespace.filter(|namespace| !namespace.is_namespace()) {
        return Err(Failure::Input(format!(
            "--namespace: {}: not a network namespace; allowed: a name that `ip netns` lists, or an absolute path",
            namespace.path().display()
        )));
    }
    let answer = status::ask(&daemon::socket(&daemon::folder()));
    let is_hidden = matches!(answer, Err(Failure::Missing(_)));
    let status = answer.ok();
    let mut findings = kernel::findings(status.as_ref(), is_hidden);
    let namespaces = match namespace {
        Some(namespace) => vec![namespace.clone()],
        None => namespaces(status.as_ref()),
    };
    for namespace in namespaces {
        let name = namespace.path().display().to_string();
        let found = network::findings(&namespace, status.as_ref()).into_iter();
        let found = found.chain([offloads::finding(&namespace)]);
        findings.extend(found.map(|finding| Finding {
            namespace: Some(name.clone()),
            ..finding
        }));
    }
    Ok(Report { findings })
}

/// The namespaces that a daemon serves, if it runs in the caller's namespace; otherwise that one. The command
/// `ip netns exec NAME weftd doctor` is about NAME.
fn namespaces(status: Option<&Status>) -> Vec<Namespace> {
    let own = Namespace::current();
    let of_daemon = |status: &&Status| {
        let path = format!("/proc/{}/ns/net", status.process);
        Namespace::named(path).inode() == own.inode()
    };
    let served = status.filter(of_daemon).into_iter();
    let served = served.flat_map(|status| status.namespaces.iter().filter(|namespace| namespace.served));
    let served = served.map(|namespace| match namespace.name.as_str() {
        "" => Namespace::current(),
        path => Namespace::named(path),
    });
    let served: Vec<_> = served.take(MAX_NAMESPACES).collect();
    if served.is_empty() { vec![own] } else { served }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = &None;
        for Finding {
            check,
            namespace,
            state,
            detail,
            fix,
        } in &self.findings
        {
            if let Some(name) = namespace
                && last != namespace
                && !name.is_empty()
            {
                writeln!(f, "\nnetwork namespace {}", printable(name))?;
            }
            last = namespace;
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

/// Served namespaces that one report is about; `--namespace` names others.
const MAX_NAMESPACES: usize = 32;

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
