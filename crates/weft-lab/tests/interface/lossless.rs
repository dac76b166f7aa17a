//! Lossless queues: drops, pauses, victims and deadlocks in the tables and warnings of runs.

use arrow_array::cast::AsArray;
use weft_lab::{Experiment, RunResult};

use crate::experiment::{counts, indices, numbers, resolved, run_on, table, texts};

/// Six hosts of a leaf send to one host of the other leaf, and one of them to another host, too.
const INCAST: &str = r#"
    name = "lossless"
    duration = "10ms"
    topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 6, rate = "1Gbps", delay = "5us" }
    queues = { limit = "20KB", kind = "lossless" }
    transports.all.cc = "cubic"
    traffic = [
        { name = "incast", kind = "bulk", transport = "all", from = "0..6", to = "h6" },
        { name = "victim", kind = "bulk", transport = "all", from = "h0", to = "h7" },
    ]
"#;

/// Sources at the rate of their links, around a ring of four switches.
const RING: &str = r#"
    name = "ring"
    duration = "5ms"
    queues = { limit = "60KB", kind = "lossless" }
    hosts = { qdisc = "switch" }
    transports.all = { kind = "constant-rate", rate = "10Gbps" }
    traffic = [
        { kind = "bulk", transport = "all", from = ["h0", "h1", "h2", "h3"], to = ["h2", "h3", "h0", "h1"] }
    ]

    [topology]
    kind = "graph"
    hosts = ["h0", "h1", "h2", "h3"]
    switches = ["s0", "s1", "s2", "s3"]
    rate = "10Gbps"
    delay = "1us"
    links = [
        { a = "h0", b = "s0" }, { a = "h1", b = "s1" }, { a = "h2", b = "s2" }, { a = "h3", b = "s3" },
        { a = "s0", b = "s1" }, { a = "s1", b = "s2" }, { a = "s2", b = "s3" }, { a = "s3", b = "s0" },
    ]
    paths = [
        ["h0", "s0", "s1", "s2", "h2"], ["h1", "s1", "s2", "s3", "h3"],
        ["h2", "s2", "s3", "s0", "h0"], ["h3", "s3", "s0", "s1", "h1"],
    ]
"#;

/// Paths between the same hosts that never use the cable between the last switch and the first one.
const WITHOUT_CYCLE: &str = r#"topology.paths=[["h0", "s0", "s1", "s2", "h2"], ["h1", "s1", "s2", "s3", "h3"],
    ["h2", "s2", "s1", "s0", "h0"], ["h3", "s3", "s2", "s1", "h1"]]"#;

/// Returns the sum of a column of the table `links` over the links of a layer.
fn of_layer(run: &RunResult, layer: &str, column: &str) -> u64 {
    let links = table(run, "links");
    let rows = texts(links, "layer").into_iter().zip(counts(links, column));
    rows.filter(|(name, _)| name == layer)
        .map(|(_, count)| count)
        .sum()
}

fn total(run: &RunResult, name: &str, column: &str) -> u64 {
    counts(table(run, name), column).iter().sum()
}

fn warnings(run: &RunResult) -> String {
    run.manifest["warnings"].to_string()
}

/// An incast that overflows FIFOs drops nothing. Pauses spread to the hosts, whose ports have a NIC or a
/// queue, and the number of threads changes no event.
#[test]
fn an_incast_pauses_hosts_and_drops_nothing() {
    let fifo = run_on(&resolved(INCAST, &["queues.kind=fifo"]), 1);
    assert!(total(&fifo, "links", "drops") > 0);
    assert_eq!(total(&fifo, "links", "pauses"), 0);
    for qdisc in ["fq", "fifo", "switch"] {
        let spec = resolved(INCAST, &[format!("hosts.qdisc={qdisc}")]);
        let one = run_on(&spec, 1);
        assert_eq!(total(&one, "links", "drops"), 0, "{qdisc}");
        assert_eq!(total(&one, "flows", "packets_dropped"), 0, "{qdisc}");
        for layer in ["spine-leaf", "leaf-spine", "host-leaf"] {
            assert!(of_layer(&one, layer, "pauses") > 10, "{qdisc}: {layer}");
        }
        assert_eq!(
            of_layer(&one, "leaf-host", "pauses"),
            0,
            "hosts take what they get"
        );
        let paused = numbers(table(&one, "links"), "paused_s");
        assert!(paused.iter().flatten().sum::<f64>() > 1e-3, "{qdisc}");
        assert!(!warnings(&one).contains("deadlock"), "{}", warnings(&one));
        for threads in [2, 4] {
            let other = run_on(&spec, threads);
            assert_eq!(
                other.manifest["trace_hash"], one.manifest["trace_hash"],
                "{qdisc}"
            );
        }
    }
}

