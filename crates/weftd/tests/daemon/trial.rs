//! Reloads that meet a successor that hangs, or a full file system.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount, umount};
use weft_kernel::path_manager::Namespace;
use weftd::daemon::settings;

use crate::scene::{Scene, load, missing, until, wait};
use crate::scene_or_skip;

/// Accepts the configuration, and then does nothing at all, also at SIGTERM.
const HANGS: &str =
    "#!/bin/sh\ncase \"$*\" in *--check*) exit 0;; esac\ntrap '' TERM INT HUP\nexec sleep 300\n";

#[test]
fn a_stop_during_a_trial_that_hangs_stops_weftd_and_restores_everything() {
    let scene = scene_or_skip!("a_stop_during_a_trial_that_hangs_stops_weftd_and_restores_everything");
    let before = scene.setting("net.ipv4.tcp_congestion_control");
    let program = scene.install();
    let daemon = scene.daemon_at(&program, "");
    scene.install_script(HANGS);
    daemon.reload();
    let mut children = Vec::new();
    until("the status answers, and a trial is under way", || {
        children = daemon.children();
        let trial = scene.try_status().and_then(|status| status.trial_s);
        trial.is_some_and(|seconds| seconds > 0.2) && !children.is_empty()
    });
    let shown = scene.weftd(&["status"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("has been on trial for"), "{shown}");
    let began = Instant::now();
    daemon.stop();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    for child in children {
        assert!(
            !Path::new(&format!("/proc/{child}")).exists(),
            "process {child} is left"
        );
    }
    assert_eq!(scene.setting("net.ipv4.tcp_congestion_control"), before);
    assert_eq!(scene.setting("net.mptcp.pm_type"), "0");
    assert!(scene.try_status().is_none());
    assert!(!Path::new("/sys/fs/bpf/weft").exists());
    until("the names are taken back", || {
        let available = scene.setting("net.ipv4.tcp_available_congestion_control");
        !available.contains("weft_")
    });
}

#[test]
fn a_successor_that_hangs_while_it_is_checked_does_not_keep_the_status_waiting() {
    let scene = scene_or_skip!("a_successor_that_hangs_while_it_is_checked_does_not_keep_the_status_waiting");
    let program = scene.install();
    let daemon = scene.daemon_at(&program, "");
    scene.install_script("#!/bin/sh\ntrap '' TERM\nexec sleep 300\n");
    daemon.reload();
    let mut children = Vec::new();
    until("the check is under way", || {
        children = daemon.children();
        !children.is_empty()
    });
    let began = Instant::now();
    assert!(scene.status().trial_s.is_none());
    daemon.stop();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for child in children {
        assert!(
            !Path::new(&format!("/proc/{child}")).exists(),
            "process {child} is left"
        );
    }
}

/// A file system of the daemon's folder that this test can fill.
struct SmallFolder<'a>(&'a Scene);

impl<'a> SmallFolder<'a> {
    fn new(scene: &'a Scene) -> Self {
        let size = Some("size=256k");
        mount(
            Some("tmpfs"),
            scene.folder.path(),
            Some("tmpfs"),
            MsFlags::empty(),
            size,
        )
        .expect("a tmpfs");
        Self(scene)
    }

    fn fill(&self) {
        let mut file = fs::File::create(self.0.folder.path().join("filler")).expect("a file");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn empty(&self) {
        fs::remove_file(self.0.folder.path().join("filler")).expect("the filler");
    }
}

impl Drop for SmallFolder<'_> {
    fn drop(&mut self) {
        let _ = umount(self.0.folder.path());
    }
}

#[test]
fn a_full_file_system_ends_no_daemon_and_keeps_no_namespace_from_being_served() {
    let scene = scene_or_skip!("a_full_file_system_ends_no_daemon_and_keeps_no_namespace_from_being_served");
    let small = SmallFolder::new(&scene);
    let late = format!("weftd-test-{}-full", std::process::id());
    let (client, server) = (scene.client_name(), scene.server_name());
    let names = [client.as_str(), server.as_str(), late.as_str()];
    let daemon = scene.daemon_of_these(&names, "");
    let receiver = scene.serve();
    let _load = load(scene.connect(receiver.address));
    until("three joins", || scene.subflows().len() == 4);
    let netns = |verb: &str| Command::new("ip").args(["netns", verb, &late]).status().unwrap();
    small.fill();
    assert!(netns("add").success());
    let mode = || settings::read(&Namespace::named(&late), "net.mptcp.pm_type").unwrap_or_default();
    until("the failure", || daemon.has_logged("not served yet"));
    assert_eq!(mode(), "0");

    // The trial cannot serve the new namespace, and the old program goes on with those that it has.
    daemon.reload();
    assert!(wait(30, || daemon.has_logged("not reloaded")), "it is reloaded");
    let goes_on = || {
        let status = scene.try_status();
        status.is_some_and(|status| status.process == daemon.process() && status.connections.len() == 2)
    };
    assert!(wait(30, goes_on), "it has ended");
    let read = receiver.read();
    until("the connection goes on", || receiver.read() > read + 1_000_000);

    small.empty();
    until("the new namespace is served", || mode() == "1");
    scene.reload(&daemon);
    assert!(goes_on());
    daemon.stop();
    assert!(netns("delete").success());
}
