//! Lists in which flows start others: columns `after` and `compute_s` of CSV, and triggers of htsim.

mod links;

use std::sync::Arc;

use links::{Evaluation, Links};
use weft_spec::{SpecError, Time, find};
use weft_traffic::{FlowGenerator, PatternContext, TRAFFIC};

const HOSTS: [&str; 6] = ["h0", "h1", "h2", "h3", "h4", "h5"];

/// A link takes 1 ns per byte, and 1,000 ns to the other host.
const LINKS: Links = Links {
    latency: 1_000_000,
    gap: 1_000,
    done_at_departure: false,
};

fn list(end: &str, text: &str) -> Result<Option<Arc<dyn FlowGenerator>>, String> {
    list_with("", end, text)
}

fn list_with(fields: &str, end: &str, text: &str) -> Result<Option<Arc<dyn FlowGenerator>>, String> {
    let file = tempfile::Builder::new().suffix(end).tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let name = file.path().display().to_string();
    let generator = || -> Result<_, SpecError> {
        let fields = format!("file = {name:?}\n{fields}");
        let loaded = (find(TRAFFIC, "kind", "flow-list")?.parse)(&fields.parse().unwrap())?;
        let context = PatternContext::new(&HOSTS, 0, 0, 1).with_duration(Time::from_ms(10_000));
        let generator = loaded.value.generator(&context)?;
        let static_flows = loaded.value.flows(&context)?;
        assert_eq!(static_flows.is_empty(), generator.is_some());
        Ok(generator)
    };
    generator().map_err(|error| error.to_string().replace(&name, "FILE"))
}

fn run(end: &str, text: &str) -> Evaluation {
    LINKS.run(list(end, text).unwrap().unwrap().as_ref())
}

/// Returns the nanosecond at which each of the first `count` flows opened.
fn openings(found: &Evaluation, count: u32) -> Vec<u64> {
    (0..count).map(|flow| found.flows[&flow].0 / 1_000).collect()
}

#[test]
fn a_list_without_an_order_has_static_flows() {
    let header = "from,to,size_bytes,start_s";
    assert!(list(".csv", &format!("{header}\nh0,h1,5,0\n")).unwrap().is_none());
    let named = format!("{header},id\nh0,h1,5,0,a\n");
    assert!(list(".csv", &named).unwrap().is_none());
    let comment = "Nodes 2\nConnections 1\nTriggers 0\n# no trigger\n0->1 size 5\n";
    assert!(list(".cm", comment).unwrap().is_none());
}

#[test]
fn flows_open_after_those_they_name() {
    let text = "id,from,to,size_bytes,start_s,after,compute_s\n\
                a,h0,h1,1001,0.000001,,\n\
                b,h1,h2,1001,,a,0.00001\n\
                c,h0,h3,1001,,a,\n\
                d,h2,h0,1001,0.0001,b,\n\
                e,h0,h1,1001,,c d,0.000001\n";
    let found = run(".csv", text);
    // A message takes 2,000 ns, and its acknowledgement 1,000 ns.
    let b = 1_000 + 2_000 + 10_000;
    let d = 100_000;
    assert_eq!(openings(&found, 5), [1_000, b, 4_000, d, d + 2_000 + 1_000]);
    assert_eq!(found.flows.len(), 5);
}

#[test]
fn computing_delays_a_flow_that_waits_for_none() {
    let found = run(
        ".csv",
        "from,to,size_bytes,start_s,compute_s\nh0,h1,1,0.000002,0.000003\n",
    );
    assert_eq!(openings(&found, 1), [5_000]);
    assert_eq!(found.end(), Some(6_000_000));
}

#[test]
fn oneshot_triggers_and_barriers() {
    let text = "Nodes 6\nConnections 6\nTriggers 3\n\
                0->1 id 1 start 0 size 1001 recv_done_trigger 1\n\
                1->2 id 2 trigger 1 size 1001 send_done_trigger 2\n\
                1->3 id 3 trigger 2 size 1001 recv_done_trigger 3\n\
                0->3 id 4 start 0 size 1001 recv_done_trigger 3\n\
                3->0 id 5 trigger 3 size 1001\n\
                3->1 id 6 trigger 3 size 1001\n\
                trigger id 1 oneshot\n\
                trigger id 2 oneshot\n\
                trigger id 3 barrier count 2\n";
    let found = run(".cm", text);
    assert_eq!(openings(&found, 6), [0, 2_000, 5_000, 0, 7_000, 7_000]);
}

