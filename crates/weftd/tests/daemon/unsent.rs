//! How much a subflow keeps unsent while another one is inactive.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use crate::scene::{NO_DEFAULT, Scene, missing, until};
use crate::scene_or_skip;
use crate::share::Flows;

/// The limit, a burst of the scheduler in addition, and the packets in flight.
const MOST: u64 = (64 + 64 + 32) << 10;

#[test]
fn a_subflow_of_warp_keeps_few_unsent_bytes_while_another_one_is_inactive() {
    let scene = scene_or_skip!("a_subflow_of_warp_keeps_few_unsent_bytes_while_another_one_is_inactive");
    scene.mark_queue();
    let settings = format!("{NO_DEFAULT}congestion.default = \"weft_warp\"\n");
    let ends = [scene.client_name(), scene.server_name()];
    let _daemon = scene.daemon_of_these(&ends.each_ref().map(String::as_str), &settings);
    let _flows = Flows::beside(&scene, 3);
    until("four subflows", || scene.subflows().len() == 4);
    let is_limited = || queued(&scene).iter().any(|(backup, _)| *backup);
    until("an inactive subflow", is_limited);
    // Data that was assigned in slow start leaves first.
    sleep(Duration::from_secs(2));
    let mut most = Vec::new();
    for _ in 0..40 {
        sleep(Duration::from_millis(50));
        let subflows = queued(&scene);
        if subflows.iter().any(|(backup, _)| *backup) {
            most.extend(subflows.iter().map(|(_, bytes)| *bytes).max());
        }
    }
    most.sort_unstable();
    // On a busy machine all subflows may be active for a moment, and fill their buffers.
    let usual = *most.get(most.len() * 3 / 4).expect("an inactive subflow");
    eprintln!("{usual} bytes at one subflow, and up to {:?}", most.last());
    assert!(usual > 0 && usual < MOST, "{most:?} bytes at one subflow");
}

/// Returns, for each subflow of the client, whether it is a backup and how many of its bytes are unsent or not acknowledged.
fn queued(scene: &Scene) -> Vec<(bool, u64)> {
    let shown = Command::new("ss")
        .args(["-N", &scene.client_name(), "-tinHO"])
        .output();
    let shown = String::from_utf8(shown.expect("ss").stdout).expect("text");
    let subflow = |line: &str| {
        let flags = line.split("tcp-ulp-mptcp flags:").nth(1)?.split(' ').next()?;
        let queue = line.split_whitespace().nth(2)?.parse().ok()?;
        Some((flags.contains('b'), queue))
    };
    shown.lines().filter_map(subflow).collect()
}
