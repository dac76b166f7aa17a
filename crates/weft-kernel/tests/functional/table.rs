//! What works on a kernel and how well, as a row of one table over this machine's kernel and Debian's: `make table-by-kernel`.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use weft_kernel::events::{EventKind, Events};
use weft_kernel::programs::KernelAlgorithm;
use weft_test_support::guest::Packaged;
use weft_test_support::skip_without_feature;

use crate::debian::{STABLE_AND_BACKPORTS, boot};
use crate::machine::{in_namespace, is_emulated, join_over_loopback, load, run, slow_loopback};
use crate::marks::{Marks, wait};
use crate::peers::{Family, Kind, Peers};

/// Beginning of the line that has the row of a kernel.
const ROW: &str = "ROW ";
/// This test's name, which the guest runs alone.
const ROW_TEST: &str = "table::row_of_this_kernel";
const HEAD: &str = "\
| kernel | `tcp_ecn` | algorithms that attach | subflows that join, of 4 | AMP suppresses | goodput by rate: one subflow | four | pauses of \
200 ms: one subflow | four | processor time per Gbit (ms): one subflow | four |
|---|---|---|---|---|---|---|---|---|---|---|";
const BULK: Duration = Duration::from_secs(5);

/// One connection of `weft_amp` that sends for [`BULK`] over loopback.
struct Bulk {
    /// Goodput by the rate of the loopback device.
    part: f64,
    /// Times of 200 ms or more in which the receiver read nothing.
    pauses: usize,
    /// Milliseconds of processor time of this process, sender and receiver, per Gbit of data.
    cost: f64,
}

/// Sends at `mbps`. Returns the processes' time in user mode and in the kernel.
fn bulk(mbps: u32) -> Bulk {
    let used = || {
        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the processor time");
        (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e3
    };
    let peers = Peers::connect(Family::V4, Kind::Mptcp, "weft_amp", "weft_amp");
    peers.send_for(Duration::from_secs(1));
    let (began, used_before, read_before) = (Instant::now(), used(), peers.read());
    peers.send_for(BULK);
    let (seconds, used, bits) = (
        began.elapsed().as_secs_f64(),
        used() - used_before,
        8.0 * (peers.read() - read_before) as f64,
    );
    let pauses = peers.pauses();
    peers.close();
    Bulk {
        part: bits / seconds / (1e6 * f64::from(mbps)),
        pauses,
        cost: used / (bits / 1e9),
    }
}

/// Returns the number of algorithms that take a slot for both ends of a connection.
fn attached(events: &Events) -> usize {
    let attaches = |name: &&KernelAlgorithm| {
        let peers = Peers::connect(Family::V4, Kind::Mptcp, name.kernel(), name.kernel());
        peers.send(100_000);
        let joined = wait(events, EventKind::Joined, 2);
        peers.close();
        joined.len() == 2 && joined.iter().all(|event| event.algorithm == **name)
    };
    KernelAlgorithm::ALL.iter().filter(attaches).count()
}

#[test]
#[ignore = "a measurement: make table-by-kernel"]
fn row_of_this_kernel() {
    in_namespace("row_of_this_kernel", || {
        run("ip", &["link", "set", "lo", "mtu", "1500"]);
        let mbps = if is_emulated() { 40 } else { 400 };
        let programs = load(KernelAlgorithm::ALL);
        let events = programs.events().expect("the ring");
        let attached = attached(&events);
        slow_loopback(mbps, "1mb");
        let one = bulk(mbps);
        let can_join = join_over_loopback(3);
        // Discards the events of earlier connections.
        events.wait(Duration::from_millis(500)).expect("the ring");
        let four = bulk(mbps);
        let joined = wait(&events, EventKind::Joined, 8).len() / 2;
        let marks = Marks::on_loopback();
        let sender = Peers::connect(Family::V4, Kind::Mptcp, "weft_amp", "weft_amp").send_until_stopped();
        wait(&events, EventKind::Joined, 8);
        marks.one_in(1);
        let suppresses = !wait(&events, EventKind::Suppress, 1).is_empty();
        sender.close();
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel's release");
        let mode = std::fs::read_to_string(crate::machine::TCP_ECN).expect("the mode of ECN");
        println!(
            "\n{ROW}| {}{} | {} | {attached} of {} | {} | {} | {:.2} | {:.2} | {} | {} | {:.0} | {:.0} |",
            release.trim(),
            if is_emulated() { ", emulated" } else { "" },
            mode.trim(),
            KernelAlgorithm::ALL.len(),
            if can_join {
                joined.to_string()
            } else {
                "no `ip mptcp`".to_owned()
            },
            if suppresses { "yes" } else { "no" },
            one.part,
            four.part,
            one.pauses,
            four.pauses,
            one.cost,
            four.cost,
        );
        assert_eq!(attached, KernelAlgorithm::ALL.len(), "algorithms that attach");
        assert!(
            !can_join || (joined == 4 && suppresses),
            "subflows join, and AMP suppresses them"
        );
    });
}

/// Prints the rows of this machine's kernel and of Debian's. `KERNELS="this 6.1 7"` takes only these.
#[test]
#[ignore = "a measurement: make table-by-kernel"]
fn table_by_kernel() {
    if is_emulated() {
        return;
    }
    let chosen = std::env::var("KERNELS").unwrap_or_default();
    let chosen: Vec<&str> = chosen.split_whitespace().collect();
    let is_chosen = |name: &str| chosen.is_empty() || chosen.contains(&name);
    let mut rows = Vec::new();
    if is_chosen("this") {
        rows.push(own_row());
    }
    for kernel in STABLE_AND_BACKPORTS {
        let Packaged { series, .. } = kernel;
        if !is_chosen(series) {
            continue;
        }
        match boot(kernel, &format!("--include-ignored --exact {ROW_TEST}"), "1 2 3") {
            Ok(output) => {
                let found: Vec<_> = output.lines().filter_map(|line| line.strip_prefix(ROW)).collect();
                assert!(!found.is_empty(), "Linux {series} has no row: {output}");
                rows.extend(found.iter().map(|row| row.trim().to_owned()));
            }
            Err(missing) => skip_without_feature("table_by_kernel", &format!("{series}: it needs {missing}")),
        }
    }
    println!("{HEAD}\n{}", rows.join("\n"));
}

/// Runs [`row_of_this_kernel`] in a process of its own, whose processor time is only that of the row.
fn own_row() -> String {
    let own = std::env::current_exe().expect("this test's binary");
    let output = std::process::Command::new(own)
        .args(["--include-ignored", "--exact", "--nocapture", ROW_TEST])
        .output()
        .expect("the row");
    let text = String::from_utf8_lossy(&output.stdout);
    let row = text.lines().find_map(|line| line.strip_prefix(ROW));
    row.unwrap_or_else(|| panic!("no row: {text}{}", String::from_utf8_lossy(&output.stderr)))
        .to_owned()
}
