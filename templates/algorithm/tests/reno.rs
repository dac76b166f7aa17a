//! Compares the algorithm with Weft's Reno. With an infinite legacy window the algorithm is Reno, so that
//! the tables are equal, packet for packet.

use std::ops::ControlFlow;
use std::sync::Arc;

use scalable::Scalable;
use weft_cc::AlgorithmFactory;
use weft_lab::{Experiment, ReadOptions, RecordBatch, RunOptions};

const SPEC: &str = r#"
    name = "lossy"
    duration = "1s"
    topology = { kind = "many-to-one", senders = 4, rate = "1Gbps", delay = "100us" }
    queues = { limit = "20 packets" }
    transports.t = { cc = "reno", subflows = 2 }
    traffic = [{ kind = "incast", transport = "t", flows = 4, size = "5MB" }]
    probes = [{ kind = "flow" }]
"#;

fn tables(cc: &str) -> Vec<(&'static str, RecordBatch)> {
    let legacy_window = f64::INFINITY;
    let own: Arc<dyn AlgorithmFactory> = Arc::new(Scalable {
        legacy_window,
        ..Scalable::default()
    });
    let change = format!("transports.t.cc={cc}");
    let experiment = Experiment::read(
        SPEC,
        &ReadOptions {
            overrides: &[change],
            custom_algorithms: &[own],
            ..ReadOptions::default()
        },
    ).unwrap();
    let run = experiment.run(RunOptions::default(), |_| ControlFlow::Continue(()));
    run.unwrap().tables
}

#[test]
fn with_an_infinite_legacy_window_it_is_reno() {
    let reno = tables(r#"{ name = "reno", rfc_growth = 1 }"#);
    let traces = reno.iter().find(|(name, _)| *name == "traces").unwrap();
    assert!(traces.1.num_rows() > 1_000);
    assert_eq!(reno, tables("scalable"));
}
