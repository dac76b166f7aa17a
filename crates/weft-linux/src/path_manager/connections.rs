//! What is known of every connection, and what follows for it: joins, suppression, release. No sockets, no clock.
//!
//! Times are nanoseconds of any clock that only goes forward.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

#[path = "connection.rs"]
mod connection;

use connection::asked;

use super::hysteresis::{Hysteresis, Past};
use super::peers::{PROBATION, Peers};
use super::{Command, Event, Seen, Subflow, Token};

/// When subflows are opened, how many, and between which addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joins {
    /// Subflows of a connection, the first one included.
    pub subflows: usize,
    /// Bytes acknowledged and received that a connection has before more are opened; 0: at once.
    pub after: u64,
    /// Between which addresses.
    pub spread: Spread,
    /// This host's further addresses: a client joins from them, a server announces them.
    pub addresses: Vec<IpAddr>,
    /// So many connections at once find out how many subflows a peer takes.
    pub probes: usize,
}

/// Between which addresses subflows are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All between the first subflow's addresses, told apart by port.
    SamePair,
    /// Each between another pair of this host's addresses and the peer's.
    Addresses,
}

/// What tells a subflow from others: local and remote address and port.
pub type Ends = (SocketAddr, SocketAddr);

/// A connection.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Clone, Debug)]
pub struct Connection {
    /// Which of the path manager's namespaces it lives in.
    pub namespace: usize,
    /// Was it accepted here, not opened?
    pub server: bool,
    /// Its subflows, the oldest first.
    pub subflows: Vec<Subflow>,
    /// Has the kernel been told to suppress all subflows but one?
    pub suppressed: bool,
    /// Has it carried enough for joins?
    pub bulk: bool,
    /// Did the last look at all sockets not find it?
    absent: bool,
    /// Has its first subflow no ECN? Then it is Reno, and stays single-path.
    pub deaf: bool,
    announced: Vec<(u8, SocketAddr)>,
    /// Joins that the kernel is at.
    pending: Vec<(IpAddr, SocketAddr)>,
    /// Subflows that may be rejected yet, and since when they stand.
    young: Vec<(Ends, u64)>,
    /// Joined without ECN, as the programs told before the kernel told of them.
    without_ecn: Vec<Ends>,
    /// Subflows that were closed here, until the kernel tells that they have gone.
    closed: Vec<Ends>,
    /// Backups whatever the algorithm asks for.
    aside: Vec<Ends>,
    /// When a join was rejected, unless the whole connection went with it.
    rejected: Option<u64>,
    /// When the last join was asked for.
    asked: u64,
    /// Joins that failed in a row.
    failures: u32,
    /// Nothing is asked for before.
    join_at: Option<u64>,
    /// Was it opened before its path manager was ours?
    foreign: bool,
    /// Do the congestion control's programs report it? Then nobody else has to look.
    pub watched: bool,
    /// The subflow that suppression leaves alone, by its addresses.
    keeper: Ends,
    /// Does the algorithm ask for suppression, and since when is it of that opinion?
    wish: (bool, u64),
    /// Bytes that have left and that have come.
    carried: (u64, u64),
    /// Does more come than leaves, and since when?
    receives: (bool, u64),
    past: Past,
}

/// Commands for one connection, to be sent at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Which namespace's kernel.
    pub namespace: usize,
    /// What it is told.
    pub commands: Vec<Command>,
    /// Is it a suppression (true) or a release (false), and since when is it due?
    pub suppression: Option<(bool, u64)>,
}

/// All connections.
#[derive(Debug)]
pub struct Connections {
    joins: Joins,
    hysteresis: Hysteresis,
    all: HashMap<Token, Connection>,
    /// What was reported of connections before the kernel told of them.
    early: HashMap<Token, Early>,
    peers: Peers,
    /// When to look at which connection again.
    deadlines: BTreeSet<(u64, Token)>,
}

#[derive(Clone, Copy, Debug)]
struct Early {
    at: u64,
    bulk: bool,
    deaf: bool,
}

impl Connections {
    /// None yet.
    pub fn new(joins: Joins, hysteresis: Hysteresis) -> Self {
        Self {
            peers: Peers::new(joins.probes),
            joins,
            hysteresis,
            all: HashMap::new(),
            early: HashMap::new(),
            deadlines: BTreeSet::new(),
        }
    }

