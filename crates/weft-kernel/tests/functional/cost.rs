//! Processor time of the programs. A quiet machine is needed: `make measure-linux`.

use std::fs;
use std::time::{Duration, Instant};

use weft_kernel::programs::{KernelAlgorithm, Programs, RunTime};

use crate::machine::{in_namespace, join_over_loopback, load, run, slow_loopback};
use crate::marks::Marks;
use crate::peers::{Family, Kind, Peers};

const ROUNDS: usize = 9;
/// Minimum goodput as a part of that of the built-in cubic.
const MIN_SHARE: f64 = 0.97;
/// Beyond `weft_dctcp`'s, an acknowledgement.
const MAX_NS: f64 = 150.0;

#[test]
#[ignore = "a measurement: make measure-linux"]
fn bulk_goodput_is_cubics() {
    in_namespace("bulk_goodput_is_cubics", || {
        // A rate that the processor carries with ease: without one, goodput is the processor's and differs by tens of percent.
        slow_loopback(1000, "1mb");
        let _programs = load(KernelAlgorithm::ALL);
        let mut failed = Vec::new();
        for kind in [Kind::Tcp, Kind::Mptcp] {
            for &name in KernelAlgorithm::ALL {
                // One right after the other, since the machine's speed changes.
                let mut shares: Vec<_> = (0..ROUNDS)
                    .map(|round| {
                        let mut both = [("cubic", 0.0), (name.kernel(), 0.0)];
                        both.rotate_left(round % 2);
                        for (cc, goodput) in &mut both {
                            *goodput = bulk(kind, cc);
                        }
                        both.rotate_right(round % 2);
                        both[1].1 / both[0].1
                    })
                    .collect();
                shares.sort_by(f64::total_cmp);
                let median = shares[ROUNDS / 2];
                println!(
                    "{} over {kind:?}: {median:.3} of cubic's goodput ({:.3} to {:.3})",
                    name.kernel(),
                    shares[0],
                    shares[ROUNDS - 1]
                );
                if median < MIN_SHARE {
                    failed.push((name, kind, median));
                }
            }
        }
        assert!(failed.is_empty(), "{failed:?}");
    });
}

/// Returns the bytes per second of one connection.
fn bulk(kind: Kind, cc: &str) -> f64 {
    let peers = Peers::connect(Family::V4, kind, cc, cc);
    let begin = Instant::now();
    peers.send_for(Duration::from_millis(300));
    let bytes = peers.close();
    bytes as f64 / begin.elapsed().as_secs_f64()
}

#[test]
#[ignore = "a measurement: make measure-linux"]
fn an_acknowledgement_costs_little_more_than_dctcps() {
    in_namespace("an_acknowledgement_costs_little_more_than_dctcps", || {
        assert!(join_over_loopback(3), "it needs iproute2 with `ip mptcp`");
        run("ip", &["link", "set", "lo", "mtu", "1500", "gso_max_segs", "1"]);
        slow_loopback(200, "1mb");
        let marks = Marks::on_loopback();
        marks.one_in(10);
        let programs = load(KernelAlgorithm::ALL);
        let _counting = Counting::start();
        let mut costs = vec![Vec::new(); KernelAlgorithm::ALL.len()];
        for _ in 0..ROUNDS {
            for (&name, costs) in KernelAlgorithm::ALL.iter().zip(&mut costs) {
                let before = cost_of(&programs, name);
                let peers = Peers::connect(Family::V4, Kind::Mptcp, name.kernel(), name.kernel());
                peers.send_for(Duration::from_millis(400));
                peers.close();
                let after = cost_of(&programs, name);
                costs.push((after.1 - before.1) / (after.0 - before.0));
            }
        }
        let medians: Vec<_> = costs
            .iter_mut()
            .map(|costs| {
                costs.sort_by(f64::total_cmp);
                costs[ROUNDS / 2]
            })
            .collect();
        let dctcp = KernelAlgorithm::ALL
            .iter()
            .position(|&name| name == KernelAlgorithm::Dctcp)
            .expect("it");
        for (&name, median) in KernelAlgorithm::ALL.iter().zip(&medians) {
            println!("{}: {median:.0} ns an acknowledgement", name.kernel());
            for time in programs.run_time().expect("the kernel's statistics") {
                if time.name == name && time.runs > 0 {
                    let mean = time.nanoseconds / time.runs;
                    println!("    {}: {} times, {mean} ns each", time.operation, time.runs);
                }
            }
        }
        for (name, median) in KernelAlgorithm::ALL.iter().zip(&medians) {
            assert!(median - medians[dctcp] <= MAX_NS, "{name:?}");
        }
    });
}

/// Returns the number of acknowledgements, and the nanoseconds in all of an algorithm's operations.
fn cost_of(programs: &Programs, name: KernelAlgorithm) -> (f64, f64) {
    let times = programs.run_time().expect("the kernel's statistics");
    let own = || times.iter().filter(|time| time.name == name);
    let runs = |time: &RunTime| (time.operation == "weft_cong_control").then_some(time.runs);
    let acknowledgements: u64 = own().filter_map(runs).sum();
    let nanoseconds: u64 = own().map(|time| time.nanoseconds).sum();
    (acknowledgements as f64, nanoseconds as f64)
}

/// The kernel keeps the programs' statistics meanwhile.
struct Counting {
    before: String,
}

impl Counting {
    const SETTING: &str = "/proc/sys/kernel/bpf_stats_enabled";

    fn start() -> Self {
        let before = fs::read_to_string(Self::SETTING).expect("a setting");
        fs::write(Self::SETTING, "1").expect("a setting");
        Self { before }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = fs::write(Self::SETTING, &self.before);
    }
}
