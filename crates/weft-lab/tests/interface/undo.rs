//! Every algorithm undoes a timeout that proves spurious: the delay of the path rises for longer
//! than an RTO, and no packet is lost.

use weft_bpf_native::NativeFactory;
use weft_cc::Algorithm;
use weft_lab::RunOptions;

use crate::experiment::{counts, parse, run_with, table};

/// A path with a round-trip time of 80 ms, to which 700 ms are added from 8 s to 8.6 s.
const SPURIOUS: &str = r#"
    name = "spurious"
    duration = "10s"
    [topology]
    kind = "many-to-one"
    senders = 1
    rate = "200Mbps"
    delay = "20ms"
    [queues]
    limit = "3000 packets"
    mark = "200 packets"
    [transports.one]
    cc = "reno"
    [[traffic]]
    kind = "bulk"
    transport = "one"
    from = "h0"
    to = "r0"
    [[events]]
    at = "8s"
    links = ["s0->r0"]
    delay = "720ms"
    bidirectional = false
    [[events]]
    at = "8.6s"
    links = ["s0->r0"]
    delay = "20ms"
    bidirectional = false
"#;

/// The measurement after the delay has its old value, at 8.6 s. The acknowledgement that proves the
/// timeout spurious comes a round-trip time later, and the window has three more to reach its old
/// value.
const AFTER: [&str; 2] = ["measure.start=8.95s", "measure.stop=9.95s"];
const BEFORE: [&str; 2] = ["measure.start=7s", "measure.stop=8s"];

#[test]
fn every_algorithm_has_its_goodput_back_within_three_round_trips() {
    let built_in = Algorithm::BUILT_IN.iter().map(|info| info.name);
    for name in built_in.chain(NativeFactory::all().map(|(name, _)| name)) {
        let [before, after] = [BEFORE, AFTER].map(|[from, to]| {
            let cc = format!("transports.one.cc={name}");
            let run = run_with(&parse(SPURIOUS, &[&cc, from, to]), RunOptions::default());
            let flows = table(&run, "flows");
            assert!(
                counts(flows, "timeouts")[0] > 0 || to == BEFORE[1],
                "{name}: no timeout"
            );
            assert_eq!(counts(flows, "packets_dropped")[0], 0, "{name}");
            counts(flows, "measured_bytes")[0] as f64 * 8e-6
        });
        println!("{name}: {before:.1} Mbps before, {after:.1} after");
        assert!(
            after >= 0.95 * before,
            "{name}: {before} Mbps before, {after} after"
        );
    }
}
