//! Faults by chance, and what must hold throughout: `make soak-linux MINUTES=5 SEED=1`.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use weft_kernel::abi::Connection;
use weft_kernel::path_manager::{DiagSubflow, Namespace, mptcp_subflows, sockets};

use crate::entries::entries;
use crate::number;
use crate::scene::{Daemon, Disorder, Joins, Load, Scene, Server, StockPeer, load, missing, wait};
use crate::scene_or_skip;
use crate::share::Flows;

/// Number of loaded connections at one time, without the witnesses.
const LOADED: usize = 4;
const COUNT: usize = 4;
/// Number of DCTCP flows that compete with the connection whose share is measured.
const WITNESSES: usize = 4;
/// How long a share is measured, and what it may be of a DCTCP flow's while faults happen: an uncoupled connection of four
/// subflows takes four or more.
const WINDOW: Duration = Duration::from_secs(10);
const SHARE: std::ops::RangeInclusive<f64> = 0.6..=1.6;
/// One window may be wrong alone: the machine may have had other things to do.
const WRONG_IN_A_ROW: usize = 2;
/// Maximum number of open files that a daemon has besides those with which the first one started, which are mostly programs,
/// maps and links. Each namespace needs few.
const FURTHER_DESCRIPTORS: usize = 40;
const MEGABYTES: u64 = 128;
/// Of so many connections, one entry may be left: its end was not reported, and it is in a namespace that is not served.
const FORGOTTEN: usize = 1000;
/// Entries without a socket: those that close just now.
const CLOSING: usize = 60;

/// The same faults for the same seed (`SplitMix64`); what the kernel makes of them is its own affair.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, n: usize) -> usize {
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
    let mut soak = Soak::begin(&scene, seed);
    while soak.began.elapsed() < Duration::from_secs(60 * minutes) {
        let fault = soak.fault();
        soak.what = format!("seed {seed}, step {}, {fault}", soak.steps);
        sleep(Duration::from_millis(200));
        soak.check();
        soak.steps += 1;
    }
    soak.end(minutes, seed);
}

struct Soak<'a> {
    scene: &'a Scene,
    chance: Chance,
    began: Instant,
    steps: u64,
    what: String,
    daemon: Option<Daemon>,
    /// Maximum number of its open files.
    descriptors: usize,
    starts: u32,
    joins: Joins,
    disorder: Disorder,
    server: Server,
    stock: StockPeer,
    /// A name for a namespace that comes and goes.
    coming: String,
    flows: Flows,
    shares: Shares,
    loads: Vec<Load>,
    /// Connections that were opened, and when.
    opened: Vec<Instant>,
    /// Of those, to the stock peer, and of all that might ask for joins.
    stock_opened: u32,
    /// Joins seen by the end of each window.
    seen: (Instant, u32),
    most_joins: u32,
}

impl<'a> Soak<'a> {
    fn begin(scene: &'a Scene, seed: u64) -> Self {
        scene.mark_queue();
        let (joins, disorder) = (scene.joins(), scene.disorder());
        let daemon = scene.daemon("");
        let descriptors = daemon.descriptors() + FURTHER_DESCRIPTORS;
        // Its listener takes an algorithm of the daemon's.
        let stock = scene.stock_peer();
        let flows = Flows::beside(scene, WITNESSES);
        Self {
            scene,
            chance: Chance::new(seed),
            began: Instant::now(),
            steps: 0,
            what: String::new(),
            daemon: Some(daemon),
            descriptors,
            starts: 1,
            joins,
            disorder,
            server: scene.serve(),
            stock,
            coming: format!("weftd-test-{}-soak", std::process::id()),
            shares: Shares::begin(&flows),
            flows,
            loads: Vec::new(),
            opened: Vec::new(),
            stock_opened: 0,
            seen: (Instant::now(), 0),
            most_joins: 0,
        }
    }

