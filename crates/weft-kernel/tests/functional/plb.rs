//! PLB of the kernel compared with the path policy `plb`. Both get the same rounds, of which some are marked, and must draw
//! new paths at the same time. Each round is one packet over loopback.

use std::fs;
use std::path::Path;

use weft_paths::{PathEvent, PathPolicy, PathState, Plb};
use weft_spec::Time;
use weft_test_support::skip_without_feature;

use crate::dctcp_reference::has_dctcp;
use crate::machine::{eventually, in_namespace};
use crate::marks::Marks;
use crate::peers::{Family, Kind, Peers};

const SETTINGS: &str = "/proc/sys/net/ipv4";
/// Number of rounds per setting.
const ROUNDS: usize = 150;

#[test]
fn plb_draws_paths_when_the_kernels_does() {
    let name = "plb_draws_paths_when_the_kernels_does";
    in_namespace(name, move || {
        if !has_dctcp(name) {
            return;
        }
        if !Path::new(SETTINGS).join("tcp_plb_enabled").exists() {
            skip_without_feature(name, "the kernel has no PLB");
            return;
        }
        set("tcp_ecn", 1);
        set("tcp_plb_enabled", 1);
        // Rounds that are marked, of eight, so that each rule has its turn.
        for (rehash_rounds, idle_rehash_rounds, of_eight) in [(12, 3, 7), (12, 0, 8), (5, 0, 7), (4, 4, 6)] {
            let policy: Plb = toml::from_str(&format!(
                "rehash_rounds = {rehash_rounds}\nidle_rehash_rounds = {idle_rehash_rounds}"
            ))
            .expect("a policy");
            set("tcp_plb_rehash_rounds", rehash_rounds);
            set("tcp_plb_idle_rehash_rounds", idle_rehash_rounds);
            let marked: Vec<bool> = bits(of_eight).take(ROUNDS).collect();
            let kernel = kernels_draws(&marked);
            let own = draws(&policy, &marked);
            println!("{rehash_rounds}, {idle_rehash_rounds}: {kernel:?}, {own:?}");
            assert!(kernel.len() > 3, "{kernel:?}");
            assert_eq!(kernel, own, "{rehash_rounds}, {idle_rehash_rounds}");
        }
    });
}

/// Returns the rounds in which the policy draws a path.
fn draws(policy: &Plb, marked: &[bool]) -> Vec<usize> {
    let mut state = PathState::default();
    let mut draws = Vec::new();
    for (round, &is_marked) in marked.iter().enumerate() {
        let ends = PathEvent::Round {
            acked: 1,
            marked: is_marked.into(),
            is_idle: true,
        };
        for event in [PathEvent::Start, ends] {
            if policy.on_event(&mut state, event, Time(0)) {
                draws.push(round);
            }
        }
    }
    draws
}

/// Returns the rounds in which the kernel draws a flow label.
fn kernels_draws(marked: &[bool]) -> Vec<usize> {
    let marks = Marks::on_loopback();
    let peers = Peers::connect(Family::V6, Kind::Tcp, "dctcp", "dctcp");
    let mut draws = Vec::new();
    let mut before = rehashes();
    for (round, &is_marked) in marked.iter().enumerate() {
        marks.one_in(u32::from(is_marked));
        peers.send_packet();
        eventually("it is acknowledged", || peers.unacknowledged() == 0);
        let now = rehashes();
        draws.extend(std::iter::repeat_n(round, now - before));
        before = now;
    }
    marks.one_in(0);
    peers.close();
    draws
}

/// Pseudorandom bits, of which so many of eight are set (a linear congruential generator).
fn bits(of_eight: u64) -> impl Iterator<Item = bool> {
    let step = |x: &u64| {
        Some(
            x.wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    };
    std::iter::successors(Some(1_u64), step).map(move |x| (x >> 40) % 8 < of_eight)
}

fn set(name: &str, value: u32) {
    fs::write(Path::new(SETTINGS).join(name), value.to_string()).expect("a setting");
}

/// Returns how often the kernel has drawn a flow label in this namespace because of marks.
fn rehashes() -> usize {
    let text = fs::read_to_string("/proc/thread-self/net/netstat").expect("counters");
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let mut both = names.split(' ').zip(values.split(' '));
    let (_, value) = both
        .find(|(name, _)| *name == "TCPPLBRehash")
        .expect("the counter");
    value.parse().expect("a number")
}
