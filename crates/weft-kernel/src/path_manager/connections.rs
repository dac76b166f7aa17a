//! The state of every connection, and the commands that follow from it: joins, suppression, release. No sockets, no clock.
//!
//! Times are nanoseconds of any clock that only goes forward.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

mod addresses;
mod connection;
mod joins;
mod resync;
mod suppression;

pub use connection::Connection;

use super::hysteresis::Hysteresis;
use super::peers::Peers;
use super::{Address, Command, Event, Subflow, Token};

/// Parameters of additional subflows: when they are opened, how many, and between which addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinConfig {
    /// Maximum number of subflows of a connection, including the first.
    pub subflows: usize,
    /// Bytes sent and received after which additional subflows are opened; 0 opens them at once.
    pub min_bytes: u64,
    /// Address pairs of the subflows.
    pub policy: JoinPolicy,
    /// Additional addresses of this host: a client joins from them, a server announces them. They are used for namespaces without
    /// addresses from [`on_addresses`](Connections::on_addresses).
    pub addresses: Vec<IpAddr>,
    /// Maximum number of subflows of an accepted connection, including the first. A userspace path manager's kernel accepts
    /// every join (`mptcp_pm_allow_new_subflow`), so the surplus is closed here.
    pub max_accepted: usize,
    /// Whether subflows may go to announced ports other than the connection's.
    pub announced_ports: bool,
    /// Maximum number of connections that find out at one time how many subflows a peer accepts.
    pub max_probes: usize,
}

/// The address pairs between which subflows are opened, named as in the MPTCP literature and in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinPolicy {
    /// All subflows use the first subflow's addresses with different ports.
    Ndiffports,
    /// Each subflow uses another pair of this host's addresses and the peer's.
    Fullmesh,
}

/// Local and remote address and port, which identify a subflow.
pub type FourTuple = (SocketAddr, SocketAddr);

/// A suppression or release of which the kernel is notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// True for suppression, false for release.
    pub suppress: bool,
    /// Time at which the kernel should be notified.
    pub due: u64,
}

/// The reason why a subflow is Reno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UncoupledReason {
    /// The subflow has no ECN: it was not requested in the SYN, not granted, or removed on the path.
    NoEcn,
    /// The programs had no free slot for the subflow.
    NoSlot,
}

/// Commands for one connection, to be sent at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandBatch {
    /// Index of the namespace.
    pub namespace: usize,
    /// The commands.
    pub commands: Vec<Command>,
    /// The decision that the commands carry out, if they carry out one.
    pub suppression: Option<Decision>,
}

/// All connections.
#[derive(Debug)]
pub struct Connections {
    joins: JoinConfig,
    hysteresis: Hysteresis,
    all: HashMap<Token, Connection>,
    /// BPF events of connections that the kernel has not reported yet.
    pending_events: HashMap<Token, PendingEvents>,
    /// The times of the first such event of each connection, oldest first. Some of them are no longer pending.
    pending_since: VecDeque<(u64, Token)>,
    peers: Peers,
    /// Addresses of each namespace: those that subflows may have, and all.
    addresses: HashMap<usize, (Vec<Address>, Vec<IpAddr>)>,
    /// Number of connections that were not recorded because of [`MAX_CONNECTIONS`].
    omitted: u64,
    /// Times at which connections have to be handled.
    deadlines: BTreeSet<(u64, Token)>,
}

#[derive(Clone, Copy, Debug)]
struct PendingEvents {
    since: u64,
    bulk: bool,
    uncoupled: Option<UncoupledReason>,
}

impl Connections {
    /// Creates the state without connections.
    pub fn new(joins: JoinConfig, hysteresis: Hysteresis) -> Self {
        Self {
            peers: Peers::new(joins.max_probes),
            joins,
            hysteresis,
            addresses: HashMap::new(),
            all: HashMap::new(),
            pending_events: HashMap::new(),
            pending_since: VecDeque::new(),
            omitted: 0,
            deadlines: BTreeSet::new(),
        }
    }

    /// Returns the configuration of joins.
    pub fn joins(&self) -> &JoinConfig {
        &self.joins
    }

    /// Iterates over all connections.
    pub fn iter(&self) -> impl Iterator<Item = (Token, &Connection)> {
        self.all.iter().map(|(token, connection)| (*token, connection))
    }

    /// Returns the number of connections.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if no connection is known.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns a connection.
    pub fn get(&self, token: Token) -> Option<&Connection> {
        self.all.get(&token)
    }

