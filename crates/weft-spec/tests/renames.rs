//! Old names of fields and values are accepted with a warning until they are removed.

use weft_spec::{Both, Spec, apply_override, read_table, replace_old_names};

/// A part of a spec with old names, the same part with new names, and the text of each warning.
const RENAMED: &[(&str, &str, &[&str])] = &[
    (
        "hosts = { nic = \"fq\", nic_limit = \"9KB\", gro = \"5us\" }",
        "hosts = { qdisc = \"fq\", bql_limit = \"9KB\", gro_flush_timeout = \"5us\" }",
        &[
            "hosts.nic: renamed; write hosts.qdisc ",
            "hosts.nic_limit: renamed; write hosts.bql_limit ",
            "hosts.gro: renamed; write hosts.gro_flush_timeout ",
        ],
    ),
    (
        "measure = { from = \"1s\", to = \"2s\" }",
        "measure = { start = \"1s\", stop = \"2s\" }",
        &[
            "measure.from: renamed; write measure.start ",
            "measure.to: renamed; write measure.stop ",
        ],
    ),
    (
        "events = [{ at = \"1s\", state = \"up\" }, { at = \"2s\", detect = \"1ms\", both_ways = false }]",
        "events = [{ at = \"1s\", state = \"up\" }, { at = \"2s\", detection_delay = \"1ms\", bidirectional = false }]",
        &[
            "events[1].detect: renamed; write events[1].detection_delay ",
            "events[1].both_ways: renamed; write events[1].bidirectional ",
        ],
    ),
    (
        "probes = [{ kind = \"flow\", every = \"1ms\" }]",
        "probes = [{ kind = \"flow\", interval = \"1ms\" }]",
        &["probes[0].every: renamed; write probes[0].interval "],
    ),
    (
        "traffic = [{ kind = \"incast\", every = \"1s\" }, { kind = \"closed-loop\", pause = \"1s\" }]",
        "traffic = [{ kind = \"incast\", interval = \"1s\" }, { kind = \"closed-loop\", think_time = \"1s\" }]",
        &[
            "traffic[0].every: renamed; write traffic[0].interval ",
            "traffic[1].pause: renamed; write traffic[1].think_time ",
        ],
    ),
    (
        "traffic = [{ kind = \"jobs\", among = \"0..4\", clients = 5, block = { kind = \"pareto\", most = \"1MB\" } }]",
        "traffic = [{ kind = \"jobs\", server_hosts = \"0..4\", client_hosts = 5, block = { kind = \"pareto\", max = \"1MB\" } }]",
        &[
            "traffic[0].among: renamed; write traffic[0].server_hosts ",
            "traffic[0].clients: renamed; write traffic[0].client_hosts ",
            "traffic[0].block.most: renamed; write traffic[0].block.max ",
        ],
    ),
    (
        "traffic = [{ kind = \"poisson\", from = 1, to = 2, size = { kind = \"uniform\", from = \"1B\", to = \"9B\" } }]",
        "traffic = [{ kind = \"poisson\", from = 1, to = 2, size = { kind = \"uniform\", min = \"1B\", max = \"9B\" } }]",
        &[
            "traffic[0].size.from: renamed; write traffic[0].size.min ",
            "traffic[0].size.to: renamed; write traffic[0].size.max ",
        ],
    ),
    (
        "transports = { a = { paths = \"in-turn\" }, b = { paths = { name = \"in-turn\" } } }",
        "transports = { a = { paths = \"consecutive\" }, b = { paths = { name = \"consecutive\" } } }",
        &[
            "transports.a.paths: \"in-turn\" is renamed; write \"consecutive\" ",
            "transports.b.paths.name: \"in-turn\" is renamed; write \"consecutive\" ",
        ],
    ),
    (
        "transports.a.paths = { name = \"mmptcp\", duplicates = 9 }\n\
         transports.b.paths = { name = \"opn\", memory = \"host\" }",
        "transports.a.paths = { name = \"mmptcp\", dupack_threshold = 9 }\n\
         transports.b.paths = { name = \"opn\", state = \"host\" }",
        &[
            "transports.a.paths.duplicates: renamed; write transports.a.paths.dupack_threshold ",
            "transports.b.paths.memory: renamed; write transports.b.paths.state ",
        ],
    ),
    (
        "[transports.a.tcp]\nproportional_rate_reduction = true\nforward_rto = true\nreact_to_the_last = true\n\
         turn_waits_for_join = true\nends_by_data_ack = true",
        "[transports.a.tcp]\nprr = true\nfrto = true\nreact_after_last_data = true\n\
         round_robin_waits_for_join = true\ncomplete_on_data_ack = true",
        &[
            ".proportional_rate_reduction: renamed; write transports.a.tcp.prr ",
            ".forward_rto: renamed; write transports.a.tcp.frto ",
            ".react_to_the_last: renamed; write transports.a.tcp.react_after_last_data ",
            ".turn_waits_for_join: renamed; write transports.a.tcp.round_robin_waits_for_join ",
            ".ends_by_data_ack: renamed; write transports.a.tcp.complete_on_data_ack ",
        ],
    ),
    (
        "transports = { a = { tcp.round_ends_beyond = true }, b = { tcp.round_ends_beyond = false } }",
        "transports = { a = { tcp.round_end = \"rfc8257\" }, b = { tcp.round_end = \"linux\" } }",
        &[
            "transports.a.tcp.round_ends_beyond: renamed; write transports.a.tcp.round_end = \"rfc8257\" ",
            "transports.b.tcp.round_ends_beyond: renamed; write transports.b.tcp.round_end = \"linux\" ",
        ],
    ),
    (
        "transports = { a = { tcp.min_rto_beyond_srtt = true }, b = { tcp.min_rto_beyond_srtt = false } }",
        "transports = { a = { tcp.rto_estimator = \"linux\" }, b = { tcp.rto_estimator = \"rfc6298\" } }",
        &[
            "transports.a.tcp.min_rto_beyond_srtt: renamed; write transports.a.tcp.rto_estimator = \"linux\" ",
            "transports.b.tcp.min_rto_beyond_srtt: renamed; write transports.b.tcp.rto_estimator = \"rfc6298\" ",
        ],
    ),
];

