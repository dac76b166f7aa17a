//! The commands for one connection, and between which addresses it lacks subflows.

use std::collections::HashSet;
use std::iter;
use std::net::{IpAddr, SocketAddr};

use super::super::hysteresis::SuppressionHistory;
use super::super::peers::Peer;
use super::super::{Address, Command, DiagSubflow, Subflow, Token};
use super::{CommandBatch, Decision, FourTuple, JoinConfig, JoinPolicy, UncoupledReason};

/// A join by what it was asked for with: its local port is the kernel's choice.
pub(super) fn requested_pair(subflow: &Subflow) -> (IpAddr, SocketAddr) {
    (subflow.local.ip().to_canonical(), canonical(subflow.remote))
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// A connection.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Clone, Debug)]
pub struct Connection {
    /// Index of the connection's namespace.
    pub namespace: usize,
    /// Whether the connection was accepted by this host.
    pub server: bool,
    /// Subflows of the connection, the oldest first.
    pub subflows: Vec<Subflow>,
    /// Local address, and remote address and port, of the initial subflow, which may have closed.
    pub(super) initial_pair: (IpAddr, SocketAddr),
    /// Time at which the last subflow closed, if none is left.
    pub(super) lost_at: Option<u64>,
    /// Whether the connection has carried enough bytes for joins.
    pub bulk: bool,
    /// True if BPF programs report the bytes of the connection, so that it need not be polled.
    pub has_bpf_events: bool,
    /// True if the last scan of all sockets did not find the connection.
    pub(super) missed_once: bool,
    /// The reason why the first subflow is Reno, if it is. The connection then stays single-path.
    pub uncoupled: Option<UncoupledReason>,
    /// Additional addresses of the peer.
    pub(super) announced: Vec<(u8, SocketAddr)>,
    /// Additional addresses of this host, as announced to the peer.
    pub(super) announced_here: Vec<(IpAddr, u8)>,
    pub(super) joins: Joins,
    pub(super) suppression: Suppression,
    pub(super) flags: FlagRetry,
    pub(super) destroys: Destroys,
    pub(super) traffic: Traffic,
}

/// Joins of a connection: those on their way, those that may still fail, and the time of the next try.
#[derive(Clone, Debug, Default)]
pub(super) struct Joins {
    /// Joins that the kernel has not finished.
    pub pending: Vec<(IpAddr, SocketAddr)>,
    /// Subflows that the peer may still reject, and the times at which they were established.
    pub on_probation: Vec<(FourTuple, u64)>,
    /// Subflows of which the programs reported that they are Reno before the kernel reported their join.
    pub early_uncoupled: Vec<(FourTuple, UncoupledReason)>,
    /// Time of a rejected join; the whole connection may be closing.
    pub rejected_at: Option<u64>,
    /// Time of the last requested join.
    pub requested_at: u64,
    /// Joins that failed in a row.
    pub failures: u32,
    /// Time before which no join is requested.
    pub retry_at: Option<u64>,
    /// True if the connection was opened under another path manager, so that the kernel refuses joins.
    pub unmanaged: bool,
    /// Pairs of subflows that were closed because they failed, until others between them have lasted. The peer takes joins between
    /// them, unlike perhaps between others.
    pub failed: Vec<(IpAddr, SocketAddr)>,
    /// Pairs with an address of the peer at which perhaps nothing listens: a join to it was rejected, and none has succeeded.
    pub rejected: Vec<(IpAddr, SocketAddr)>,
    /// Pairs between which the kernel cannot open a subflow, with addresses that the peer chose.
    pub invalid: Vec<(IpAddr, SocketAddr)>,
}

/// The subflows that are out of use, and the requests of the algorithm that lead to it.
#[derive(Clone, Debug)]
pub(super) struct Suppression {
    /// Whether the kernel has been notified to suppress all subflows but one.
    pub active: bool,
    /// The subflow that suppression leaves active.
    pub kept_subflow: FourTuple,
    /// The request of the algorithm.
    pub requested: Request,
    /// Subflows that the algorithm has deactivated one by one.
    pub inactive: Vec<FourTuple>,
    /// Subflows that stay backups whatever the algorithm requests.
    pub forced_backups: Vec<FourTuple>,
    pub history: SuppressionHistory,
}

/// A request of the algorithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// True for suppression, false for release.
    pub suppress: bool,
    /// Time of the first such request without another one in between.
    pub since: u64,
}

/// Commands for flags that the kernel has refused.
#[derive(Clone, Debug, Default)]
pub(super) struct FlagRetry {
    /// Number of refusals since the last change.
    pub refusals: u32,
    /// Time of the next try.
    pub retry_at: Option<u64>,
}

