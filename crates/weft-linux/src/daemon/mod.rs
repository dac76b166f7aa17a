//! The daemon: one loop around what the kernel and the programs tell.
//!
//! It waits for the ring of the programs' events, the kernel's path-manager events, signals and callers of `weftd status`,
//! and sleeps otherwise. All decisions are [`Connections`]'s.

mod lock;
mod served;
pub mod settings;
mod successor;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Poll, Registry, Token};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::time::{ClockId, clock_gettime};
use sd_notify::NotifyState;
use tracing::{debug, info, warn};

use crate::Failure;
use crate::config::Config;
use crate::events::{Events, Kind};
use crate::metrics::{self, Metrics};
use crate::path_manager::{Command, Connections, NAMED, Namespace, Refusal, Seen, Told, endpoints};
use crate::programs::{ConnectionStats, Programs};
use crate::status::{self, Status};

pub use lock::Lock;
use served::{Change, Served};
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

/// Runs until SIGTERM or SIGINT. At SIGHUP the program that is installed by then takes over, with the configuration as it is by
/// then, if the two get along; `path` is where it was read.
///
/// # Errors
/// Another runs, the kernel or the caller's privileges lack something, or the kernel fails.
pub fn run(config: &Config, path: Option<&Path>) -> Result<(), Failure> {
    // Before any thread begins, so that none of them takes a signal.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGHUP);
    let failed = |errno: Errno| Failure::Failed(format!("signals: {errno}"));
    signals.thread_block().map_err(failed)?;
    let signals =
        SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(failed)?;

    let folder = folder();
    let lock = Lock::take(&folder)?;
    let mut poll = Poll::new().map_err(Failure::about("poll"))?;
    let registry = poll.registry().try_clone().map_err(Failure::about("poll"))?;
    let mut daemon = Daemon::start(config, &folder, lock, registry)?;
    notify(&[NotifyState::Ready]);
    let ended = daemon.serve(&mut poll, &signals, path);
    if let Ok(Ended::HandsOver) = ended {
        return Err(daemon.hand_over());
    }
    notify(&[NotifyState::Stopping]);
    daemon.stop(&folder);
    ended.map(|_| ())
}

/// Why serving ends.
enum Ended {
    Stops,
    HandsOver,
}

struct Daemon {
    programs: Programs,
    ring: Events,
    served: Vec<Served>,
    /// Are all namespaces served that have a name?
    all_named: bool,
    /// Tells that names of namespaces have come or gone, where the kernel can.
    names: Option<Inotify>,
    registry: Registry,
    connections: Connections,
    default: Option<String>,
    settings: Settings,
    metrics: Metrics,
    listener: UnixListener,
    algorithms: Vec<String>,
    started: u64,
    /// When gauges are renewed next.
    tick: u64,
    /// When namespaces are looked for next.
    follow: u64,
    /// Subflows without room, as far as they have been complained about.
    without_slot: u64,
    /// Events that the programs could not tell, as far as they have been made up for.
    lost: u64,
    /// When connections that nobody watches are looked at next.
    look: u64,
    /// When connections that are gone are looked for next.
    sweep: u64,
    _lock: Lock,
}

impl Daemon {
    fn start(config: &Config, folder: &Path, lock: Lock, registry: Registry) -> Result<Self, Failure> {
        let settings =
            Settings::open(&settings_file(folder)).map_err(Failure::about("settings of the last run"))?;
        if settings.left_over() && !successor::is_one() {
            warn!("the last weftd was killed; settings it changed will be put back when this one stops");
        }
        let programs = crate::attach::load(config)?;
        let ring = programs.events().map_err(Failure::about("events"))?;
        let listener = status::listen(&socket(folder)).map_err(Failure::about(socket(folder).display()))?;
        let (metrics, counts) = Metrics::new();
        if config.metrics.enabled {
            metrics::serve(config.metrics.listen, counts).map_err(Failure::about(format_args!(
                "metrics at {}",
                config.metrics.listen
            )))?;
        }
        metrics.room.set(programs.room().into());
        // The maps may be older.
        let totals = programs.totals().ok();
        let mut daemon = Self {
            algorithms: programs.names().map(|name| name.kernel().to_owned()).collect(),
            lost: totals.map_or(0, |totals| totals.lost_events),
            without_slot: totals.map_or(0, |totals| totals.without_slot),
            programs,
            ring,
            served: config.namespaces().into_iter().map(Served::new).collect(),
            all_named: config.serves_all_named(),
            names: names_of_namespaces(),
            registry,
            connections: Connections::new(config.joins(), config.hysteresis()),
            default: config.congestion.default.clone(),
            settings,
            metrics,
            listener,
            started: now(),
            tick: 0,
            follow: 0,
            look: 0,
            sweep: now() + SWEEP,
            _lock: lock,
        };
        settings::renew_inherited(|it| daemon.serves(it), false);
        if let Err(failure) = daemon.follow(true) {
            daemon.settings.put_back();
            return Err(failure);
        }
        info!(
            algorithms = daemon.algorithms.join(" "),
            adopted = daemon.connections.len(),
            "weftd runs"
        );
        Ok(daemon)
    }