    /// Every connection.
    pub fn iter(&self) -> impl Iterator<Item = (Token, &Connection)> {
        self.all.iter().map(|(token, connection)| (*token, connection))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// One of them.
    pub fn get(&self, token: Token) -> Option<&Connection> {
        self.all.get(&token)
    }

    /// When [`due`](Self::due) has something to do.
    pub fn deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// The kernel told of something in one of the namespaces.
    pub fn on_event(&mut self, namespace: usize, event: &Event, now: u64, told: &mut Vec<Told>) {
        match *event {
            Event::Established {
                token,
                initial,
                server,
            } => {
                self.open(namespace, token, initial, server, now);
                let early = self.early.remove(&token);
                if early.is_some_and(|early| early.deaf) {
                    self.on_deaf(token, initial.ends(), now, told);
                }
                self.announce(token, told);
                if early.is_some_and(|early| early.bulk) || self.joins.after == 0 {
                    self.on_bulk(token, now, told);
                }
            }
            Event::Closed { token } => {
                self.all.remove(&token);
                self.early.remove(&token);
            }
            Event::Announced {
                token,
                id,
                address,
                port,
            } => {
                if let Some(connection) = self.all.get_mut(&token) {
                    let port = if port == 0 { connection.remote_port() } else { port };
                    connection.announced.retain(|(known, _)| *known != id);
                    connection.announced.push((id, SocketAddr::new(address, port)));
                    self.join(token, now, told);
                }
            }
            Event::Removed { token, id } => {
                if let Some(connection) = self.all.get_mut(&token) {
                    connection.announced.retain(|(known, _)| *known != id);
                }
            }
            Event::Joined { token, subflow } => self.on_joined(token, subflow, now, told),
            Event::Left { token, subflow } => self.on_left(token, &subflow, now),
        }
    }

    /// Takes over what was seen in a namespace: connections older than the daemon, or all after events were lost.
    /// Suppressed is what has a subflow flagged backup.
    pub fn resync(&mut self, namespace: usize, seen: &[Seen], now: u64, told: &mut Vec<Told>) {
        let there: HashSet<Token> = seen.iter().map(|seen| seen.token).collect();
        self.all
            .retain(|token, c| c.namespace != namespace || there.contains(token));
        for token in there {
            let mut of: Vec<&Seen> = seen.iter().filter(|seen| seen.token == token).collect();
            of.sort_by_key(|seen| !seen.initial);
            // Without its first subflow a connection does not tell who opened it; opening none is the safe guess.
            let server = !of[0].initial || of[0].server;
            // What is on its way is no subflow yet.
            let (of, pending): (Vec<_>, Vec<_>) = of.into_iter().partition(|seen| seen.established);
            if of.is_empty() {
                continue;
            }
            let connection = self
                .all
                .entry(token)
                .or_insert_with(|| Connection::new(namespace, of[0].subflow, server, now));
            connection.subflows = of.iter().map(|seen| seen.subflow).collect();
            connection.pending = pending.iter().map(|seen| asked(&seen.subflow)).collect();
            connection.suppressed = of.iter().any(|seen| seen.subflow.backup);
            // What the programs do where there is no ECN.
            connection.deaf |= of.iter().all(|seen| seen.congestion == FALLBACK && !seen.ecn);
            if let Some(keeper) = of.iter().find(|seen| !seen.subflow.backup) {
                connection.keeper = keeper.subflow.ends();
            }
            self.on_bytes(token, of.iter().map(|seen| seen.bytes).sum(), now, told);
        }
    }

    /// Forgets a namespace's connections: it is gone.
    pub fn forget_namespace(&mut self, namespace: usize) {
        self.all.retain(|_, connection| connection.namespace != namespace);
    }

    /// Forgets connections that are not among those seen in a namespace, this time and the time before, and joins that the
    /// kernel is no longer at. It tells now and then that a connection is established after it has told that it is closed.
    pub fn forget_absent(&mut self, namespace: usize, seen: &[Seen], now: u64) {
        let mut there: HashMap<Token, Vec<&Seen>> = HashMap::new();
        for seen in seen {
            there.entry(seen.token).or_default().push(seen);
        }
        self.all.retain(|token, connection| {
            if connection.namespace != namespace {
                return true;
            }
            let found = there.get(token);
            if let Some(found) = found {
                let on_its_way = |pending: &(IpAddr, SocketAddr)| {
                    let mut all = found.iter().filter(|seen| !seen.established);
                    all.any(|seen| asked(&seen.subflow) == *pending)
                };
                connection.pending.retain(on_its_way);
            }
            let before = std::mem::replace(&mut connection.absent, found.is_none());
            !(before && connection.absent)
        });
        self.peers.forget(now);
    }

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

    /// A subflow has no ECN, neither asked for in its SYN nor granted, or lost on the way. The first one makes the connection
    /// Reno; any other is closed and tried again.
    pub fn on_deaf(&mut self, token: Token, subflow: Ends, now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            let early = self.early.entry(token).or_insert(Early::at(now));
            early.deaf = true;
            return;
        };
        match connection
            .subflows
            .iter()
            .position(|known| known.ends() == subflow)
        {
            Some(0) if connection.subflows[0].local_id == 0 => {
                connection.deaf = true;
                self.obey(token, now, told);
            }
            Some(_) => self.on_joined_deaf(token, subflow, now, told),
            None => connection.without_ecn.push(subflow),
        }
    }