    /// Does something by chance; says what.
    fn fault(&mut self) -> &'static str {
        match self.chance.below(40) {
            0..=9 if self.loads.len() < LOADED => self.open(),
            0..=11 if !self.loads.is_empty() => {
                let which = self.chance.below(self.loads.len());
                drop(self.loads.swap_remove(which));
                "a connection closes"
            }
            12..=15 => {
                self.joins.lose(self.chance.below(4) as u32);
                "SYNs of joins are lost"
            }
            16..=18 => {
                self.joins.bleach(self.chance.below(4) as u32);
                "joins lose their ECN"
            }
            19..=21 => {
                self.disorder.lose(self.chance.below(3) as u32 * 10);
                "packets are lost"
            }
            22..=24 => {
                self.disorder.reorder(self.chance.below(3) as u32 * 20);
                "packets are reordered"
            }
            25..=28 => {
                let to = self.server.address;
                let burst: Vec<_> = (0..8).map(|_| load(self.scene.connect_dctcp(to))).collect();
                self.opened.extend(burst.iter().map(|_| Instant::now()));
                sleep(Duration::from_millis(300));
                "a burst of other flows"
            }
            29..=32 => {
                for _ in 0..30 {
                    let mut short = self.scene.connect(self.server.address);
                    short.write_all(&[0; 2000]).expect("to send");
                    self.opened.push(Instant::now());
                }
                "short connections"
            }
            33..=34 => self.restart(),
            35..=37 => {
                let there = Namespace::named(&self.coming).identity().is_some();
                self.netns(if there { "delete" } else { "add" });
                "a namespace comes or goes"
            }
            _ => "nothing",
        }
    }

    fn open(&mut self) -> &'static str {
        self.opened.push(Instant::now());
        let stock = self.chance.below(4) == 0;
        let to = if stock {
            self.stock.server.address
        } else {
            self.server.address
        };
        self.loads.push(load(self.scene.connect(to)));
        self.stock_opened += u32::from(stock);
        if stock {
            "a connection to a stock peer"
        } else {
            "a connection"
        }
    }

    /// Another daemon follows a stop or a kill, or the same goes on.
    fn restart(&mut self) -> &'static str {
        let daemon = self.daemon.take().expect("a daemon");
        self.starts += 1;
        let (what, next) = match self.chance.below(3) {
            0 => {
                daemon.stop();
                ("a restart", None)
            }
            1 => {
                daemon.kill();
                ("a kill", None)
            }
            _ => {
                daemon.reload();
                sleep(Duration::from_millis(100));
                ("a reload", Some(daemon))
            }
        };
        self.daemon = Some(next.unwrap_or_else(|| self.scene.daemon("")));
        what
    }

    fn netns(&self, verb: &str) {
        let _ = Command::new("ip").args(["netns", verb, &self.coming]).output();
    }

    fn check(&mut self) {
        let what = &self.what;
        assert!(
            wait(10, || self.scene.try_status().is_some()),
            "{what}: nobody answers"
        );
        let seen = mptcp_subflows(&self.scene.client).expect("a mptcp_subflows");
        let most = most_subflows(&seen);
        assert!(most <= COUNT, "{what}: {most} subflows");
        let daemon = self.daemon.as_ref().expect("a daemon");
        let (descriptors, megabytes) = (daemon.descriptors(), daemon.megabytes());
        assert!(
            descriptors <= self.descriptors,
            "{what}: {descriptors} descriptors"
        );
        assert!(megabytes <= MEGABYTES, "{what}: {megabytes} MB");

        let orphans = self.orphans();
        assert!(orphans.len() <= CLOSING, "{what}: {orphans:#?}");

        if self.seen.0.elapsed() >= WINDOW {
            let all = self.joins.seen() + self.stock.joins.seen();
            let joins = all - self.seen.1;
            let opened = self.opened.iter().filter(|at| **at >= self.seen.0).count() as u32;
            // Three for each that opens, and those that are lost or lose their ECN once more.
            let allowed = 3 * opened + 3 * (LOADED + 1) as u32 + 20;
            assert!(
                joins <= allowed,
                "{what}: {joins} joins in {WINDOW:?}, {opened} connections opened"
            );
            self.most_joins = self.most_joins.max(joins);
            self.seen = (Instant::now(), all);
            // Two stand. Three connections ask for one more after a start, and one a minute then.
            let vain = self.stock.joins.seen().saturating_sub(2 * self.stock_opened);
            let allowed = 10 * self.starts + self.began.elapsed().as_secs() as u32 / 60;
            assert!(vain <= allowed, "{what}: {vain} joins that a stock peer rejects");
            self.shares.check(&self.flows, what);
        }
    }

    /// Entries without a socket.
    fn orphans(&self) -> Vec<String> {
        // Before sockets are looked up, for new ones may come.
        let entries = entries();
        let stock = self.stock.namespace();
        let all = [&self.scene.client, &self.scene.server, &stock];
        let sockets = all.map(|namespace| sockets(namespace).expect("a mptcp_subflows"));
        let ports = sockets
            .iter()
            .flatten()
            .map(|(local, remote)| (local.port(), remote.port()));
        let ports: HashSet<_> = ports.collect();
        let has_socket = |entry: &Connection| {
            let slots = (0..)
                .zip(&entry.subflow)
                .filter(|(s, _)| entry.open & 1 << s != 0);
            let mut slots = slots.map(|(_, subflow)| (subflow.local_port, subflow.remote_port));
            slots.any(|slot| ports.contains(&slot))
        };
        let orphans = entries
            .iter()
            .map(|(_, entry)| entry)
            .filter(|entry| !has_socket(entry));
        orphans.map(described).collect()
    }

    fn forgotten(&self) -> usize {
        1 + self.opened.len() / FORGOTTEN
    }

    fn end(mut self, minutes: u64, seed: u64) {
        self.joins.lose(0);
        self.joins.bleach(0);
        let (lost, overtaken) = self.disorder.done();
        self.disorder.lose(0);
        self.disorder.reorder(0);
        self.loads.clear();
        if Namespace::named(&self.coming).identity().is_some() {
            let _ = Command::new("ip")
                .args(["netns", "delete", &self.coming])
                .output();
        }
        self.flows = Flows::none();
        let mut left = Vec::new();
        let nothing = wait(180, || {
            left = self.orphans();
            left.len() <= self.forgotten() && self.scene.status().connections.is_empty()
        });
        if !nothing {
            for end in [self.scene.client_name(), self.scene.server_name()] {
                let shown = Command::new("ss").args(["-N", &end, "-Mania"]).output();
                let shown = shown.map(|shown| shown.stdout).unwrap_or_default();
                eprintln!("{end}: {}", String::from_utf8_lossy(&shown));
            }
        }
        assert!(nothing, "seed {seed}: {left:#?}");
        eprintln!(
            "{} faults in {minutes} minutes, seed {seed}: {} starts, {lost} packets lost, {overtaken} reordered, at most {} joins in \
             {WINDOW:?}, {} without success at a stock peer, shares of a DCTCP flow's {}",
            self.steps,
            self.starts,
            self.most_joins,
            self.stock.joins.seen().saturating_sub(2 * self.stock_opened),
            self.shares,
        );
        self.daemon.take().expect("a daemon").stop();
    }
}

