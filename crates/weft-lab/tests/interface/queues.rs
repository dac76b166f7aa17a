//! Kinds of queues: of the whole network, of layers, and in messages.

use std::collections::BTreeMap;

use weft_lab::{Experiment, RunResult};

use crate::experiment::{counts, indices, resolved, run_on, table, texts};

/// Six hosts of a leaf send to one host of the other leaf.
const SPEC: &str = r#"
    name = "queues"
    duration = "20ms"
    topology = { kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 6, rate = "1Gbps", delay = "5us" }
    queues = { limit = "1MB" }
    transports.dctcp.cc = "dctcp"
    traffic = [{ kind = "bulk", transport = "dctcp", from = "0..6", to = "h6" }]
"#;

const RED: &str = "{name = \"red\", min = \"10KB\", max = \"40KB\", probability = 0.2}";

fn run(overrides: &[&str], threads: usize) -> RunResult {
    run_on(&resolved(SPEC, overrides), threads)
}

/// Returns a count of the table `links` by layer, where it is not zero.
fn by_layer(run: &RunResult, column: &str) -> BTreeMap<String, u64> {
    let links = table(run, "links");
    let mut found = BTreeMap::new();
    for (layer, count) in texts(links, "layer").into_iter().zip(counts(links, column)) {
        *found.entry(layer).or_default() += count;
    }
    found.retain(|_, count| *count > 0);
    found
}

/// RED marks in the layers that have it, and the number of threads changes no event.
#[test]
fn red_marks_in_its_layer_on_any_number_of_threads() {
    let kind = format!("layers.leaf-host.queue={RED}");
    let one = run(&[&kind], 1);
    let marks = by_layer(&one, "marks");
    assert_eq!(marks.keys().collect::<Vec<_>>(), ["leaf-host"]);
    assert!(by_layer(&one, "drops").is_empty());
    for threads in [2, 3, 4] {
        assert_eq!(
            run(&[&kind], threads).manifest["trace_hash"],
            one.manifest["trace_hash"]
        );
    }
    let all = run(&[&format!("queues.kind={RED}")], 1);
    assert!(by_layer(&all, "marks").contains_key("leaf-spine"));
    let none = run(&[&format!("queues.kind={RED}"), "layers.leaf-host.queue=fifo"], 1);
    assert!(!by_layer(&none, "marks").contains_key("leaf-host"));
}

/// RED at dequeue marks by the present queue: on any number of threads the same packets, and others than
/// at enqueue.
#[test]
fn red_at_dequeue_marks_other_packets() {
    let kind = format!("queues.kind={RED}");
    let at_dequeue = [&kind, "queues.kind.at=dequeue"];
    let one = run(&at_dequeue, 1);
    assert!(by_layer(&one, "marks").contains_key("leaf-host"));
    assert_ne!(
        one.manifest["trace_hash"],
        run(&[&kind], 1).manifest["trace_hash"]
    );
    for threads in [2, 3, 4] {
        assert_eq!(
            run(&at_dequeue, threads).manifest["trace_hash"],
            one.manifest["trace_hash"]
        );
    }
}

/// RED that drops does so before the limit.
#[test]
fn red_drops_before_the_limit() {
    let dropped = run(&[&format!("queues.kind={RED}"), "queues.kind.action=drop"], 1);
    assert!(by_layer(&dropped, "marks").is_empty());
    assert!(by_layer(&dropped, "drops").contains_key("leaf-host"));
}

/// With a fixed probability of 1 from the marking threshold on, RED equals a FIFO to the last event.
#[test]
fn a_ramp_without_width_equals_a_threshold() {
    let hash = |overrides: &[&str]| run(overrides, 1).manifest["trace_hash"].clone();
    let step = "queues.kind={name = \"red\", min = \"20 packets\", max = \"20 packets\", probability = 0}";
    assert_eq!(hash(&[step]), hash(&["queues.mark=20 packets"]));
    assert_ne!(hash(&[step]), hash(&[]));
}

