//! Subflows that are opened, that come and that fail.

use std::net::{IpAddr, SocketAddr};

use super::super::peers::PROBATION;
use super::super::{Command, Subflow, Token};
use super::connection::requested_pair;
use super::{CommandBatch, Connections, FourTuple, UncoupledReason};

impl Connections {
    /// The kernel calls a join invalid. If it was to the address of the first subflow, the connection was opened before its path
    /// manager was ours, and no join is valid. Otherwise the peer has announced an address that does not fit, and others may.
    pub fn on_invalid(&mut self, token: Token, pair: (IpAddr, SocketAddr), now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let (_, initial) = connection.initial_pair;
        if pair.1 == initial || connection.joins.invalid.len() >= MAX_INVALID {
            connection.joins.unmanaged = true;
            connection.joins.pending.clear();
            return;
        }
        connection.take_pending(pair);
        connection.joins.invalid.push(pair);
        self.schedule_join(token, now);
    }

    /// The kernel could not even begin with a join.
    pub fn on_refused(&mut self, token: Token, pair: (IpAddr, SocketAddr), now: u64) {
        if let Some(connection) = self.all.get_mut(&token) {
            connection.take_pending(pair);
        }
        self.schedule_join(token, now);
    }

    /// A subflow is Reno. The first one makes the connection Reno; any other is closed and tried again.
    pub fn on_uncoupled(
        &mut self,
        token: Token,
        subflow: FourTuple,
        why: UncoupledReason,
        now: u64,
        batches: &mut Vec<CommandBatch>,
    ) {
        let Some(connection) = self.all.get_mut(&token) else {
            if let Some(pending) = self.pending_events_of(token, now) {
                pending.uncoupled = Some(why);
            }
            return;
        };
        match connection
            .subflows
            .iter()
            .position(|known| known.four_tuple() == subflow)
        {
            Some(0)
                if connection
                    .subflows
                    .first()
                    .is_some_and(|first| first.local_id == 0) =>
            {
                connection.uncoupled = Some(why);
                self.apply_request(token, now, batches);
            }
            Some(_) => self.on_joined_uncoupled(token, subflow, why, now, batches),
            None if connection.joins.early_uncoupled.len() < MAX_EARLY => {
                connection.joins.early_uncoupled.push((subflow, why));
            }
            None => {}
        }
    }

    /// Closes a subflow that has timed out while another one progressed, so that the kernel resends its data on the others at once,
    /// and opens it again later. Returns whether it was closed: only the end that connected could open it again.
    pub fn on_failed(
        &mut self,
        token: Token,
        subflow: FourTuple,
        now: u64,
        batches: &mut Vec<CommandBatch>,
    ) -> bool {
        let Some(connection) = self.all.get_mut(&token) else {
            return false;
        };
        if !connection.may_join() || connection.subflows.len() < 2 {
            return false;
        }
        let failed = connection
            .subflows
            .iter()
            .find(|known| known.four_tuple() == subflow)
            .map(requested_pair);
        let Some(batch) = connection.destroy_subflow(token, subflow) else {
            return false;
        };
        // Several subflows may have been between the same addresses.
        let new = failed.filter(|pair| !connection.joins.failed.contains(pair));
        connection.joins.failed.extend(new);
        batches.push(batch);
        self.schedule_join(token, now);
        true
    }

    /// Handles the report that the connection has carried enough bytes for additional subflows.
    pub fn on_bulk(&mut self, token: Token, now: u64, batches: &mut Vec<CommandBatch>) {
        match self.all.get_mut(&token) {
            Some(connection) => {
                connection.bulk = true;
                self.join(token, now, batches);
            }
            None => {
                if let Some(pending) = self.pending_events_of(token, now) {
                    pending.bulk = true;
                }
            }
        }
    }

    /// Records that the connection has carried `bytes` bytes.
    pub fn on_bytes(&mut self, token: Token, bytes: u64, now: u64, batches: &mut Vec<CommandBatch>) {
        if bytes >= self.joins.min_bytes {
            self.on_bulk(token, now, batches);
        }
    }

