//! The path policy `plb` draws paths at the end of the rounds in which Linux draws flow labels.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use weft_paths::{PathEvent, PathPolicy, PathState, Plb};
use weft_spec::Time;

#[derive(Deserialize)]
struct List {
    cases: Vec<Case>,
}

/// A case of the list of `weft-kernel`, whose test checks it against the kernel.
#[derive(Deserialize)]
struct Case {
    rehash_rounds: u32,
    idle_rehash_rounds: u32,
    marked: String,
    draws: Vec<usize>,
}

/// Each round is one packet, so nothing is outstanding at its end or when the next one begins.
#[test]
fn plb_draws_paths_when_linux_draws_flow_labels() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../weft-kernel/tests/functional/plb.toml");
    let list: List = toml::from_str(&fs::read_to_string(list).unwrap()).unwrap();
    assert!(!list.cases.is_empty());
    for case in list.cases {
        let settings = format!(
            "rehash_rounds = {}\nidle_rehash_rounds = {}",
            case.rehash_rounds, case.idle_rehash_rounds
        );
        let policy: Plb = toml::from_str(&settings).unwrap();
        let mut state = PathState::default();
        let mut draws = Vec::new();
        for (round, digit) in case.marked.chars().enumerate() {
            let end = PathEvent::Round {
                acked: 1,
                marked: u32::from(digit == '1'),
                is_idle: true,
            };
            for event in [PathEvent::Start, end] {
                if policy.on_event(&mut state, event, Time(0)) {
                    draws.push(round);
                }
            }
        }
        assert_eq!(draws, case.draws, "{settings}");
    }
}
