//! The daemon: one loop around what the kernel and the programs report.
//!
//! It waits for the ring of the programs' events, the kernel's path-manager events, signals and callers of `weftd status`,
//! and sleeps otherwise. All decisions are [`Connections`]'s.

pub mod blackholes;
mod budget;
mod check;
mod events;
mod failed_paths;
mod lock;
mod memory;
mod namespaces;
mod report;
mod served_namespace;
pub mod settings;
mod socket_scan;
mod successor;

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Poll, Registry, Token};
use nix::errno::Errno;
use nix::sys::inotify::Inotify;
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::time::{ClockId, clock_gettime};
use sd_notify::NotifyState;
use tracing::{debug, info, warn};

use crate::Failure;
use crate::config::{Config, Log};
use crate::metrics::{self, Metrics};
use crate::status::{self, StatusSettings};
use weft_kernel::events::Events;
use weft_kernel::path_manager::{Connections, JoinPolicy};
use weft_kernel::programs::Programs;
use weft_kernel::programs::scope::Scope;

use budget::Rest;
use check::Check;
use failed_paths::FailedPaths;
pub use lock::Lock;
use namespaces::{named, names_of_namespaces, namespace_of};
use served_namespace::ServedNamespace;
use settings::Settings;
use successor::{Stage, Trial};

/// Where the daemon keeps its lock, its socket and what settings were; systemd says it in `RUNTIME_DIRECTORY`.
pub fn folder() -> PathBuf {
    let folders = std::env::var_os("RUNTIME_DIRECTORY");
    // systemd separates several by colons.
    let first = folders.as_ref().and_then(|all| std::env::split_paths(all).next());
    first.unwrap_or_else(|| PathBuf::from("/run/weft"))
}

/// Socket of `weftd status`.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("status")
}

/// File of the settings that were changed.
pub fn settings_file(folder: &Path) -> PathBuf {
    folder.join("settings.json")
}

/// Runs with the configuration at `path` until SIGTERM or SIGINT. At SIGHUP the program that is installed by then takes over, with
/// the configuration as it is by then, after a trial; if it fails, this one goes on. `log` receives how to log.
///
/// # Errors
/// The configuration is wrong, another runs, the kernel or the caller's privileges lack something, or the kernel fails.
pub fn run(path: Option<&Path>, log: impl FnOnce(&Log)) -> Result<(), Failure> {
    let ended = run_stage(Stage::inherit(), path, log);
    if let Err(failure) = &ended {
        // For systemd, or for the program that this one was to follow.
        notify(&[NotifyState::Status(&failure.to_string())]);
    }
    ended
}

fn run_stage(stage: Stage, path: Option<&Path>, log: impl FnOnce(&Log)) -> Result<(), Failure> {
    // Before any thread begins, so that none of them takes a signal.
    let signals = stage.signals().map_err(Failure::about("signals"))?;
    let folder = folder();
    let config = stage.configuration(path, &folder)?;
    log(&config.log);
    for warning in &config.warnings {
        warn!("configuration: {warning}");
    }
    let signals = if stage == Stage::Tries {
        match successor::try_out(&folder, &signals) {
            Ok(Trial::Stopped | Trial::Killed) => return Ok(()),
            Ok(Trial::Passed) => warn!("not reloaded: {}", successor::exec_successor()),
            Err(why) => {
                warn!("not reloaded: {why}; this program goes on, with the configuration that it had");
            }
        }
        // As it was before the reload.
        Stage::Started.signals().map_err(Failure::about("signals"))?
    } else {
        signals
    };
    let mut poll = Poll::new().map_err(Failure::about("poll"))?;
    let registry = poll.registry().try_clone().map_err(Failure::about("poll"))?;
    let lock = Lock::take(&folder)?;
    if stage == Stage::Started {
        // A trial may have been killed.
        crate::attach::restore_pins();
    }
    let mut daemon = Daemon::start(&config, &folder, lock, registry, stage)?;
    if let Err(failure) = successor::keep(&config, &folder) {
        if stage == Stage::OnTrial {
            // The next stage would run with another configuration.
            return Err(failure);
        }
        warn!("{failure}; the next reload may be refused");
    }
    notify(&[NotifyState::Ready]);
    let ended = daemon.serve(&mut poll, &signals, path);
    if let Ok(ExitReason::Reload) = ended {
        daemon.hand_over(stage);
        return match stage {
            Stage::OnTrial => Ok(()),
            _ => Err(successor::begin_trial()),
        };
    }
    notify(&[NotifyState::Stopping]);
    daemon.stop(&folder);
    ended.map(|_| ())
}

/// Why serving ends.
enum ExitReason {
    Stop,
    Reload,
}

