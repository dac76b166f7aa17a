//! Subflows that are opened, that come and that fail.

use std::net::{IpAddr, SocketAddr};

use super::super::peers::PROBATION;
use super::super::{Command, Subflow, Token};
use super::connection::asked;
use super::{Connections, Early, Ends, Told, Uncoupled};

impl Connections {
    /// The kernel refused a join as such: the connection was opened before its path manager was ours.
    pub fn on_not_ours(&mut self, token: Token) {
        if let Some(connection) = self.all.get_mut(&token) {
            connection.foreign = true;
            connection.pending.clear();
        }
    }

    /// The kernel could not even begin with a join.
    pub fn on_refused(&mut self, token: Token, pair: (IpAddr, SocketAddr), now: u64) {
        if let Some(connection) = self.all.get_mut(&token) {
            connection.take_pending(pair);
        }
        self.join_later(token, now);
    }

    /// A subflow is Reno. The first one makes the connection Reno; any other is closed and tried again.
    pub fn on_uncoupled(
        &mut self,
        token: Token,
        subflow: Ends,
        why: Uncoupled,
        now: u64,
        told: &mut Vec<Told>,
    ) {
        let Some(connection) = self.all.get_mut(&token) else {
            let early = self.early.entry(token).or_insert(Early::at(now));
            early.uncoupled = Some(why);
            return;
        };
        match connection
            .subflows
            .iter()
            .position(|known| known.ends() == subflow)
        {
            Some(0) if connection.subflows[0].local_id == 0 => {
                connection.uncoupled = Some(why);
                self.obey(token, now, told);
            }
            Some(_) => self.on_joined_uncoupled(token, subflow, now, told),
            None => connection.early_uncoupled.push(subflow),
        }
    }

    /// The connection has carried so much that further subflows are worth while.
    pub fn on_bulk(&mut self, token: Token, now: u64, told: &mut Vec<Told>) {
        match self.all.get_mut(&token) {
            Some(connection) => {
                connection.bulk = true;
                self.join(token, now, told);
            }
            None => self.early.entry(token).or_insert(Early::at(now)).bulk = true,
        }
    }

    /// The connection has carried so many bytes.
    pub fn on_bytes(&mut self, token: Token, bytes: u64, now: u64, told: &mut Vec<Told>) {
        if bytes >= self.joins.after {
            self.on_bulk(token, now, told);
        }
    }

    pub(super) fn on_joined(&mut self, token: Token, subflow: Subflow, now: u64, told: &mut Vec<Told>) {
        let namespace = self.all.get(&token).map(|connection| connection.namespace);
        let aside = namespace.is_some_and(|namespace| self.is_backup(namespace, subflow.local.ip()));
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.subflows.iter().any(|known| known.is(&subflow)) {
            return;
        }
        connection.take_pending(asked(&subflow));
        connection.closed.retain(|ends| *ends != subflow.ends());
        // What the event says of backup is the peer's flag, not ours.
        connection.subflows.push(Subflow {
            backup: false,
            ..subflow
        });
        if aside {
            told.extend(connection.set_aside(token, subflow.ends()));
        }
        connection.young.push((subflow.ends(), now));
        self.deadlines.insert((now + PROBATION, token));
        let uncoupled = connection
            .early_uncoupled
            .iter()
            .position(|ends| *ends == subflow.ends());
        if let Some(i) = uncoupled {
            connection.early_uncoupled.remove(i);
            self.on_joined_uncoupled(token, subflow.ends(), now, told);
        } else if !connection.server && connection.subflows.len() > self.joins.subflows {
            told.extend(connection.close(token, subflow.ends()));
        } else if connection.suppressed {
            told.push(connection.tell(token, true, now));
        } else if connection.uncoupled.is_some() {
            self.obey(token, now, told);
        } else {
            // The programs may have reported before the kernel did that it rests.
            self.flag_now(token, told);
        }
    }

