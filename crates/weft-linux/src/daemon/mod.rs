//! The daemon: one loop around what the kernel and the programs tell.
//!
//! It waits for the ring of the programs' events, the kernel's path-manager events, signals and callers of `weftd status`,
//! and sleeps otherwise. All decisions are [`Connections`]'s.

mod lock;
mod served;
pub mod settings;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Poll, Token};
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::time::{ClockId, clock_gettime};
use sd_notify::NotifyState;
use tracing::{debug, info, warn};

use crate::Failure;
use crate::config::Config;
use crate::events::{Events, Kind};
use crate::metrics::{self, Metrics};
use crate::path_manager::{Command, Connections, Refusal, Told};
use crate::programs::{ConnectionStats, Programs};
use crate::status::{self, Status};

pub use lock::Lock;
use served::Served;
use settings::Settings;

/// Where the daemon keeps its lock, its socket and what settings were; systemd says it in `RUNTIME_DIRECTORY`.
pub fn folder() -> PathBuf {
    std::env::var_os("RUNTIME_DIRECTORY").map_or_else(|| PathBuf::from("/run/weft"), PathBuf::from)
}

/// Where `weftd status` asks.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("status")
}

/// Where settings are remembered.
pub fn settings_file(folder: &Path) -> PathBuf {
    folder.join("settings.json")
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// Another runs, the kernel or the caller's privileges lack something, or the kernel fails.
pub fn run(config: &Config) -> Result<(), Failure> {
    // Before any thread begins, so that none of them takes a signal.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    let failed = |errno: Errno| Failure::Failed(format!("signals: {errno}"));
    signals.thread_block().map_err(failed)?;
    let signals =
        SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(failed)?;

    let folder = folder();
    let lock = Lock::take(&folder)?;
    let mut daemon = Daemon::start(config, &folder, lock)?;
    notify(&[NotifyState::Ready]);
    let stopped = daemon.serve(&signals);
    notify(&[NotifyState::Stopping]);
    daemon.stop(&folder);
    stopped
}

struct Daemon {
    programs: Programs,
    ring: Events,
    served: Vec<Served>,
    connections: Connections,
    settings: Settings,
    metrics: Metrics,
    listener: UnixListener,
    algorithms: Vec<String>,
    started: u64,
    /// When gauges are renewed next.
    tick: u64,
    /// When connections that nobody watches are looked at next.
    look: u64,
    /// When connections that are gone are looked for next.
    sweep: u64,
    _lock: Lock,
}

impl Daemon {
    fn start(config: &Config, folder: &Path, lock: Lock) -> Result<Self, Failure> {
        let mut settings =
            Settings::open(&settings_file(folder)).map_err(Failure::about("settings of the last run"))?;
        if settings.left_over() {
            warn!("the last weftd was killed; settings it changed will be put back when this one stops");
        }
        let programs = crate::attach::load(config)?;
        let ring = programs.events().map_err(Failure::about("events"))?;
        let served = config
            .namespaces()
            .into_iter()
            .map(Served::open)
            .collect::<Result<Vec<_>, _>>()?;
        let listener = status::listen(&socket(folder)).map_err(Failure::about(socket(folder).display()))?;
        let (metrics, registry) = Metrics::new();
        if config.metrics.enabled {
            metrics::serve(config.metrics.listen, registry).map_err(Failure::about(format_args!(
                "metrics at {}",
                config.metrics.listen
            )))?;
        }
        for served in &served {
            let mut change = |key: &str, value: &str| {
                settings
                    .change(&served.namespace, key, value)
                    .map_err(Failure::about(key))
                    .map(|changed| {
                        if changed {
                            info!(namespace = %served.name(), key, value, "setting changed");
                        }
                    })
            };
            // A SYN that is sent again asks for ECN again.
            let started = change("net.mptcp.pm_type", "1")
                .and_then(|()| change("net.ipv4.tcp_ecn_fallback", "0"))
                .and_then(|()| match &config.congestion.default {
                    Some(name) => change("net.ipv4.tcp_congestion_control", name),
                    None => Ok(()),
                });
            if let Err(failure) = started {
                settings.put_back();
                return Err(failure);
            }
        }
        let mut daemon = Self {
            algorithms: programs.names().map(|name| name.kernel().to_owned()).collect(),
            programs,
            ring,
            served,
            connections: Connections::new(config.joins(), config.hysteresis()),
            settings,
            metrics,
            listener,
            started: now(),
            tick: 0,
            look: 0,
            sweep: now() + SWEEP,
            _lock: lock,
        };
        let mut told = Vec::new();
        for namespace in 0..daemon.served.len() {
            daemon.resync(namespace, &mut told);
        }
        daemon.tell(told);
        info!(
            algorithms = daemon.algorithms.join(" "),
            adopted = daemon.connections.len(),
            "weftd runs"
        );
        Ok(daemon)
    }

    fn serve(&mut self, signals: &SignalFd) -> Result<(), Failure> {
        let mut poll = self.register(signals).map_err(Failure::about("poll"))?;
        let mut events = mio::Events::with_capacity(16);
        loop {
            self.wait(&mut poll, &mut events)?;
            if let Ok(Some(signal)) = signals.read_signal() {
                info!(signal = signal.ssi_signo, "stopping");
                return Ok(());
            }
            let mut told = Vec::new();
            // First the kernel's, so that the programs' find their connection.
            let ready = |i| events.iter().any(|event| event.token() == Token(i));
            self.kernel_events(ready, &mut told);
            self.program_events(&mut told)?;
            self.connections.due(now(), &mut told);
            self.tell(told);
            self.answer();
            if now() >= self.tick {
                self.renew();
            }
            if now() >= self.sweep {
                self.forget_absent();
            }
            if now() >= self.look {
                self.look_at_unwatched();
            }
        }
    }

    /// What there is to wait for, with its place among the tokens.
    fn register(&self, signals: &SignalFd) -> io::Result<Poll> {
        let poll = Poll::new()?;
        let descriptors: Vec<RawFd> = [signals.as_raw_fd(), self.listener.as_raw_fd(), self.ring.raw_fd()]
            .into_iter()
            .chain(self.served.iter().map(|s| s.events.as_fd().as_raw_fd()))
            .collect();
        for (i, descriptor) in descriptors.iter().enumerate() {
            poll.registry()
                .register(&mut SourceFd(descriptor), Token(i), Interest::READABLE)?;
        }
        Ok(poll)
    }

    /// Until something happens or is due.
    fn wait(&self, poll: &mut Poll, events: &mut mio::Events) -> Result<(), Failure> {
        let next = self
            .connections
            .deadline()
            .into_iter()
            .chain([self.tick, self.look])
            .min()
            .unwrap_or(self.tick);
        let timeout = Duration::from_nanos(next.saturating_sub(now()));
        match poll.poll(events, Some(timeout)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(Failure::Failed(format!("poll: {error}")))
            }
            _ => Ok(()),
        }
    }

    fn kernel_events(&mut self, ready: impl Fn(usize) -> bool, told: &mut Vec<Told>) {
        for namespace in 0..self.served.len() {
            if !ready(RING + 1 + namespace) {
                continue;
            }
            let now = now();
            let connections = &mut self.connections;
            let received = self.served[namespace].events.receive(|event| {
                debug!(?event, "kernel");
                connections.on_event(namespace, &event, now, told);
            });
            if let Err(error) = received {
                warn!(namespace = %self.served[namespace].name(), %error, "events were lost; looking up what there is");
                self.metrics.overruns.inc();
                self.resync(namespace, told);
            }
        }
    }

    fn program_events(&mut self, told: &mut Vec<Told>) -> Result<(), Failure> {
        let events = self
            .ring
            .read()
            .map_err(|error| Failure::Failed(error.to_string()))?;
        let mut decided = Vec::new();
        for event in events {
            debug!(?event, "programs");
            let suppress = match event.kind {
                Kind::Suppress => true,
                Kind::Release => false,
                Kind::Bulk => {
                    self.connections.on_bulk(event.token, event.ktime_ns, told);
                    continue;
                }
                Kind::Deaf => {
                    let ends = (event.local, event.remote);
                    self.connections.on_deaf(event.token, ends, event.ktime_ns, told);
                    continue;
                }
                Kind::Joined => {
                    self.connections.on_watched(event.token);
                    continue;
                }
                Kind::Left => continue,
            };
            self.connections
                .on_wish(event.token, (event.local, event.remote), suppress, event.ktime_ns);
            if decided.last() != Some(&event.token) {
                decided.push(event.token);
            }
        }
        self.connections.settle(decided, now(), told);
        Ok(())
    }

    /// Sends commands, and keeps account of them.
    fn tell(&mut self, told: Vec<Told>) {
        for Told {
            namespace,
            commands,
            suppression,
        } in told
        {
            let sent = self.served[namespace].commands.send(&commands);
            let after = now();
            match sent {
                Ok(refusals) => {
                    self.metrics.refusals.inc_by(refusals.len() as u64);
                    for Refusal { command, error } in refusals {
                        // What closes just now cannot be told anything.
                        info!(?command, %error, "refused by the kernel");
                        let Command::Create {
                            token, local, remote, ..
                        } = command
                        else {
                            continue;
                        };
                        if error.raw_os_error() == Some(EINVAL) {
                            self.connections.on_not_ours(token);
                        } else {
                            self.connections.on_refused(token, (local, remote), after);
                        }
                    }
                }
                Err(error) => warn!(%error, "commands were not sent"),
            }
            let joins = commands
                .iter()
                .filter(|command| matches!(command, Command::Create { .. }));
            self.metrics.joins.inc_by(joins.count() as u64);
            if let Some((suppress, due)) = suppression {
                let seconds = after.saturating_sub(due) as f64 * 1e-9;
                debug!(suppress, us = seconds * 1e6, "told");
                self.metrics.decided(seconds);
                if suppress {
                    self.metrics.suppressions.inc();
                } else {
                    self.metrics.releases.inc();
                }
            }
        }
    }

    /// Takes over what there is in a namespace.
    fn resync(&mut self, namespace: usize, told: &mut Vec<Told>) {
        let seen = match self.served[namespace].census() {
            Ok(seen) => seen,
            Err(error) => {
                warn!(namespace = %self.served[namespace].name(), %error, "cannot look up connections");
                return;
            }
        };
        let now = now();
        self.connections.resync(namespace, &seen, now, told);
        let mut tokens = Vec::new();
        for connection in self.windows().into_values() {
            self.connections.on_watched(connection.token);
            for subflow in &connection.subflows {
                let ends = (subflow.local, subflow.remote);
                if !connection.suppressed || !subflow.active {
                    self.connections
                        .on_wish(connection.token, ends, connection.suppressed, now);
                }
            }
            tokens.push(connection.token);
        }
        self.connections.settle(tokens, now, told);
    }

    /// Forgets connections whose end the kernel has not told.
    fn forget_absent(&mut self) {
        for namespace in 0..self.served.len() {
            match self.served[namespace].census() {
                Ok(seen) => self.connections.forget_absent(namespace, &seen, now()),
                Err(error) => warn!(%error, "cannot look up connections"),
            }
        }
        self.sweep = now() + SWEEP;
    }

    /// Looks how much connections have carried that no program of ours watches.
    fn look_at_unwatched(&mut self) {
        let began = now();
        let mut told = Vec::new();
        for namespace in 0..self.served.len() {
            let unwatched = self
                .connections
                .iter()
                .any(|(_, c)| c.namespace == namespace && !c.server && !c.bulk && !c.watched);
            if !unwatched {
                continue;
            }
            match self.served[namespace].census() {
                Ok(seen) => {
                    for seen in seen {
                        self.connections
                            .on_bytes(seen.token, seen.bytes, began, &mut told);
                    }
                }
                Err(error) => warn!(%error, "cannot look up connections"),
            }
        }
        self.tell(told);
        // However many sockets there are, looking takes a small part of the time.
        let took = now().saturating_sub(began);
        self.look = now() + (LOOK_SHARE * took).max(LOOK);
    }

    fn windows(&self) -> HashMap<u32, ConnectionStats> {
        match self.programs.connections() {
            Ok(connections) => connections
                .into_iter()
                .filter(|connection| connection.token != 0)
                .map(|connection| (connection.token, connection))
                .collect(),
            Err(error) => {
                warn!(%error, "cannot read windows");
                HashMap::new()
            }
        }
    }

    /// Renews the gauges.
    fn renew(&mut self) {
        let sum =
            |numbers: &mut dyn Iterator<Item = u64>| i64::try_from(numbers.sum::<u64>()).unwrap_or(i64::MAX);
        let windows = self.windows();
        let subflows = || windows.values().flat_map(|c| &c.subflows);
        self.metrics.acked.set(sum(&mut subflows().map(|s| s.acked)));
        self.metrics.marked.set(sum(&mut subflows().map(|s| s.marked)));
        let all = || self.connections.iter().map(|(_, c)| c);
        self.metrics
            .connections
            .set(sum(&mut std::iter::once(self.connections.len() as u64)));
        self.metrics
            .subflows
            .set(sum(&mut all().map(|c| c.subflows.len() as u64)));
        self.metrics
            .suppressed
            .set(sum(&mut all().map(|c| u64::from(c.suppressed))));
        match self.programs.totals() {
            Ok(totals) => {
                self.metrics.without_ecn.set(totals.without_ecn.cast_signed());
                self.metrics.without_slot.set(totals.without_slot.cast_signed());
                self.metrics.lost_events.set(totals.lost_events.cast_signed());
            }
            Err(error) => warn!(%error, "cannot read totals"),
        }
        self.tick = now() + SECOND;
    }

    /// Answers who asks for the status, on a thread of its own, since they may be slow to read.
    fn answer(&self) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return warn!(%error, "status"),
            };
            let status = self.status();
            thread::spawn(move || {
                if let Err(error) = status::answer(&stream, &status) {
                    debug!(%error, "status");
                }
            });
        }
    }

    fn status(&self) -> Status {
        let all = self.programs.connections().unwrap_or_default();
        let windows: HashMap<_, _> = all
            .iter()
            .map(|connection| (connection.token, connection))
            .collect();
        let mut connections: Vec<_> = self
            .connections
            .iter()
            .map(|(token, connection)| {
                let name = self.served[connection.namespace].namespace.path();
                served::describe(token, connection, name, windows.get(&token).copied())
            })
            .collect();
        connections.sort_by_key(|connection| connection.token);
        Status {
            process: std::process::id(),
            uptime_s: now().saturating_sub(self.started) as f64 * 1e-9,
            algorithms: self.algorithms.clone(),
            entries: all.len(),
            connections,
            decisions: self.metrics.decisions(),
        }
    }

    /// Leaves connections as they are: what is suppressed stays so until the next start, and as fair to others as it was.
    fn stop(mut self, folder: &Path) {
        for wrong in self.settings.put_back() {
            warn!("{wrong}");
        }
        let _ = std::fs::remove_file(socket(folder));
        let open = self.programs.connections().map_or(0, |open| open.len());
        drop(self.ring);
        drop(self.programs);
        // Connections that go on need their maps, so that the next daemon finds them.
        if open == 0 {
            crate::attach::unpin();
        }
        info!(open, "weftd has stopped");
    }
}

/// Nanoseconds of the clock that the programs use too.
fn now() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// Tells systemd, if it is there.
fn notify(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(states) {
        debug!(%error, "systemd");
    }
}

const EINVAL: i32 = Errno::EINVAL as i32;
const MILLISECOND: u64 = 1_000_000;
/// The ring's place among what is waited for; the namespaces follow.
const RING: usize = 2;
const SECOND: u64 = 1_000 * MILLISECOND;
/// Between two looks at connections that nobody watches.
const LOOK: u64 = 50 * MILLISECOND;
/// Between two looks for connections that are gone.
const SWEEP: u64 = 10 * SECOND;
/// The pause after a look, in times what it took.
const LOOK_SHARE: u64 = 50;
