//! Faults by chance, and what must hold throughout: `make soak-linux MINUTES=5 SEED=1`.

use std::collections::HashMap;
use std::io::Write;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use weft_linux::path_manager::Namespace;

use crate::number;
use crate::scene::{Daemon, Scene, load, missing, wait};
use crate::scene_or_skip;

/// Connections at once that are loaded.
const LOADED: usize = 12;
const COUNT: usize = 4;
/// What a daemon may have open: about 100 programs, maps and links, and few for each namespace.
const DESCRIPTORS: usize = 160;
const MEGABYTES: u64 = 128;

/// The same faults for the same seed (`SplitMix64`); what the kernel makes of them is its own affair.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ bits >> 31) % n as u64) as usize
    }
}

#[test]
#[ignore = "a soak: make soak-linux"]
fn invariants_hold_under_faults_by_chance() {
    let scene = scene_or_skip!("invariants_hold_under_faults_by_chance");
    let (minutes, seed) = (number("MINUTES", 5), number("SEED", 1));
    let mut chance = Chance(seed);
    let joins = scene.joins();
    let server = scene.serve();
    let mut daemon = scene.daemon("");
    let (mut loads, mut marked) = (Vec::new(), false);
    let coming = format!("weftd-test-{}-soak", std::process::id());
    let ip = |verb: &str| {
        let _ = Command::new("ip").args(["netns", verb, &coming]).output();
    };
    let (began, mut steps) = (Instant::now(), 0_u64);
    while began.elapsed() < Duration::from_secs(60 * minutes) {
        let fault = chance.below(10);
        match fault {
            0..=2 if loads.len() < LOADED => loads.push(load(scene.connect(server.address))),
            0..=3 if !loads.is_empty() => drop(loads.swap_remove(chance.below(loads.len()))),
            4 => joins.lose(chance.below(4) as u32),
            5 => joins.bleach(chance.below(4) as u32),
            6 => {
                marked = !marked;
                scene.mark(marked);
            }
            7 => {
                for _ in 0..50 {
                    let mut short = scene.connect(server.address);
                    short.write_all(&[0; 2000]).expect("to send");
                }
            }
            8 => daemon = next(&scene, daemon, chance.below(3)),
            _ => {
                let there = Namespace::named(&coming).identity().is_some();
                ip(if there { "delete" } else { "add" });
            }
        }
        sleep(Duration::from_millis(200));
        check(
            &scene,
            &daemon,
            &format!("seed {seed}, step {steps}, fault {fault}"),
        );
        steps += 1;
    }
    joins.lose(0);
    drop(loads);
    ip("delete");
    let mut left = String::new();
    let nothing = wait(120, || {
        let status = scene.status();
        left = format!(
            "{} entries, {} connections",
            status.entries,
            status.connections.len()
        );
        status.entries == 0 && status.connections.is_empty()
    });
    assert!(nothing, "seed {seed}: {left}");
    eprintln!("{steps} faults in {minutes} minutes, seed {seed}");
    daemon.stop();
}

/// Another daemon follows a stop or a kill, or the same goes on.
fn next(scene: &Scene, daemon: Daemon, how: usize) -> Daemon {
    match how {
        0 => daemon.stop(),
        1 => daemon.kill(),
        _ => {
            daemon.reload();
            assert!(
                wait(10, || scene.try_status().is_some()),
                "nobody answers after a reload"
            );
            return daemon;
        }
    }
    scene.daemon("")
}

fn check(scene: &Scene, daemon: &Daemon, when: &str) {
    let mut subflows: HashMap<u32, usize> = HashMap::new();
    for seen in scene.subflows() {
        *subflows.entry(seen.token).or_default() += 1;
    }
    let most = subflows.values().max().copied().unwrap_or(0);
    assert!(most <= COUNT, "{when}: {most} subflows");
    assert!(wait(5, || scene.try_status().is_some()), "{when}: nobody answers");
    let (descriptors, megabytes) = (daemon.descriptors(), daemon.megabytes());
    assert!(descriptors <= DESCRIPTORS, "{when}: {descriptors} descriptors");
    assert!(megabytes <= MEGABYTES, "{when}: {megabytes} MB");
}