/// A buffer that is never short equals FIFOs; a small one drops.
#[test]
fn a_shared_buffer_drops_only_if_it_is_small() {
    let shared = |buffer: &str| format!("queues.kind={{name = \"shared\", buffer = \"{buffer}\"}}");
    let hash = |overrides: &[&str]| run(overrides, 2).manifest["trace_hash"].clone();
    let large = hash(&[&shared("1GB"), "queues.mark=50KB"]);
    assert_eq!(large, hash(&["queues.mark=50KB"]));
    let marking = "queues.mark=20KB";
    assert!(by_layer(&run(&[marking], 1), "drops").is_empty());
    let small = run(&[&shared("40KB"), marking], 1);
    assert!(by_layer(&small, "drops").contains_key("leaf-host"));
    for threads in [2, 4] {
        assert_eq!(
            run(&[&shared("40KB"), marking], threads).manifest["trace_hash"],
            small.manifest["trace_hash"]
        );
    }
}

/// A transport of the first class, and another of the second.
const TWO_CLASSES: &str = r#"
    name = "classes"
    duration = "20ms"
    topology = { kind = "many-to-one", senders = 2, rate = "1Gbps", delay = "5us" }
    queues = { limit = "200KB", kind = { name = "priority", classes = [{}, {}] } }
    hosts = { qdisc = "switch" }
    transports.first = { cc = "cubic" }
    transports.second = { cc = "cubic", class = 1 }
    traffic = [
        { kind = "bulk", transport = "first", from = "h0", to = "r0", name = "a" },
        { kind = "bulk", transport = "second", from = "h1", to = "r0", name = "b" },
    ]
"#;

fn classes(overrides: &[&str], threads: usize) -> RunResult {
    run_on(&resolved(TWO_CLASSES, overrides), threads)
}

/// Returns the delivered bytes of each flow.
fn delivered(run: &RunResult) -> Vec<f64> {
    let bytes = counts(table(run, "flows"), "delivered_bytes");
    bytes.iter().map(|&bytes| bytes as f64).collect()
}

/// Returns a count of the table `traffic_classes` by class.
fn by_class(run: &RunResult, column: &str) -> Vec<u64> {
    let classes = table(run, "traffic_classes");
    let mut found = vec![0; 8];
    for (class, count) in indices(classes, "traffic_class")
        .iter()
        .zip(counts(classes, column))
    {
        found[*class as usize] += count;
    }
    found
}

/// A single class equals a FIFO to the last event, although its packets wait in the port.
#[test]
fn a_single_class_equals_a_fifo() {
    let hash = |overrides: &[&str]| run(overrides, 1).manifest["trace_hash"].clone();
    let single = "queues.kind={name = \"priority\", classes = [{}]}";
    for limits in [
        ["queues.limit=100 packets", "queues.mark=20 packets"],
        ["queues.limit=90KB", "queues.mark=30KB"],
    ] {
        let [limit, mark] = limits;
        assert_eq!(hash(&[single, limit, mark]), hash(&[limit, mark]));
    }
}

/// The first class takes nearly all of the link. With weights, each class has the share of its weight.
#[test]
fn classes_share_a_link_by_priority_or_weight() {
    let strict = classes(&[], 1);
    let [first, second] = delivered(&strict)[..] else {
        panic!("two flows")
    };
    assert!(first > 10.0 * second, "{first} and {second}");
    for (weights, share) in [([1, 1], 0.5), ([3, 1], 0.75), ([1, 9], 0.1)] {
        let [one, other] = weights;
        let kind = format!("queues.kind.classes=[{{weight = {one}}}, {{weight = {other}}}]");
        let run = classes(&[&kind, "duration=100ms"], 1);
        let bytes = delivered(&run);
        let found = bytes[0] / (bytes[0] + bytes[1]);
        assert!((found / share - 1.0).abs() < 0.03, "{found} instead of {share}");
    }
}

/// Each class has its own limit and threshold, and the table counts each class. The number of threads and
/// a measurement window change nothing else.
#[test]
fn the_table_counts_each_class() {
    let limited = "queues.kind.classes=[{weight = 1}, {weight = 1, limit = \"20 packets\"}]";
    let one = classes(&[limited], 1);
    assert!(by_class(&one, "drops")[1] > 0);
    assert_eq!(by_class(&one, "drops")[2..], [0; 6]);
    let links = table(&one, "links");
    for column in ["packets", "bytes", "drops", "marks"] {
        let sum: u64 = counts(links, column).iter().sum();
        assert_eq!(by_class(&one, column).iter().sum::<u64>(), sum, "{column}");
    }
    for threads in [2, 3, 4] {
        let other = classes(&[limited], threads);
        assert_eq!(other.manifest["trace_hash"], one.manifest["trace_hash"]);
    }
    let window = "measure={start = \"10ms\", stop = \"15ms\"}";
    let measured = classes(&[limited, window], 1);
    assert_eq!(measured.manifest["trace_hash"], one.manifest["trace_hash"]);
    let packets = [&one, &measured].map(|run| by_class(run, "packets")[0]);
    assert!(packets[1] > 0 && packets[1] < packets[0], "{packets:?}");
    let marked = classes(
        &[
            "transports.second.cc=dctcp",
            "queues.kind.classes=[{weight = 1}, {weight = 1, mark = \"5 packets\"}]",
        ],
        1,
    );
    let marks = by_class(&marked, "marks");
    assert!(marks[0] == 0 && marks[1] > 0, "{marks:?}");
}