    /// The connection has carried so many bytes.
    pub fn on_bytes(&mut self, token: Token, bytes: u64, now: u64, told: &mut Vec<Told>) {
        if bytes >= self.joins.after {
            self.on_bulk(token, now, told);
        }
    }

    fn open(&mut self, namespace: usize, token: Token, initial: Subflow, server: bool, now: u64) {
        self.all
            .entry(token)
            .or_insert_with(|| Connection::new(namespace, initial, server, now));
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

    /// Programs report the connection.
    pub fn on_watched(&mut self, token: Token) {
        if let Some(connection) = self.all.get_mut(&token) {
            connection.watched = true;
        }
    }

    /// The algorithm asks for suppression or release of a subflow. It names all it means, one after the other; the kernel
    /// is told in [`settle`](Self::settle).
    pub fn on_wish(&mut self, token: Token, subflow: (SocketAddr, SocketAddr), suppress: bool, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.wish.0 != suppress {
            connection.wish = (suppress, now);
        }
        if suppress && connection.keeper == subflow {
            let others = connection.subflows.iter().map(Subflow::ends);
            let after = others.skip_while(|other| *other != subflow).nth(1);
            connection.keeper = after.unwrap_or(subflow);
        }
    }

    /// A connection has carried so many bytes, away from here and to here. The kernel takes a backup out of use in both
    /// directions, so a connection that receives more than it sends is not suppressed for what it sends.
    pub fn on_carried(&mut self, token: Token, carried: (u64, u64), now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let before = std::mem::replace(&mut connection.carried, carried);
        let receives = carried.1.saturating_sub(before.1) > carried.0.saturating_sub(before.0);
        if connection.receives.0 != receives {
            connection.receives = (receives, now);
            self.obey(token, now, told);
        }
    }

    /// Tells the kernel what the algorithm asks for these connections, unless it is too early.
    pub fn settle(&mut self, tokens: impl IntoIterator<Item = Token>, now: u64, told: &mut Vec<Told>) {
        for token in tokens {
            self.obey(token, now, told);
        }
    }

    /// Does what has become due.
    pub fn due(&mut self, now: u64, told: &mut Vec<Told>) {
        while let Some((at, token)) = self.deadlines.first().copied()
            && at <= now
        {
            self.deadlines.pop_first();
            self.obey(token, now, told);
            self.learn(token, now);
            self.let_grow_old(token, now);
            if let Some(connection) = self.all.get_mut(&token)
                && connection.join_at.is_some_and(|at| at <= now)
            {
                connection.join_at = None;
                self.join(token, now, told);
            }
        }
        self.early.retain(|_, early| early.at + EARLY > now);
    }

    fn on_joined(&mut self, token: Token, subflow: Subflow, now: u64, told: &mut Vec<Told>) {
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
        connection.young.push((subflow.ends(), now));
        self.deadlines.insert((now + PROBATION, token));
        let deaf = connection
            .without_ecn
            .iter()
            .position(|ends| *ends == subflow.ends());
        if let Some(i) = deaf {
            connection.without_ecn.remove(i);
            self.on_joined_deaf(token, subflow.ends(), now, told);
        } else if !connection.server && connection.subflows.len() > self.joins.subflows {
            told.extend(connection.close(token, subflow.ends()));
        } else if connection.suppressed {
            told.push(connection.tell(token, true, now));
        } else if connection.deaf {
            self.obey(token, now, told);
        }
    }

    /// The end that opened it closes it and tries again; the other one makes no use of it.
    fn on_joined_deaf(&mut self, token: Token, subflow: Ends, now: u64, told: &mut Vec<Told>) {
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

    fn on_left(&mut self, token: Token, subflow: &Subflow, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let ends = subflow.ends();
        connection.without_ecn.retain(|other| *other != ends);
        connection.aside.retain(|other| *other != ends);
        if let Some(i) = connection.closed.iter().position(|other| *other == ends) {
            // Its end says nothing of joins that are still on their way between the same addresses.
            connection.closed.swap_remove(i);
            return;
        }
        let known = connection.subflows.len();
        connection.subflows.retain(|other| other.ends() != ends);
        let young = connection.young.iter().position(|(other, _)| *other == ends);
        // The kernel does not tell of a reset that takes one along, but a join that is not answered at all takes longer.
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
    fn learn(&mut self, token: Token, now: u64) {
        if let Some(connection) = self.all.get_mut(&token)
            && connection.rejected.is_some_and(|at| at + CLOSING <= now)
        {
            connection.rejected = None;
            let (peer, subflows) = (connection.peer(), connection.subflows.len());
            self.peers.on_rejected(peer, token, subflows, now);
        }
    }

    /// Subflows that have stood for long enough were not rejected.
    fn let_grow_old(&mut self, token: Token, now: u64) {
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

    /// Tells the kernel what the algorithm asks for, unless it is too early.
    fn obey(&mut self, token: Token, now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let ((wish, since), (receives, receives_since)) = (connection.wish, connection.receives);
        let (suppress, since) = match (connection.deaf, wish) {
            (true, _) => (true, now),
            (false, true) => (!receives, since.max(receives_since)),
            (false, false) => (false, since),
        };
        if connection.is_told(suppress) {
            return;
        }
        let at = if suppress {
            since
        } else {
            connection.past.release_at(since, &self.hysteresis)
        };
        if at > now {
            self.deadlines.insert((at, token));
            return;
        }
        // It may also leave another subflow alone than it did.
        if suppress && !connection.suppressed {
            connection.past.suppressed(now, &self.hysteresis);
        } else if !suppress {
            connection.past.released(now);
        }
        told.push(connection.tell(token, suppress, at));
    }

    fn announce(&self, token: Token, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get(&token) else {
            return;
        };
        if !connection.server || self.joins.spread == Spread::SamePair {
            return;
        }
        // A listener of both families has IPv4 addresses in the form of IPv6.
        let initial = connection.subflows[0].local.ip().to_canonical();
        let commands: Vec<_> = (1..)
            .zip(&self.joins.addresses)
            .filter(|(_, address)| **address != initial && address.is_ipv4() == initial.is_ipv4())
            .map(|(id, address)| Command::Announce {
                token,
                address: *address,
                id,
            })
            .collect();
        if !commands.is_empty() {
            told.push(Told {
                namespace: connection.namespace,
                commands,
                suppression: None,
            });
        }
    }

    /// Opens the subflows that are missing. Only the side that connected can: the other has no port that listens.
    fn join(&mut self, token: Token, now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let early = connection.join_at.is_some_and(|at| at > now);
        if !connection.may_join() || early {
            return;
        }
        let mut pairs = connection.missing(&self.joins);
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
        let backup = connection.suppressed;
        let ids = connection.local_ids(&self.joins);
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
                backup,
            })
            .collect();
        told.push(Told {
            namespace: connection.namespace,
            commands,
            suppression: None,
        });
    }

    /// Looks again later whether subflows are missing, each time after twice as long, up to a minute.
    fn join_later(&mut self, token: Token, now: u64) {
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

impl Early {
    fn at(now: u64) -> Self {
        Self {
            at: now,
            bulk: false,
            deaf: false,
        }
    }
}

/// What the programs make of a socket without ECN.
const FALLBACK: &str = "reno";
/// Before the kernel gives up on SYNs without an answer.
const UNANSWERED: u64 = 30_000_000_000;
/// A connection that closes takes its last subflows along within this time.
const CLOSING: u64 = 100_000_000;
/// How long reports of a connection that the kernel has not told of are kept: it may live in another namespace.
const EARLY: u64 = 10_000_000_000;
/// A join that failed is tried again after this, and each time after twice as long.
const RETRY: u64 = 2_000_000_000;
const RETRY_MOST: u64 = 60_000_000_000;
const DOUBLINGS: u32 = 5;

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