struct Daemon {
    folder: PathBuf,
    programs: Programs,
    scope: Option<Scope>,
    bpf_events: Events,
    namespaces: Vec<ServedNamespace>,
    /// Whether all namespaces with a name are served.
    all_named: bool,
    /// Readable when names of namespaces have changed, if the kernel can report that.
    names: Option<Inotify>,
    registry: Registry,
    connections: Connections,
    default: Option<String>,
    settings: Settings,
    /// Settings of the configuration that the status shows.
    shown: StatusSettings,
    metrics: Metrics,
    /// `None` if the socket could not be created after a reload; creating it is retried.
    listener: Option<UnixListener>,
    /// Namespaces whose events the programs report, once that is set.
    reported: Option<BTreeSet<u32>>,
    /// Named namespaces that were found.
    known_names: BTreeSet<PathBuf>,
    /// Nanoseconds after which a namespace's MPTCP that the kernel has switched off is switched on again, if ever.
    blackhole_reset: Option<u64>,
    /// Value of `net.mptcp.stale_loss_cnt` in served namespaces.
    stale_timeouts: String,
    /// Callers of `weftd status` that are being answered.
    answering: Arc<AtomicUsize>,
    /// The check of the program that is to follow at a reload.
    check: Option<Check>,
    algorithms: Vec<String>,
    started: u64,
    /// Time of the next reading of the programs' totals.
    next_totals: u64,
    /// Time of the next update of gauges.
    next_gauges: u64,
    /// Time of the next reading of the kernel's counters.
    next_counters: u64,
    /// Time of the next scan for namespaces.
    next_sync: u64,
    /// Number of subflows without a slot that have been reported.
    reported_without_slot: u64,
    /// Number of lost events whose effects have been read from the kernel.
    handled_lost_events: u64,
    /// Indices of descriptors that may still be readable, because an edge is reported only once.
    unread: HashSet<usize>,
    failed_paths: FailedPaths,
    /// Namespaces whose connections have to be read, and the earliest time for that.
    to_resync: BTreeSet<usize>,
    next_resync: u64,
    /// Namespaces whose addresses have changed, and the time at which they may be read.
    changed_addresses: BTreeSet<usize>,
    next_addresses: u64,
    /// Connections that were not recorded, as far as that was reported.
    reported_omitted: u64,
    /// Time of the next poll of connections without BPF events.
    next_poll: u64,
    /// Time of the next removal of connections that have ended.
    next_reap: u64,
    /// Slots whose subflow had no socket the last time, with namespace and owner.
    orphaned_slots: HashSet<(u64, usize, u32)>,
    _lock: Lock,
}

impl Daemon {
    fn start(
        config: &Config,
        folder: &Path,
        lock: Lock,
        registry: Registry,
        stage: Stage,
    ) -> Result<Self, Failure> {
        let (mut settings, damage) = Settings::open(&settings_file(folder));
        if let Some(damage) = damage {
            warn!("{damage}");
        }
        if settings.is_stale() && stage == Stage::Started {
            warn!("the last weftd was killed; settings it changed will be put back when this one stops");
        }
        for wrong in settings.restore_key(ECN_FALLBACK) {
            warn!("{wrong}");
        }
        let (metrics, counts) = Metrics::new();
        if config.metrics.enabled {
            // Connections need the daemon more than it needs metrics.
            if let Err(error) = metrics::serve(config.metrics.listen, counts) {
                warn!(%error, "no metrics at {}", config.metrics.listen);
            }
        }
        memory::check(config);
        let listener = match status::listen(&socket(folder)) {
            Ok(listener) => Some(listener),
            Err(error) if stage.is_strict() => {
                return Err(Failure::about(socket(folder).display())(error));
            }
            Err(error) => {
                warn!(%error, "no status until {} can be made", socket(folder).display());
                None
            }
        };
        // After what else may fail, for it takes the place of the last one's.
        let programs = crate::attach::load(config)?;
        let bpf_events = programs.events().map_err(Failure::about("events"))?;
        let scope = crate::attach::scope(config)?;
        metrics.max_connections.set(programs.max_connections().into());
        metrics.reload_failed.set(i64::from(stage == Stage::Tries));
        // The maps may be older.
        let totals = programs.totals().ok();
        let mut daemon = Self {
            folder: folder.to_owned(),
            known_names: named(),
            blackhole_reset: config.blackhole_reset(),
            stale_timeouts: config.subflows.stale_timeouts.to_string(),
            next_counters: 0,
            algorithms: programs.names().map(|name| name.kernel().to_owned()).collect(),
            handled_lost_events: totals.map_or(0, |totals| totals.lost_events),
            reported_without_slot: totals.map_or(0, |totals| totals.without_slot),
            programs,
            names: names_of_namespaces(scope.iter().flat_map(Scope::folders)),
            scope,
            bpf_events,
            namespaces: config
                .namespaces()
                .into_iter()
                .map(ServedNamespace::new)
                .collect(),
            all_named: config.serves_all_named(),
            registry,
            connections: Connections::new(config.joins(), config.hysteresis()),
            default: config.congestion.default.clone(),
            settings,
            shown: StatusSettings {
                one_address_pair: config.joins().policy == JoinPolicy::Ndiffports,
                unprivileged: config.congestion.unprivileged,
                metrics: config.metrics.enabled.then_some(config.metrics.listen),
            },
            metrics,
            listener,
            answering: Arc::default(),
            check: None,
            reported: None,
            unread: HashSet::new(),
            failed_paths: FailedPaths::default(),
            to_resync: BTreeSet::new(),
            next_resync: 0,
            changed_addresses: BTreeSet::new(),
            next_addresses: 0,
            reported_omitted: 0,
            started: now(),
            next_totals: 0,
            next_gauges: 0,
            next_sync: 0,
            next_poll: 0,
            next_reap: now() + REAP_INTERVAL,
            orphaned_slots: HashSet::new(),
            _lock: lock,
        };
        daemon.renew_other_defaults();
        if let Err(failure) = daemon.sync_namespaces(Some(stage)) {
            if stage == Stage::Started {
                daemon.settings.restore();
            }
            return Err(failure);
        }
        // Otherwise the program before this one may still go on.
        if matches!(stage, Stage::Started | Stage::Passed) {
            daemon.leave_unserved();
        }
        info!(
            algorithms = daemon.algorithms.join(" "),
            adopted = daemon.connections.len(),
            "weftd runs"
        );
        Ok(daemon)
    }