    /// Returns the time at which [`on_deadlines`](Self::on_deadlines) is due.
    pub fn deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Returns the number of connections that were not recorded because there are too many.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Handles an event of the kernel in one of the namespaces. A token belongs to the namespace of its `Established`, so events
    /// of other namespaces are ignored.
    pub fn on_event(&mut self, namespace: usize, event: &Event, now: u64, batches: &mut Vec<CommandBatch>) {
        let is_elsewhere = |connection: &Connection| connection.namespace != namespace;
        if !matches!(event, Event::Established { .. })
            && self.all.get(&event.token()).is_some_and(is_elsewhere)
        {
            return;
        }
        match *event {
            Event::Established {
                token,
                initial,
                server,
            } => {
                self.open(namespace, token, initial, server, now);
                let early = self.pending_events.remove(&token);
                if let Some(why) = early.and_then(|early| early.uncoupled) {
                    self.on_uncoupled(token, initial.four_tuple(), why, now, batches);
                }
                self.announce(token, batches);
                if early.is_some_and(|early| early.bulk) || self.joins.min_bytes == 0 {
                    self.on_bulk(token, now, batches);
                }
            }
            Event::Closed { token } => {
                self.all.remove(&token);
                self.pending_events.remove(&token);
            }
            Event::Announced {
                token,
                id,
                address,
                port,
            } => {
                let announced_ports = self.joins.announced_ports;
                if let Some(connection) = self.all.get_mut(&token)
                    && connection.on_announced(id, address, port, announced_ports)
                {
                    self.join(token, now, batches);
                }
            }
            Event::Removed { token, id } => {
                if let Some(connection) = self.all.get_mut(&token) {
                    let gone = connection.announced.iter().find(|(known, _)| *known == id);
                    // Subflows that end with it are not rejected.
                    if let Some(gone) = gone.map(|(_, address)| address.ip()) {
                        connection
                            .joins
                            .on_probation
                            .retain(|(four_tuple, _)| four_tuple.1.ip().to_canonical() != gone);
                    }
                    connection.announced.retain(|(known, _)| *known != id);
                }
            }
            Event::SubflowEstablished { token, subflow } => self.on_joined(token, subflow, now, batches),
            Event::SubflowClosed { token, subflow } => self.on_left(token, &subflow, now),
        }
    }

    /// Maximum number of subflows of a connection.
    fn limit(&self, server: bool) -> usize {
        if server {
            self.joins.max_accepted
        } else {
            self.joins.subflows
        }
    }

    /// Records a connection, unless it is known. The kernel's tokens are unique on the machine, so that a connection of another
    /// namespace with this token has ended.
    fn open(&mut self, namespace: usize, token: Token, initial: Subflow, server: bool, now: u64) {
        let known = self.all.get(&token).map(|connection| connection.namespace);
        if known == Some(namespace) {
            return;
        }
        if known.is_none() && self.all.len() >= MAX_CONNECTIONS {
            self.omitted += 1;
            return;
        }
        self.all
            .insert(token, Connection::new(namespace, initial, server, now));
    }

    /// BPF events of a connection that the kernel has not reported yet.
    fn pending_events_of(&mut self, token: Token, now: u64) -> Option<&mut PendingEvents> {
        match self.pending_events.entry(token) {
            Entry::Occupied(pending) => Some(pending.into_mut()),
            Entry::Vacant(_) if self.pending_since.len() >= MAX_PENDING => None,
            Entry::Vacant(vacant) => {
                self.pending_since.push_back((now, token));
                Some(vacant.insert(PendingEvents::new(now)))
            }
        }
    }

    /// Records whether programs report the connection. Programs stop reporting a subflow that gets another congestion control or
    /// ends. If it has ended, polling the connection is unnecessary but harmless.
    pub fn set_has_bpf_events(&mut self, token: Token, has_bpf_events: bool) {
        if let Some(connection) = self.all.get_mut(&token) {
            connection.has_bpf_events = has_bpf_events;
        }
    }

    /// Handles all deadlines that have passed.
    pub fn on_deadlines(&mut self, now: u64, batches: &mut Vec<CommandBatch>) {
        while let Some((at, token)) = self.deadlines.first().copied()
            && at <= now
        {
            self.deadlines.pop_first();
            self.apply_request(token, now, batches);
            self.retry_flags(token, now, batches);
            self.retry_destroys(token, now, batches);
            self.learn_peer_limit(token, now);
            self.end_probation(token, now);
            if let Some(connection) = self.all.get_mut(&token)
                && connection.joins.retry_at.is_some_and(|at| at <= now)
            {
                connection.joins.retry_at = None;
                self.join(token, now, batches);
            }
        }
        while let Some((since, token)) = self.pending_since.front().copied()
            && since + MAX_PENDING_AGE <= now
        {
            self.pending_since.pop_front();
            // Another connection may have the token by now.
            if self
                .pending_events
                .get(&token)
                .is_some_and(|pending| pending.since == since)
            {
                self.pending_events.remove(&token);
            }
        }
    }
}

impl PendingEvents {
    fn new(now: u64) -> Self {
        Self {
            since: now,
            bulk: false,
            uncoupled: None,
        }
    }
}

/// Maximum age of BPF events of a connection that the kernel has not reported. It may belong to another namespace.
const MAX_PENDING_AGE: u64 = 10_000_000_000;
/// Maximum number of connections with BPF events that the kernel has not reported.
const MAX_PENDING: usize = 1 << 17;
/// Maximum number of recorded connections. At less than 1 KB each, they take less than half of the unit's `MemoryMax`.
pub const MAX_CONNECTIONS: usize = 1 << 18;

#[cfg(test)]
mod tests;
