//! The path manager of an experiment, on a thread of its own: loads the programs, opens subflows, and informs the kernel which are
//! suppressed, as the daemon does.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Poll, Token};
use nix::time::{ClockId, clock_gettime};
use weft_run::Error;
use weft_run::Plan;

use super::algorithms;
use super::layout::{self, AddressPlan};
use super::network::Network;
use super::{ends, port};
use weft_kernel::events::EventKind;
use weft_kernel::path_manager::{
    Command, CommandBatch, Commands, Connections, Decision, Event, Events, Hysteresis, JoinConfig,
    JoinPolicy, Namespace, Refusal, open,
};
use weft_kernel::programs::Programs;

/// A time in which the kernel did not use all subflows of a connection. Nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// The connection.
    pub token: u32,
    /// Time at which the kernel was notified of the suppression.
    pub start: u64,
    /// Time at which the kernel was notified of the release.
    pub end: Option<u64>,
}

/// The report of the thread.
#[derive(Debug, Default)]
pub struct Report {
    /// Episodes in the order of their start.
    pub episodes: Vec<Episode>,
    /// From each decision to the kernel's answer, in us.
    pub notify_latency_us: Vec<f64>,
    /// Number of commands that the kernel refused.
    pub refused: u64,
    /// Subflows that fell back to Reno because the other end had no ECN or no slot was free.
    pub uncoupled: u64,
}

/// State that the thread shares with the traffic driver.
#[derive(Debug, Default)]
pub struct Shared {
    /// Set when the experiment is over.
    pub finished: AtomicBool,
    suppressed: Mutex<HashSet<u32>>,
}

impl Shared {
    /// Returns whether subflow `subflow` of a connection may carry new data, which the first one always may.
    pub fn active(&self, token: u32, subflow: u32) -> bool {
        let suppressed = self.suppressed.lock().unwrap_or_else(PoisonError::into_inner);
        subflow == 0 || !suppressed.contains(&token)
    }
}

/// A host's connections by one multipath transport to receivers on as many paths.
struct Group {
    connections: Connections,
    /// Whether additional subflows are opened as soon as the receiver's addresses are known.
    join_immediately: bool,
    host: usize,
    port: u16,
    addresses: Vec<IpAddr>,
}

struct Host {
    commands: Commands,
    events: Events,
    /// Receivers by each of their addresses.
    receivers: BTreeMap<SocketAddr, ReceiverAddresses>,
}

struct ReceiverAddresses {
    /// Addresses of the receiver on the other paths.
    other_paths: Vec<SocketAddr>,
    /// Index of the group that manages connections to this receiver.
    group: usize,
}

struct Manager<'a> {
    hosts: Vec<Host>,
    groups: Vec<Group>,
    group_of_token: HashMap<u32, usize>,
    early: HashSet<u32>,
    shared: &'a Shared,
    report: Report,
}

/// Manages paths until `shared.over`. `ready` receives a message when the programs are registered, or the error.
pub fn manage(
    plan: &Plan,
    layout: &AddressPlan,
    network: &Network,
    shared: &Shared,
    ready: &Sender<Result<(), Error>>,
) -> Report {
    let started = algorithms::load(plan).and_then(|programs| {
        let manager = Manager::new(plan, layout, network, shared)
            .map_err(|error| Error::MissingRequirement(format!("MPTCP's path manager: {error}")))?;
        Ok((programs, manager))
    });
    match started {
        Ok((programs, mut manager)) => {
            let _ = ready.send(Ok(()));
            if let Some(programs) = programs
                && let Err(error) = manager.serve(&programs)
            {
                // The traffic goes on without; the experiment is then not what was asked for.
                let _ = ready.send(Err(Error::Internal(format!("the path manager: {error}"))));
            }
            manager.report
        }
        Err(error) => {
            let _ = ready.send(Err(error));
            Report::default()
        }
    }
}