    fn serve(
        &mut self,
        poll: &mut Poll,
        signals: &SignalFd,
        path: Option<&Path>,
    ) -> Result<ExitReason, Failure> {
        let names = self
            .names
            .as_ref()
            .map(|names| (names.as_fd().as_raw_fd(), NAMES));
        let descriptors = [(signals.as_raw_fd(), 0), (self.bpf_events.raw_fd(), RING)];
        let listener = self.listener.as_ref();
        let listener = listener.map(|listener| (listener.as_raw_fd(), LISTENER));
        for (descriptor, token) in descriptors.into_iter().chain(names).chain(listener) {
            self.register(descriptor, token).map_err(Failure::about("poll"))?;
        }
        let mut events = mio::Events::with_capacity(16);
        let mut rest = Rest::default();
        loop {
            rest.take_if_due(now());
            self.wait(poll, &mut events)?;
            if let Ok(Some(signal)) = signals.read_signal() {
                let signal = signal.ssi_signo;
                if signal == successor::PASSED as u32 {
                    return Ok(ExitReason::Reload);
                }
                if signal != Signal::SIGHUP as u32 {
                    info!(signal, "stopping");
                    return Ok(ExitReason::Stop);
                }
                // The program and the configuration may have changed since the last check began.
                self.check = None;
                match Check::start(path, &self.folder) {
                    Ok(check) => self.check = Some(check),
                    Err(failure) => self.refuse_reload(&failure),
                }
            }
            if let Some(passed) = self.check.as_mut().and_then(Check::poll) {
                self.check = None;
                match passed {
                    Ok(()) => return Ok(ExitReason::Reload),
                    Err(failure) => self.refuse_reload(&failure),
                }
            }
            let mut batches = Vec::new();
            // First the kernel's, so that the programs' find their connection.
            let ready = |i| events.iter().any(|event| event.token() == Token(i));
            self.handle_pm_events(ready, &mut batches);
            self.handle_address_changes(ready, &mut batches);
            self.handle_bpf_events(&mut batches)?;
            self.close_failed(&mut batches);
            self.resync_if_due(&mut batches);
            self.connections.on_deadlines(now(), &mut batches);
            self.send_commands(batches);
            self.answer_status();
            if ready(NAMES)
                && self
                    .names
                    .as_ref()
                    .is_some_and(|names| names.read_events().is_ok())
            {
                // A name is there before its namespace.
                self.next_sync = self.next_sync.min(now() + NETNS_SETTLE);
            }
            if now() >= self.next_sync {
                self.sync_namespaces(None)?;
                self.listen_again();
            }
            if now() >= self.next_totals {
                self.read_totals();
            }
            if now() >= self.next_gauges {
                self.update_gauges();
            }
            if now() >= self.next_counters {
                self.check_blackholes();
            }
            if now() >= self.next_reap {
                self.reap_absent();
            }
            if now() >= self.next_poll {
                self.poll_unreported();
            }
        }
    }