/// Shares of a connection of AMP that competes with DCTCP flows, per window.
struct Shares {
    before: Vec<u64>,
    all: Vec<f64>,
    wrong: usize,
}

impl Shares {
    fn begin(flows: &Flows) -> Self {
        Self {
            before: flows.read(),
            all: Vec::new(),
            wrong: 0,
        }
    }

    fn check(&mut self, flows: &Flows, what: &str) {
        let now = flows.read();
        let bytes: Vec<f64> = now
            .iter()
            .zip(&self.before)
            .map(|(now, before)| (now - before) as f64)
            .collect();
        let share = bytes[0] / (bytes[1..].iter().sum::<f64>() / WITNESSES as f64);
        self.before = now;
        self.all.push(share);
        self.wrong = if SHARE.contains(&share) { 0 } else { self.wrong + 1 };
        assert!(self.wrong < WRONG_IN_A_ROW, "{what}: shares {:.2?}", self.all);
    }
}

impl std::fmt::Display for Shares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut sorted = self.all.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| {
            sorted
                .get(part * sorted.len().saturating_sub(1) / 4)
                .copied()
                .unwrap_or(f64::NAN)
        };
        write!(f, "{:.2} to {:.2}, median {:.2}", at(0), at(4), at(2))
    }
}

/// Describes an entry, to find the reason why it still exists.
fn described(entry: &Connection) -> String {
    let age = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).expect("a clock"));
    let age = age.saturating_sub(Duration::from_nanos(entry.opened));
    let ports = entry
        .subflow
        .map(|subflow| (subflow.local_port, subflow.remote_port));
    format!(
        "algorithm {}, token {:#x}, slots {:#b}, {age:.0?} old, ports {ports:?}",
        entry.algorithm, entry.token, entry.open
    )
}

fn most_subflows(seen: &[DiagSubflow]) -> usize {
    let mut subflows: HashMap<u32, usize> = HashMap::new();
    for seen in seen.iter().filter(|seen| seen.established) {
        *subflows.entry(seen.token).or_default() += 1;
    }
    subflows.values().max().copied().unwrap_or(0)
}
