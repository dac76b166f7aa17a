//! PLB of the kernel, if the kernel has it: it draws new flow labels at the end of the rounds that `plb.toml` lists. The path policy
//! `plb` is tested against the same list.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use weft_test_support::skip_without_feature;

use crate::dctcp_reference::has_dctcp;
use crate::machine::{eventually, in_namespace};
use crate::marks::Marks;
use crate::peers::{Family, Kind, Peers};

const SETTINGS: &str = "/proc/sys/net/ipv4";

#[derive(Deserialize)]
struct List {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    rehash_rounds: u32,
    idle_rehash_rounds: u32,
    /// A digit per round, 1 if its packet is marked.
    marked: String,
    /// Rounds, from 0.
    draws: Vec<usize>,
}

#[test]
fn the_kernel_draws_flow_labels_at_the_end_of_these_rounds() {
    let name = "the_kernel_draws_flow_labels_at_the_end_of_these_rounds";
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
        let list: List = toml::from_str(include_str!("plb.toml")).expect("a list");
        for case in list.cases {
            set("tcp_plb_rehash_rounds", case.rehash_rounds);
            set("tcp_plb_idle_rehash_rounds", case.idle_rehash_rounds);
            let draws = draws(&case.marked);
            let settings = (case.rehash_rounds, case.idle_rehash_rounds);
            assert_eq!(draws, case.draws, "{settings:?}");
        }
    });
}

/// Returns the rounds in which the kernel draws a flow label.
fn draws(marked: &str) -> Vec<usize> {
    let marks = Marks::on_loopback();
    let peers = Peers::connect(Family::V6, Kind::Tcp, "dctcp", "dctcp");
    let mut draws = Vec::new();
    let mut before = rehashes();
    for (round, digit) in marked.chars().enumerate() {
        marks.one_in(u32::from(digit == '1'));
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
