//! The program, as `weftd testbed` starts it.

use std::process::Command;

/// Returns the line with which a spec is refused.
#[track_caller]
fn refusal(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("spec.toml");
    std::fs::write(&spec, text).unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_weft-testbed"))
        .arg(&spec)
        .arg("--out")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{stderr}");
    stderr.into_owned()
}

#[test]
fn another_level_is_refused_in_one_line() {
    let text = r#"
        name = "flow level"
        level = "flow"
        duration = "2ms"
        queues = { limit = "100 packets" }
        topology = { kind = "many-to-one", senders = 2, rate = "10Gbps", delay = "2us" }
        transports.reno.cc = "reno"
        traffic = [{ kind = "incast", transport = "reno", flows = 2, size = "50KB" }]
    "#;
    assert_eq!(
        refusal(text),
        "weftd: level: \"flow\"; allowed: \"linux\" here; `weft run` runs the others\n"
    );
}

/// The testbed routes by destination, and not by flow label.
#[test]
fn plb_is_refused_by_name() {
    let text = r#"
        name = "plb"
        level = "linux"
        duration = "20ms"
        queues = { limit = "100 packets", mark = "10 packets" }
        topology = { kind = "two-paths", rate = "100Mbps", delay = "20us" }
        transports.dctcp = { cc = "dctcp", paths = "plb" }
        traffic = [{ kind = "bulk", transport = "dctcp", pairs = "permutation" }]
    "#;
    assert_eq!(
        refusal(text),
        "weftd: transports.dctcp.paths: \"plb\"; allowed: \"consecutive\", \"by-interface\" at level \"linux\"\n"
    );
}
