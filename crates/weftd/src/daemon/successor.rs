//! A reload: the program that is installed under this program's name takes over in the same process, after a trial.
//!
//! 1. The program that runs asks the next one whether it accepts the configuration and the kernel its BPF programs ([`Check`](super::check::Check)).
//! 2. It hands over and executes itself again, without threads or maps, to run the next one as a child: the trial
//!    ([`try_out`]). The child takes over everything, reports that it is ready, and has to run for some seconds.
//! 3. If the child fails, crashes or hangs, the old program starts again, with the configuration that it had. A child hangs
//!    if it is not ready within 30 s, or is silent for 10 s afterwards; nothing else is served meanwhile, except the status.
//!    The kernel's registrations outlast a child that crashes, because their pins are [kept](crate::attach::keep_pins).
//! 4. Otherwise the child hands over and ends, and the process becomes the next program, with the configuration of the trial.
//!
//! The process stays the same throughout, as systemd and containers expect.

use std::env;
use std::fs;
use std::io;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use sd_notify::NotifyState;
use tracing::{debug, info, warn};

use super::notify;
use crate::Failure;
use crate::config::Config;
use crate::status::{self, Status};

/// The stage of a reload that a process runs.
const STAGE: &str = "WEFTD_STAGE";
const OWN: &str = "/proc/self/exe";

/// The stage of a reload that a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The program was started normally.
    Started,
    /// The old program, which runs the next one on trial.
    Tries,
    /// The next program, on trial.
    OnTrial,
    /// The next program, after its trial.
    Passed,
}

/// The outcome of a trial that did not fail.
pub(super) enum Trial {
    Passed,
    /// A signal has ended the service, and the program on trial has restored the settings.
    Stopped,
    /// A signal has ended the service; the program on trial did not react and was killed.
    Killed,
}

impl Stage {
    /// The stage that the environment names.
    pub fn inherit() -> Self {
        let value = env::var(STAGE).unwrap_or_default();
        let stages = [Self::Tries, Self::OnTrial, Self::Passed];
        let stage = stages.into_iter().find(|stage| stage.name() == value);
        stage.unwrap_or(Self::Started)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Started => "",
            Self::Tries => "tries",
            Self::OnTrial => "on-trial",
            Self::Passed => "passed",
        }
    }

    /// Whether a failure at the start may end the process, because another process or a restart follows.
    pub fn is_strict(self) -> bool {
        matches!(self, Self::Started | Self::OnTrial)
    }

    /// The configuration to run with.
    pub fn configuration(self, path: Option<&Path>, folder: &Path) -> Result<Config, Failure> {
        match self {
            Self::Started | Self::OnTrial => Config::read(path),
            // A file that is gone or damaged must not end the service.
            Self::Tries | Self::Passed => kept(folder).or_else(|failure| {
                let mut config = Config::read(path)?;
                config.warnings.push(format!(
                    "{failure}; the file of the configuration is read instead"
                ));
                Ok(config)
            }),
        }
    }

    /// The signals that this process is controlled by; they are blocked from now on.
    pub fn signals(self) -> nix::Result<SignalFd> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGTERM);
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGHUP);
        if self == Self::OnTrial {
            signals.add(PASSED);
            // No trial without its supervisor.
            set_pdeathsig(Signal::SIGKILL)?;
        }
        signals.thread_block()?;
        if self == Self::Tries {
            // A reload that is requested meanwhile waits until the trial has ended.
            signals.remove(Signal::SIGHUP);
        }
        SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
    }
}

/// Saves the configuration with which a process runs, for the next stages. If that fails, the file keeps its contents.
pub(super) fn keep(config: &Config, folder: &Path) -> Result<(), Failure> {
    let file = file(folder);
    let failed = Failure::about(file.display());
    let text = match serde_json::to_vec(config) {
        Ok(text) => text,
        Err(error) => return Err(failed(error.into())),
    };
    if fs::read(&file).is_ok_and(|kept| kept == text) {
        return Ok(());
    }
    let new = file.with_extension("new");
    let saved = fs::write(&new, text).and_then(|()| fs::rename(&new, &file));
    if saved.is_err() {
        let _ = fs::remove_file(&new);
    }
    saved.map_err(failed)
}

pub(super) fn kept(folder: &Path) -> Result<Config, Failure> {
    let file = file(folder);
    let text = fs::read(&file).map_err(Failure::about(file.display()))?;
    serde_json::from_slice(&text).map_err(Failure::about(file.display()))
}

