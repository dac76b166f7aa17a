//! Reports: metrics, systemd, callers of `weftd status`.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sd_notify::NotifyState;
use tracing::{debug, warn};

use super::served_namespace::ServedNamespace;
use super::{Daemon, LISTENER, SECOND, next_poll_time, notify, now, served_namespace, socket};
use crate::status::{self, Status};
use weft_kernel::path_manager::{DiagSubflow, MAX_CONNECTIONS};

impl Daemon {
    /// Renews the gauges.
    pub(super) fn update_gauges(&mut self) {
        let began = now();
        let sum =
            |numbers: &mut dyn Iterator<Item = u64>| i64::try_from(numbers.sum::<u64>()).unwrap_or(i64::MAX);
        let windows = self.windows();
        self.read_directions(&windows);
        for (token, connection) in &windows {
            let index = self.connections.get(*token).map(|known| known.namespace);
            let namespace = index.map_or(String::new(), |index| self.namespaces[index].name().to_string());
            self.metrics.count(namespace, connection);
        }
        self.metrics.forget(|token| windows.contains_key(&token));
        let all = || self.connections.iter().map(|(_, c)| c);
        self.metrics
            .connections
            .set(sum(&mut std::iter::once(self.connections.len() as u64)));
        self.metrics
            .subflows
            .set(sum(&mut all().map(|c| c.subflows.len() as u64)));
        self.metrics
            .suppressed
            .set(sum(&mut all().map(|c| u64::from(c.is_suppressed()))));
        self.next_gauges = next_poll_time(began, SECOND);
    }

    /// Reads what went another way than planned, and notifies systemd that the daemon lives.
    pub(super) fn read_totals(&mut self) {
        match self.programs.totals() {
            Ok(totals) => {
                self.metrics.total(&totals);
                if totals.without_slot > self.reported_without_slot {
                    let count = totals.without_slot - self.reported_without_slot;
                    self.reported_without_slot = totals.without_slot;
                    warn!(count, "subflows run uncoupled Reno: no slot is free");
                }
                if totals.lost_events > self.handled_lost_events {
                    self.handled_lost_events = totals.lost_events;
                    self.recover_lost_events();
                }
            }
            Err(error) => warn!(%error, "cannot read totals"),
        }
        let omitted = self.connections.omitted();
        if omitted > self.reported_omitted {
            let count = omitted - self.reported_omitted;
            self.reported_omitted = omitted;
            warn!(count, "connections stay single-path: {MAX_CONNECTIONS} are open");
        }
        notify(&[NotifyState::Watchdog]);
        self.next_totals = now() + SECOND;
    }

    /// Makes the socket of the status if that failed before.
    pub(super) fn listen_again(&mut self) {
        if self.listener.is_some() {
            return;
        }
        let listener = status::listen(&socket(&self.folder));
        let registered = listener.and_then(|listener| {
            self.register(listener.as_raw_fd(), LISTENER)?;
            Ok(listener)
        });
        match registered {
            Ok(listener) => self.listener = Some(listener),
            Err(error) => debug!(%error, "no status"),
        }
    }

    /// Answers callers of the status, each on its own thread, because a caller may be slow to read.
    pub(super) fn answer_status(&self) {
        let Some(listener) = &self.listener else {
            return;
        };
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return warn!(%error, "status"),
            };
            if self.answering.load(Ordering::Relaxed) >= MAX_CALLERS {
                debug!("too many callers of the status");
                continue;
            }
            let status = self.status();
            let caller = Caller::new(&self.answering);
            let answering = thread::Builder::new().name("status".to_owned()).spawn(move || {
                if let Err(error) = status::answer(&stream, &status) {
                    debug!(%error, "status");
                }
                drop(caller);
            });
            if let Err(error) = answering {
                warn!(%error, "status");
            }
        }
    }

    pub(super) fn status(&self) -> Status {
        let all = self.programs.connections().unwrap_or_default();
        let windows: HashMap<_, _> = all
            .iter()
            .map(|connection| (connection.token, connection))
            .collect();
        // One list in the order of the tokens takes a quarter of the memory of a list for each token.
        let mut seen: Vec<DiagSubflow> = Vec::new();
        for served in &self.namespaces {
            let subflows = served.mptcp_subflows().unwrap_or_default();
            seen.extend(subflows.into_iter().filter(|subflow| subflow.established));
        }
        seen.sort_by_key(|subflow| subflow.token);
        let mut connections: Vec<_> = self
            .connections
            .iter()
            .map(|(token, connection)| {
                let name = self.namespaces[connection.namespace].namespace.path();
                let first = seen.partition_point(|subflow| subflow.token < token);
                let same = seen[first..].iter().take_while(|subflow| subflow.token == token);
                let seen: Vec<_> = same.collect();
                served_namespace::connection_status(
                    token,
                    connection,
                    name,
                    windows.get(&token).copied(),
                    &seen,
                )
            })
            .collect();
        connections.sort_by_key(|connection| connection.token);
        Status {
            process: std::process::id(),
            uptime_s: now().saturating_sub(self.started) as f64 * 1e-9,
            algorithms: self.algorithms.clone(),
            entries: all.len(),
            namespaces: self.namespaces.iter().map(ServedNamespace::status).collect(),
            trial_s: None,
            settings: self.shown,
            connections,
            decisions: self.metrics.decisions(),
        }
    }
}

/// A caller that is being answered.
struct Caller(Arc<AtomicUsize>);

impl Caller {
    fn new(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(all))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Callers of the status that are answered at one time, each by a thread.
const MAX_CALLERS: usize = 8;
