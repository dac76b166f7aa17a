//! Scans of all sockets: after a start, after lost events, and for connections that no program reports.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use tracing::{debug, info, warn};

use super::{Daemon, MIN_IDLE_US, POLL_INTERVAL, REAP_INTERVAL, SECOND, next_poll_time, now};
use crate::Failure;
use weft_kernel::events::Event;
use weft_kernel::path_manager::{CommandBatch, FourTuple};
use weft_kernel::programs::{ConnectionStats, KernelAlgorithm};

impl Daemon {
    /// Reads all connections of the namespaces for which that was requested. A pause follows that is long compared with the time that
    /// reading takes.
    pub(super) fn resync_if_due(&mut self, batches: &mut Vec<CommandBatch>) {
        let started = now();
        if self.to_resync.is_empty() || started < self.next_resync {
            return;
        }
        self.resync(batches);
        self.next_resync = next_poll_time(started, SECOND);
    }

    /// Takes over the connections of the namespaces to resync.
    pub(super) fn resync(&mut self, batches: &mut Vec<CommandBatch>) {
        let namespaces = std::mem::take(&mut self.to_resync);
        let started = now();
        for &namespace in &namespaces {
            let Some(served) = self.namespaces.get(namespace) else {
                continue;
            };
            match served.mptcp_subflows() {
                Ok(subflows) => self.connections.resync(namespace, &subflows, started, batches),
                Err(error) => warn!(namespace = %served.name(), %error, "cannot read connections"),
            }
        }
        let now = now();
        let mut tokens = Vec::new();
        for connection in self.windows().into_values() {
            let token = connection.token;
            let known = self.connections.get(token);
            if known.is_none_or(|known| !namespaces.contains(&known.namespace)) {
                continue;
            }
            self.connections.set_has_bpf_events(token, true);
            self.connections
                .on_traffic(token, traffic(&connection), now, batches);
            if connection.algorithm == KernelAlgorithm::Warp {
                let inactive = connection.subflows.iter().filter(|subflow| !subflow.active);
                let inactive = inactive.map(|subflow| (subflow.local, subflow.remote)).collect();
                self.connections.set_inactive(token, inactive, batches);
            }
            for subflow in &connection.subflows {
                let four_tuple = (subflow.local, subflow.remote);
                if !connection.suppressed || !subflow.active {
                    self.connections
                        .on_request(token, four_tuple, connection.suppressed, now);
                }
            }
            tokens.push(token);
        }
        self.connections.apply_requests(tokens, now, batches);
    }

    /// Forgets connections whose end the kernel has not reported.
    pub(super) fn reap_absent(&mut self) {
        let began = now();
        for namespace in 0..self.namespaces.len() {
            match self.namespaces[namespace].mptcp_subflows() {
                Ok(seen) => self.connections.reap_absent(namespace, &seen, now()),
                Err(error) => warn!(%error, "cannot look up connections"),
            }
        }
        // The kernel does not report changes of endpoints.
        let mut batches = Vec::new();
        for namespace in 0..self.namespaces.len() {
            self.learn_addresses(namespace, &mut batches);
        }
        self.send_commands(batches);
        if let Err(error) = self.reap_subflows() {
            warn!("cannot look for subflows that are gone: {error}");
        }
        let known = |token| self.connections.get(token).is_some();
        match self.programs.reap(now() / 1000, MIN_IDLE_US, known) {
            Ok(0) => {}
            Ok(reaped) => info!(reaped, "unused entries were removed"),
            Err(error) => warn!(%error, "cannot look for unused entries"),
        }
        self.next_reap = next_poll_time(began, REAP_INTERVAL);
    }

    /// Frees the slots of subflows of served namespaces that had no socket this time and the time before.
    fn reap_subflows(&mut self) -> Result<(), Failure> {
        let inodes = self.namespaces.iter().map(|served| served.namespace.inode());
        let inodes: Vec<_> = inodes.collect();
        let mut there = HashMap::new();
        let mut lost = HashSet::new();
        let mut reaped = 0;
        let all = self.programs.connections().map_err(Failure::about("windows"))?;
        for connection in &all {
            let Some(namespace) = inodes.iter().position(|inode| *inode == Some(connection.netns)) else {
                continue;
            };
            let known = self.connections.get(connection.token);
            for subflow in &connection.subflows {
                let four_tuple = canonical((subflow.local, subflow.remote));
                if known.is_some_and(|known| {
                    known
                        .subflows
                        .iter()
                        .any(|other| canonical(other.four_tuple()) == four_tuple)
                }) {
                    continue;
                }
                // Sockets are looked up only where the kernel has not reported one.
                let sockets = match there.entry(namespace) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(entry) => {
                        let four_tuple = self.namespaces[namespace].sockets();
                        let four_tuple = four_tuple.map_err(Failure::about("sockets"))?;
                        entry.insert(four_tuple.into_iter().map(canonical).collect::<HashSet<_>>())
                    }
                };
                if sockets.contains(&four_tuple) {
                    continue;
                }
                let id = (connection.netns, subflow.slot, subflow.owner);
                if !self.orphaned_slots.contains(&id) {
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
        self.orphaned_slots = lost;
        if reaped > 0 {
            info!(reaped, "slots of subflows that are gone were freed");
        }
        Ok(())
    }

    /// Looks how much connections have carried that no program of ours watches.
    pub(super) fn poll_unreported(&mut self) {
        let began = now();
        let mut batches = Vec::new();
        for namespace in 0..self.namespaces.len() {
            let unwatched = self
                .connections
                .iter()
                .any(|(_, c)| c.namespace == namespace && !c.server && !c.bulk && !c.has_bpf_events);
            if !unwatched {
                continue;
            }
            match self.namespaces[namespace].mptcp_subflows() {
                Ok(seen) => {
                    for seen in seen {
                        self.connections
                            .on_bytes(seen.token, seen.bytes, began, &mut batches);
                    }
                }
                Err(error) => warn!(%error, "cannot look up connections"),
            }
        }
        self.send_commands(batches);
        self.next_poll = next_poll_time(began, POLL_INTERVAL);
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
    pub(super) fn read_directions(&mut self, windows: &HashMap<u32, ConnectionStats>) {
        let mut batches = Vec::new();
        for (token, connection) in windows {
            self.connections
                .on_traffic(*token, traffic(connection), now(), &mut batches);
        }
        self.send_commands(batches);
    }

    /// Looks which way a connection carries its data before it is suppressed.
    pub(super) fn read_direction(&mut self, event: &Event, batches: &mut Vec<CommandBatch>) {
        if self.connections.knows_direction(event.token, now()) {
            return;
        }
        match self.programs.connection(event.algorithm, event.token) {
            Ok(Some(connection)) => {
                self.connections
                    .on_traffic(event.token, traffic(&connection), now(), batches);
            }
            Ok(None) => {}
            Err(error) => warn!(%error, "cannot read windows"),
        }
    }

    /// Requests that everything is read that the programs could not report.
    pub(super) fn recover_lost_events(&mut self) {
        debug!("events of the programs were lost; reading all connections");
        self.to_resync.extend(0..self.namespaces.len());
    }
}

/// Bytes sent and received over all subflows.
fn traffic(connection: &ConnectionStats) -> [u64; 2] {
    let subflows = connection.subflows.iter();
    subflows.fold([0, 0], |[sent, received], s| {
        [sent + s.sent, received + s.received]
    })
}

/// A socket of both families has IPv4 addresses in the form of IPv6.
fn canonical((local, remote): FourTuple) -> FourTuple {
    let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    (canonical(local), canonical(remote))
}
