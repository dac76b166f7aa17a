//! The program, as `weftd testbed` starts it.

use std::process::Command;

#[test]
fn another_level_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("spec.toml");
    let text = r#"
        name = "flow level"
        level = "flow"
        duration = "2ms"
        queues = { limit = "100 packets" }
        topology = { kind = "many-to-one", senders = 2, rate = "10Gbps", delay = "2us" }
        transports.reno.cc = "reno"
        traffic = [{ kind = "incast", transport = "reno", flows = 2, size = "50KB" }]
    "#;
    std::fs::write(&spec, text).unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_weft-testbed"))
        .arg(&spec)
        .arg("--out")
        .arg(folder.path().join("out"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{stderr}");
    assert_eq!(
        stderr,
        "weftd: level: \"flow\"; allowed: \"linux\" here; `weft run` runs the others\n"
    );
}