/// Subflows that are closed here.
#[derive(Clone, Debug, Default)]
pub(super) struct Destroys {
    /// Subflows that were closed, until the kernel reports that they have gone.
    pub closed: HashSet<FourTuple>,
    /// Subflows that the kernel has refused to destroy.
    pub refused: HashSet<FourTuple>,
    /// Number of refusals in a row.
    pub refusals: u32,
    /// Time of the next try.
    pub retry_at: Option<u64>,
}

/// The direction in which a connection carries most bytes.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    /// Bytes sent and received, as last read.
    pub sample: Option<TrafficSample>,
    /// Whether the connection receives more than it sends.
    pub net_receiver: Since<bool>,
}

/// Least time over which traffic is compared before a connection becomes a net receiver: 100 ms.
const SENDER_WINDOW: u64 = 100_000_000;
/// Least time over which it is compared before a net receiver no longer is one: 500 ms, so that a pause of the peer, such as a
/// retransmission timeout, does not make a sender of it.
const RECEIVER_WINDOW: u64 = 500_000_000;

impl Traffic {
    /// Whether the last sample is too recent for another one to say anything.
    pub(super) fn is_recent(&self, now: u64) -> bool {
        let window = if self.net_receiver.value {
            RECEIVER_WINDOW
        } else {
            SENDER_WINDOW
        };
        self.sample.is_some_and(|sample| now < sample.at + window)
    }
}

/// A value and the time from which it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since<T> {
    pub value: T,
    pub since: u64,
}

/// Bytes of a connection at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TrafficSample {
    pub sent: u64,
    pub received: u64,
    pub at: u64,
}

impl Connection {
    pub(super) fn new(namespace: usize, initial: Subflow, server: bool, now: u64) -> Self {
        Self {
            namespace,
            server,
            subflows: vec![initial],
            initial_pair: requested_pair(&initial),
            lost_at: None,
            bulk: false,
            has_bpf_events: false,
            missed_once: false,
            uncoupled: None,
            announced: Vec::new(),
            announced_here: Vec::new(),
            joins: Joins::default(),
            suppression: Suppression {
                active: false,
                kept_subflow: initial.four_tuple(),
                requested: Request {
                    suppress: false,
                    since: now,
                },
                inactive: Vec::new(),
                forced_backups: Vec::new(),
                history: SuppressionHistory::default(),
            },
            flags: FlagRetry::default(),
            destroys: Destroys::default(),
            traffic: Traffic {
                sample: None,
                net_receiver: Since {
                    value: false,
                    since: now,
                },
            },
        }
    }

    /// Returns true if the kernel has been notified to suppress all subflows but one.
    pub fn is_suppressed(&self) -> bool {
        self.suppression.active
    }

    /// Records an address that the peer announced, if subflows may go to it. A peer must not choose hosts that this one attacks
    /// or its own services, so only unicast addresses and, unless `any_port`, only the connection's port are accepted.
    pub(super) fn on_announced(&mut self, id: u8, address: IpAddr, port: u16, any_port: bool) -> bool {
        let (_, own) = self.initial_pair;
        let port = if port == 0 { own.port() } else { port };
        // An IPv4 address within IPv6 is judged, and joined to, as what it is.
        let address = address.to_canonical();
        let is_loopback = address.is_loopback() && !own.ip().is_loopback();
        let is_broadcast = matches!(address, IpAddr::V4(ip) if ip.is_broadcast() || ip.is_link_local());
        let is_link_local = matches!(address, IpAddr::V6(ip) if ip.is_unicast_link_local());
        if is_loopback
            || is_broadcast
            || is_link_local
            || address.is_multicast()
            || address.is_unspecified()
            || (port != own.port() && !any_port)
        {
            return false;
        }
        self.announced.retain(|(known, _)| *known != id);
        if self.announced.len() >= MAX_ANNOUNCED {
            return false;
        }
        self.announced.push((id, SocketAddr::new(address, port)));
        true
    }

    /// Who is at the other end.
    pub(super) fn peer(&self) -> Peer {
        let (_, remote) = self.initial_pair;
        (self.namespace, remote.ip())
    }

    /// Records that the peer rejected a join between a pair of addresses. Returns true if the cause may be the peer's address, at
    /// which no subflow has ever been, rather than the number of subflows.
    pub(super) fn reject_address(&mut self, pair: (IpAddr, SocketAddr)) -> bool {
        let proven = pair.1 == self.initial_pair.1
            || self
                .subflows
                .iter()
                .any(|subflow| requested_pair(subflow).1 == pair.1)
            || self.joins.failed.iter().any(|(_, remote)| *remote == pair.1);
        if proven || self.joins.rejected.contains(&pair) || self.joins.rejected.len() >= MAX_REJECTED {
            return false;
        }
        self.joins.rejected.push(pair);
        true
    }

    pub(super) fn may_join(&self) -> bool {
        let wants_more = self.bulk && self.uncoupled.is_none();
        !self.server && (wants_more || self.lost_at.is_some()) && !self.joins.unmanaged
    }

