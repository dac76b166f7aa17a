//! HyStart ends slow start when the path is full, also if the transport paces.

use weft_lab::RunOptions;

use crate::experiment::{numbers, parse, run_with, table};

const TRANSFER: &str = r#"
    name = "hystart"
    duration = "2s"
    [topology]
    kind = "many-to-one"
    senders = 1
    rate = "1Gbps"
    delay = "2.5ms"
    [queues]
    limit = "3000 packets"
    [transports.one]
    cc = "cubic"
    [[traffic]]
    kind = "bulk"
    transport = "one"
    from = "h0"
    to = "r0"
    size = "20MB"
"#;

#[test]
fn pacing_does_not_end_slow_start_early() {
    let [burst, paced] = [false, true].map(|pacing| {
        let change = format!("transports.one.tcp.pacing={pacing}");
        let run = run_with(&parse(TRANSFER, &[change]), RunOptions::default());
        numbers(table(&run, "flows"), "fct_s")[0].unwrap()
    });
    println!("{burst} s in bursts, {paced} s paced");
    assert!(paced <= 1.1 * burst, "{paced} s, {burst} s without pacing");
}