impl<'a> Manager<'a> {
    fn new(plan: &Plan, layout: &AddressPlan, network: &Network, shared: &'a Shared) -> io::Result<Self> {
        let (mut hosts, mut groups, mut host_of_node) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (from, to, index) in ends(plan) {
            let transport = plan.transports[index as usize].expect_tcp();
            if transport.subflows < 2 {
                continue;
            }
            let [from, to] = [from, to].map(|host| plan.fabric.hosts[host as usize]);
            let host = if let Some(&host) = host_of_node.get(&from) {
                host
            } else {
                let (commands, events) = open(&Namespace::named(network.path(from)))?;
                hosts.push(Host {
                    commands,
                    events,
                    receivers: BTreeMap::new(),
                });
                *host_of_node.entry(from).or_insert(hosts.len() - 1)
            };
            let paths = layout::path_count(&plan.fabric, from, to);
            let pairs: Vec<_> = (0..paths)
                .filter_map(|number| layout.pair(&plan.fabric, from, to, number))
                .collect();
            let port = port(index);
            let addresses: Vec<_> = pairs.iter().map(|pair| IpAddr::from(pair.from)).collect();
            let known = groups.iter().position(|group: &Group| {
                (group.host, group.port, &group.addresses) == (host, port, &addresses)
            });
            let group = known.unwrap_or(groups.len());
            if known.is_none() {
                let joins = JoinConfig {
                    subflows: transport.subflows as usize,
                    // Never 0, with which the first join would not wait for the receiver's other addresses.
                    min_bytes: transport.join_after.0.max(1),
                    policy: if pairs.len() > 1 {
                        JoinPolicy::Fullmesh
                    } else {
                        JoinPolicy::Ndiffports
                    },
                    addresses: addresses.clone(),
                    max_probes: usize::MAX,
                    max_accepted: usize::MAX,
                    announced_ports: true,
                };
                groups.push(Group {
                    connections: Connections::new(joins, HYSTERESIS),
                    join_immediately: transport.join_after.0 == 0,
                    host,
                    port,
                    addresses,
                });
            }
            for pair in &pairs {
                let other_paths = pairs.iter().filter(|other| other.to != pair.to);
                let other_paths = other_paths
                    .map(|other| SocketAddr::from((other.to, port)))
                    .collect();
                hosts[host].receivers.insert(
                    SocketAddr::from((pair.to, port)),
                    ReceiverAddresses { other_paths, group },
                );
            }
        }
        Ok(Self {
            hosts,
            groups,
            group_of_token: HashMap::new(),
            early: HashSet::new(),
            shared,
            report: Report::default(),
        })
    }

    fn serve(&mut self, programs: &Programs) -> io::Result<()> {
        let bpf_events = programs.events().map_err(io::Error::other)?;
        let mut poll = Poll::new()?;
        let descriptors: Vec<RawFd> = std::iter::once(bpf_events.raw_fd())
            .chain(self.hosts.iter().map(|host| host.events.as_fd().as_raw_fd()))
            .collect();
        for (i, descriptor) in descriptors.iter().enumerate() {
            poll.registry()
                .register(&mut SourceFd(descriptor), Token(i), Interest::READABLE)?;
        }
        let mut events = mio::Events::with_capacity(64);
        while !self.shared.finished.load(Ordering::Relaxed) {
            let deadline = self
                .groups
                .iter()
                .filter_map(|group| group.connections.deadline())
                .min();
            let wait = deadline.map_or(STOP_CHECK_INTERVAL, |at| {
                Duration::from_nanos(at.saturating_sub(now())).min(STOP_CHECK_INTERVAL)
            });
            match poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            // First the kernel's, so that the programs' find their connection.
            self.handle_pm_events()?;
            for event in bpf_events.read().map_err(io::Error::other)? {
                self.handle_bpf_event(&event);
            }
            for group in 0..self.groups.len() {
                let mut batches = Vec::new();
                self.groups[group].connections.on_deadlines(now(), &mut batches);
                self.send_commands(group, batches);
            }
        }
        let totals = programs.totals().map_err(io::Error::other)?;
        self.report.uncoupled = totals.without_ecn + totals.without_slot;
        Ok(())
    }

    fn handle_pm_events(&mut self) -> io::Result<()> {
        for host in 0..self.hosts.len() {
            let mut received = Vec::new();
            self.hosts[host].events.receive(|event| received.push(event))?;
            for event in received {
                self.handle_pm_event(host, &event);
            }
        }
        Ok(())
    }