    /// Records that the last subflow has closed. Unless the connection itself closes, it waits for a new subflow ("break
    /// before make", RFC 8684, section 3.3.3), and everything that belonged to subflows has ended.
    pub(super) fn lose_all(&mut self, now: u64) {
        self.lost_at = Some(now);
        self.joins.on_probation.clear();
        self.joins.rejected_at = None;
        self.joins.failures = 0;
        self.suppression.active = false;
        self.suppression.requested = Request {
            suppress: false,
            since: now,
        };
        self.suppression.inactive.clear();
        self.suppression.forced_backups.clear();
    }

    /// Records that a subflow has opened, which may be the first after [`lose_all`](Self::lose_all).
    pub(super) fn add_subflow(&mut self, subflow: Subflow) {
        if self.lost_at.take().is_some() {
            self.suppression.kept_subflow = subflow.four_tuple();
        }
        self.subflows.push(subflow);
    }

    /// Returns true if the connection has no subflow, but the kernel keeps it until it has one again.
    pub(super) fn waits_for_subflow(&self, now: u64) -> bool {
        self.lost_at.is_some_and(|at| now < at + CLOSE_TIMEOUT)
    }

    /// Removes a join that has succeeded or failed. Returns whether it was requested.
    pub(super) fn take_pending(&mut self, pair: (IpAddr, SocketAddr)) -> bool {
        let found = self.joins.pending.iter().position(|pending| *pending == pair);
        if let Some(i) = found {
            self.joins.pending.remove(i);
        }
        found.is_some()
    }

    /// Closes a subflow, and drops it before the kernel reports that it has closed.
    pub(super) fn destroy_subflow(&mut self, token: Token, subflow: FourTuple) -> Option<CommandBatch> {
        self.joins.on_probation.retain(|(other, _)| *other != subflow);
        let known = self
            .subflows
            .iter()
            .position(|other| other.four_tuple() == subflow)?;
        let closed = self.subflows.remove(known);
        self.destroys.closed.insert(subflow);
        if self.suppression.kept_subflow == subflow
            && let Some(oldest) = self.subflows.first()
        {
            self.suppression.kept_subflow = oldest.four_tuple();
        }
        Some(CommandBatch {
            namespace: self.namespace,
            commands: vec![Command::DestroySubflow {
                token,
                local: closed.local,
                remote: closed.remote,
            }],
            suppression: None,
        })
    }

    /// Closes a subflow that the connection does not take.
    pub(super) fn reject_subflow(&mut self, token: Token, subflow: &Subflow) -> CommandBatch {
        self.destroys.closed.insert(subflow.four_tuple());
        CommandBatch {
            namespace: self.namespace,
            commands: vec![Command::DestroySubflow {
                token,
                local: subflow.local,
                remote: subflow.remote,
            }],
            suppression: None,
        }
    }