    fn refuse_reload(&self, failure: &Failure) {
        warn!("not reloaded: {failure}");
        self.metrics.reload_failed.set(1);
    }

    /// Waits for a descriptor too, under this token.
    fn register(&self, descriptor: RawFd, token: usize) -> io::Result<()> {
        self.registry
            .register(&mut SourceFd(&descriptor), Token(token), Interest::READABLE)
    }

    /// Waits until an event arrives or a deadline is due.
    fn wait(&self, poll: &mut Poll, events: &mut mio::Events) -> Result<(), Failure> {
        let next = self
            .connections
            .deadline()
            .into_iter()
            .chain([self.next_totals, self.next_gauges, self.next_poll, self.next_sync])
            .chain([self.next_counters])
            .chain(self.unread.iter().map(|token| self.readable_at(*token)))
            .chain((!self.to_resync.is_empty()).then_some(self.next_resync))
            .chain((!self.changed_addresses.is_empty()).then_some(self.next_addresses))
            .chain(self.failed_paths.deadline())
            .chain(self.check.as_ref().map(|_| now() + CHECK_INTERVAL))
            .min()
            .unwrap_or(self.next_totals);
        let timeout = Duration::from_nanos(next.saturating_sub(now()));
        match poll.poll(events, Some(timeout)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(Failure::Failed(format!("poll: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// The time from which a descriptor that is still readable may be read: at once, unless its namespace has used up its time.
    fn readable_at(&self, token: usize) -> u64 {
        let namespace = self.namespaces.get(namespace_of(token));
        namespace.map_or(0, |served| served.budget.ready_at())
    }

    /// Leaves settings, names, maps and connections as they are for the next stage of a reload.
    fn hand_over(mut self, stage: Stage) {
        if stage != Stage::OnTrial {
            info!("reloading");
            let now_us = i128::from(now() / 1000);
            notify(&[NotifyState::Reloading, NotifyState::MonotonicUsec(now_us)]);
        }
        crate::attach::hand_over(&mut self.programs, self.scope.as_mut());
        // Where the kernel has no links, dropping the programs would take their names back.
        std::mem::forget(self);
    }

    /// Leaves connections as they are: what is suppressed stays so until the next start, and as fair to others as it was.
    fn stop(mut self, folder: &Path) {
        for wrong in self.settings.restore() {
            warn!("{wrong}");
        }
        self.report_kept_defaults();
        let _ = std::fs::remove_file(socket(folder));
        let open = self.programs.connections().map_or(0, |open| open.len());
        drop(self.bpf_events);
        drop(self.programs);
        // Connections that go on need their maps, so that the next daemon finds them.
        if open == 0 {
            crate::attach::unpin();
        }
        info!(open, "weftd has stopped");
    }
}

/// Returns the time of the next scan after one that `started` then. Scans take a small part of the time for any number of
/// connections.
fn next_poll_time(started: u64, min: u64) -> u64 {
    let now = now();
    let took = now.saturating_sub(started);
    now + (POLL_COST_FACTOR * took).clamp(min, MAX_POLL_INTERVAL)
}

/// Nanoseconds of the clock that the programs use too.
fn now() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// Notifies systemd, if it is there.
fn notify(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(states) {
        debug!(%error, "systemd");
    }
}

/// A setting that earlier versions changed.
const ECN_FALLBACK: &str = "net.ipv4.tcp_ecn_fallback";
const EINVAL: i32 = Errno::EINVAL as i32;
const MILLISECOND: u64 = 1_000_000;
/// Tokens of descriptors: the status socket, the ring, names of namespaces, the first namespace's two.
const LISTENER: usize = 1;
const RING: usize = 2;
const NAMES: usize = 3;
const FIRST: usize = 4;
/// Time between the appearance of a namespace's name and of the namespace.
const NETNS_SETTLE: u64 = 20 * MILLISECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
/// Interval between two polls of the check of a successor.
const CHECK_INTERVAL: u64 = 50 * MILLISECOND;
/// Minimum time between two readings of addresses.
const ADDRESS_INTERVAL: u64 = 5 * MILLISECOND;
/// Time between two polls of connections without BPF events.
const POLL_INTERVAL: u64 = 50 * MILLISECOND;
/// Time between two removals of connections that have ended.
const REAP_INTERVAL: u64 = 10 * SECOND;
/// Time without use, in microseconds, after which an entry may be a stale one.
const MIN_IDLE_US: u64 = 600_000_000;
/// Pause after a poll, as a multiple of the poll's duration.
const POLL_COST_FACTOR: u64 = 80;
/// Maximum pause between two polls.
const MAX_POLL_INTERVAL: u64 = 30 * SECOND;
