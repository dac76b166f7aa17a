//! What is known of every connection, and what follows for it: joins, suppression, release. No sockets, no clock.
//!
//! Times are nanoseconds of any clock that only goes forward.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

mod addresses;
mod connection;
mod joins;
mod suppression;

use connection::asked;

use super::hysteresis::{Hysteresis, Past};
use super::peers::Peers;
use super::{Address, Command, Event, Seen, Subflow, Token};

/// When subflows are opened, how many, and between which addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joins {
    /// Subflows of a connection, the first one included.
    pub subflows: usize,
    /// Bytes acknowledged and received that a connection has before more are opened; 0: at once.
    pub after: u64,
    /// Between which addresses.
    pub spread: Spread,
    /// This host's further addresses: a client joins from them, a server announces them. For namespaces of which nothing else is
    /// given to [`on_addresses`](Connections::on_addresses).
    pub addresses: Vec<IpAddr>,
    /// So many connections at once find out how many subflows a peer takes.
    pub probes: usize,
}

/// Between which addresses subflows are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All between the first subflow's addresses, with different ports.
    SamePair,
    /// Each between another pair of this host's addresses and the peer's.
    Addresses,
}

/// What distinguishes a subflow from others: local and remote address and port.
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
    /// Has the kernel been notified to suppress all subflows but one?
    pub suppressed: bool,
    /// Has it carried enough for joins?
    pub bulk: bool,
    /// Did the last look at all sockets not find it?
    absent: bool,
    /// Why its first subflow is Reno, if it is. Then it stays single-path.
    pub uncoupled: Option<Uncoupled>,
    /// The peer's further addresses.
    announced: Vec<(u8, SocketAddr)>,
    /// This host's further addresses, as announced to the peer.
    announced_here: Vec<(IpAddr, u8)>,
    /// Joins that the kernel is at.
    pending: Vec<(IpAddr, SocketAddr)>,
    /// Subflows that may be rejected yet, and since when they stand.
    young: Vec<(Ends, u64)>,
    /// Joined as Reno, as the programs reported before the kernel did.
    early_uncoupled: Vec<Ends>,
    /// Subflows that were closed here, until the kernel reports that they have gone.
    closed: Vec<Ends>,
    /// Backups whatever the algorithm asks for.
    aside: Vec<Ends>,
    /// Subflows that the algorithm lets rest, one by one.
    resting: Vec<Ends>,
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
    /// Bytes that have left and that have come, as last looked up, and when that was.
    carried: Option<((u64, u64), u64)>,
    /// Does more come than leaves, and since when?
    receives: (bool, u64),
    /// How often the kernel has refused a flag since the last change, and when it is tried again.
    refusals: u32,
    flag_at: Option<u64>,
    past: Past,
}

/// Why a subflow is Reno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncoupled {
    /// It has no ECN, neither asked for in its SYN nor granted, or lost on the way.
    NoEcn,
    /// The programs had no room for it.
    NoRoom,
}

/// Commands for one connection, to be sent at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Which namespace's kernel.
    pub namespace: usize,
    /// The commands.
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
    /// What was reported of connections before the kernel reported them.
    early: HashMap<Token, Early>,
    peers: Peers,
    /// What subflows of each namespace may have, and all that the namespace has.
    addresses: HashMap<usize, (Vec<Address>, Vec<IpAddr>)>,
    /// When to look at which connection again.
    deadlines: BTreeSet<(u64, Token)>,
}

#[derive(Clone, Copy, Debug)]
struct Early {
    at: u64,
    bulk: bool,
    uncoupled: Option<Uncoupled>,
}

impl Connections {
    /// None yet.
    pub fn new(joins: Joins, hysteresis: Hysteresis) -> Self {
        Self {
            peers: Peers::new(joins.probes),
            joins,
            hysteresis,
            addresses: HashMap::new(),
            all: HashMap::new(),
            early: HashMap::new(),
            deadlines: BTreeSet::new(),
        }
    }

