//! Sources without congestion control, alone and competing with TCP.

use weft_lab::RunResult;

use crate::experiment::{counts, numbers, resolved, run_on, table};

/// A source takes 300 of 1000 Mbps, and a flow of TCP gets what is left.
const SPEC: &str = r#"
    name = "constant-rate"
    duration = "400ms"
    measure = { start = "100ms" }
    topology = { kind = "many-to-one", senders = 2, rate = "1Gbps", delay = "5us" }
    queues = { limit = "200 packets", mark = "20 packets" }
    transports.tcp.cc = "dctcp"
    transports.udp = { kind = "constant-rate", rate = "300Mbps" }
    traffic = [
        { kind = "bulk", transport = "udp", from = 0, to = 2 },
        { kind = "bulk", transport = "tcp", from = 1, to = 2 },
    ]
"#;

/// Bytes of a full packet on the wire, and of its payload.
const WIRE: f64 = 1514.0;
const PAYLOAD: f64 = 1448.0;

fn run(overrides: &[&str], threads: usize) -> RunResult {
    run_on(&resolved(SPEC, overrides), threads)
}

/// Returns the rates of both flows on the wire in Mbps.
fn rates(run: &RunResult) -> [f64; 2] {
    let goodput = numbers(table(run, "flows"), "goodput_bps");
    [0, 1].map(|flow| goodput[flow].unwrap() * WIRE / PAYLOAD / 1e6)
}

#[test]
fn tcp_gets_what_sources_leave() {
    for cc in ["dctcp", "reno"] {
        let cc = format!("transports.tcp.cc={cc}");
        let [source, tcp] = rates(&run(&[&cc, "duration=1600ms"], 1));
        assert!((source / 300.0 - 1.0).abs() < 0.002, "{cc}: {source}");
        // Packets that wait in the queue at the start of the measurement arrive in it: up to 2.4 ms of 1.5 s.
        assert!((0.95..1.005).contains(&(tcp / 700.0)), "{cc}: {tcp}");
    }
}

/// A source that sends more than the link carries loses the rest, and its rate does not change.
#[test]
fn a_source_does_not_respond_to_losses() {
    let run = run(
        &[
            "transports.udp.rate=900Mbps",
            "queues.mark=off",
            "transports.tcp.cc=reno",
        ],
        1,
    );
    let [source, _] = rates(&run);
    assert!(source > 800.0, "{source}");
    let flows = table(&run, "flows");
    let sent = counts(flows, "packets_sent")[0] as f64;
    assert!((sent * WIRE * 8.0 / 0.4 / 900e6 - 1.0).abs() < 1e-3, "{sent}");
    assert!(counts(flows, "packets_dropped")[0] > 0);
    assert_eq!(counts(flows, "retransmitted")[0], 0);
}

/// Packets are at equal distances of the time on, so that the mean rate is exact to a packet.
#[test]
fn times_on_and_off_give_an_exact_mean_rate() {
    let times = ["transports.udp.on=3ms", "transports.udp.off=7ms"];
    let constant = run(&times, 1);
    let sent = |run: &RunResult| counts(table(run, "flows"), "packets_sent")[0];
    // 30 % of 400 ms at 300 Mbps; the first packet is sent at once.
    assert_eq!(sent(&constant), (0.3 * 0.4 * 300e6 / (8.0 * WIRE)) as u64 + 1);
    let random = [times[0], times[1], "transports.udp.random=true"];
    let one = run(&random, 1);
    assert_ne!(sent(&one), sent(&constant));
    for threads in [2, 3, 4] {
        assert_eq!(
            run(&random, threads).manifest["trace_hash"],
            one.manifest["trace_hash"]
        );
    }
}

/// A flow with a size ends when its last byte arrives, unless a packet is lost.
#[test]
fn a_flow_ends_if_nothing_is_lost() {
    let sized = ["traffic[0].size=150KB", "measure.start=0s"];
    let complete = run(&sized, 1);
    let flows = table(&complete, "flows");
    // 104 packets; the last one leaves after 103 of their times, and crosses two links.
    let expected = 103.0 * WIRE * 8.0 / 300e6;
    let fct = numbers(flows, "fct_s")[0].unwrap();
    assert!((expected..expected + 0.003).contains(&fct), "{fct}");
    assert_eq!(counts(flows, "delivered_bytes")[0], 150_000);
    assert!(numbers(flows, "acked_s")[0] > numbers(flows, "finish_s")[0]);
    let lossy = "queues.kind={name = \"lossy\", every = 50}";
    let cut = run(&[sized[0], sized[1], lossy], 1);
    let flows = table(&cut, "flows");
    assert_eq!(numbers(flows, "fct_s")[0], None);
    assert!(counts(flows, "packets_dropped")[0] > 0);
    assert!(numbers(flows, "unfinished_s")[0].is_some());
}

/// A flow without a size ends after its last packet, if it is stopped.
#[test]
fn a_stopped_flow_ends_with_its_last_packet() {
    let stopped = run(&["traffic[0].stop=200ms"], 1);
    let flows = table(&stopped, "flows");
    let finish = numbers(flows, "finish_s")[0].unwrap();
    assert!((0.199..0.205).contains(&finish), "{finish}");
    assert_eq!(numbers(flows, "finish_s")[1], None);
}

/// The size of packets includes their header.
#[test]
fn packets_have_the_given_size() {
    let small = run(
        &["transports.udp.packet_size=250B", "transports.udp.rate=100Mbps"],
        1,
    );
    let flows = table(&small, "flows");
    let sent = counts(flows, "packets_sent")[0] as f64;
    assert!((sent * 250.0 * 8.0 / 0.4 / 100e6 - 1.0).abs() < 1e-4, "{sent}");
    let subflows = table(&small, "subflows");
    assert_eq!(numbers(subflows, "cwnd_packets")[0], None);
    assert!(numbers(subflows, "cwnd_packets")[1].is_some());
}