#[test]
fn an_old_name_means_the_new_one_and_gives_a_warning() {
    for (old, new, expected) in RENAMED {
        let (mut table, wanted) = (read_table(old).unwrap(), read_table(new).unwrap());
        let warnings = replace_old_names(&mut table, Both::Refuse).unwrap();
        assert_eq!(table, wanted, "{old}");
        assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
        for text in *expected {
            assert!(
                warnings.iter().any(|warning| warning.contains(text)),
                "{text} in {warnings:?}"
            );
        }
    }
}

#[test]
fn new_names_give_no_warning() {
    for (_, new, _) in RENAMED {
        let mut table = read_table(new).unwrap();
        assert_eq!(
            replace_old_names(&mut table, Both::Refuse).unwrap(),
            [""; 0],
            "{new}"
        );
        assert_eq!(table, read_table(new).unwrap());
    }
}

/// Traffic keeps `from` and `to`, which are hosts; `every` remains unknown in a kind that never had
/// it.
#[test]
fn a_name_that_is_old_elsewhere_stays() {
    let text = "traffic = [{ kind = \"bulk\", every = \"1s\", from = 0, to = 1, among = 2 }]\nqueues.nic = 1";
    let mut table = read_table(text).unwrap();
    assert_eq!(replace_old_names(&mut table, Both::Refuse).unwrap(), [""; 0]);
    assert_eq!(table, read_table(text).unwrap());
}

#[test]
fn both_names_are_refused() {
    for (text, line) in [
        (
            "hosts = { nic = \"fq\", qdisc = \"fq\" }",
            "hosts.nic: is the former name of qdisc, which is also set; remove this field",
        ),
        (
            "probes = [{ kind = \"flow\", every = \"1s\", interval = \"1s\" }]",
            "probes[0].every: is the former name of interval, which is also set; remove this field",
        ),
        (
            "transports.a.tcp = { round_ends_beyond = true, round_end = \"linux\" }",
            "transports.a.tcp.round_ends_beyond: is the former name of round_end, which is also set; remove this field",
        ),
    ] {
        let error = replace_old_names(&mut read_table(text).unwrap(), Both::Refuse).unwrap_err();
        assert_eq!(error.to_string(), line);
    }
}

#[test]
fn a_flag_that_is_a_choice_now_must_have_been_a_flag() {
    let mut table = read_table("transports.a.tcp.round_ends_beyond = 3").unwrap();
    let error = replace_old_names(&mut table, Both::Refuse).unwrap_err();
    assert_eq!(
        error.to_string(),
        "transports.a.tcp.round_ends_beyond: 3; allowed: true or false"
    );
}

#[test]
fn an_override_by_an_old_name_replaces_the_value() {
    let mut table = read_table("hosts.qdisc = \"fq\"").unwrap();
    apply_override(&mut table, "hosts.nic=switch").unwrap();
    assert_eq!(replace_old_names(&mut table, Both::TakeOld).unwrap().len(), 1);
    assert_eq!(table, read_table("hosts.qdisc = \"switch\"").unwrap());
}

/// Errors list only new names as allowed.
#[test]
fn old_names_are_not_allowed_fields() {
    let text = "name = \"a\"\nduration = \"1s\"\ntopology.kind = \"many-to-one\"\nqueues.limit = \"9 packets\"\n\
                transports = {}\ntraffic = []\nhosts.colour = 1";
    let error = Spec::from_table(&read_table(text).unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "hosts.colour: unknown field; allowed: jitter, clock_ppm, qdisc, bql_limit, tso, gro_flush_timeout"
    );
}
