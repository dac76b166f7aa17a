//! What is known of every connection, and what follows for it: joins, suppression, release. No sockets, no clock.
//!
//! Times are nanoseconds of any clock that only goes forward.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use super::hysteresis::{Hysteresis, Past};
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
}

/// Between which addresses subflows are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All between the first subflow's addresses, told apart by port.
    SamePair,
    /// Each between another pair of this host's addresses and the peer's.
    Addresses,
}

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
    announced: Vec<(u8, SocketAddr)>,
    /// Joins asked for that have not come to be.
    pending: Vec<(IpAddr, SocketAddr)>,
    attempts: u32,
    join_at: Option<u64>,
    /// Do the congestion control's programs report it? Then nobody else has to look.
    pub watched: bool,
    /// The subflow that suppression leaves alone, by its addresses.
    keeper: (SocketAddr, SocketAddr),
    /// Does the algorithm ask for suppression, and since when is it of that opinion?
    wish: (bool, u64),
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
    /// Connections that were reported to be bulk before the kernel told of them, and when.
    early: HashMap<Token, u64>,
    /// When to look at which connection again.
    deadlines: BTreeSet<(u64, Token)>,
}

impl Connections {
    /// None yet.
    pub fn new(joins: Joins, hysteresis: Hysteresis) -> Self {
        Self {
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
                self.announce(token, told);
                if self.early.remove(&token).is_some() || self.joins.after == 0 {
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
            Event::Left { token, subflow } => {
                if let Some(connection) = self.all.get_mut(&token) {
                    connection.subflows.retain(|known| !known.is(&subflow));
                    // The last one takes the connection along.
                    let Some(oldest) = connection.subflows.first() else {
                        return;
                    };
                    if connection.keeper == subflow.ends() {
                        connection.keeper = oldest.ends();
                    }
                    if connection.join_at.is_none() {
                        self.join_later(token, now);
                    }
                }
            }
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
            let connection = self
                .all
                .entry(token)
                .or_insert_with(|| Connection::new(namespace, of[0].subflow, server, now));
            connection.subflows = of.iter().map(|seen| seen.subflow).collect();
            connection.suppressed = of.iter().any(|seen| seen.subflow.backup);
            if let Some(keeper) = of.iter().find(|seen| !seen.subflow.backup) {
                connection.keeper = keeper.subflow.ends();
            }
            self.on_bytes(token, of.iter().map(|seen| seen.bytes).sum(), now, told);
        }
    }

    /// Forgets connections that are not among those seen in a namespace, this time and the time before. The kernel tells
    /// now and then that a connection is established after it has told that it is closed.
    pub fn forget_absent(&mut self, namespace: usize, seen: &[Seen]) {
        let there: HashSet<Token> = seen.iter().map(|seen| seen.token).collect();
        self.all.retain(|token, connection| {
            if connection.namespace != namespace {
                return true;
            }
            let before = std::mem::replace(&mut connection.absent, !there.contains(token));
            !(before && connection.absent)
        });
    }

    /// The kernel refused a join as such: the connection was opened before its path manager was ours.
    pub fn on_not_ours(&mut self, token: Token) {
        if let Some(connection) = self.all.get_mut(&token) {
            connection.attempts = ATTEMPTS;
            connection.join_at = None;
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
            None => {
                self.early.insert(token, now);
            }
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
            if let Some(connection) = self.all.get_mut(&token)
                && connection.join_at.is_some_and(|at| at <= now)
            {
                connection.join_at = None;
                connection.pending.clear();
                self.join(token, now, told);
            }
        }
        self.early.retain(|_, at| *at + EARLY > now);
    }

    /// Releases every suppressed connection, for nobody will afterwards.
    pub fn release_all(&mut self) -> Vec<Told> {
        self.all
            .iter_mut()
            .filter(|(_, connection)| connection.suppressed)
            .map(|(token, connection)| connection.tell(*token, false, 0))
            .collect()
    }

    fn on_joined(&mut self, token: Token, subflow: Subflow, now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.subflows.iter().any(|known| known.is(&subflow)) {
            return;
        }
        let asked = (subflow.local.ip(), subflow.remote);
        if let Some(i) = connection.pending.iter().position(|pending| *pending == asked) {
            connection.pending.remove(i);
        }
        if connection.pending.is_empty() {
            connection.join_at = None;
            connection.attempts = 0;
        }
        // What the event says of backup is the peer's flag, not ours.
        connection.subflows.push(Subflow {
            backup: false,
            ..subflow
        });
        if connection.suppressed {
            told.push(connection.tell(token, true, now));
        }
    }

    /// Tells the kernel what the algorithm asks for, unless it is too early.
    fn obey(&mut self, token: Token, now: u64, told: &mut Vec<Told>) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        let (suppress, since) = connection.wish;
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
        let initial = connection.subflows[0].local.ip();
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
        if connection.server || !connection.bulk {
            return;
        }
        let pairs = connection.missing(&self.joins);
        if pairs.is_empty() {
            return;
        }
        connection.pending.extend(&pairs);
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
        self.join_later(token, now);
    }