/// Acknowledgements have the class of the transport, or one of their own.
#[test]
fn acknowledgements_have_a_class_of_their_own() {
    let reverse = [
        "traffic[1].from=r0",
        "traffic[1].to=h1",
        "transports.first.class=1",
        "transports.second.class=1",
    ];
    let classes_of = |overrides: &[&str]| {
        let run = classes(&[&reverse[..], overrides].concat(), 1);
        (by_class(&run, "packets"), delivered(&run))
    };
    let (own, _) = classes_of(&["transports.first.ack_class=0", "transports.second.ack_class=0"]);
    assert!(own[0] > 0 && own[1] > own[0], "{own:?}");
    let ends = classes(&["transports.first.ack_class=1"], 1);
    assert!(by_class(&ends, "packets")[1] > by_class(&classes(&[], 1), "packets")[1]);
}

/// A link that fails loses the packets of all its classes, and nothing else.
#[test]
fn failures_lose_the_packets_of_all_classes() {
    let down = "events=[{at = \"5ms\", links = [\"s0->r0\"], state = \"down\"}, {at = \"6ms\", links = [\"s0->r0\"], state = \"up\"}]";
    let run = classes(&[down], 1);
    let drops = by_class(&run, "drops");
    assert!(drops[0] > 0 && drops[1] > 0, "{drops:?}");
    assert_eq!(
        classes(&[down], 3).manifest["trace_hash"],
        run.manifest["trace_hash"]
    );
}

/// Queues that trim lose no data packet without a header. TCP repeats what is trimmed, and the run warns.
#[test]
fn trimmed_packets_are_counted_and_repeated() {
    let small = "queues.limit=20 packets";
    let trimming = "queues.kind=trimming";
    let one = run(&[small, trimming, "queues.mark=off"], 1);
    let flows = table(&one, "flows");
    let sum = |column: &str| counts(flows, column).iter().sum::<u64>();
    assert!(sum("packets_trimmed") > 100, "{}", sum("packets_trimmed"));
    assert_eq!(sum("packets_dropped"), 0);
    let missing = sum("packets_trimmed").saturating_sub(sum("retransmitted"));
    assert!(
        missing < 40,
        "{missing} at the end of a run in which flows do not end"
    );
    // Class 0 has headers and acknowledgements, class 1 the data, some of which was cut.
    let trims = by_class(&one, "trims");
    let on_their_way = trims[1] - sum("packets_trimmed");
    assert!(on_their_way < 40, "{on_their_way}");
    assert_eq!(trims.iter().sum::<u64>(), trims[1]);
    assert!(by_class(&one, "packets")[0] > trims[1]);
    let warnings = one.manifest["warnings"].as_array().unwrap();
    let warning = "queues.kind: transports.dctcp (kind \"tcp\") discards headers";
    assert!(warnings[0].as_str().unwrap().starts_with(warning), "{warnings:?}");
    for threads in [2, 4] {
        let other = run(&[small, trimming, "queues.mark=off"], threads);
        assert_eq!(other.manifest["trace_hash"], one.manifest["trace_hash"]);
    }
    let ramp = "queues.kind={name = \"trimming\", mark_min = \"2 packets\", mark_max = \"10 packets\"}";
    let marked = run(&[small, ramp, "queues.mark=off"], 1);
    let marks = by_class(&marked, "marks");
    assert!(marks[0] == 0 && marks[1] > 0, "{marks:?}");
    assert!(by_class(&marked, "trims")[1] < trims[1]);
}