    fn handle_pm_event(&mut self, host: usize, event: &Event) {
        let (token, opened) = match event {
            Event::Established { token, initial, .. } => (*token, Some(*initial)),
            Event::Closed { token }
            | Event::Announced { token, .. }
            | Event::Removed { token, .. }
            | Event::SubflowEstablished { token, .. }
            | Event::SubflowClosed { token, .. } => (*token, None),
        };
        if let Some(initial) = opened
            && let Some(receiver) = self.hosts[host].receivers.get(&initial.remote)
        {
            self.group_of_token.insert(token, receiver.group);
        }
        let Some(&group) = self.group_of_token.get(&token) else {
            return;
        };
        let mut batches = Vec::new();
        let Group {
            connections,
            join_immediately,
            ..
        } = &mut self.groups[group];
        connections.on_event(0, event, now(), &mut batches);
        if let Some(initial) = opened {
            // The receiver's other addresses are known without its announcing them.
            let receiver = self.hosts[host].receivers.get(&initial.remote);
            let other_paths = receiver
                .map(|receiver| receiver.other_paths.clone())
                .unwrap_or_default();
            for (id, other) in (1..).zip(other_paths) {
                let announced = Event::Announced {
                    token,
                    id,
                    address: other.ip(),
                    port: other.port(),
                };
                connections.on_event(0, &announced, now(), &mut batches);
            }
            if self.early.remove(&token) || *join_immediately {
                connections.on_bulk(token, now(), &mut batches);
            }
        }
        if matches!(event, Event::Closed { .. }) {
            self.group_of_token.remove(&token);
            self.released(token);
        }
        self.send_commands(group, batches);
    }

    fn handle_bpf_event(&mut self, event: &weft_kernel::events::Event) {
        let Some(&group) = self.group_of_token.get(&event.token) else {
            if event.kind == EventKind::BulkThreshold {
                self.early.insert(event.token);
            }
            return;
        };
        let mut batches = Vec::new();
        let connections = &mut self.groups[group].connections;
        let four_tuple = (event.local, event.remote);
        match event.kind {
            EventKind::Suppress | EventKind::Release => {
                let suppress = event.kind == EventKind::Suppress;
                connections.on_request(event.token, four_tuple, suppress, event.ktime_ns);
                connections.apply_requests([event.token], now(), &mut batches);
            }
            EventKind::Deactivate | EventKind::Activate => {
                connections.on_active_changed(
                    event.token,
                    four_tuple,
                    event.kind == EventKind::Activate,
                    &mut batches,
                );
            }
            EventKind::BulkThreshold => connections.on_bulk(event.token, event.ktime_ns, &mut batches),
            EventKind::Joined | EventKind::Left => {
                connections.set_has_bpf_events(event.token, event.kind == EventKind::Joined);
            }
            // Every host of the testbed has ECN. An experiment says which paths there are, and Linux alone decides what a failed one
            // costs.
            EventKind::NoEcn | EventKind::NoSlot | EventKind::Failed => {}
        }
        self.send_commands(group, batches);
    }

    /// Sends commands, and writes down suppression and release.
    fn send_commands(&mut self, group: usize, batches: Vec<CommandBatch>) {
        for CommandBatch {
            commands,
            suppression,
            ..
        } in batches
        {
            let host = &self.hosts[self.groups[group].host];
            match host.commands.send(&commands) {
                // The connection may be closing just now, or the kernel does not find a subflow yet whose join it has reported.
                Ok(refusals) => {
                    self.report.refused += refusals.len() as u64;
                    for Refusal { command, .. } in refusals {
                        if let Command::SetBackup {
                            token,
                            local,
                            remote,
                            backup,
                        } = command
                        {
                            let connections = &mut self.groups[group].connections;
                            connections.on_flag_refused(token, (local, remote), backup, now());
                        }
                    }
                }
                Err(_) => self.report.refused += commands.len() as u64,
            }
            let after = now();
            let Some(Decision { suppress, due }) = suppression else {
                continue;
            };
            let Some(token) = commands.first().map(token_of) else {
                continue;
            };
            self.report
                .notify_latency_us
                .push(after.saturating_sub(due) as f64 * 1e-3);
            if suppress {
                self.report.episodes.push(Episode {
                    token,
                    start: after,
                    end: None,
                });
                self.shared
                    .suppressed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(token);
            } else {
                self.released(token);
            }
        }
    }

    fn released(&mut self, token: u32) {
        let episodes = self.report.episodes.iter_mut().rev();
        if let Some(episode) = episodes.into_iter().find(|episode| episode.token == token)
            && episode.end.is_none()
        {
            episode.end = Some(now());
        }
        self.shared
            .suppressed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&token);
    }
}

fn token_of(command: &Command) -> u32 {
    match *command {
        Command::CreateSubflow { token, .. }
        | Command::SetBackup { token, .. }
        | Command::DestroySubflow { token, .. }
        | Command::Announce { token, .. }
        | Command::RemoveAddress { token, .. } => token,
    }
}

/// Nanoseconds of the clock that the programs use too.
pub fn now() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// No hysteresis: suppression and release follow the algorithm at once, as in the paper.
const HYSTERESIS: Hysteresis = Hysteresis {
    release_after: 0,
    min_cycle: 0,
};
/// Interval at which the end of the experiment is checked.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
