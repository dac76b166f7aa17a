//! Kinds of queues: of the whole network, of layers, and in messages.

use std::collections::BTreeMap;

use weft_lab::RunResult;

use crate::experiment::{counts, resolved, run_on, table, texts};

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
