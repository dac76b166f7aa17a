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
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use tokio::task::AbortHandle;

use crate::status::Decisions;
use weft_kernel::programs::{ConnectionStats, KernelAlgorithm, Totals};

/// The metrics of one daemon.
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
    /// 1 if the last reload was refused or rolled back.
    pub reload_failed: Gauge,
    /// Subflows asked for.
    pub joins: Counter,
    /// Suppressions of which the kernel was notified.
    pub suppressions: Counter,
    /// Releases of which the kernel was notified.
    pub releases: Counter,
    /// Commands the kernel refused.
    pub refusals: Counter,
    /// Subflows closed because they timed out while another one progressed.
    pub failed_subflows: Counter,
    /// Times that events of the kernel were lost and looked up instead.
    pub overruns: Counter,
    packets: [Family<Labels, Counter>; COUNTED.len()],
    totals: [Counter; TOTALS.len()],
    blackholes: [Family<NamespaceLabel, Counter>; BLACKHOLES.len()],
    /// Last counters of each connection.
    last: HashMap<(u32, KernelAlgorithm), [u64; COUNTED.len()]>,
    last_totals: Option<[u64; TOTALS.len()]>,
    decision: Histogram,
    recent: VecDeque<f64>,
    decisions: u64,
}

/// Labels of counters of subflows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    namespace: String,
    algorithm: &'static str,
}

/// The label of a counter that has no algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NamespaceLabel {
    namespace: String,
}

/// Counters of namespaces in which the kernel has switched MPTCP off.
const BLACKHOLES: [(&str, &str); 3] = [
    (
        "mptcp_blackholes",
        "Times that the kernel has switched MPTCP off for new connections because a SYN with MPTCP was lost",
    ),
    (
        "plain_connections",
        "Connections opened without MPTCP because the kernel has switched it off",
    ),
    ("mptcp_resets", "Times that weftd has switched MPTCP on again"),
];

/// Counters of subflows, up to a second before they close.
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

/// Counters of the programs over all connections.
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
        let reload_failed = gauge(
            "reload_failed",
            "Whether the last reload was refused or rolled back, so that the program or configuration before it runs",
        );
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of weftd", version);
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::<u64, AtomicU64>::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let joins = counter("joins", "Subflows asked for");
        let suppressions = counter("suppressions", "Suppressions that the kernel was notified of");
        let releases = counter("releases", "Releases that the kernel was notified of");
        let refusals = counter("refusals", "Commands the kernel refused");
        let failed_subflows = counter(
            "failed_subflows",
            "Subflows closed because they timed out while another one progressed",
        );
        let overruns = counter("overruns", "Times that events of the kernel were lost");
        let totals = TOTALS.map(|(name, help)| counter(name, help));
        let packets = COUNTED.map(|(name, help)| {
            let family = Family::<Labels, Counter>::default();
            registry.register(name, help, family.clone());
            family
        });
        let blackholes = BLACKHOLES.map(|(name, help)| {
            let family = Family::<NamespaceLabel, Counter>::default();
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
            reload_failed,
            joins,
            suppressions,
            releases,
            refusals,
            failed_subflows,
            overruns,
            packets,
            totals,
            blackholes,
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
            // The counters of a subflow end with it.
            family.get_or_create(&labels).inc_by(now.saturating_sub(last));
        }
    }

    /// Forgets connections that are no more.
    pub fn forget(&mut self, lives: impl Fn(u32) -> bool) {
        self.last.retain(|(token, _), _| lives(*token));
    }

    /// Removes the counters of a namespace that has gone.
    pub fn forget_namespace(&mut self, namespace: &str) {
        for family in &self.blackholes {
            family.remove(&label(namespace));
        }
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

    /// Counts detections of blackholes in a namespace, and connections that were opened without MPTCP.
    pub fn count_blackholes(&self, namespace: &str, detected: u64, plain_connections: u64) {
        for (family, count) in self.blackholes.iter().zip([detected, plain_connections, 0]) {
            family.get_or_create(&label(namespace)).inc_by(count);
        }
    }

    /// Counts that MPTCP was switched on again in a namespace.
    pub fn count_mptcp_reset(&self, namespace: &str) {
        let [.., resets] = &self.blackholes;
        resets.get_or_create(&label(namespace)).inc();
    }

    /// Updates the counters of the programs, since the start of weftd.
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

    /// Records the time in seconds from a decision until the kernel was notified.
    pub fn observe_decision(&mut self, seconds: f64) {
        self.decision.observe(seconds);
        self.decisions += 1;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(seconds);
    }

    /// Returns the times of the last decisions.
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

fn label(namespace: &str) -> NamespaceLabel {
    NamespaceLabel {
        namespace: namespace.to_owned(),
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
/// Maximum number of clients at one time.
const MAX_CLIENTS: usize = 32;
/// Maximum time until a client has sent its request.
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
mod tests;
