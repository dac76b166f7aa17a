//! Namespaces, interfaces and settings of a test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use weft_kernel::programs::{Error, KernelAlgorithm, Options, Programs};

/// Reason of tests that are skipped because subflows cannot join.
pub const NO_JOINS: &str = "it needs MPTCP and iproute2 with `ip mptcp`";

/// Runs the test in a network namespace of its own with loopback up. Names of congestion controls are the whole
/// machine's, so one test runs at a time. Without root the test says that it is skipped.
pub fn in_namespace(name: &str, test: impl FnOnce() + Send + 'static) {
    if !nix::unistd::geteuid().is_root() {
        weft_test_support::skip(name, "it needs root");
        return;
    }
    let lock = File::create(std::env::temp_dir().join("weft-kernel-tests.lock")).expect("a lock file");
    lock.lock().expect("the lock");
    let thread = std::thread::spawn(|| {
        new_namespace();
        run("ip", &["link", "set", "lo", "up"]);
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The setting of ECN of the calling thread's namespace.
pub const TCP_ECN: &str = "/proc/sys/net/ipv4/tcp_ecn";

/// Gives the thread a network namespace of its own, with the mode of ECN that `debian.rs` asks for.
fn new_namespace() {
    unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
    if let Ok(mode) = std::env::var("WEFT_TCP_ECN") {
        std::fs::write(TCP_ECN, mode).expect("a setting");
    }
}

/// Whether a registration is a BPF link, as since Linux 6.4.
pub fn has_links() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel's release");
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|n| n.parse().ok());
    let version: (u32, u32) = (
        numbers.next().expect("a version"),
        numbers.next().expect("a version"),
    );
    version >= (6, 4)
}

/// Loads the programs; waits while another process has the names.
pub fn load(names: &[KernelAlgorithm]) -> Programs {
    load_with(names, &Options::default())
}

/// The same with options.
pub fn load_with(names: &[KernelAlgorithm], options: &Options) -> Programs {
    let begin = Instant::now();
    loop {
        match Programs::load(names, options) {
            Err(Error::Registered(_)) if begin.elapsed() < Duration::from_secs(60) => {
                std::thread::sleep(Duration::from_millis(200));
            }
            programs => return programs.expect("the programs load"),
        }
    }
}

/// A BPF file system of the calling thread's own; its mount point.
pub fn bpf_file_system() -> PathBuf {
    unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace");
    let (none, point) = (None::<&str>, Path::new("/sys/fs/bpf"));
    // The propagation of the root of an initramfs cannot be changed.
    let _ = mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none);
    mount(Some("bpf"), point, Some("bpf"), MsFlags::empty(), none).expect("a BPF file system");
    point.to_owned()
}

/// A thread in a network namespace of its own, which ends with it.
pub struct NamespaceThread {
    /// Name for `ip link ... netns`.
    pub name: String,
    work: Sender<Box<dyn FnOnce() + Send>>,
}

impl NamespaceThread {
    pub fn new() -> Self {
        let (work, todo) = channel::<Box<dyn FnOnce() + Send>>();
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            new_namespace();
            sender.send(nix::unistd::gettid()).expect("a listener");
            for work in todo {
                work();
            }
        });
        let name = receiver.recv().expect("its number").to_string();
        Self { name, work }
    }

    /// Runs `act` in the namespace and returns its result.
    pub fn within<T: Send + 'static>(&self, act: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, receiver) = channel();
        let work = Box::new(move || sender.send(act()).expect("a listener"));
        self.work.send(work).expect("a thread");
        receiver.recv().expect("it is done")
    }
}

/// Runs a command in the test's namespace.
pub fn run(program: &str, arguments: &[&str]) {
    assert!(succeeds(program, arguments), "{program} {arguments:?}");
}

/// Whether the command exists and succeeds.
pub fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// Makes connections over loopback open this many additional `subflows`, each from an address of its own. Returns false if
/// iproute2 is too old.
pub fn join_over_loopback(subflows: u8) -> bool {
    let limits = ["mptcp", "limits", "set", "subflow", "8", "add_addr_accepted", "8"];
    if !succeeds("ip", &limits) {
        return false;
    }
    for i in 0..subflows {
        join(&format!("127.0.0.{}", 2 + i));
    }
    true
}

/// The same from one address, also for connections that are open.
pub fn join(address: &str) {
    run(
        "ip",
        &["mptcp", "endpoint", "add", address, "dev", "lo", "subflow"],
    );
}

/// Makes a subflow a backup or not, as weftd does if the algorithm deactivates or activates it. Its address must be an endpoint.
pub fn take_out_of_use(address: std::net::IpAddr, out: bool) {
    let flag = if out { "backup" } else { "nobackup" };
    run("ip", &["mptcp", "endpoint", "change", &address.to_string(), flag]);
}

/// Loopback acknowledges within the call that sends, so that the scheduler would never need another subflow. Now it has
/// this rate, in Mbit/s. After a pause it sends at most one `burst` at once.
pub fn slow_loopback(rate: u32, burst: &str) {
    let rate = format!("{rate}mbit");
    let limits = ["burst", burst, "limit", "4mb"];
    let qdisc = ["qdisc", "add", "dev", "lo", "root", "tbf", "rate", &rate];
    run("tc", &[&qdisc[..], &limits[..]].concat());
}

/// For what comes in any case. An emulator that gives way to other programs may do nothing for a long time.
pub fn patience() -> Duration {
    Duration::from_secs(if is_emulated() { 90 } else { 20 })
}

/// Waits until it is so.
pub fn eventually(what: &str, is_so: impl FnMut() -> bool) {
    assert!(becomes(is_so), "after {:?}: {what}", patience());
}

/// Whether the condition becomes true while there is [`patience`].
pub fn becomes(mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > patience() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Whether this is the guest that `debian.rs` starts.
pub fn is_emulated() -> bool {
    std::env::var_os("WEFT_EMULATED").is_some()
}