    pub(super) fn on_joined(
        &mut self,
        token: Token,
        subflow: Subflow,
        now: u64,
        batches: &mut Vec<CommandBatch>,
    ) {
        let namespace = self.all.get(&token).map(|connection| connection.namespace);
        let is_backup = namespace.is_some_and(|namespace| self.is_backup(namespace, subflow.local.ip()));
        let limit = self
            .all
            .get(&token)
            .map_or(0, |connection| self.limit(connection.server));
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.subflows.iter().any(|known| known.matches(&subflow)) {
            return;
        }
        connection.take_pending(requested_pair(&subflow));
        if connection.subflows.len() >= limit {
            connection
                .joins
                .early_uncoupled
                .retain(|(known, _)| *known != subflow.four_tuple());
            batches.push(connection.reject_subflow(token, &subflow));
            return;
        }
        connection.destroys.closed.remove(&subflow.four_tuple());
        // The backup flag of the event is the peer's, not ours.
        connection.add_subflow(Subflow {
            backup: false,
            ..subflow
        });
        if is_backup {
            batches.extend(connection.force_backup(token, subflow.four_tuple()));
        }
        connection.joins.on_probation.push((subflow.four_tuple(), now));
        self.deadlines.insert((now + PROBATION, token));
        let uncoupled = connection
            .joins
            .early_uncoupled
            .iter()
            .position(|(four_tuple, _)| *four_tuple == subflow.four_tuple());
        if let Some(i) = uncoupled {
            let (four_tuple, why) = connection.joins.early_uncoupled.remove(i);
            self.on_joined_uncoupled(token, four_tuple, why, now, batches);
        } else if connection.suppression.active {
            batches.push(connection.suppress_commands(token, true, now));
        } else if connection.uncoupled.is_some() {
            self.apply_request(token, now, batches);
        } else {
            // The programs may have reported before the kernel did that it rests.
            self.send_flags(token, batches);
        }
    }

