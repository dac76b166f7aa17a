//! Prometheus metrics, on a loopback address only.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

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
    /// Subflows asked for.
    pub joins: Counter,
    /// Suppressions told.
    pub suppressions: Counter,
    /// Releases told.
    pub releases: Counter,
    /// Commands the kernel refused.
    pub refusals: Counter,
    /// Times that events of the kernel were lost and looked up instead.
    pub overruns: Counter,
    /// Of living connections: packets acknowledged.
    pub acked: Gauge,
    /// Of living connections: of those, marked.
    pub marked: Gauge,
    /// Subflows that fell back to reno for want of ECN at the other end.
    pub without_ecn: Gauge,
    /// Subflows that fell back to reno for want of room in the maps.
    pub without_slot: Gauge,
    /// Events of the programs that found the ring full.
    pub lost_events: Gauge,
    decision: Histogram,
    recent: VecDeque<f64>,
    decisions: u64,
}

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
        let acked = gauge("acked_packets", "Packets acknowledged to living subflows");
        let marked = gauge("marked_packets", "Of those, reported as marked");
        let without_ecn = gauge(
            "subflows_without_ecn",
            "Subflows whose other end knows no ECN, since start",
        );
        let without_slot = gauge(
            "subflows_without_slot",
            "Subflows for which no room was left, since start",
        );
        let lost_events = gauge(
            "lost_events",
            "Events of the programs that were lost, since start",
        );
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::<u64, AtomicU64>::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let joins = counter("joins", "Subflows asked for");
        let suppressions = counter("suppressions", "Suppressions told to the kernel");
        let releases = counter("releases", "Releases told to the kernel");
        let refusals = counter("refusals", "Commands the kernel refused");
        let overruns = counter("overruns", "Times that events of the kernel were lost");
        let decision = Histogram::new(exponential_buckets(10e-6, 2.0, 14));
        registry.register(
            "decision_seconds",
            "From a decision until the kernel has been told",
            decision.clone(),
        );
        let metrics = Self {
            connections,
            subflows,
            suppressed,
            joins,
            suppressions,
            releases,
            refusals,
            overruns,
            acked,
            marked,
            without_ecn,
            without_slot,
            lost_events,
            decision,
            recent: VecDeque::with_capacity(RECENT),
            decisions: 0,
        };
        (metrics, registry)
    }

    /// A decision reached the kernel after so many seconds.
    pub fn decided(&mut self, seconds: f64) {
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

/// Serves the metrics at `http://LISTEN/metrics` from a thread of its own.
///
/// # Errors
/// The address is taken, or not on loopback.
pub fn serve(listen: SocketAddr, registry: Registry) -> io::Result<()> {
    if !listen.ip().is_loopback() {
        return Err(io::Error::other("metrics are served on loopback only"));
    }
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let registry = Arc::new(registry);
    let page = move || {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &registry);
        async move { ([(CONTENT_TYPE, TEXT)], text) }
    };
    let serving = move || {
        runtime.block_on(async {
            match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => {
                    let router = Router::new().route("/metrics", get(page));
                    if let Err(error) = axum::serve(listener, router).await {
                        tracing::error!(%error, "metrics");
                    }
                }
                Err(error) => tracing::error!(%error, "metrics"),
            }
        });
    };
    thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(serving)
        .map(|_| ())
}

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Decisions whose latency is kept for percentiles.
const RECENT: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_last_decisions() {
        let (mut metrics, _) = Metrics::new();
        assert_eq!(metrics.decisions(), Decisions::default());
        for us in (1..=RECENT + 100).rev() {
            metrics.decided(us as f64 * 1e-6);
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

    #[test]
    fn no_metrics_beyond_loopback() {
        let (_, registry) = Metrics::new();
        assert!(serve(SocketAddr::from(([0, 0, 0, 0], 0)), registry).is_err());
    }
}