/// A transport that expects queues that trim warns if flows use it, and not if it is only defined.
#[test]
fn transports_without_traffic_give_no_warning() {
    let pulled = "transports.pulled={kind = \"ndp\"}";
    let warnings = |overrides: &[&str]| run(overrides, 1).manifest["warnings"].to_string();
    let warning = "queues.kind: transports.pulled (kind \\\"ndp\\\") repeats packets";
    let unused = warnings(&[pulled]);
    assert!(!unused.contains("transports.pulled"), "{unused}");
    let used = warnings(&[pulled, "traffic[0].transport=pulled"]);
    assert!(used.contains(warning), "{used}");
}

/// A link that never loses a packet equals a FIFO. Losses do not depend on the number of threads.
#[test]
fn losses_of_links_are_counted_and_equal_on_any_number_of_threads() {
    let lossy = |rule: &str| format!("queues.kind={{name = \"lossy\", {rule}}}");
    let hash = |overrides: &[&str]| run(overrides, 1).manifest["trace_hash"].clone();
    assert_eq!(hash(&[&lossy("loss = 0")]), hash(&[]));
    let random = lossy("loss = 0.01");
    let one = run(&[&random], 1);
    assert_ne!(one.manifest["trace_hash"], hash(&[&random, "seed=9"]));
    for threads in [2, 3, 4] {
        assert_eq!(
            run(&[&random], threads).manifest["trace_hash"],
            one.manifest["trace_hash"]
        );
    }
    let lost = by_layer(&one, "losses");
    // The ports of the hosts belong to network cards, which have no queues.
    let layers: Vec<_> = lost.keys().map(String::as_str).collect();
    assert_eq!(layers, ["leaf-host", "leaf-spine", "spine-leaf"]);
    assert_eq!(one.manifest["counters"]["losses"], lost.values().sum::<u64>());
    let half = run(&[&random, "measure={start = \"10ms\", stop = \"20ms\"}"], 1);
    assert!(by_layer(&half, "losses")["leaf-host"] < lost["leaf-host"]);
}

/// A link loses one of every hundred packets. A failure loses additional packets.
#[test]
fn every_hundredth_packet_is_lost() {
    let layer = "layers.leaf-host.queue={name = \"lossy\", every = 100}";
    let event = "events=[{ at = \"5ms\", links = [\"leaf1->h6\"], state = \"down\" }, \
                 { at = \"6ms\", links = [\"leaf1->h6\"], state = \"up\" }]";
    for overrides in [
        &[layer][..],
        &[layer, event],
        &[layer, "layers.leaf-host.limit=20 packets"],
    ] {
        let run = run(overrides, 2);
        let links = table(&run, "links");
        let columns = ["losses", "delivered_packets"].map(|column| counts(links, column));
        for ((layer, lost), delivered) in texts(links, "layer").iter().zip(columns[0]).zip(columns[1]) {
            let expected = if layer == "leaf-host" {
                (lost + delivered) / 100
            } else {
                0
            };
            assert_eq!(*lost, expected, "{layer}");
        }
        let flows = table(&run, "flows");
        let dropped: u64 = counts(flows, "packets_dropped").iter().sum();
        let [drops, losses] =
            ["drops", "losses"].map(|name| run.manifest["counters"][name].as_u64().unwrap());
        assert!(
            losses > 10 && dropped <= drops + losses,
            "{dropped}, {drops}, {losses}"
        );
    }
}

/// Two hosts, with a cable that loses packets between the switches.
const CABLES: &str = r#"
    name = "cables"
    duration = "20ms"
    topology = { kind = "graph", hosts = ["a", "b"], switches = ["x", "y"], rate = "1Gbps", delay = "5us", links = [
        { a = "a", b = "x" }, { a = "x", b = "y", queue = { name = "lossy", every = 100 }, one_way = true },
        { a = "y", b = "x" }, { a = "y", b = "b", queue = "fifo" }] }
    queues = { limit = "1MB" }
    transports.cubic.cc = "cubic"
    traffic = [{ kind = "bulk", transport = "cubic", from = "a", to = "b", count = 2 }]
"#;

/// Returns the packets that links lost, by the names of their nodes, where there are some.
fn losses_by_link(overrides: &[&str], threads: usize) -> BTreeMap<String, u64> {
    let run = run_on(&resolved(CABLES, overrides), threads);
    let links = table(&run, "links");
    let ends = texts(links, "from").into_iter().zip(texts(links, "to"));
    ends.map(|(from, to)| format!("{from}->{to}"))
        .zip(counts(links, "losses").iter().copied())
        .filter(|(_, lost)| *lost > 0)
        .collect()
}

