//! Prometheus metrics, on a loopback address only.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use tokio::task::AbortHandle;

use crate::programs::{ConnectionStats, KernelAlgorithm, Totals};
use crate::status::Decisions;

/// What is counted.
#[derive(Debug)]
pub struct Metrics {
    /// Connections now.
    pub connections: Gauge,
    /// Subflows now.
    pub subflows: Gauge,
    /// Suppressed connections now.
    pub suppressed: Gauge,
    /// Connections in the programs' map, TCP's included.
    pub entries: Gauge,
    /// Connections there is room for.
    pub max_connections: Gauge,
    /// Subflows asked for.
    pub joins: Counter,
    /// Suppressions of which the kernel was notified.
    pub suppressions: Counter,
    /// Releases of which the kernel was notified.
    pub releases: Counter,
    /// Commands the kernel refused.
    pub refusals: Counter,
    /// Times that events of the kernel were lost and looked up instead.
    pub overruns: Counter,
    packets: [Family<Labels, Counter>; COUNTED.len()],
    totals: [Counter; TOTALS.len()],
    /// What was counted of each connection last.
    last: HashMap<(u32, KernelAlgorithm), [u64; COUNTED.len()]>,
    last_totals: Option<[u64; TOTALS.len()]>,
    decision: Histogram,
    recent: VecDeque<f64>,
    decisions: u64,
}

/// Whose packets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    namespace: String,
    algorithm: &'static str,
}

/// What is counted of subflows, up to a second before they close.
const COUNTED: [(&str, &str); 5] = [
    ("acked_packets", "Packets acknowledged"),
    ("marked_packets", "Of those, reported as marked"),
    ("mark_cuts", "Cuts of windows by marks"),
    (
        "fast_retransmits",
        "Losses found by acknowledgements, once per recovery",
    ),
    ("timeouts", "Retransmission timeouts"),
];

/// What the programs count over all connections.
const TOTALS: [(&str, &str); 5] = [
    (
        "opened_connections",
        "Connections that were coupled, including TCP connections",
    ),
    ("opened_subflows", "Subflows that were coupled"),
    (
        "subflows_without_ecn",
        "Subflows that use Reno because they have no ECN",
    ),
    (
        "subflows_without_slot",
        "Subflows that use Reno because there is no room",
    ),
    ("lost_events", "Events of the BPF programs that were lost"),
];

