//! The first step of a reload: the installed program says whether it accepts the configuration, and the kernel its BPF programs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::successor::{installed, kept};
use crate::Failure;
use crate::config::refuse_if_others_write;

/// A check that runs while the daemon goes on serving.
pub(super) struct Check {
    program: PathBuf,
    child: Child,
    /// File with what the program reports.
    report: PathBuf,
    deadline: Instant,
}

impl Check {
    /// Starts the installed program.
    ///
    /// # Errors
    /// Returns an error if others can replace the program, or if there could be no rollback.
    pub fn start(config: Option<&Path>, folder: &Path) -> Result<Self, Failure> {
        // A rollback needs it.
        kept(folder)?;
        Self::start_program(installed(), config, folder, MAX_DURATION)
    }

    fn start_program(
        program: PathBuf,
        config: Option<&Path>,
        folder: &Path,
        limit: Duration,
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", program.display()));
        refuse_if_others_write(&program)
            .map_err(|why| Failure::Failed(format!("{}: {why}", program.display())))?;
        let report = folder.join("check.log");
        let mut check = Command::new(&program);
        check
            .args(["run", "--check", "--load"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&report).map_err(Failure::about(report.display()))?);
        if let Some(config) = config {
            check.arg("--config").arg(config);
        }
        let child = check.spawn().map_err(failed)?;
        Ok(Self {
            program,
            child,
            report,
            deadline: Instant::now() + limit,
        })
    }

    /// Returns the outcome once there is one; does not wait.
    pub fn poll(&mut self) -> Option<Result<(), Failure>> {
        let failed = |why: String| Some(Err(Failure::Failed(format!("{}: {why}", self.program.display()))));
        match self.child.try_wait() {
            Ok(Some(status)) if status.success() => Some(Ok(())),
            Ok(Some(status)) => {
                let report = fs::read(&self.report).unwrap_or_default();
                let report = String::from_utf8_lossy(&report);
                failed(format!(
                    "{status}: {}",
                    report.lines().last().unwrap_or("no message")
                ))
            }
            Ok(None) if Instant::now() < self.deadline => None,
            Ok(None) => failed("its check took too long".to_owned()),
            Err(error) => failed(error.to_string()),
        }
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.report);
    }
}

/// Maximum duration of a check: the verifier takes about a second for each program on a slow machine.
const MAX_DURATION: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(folder: &Path, text: &str, mode: u32) -> PathBuf {
        let program = folder.join("weftd");
        fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        program
    }

    fn outcome(mut check: Check) -> Result<(), String> {
        loop {
            if let Some(outcome) = check.poll() {
                return outcome.map_err(|failure| failure.to_string());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_check_that_hangs_fails_after_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let run = |text: &str, limit| {
            let program = script(folder.path(), text, 0o755);
            let check = Check::start_program(program, None, folder.path(), limit);
            let mut check = check.unwrap();
            let began = Instant::now();
            let _ = check.poll();
            assert!(began.elapsed() < Duration::from_secs(1), "it does not wait");
            outcome(check)
        };
        let long = Duration::from_secs(60);
        assert_eq!(run("exit 0", long), Ok(()));
        let refused = run("echo no >&2; exit 2", long).unwrap_err();
        assert!(refused.ends_with(": no"), "{refused}");
        let slow = run("exec sleep 60", Duration::from_millis(200)).unwrap_err();
        assert!(slow.ends_with("its check took too long"), "{slow}");
    }

    #[test]
    fn a_program_that_others_may_replace_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let program = script(folder.path(), "exit 0", 0o777);
        let limit = Duration::from_secs(1);
        let Err(refused) = Check::start_program(program, None, folder.path(), limit) else {
            panic!("it was started");
        };
        assert!(refused.to_string().contains("mode 777"), "{refused}");
    }

    /// The check and the trial follow the link one after the other.
    #[test]
    fn a_link_that_others_may_replace_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let program = script(folder.path(), "exit 0", 0o755);
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        let link = open.join("weftd");
        std::os::unix::fs::symlink(&program, &link).unwrap();
        let through = folder.path().join("link");
        std::os::unix::fs::symlink("open/weftd", &through).unwrap();
        let start = |program: &Path| {
            let limit = Duration::from_secs(10);
            Check::start_program(program.to_owned(), None, folder.path(), limit).map(outcome)
        };
        assert_eq!(start(&through).unwrap(), Ok(()));
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        for link in [&link, &through] {
            let refused = start(link).unwrap_err().to_string();
            assert!(
                refused.contains("its folder") && refused.contains("mode 777"),
                "{refused}"
            );
        }
    }
}