/// A sender's signal starts a flow of the receiver when the acknowledgement would have arrived at the sender.
#[test]
fn a_receiver_computes_the_time_of_a_signal() {
    let text = "Nodes 6\nConnections 2\nTriggers 1\n\
                0->1 id 1 start 0 size 1001 send_done_trigger 1\n\
                1->2 id 2 trigger 1 size 1001\n\
                trigger id 1 oneshot\n";
    let generator = list_with("signal_delay = \"700ns\"", ".cm", text);
    let found = LINKS.run(generator.unwrap().unwrap().as_ref());
    assert_eq!(openings(&found, 2), [0, 2_700]);
}

/// The k-th signal starts the k-th flow in the order of the file, and later signals do nothing.
#[test]
fn multishot_triggers() {
    let text = "Nodes 6\nConnections 5\nTriggers 1\n\
                0->1 id 1 start 0 size 5001 send_done_trigger 1\n\
                0->2 id 2 start 0 size 1001 send_done_trigger 1\n\
                0->3 id 3 start 1000000000 size 1001 send_done_trigger 1\n\
                0->4 id 4 trigger 1 size 1001\n\
                0->5 id 5 trigger 1 size 1001\n\
                trigger id 1 multishot\n";
    let found = run(".cm", text);
    // The first two leave one after another: acknowledged at 7,000 and 8,000 ns.
    assert_eq!(openings(&found, 5), [0, 0, 1_000_000, 7_000, 8_000]);
    // Three signals are messages of the host to itself, which open no flow.
    assert_eq!(found.flows.len(), 5);
}

#[test]
fn wrong_orders_are_refused_by_line() {
    let csv = |lines: &str| (".csv", format!("from,to,size_bytes,start_s,id,after\n{lines}"));
    let cm = |lines: &str| (".cm", format!("Nodes 6\n{lines}"));
    for ((end, text), expected) in [
        (
            csv("h0,h1,5,0,a,\nh1,h0,5,0,a,\n"),
            "line 3: id \"a\" for the second time; allowed: an id per flow",
        ),
        (
            csv("h0,h1,5,,a,b\n"),
            "line 2: after \"b\"; allowed: values of the column id",
        ),
        (
            csv("h0,h1,5,0,a,\nh2,h3,5,,b,a\n"),
            "line 3: after \"a\", a flow neither from nor to the sender; allowed: flows that the sender sends or receives",
        ),
        (
            csv("h0,h1,5,,a,b\nh1,h0,5,,b,a\n"),
            "line 2: a flow that waits for itself, through the others of a cycle; allowed: an order without cycles",
        ),
        (
            csv("h0,h1,,0,a,\n"),
            "line 2: a flow without a size in a list in which flows wait for others; allowed: a size",
        ),
        (
            csv("h0,h1,5,,a,\n"),
            "line 2: start_s \"\"; allowed: a number from 0 to 1000000",
        ),
        (
            cm("0->1 id 1 start 0 trigger 1 size 5\ntrigger id 1 oneshot"),
            "line 2: both start and trigger; allowed: one of them",
        ),
        (
            cm("0->1 id 1 trigger 1 size 5\ntrigger id 1 oneshot"),
            "line 3: trigger 1 without a signal; allowed: one signal",
        ),
        (
            cm("0->1 id 1 trigger 1 size 5"),
            "line 2: trigger 1; allowed: a trigger with a line of its own",
        ),
        (
            cm("0->1 id 1 size 5 send_done_trigger 1\n1->2 id 2 trigger 1 size 5\ntrigger id 1 oneshot"),
            "line 4: trigger 1 opens the flow of line 3 at another host than that of the signal of line 2; allowed: signals at the sender of the flow, or signal_delay for those of its receiver's flows",
        ),
        (
            cm("0->1 size 5 send_done_trigger 1\n0->2 trigger 1 size 5\ntrigger id 1 barrier count 2"),
            "line 4: barrier 1 of 2 with 1 signals; allowed: as many signals as its count",
        ),
        (
            cm(
                "0->1 size 5 send_done_trigger 1\n0->2 size 5 send_done_trigger 1\n0->2 trigger 1 size 5\ntrigger id 1 oneshot",
            ),
            "line 5: oneshot trigger 1 with 2 signals; allowed: one signal",
        ),
        (
            cm("trigger id 1 oneshot\ntrigger id 1 oneshot"),
            "line 3: trigger 1 for the second time; allowed: once",
        ),
        (
            cm("0->1 id 1 addon"),
            "line 2: \"addon\"; allowed: start, size, id, prio, trigger, send_done_trigger, recv_done_trigger",
        ),
    ] {
        let error = list(end, &text).err().unwrap();
        assert_eq!(error, format!("file: FILE: {expected}"));
    }
}