fn file(folder: &Path) -> PathBuf {
    folder.join("running.json")
}

/// Executes this program again, to run the next one on trial. Returns only if that fails.
pub(super) fn begin_trial() -> Failure {
    Failure::about(OWN)(again(Path::new(OWN), Stage::Tries).exec())
}

/// Becomes the next program; returns only if that fails.
pub(super) fn exec_successor() -> Failure {
    let program = installed();
    Failure::about(program.display())(again(&program, Stage::Passed).exec())
}

/// Runs the next program as a child. The error says why it did not pass; it has ended then.
pub(super) fn try_out(folder: &Path, signals: &SignalFd) -> Result<Trial, Failure> {
    let (program, words) = (installed(), folder.join("trial"));
    info!(program = %program.display(), "on trial");
    crate::attach::keep_pins();
    // Before the child, which makes its own socket in this one's place.
    let answers = Answers::new(folder);
    let trial = begin(&program, &words)
        .map_err(|error| error.to_string())
        .and_then(|(mut child, socket)| {
            let trial = supervise(&mut child, &socket, signals, &answers);
            if trial.is_err() {
                let _ = child.kill();
            }
            let _ = child.wait();
            trial
        });
    let _ = fs::remove_file(&words);
    match &trial {
        Ok(Trial::Killed) => {
            let _ = fs::remove_file(super::socket(folder));
            for wrong in crate::attach::stop_without_programs(folder) {
                warn!("{wrong}");
            }
        }
        Ok(_) => crate::attach::remove_old_pins(),
        Err(_) => crate::attach::restore_pins(),
    }
    trial.map_err(Failure::about(program.display()))
}

/// Starts it, with a socket that receives what it says.
fn begin(program: &Path, words: &Path) -> io::Result<(Child, UnixDatagram)> {
    let _ = fs::remove_file(words);
    let socket = UnixDatagram::bind(words)?;
    socket.set_read_timeout(Some(TICK))?;
    let child = again(program, Stage::OnTrial)
        .env("NOTIFY_SOCKET", words)
        .stdin(Stdio::null())
        .spawn()?;
    Ok((child, socket))
}

fn supervise(
    child: &mut Child,
    socket: &UnixDatagram,
    signals: &SignalFd,
    answers: &Answers,
) -> Result<Trial, String> {
    let began = Instant::now();
    let mut messages = Messages::default();
    loop {
        messages.receive(socket);
        answers.give(began);
        notify(&[NotifyState::Watchdog]);
        let ended = child.try_wait().map_err(|error| error.to_string())?;
        if matches!(signals.read_signal(), Ok(Some(_))) {
            notify(&[NotifyState::Stopping]);
            return Ok(if ended.is_none() && stop(child, STOP_TIMEOUT) {
                Trial::Stopped
            } else {
                Trial::Killed
            });
        }
        if let Some(status) = ended {
            return Err(messages.describe_end(status));
        }
        match messages.ready {
            None if began.elapsed() > START => return Err(format!("it was not ready within {START:?}")),
            Some(_) if messages.silent_for() > SILENCE => {
                return Err(format!("it said nothing for {SILENCE:?}"));
            }
            Some(at) if at.elapsed() > PROBATION && messages.silent_for() < ALIVE => break,
            _ => {}
        }
    }
    send_signal(child, PASSED);
    let handed_over = Instant::now();
    loop {
        messages.receive(socket);
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(Trial::Passed),
            Ok(Some(status)) => return Err(messages.describe_end(status)),
            Err(error) => return Err(error.to_string()),
            Ok(None) if handed_over.elapsed() > SILENCE => {
                return Err("it did not hand over".to_owned());
            }
            Ok(None) => {}
        }
    }
}

/// Stops a program, which is killed if it does not react in time. Returns whether it has ended by itself without an error.
fn stop(child: &mut Child, limit: Duration) -> bool {
    let began = Instant::now();
    send_signal(child, Signal::SIGTERM);
    while began.elapsed() < limit {
        match child.try_wait() {
            Ok(None) => sleep(TICK),
            Ok(Some(status)) => return status.success(),
            Err(_) => break,
        }
    }
    warn!("the program on trial does not stop; it is killed");
    let _ = child.kill();
    let _ = child.wait();
    false
}

/// Answers callers of the status until the program on trial listens.
struct Answers(Option<UnixListener>);

impl Answers {
    fn new(folder: &Path) -> Self {
        let listener = status::listen(&super::socket(folder));
        Self(listener.map_err(|error| warn!(%error, "no status")).ok())
    }