    /// Serves namespaces that have come, and lets go of those that have gone. What cannot be served is an error at the start, and
    /// tried again later.
    fn follow(&mut self, start: bool) -> Result<(), Failure> {
        self.follow = now() + SECOND;
        if self.all_named {
            self.find_named();
        }
        for namespace in 0..self.served.len() {
            match self.served[namespace].follow() {
                Ok(Change::Nothing) => {}
                Ok(Change::Gone) => {
                    info!(namespace = %self.served[namespace].name(), "the namespace has gone");
                    self.connections.forget_namespace(namespace);
                }
                Ok(Change::Came) => {
                    self.connections.forget_namespace(namespace);
                    if let Err(failure) = self.begin(namespace) {
                        if start {
                            return Err(failure);
                        }
                        warn!("{failure}");
                    }
                }
                Err(error) if start && error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(Failure::Missing(format!(
                        "{error}: the path manager takes root, or CAP_NET_ADMIN (and CAP_SYS_ADMIN for other namespaces)"
                    )));
                }
                Err(error) if start && self.served[namespace].namespace == Namespace::own() => {
                    return Err(Failure::Missing(error.to_string()));
                }
                Err(error) => debug!(%error, "a namespace cannot be served yet"),
            }
            if start && !self.served[namespace].is_open() {
                warn!(namespace = %self.served[namespace].name(), "there is no such namespace yet; it is served when it comes");
            }
        }
        Ok(())
    }

    fn serves(&self, namespace: &Namespace) -> bool {
        self.served.iter().any(|served| served.namespace == *namespace)
    }

    /// Names of namespaces that are not known yet take the places of those that have gone.
    fn find_named(&mut self) {
        for namespace in Namespace::all_named() {
            if self.serves(&namespace) {
                continue;
            }
            let served = Served::new(namespace);
            match self.served.iter_mut().find(|served| !served.is_open()) {
                Some(gone) => *gone = served,
                None => self.served.push(served),
            }
        }
    }

    /// Changes the settings of a namespace that has come, and takes over its connections.
    fn begin(&mut self, namespace: usize) -> Result<(), Failure> {
        let served = &self.served[namespace];
        // A SYN that is sent again asks for ECN again.
        let settings = [("net.mptcp.pm_type", "1"), ("net.ipv4.tcp_ecn_fallback", "0")];
        let default = self.default.as_deref();
        let default = default.map(|name| (settings::DEFAULT, name));
        for (key, value) in settings.into_iter().chain(default) {
            let changed = self.settings.change(&served.namespace, key, value);
            if changed.map_err(Failure::about(key))? {
                info!(namespace = %served.name(), key, value, "setting changed");
            }
        }
        if let Ok(count @ 1..) = endpoints(&served.namespace) {
            warn!(
                namespace = %served.name(),
                count,
                "`ip mptcp endpoint`s are not used while weftd serves; subflows.addresses stands for them"
            );
        }
        if let Some(events) = served.events() {
            let descriptor = events.as_fd().as_raw_fd();
            self.watch(descriptor, FIRST + namespace)
                .map_err(Failure::about("poll"))?;
        }
        let mut told = Vec::new();
        self.resync(namespace, &mut told);
        self.tell(told);
        Ok(())
    }

    fn serve(&mut self, poll: &mut Poll, signals: &SignalFd, path: Option<&Path>) -> Result<Ended, Failure> {
        let names = self
            .names
            .as_ref()
            .map(|names| (names.as_fd().as_raw_fd(), NAMES));
        let descriptors = [
            (signals.as_raw_fd(), 0),
            (self.listener.as_raw_fd(), 1),
            (self.ring.raw_fd(), RING),
        ];
        for (descriptor, token) in descriptors.into_iter().chain(names) {
            self.watch(descriptor, token).map_err(Failure::about("poll"))?;
        }
        let mut events = mio::Events::with_capacity(16);
        loop {
            self.wait(poll, &mut events)?;
            if let Ok(Some(signal)) = signals.read_signal() {
                if signal.ssi_signo != Signal::SIGHUP as u32 {
                    info!(signal = signal.ssi_signo, "stopping");
                    return Ok(Ended::Stops);
                }
                match successor::check(path) {
                    Ok(()) => return Ok(Ended::HandsOver),
                    Err(failure) => warn!("not reloaded: {failure}"),
                }
            }
            let mut told = Vec::new();
            // First the kernel's, so that the programs' find their connection.
            let ready = |i| events.iter().any(|event| event.token() == Token(i));
            self.kernel_events(ready, &mut told);
            self.program_events(&mut told)?;
            self.connections.due(now(), &mut told);
            self.tell(told);
            self.answer();
            if ready(NAMES)
                && self
                    .names
                    .as_ref()
                    .is_some_and(|names| names.read_events().is_ok())
            {
                // A name is there before its namespace.
                self.follow = self.follow.min(now() + SETTLED);
            }
            if now() >= self.follow {
                self.follow(false)?;
            }
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

    /// Waits for a descriptor too, under this token.
    fn watch(&self, descriptor: RawFd, token: usize) -> io::Result<()> {
        self.registry
            .register(&mut SourceFd(&descriptor), Token(token), Interest::READABLE)
    }

    /// Until something happens or is due.
    fn wait(&self, poll: &mut Poll, events: &mut mio::Events) -> Result<(), Failure> {
        let next = self
            .connections
            .deadline()
            .into_iter()
            .chain([self.tick, self.look, self.follow])
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
            let Some(events) = self.served[namespace]
                .events()
                .filter(|_| ready(FIRST + namespace))
            else {
                continue;
            };
            let now = now();
            let connections = &mut self.connections;
            let received = events.receive(|event| {
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
            let sent = self.served[namespace].send(&commands);
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
        let known = |token| self.connections.get(token).is_some();
        match self.programs.reap(now() / 1000, IDLE, known) {
            Ok(0) => {}
            Ok(reaped) => info!(reaped, "entries that nobody used were removed"),
            Err(error) => warn!(%error, "cannot look for entries that nobody uses"),
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
            Ok(connections) => {
                let entries = i64::try_from(connections.len());
                self.metrics.entries.set(entries.unwrap_or(i64::MAX));
                connections
                    .into_iter()
                    .filter(|connection| connection.token != 0)
                    .map(|connection| (connection.token, connection))
                    .collect()
            }
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
        self.learn_directions(&windows);
        for (token, connection) in &windows {
            let place = self.connections.get(*token).map(|known| known.namespace);
            let namespace = place.map_or(String::new(), |place| self.served[place].name().to_string());
            self.metrics.count(namespace, connection);
        }
        self.metrics.forget(|token| windows.contains_key(&token));
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
                self.metrics.total(&totals);
                if totals.without_slot > self.without_slot {
                    let count = totals.without_slot - self.without_slot;
                    self.without_slot = totals.without_slot;
                    warn!(count, "subflows are uncoupled Reno: there is no room for them");
                }
                if totals.lost_events > self.lost {
                    self.lost = totals.lost_events;
                    self.make_up_for_events();
                }
            }
            Err(error) => warn!(%error, "cannot read totals"),
        }
        notify(&[NotifyState::Watchdog]);
        self.tick = now() + SECOND;
    }

    /// Tells which way connections carry their data.
    fn learn_directions(&mut self, windows: &HashMap<u32, ConnectionStats>) {
        let mut told = Vec::new();
        for (token, connection) in windows {
            let bytes = connection.subflows.iter();
            let carried = bytes.fold((0, 0), |all, s| (all.0 + s.sent, all.1 + s.received));
            self.connections.on_carried(*token, carried, now(), &mut told);
        }
        self.tell(told);
    }

    /// Looks up what the programs could not tell.
    fn make_up_for_events(&mut self) {
        debug!("events of the programs were lost; looking up what there is");
        let mut told = Vec::new();
        for namespace in 0..self.served.len() {
            self.resync(namespace, &mut told);
        }
        self.tell(told);
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
        let mut seen: HashMap<u32, Vec<Seen>> = HashMap::new();
        for served in &self.served {
            for subflow in served.census().unwrap_or_default() {
                if subflow.established {
                    seen.entry(subflow.token).or_default().push(subflow);
                }
            }
        }
        let mut connections: Vec<_> = self
            .connections
            .iter()
            .map(|(token, connection)| {
                let name = self.served[connection.namespace].namespace.path();
                let seen: Vec<_> = seen.get(&token).into_iter().flatten().collect();
                served::describe(token, connection, name, windows.get(&token).copied(), &seen)
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

    /// Becomes the program that is installed now; returns only if it cannot. Settings, names, maps and connections stay.
    fn hand_over(mut self) -> Failure {
        info!("reloading");
        let now_us = i128::from(now() / 1000);
        notify(&[NotifyState::Reloading, NotifyState::MonotonicUsec(now_us)]);
        crate::attach::hand_over(&mut self.programs);
        successor::become_it()
    }

    /// Leaves connections as they are: what is suppressed stays so until the next start, and as fair to others as it was.
    fn stop(mut self, folder: &Path) {
        for wrong in self.settings.put_back() {
            warn!("{wrong}");
        }
        settings::renew_inherited(|it| self.serves(it), true);
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

/// Tells when names of namespaces come and go. None where there is no folder for them yet, and then they are looked for.
fn names_of_namespaces() -> Option<Inotify> {
    let names = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()?;
    let changes = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_DELETE | AddWatchFlags::IN_MOVED_TO;
    names.add_watch(NAMED, changes).ok()?;
    Some(names)
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
/// Places among what is waited for: the ring, names of namespaces, the first namespace.
const RING: usize = 2;
const NAMES: usize = 3;
const FIRST: usize = 4;
/// From a namespace's name to the namespace.
const SETTLED: u64 = 20 * MILLISECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
/// Between two looks at connections that nobody watches.
const LOOK: u64 = 50 * MILLISECOND;
/// Between two looks for connections that are gone.
const SWEEP: u64 = 10 * SECOND;
/// An entry that was not used for so many microseconds may be one that the kernel forgot.
const IDLE: u64 = 600_000_000;
/// The pause after a look, in times what it took.
const LOOK_SHARE: u64 = 50;