    /// Divides subflows that were scanned into those that the connection takes, at most `limit`, and the surplus. Known subflows
    /// come before those that the peer has opened since.
    pub(super) fn split<'a>(
        &self,
        mut subflows: Vec<&'a DiagSubflow>,
        limit: usize,
    ) -> (Vec<&'a DiagSubflow>, Vec<&'a DiagSubflow>) {
        let known: HashSet<FourTuple> = self.subflows.iter().map(Subflow::four_tuple).collect();
        subflows.sort_by_key(|subflow| (!subflow.initial, !known.contains(&subflow.subflow.four_tuple())));
        let surplus = subflows.split_off(limit.min(subflows.len()));
        (subflows, surplus)
    }

    /// Returns true if a scan shows a subflow that the kernel should have closed.
    pub(super) fn is_still_there(&self, subflow: &DiagSubflow) -> bool {
        let four_tuple = subflow.subflow.four_tuple();
        subflow.established
            && self.destroys.closed.contains(&four_tuple)
            && !self.destroys.refused.contains(&four_tuple)
    }

    /// Makes a subflow a backup, independently of the algorithm's requests.
    pub(super) fn force_backup(&mut self, token: Token, subflow: FourTuple) -> Option<CommandBatch> {
        let known = self
            .subflows
            .iter_mut()
            .find(|other| other.four_tuple() == subflow)?;
        if known.backup {
            return None;
        }
        known.backup = true;
        self.suppression.forced_backups.push(subflow);
        Some(CommandBatch {
            namespace: self.namespace,
            commands: vec![Command::SetBackup {
                token,
                local: known.local,
                remote: known.remote,
                backup: true,
            }],
            suppression: None,
        })
    }

    /// Whether the kernel has been notified of all that follows from the request.
    pub(super) fn kernel_in_sync(&self, suppress: bool) -> bool {
        if self.suppression.active && suppress {
            return self
                .subflows
                .iter()
                .all(|s| s.backup != (s.four_tuple() == self.suppression.kept_subflow));
        }
        suppress == self.suppression.active || (suppress && self.subflows.len() < 2)
    }

    /// Flags all subflows but the keeper, which carries on.
    pub(super) fn suppress_commands(&mut self, token: Token, suppress: bool, due: u64) -> CommandBatch {
        if self.suppression.active != suppress {
            self.flags.refusals = 0;
        }
        self.suppression.active = suppress;
        CommandBatch {
            namespace: self.namespace,
            commands: self.flag_commands(token),
            suppression: Some(Decision { suppress, due }),
        }
    }

    /// Flags what has another flag than it should have.
    pub(super) fn flag_commands(&mut self, token: Token) -> Vec<Command> {
        let mut commands = Vec::new();
        // A backup subflow receives nothing, so a net receiver keeps its subflows active.
        let may_deactivate = !self.traffic.net_receiver.value;
        for subflow in &mut self.subflows {
            let four_tuple = subflow.four_tuple();
            let backup = (self.suppression.active && four_tuple != self.suppression.kept_subflow)
                || self.suppression.forced_backups.contains(&four_tuple)
                || (may_deactivate && self.suppression.inactive.contains(&four_tuple));
            if subflow.backup != backup {
                subflow.backup = backup;
                commands.push(Command::SetBackup {
                    token,
                    local: subflow.local,
                    remote: subflow.remote,
                    backup,
                });
            }
        }
        // First the one that carries on, so that there always is one.
        commands.sort_by_key(|command| matches!(command, Command::SetBackup { backup: true, .. }));
        commands
    }

    /// Address pairs between which subflows are missing.
    pub(super) fn missing_pairs(
        &self,
        joins: &JoinConfig,
        addresses: &[Address],
    ) -> Vec<(IpAddr, SocketAddr)> {
        let taken = self.subflows.len() + self.joins.pending.len();
        let wanted = if self.bulk && self.uncoupled.is_none() {
            joins.subflows
        } else {
            1
        };
        let count = wanted.saturating_sub(taken);
        let initial = self.initial_pair;
        match joins.policy {
            JoinPolicy::Ndiffports => vec![initial; count],
            JoinPolicy::Fullmesh => {
                let from = addresses.iter().filter(|address| address.joins);
                let locals = with_first(initial.0, from.map(|address| address.ip));
                let remotes = with_first(initial.1, self.announced.iter().map(|(_, remote)| *remote));
                // Diagonals first: pairs that share no address with one another.
                let diagonal = |d: usize| {
                    locals
                        .iter()
                        .copied()
                        .zip(remotes.iter().copied().cycle().skip(d))
                };
                let missing = (0..remotes.len())
                    .flat_map(diagonal)
                    .filter(|(local, remote)| local.is_ipv4() == remote.is_ipv4())
                    .filter(|pair| {
                        let there = self
                            .subflows
                            .iter()
                            .any(|subflow| requested_pair(subflow) == *pair);
                        !there && !self.joins.pending.contains(pair) && !self.joins.invalid.contains(pair)
                    });
                let mut pairs: Vec<_> = missing.collect();
                pairs.sort_by_key(|pair| {
                    let is_rejected = self.joins.rejected.iter().any(|(_, remote)| *remote == pair.1);
                    (is_rejected, !self.joins.failed.contains(pair))
                });
                pairs.truncate(count);
                pairs
            }
        }
    }

    /// The identifier of each local address: the kernel refuses a second one for the same address.
    pub(super) fn local_ids(&self, addresses: &[Address]) -> Vec<(IpAddr, u8)> {
        let known = self.subflows.iter().skip(1).filter(|s| s.local_id != 0);
        let known = known.map(|s| (requested_pair(s).0, s.local_id));
        let mut ids: Vec<(IpAddr, u8)> = known.chain(self.announced_here.iter().copied()).collect();
        let (initial, _) = self.initial_pair;
        for local in iter::once(initial).chain(addresses.iter().map(|address| address.ip)) {
            if ids.iter().all(|(known, _)| *known != local) {
                let free = (1..=u8::MAX).find(|id| ids.iter().all(|(_, taken)| taken != id));
                ids.push((local, free.unwrap_or(u8::MAX)));
            }
        }
        ids
    }
}

/// Time for which the kernel keeps a connection without subflows: the default of `net.mptcp.close_timeout`.
const CLOSE_TIMEOUT: u64 = 60_000_000_000;
/// Addresses that a peer may announce; the kernel's own path manager accepts as many.
const MAX_ANNOUNCED: usize = 8;
/// Pairs between which joins were rejected.
const MAX_REJECTED: usize = 64;

fn with_first<T: PartialEq + Copy>(first: T, others: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = vec![first];
    for other in others {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}
