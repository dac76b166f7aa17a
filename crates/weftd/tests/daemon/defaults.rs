//! Settings that weftd changes, and those that it must not change.

use std::fs;
use std::io::Write;

use weft_kernel::path_manager::Namespace;
use weftd::daemon::settings::{DEFAULT, Settings, read};

use crate::scene::{NO_DEFAULT, Scene, missing, until};
use crate::scene_or_skip;

fn set_default(namespace: &Namespace, name: &str) {
    let key = "/proc/sys/net/ipv4/tcp_congestion_control";
    namespace.run_in(|| fs::write(key, name)).expect("a default");
}

fn default_of(namespace: &Namespace) -> String {
    read(namespace, DEFAULT).expect("a default")
}

/// A new connection whose subflows are coupled by the daemon that runs.
fn connects(scene: &Scene) {
    let server = scene.serve();
    let mut stream = scene.connect(server.address);
    stream.write_all(&vec![0; 1_000_000]).expect("a connection");
    until("its bytes arrive", || server.read() == 1_000_000);
    let local = stream.local_addr().expect("an address");
    let mut seen = None;
    let coupled = crate::scene::wait(5, || {
        let connections = scene.status().connections;
        seen = connections.into_iter().find(|c| c.subflows[0].local == local);
        let client = seen.as_ref();
        client.is_some_and(|c| c.algorithm.as_deref() == Some("weft_amp") && c.subflows.len() == 4)
    });
    assert!(coupled, "{seen:#?}");
}

/// The kernel keeps the program that the name stood for when the default was set.
#[test]
fn a_default_that_is_set_by_hand_is_renewed_at_start_and_reload() {
    let scene = scene_or_skip!("a_default_that_is_set_by_hand_is_renewed_at_start_and_reload");
    let daemon = scene.daemon(NO_DEFAULT);
    for namespace in [&scene.client, &scene.server] {
        set_default(namespace, "weft_amp");
    }
    connects(&scene);
    until("nothing is open", || scene.status().entries == 0);
    daemon.stop();
    assert_eq!(default_of(&scene.client), "weft_amp");
    let daemon = scene.daemon(NO_DEFAULT);
    connects(&scene);
    scene.reload(&daemon);
    connects(&scene);
    daemon.stop();
}

#[test]
fn a_stop_leaves_defaults_that_others_have_set_and_says_so() {
    let scene = scene_or_skip!("a_stop_leaves_defaults_that_others_have_set_and_says_so");
    let before = default_of(&scene.client);
    let daemon = scene.daemon_of_the_client("");
    assert_eq!(default_of(&scene.client), "weft_amp");
    set_default(&scene.server, "weft_dctcp");
    let log = daemon.log();
    daemon.stop();
    assert_eq!(default_of(&scene.client), before);
    assert_eq!(default_of(&scene.server), "weft_dctcp");
    let line = "the default stays weft_dctcp, which weftd has not set";
    until("a line in the log", || {
        log.lock().expect("the log").contains(line)
    });
}

/// The kernel copies the default of the machine's own namespace into each new one. Here one namespace stands for the machine.
#[test]
fn a_default_that_a_new_namespace_has_from_weftd_is_restored() {
    let scene = scene_or_skip!("a_default_that_a_new_namespace_has_from_weftd_is_restored");
    let file = scene.folder.path().join("settings.json");
    let before = default_of(&scene.client);
    let (mut settings, damage) = Settings::open(&file);
    assert_eq!(damage, None);
    assert!(!settings.record_inherited(&scene.client, &scene.server).unwrap());
    let other = if before == "reno" { "cubic" } else { "reno" };
    assert!(settings.change(&scene.client, DEFAULT, other).unwrap());
    set_default(&scene.server, &before);
    assert!(!settings.record_inherited(&scene.client, &scene.server).unwrap());
    set_default(&scene.server, other);
    assert!(settings.record_inherited(&scene.client, &scene.server).unwrap());
    assert!(!settings.record_inherited(&scene.client, &scene.server).unwrap());
    // Another process restores them.
    let (mut settings, _) = Settings::open(&file);
    assert_eq!(settings.restore(), Vec::<String>::new());
    assert_eq!(default_of(&scene.client), before);
    assert_eq!(default_of(&scene.server), before);
    assert!(!file.exists());
}

#[test]
fn a_damaged_file_of_settings_blocks_neither_start_nor_detach() {
    let scene = scene_or_skip!("a_damaged_file_of_settings_blocks_neither_start_nor_detach");
    let file = scene.folder.path().join("settings.json");
    let damage = format!(
        "{}: damaged, so settings that the last weftd changed",
        file.display()
    );
    for text in ["[{\"namespace\":nul", "{}", "\u{1}\u{2}"] {
        fs::write(&file, text).unwrap();
        let detached = scene.weftd(&["detach"]).output().unwrap();
        let message = String::from_utf8(detached.stderr).unwrap();
        assert_eq!(detached.status.code(), Some(1), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.starts_with(&format!("weftd: {damage}")), "{message}");
        // The file is kept under another name, so that it is reported once.
        assert_eq!(
            fs::read_to_string(file.with_extension("json.damaged")).unwrap(),
            text
        );
        assert!(scene.weftd(&["detach"]).status().unwrap().success());
    }
    fs::write(&file, "[").unwrap();
    let before = default_of(&scene.client);
    let daemon = scene.daemon("");
    assert!(daemon.has_logged(&damage));
    daemon.stop();
    assert_eq!(default_of(&scene.client), before);
}