/// Recorded frames begin and end the pauses that links count, on any number of threads. The last frame of a link may
/// not have arrived.
#[test]
fn recorded_pause_frames_are_those_of_the_table_of_links() {
    let probe = r#"probes=[{kind = "packets", at = ["leaf-spine", "spine-leaf", "host-leaf", "leaf-host"]}]"#;
    let spec = resolved(INCAST, &[probe]);
    let run = run_on(&spec, 1);
    let (links, frames) = (table(&run, "links"), table(&run, "pause_frames"));
    let (from, to) = (texts(links, "from"), texts(links, "to"));
    let begins = frames.column_by_name("paused").unwrap().as_boolean();
    let frames: Vec<(u32, bool)> = indices(frames, "link")
        .iter()
        .copied()
        .zip(begins.iter().flatten())
        .collect();
    assert!(frames.len() > 100);
    for (link, &pauses) in counts(links, "pauses").iter().enumerate() {
        let reverse = (0..from.len())
            .find(|&other| from[other] == to[link] && to[other] == from[link])
            .unwrap();
        let of_link = frames.iter().filter(|(number, _)| *number as usize == reverse);
        let begins: Vec<bool> = of_link.map(|(_, begins)| *begins).collect();
        assert!(
            (0..).zip(&begins).all(|(n, &begins)| begins == (n % 2 == 0)),
            "link {link}"
        );
        let recorded = begins.iter().filter(|&&begins| begins).count() as u64;
        assert!(
            (recorded..=recorded + 1).contains(&pauses),
            "link {link}: {recorded}, {pauses}"
        );
    }
    for threads in [2, 4] {
        let other = run_on(&spec, threads);
        assert_eq!(table(&other, "pause_frames"), table(&run, "pause_frames"));
    }
}

/// The flow to an idle host waits behind pauses that the incast causes.
#[test]
fn the_table_of_flows_names_victims() {
    let run = run_on(&resolved(INCAST, &["hosts.qdisc=switch"]), 1);
    let flows = table(&run, "flows");
    let victim = texts(flows, "traffic")
        .iter()
        .position(|name| name == "victim")
        .unwrap();
    assert!(counts(flows, "packets_blocked")[victim] > 20);
    let blocked = numbers(flows, "blocked_s");
    assert!(blocked[victim].unwrap() > 1e-4);
    let both = ["flows", "subflows"].map(|table| total(&run, table, "packets_blocked"));
    assert_eq!(both[0], both[1]);
}

/// A ring deadlocks, and the warning names its links. Paths without a cycle do not deadlock, and a watchdog
/// ends the deadlock.
#[test]
fn a_deadlock_is_reported_by_name() {
    let ring = run_on(&resolved(RING, &[] as &[&str]), 1);
    for link in ["s0->s1", "s1->s2", "s2->s3", "s3->s0"] {
        assert!(warnings(&ring).contains(link), "{}", warnings(&ring));
    }
    assert!(warnings(&ring).contains("deadlock: "), "{}", warnings(&ring));
    let late = run_on(&resolved(RING, &["duration=10ms"]), 1);
    let delivered = |run: &RunResult| total(run, "flows", "delivered_bytes");
    assert_eq!(delivered(&late), delivered(&ring), "nothing moves");

    let without = run_on(&resolved(RING, &[WITHOUT_CYCLE]), 1);
    assert!(!warnings(&without).contains("deadlock"), "{}", warnings(&without));
    assert!(delivered(&without) > 2 * delivered(&ring));
    assert_eq!(total(&without, "links", "drops"), 0);

    let watchdog = "queues.kind={name = \"lossless\", watchdog = \"200us\"}";
    let broken = run_on(&resolved(RING, &[watchdog]), 1);
    assert!(total(&broken, "links", "expired_pauses") > 0);
    assert!(total(&broken, "links", "drops") > 0);
    assert!(delivered(&broken) > 2 * delivered(&ring));
}