    /// The end that opened it closes it and tries again; the other one makes no use of it.
    pub(super) fn on_joined_uncoupled(
        &mut self,
        token: Token,
        subflow: FourTuple,
        why: UncoupledReason,
        now: u64,
        batches: &mut Vec<CommandBatch>,
    ) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.server {
            batches.extend(connection.force_backup(token, subflow));
        } else if connection.subflows.len() == 1 {
            // Without it the connection would have none.
            connection.uncoupled = Some(why);
        } else {
            batches.extend(connection.destroy_subflow(token, subflow));
            // The kernel removes ECN from a SYN that it repeats, and the path carries packets by now. Other joins of the path wait for
            // their answers, too.
            let is_repeated = now >= connection.joins.requested_at + SYN_TIMEOUT;
            if why == UncoupledReason::NoEcn && is_repeated && connection.joins.failures < 2 {
                self.schedule_join_after(token, CLOSE_GRACE, now);
            } else {
                self.schedule_join(token, now);
            }
        }
    }

    pub(super) fn on_left(&mut self, token: Token, subflow: &Subflow, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let four_tuple = subflow.four_tuple();
        connection
            .joins
            .early_uncoupled
            .retain(|(other, _)| *other != four_tuple);
        connection
            .suppression
            .forced_backups
            .retain(|other| *other != four_tuple);
        connection
            .suppression
            .inactive
            .retain(|other| *other != four_tuple);
        connection.destroys.refused.remove(&four_tuple);
        if connection.destroys.closed.remove(&four_tuple) {
            // Its end says nothing of joins that are still on their way between the same addresses.
            connection.destroys.refusals = 0;
            return;
        }
        let known = connection.subflows.len();
        connection
            .subflows
            .retain(|other| other.four_tuple() != four_tuple);
        let on_probation = connection
            .joins
            .on_probation
            .iter()
            .position(|(other, _)| *other == four_tuple);
        // The kernel does not report a reset that takes one along, but a join that is not answered at all takes longer.
        let (failed, rejected) = if let Some(i) = on_probation {
            connection.joins.on_probation.remove(i);
            (true, true)
        } else {
            let pair = requested_pair(subflow);
            let pending = connection.subflows.len() == known && connection.take_pending(pair);
            let answered = pending && now < connection.joins.requested_at + JOIN_TIMEOUT;
            (pending, answered && !connection.reject_address(pair))
        };
        // The last one takes the connection along, or the network has reset all of them.
        let Some(oldest) = connection.subflows.first() else {
            if connection.subflows.len() < known {
                connection.lose_all(now);
            }
            let at = now + CLOSE_GRACE;
            if connection.may_join() && connection.joins.retry_at.is_none_or(|retry_at| retry_at > at) {
                connection.joins.retry_at = Some(at);
                self.deadlines.insert((at, token));
            }
            return;
        };
        if connection.suppression.kept_subflow == four_tuple {
            connection.suppression.kept_subflow = oldest.four_tuple();
        }
        if failed && rejected && !connection.server {
            connection.joins.rejected_at = Some(now);
            self.deadlines.insert((now + CLOSE_GRACE, token));
        }
        if failed || connection.subflows.len() < known {
            self.schedule_join(token, now);
        }
    }

    /// A connection that is still there after a join was rejected shows how many subflows its peer takes.
    pub(super) fn learn_peer_limit(&mut self, token: Token, now: u64) {
        if let Some(connection) = self.all.get_mut(&token)
            && connection
                .joins
                .rejected_at
                .is_some_and(|at| at + CLOSE_GRACE <= now)
        {
            connection.joins.rejected_at = None;
            let (peer, subflows) = (connection.peer(), connection.subflows.len());
            self.peers.on_rejected(peer, token, subflows, now);
        }
    }

    /// Ends the probation of subflows that have been established for long enough.
    pub(super) fn end_probation(&mut self, token: Token, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let before = connection.joins.on_probation.len();
        let (waiting, survived): (Vec<_>, Vec<_>) = std::mem::take(&mut connection.joins.on_probation)
            .into_iter()
            .partition(|(_, since)| since + PROBATION > now);
        connection.joins.on_probation = waiting;
        let survived = |subflow: &&Subflow| survived.iter().any(|(known, _)| *known == subflow.four_tuple());
        let good: Vec<_> = connection
            .subflows
            .iter()
            .filter(survived)
            .map(requested_pair)
            .collect();
        connection.joins.failed.retain(|pair| !good.contains(pair));
        if before > 0 && connection.joins.on_probation.is_empty() && !connection.server {
            if connection.joins.pending.is_empty() {
                connection.joins.failures = 0;
            }
            let (peer, subflows) = (connection.peer(), connection.subflows.len());
            self.peers.on_joins_survived(peer, token, subflows);
        }
    }

    /// Opens the subflows that are missing. Only the side that connected can: the other has no port that listens.
    pub(super) fn join(&mut self, token: Token, now: u64, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get(&token) else {
            return;
        };
        let early = connection.joins.retry_at.is_some_and(|at| at > now);
        if !connection.may_join() || early {
            return;
        }
        let namespace = connection.namespace;
        let addresses = self.addresses_of(namespace);
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let mut pairs = connection.missing_pairs(&self.joins, &addresses);
        if pairs.is_empty() {
            return;
        }
        let has = connection.subflows.len() + connection.joins.pending.len();
        let (allowed, again) = self
            .peers
            .allow(connection.peer(), token, [has, pairs.len()], now);
        if let Some(at) = again {
            connection.joins.retry_at = Some(at);
            self.deadlines.insert((at, token));
        }
        pairs.truncate(allowed);
        if pairs.is_empty() {
            return;
        }
        connection.joins.pending.extend(&pairs);
        connection.joins.requested_at = now;
        let suppressed = connection.suppression.active;
        let ids = connection.local_ids(&addresses);
        let is_backup = |ip: IpAddr| addresses.iter().any(|address| address.ip == ip && address.backup);
        let commands = pairs
            .into_iter()
            .map(|(local, remote)| Command::CreateSubflow {
                token,
                local,
                local_id: ids
                    .iter()
                    .find(|(known, _)| *known == local)
                    .map_or(1, |(_, id)| *id),
                remote,
                backup: suppressed || is_backup(local),
            })
            .collect();
        batches.push(CommandBatch {
            namespace: connection.namespace,
            commands,
            suppression: None,
        });
    }

    /// The kernel refused to destroy a subflow. It reports a join some time before it finds the subflow.
    pub fn on_destroy_refused(&mut self, token: Token, subflow: FourTuple, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if !connection.destroys.closed.contains(&subflow)
            || connection.destroys.refusals >= MAX_DESTROY_REFUSALS
        {
            return;
        }
        connection.destroys.refused.insert(subflow);
        if connection.destroys.retry_at.is_none() {
            let at = now + (DESTROY_RETRY_DELAY << connection.destroys.refusals);
            connection.destroys.refusals += 1;
            connection.destroys.retry_at = Some(at);
            self.deadlines.insert((at, token));
        }
    }

    /// Repeats the commands to destroy subflows that the kernel has refused, if it is time.
    pub(super) fn retry_destroys(&mut self, token: Token, now: u64, batches: &mut Vec<CommandBatch>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.destroys.retry_at.is_none_or(|at| at > now) {
            return;
        }
        connection.destroys.retry_at = None;
        let subflows = std::mem::take(&mut connection.destroys.refused);
        if subflows.is_empty() {
            connection.destroys.refusals = 0;
            return;
        }
        let destroy = |(local, remote)| Command::DestroySubflow { token, local, remote };
        batches.push(CommandBatch {
            namespace: connection.namespace,
            commands: subflows.into_iter().map(destroy).collect(),
            suppression: None,
        });
    }

    /// Looks again later whether subflows are missing, each time after twice as long, up to a minute.
    pub(super) fn schedule_join(&mut self, token: Token, now: u64) {
        if let Some(connection) = self.all.get(&token) {
            let delay = (MIN_RETRY_DELAY << connection.joins.failures).min(MAX_RETRY_DELAY);
            self.schedule_join_after(token, delay, now);
        }
    }

    /// Looks again after a delay whether subflows are missing, unless a look is due already.
    fn schedule_join_after(&mut self, token: Token, delay: u64, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let has_ended = connection.lost_at.is_some() && !connection.waits_for_subflow(now);
        let waits = connection.joins.retry_at.is_some_and(|at| at > now);
        if !connection.may_join() || has_ended || waits {
            return;
        }
        let at = now + delay;
        connection.joins.failures = (connection.joins.failures + 1).min(DOUBLINGS);
        connection.joins.retry_at = Some(at);
        self.deadlines.insert((at, token));
    }
}

/// Time after which the kernel repeats a SYN: `TCP_TIMEOUT_INIT`.
const SYN_TIMEOUT: u64 = 1_000_000_000;
/// Less than the time after which the kernel gives up on SYNs without an answer.
const JOIN_TIMEOUT: u64 = 30_000_000_000;
/// A connection that closes takes its last subflows along within this time.
const CLOSE_GRACE: u64 = 100_000_000;
/// A join that failed is tried again after this, and each time after twice as long.
const MIN_RETRY_DELAY: u64 = 2_000_000_000;
const MAX_RETRY_DELAY: u64 = 60_000_000_000;
const DOUBLINGS: u32 = 5;
/// The first delay before a refused destruction is repeated, and how often the delay doubles: up to 1.28 s.
const DESTROY_RETRY_DELAY: u64 = 5_000_000;
const MAX_DESTROY_REFUSALS: u32 = 9;
/// Pairs of a connection that the kernel has called invalid.
const MAX_INVALID: usize = 64;
/// Subflows of a connection that BPF programs have reported as uncoupled and the kernel not at all.
const MAX_EARLY: usize = 64;
