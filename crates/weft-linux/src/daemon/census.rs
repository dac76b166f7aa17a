//! What there is, looked up: after a start, after lost events, and where nobody tells.

use std::collections::HashMap;

use tracing::{debug, info, warn};

use super::{Daemon, IDLE, LOOK, SWEEP, after_look, now};
use crate::path_manager::Told;
use crate::programs::ConnectionStats;

impl Daemon {
    /// Takes over what there is in a namespace.
    pub(super) fn resync(&mut self, namespace: usize, told: &mut Vec<Told>) {
        let seen = match self.served[namespace].census() {
            Ok(seen) => seen,
            Err(error) => {
                warn!(namespace = %self.served[namespace].name(), %error, "cannot look up connections");
                return;
            }
        };
        let now = now();
        self.connections.resync(namespace, &seen, now, told);
        let mut tokens = Vec::new();
        for connection in self.windows().into_values() {
            self.connections.on_watched(connection.token);
            for subflow in &connection.subflows {
                let ends = (subflow.local, subflow.remote);
                if !connection.suppressed || !subflow.active {
                    self.connections
                        .on_wish(connection.token, ends, connection.suppressed, now);
                }
            }
            tokens.push(connection.token);
        }
        self.connections.settle(tokens, now, told);
    }

    /// Forgets connections whose end the kernel has not told.
    pub(super) fn forget_absent(&mut self) {
        let began = now();
        for namespace in 0..self.served.len() {
            match self.served[namespace].census() {
                Ok(seen) => self.connections.forget_absent(namespace, &seen, now()),
                Err(error) => warn!(%error, "cannot look up connections"),
            }
        }
        let known = |token| self.connections.get(token).is_some();
        match self.programs.reap(now() / 1000, IDLE, known) {
            Ok(0) => {}
            Ok(reaped) => info!(reaped, "entries that nobody used were removed"),
            Err(error) => warn!(%error, "cannot look for entries that nobody uses"),
        }
        self.sweep = after_look(began, SWEEP);
    }

    /// Looks how much connections have carried that no program of ours watches.
    pub(super) fn look_at_unwatched(&mut self) {
        let began = now();
        let mut told = Vec::new();
        for namespace in 0..self.served.len() {
            let unwatched = self
                .connections
                .iter()
                .any(|(_, c)| c.namespace == namespace && !c.server && !c.bulk && !c.watched);
            if !unwatched {
                continue;
            }
            match self.served[namespace].census() {
                Ok(seen) => {
                    for seen in seen {
                        self.connections
                            .on_bytes(seen.token, seen.bytes, began, &mut told);
                    }
                }
                Err(error) => warn!(%error, "cannot look up connections"),
            }
        }
        self.tell(told);
        self.look = after_look(began, LOOK);
    }

    pub(super) fn windows(&self) -> HashMap<u32, ConnectionStats> {
        match self.programs.connections() {
            Ok(connections) => {
                let entries = i64::try_from(connections.len());
                self.metrics.entries.set(entries.unwrap_or(i64::MAX));
                connections
                    .into_iter()
                    .filter(|connection| connection.token != 0)
                    .map(|connection| (connection.token, connection))
                    .collect()
            }
            Err(error) => {
                warn!(%error, "cannot read windows");
                HashMap::new()
            }
        }
    }

    /// Tells which way connections carry their data.
    pub(super) fn learn_directions(&mut self, windows: &HashMap<u32, ConnectionStats>) {
        let mut told = Vec::new();
        for (token, connection) in windows {
            let bytes = connection.subflows.iter();
            let carried = bytes.fold((0, 0), |all, s| (all.0 + s.sent, all.1 + s.received));
            self.connections.on_carried(*token, carried, now(), &mut told);
        }
        self.tell(told);
    }

    /// Looks up what the programs could not tell.
    pub(super) fn make_up_for_events(&mut self) {
        debug!("events of the programs were lost; looking up what there is");
        let mut told = Vec::new();
        for namespace in 0..self.served.len() {
            self.resync(namespace, &mut told);
        }
        self.tell(told);
    }
}