/// A cable of a graph has its own kind of queue. It takes precedence over that of the network, and that of
/// its layer over both.
#[test]
fn a_cable_has_its_own_kind() {
    let links = |overrides: &[&str]| losses_by_link(overrides, 1).into_keys().collect::<Vec<_>>();
    assert_eq!(losses_by_link(&[], 1), losses_by_link(&[], 2));
    assert_eq!(links(&[]), ["x->y"]);
    let network = "queues.kind={name = \"lossy\", every = 50}";
    assert_eq!(links(&[network]), ["x->a", "x->y", "y->x"]);
    assert_eq!(
        links(&[network, "hosts.qdisc=switch"]),
        ["a->x", "x->a", "x->y", "y->x"]
    );
    assert_eq!(links(&["layers.switch-switch.queue=fifo"]), [""; 0]);
}

/// The limit of a cable precedes that of the network, that of its layer precedes it, and that of a link both.
#[test]
fn a_cable_has_its_own_limit() {
    let drops = |overrides: &[&str]| {
        let short = ["topology.links[1].queue=fifo", "topology.links[1].limit=4KB"];
        let run = run_on(&resolved(CABLES, &[&short, overrides].concat()), 1);
        let links = table(&run, "links");
        let dropped = texts(links, "from").into_iter().zip(counts(links, "drops"));
        let dropped = dropped.filter(|(_, drops)| **drops > 0);
        dropped.map(|(from, _)| from).collect::<Vec<_>>()
    };
    // Packets that arrive at 1 Gbit/s wait for slower links. Two cables lead from x to y.
    let slow = "links={\"x->y\" = {rate = \"500Mbps\"}}";
    assert_eq!(drops(&[slow]), ["x"]);
    assert_eq!(drops(&[slow, "layers.switch-switch.limit=100MB"]), [""; 0]);
    let link = "links={\"x->y\" = {rate = \"500Mbps\", limit = \"4KB\"}}";
    assert_eq!(drops(&[link, "layers.switch-switch.limit=100MB"]), ["x", "x"]);
}

/// Messages name the cable whose kind of queue is wrong.
#[test]
fn messages_name_the_cable() {
    let message = |overrides: &[&str]| {
        let changes: Vec<_> = overrides.iter().map(|&change| change.to_owned()).collect();
        Experiment::parse(CABLES, &changes)
            .err()
            .map(|error| error.to_string())
    };
    for (queue, expected) in [
        ("codel2", "topology.links[1].queue: \"codel2\" does not exist"),
        (
            "{name = \"lossy\", loss = 2}",
            "topology.links[1].queue.loss: 2; allowed: 0 to 1",
        ),
        (
            "{name = \"red\", min = \"2MB\", max = \"3MB\", probability = 1}",
            "topology.links[1].queue.min: ",
        ),
        (
            "{name = \"shared\", buffer = \"1KB\"}",
            "topology.links[1].queue.buffer: ",
        ),
        (
            "{name = \"priority\", classes = [{}, {}]}",
            "topology.links[1].queue.classes[1]: no transport has",
        ),
    ] {
        let found = message(&[&format!("topology.links[1].queue={queue}")]).unwrap();
        assert!(found.starts_with(expected), "{found}");
    }
    let red = "topology.links[1].queue={name = \"red\", min = \"1KB\", max = \"2KB\", probability = 1}";
    let found = message(&[red, "topology.links[1].mark=2KB"]).unwrap();
    assert!(
        found.starts_with("topology.links[1].mark: 2KB is not used with queues of kind \"red\""),
        "{found}"
    );
    let found = message(&["topology.links[1].mark=2MB"]).unwrap();
    assert_eq!(
        found,
        "topology.links[1].mark: 2MB is above the limit of 1MB; allowed: at most 1MB"
    );
    let found = message(&["topology.links[1].limit=100B"]).unwrap();
    assert!(
        found.starts_with("topology.links[1].limit: 100B is less than a packet"),
        "{found}"
    );
    let found = message(&["level=flow"]).unwrap();
    assert!(
        found.starts_with("topology.links[1].queue: \"lossy\" is not supported at level \"flow\""),
        "{found}"
    );
}