    /// Looks again later whether subflows are missing, each time after twice as long.
    fn join_later(&mut self, token: Token, now: u64) {
        let Some(connection) = self.all.get_mut(&token) else {
            return;
        };
        if connection.server || !connection.bulk || connection.attempts >= ATTEMPTS {
            return;
        }
        let at = now + (RETRY << connection.attempts);
        connection.attempts += 1;
        connection.join_at = Some(at);
        self.deadlines.insert((at, token));
    }
}

impl Connection {
    fn new(namespace: usize, initial: Subflow, server: bool, now: u64) -> Self {
        Self {
            namespace,
            server,
            subflows: vec![initial],
            suppressed: false,
            bulk: false,
            watched: false,
            absent: false,
            announced: Vec::new(),
            pending: Vec::new(),
            attempts: 0,
            join_at: None,
            keeper: initial.ends(),
            wish: (false, now),
            past: Past::default(),
        }
    }

    fn remote_port(&self) -> u16 {
        self.subflows.first().map_or(0, |initial| initial.remote.port())
    }

    /// Does the kernel know all that follows?
    fn is_told(&self, suppress: bool) -> bool {
        if self.suppressed && suppress {
            return self
                .subflows
                .iter()
                .all(|s| s.backup != (s.ends() == self.keeper));
        }
        suppress == self.suppressed || (suppress && self.subflows.len() < 2)
    }

    /// Flags all subflows but the keeper, which carries on.
    fn tell(&mut self, token: Token, suppress: bool, due: u64) -> Told {
        self.suppressed = suppress;
        let mut commands = Vec::new();
        for subflow in &mut self.subflows {
            let backup = suppress && subflow.ends() != self.keeper;
            if subflow.backup != backup {
                subflow.backup = backup;
                commands.push(Command::Prioritise {
                    token,
                    local: subflow.local,
                    remote: subflow.remote,
                    backup,
                });
            }
        }
        // First the one that carries on, so that there always is one.
        commands.sort_by_key(|command| matches!(command, Command::Prioritise { backup: true, .. }));
        Told {
            namespace: self.namespace,
            commands,
            suppression: Some((suppress, due)),
        }
    }

    /// Address pairs between which subflows are missing.
    fn missing(&self, joins: &Joins) -> Vec<(IpAddr, SocketAddr)> {
        let Some(first) = self.subflows.first() else {
            return Vec::new();
        };
        let taken = self.subflows.len() + self.pending.len();
        let count = joins.subflows.saturating_sub(taken);
        let initial = (first.local.ip(), first.remote);
        match joins.spread {
            Spread::SamePair => vec![initial; count],
            Spread::Addresses => {
                let locals = with_first(initial.0, joins.addresses.iter().copied());
                let remotes = with_first(initial.1, self.announced.iter().map(|(_, remote)| *remote));
                // Diagonals first: pairs that share no address with one another.
                (0..remotes.len())
                    .flat_map(|d| (0..locals.len()).map(move |i| (i, d)))
                    .map(|(i, d)| (locals[i], remotes[(i + d) % remotes.len()]))
                    .filter(|(local, remote)| local.is_ipv4() == remote.is_ipv4())
                    .filter(|pair| {
                        let there = self.subflows.iter().any(|s| (s.local.ip(), s.remote) == *pair);
                        !there && !self.pending.contains(pair)
                    })
                    .take(count)
                    .collect()
            }
        }
    }

    /// The identifier of each local address: the kernel refuses a second one for the same address.
    fn local_ids(&self, joins: &Joins) -> Vec<(IpAddr, u8)> {
        let known = self.subflows.iter().skip(1).filter(|s| s.local_id != 0);
        let mut ids: Vec<(IpAddr, u8)> = known.map(|s| (s.local.ip(), s.local_id)).collect();
        let initial = self.subflows.first().map(|s| s.local.ip());
        for local in initial.into_iter().chain(joins.addresses.iter().copied()) {
            if ids.iter().all(|(known, _)| *known != local) {
                let free = (1..=u8::MAX).find(|id| ids.iter().all(|(_, taken)| taken != id));
                ids.push((local, free.unwrap_or(u8::MAX)));
            }
        }
        ids
    }
}

fn with_first<T: PartialEq + Copy>(first: T, others: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = vec![first];
    for other in others {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}

/// How long reports of a connection that the kernel has not told of are kept: it may live in another namespace.
const EARLY: u64 = 10_000_000_000;
/// A join that has not come to be after this is tried again.
const RETRY: u64 = 2_000_000_000;
/// So many times in a row.
const ATTEMPTS: u32 = 6;

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
