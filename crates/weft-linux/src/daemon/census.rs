//! What there is, looked up: after a start, after lost events, and where nothing is reported.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use tracing::{debug, info, warn};

use super::{Daemon, IDLE, LOOK, SWEEP, after_look, now};
use crate::Failure;
use crate::events::Event;
use crate::path_manager::{Ends, Told};
use crate::programs::{ConnectionStats, Name};

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
            self.connections.on_watched(connection.token, true);
            self.connections
                .on_carried(connection.token, carried(&connection), now, told);
            if connection.algorithm == Name::Warp {
                let resting = connection.subflows.iter().filter(|subflow| !subflow.active);
                let resting = resting.map(|subflow| (subflow.local, subflow.remote)).collect();
                self.connections.on_resting(connection.token, resting, told);
            }
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

    /// Forgets connections whose end the kernel has not reported.
    pub(super) fn forget_absent(&mut self) {
        let began = now();
        for namespace in 0..self.served.len() {
            match self.served[namespace].census() {
                Ok(seen) => self.connections.forget_absent(namespace, &seen, now()),
                Err(error) => warn!(%error, "cannot look up connections"),
            }
        }
        // The kernel does not report changes of endpoints.
        let mut told = Vec::new();
        for namespace in 0..self.served.len() {
            self.learn_addresses(namespace, &mut told);
        }
        self.tell(told);
        if let Err(error) = self.reap_subflows() {
            warn!("cannot look for subflows that are gone: {error}");
        }
        let known = |token| self.connections.get(token).is_some();
        match self.programs.reap(now() / 1000, IDLE, known) {
            Ok(0) => {}
            Ok(reaped) => info!(reaped, "entries that nobody used were removed"),
            Err(error) => warn!(%error, "cannot look for entries that nobody uses"),
        }
        self.sweep = after_look(began, SWEEP);
    }

    /// Frees the slots of subflows of served namespaces that had no socket this time and the time before.
    fn reap_subflows(&mut self) -> Result<(), Failure> {
        let numbers = self.served.iter().map(|served| served.namespace.number());
        let numbers: Vec<_> = numbers.collect();
        let mut there = HashMap::new();
        let mut lost = HashSet::new();
        let mut reaped = 0;
        let all = self.programs.connections().map_err(Failure::about("windows"))?;
        for connection in &all {
            let Some(place) = numbers.iter().position(|it| *it == Some(connection.netns)) else {
                continue;
            };
            let known = self.connections.get(connection.token);
            for subflow in &connection.subflows {
                let ends = canonical((subflow.local, subflow.remote));
                if known.is_some_and(|known| known.subflows.iter().any(|it| canonical(it.ends()) == ends)) {
                    continue;
                }
                // Sockets are looked up only where the kernel has not reported one.
                let sockets = match there.entry(place) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => {
                        let ends = self.served[place].sockets();
                        let ends = ends.map_err(Failure::about("sockets"))?;
                        entry.insert(ends.into_iter().map(canonical).collect::<HashSet<_>>())
                    }
                };
                if sockets.contains(&ends) {
                    continue;
                }
                let id = (connection.netns, subflow.slot, subflow.owner);
                if !self.lost_slots.contains(&id) {
                    lost.insert(id);
                } else if self
                    .programs
                    .reap_subflow(connection, subflow)
                    .map_err(Failure::about("a slot"))?
                {
                    reaped += 1;
                }
            }
        }
        self.lost_slots = lost;
        if reaped > 0 {
            info!(reaped, "slots of subflows that are gone were freed");
        }
        Ok(())
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

    /// Learns which way connections carry their data.
    pub(super) fn learn_directions(&mut self, windows: &HashMap<u32, ConnectionStats>) {
        let mut told = Vec::new();
        for (token, connection) in windows {
            self.connections
                .on_carried(*token, carried(connection), now(), &mut told);
        }
        self.tell(told);
    }

    /// Looks which way a connection carries its data before it is suppressed.
    pub(super) fn learn_direction(&mut self, event: &Event, told: &mut Vec<Told>) {
        if self.connections.knows_direction(event.token, now()) {
            return;
        }
        match self.programs.connection(event.algorithm, event.token) {
            Ok(Some(connection)) => {
                self.connections
                    .on_carried(event.token, carried(&connection), now(), told);
            }
            Ok(None) => {}
            Err(error) => warn!(%error, "cannot read windows"),
        }
    }

    /// Looks up what the programs could not report.
    pub(super) fn make_up_for_events(&mut self) {
        debug!("events of the programs were lost; looking up what there is");
        let mut told = Vec::new();
        for namespace in 0..self.served.len() {
            self.resync(namespace, &mut told);
        }
        self.tell(told);
    }
}

/// Bytes that have left and that have come.
fn carried(connection: &ConnectionStats) -> (u64, u64) {
    let subflows = connection.subflows.iter();
    subflows.fold((0, 0), |all, s| (all.0 + s.sent, all.1 + s.received))
}

/// A socket of both families has IPv4 addresses in the form of IPv6.
fn canonical((local, remote): Ends) -> Ends {
    let of = |it: SocketAddr| SocketAddr::new(it.ip().to_canonical(), it.port());
    (of(local), of(remote))
}
