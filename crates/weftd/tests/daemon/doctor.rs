//! The doctor, and the check of a configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use weftd::daemon::settings;

use crate::scene::{SERVER, Scene, missing, until, weftd};
use crate::scene_or_skip;

#[test]
fn the_doctor_says_what_is_wrong_and_what_mends_it() {
    let scene = scene_or_skip!("the_doctor_says_what_is_wrong_and_what_mends_it");
    let name = scene.client.path().to_str().unwrap();
    let examine = || {
        let output = scene
            .weftd(&["doctor", "--json", "--namespace", name])
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), report)
    };
    let finding = |report: &serde_json::Value, check: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings
            .iter()
            .find(|finding| finding["check"] == check)
            .unwrap()
            .clone()
    };
    let (code, report) = examine();
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(finding(&report, "path manager")["state"], "warning");
    let fix = finding(&report, "path manager")["fix"]
        .as_str()
        .unwrap()
        .to_owned();
    let (key, value) = settings::path_manager(&scene.client);
    assert!(fix.contains(&format!("{key}={value}")), "{fix}");
    let _daemon = scene.daemon("");
    let (code, report) = examine();
    assert_eq!(code, Some(0));
    for check in [
        "path manager",
        "default algorithm",
        "weftd",
        "BTF",
        "struct_ops",
        "MPTCP",
    ] {
        assert_eq!(finding(&report, check)["state"], "good", "{report:#}");
    }
}

/// All findings of a check, in the namespaces that the doctor chooses.
fn findings(command: &mut Command, check: &str) -> Vec<serde_json::Value> {
    let output = command.output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .filter(|finding| finding["check"] == check)
        .cloned()
        .collect()
}

/// `ip netns exec` mounts another /sys for its command, which hides the BPF file system.
#[test]
fn the_doctor_finds_the_bpf_file_system_in_ip_netns_exec() {
    let scene = scene_or_skip!("the_doctor_finds_the_bpf_file_system_in_ip_netns_exec");
    let _daemon = scene.daemon("");
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", &scene.client_name(), env!("CARGO_BIN_EXE_weftd")])
        .args(["doctor", "--json"])
        .env("RUNTIME_DIRECTORY", scene.folder.path());
    let found = findings(&mut command, "BPF file system");
    assert_eq!(found[0]["state"], "good", "{found:#?}");
    // It is about that namespace only, in which the daemon does not run.
    let defaults = findings(&mut command, "default algorithm");
    assert_eq!(defaults.len(), 1, "{defaults:#?}");
    assert_eq!(defaults[0]["detail"], "weft_amp");
}

/// The status says of the connection that it is Reno, and the doctor must not contradict.
#[test]
fn the_doctor_looks_at_the_namespaces_that_weftd_serves() {
    let scene = scene_or_skip!("the_doctor_looks_at_the_namespaces_that_weftd_serves");
    let _daemon = scene.daemon("");
    let server = scene.serve_with(SERVER.into(), Some("reno"));
    let _stream = scene.connect(server.address);
    until("the connection is Reno", || {
        let status = scene.status();
        status
            .connections
            .iter()
            .any(|connection| connection.uncoupled.is_some())
    });
    let mut doctor = scene.weftd(&["doctor", "--json"]);
    let peers = findings(&mut doctor, "ECN at the other ends");
    assert_eq!(peers.len(), 2, "{peers:#?}");
    assert!(
        peers.iter().any(|finding| finding["state"] == "warning"),
        "{peers:#?}"
    );
    let defaults = findings(&mut doctor, "default algorithm");
    assert!(
        defaults.iter().all(|finding| finding["detail"] == "weft_amp"),
        "{defaults:#?}"
    );
    // Both ends get one advice.
    let listeners = findings(&mut doctor, "listeners");
    let fixes = peers
        .iter()
        .chain(&listeners)
        .filter_map(|finding| finding["fix"].as_str());
    let fixes: Vec<_> = fixes.collect();
    assert!(fixes.len() >= 2, "{fixes:#?}");
    assert!(
        fixes
            .iter()
            .all(|fix| fix.contains("congestion.default = \"weft_amp\"")),
        "{fixes:#?}"
    );
}

#[test]
fn a_configuration_that_is_not_understood_or_not_safe_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("weftd.toml");
    let refused = |text: &str, mode: u32, expected: &str| {
        fs::write(&config, text).unwrap();
        fs::set_permissions(&config, fs::Permissions::from_mode(mode)).unwrap();
        let path = config.to_str().unwrap();
        let output = weftd(&["run", "--check", "--config", path]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains(expected), "{message}");
    };
    refused("subflow.count = 4", 0o644, "subflow: unknown field");
    refused("subflows.count = 400", 0o644, "subflows.count: ");
    refused(
        "metrics.listen = \"10.0.0.1:80\"",
        0o644,
        "allowed: a loopback address",
    );
    refused("", 0o666, "others can write to it");
    let name = "allowed: a name that `ip netns` lists, the absolute path";
    for namespace in ["", "a\\u0000b", "../x", "a/b"] {
        refused(&format!("namespaces = [\"{namespace}\"]"), 0o644, name);
    }
    for namespace in ["/etc/passwd", "/proc"] {
        let expected = format!("{namespace} is not a network namespace; allowed: a name");
        refused(&format!("namespaces = [\"{namespace}\"]"), 0o644, &expected);
    }
    refused(
        "namespaces = [\"red\", \"red\"]",
        0o644,
        "allowed: each namespace once",
    );
    // It exists, or will exist.
    for namespace in ["/proc/self/ns/net", "weftd-test-none", "*"] {
        fs::write(&config, format!("namespaces = [\"{namespace}\"]")).unwrap();
        let path = config.to_str().unwrap();
        let accepted = weftd(&["run", "--check", "--config", path]).status().unwrap();
        assert!(accepted.success(), "{namespace}");
    }
    let absent = weftd(&["run", "--config", "/nowhere.toml"]).output().unwrap();
    assert_eq!(absent.status.code(), Some(2));
}