/// With two classes, the traffic of the second one does not pause the first one.
#[test]
fn a_class_is_paused_by_itself() {
    let classes = [
        "queues.kind={name = \"lossless\", classes = 2}",
        "hosts.qdisc=switch",
        "transports.first={cc = \"cubic\"}",
        "transports.all.class=1",
        "traffic[1].transport=first",
    ];
    let run = run_on(&resolved(INCAST, &classes), 1);
    let flows = table(&run, "flows");
    let victim = texts(flows, "traffic")
        .iter()
        .position(|name| name == "victim")
        .unwrap();
    assert_eq!(counts(flows, "packets_blocked")[victim], 0);
    assert!(of_layer(&run, "host-leaf", "pauses") > 10);
    assert_eq!(total(&run, "links", "drops"), 0);
    assert_eq!(
        total(&run, "traffic_classes", "packets"),
        total(&run, "links", "packets")
    );
}

/// Six links of a leaf are full at once, each with a headroom of 4.3 KB. Packets are dropped if the pool is smaller than one
/// headroom, and none are if it is larger than all six.
#[test]
fn a_pool_of_headroom_drops_packets_if_links_need_more_at_once() {
    let drops = |pool: &str| {
        let kind = format!("queues.kind={{name = \"lossless\"{pool}}}");
        let run = run_on(&resolved(INCAST, &[kind]), 1);
        assert!(of_layer(&run, "host-leaf", "pauses") >= 6);
        total(&run, "links", "drops")
    };
    assert_eq!(drops(""), 0);
    assert_eq!(drops(", headroom_pool = \"40KB\""), 0);
    assert!(drops(", headroom_pool = \"4KB\"") > 0);
}

#[test]
fn ports_of_a_switch_share_one_pool() {
    let sets = [
        "queues.kind={name = \"lossless\", headroom_pool = \"1MB\"}".to_owned(),
        "layers.leaf-spine.queue={name = \"lossless\", headroom_pool = \"2MB\"}".to_owned(),
    ];
    let error = Experiment::parse(INCAST, &sets)
        .err()
        .map(|error| error.to_string());
    assert_eq!(
        error.as_deref(),
        Some(
            "layers.leaf-spine.queue.headroom_pool: 2MB contradicts 1MB of queues.kind at switch leaf0; use one pool for all ports of a switch"
        )
    );
}

/// Hosts of a BCube forward, so packets wait at their ports, and the buffers there need a headroom, too.
#[test]
fn buffers_of_hosts_that_forward_hold_the_headroom() {
    let parse = |host_limit: &str| {
        let text = format!(
            r#"
                name = "bcube"
                duration = "2ms"
                topology = {{ kind = "bcube", n = 4, k = 1, rate = "10Gbps", delay = "5us" }}
                queues = {{ limit = "200 packets", kind = "lossless", host = {{ limit = "{host_limit}" }} }}
                hosts = {{ qdisc = "switch" }}
                transports.all.cc = "cubic"
                traffic = [{{ kind = "bulk", transport = "all", pairs = "permutation" }}]
            "#
        );
        Experiment::parse(&text, &[]).err().map(|error| error.to_string())
    };
    let error = parse("10 packets").expect("too small a buffer");
    assert!(error.starts_with("queues.host.limit: "), "{error}");
    assert!(error.contains("the headroom of"), "{error}");
    assert_eq!(parse("200 packets"), None);
}
