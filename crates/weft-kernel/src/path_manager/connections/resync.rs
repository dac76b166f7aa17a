//! Connections as a scan of all sockets shows them: after a start, after lost events, and to find those that have ended.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use super::super::{Command, DiagSubflow, Subflow, Token};
use super::connection::requested_pair;
use super::{CommandBatch, Connections, FourTuple, UncoupledReason};

impl Connections {
    /// Takes over the subflows of a namespace from a scan: connections older than the daemon, or all after lost events. A
    /// connection with a backup subflow counts as suppressed. Surplus subflows are closed.
    pub fn resync(
        &mut self,
        namespace: usize,
        scan: &[DiagSubflow],
        now: u64,
        batches: &mut Vec<CommandBatch>,
    ) {
        let mut by_token: HashMap<Token, Vec<&DiagSubflow>> = HashMap::new();
        for subflow in scan {
            by_token.entry(subflow.token).or_default().push(subflow);
        }
        self.all.retain(|token, c| {
            c.namespace != namespace || by_token.contains_key(token) || c.waits_for_subflow(now)
        });
        for (token, subflows) in by_token {
            self.resync_connection(namespace, token, subflows, now, batches);
        }
    }

    fn resync_connection(
        &mut self,
        namespace: usize,
        token: Token,
        mut subflows: Vec<&DiagSubflow>,
        now: u64,
        batches: &mut Vec<CommandBatch>,
    ) {
        subflows.sort_by_key(|subflow| !subflow.initial);
        // Without its first subflow it is unknown who opened a connection; opening none is the safe guess.
        let server = subflows
            .first()
            .is_none_or(|first| !first.initial || first.server);
        // A subflow whose SYN has no answer does not count yet.
        let (subflows, pending): (Vec<_>, Vec<_>) =
            subflows.into_iter().partition(|subflow| subflow.established);
        let Some(first) = subflows.first() else {
            return;
        };
        self.open(namespace, token, first.subflow, server, now);
        // A smaller `subflows` in the configuration of a reload does not cut connections that are open.
        let limit = self.joins.max_accepted.max(self.joins.subflows);
        let (subflows, surplus) = match self.all.get(&token) {
            Some(known) if subflows.len() > limit => known.split(subflows, limit),
            _ => (subflows, Vec::new()),
        };
        let joined = subflows.iter().filter(|subflow| !subflow.initial);
        let of_backup_address = joined
            .map(|subflow| subflow.subflow)
            .filter(|subflow| self.is_backup(namespace, subflow.local.ip()));
        let of_backup_address: Vec<FourTuple> =
            of_backup_address.map(|subflow| subflow.four_tuple()).collect();
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let exists = |four_tuple: &FourTuple| {
            let mut all = subflows.iter();
            all.any(|subflow| subflow.subflow.four_tuple() == *four_tuple)
        };
        // Each at most once, however often events are lost.
        connection
            .suppression
            .forced_backups
            .retain(|four_tuple| exists(four_tuple) && !of_backup_address.contains(four_tuple));
        connection.suppression.forced_backups.extend(of_backup_address);
        connection
            .joins
            .early_uncoupled
            .retain(|(four_tuple, _)| exists(four_tuple));
        connection.destroys.closed = surplus
            .iter()
            .map(|subflow| subflow.subflow.four_tuple())
            .collect();
        connection.subflows = subflows.iter().map(|subflow| subflow.subflow).collect();
        connection.lost_at = None;
        connection.joins.pending = pending
            .iter()
            .map(|subflow| requested_pair(&subflow.subflow))
            .collect();
        let is_forced = |subflow: &Subflow| {
            connection
                .suppression
                .forced_backups
                .contains(&subflow.four_tuple())
        };
        let suppressed = connection
            .subflows
            .iter()
            .any(|subflow| subflow.backup && !is_forced(subflow));
        connection.suppression.active = suppressed;
        if server && connection.announced_here.is_empty() {
            let joined = connection.subflows.iter().filter(|subflow| subflow.local_id != 0);
            let ids = joined.map(|subflow| (requested_pair(subflow).0, subflow.local_id));
            let mut ids: Vec<_> = ids.collect();
            ids.dedup();
            connection.announced_here = ids;
        }
        // The programs make a socket without ECN run Reno.
        if subflows
            .iter()
            .all(|subflow| subflow.congestion == FALLBACK && !subflow.ecn)
        {
            connection.uncoupled = Some(UncoupledReason::NoEcn);
        }
        if let Some(kept) = connection.subflows.iter().find(|subflow| !subflow.backup) {
            connection.suppression.kept_subflow = kept.four_tuple();
        }
        if !surplus.is_empty() {
            let destroy = |subflow: &DiagSubflow| Command::DestroySubflow {
                token,
                local: subflow.subflow.local,
                remote: subflow.subflow.remote,
            };
            batches.push(CommandBatch {
                namespace,
                commands: surplus.into_iter().map(destroy).collect(),
                suppression: None,
            });
        }
        let bytes = subflows.iter().map(|subflow| subflow.bytes).sum();
        self.on_bytes(token, bytes, now, batches);
    }

    /// Drops the connections of a namespace that no longer exists.
    pub fn forget_namespace(&mut self, namespace: usize) {
        self.all.retain(|_, connection| connection.namespace != namespace);
        self.addresses.remove(&namespace);
    }

    /// Forgets connections that are not among those seen in a namespace, this time and the time before, and joins that the
    /// kernel is no longer at. It sometimes reports that a connection is established after it has reported that it is closed.
    /// Closes what the kernel did not close when it was asked to.
    pub fn reap_absent(&mut self, namespace: usize, seen: &[DiagSubflow], now: u64) {
        let mut there: HashMap<Token, Vec<&DiagSubflow>> = HashMap::new();
        for seen in seen {
            there.entry(seen.token).or_default().push(seen);
        }
        let mut overdue = Vec::new();
        self.all.retain(|token, connection| {
            if connection.namespace != namespace {
                return true;
            }
            let found = there.get(token);
            if let Some(found) = found {
                let left: Vec<_> = found
                    .iter()
                    .filter(|seen| connection.is_still_there(seen))
                    .collect();
                if !left.is_empty() {
                    let left = left.into_iter().map(|seen| seen.subflow.four_tuple());
                    connection.destroys.refused.extend(left);
                    connection.destroys.retry_at = Some(now);
                    overdue.push((now, *token));
                }
                let on_its_way = |pending: &(IpAddr, SocketAddr)| {
                    let mut all = found.iter().filter(|seen| !seen.established);
                    all.any(|seen| requested_pair(&seen.subflow) == *pending)
                };
                connection.joins.pending.retain(on_its_way);
            }
            let before = std::mem::replace(&mut connection.missed_once, found.is_none());
            !(before && connection.missed_once) || connection.waits_for_subflow(now)
        });
        self.deadlines.extend(overdue);
        self.peers.forget(now);
    }
}

/// The congestion control of a socket without ECN.
const FALLBACK: &str = "reno";