    /// The end that opened it closes it and tries again; the other one makes no use of it.
    pub(super) fn on_joined_uncoupled(
        &mut self,
        token: Token,
        subflow: Ends,
        now: u64,
        told: &mut Vec<Told>,
    ) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.server {
            told.extend(connection.set_aside(token, subflow));
        } else {
            told.extend(connection.close(token, subflow));
            self.join_later(token, now);
        }
    }

    pub(super) fn on_left(&mut self, token: Token, subflow: &Subflow, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let ends = subflow.ends();
        connection.early_uncoupled.retain(|other| *other != ends);
        connection.aside.retain(|other| *other != ends);
        connection.resting.retain(|other| *other != ends);
        if let Some(i) = connection.closed.iter().position(|other| *other == ends) {
            // Its end says nothing of joins that are still on their way between the same addresses.
            connection.closed.swap_remove(i);
            return;
        }
        let known = connection.subflows.len();
        connection.subflows.retain(|other| other.ends() != ends);
        let young = connection.young.iter().position(|(other, _)| *other == ends);
        // The kernel does not report a reset that takes one along, but a join that is not answered at all takes longer.
        let (failed, rejected) = if let Some(i) = young {
            connection.young.remove(i);
            (true, true)
        } else {
            let pending = connection.subflows.len() == known && connection.take_pending(asked(subflow));
            (pending, pending && now < connection.asked + UNANSWERED)
        };
        // The last one takes the connection along.
        let Some(oldest) = connection.subflows.first() else {
            return;
        };
        if connection.keeper == ends {
            connection.keeper = oldest.ends();
        }
        if failed && rejected && !connection.server {
            connection.rejected = Some(now);
            self.deadlines.insert((now + CLOSING, token));
        }
        if failed || connection.subflows.len() < known {
            self.join_later(token, now);
        }
    }

    /// A connection that is still there after a join was rejected shows how many subflows its peer takes.
    pub(super) fn learn(&mut self, token: Token, now: u64) {
        if let Some(connection) = self.all.get_mut(&token)
            && connection.rejected.is_some_and(|at| at + CLOSING <= now)
        {
            connection.rejected = None;
            let (peer, subflows) = (connection.peer(), connection.subflows.len());
            self.peers.on_rejected(peer, token, subflows, now);
        }
    }

    /// Subflows that have stood for long enough were not rejected.
    pub(super) fn let_grow_old(&mut self, token: Token, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let before = connection.young.len();
        connection.young.retain(|(_, since)| since + PROBATION > now);
        if before > 0 && connection.young.is_empty() && !connection.server {
            if connection.pending.is_empty() {
                connection.failures = 0;
            }
            let (peer, subflows) = (connection.peer(), connection.subflows.len());
            self.peers.on_standing(peer, token, subflows);
        }
    }

    /// Opens the subflows that are missing. Only the side that connected can: the other has no port that listens.
    pub(super) fn join(&mut self, token: Token, now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get(&token) else {
            return;
        };
        let early = connection.join_at.is_some_and(|at| at > now);
        if !connection.may_join() || early {
            return;
        }
        let namespace = connection.namespace;
        let addresses = self.addresses_of(namespace);
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let mut pairs = connection.missing(&self.joins, &addresses);
        if pairs.is_empty() {
            return;
        }
        let has = connection.subflows.len() + connection.pending.len();
        let (allowed, again) = self
            .peers
            .allow(connection.peer(), token, [has, pairs.len()], now);
        if let Some(at) = again {
            connection.join_at = Some(at);
            self.deadlines.insert((at, token));
        }
        pairs.truncate(allowed);
        if pairs.is_empty() {
            return;
        }
        connection.pending.extend(&pairs);
        connection.asked = now;
        let suppressed = connection.suppressed;
        let ids = connection.local_ids(&addresses);
        let aside = |ip: IpAddr| addresses.iter().any(|it| it.ip == ip && it.backup);
        let commands = pairs
            .into_iter()
            .map(|(local, remote)| Command::Create {
                token,
                local,
                local_id: ids
                    .iter()
                    .find(|(known, _)| *known == local)
                    .map_or(1, |(_, id)| *id),
                remote,
                backup: suppressed || aside(local),
            })
            .collect();
        told.push(Told {
            namespace: connection.namespace,
            commands,
            suppression: None,
        });
    }

    /// Looks again later whether subflows are missing, each time after twice as long, up to a minute.
    pub(super) fn join_later(&mut self, token: Token, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if !connection.may_join() || connection.join_at.is_some_and(|at| at > now) {
            return;
        }
        let at = now + (RETRY << connection.failures).min(RETRY_MOST);
        connection.failures = (connection.failures + 1).min(DOUBLINGS);
        connection.join_at = Some(at);
        self.deadlines.insert((at, token));
    }
}

/// Before the kernel gives up on SYNs without an answer.
const UNANSWERED: u64 = 30_000_000_000;
/// A connection that closes takes its last subflows along within this time.
const CLOSING: u64 = 100_000_000;
/// A join that failed is tried again after this, and each time after twice as long.
const RETRY: u64 = 2_000_000_000;
const RETRY_MOST: u64 = 60_000_000_000;
const DOUBLINGS: u32 = 5;