    /// Its configuration of joins.
    pub fn joins(&self) -> &Joins {
        &self.joins
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

    /// The kernel reported something in one of the namespaces.
    pub fn on_event(&mut self, namespace: usize, event: &Event, now: u64, told: &mut Vec<Told>) {
        match *event {
            Event::Established {
                token,
                initial,
                server,
            } => {
                self.open(namespace, token, initial, server, now);
                let early = self.early.remove(&token);
                if let Some(why) = early.and_then(|early| early.uncoupled) {
                    self.on_uncoupled(token, initial.ends(), why, now, told);
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
                    let gone = connection.announced.iter().find(|(known, _)| *known == id);
                    // Subflows that end with it are not rejected.
                    if let Some(gone) = gone.map(|(_, address)| address.ip()) {
                        connection
                            .young
                            .retain(|(ends, _)| ends.1.ip().to_canonical() != gone);
                    }
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
            // Without its first subflow it is unknown who opened a connection; opening none is the safe guess.
            let server = !of[0].initial || of[0].server;
            // What is on its way is no subflow yet.
            let (of, pending): (Vec<_>, Vec<_>) = of.into_iter().partition(|seen| seen.established);
            if of.is_empty() {
                continue;
            }
            let joined = of.iter().filter(|seen| !seen.initial);
            let aside = joined.filter(|seen| self.is_backup(namespace, seen.subflow.local.ip()));
            let aside: Vec<Ends> = aside.map(|seen| seen.subflow.ends()).collect();
            let connection = self
                .all
                .entry(token)
                .or_insert_with(|| Connection::new(namespace, of[0].subflow, server, now));
            connection.aside.extend(aside);
            connection.subflows = of.iter().map(|seen| seen.subflow).collect();
            connection.pending = pending.iter().map(|seen| asked(&seen.subflow)).collect();
            let aside = |seen: &&Seen| connection.aside.contains(&seen.subflow.ends());
            connection.suppressed = of.iter().any(|seen| seen.subflow.backup && !aside(seen));
            if server && connection.announced_here.is_empty() {
                let joined = of.iter().filter(|seen| seen.subflow.local_id != 0);
                let ids = joined.map(|seen| (asked(&seen.subflow).0, seen.subflow.local_id));
                connection.announced_here = ids.collect();
                connection.announced_here.dedup();
            }
            // What the programs do where there is no ECN.
            if of.iter().all(|seen| seen.congestion == FALLBACK && !seen.ecn) {
                connection.uncoupled = Some(Uncoupled::NoEcn);
            }
            if let Some(keeper) = of.iter().find(|seen| !seen.subflow.backup) {
                connection.keeper = keeper.subflow.ends();
            }
            self.on_bytes(token, of.iter().map(|seen| seen.bytes).sum(), now, told);
        }
    }

    /// Forgets a namespace's connections: it is gone.
    pub fn forget_namespace(&mut self, namespace: usize) {
        self.all.retain(|_, connection| connection.namespace != namespace);
        self.addresses.remove(&namespace);
    }

    /// Forgets connections that are not among those seen in a namespace, this time and the time before, and joins that the
    /// kernel is no longer at. It sometimes reports that a connection is established after it has reported that it is closed.
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

    fn open(&mut self, namespace: usize, token: Token, initial: Subflow, server: bool, now: u64) {
        self.all
            .entry(token)
            .or_insert_with(|| Connection::new(namespace, initial, server, now));
    }

    /// Do programs report the connection? They report a subflow no longer that has got another congestion control, or that has
    /// ended. In the latter case looking at the connection is not needed, but does no harm.
    pub fn on_watched(&mut self, token: Token, watched: bool) {
        if let Some(connection) = self.all.get_mut(&token) {
            connection.watched = watched;
        }
    }

    /// Does what has become due.
    pub fn due(&mut self, now: u64, told: &mut Vec<Told>) {
        while let Some((at, token)) = self.deadlines.first().copied()
            && at <= now
        {
            self.deadlines.pop_first();
            self.obey(token, now, told);
            self.flag_again(token, now, told);
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
}

impl Early {
    fn at(now: u64) -> Self {
        Self {
            at: now,
            bulk: false,
            uncoupled: None,
        }
    }
}

/// What the programs make of a socket without ECN.
const FALLBACK: &str = "reno";
/// How long reports of a connection that the kernel has not reported are kept: it may live in another namespace.
const EARLY: u64 = 10_000_000_000;

#[cfg(test)]
mod tests;
