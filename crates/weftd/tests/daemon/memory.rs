//! A limit of memory, as a service manager or a container sets it, that is too low for the daemon.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::scene::{Daemon, Scene, load, missing, stays, until, wait};
use crate::scene_or_skip;

/// The mount point of the memory controller of control groups, version 1.
const CONTROLLER: &str = "/sys/fs/cgroup/memory";

/// A control group with a limit of memory, which is removed when this is dropped.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn new(bytes: u64) -> std::io::Result<Self> {
        let group = Self(Path::new(CONTROLLER).join(format!("weftd-test-{}-{bytes}", id())));
        fs::create_dir_all(&group.0)?;
        fs::write(group.0.join("memory.limit_in_bytes"), bytes.to_string())?;
        Ok(group)
    }

    /// Moves a process into the group. Memory that it has allocated so far stays charged to its former group.
    fn add(&self, process: u32) {
        fs::write(self.0.join("cgroup.procs"), process.to_string()).unwrap();
    }

    /// Returns how often the kernel killed a process of the group.
    fn kills(&self) -> u64 {
        let control = fs::read_to_string(self.0.join("memory.oom_control")).unwrap();
        let line = control.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.unwrap().parse().unwrap()
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Processes that were killed leave the group a little later.
        wait(5, || fs::remove_dir(&self.0).is_ok());
    }
}

/// Skips a test by name where there is no memory controller.
fn is_skipped(name: &str) -> bool {
    let is_missing = !Path::new(CONTROLLER).join("memory.limit_in_bytes").exists();
    if is_missing {
        weft_test_support::skip(name, &format!("no memory controller at {CONTROLLER}"));
    }
    is_missing
}

/// Opens connections until the daemon, which needs memory for each, is killed.
fn grow_until_killed(scene: &Scene, daemon: &Daemon, group: &MemoryGroup) {
    let server = scene.serve();
    let mut streams = Vec::new();
    let began = Instant::now();
    while group.kills() == 0 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{} MB after {} connections",
            daemon.megabytes(),
            streams.len()
        );
        if streams.len() < 400 {
            let mut stream = scene.connect(server.address);
            stream.write_all(&[0; 1000]).unwrap();
            streams.push(stream);
        } else {
            sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_daemon_that_the_kernel_kills_for_its_memory_can_start_again() {
    let scene = scene_or_skip!("a_daemon_that_the_kernel_kills_for_its_memory_can_start_again");
    if is_skipped("a_daemon_that_the_kernel_kills_for_its_memory_can_start_again") {
        return;
    }
    let daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let group = MemoryGroup::new(64 << 10).unwrap();
    group.add(daemon.process());
    grow_until_killed(&scene, &daemon, &group);
    let killed_at = server.read();
    until("connections go on", || server.read() > killed_at + 1_000_000);
    drop(daemon);
    let daemon = scene.daemon("");
    until("the next daemon has found the connection", || {
        let status = scene.status();
        status.connections.iter().any(|c| c.subflows.len() == 4)
    });
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).unwrap();
    stays("the daemon runs", Duration::from_millis(500), || {
        scene.try_status().is_some()
    });
    daemon.stop();
}

/// Runs the daemon for at most three seconds in a control group, from its first instruction on. Returns its log.
fn run_in(group: &MemoryGroup, scene: &Scene) -> String {
    const ENTER_AND_RUN: &str = r#"echo $$ >"$0/cgroup.procs" && exec "$@""#;
    let weftd = scene.weftd(&[]);
    let environment = weftd.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut command = Command::new("timeout");
    command
        .args(["--signal=TERM", "--kill-after=20", "3", "sh", "-c", ENTER_AND_RUN])
        .args([group.0.as_os_str(), weftd.get_program()])
        .args(["run", "--config"])
        .arg(scene.configure(""))
        .envs(environment);
    let output = command.output().unwrap();
    format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))
}

/// The settings that a daemon changes are those of a stopped one if it could not start.
#[test]
fn a_daemon_without_memory_to_start_leaves_nothing_behind() {
    let scene = scene_or_skip!("a_daemon_without_memory_to_start_leaves_nothing_behind");
    if is_skipped("a_daemon_without_memory_to_start_leaves_nothing_behind") {
        return;
    }
    let default = scene.setting("net.ipv4.tcp_congestion_control");
    let runs_in = 65_536;
    for kilobytes in [512, 1024, 2048, 4096, 8192, 16_384, runs_in] {
        let group = MemoryGroup::new(kilobytes << 10).unwrap();
        let log = run_in(&group, &scene);
        // It was killed, or ended with a line; with the last limit it ran until it was stopped.
        assert!(!log.contains("panicked"), "{kilobytes} KB: {log}");
        assert!(
            kilobytes < runs_in || log.contains("weftd runs"),
            "{kilobytes} KB: {log}"
        );
        let daemon = scene.daemon("");
        daemon.stop();
        assert_eq!(
            scene.setting("net.ipv4.tcp_congestion_control"),
            default,
            "{kilobytes} KB"
        );
    }
}
