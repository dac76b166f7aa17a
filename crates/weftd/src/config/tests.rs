use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn the_packaged_configuration_says_the_defaults() {
    let packaged = Config::parse(include_str!("../../packaging/weftd.toml")).unwrap();
    assert_eq!(packaged, Config::default());
}

#[test]
fn complaints_say_where_what_and_what_is_allowed() {
    for (text, expected) in [
        ("subflow.count = 4", "subflow: unknown field"),
        (
            "[subflows]\njoin_after = 256",
            "subflows.join_after: 256 is a bare number",
        ),
        ("[subflows]\ncount = 9", "subflows.count: 9; allowed: 1 to 8"),
        (
            "[subflows]\nstale_timeouts = 0",
            "subflows.stale_timeouts: 0; allowed: 1 to 64",
        ),
        (
            "[metrics]\nlisten = \"0.0.0.0:9464\"",
            "metrics.listen: 0.0.0.0:9464; allowed: a loopback",
        ),
        (
            "[congestion]\nalgorithms = [\"cubic\"]",
            "congestion.algorithms: \"cubic\"; allowed: weft_",
        ),
        (
            "[congestion]\nalgorithms = [\"weft_amp\"]\ndefault = \"weft_xmp\"",
            "congestion.default: \"weft_xmp\"; allowed",
        ),
        (
            "[congestion]\nalgorithms = [\"weft_amp\", \"weft_amp\"]",
            "congestion.algorithms: \"weft_amp\" twice; allowed: each",
        ),
        (
            "congestion.max_connections = 0",
            "congestion.max_connections: 0; allowed: 16 to 1048576",
        ),
        (
            "[congestion.parameters.weft_lia]\nbeta = 4",
            "congestion.parameters.weft_lia.beta: 4; allowed: 0",
        ),
        (
            "[subflows]\naddresses = [\"10.0.0.2\", \"10.0.0.1/24\"]",
            "subflows.addresses[1]: \"10.0.0.1/24\" has a prefix length; allowed: an address without one, such as \"10.0.0.1\"",
        ),
        (
            "[subflows]\naddresses = [\"host\"]",
            "subflows.addresses[0]: \"host\"; allowed: an IPv4 or IPv6 address, such as \"10.0.0.1\"",
        ),
        (
            "[subflows]\naddresses = \"10.0.0.1\"",
            "subflows.addresses: \"10.0.0.1\"; allowed: a list",
        ),
        (
            "[metrics]\nlisten = \"127.0.0.1\"",
            "metrics.listen: \"127.0.0.1\" has no port; allowed: a loopback address with a port, such as \"127.0.0.1:9464\"",
        ),
        (
            "[metrics]\nlisten = \"localhost:9464\"",
            "metrics.listen: \"localhost:9464\"; allowed: a loopback address with a port, such as \"127.0.0.1:9464\"",
        ),
        (
            "[subflows]\ncount = 300",
            "subflows.count: 300; allowed: a whole number, 1 to 8",
        ),
        (
            "[subflows]\nmax_accepted = -1",
            "subflows.max_accepted: -1; allowed: a whole number, 1 to 64",
        ),
        (
            "[subflows]\nstale_timeouts = 2.5",
            "subflows.stale_timeouts: 2.5; allowed: a whole number, 1 to 64",
        ),
        (
            "congestion.max_connections = 99999999999999999999",
            "congestion.max_connections: 1e20; allowed: a whole number, 16 to 1048576",
        ),
        ("[subflows", "line 1, column 10: "),
    ] {
        assert_refused(text, expected);
    }
}

#[test]
fn addresses_that_would_have_no_effect_are_refused() {
    for (text, expected) in [
        (
            "[subflows]\naddresses = [\"127.0.0.1\"]",
            "subflows.addresses[0]: 127.0.0.1; allowed: addresses of this host",
        ),
        (
            "[subflows]\naddresses = [\"10.0.0.1\", \"224.0.0.1\"]",
            "subflows.addresses[1]: 224.0.0.1; allowed",
        ),
        (
            "[subflows]\naddresses = [\"::ffff:10.0.0.1\"]",
            "subflows.addresses[0]: ::ffff:10.0.0.1; allowed",
        ),
        (
            "[subflows]\naddresses = [\"255.255.255.255\"]",
            "subflows.addresses[0]: 255.255.255.255; allowed",
        ),
        (
            "[subflows]\naddresses = [\"fe80::1\"]",
            "subflows.addresses[0]: fe80::1; allowed",
        ),
        (
            "[subflows]\naddresses = [\"10.0.0.1\", \"fd00::1\", \"10.0.0.1\"]",
            "subflows.addresses[2]: 10.0.0.1 twice; allowed: each address once",
        ),
        (
            "[metrics]\nlisten = \"127.0.0.1:0\"",
            "metrics.listen: 127.0.0.1:0; allowed: a loopback",
        ),
        (
            "[[rules]]\nalgorithm = \"reno\"\ncgroup = \"a\\u0000b\"",
            "rules[0].cgroup: \"a\\0b\"; allowed: a path below the root",
        ),
    ] {
        assert_refused(text, expected);
    }
}

fn assert_refused(text: &str, expected: &str) {
    let complaint = Config::parse(text).unwrap_err().to_string();
    assert!(complaint.starts_with(expected), "{text}: {complaint}");
    assert!(!complaint.contains('\n'), "{complaint}");
}

#[test]
fn a_configuration_may_begin_with_a_byte_order_mark_and_end_its_lines_as_windows_does() {
    let config = Config::parse("\u{feff}[subflows]\r\ncount = 2.0\r\n").unwrap();
    assert_eq!(config.subflows.count, 2);
}

#[test]
fn a_file_or_folder_that_others_may_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weftd.toml");
    fs::write(&path, "[subflows]\ncount = 2\n").unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&path, 0o644);
    assert_eq!(Config::read(Some(&path)).unwrap().subflows.count, 2);
    mode(&path, 0o664);
    let complaint = Config::read(Some(&path)).unwrap_err();
    assert!(complaint.to_string().contains("mode 664"), "{complaint}");
    assert_eq!(complaint.code(), 2);
    mode(&path, 0o644);
    mode(folder.path(), 0o777);
    let complaint = Config::read(Some(&path)).unwrap_err();
    assert!(complaint.to_string().contains("its folder"), "{complaint}");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRUSR).unwrap();
    let complaint = Config::read(Some(&path)).unwrap_err();
    assert!(
        complaint.to_string().contains("not a regular file"),
        "{complaint}"
    );
}

#[test]
fn a_file_that_is_asked_for_must_be_there() {
    assert!(Config::read(Some(Path::new("/nowhere/weftd.toml"))).is_err());
}

#[test]
fn a_file_without_settings_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weftd.toml");
    let warnings = |text: &str| {
        fs::write(&path, text).unwrap();
        Config::read(Some(&path)).unwrap().warnings
    };
    for empty in ["", "\n# namespaces = [\"a\"]\n"] {
        let found = warnings(empty);
        assert!(
            found.len() == 1 && found[0].contains("contains no setting"),
            "{found:?}"
        );
    }
    assert!(warnings("subflows.count = 2").is_empty());
}
