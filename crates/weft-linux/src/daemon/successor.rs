//! The program that takes over at a reload: what is installed under this one's name by then.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Failure;

/// Set for a process that another weftd has become.
const SUCCESSOR: &str = "WEFTD_SUCCESSOR";

/// Has this process been another weftd before?
pub(super) fn is_one() -> bool {
    std::env::var_os(SUCCESSOR).is_some()
}

/// Does the successor understand the configuration, and does this kernel take its programs?
pub(super) fn check(config: Option<&Path>) -> Result<(), Failure> {
    let program = program();
    let mut check = Command::new(&program);
    check.args(["run", "--check", "--load"]).stdin(Stdio::null());
    if let Some(config) = config {
        check.arg("--config").arg(config);
    }
    let output = check.output().map_err(Failure::about(program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().last().unwrap_or("it says nothing");
    Err(Failure::Failed(format!(
        "{}: {}: {said}",
        program.display(),
        output.status
    )))
}

/// Becomes it; returns only if that fails.
pub(super) fn become_it() -> Failure {
    let program = program();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let error = Command::new(&program).args(arguments).env(SUCCESSOR, "1").exec();
    Failure::about(program.display())(error)
}

/// By the path that this one was started with, for the file may be another by now.
fn program() -> PathBuf {
    let started = std::env::args_os().next().map(PathBuf::from);
    let started = started.filter(|path| path.is_absolute());
    started
        .or_else(|| std::env::current_exe().ok())
        .unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}
