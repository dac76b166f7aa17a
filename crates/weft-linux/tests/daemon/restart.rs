//! What a restart, a kill and a stop do to connections, old ones and new ones.

use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

use crate::scene::{Scene, load, missing, until};
use crate::scene_or_skip;

/// The setting has the same name as before, but the program that it stands for is another.
#[test]
fn after_a_kill_new_sockets_get_the_new_program() {
    let scene = scene_or_skip!("after_a_kill_new_sockets_get_the_new_program");
    let daemon = scene.daemon("subflows.after = \"100MB\"");
    daemon.kill();
    let _daemon = scene.daemon("subflows.after = \"64KB\"");
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    assert_eq!(scene.subflows()[0].congestion, "weft_amp");
    stream.write_all(&vec![0; 300_000]).unwrap();
    until("joins after the new number of bytes", || {
        scene.subflows().len() == 4
    });
}

#[test]
fn a_stop_leaves_suppressed_what_is_suppressed_and_the_next_start_goes_on() {
    let scene = scene_or_skip!("a_stop_leaves_suppressed_what_is_suppressed_and_the_next_start_goes_on");
    let daemon = scene.daemon("");
    let server = scene.serve();
    let _load = load(scene.connect(server.address));
    until("three joins", || scene.subflows().len() == 4);
    let backups = || scene.subflows().iter().filter(|s| s.subflow.backup).count();
    scene.mark(true);
    until("suppression", || backups() == 3);
    daemon.stop();
    assert_eq!(backups(), 3);
    let stopped = server.read();
    until("it goes on", || server.read() > stopped + 1_000_000);
    let daemon = scene.daemon("");
    sleep(Duration::from_millis(700));
    assert_eq!(backups(), 3);
    scene.mark(false);
    until("release", || backups() == 0);
    daemon.stop();
}
