//! Profiles of TCP, and changes of their fields.

use weft_spec::Time;
use weft_transports::{PROFILES, ProfilePatch, Recovery};

#[test]
fn profiles_take_patches() {
    let patch = |text: &str| ProfilePatch(text.parse().unwrap());
    for named in PROFILES {
        let profile = (named.build)();
        profile.check().unwrap();
        assert_eq!(
            patch("").apply(&profile).unwrap(),
            profile,
            "{} is its own fields, written and read",
            named.name
        );
    }
    let linux = (PROFILES[0].build)();
    let changed = patch("initial_cwnd = 2\nmss = \"1KB\"\nmin_rto = \"10ms\"\nrecovery = \"newreno\"")
        .apply(&linux)
        .unwrap();
    assert_eq!(
        (
            changed.window.initial_cwnd,
            changed.sizes.mss,
            changed.rto.min_rto
        ),
        (2.0, 1000, Time::from_ms(10))
    );
    assert_eq!(changed.loss.recovery, Recovery::NewReno);
    assert_eq!(changed.rto.max_rto, linux.rto.max_rto);
}

#[test]
fn patches_are_checked() {
    let patch = |text: &str| ProfilePatch(text.parse().unwrap());
    let linux = (PROFILES[0].build)();
    for (text, expected) in [
        (
            "cwnd = 1",
            "cwnd: unknown field; allowed: ack_every, ack_pushed, ack_size, complete_on_data_ack, ",
        ),
        (
            "mss = 1400",
            "mss: 1400 is a bare number without a unit; allowed: a size",
        ),
        (
            "mss = \"5GB\"",
            "mss: 5GB is too large; allowed: a size of at most 4294967295B",
        ),
        (
            "mss = \"65500B\"",
            "mss: 65500B with 66B of header exceed 65535B on the wire; allowed: at most 65469B",
        ),
        ("mss = \"0B\"", "mss: 0B; allowed: a size above 0"),
        ("header = \"70KB\"", "mss: 1448B with 70000B of header exceed"),
        ("ack_size = \"0B\"", "ack_size: 0B; allowed: 1B to 65535B"),
        (
            "initial_cwnd = 0.5",
            "initial_cwnd: 0.5; allowed: 1 to 1000000000",
        ),
        ("initial_cwnd = nan", "initial_cwnd: NaN; allowed: 1 to"),
        (
            "initial_ssthresh = \"lots\"",
            "initial_ssthresh: \"lots\"; allowed: a number of packets, or \"unlimited\"",
        ),
        (
            "initial_ssthresh = 0",
            "initial_ssthresh: 0; allowed: at least 1 packet, or \"unlimited\"",
        ),
        (
            "min_rto = \"200s\"",
            "min_rto: 200s is above max_rto (120s); allowed: at most 120s",
        ),
        ("min_rto = \"0s\"", "min_rto: 0s; allowed: a time above 0"),
        (
            "initial_rto = \"0s\"",
            "initial_rto: 0s; allowed: above 0s, at most 120s",
        ),
        ("dupack_threshold = 0", "dupack_threshold: 0; allowed: at least 1"),
        ("ack_every = 0", "ack_every: 0; allowed: at least 1"),
        (
            "delayed_ack_timeout = \"0s\"",
            "delayed_ack_timeout: 0s with ack_every = 2; allowed: a time above 0",
        ),
        (
            "receive_buffer = \"1KB\"",
            "receive_buffer: 1KB is less than one segment; allowed: at least 1448B",
        ),
        (
            "subflow_receive_buffer = \"1KB\"",
            "subflow_receive_buffer: 1KB is less than one segment; allowed: at least 1448B",
        ),
        (
            "send_buffer = \"1KB\"",
            "send_buffer: 1KB is less than one segment; allowed: at least 1448B",
        ),
        (
            "receive_buffer = \"2GB\"",
            "receive_buffer: 2GB; allowed: at most 1073741824B (RFC 7323, section 2.3)",
        ),
        (
            "recovery = \"cubic\"",
            "recovery: \"cubic\"; allowed: \"newreno\", \"sack\", \"rack\"",
        ),
        ("fct_from = 1", "fct_from: 1; allowed: \"open\", \"established\""),
        ("reinject = 1", "reinject: 1; allowed: true or false"),
        (
            "stall_on_held_data = true",
            "stall_on_held_data: excludes reinject, because ",
        ),
    ] {
        let got = patch(text).apply(&linux).unwrap_err().to_string();
        assert!(
            got.starts_with(expected),
            "{text} gives\n  {got}\nnot\n  {expected}"
        );
    }
}