    /// Answers the callers that wait. An answer fits into the buffer of a socket, so none is waited for.
    fn give(&self, began: Instant) {
        let Some(listener) = &self.0 else { return };
        let status = Status {
            process: std::process::id(),
            trial_s: Some(began.elapsed().as_secs_f64()),
            ..Status::default()
        };
        for _ in 0..MAX_ANSWERS {
            let Ok((stream, _)) = listener.accept() else {
                return;
            };
            if let Err(error) = status::answer(&stream, &status) {
                debug!(%error, "status");
            }
        }
    }
}

fn send_signal(child: &Child, signal: Signal) {
    if let Ok(process) = i32::try_from(child.id()) {
        let _ = kill(Pid::from_raw(process), signal);
    }
}

/// The messages of the program on trial, in systemd's protocol (`sd_notify(3)`).
#[derive(Default)]
struct Messages {
    ready: Option<Instant>,
    last: Option<Instant>,
    status: Option<String>,
}

impl Messages {
    /// Receives at most one message, for which it waits at most a [`TICK`].
    fn receive(&mut self, socket: &UnixDatagram) {
        let mut buffer = [0; 4096];
        let Ok(length) = socket.recv(&mut buffer) else {
            return;
        };
        self.last = Some(Instant::now());
        for line in String::from_utf8_lossy(&buffer[..length]).lines() {
            if line == "READY=1" {
                self.ready = self.last;
            } else if let Some(status) = line.strip_prefix("STATUS=") {
                self.status = Some(status.to_owned());
            }
        }
    }

    fn silent_for(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |last| last.elapsed())
    }

    fn describe_end(&self, ended: ExitStatus) -> String {
        let ended = match self.ready {
            Some(at) => format!("it ended after {:.1?}, {ended}", at.elapsed()),
            None => format!("it could not begin, {ended}"),
        };
        match &self.status {
            Some(status) => format!("{ended}: {status}"),
            None => ended,
        }
    }
}

/// This process's command line with another program.
fn again(program: &Path, stage: Stage) -> Command {
    let mut arguments = env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments);
    command.env(STAGE, stage.name());
    command
}

/// By the path that this one was started with, for the file may be another by now.
pub(super) fn installed() -> PathBuf {
    let started = env::args_os().next().map(PathBuf::from);
    let started = started.filter(|path| path.is_absolute());
    started
        .or_else(|| env::current_exe().ok())
        .unwrap_or_else(|| PathBuf::from(OWN))
}

/// Signal that makes a program on trial hand over and end.
pub(super) const PASSED: Signal = Signal::SIGUSR1;
/// Maximum time until a program on trial is ready.
const START: Duration = Duration::from_secs(30);
/// Maximum time for a program on trial to stop, which is less than the unit's `TimeoutStopSec`.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of callers of the status that are answered at a time.
const MAX_ANSWERS: usize = 16;
/// Time for which a program on trial has to run once it is ready.
const PROBATION: Duration = Duration::from_secs(5);
/// Time without a message after which a program on trial counts as hanging. It sends a message every second.
const SILENCE: Duration = Duration::from_secs(10);
/// Maximum age of the last message of a program that passes.
const ALIVE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        let mut child = Command::new("sh");
        child.args(["-c", script]).stdin(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_program_that_ignores_sigterm_is_killed() {
        let began = Instant::now();
        let mut unresponsive = shell("trap '' TERM; exec sleep 60");
        sleep(Duration::from_millis(300));
        assert!(!stop(&mut unresponsive, Duration::from_millis(500)));
        assert!(unresponsive.try_wait().unwrap().is_some());
        let mut polite = shell("trap 'exit 0' TERM; while :; do sleep 0.1; done");
        sleep(Duration::from_millis(300));
        assert!(stop(&mut polite, Duration::from_secs(30)));
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_configuration_that_cannot_be_saved_leaves_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        keep(&config, folder.path()).unwrap();
        let obstacle = folder.path().join("running.new");
        fs::create_dir(&obstacle).unwrap();
        // An unchanged configuration needs no file.
        keep(&config, folder.path()).unwrap();
        config.subflows.count = 2;
        keep(&config, folder.path()).unwrap_err();
        assert_eq!(kept(folder.path()).unwrap(), Config::default());
        fs::remove_dir(&obstacle).unwrap();
        keep(&config, folder.path()).unwrap();
        assert_eq!(kept(folder.path()).unwrap().subflows.count, 2);
    }
}
