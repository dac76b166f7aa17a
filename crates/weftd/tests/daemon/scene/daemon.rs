//! A daemon's process.

use std::fs;
use std::process::Child;
use std::sync::{Arc, Mutex};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A daemon; it is stopped, and has to end well, when this is dropped.
pub struct Daemon {
    pub(super) child: Child,
    pub(super) log: Arc<Mutex<String>>,
}

impl Daemon {
    pub fn kill(mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("its end");
    }

    /// The log, which grows until the daemon's end.
    pub fn log(&self) -> Arc<Mutex<String>> {
        Arc::clone(&self.log)
    }

    /// Whether a text is in the log.
    pub fn has_logged(&self, text: &str) -> bool {
        self.log.lock().expect("the log").contains(text)
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// How many it has open.
    pub fn descriptors(&self) -> usize {
        let open = fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        open.expect("its descriptors").count()
    }

    /// Returns the resident memory in megabytes.
    pub fn megabytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.expect("a size") / 1024
    }

    /// Returns the processor time in seconds.
    pub fn cpu_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("its times");
        // After the name, which is in parentheses, the 12th and 13th number are ticks of 10 ms.
        let after = stat.rsplit(')').next().unwrap_or_default();
        let ticks = after.split_whitespace().skip(11).take(2);
        ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    /// Processes that it has started and that have not ended.
    pub fn children(&self) -> Vec<u32> {
        let own = self.child.id();
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
        let children = children.unwrap_or_default();
        children
            .split_whitespace()
            .filter_map(|child| child.parse().ok())
            .collect()
    }

    pub fn reload(&self) {
        self.signal(Signal::SIGHUP);
    }

    /// The file that it runs, which may be deleted.
    pub fn program(&self) -> String {
        let program = fs::read_link(format!("/proc/{}/exe", self.child.id()));
        program.expect("a program").to_string_lossy().into_owned()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a process"));
        kill(pid, signal).expect("a signal");
    }

    pub fn stop(mut self) {
        self.signal(Signal::SIGTERM);
        let end = self.child.wait().expect("its end");
        assert!(end.success(), "{end}");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
