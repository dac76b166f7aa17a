use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

#[test]
fn percentiles_are_those_of_the_last_decisions() {
    let (mut metrics, _) = Metrics::new();
    assert_eq!(metrics.decisions(), Decisions::default());
    for us in (1..=RECENT + 100).rev() {
        metrics.observe_decision(us as f64 * 1e-6);
    }
    let Decisions {
        count,
        p50_us,
        p99_us,
    } = metrics.decisions();
    assert_eq!(count, 1100);
    assert!((p50_us - 500.0).abs() < 1e-6, "{p50_us}");
    assert!((p99_us - 990.0).abs() < 1e-6, "{p99_us}");
}

/// A client without a request is closed first, and the next client is answered.
#[test]
fn callers_that_stay_keep_nobody_out() {
    let (_, registry) = Metrics::new();
    let address = serve(SocketAddr::from(([127, 0, 0, 1], 0)), registry).unwrap();
    let address = address.expect("a free port");
    let connect = || {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(4))).unwrap();
        stream
    };
    let mut idle: Vec<_> = (0..3 * MAX_CLIENTS).map(|_| connect()).collect();
    let mut client = connect();
    client
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: weft\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("weft_connections 0"), "{answer}");
    assert_eq!(idle[0].read(&mut [0]).unwrap_or(0), 0);
    // One of the last is answered yet.
    let last = idle.last_mut().unwrap();
    last.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 404"), "{answer}");
}

/// The board and the alert rules ask for nothing that is not served.
#[test]
fn what_the_board_and_the_alerts_ask_for_is_served() {
    let (metrics, registry) = Metrics::new();
    for family in &metrics.packets {
        let labels = Labels {
            namespace: String::new(),
            algorithm: KernelAlgorithm::Amp.kernel(),
        };
        family.get_or_create(&labels).inc();
    }
    metrics.count_blackholes("", 1, 1);
    let mut served = String::new();
    encode(&mut served, &registry).unwrap();
    let board = include_str!("../../packaging/grafana.json");
    let alerts = include_str!("../../packaging/alerts.yml");
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for text in [board, alerts] {
        let names: Vec<_> = text
            .split(|c: char| !is_part(c))
            .filter(|word| word.starts_with("weft_"))
            .collect();
        assert!(!names.is_empty());
        for name in names {
            let known = ["_total", "_bucket"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix))
                .unwrap_or(name);
            assert!(served.contains(&format!("# HELP {known} ")), "{name}");
        }
    }
}

#[test]
fn an_address_that_is_taken_is_served_when_it_is_free() {
    let (_, registry) = Metrics::new();
    let other = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = other.local_addr().unwrap();
    assert_eq!(serve(address, registry).unwrap(), None);
    drop(other);
    let began = std::time::Instant::now();
    let mut client = loop {
        match TcpStream::connect(address) {
            Ok(client) => break client,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(20), "{error}"),
        }
        thread::sleep(Duration::from_millis(50));
    };
    client.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("weft_connections 0"), "{answer}");
}

#[test]
fn the_counters_of_a_namespace_go_with_it() {
    let (mut metrics, registry) = Metrics::new();
    for family in &metrics.packets {
        for namespace in ["/run/netns/red", "/run/netns/blue"] {
            let labels = Labels {
                namespace: namespace.to_owned(),
                algorithm: KernelAlgorithm::Amp.kernel(),
            };
            family.get_or_create(&labels).inc();
        }
    }
    metrics.forget_namespace("/run/netns/red");
    let mut served = String::new();
    encode(&mut served, &registry).unwrap();
    assert!(!served.contains("red") && served.contains("blue"), "{served}");
}

#[test]
fn no_metrics_beyond_loopback() {
    let (_, registry) = Metrics::new();
    assert!(serve(SocketAddr::from(([0, 0, 0, 0], 0)), registry).is_err());
}