impl Metrics {
    /// All zero, and the registry that knows them by name.
    pub fn new() -> (Self, Registry) {
        let mut registry = Registry::with_prefix("weft");
        let mut gauge = |name: &str, help: &str| {
            let gauge = Gauge::<i64>::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let connections = gauge("connections", "MPTCP connections");
        let subflows = gauge("subflows", "Subflows of MPTCP connections");
        let suppressed = gauge("suppressed_connections", "Connections with suppressed subflows");
        let entries = gauge(
            "entries",
            "Connections in the map of the programs, including TCP connections",
        );
        let max_connections = gauge("entries_max", "Connections there is room for");
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::<u64, AtomicU64>::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let joins = counter("joins", "Subflows asked for");
        let suppressions = counter("suppressions", "Suppressions that the kernel was notified of");
        let releases = counter("releases", "Releases that the kernel was notified of");
        let refusals = counter("refusals", "Commands the kernel refused");
        let overruns = counter("overruns", "Times that events of the kernel were lost");
        let totals = TOTALS.map(|(name, help)| counter(name, help));
        let packets = COUNTED.map(|(name, help)| {
            let family = Family::<Labels, Counter>::default();
            registry.register(name, help, family.clone());
            family
        });
        let decision = Histogram::new(exponential_buckets(10e-6, 2.0, 14));
        registry.register(
            "decision_seconds",
            "From a decision until the kernel has been notified",
            decision.clone(),
        );
        let metrics = Self {
            connections,
            subflows,
            suppressed,
            entries,
            max_connections,
            joins,
            suppressions,
            releases,
            refusals,
            overruns,
            packets,
            totals,
            last: HashMap::new(),
            last_totals: None,
            decision,
            recent: VecDeque::with_capacity(RECENT),
            decisions: 0,
        };
        (metrics, registry)
    }

    /// Counts what a connection has done since it was counted last.
    pub fn count(&mut self, namespace: String, connection: &ConnectionStats) {
        let labels = Labels {
            namespace,
            algorithm: connection.algorithm.kernel(),
        };
        let mut now = [0; COUNTED.len()];
        for s in &connection.subflows {
            let counts = [s.acked, s.marked, s.marks, s.fast_retransmits, s.timeouts];
            for (all, count) in now.iter_mut().zip(counts) {
                *all += count;
            }
        }
        let last = self.last.insert((connection.token, connection.algorithm), now);
        let last = last.unwrap_or_default();
        for ((family, now), last) in self.packets.iter().zip(now).zip(last) {
            // What a subflow had counted goes with it.
            family.get_or_create(&labels).inc_by(now.saturating_sub(last));
        }
    }

    /// Forgets connections that are no more.
    pub fn forget(&mut self, lives: impl Fn(u32) -> bool) {
        self.last.retain(|(token, _), _| lives(*token));
    }

    /// Removes the counters of a namespace that has gone.
    pub fn forget_namespace(&mut self, namespace: &str) {
        for (family, algorithm) in self.packets.iter().flat_map(|family| {
            KernelAlgorithm::ALL
                .iter()
                .map(move |algorithm| (family, algorithm))
        }) {
            family.remove(&Labels {
                namespace: namespace.to_owned(),
                algorithm: algorithm.kernel(),
            });
        }
    }

    /// What the programs have counted, since weftd runs.
    pub fn total(&mut self, totals: &Totals) {
        let now = [
            totals.connections,
            totals.subflows,
            totals.without_ecn,
            totals.without_slot,
            totals.lost_events,
        ];
        // The maps may be older.
        let last = self.last_totals.replace(now).unwrap_or(now);
        for ((counter, now), last) in self.totals.iter().zip(now).zip(last) {
            counter.inc_by(now.saturating_sub(last));
        }
    }

    /// A decision reached the kernel after so many seconds.
    pub fn observe_decision(&mut self, seconds: f64) {
        self.decision.observe(seconds);
        self.decisions += 1;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(seconds);
    }

    /// How fast the last decisions were.
    pub fn decisions(&self) -> Decisions {
        let mut sorted: Vec<f64> = self.recent.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        // Nearest rank.
        let at = |p: f64| {
            let rank = (p * sorted.len() as f64).ceil() as usize;
            sorted.get(rank.max(1) - 1).map_or(0.0, |seconds| seconds * 1e6)
        };
        Decisions {
            count: self.decisions,
            p50_us: at(0.5),
            p99_us: at(0.99),
        }
    }
}

/// Serves the metrics at `http://LISTEN/metrics` from a thread of its own. If the address is taken, the thread tries again until it
/// is free, so that another user's listener cannot stop the caller. Returns the address, whose port is the kernel's choice where
/// it was 0, or none while the address is taken.
///
/// # Errors
/// Returns an error if the address is not on loopback or there can be no thread.
pub fn serve(listen: SocketAddr, registry: Registry) -> io::Result<Option<SocketAddr>> {
    if !listen.ip().is_loopback() {
        return Err(io::Error::other("metrics are served on loopback only"));
    }
    let bound = bind(listen);
    let address = match &bound {
        Ok(listener) => Some(listener.local_addr()?),
        Err(error) => {
            tracing::warn!(%error, "no metrics at {listen} until the address is free");
            None
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let serving = move || {
        let listener = bound.unwrap_or_else(|_| {
            loop {
                thread::sleep(BIND_INTERVAL);
                if let Ok(listener) = bind(listen) {
                    tracing::info!("metrics are served at {listen}");
                    return listener;
                }
            }
        });
        runtime.block_on(async {
            match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => answer(listener, Arc::new(registry)).await,
                Err(error) => tracing::error!(%error, "metrics"),
            }
        });
    };
    thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(serving)
        .map(|_| address)
}

fn bind(listen: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// A connected client, and whether it has sent a request.
struct Client {
    task: AbortHandle,
    has_asked: Arc<AtomicBool>,
}

/// Answers clients for good. At [`MAX_CLIENTS`] the first one that has not sent a request has to go, so that none keeps others
/// out by staying; if all have, the newest is refused.
async fn answer(listener: tokio::net::TcpListener, registry: Arc<Registry>) {
    let mut clients: VecDeque<Client> = VecDeque::with_capacity(MAX_CLIENTS);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "metrics");
                tokio::time::sleep(RETRY_DELAY).await;
                continue;
            }
        };
        clients.retain(|client| !client.task.is_finished());
        if clients.len() >= MAX_CLIENTS {
            let silent = clients
                .iter()
                .position(|client| !client.has_asked.load(Ordering::Relaxed));
            let Some(silent) = silent.and_then(|silent| clients.remove(silent)) else {
                continue;
            };
            silent.task.abort();
        }
        let registry = Arc::clone(&registry);
        let has_asked = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&has_asked);
        let service = service_fn(move |request| {
            asked.store(true, Ordering::Relaxed);
            let response = page(&request, &registry);
            async move { Ok::<_, Infallible>(response) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(CLIENT_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        let task = tokio::spawn(async move {
            // A client that does not read is not waited for either.
            if let Ok(Err(error)) = tokio::time::timeout(MAX_CONNECTION, connection).await {
                tracing::debug!(%error, "metrics");
            }
        });
        clients.push_back(Client {
            task: task.abort_handle(),
            has_asked,
        });
    }
}

fn page(request: &Request<Incoming>, registry: &Registry) -> Response<Full<Bytes>> {
    let mut response = Response::default();
    if request.uri().path() != "/metrics" {
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    }
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, registry);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(TEXT));
    *response.body_mut() = Full::from(text);
    response
}

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// At once.
const MAX_CLIENTS: usize = 32;
/// For a client to ask.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);
/// After the kernel could not take a client, such as for want of descriptors.
const RETRY_DELAY: Duration = Duration::from_millis(100);
/// Time between two tries to bind an address that is taken.
const BIND_INTERVAL: Duration = Duration::from_secs(1);
/// The longest that one connection of a client is kept.
const MAX_CONNECTION: Duration = Duration::from_secs(300);
/// Decisions whose latency is kept for percentiles.
const RECENT: usize = 1000;

#[cfg(test)]
mod tests {
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

    /// Whoever stays without a word goes first, and the next client is answered.
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
        let mut served = String::new();
        encode(&mut served, &registry).unwrap();
        let board = include_str!("../packaging/grafana.json");
        let alerts = include_str!("../packaging/alerts.yml");
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
}
