//! Algorithms without a daemon, and what outlives a daemon: pins on the BPF file system.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use tracing::{info, warn};

use crate::Failure;
use crate::config::Config;
use crate::daemon::settings::Settings;
use crate::daemon::{Lock, folder, settings_file};
use weft_kernel::path_manager::Namespace;
use weft_kernel::programs::scope::{self, Scope};
use weft_kernel::programs::{Error, HANDOVER, KernelAlgorithm, Options, Programs, REGISTRATION};

/// Folder of the BPF file system.
pub const BPF_FS: &str = "/sys/fs/bpf";
/// Where maps are pinned, so that the next daemon finds connections that are still open.
const PINS: &str = "/sys/fs/bpf/weft";
/// Prefix of the pin of the registration of an attached algorithm.
const LINK: &str = "link_";
/// Prefix of pins that are kept until a reload has ended.
const KEPT: &str = "kept_";

/// Loads what the configuration names.
///
/// # Errors
/// [`Failure::Missing`]: the kernel or the caller's privileges lack something; [`Failure::Input`]: a parameter is not
/// allowed; [`Failure::Failed`]: the names are taken, or the kernel refuses.
pub fn load(config: &Config) -> Result<Programs, Failure> {
    need_capabilities()?;
    if let Some(name) = attached().first() {
        return Err(Failure::Failed(format!(
            "{name} is registered by `weftd attach`; `weftd detach` first"
        )));
    }
    let pin = pins();
    if pin.is_none() {
        warn!(
            "no BPF file system at {BPF_FS}: a restart will not find the windows of connections that are open"
        );
    }
    let options = Options {
        pin,
        ..options(config)
    };
    if let Some(folder) = &options.pin
        && !Programs::can_take_over(folder, config.congestion.max_connections)
    {
        warn!("the maps of the last weftd have another size; its connections cannot be found again");
        Programs::unpin_maps(folder);
    }
    Programs::load(&names(config), &options).map_err(failure)
}

/// Loads what the configuration names, and lets go of it again.
///
/// # Errors
/// As [`load`], but that names may be registered.
pub fn try_load(config: &Config) -> Result<(), Failure> {
    need_capabilities()?;
    Programs::try_load(&names(config), &options(config)).map_err(failure)?;
    if config.rules.is_empty() {
        return Ok(());
    }
    scope::try_load().map_err(failure)
}

/// Attaches what follows the configuration's rules, if there are any.
///
/// # Errors
/// The kernel's.
pub fn scope(config: &Config) -> Result<Option<Scope>, Failure> {
    Scope::attach(config.rules(), pins().as_deref()).map_err(failure)
}

fn need_capabilities() -> Result<(), Failure> {
    let lacking = crate::doctor::missing_capabilities();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Failure::Missing(format!(
        "{} missing; run weftd as root, or by its systemd unit",
        lacking.join(", ")
    )))
}

fn names(config: &Config) -> Vec<KernelAlgorithm> {
    let names = config.congestion.algorithms.iter();
    names.filter_map(|name| KernelAlgorithm::parse(name)).collect()
}

fn options(config: &Config) -> Options {
    Options {
        parameters: config.parameters(),
        join_after: config.subflows.join_after.0,
        min_inactive: Duration::from_nanos(config.hysteresis().min_cycle),
        max_connections: Some(config.congestion.max_connections),
        max_events_per_user: None,
        restricted: !config.congestion.unprivileged,
        pin: None,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failure(error: Error) -> Failure {
    match error {
        Error::Btf | Error::Permission => Failure::Missing(error.to_string()),
        Error::Parameter(_) | Error::Ecn(_) => Failure::Input(error.to_string()),
        Error::Registered(_) | Error::Kernel { .. } => Failure::Failed(error.to_string()),
    }
}

/// Keeps the names registered for the process that comes next.
pub fn hand_over(programs: &mut Programs, scope: Option<&mut Scope>) {
    let Some(folder) = pins() else { return };
    if let Err(error) = programs.hand_over(&folder) {
        warn!(%error, "names are not registered for a moment");
    }
    if let Some(Err(error)) = scope.map(|scope| scope.hand_over(&folder)) {
        warn!(%error, "rules are not followed for a moment");
    }
}

/// Keeps what was handed over also while another process has taken it over, so that it survives that one's crash.
pub fn keep_pins() {
    for (name, pin) in pins_for(HANDOVER) {
        let kept = pin.with_file_name(format!("{KEPT}{name}"));
        let _ = fs::remove_file(&kept);
        if let Err(error) = fs::hard_link(&pin, kept) {
            warn!(%error, name, "it is not registered for a moment if the reload fails");
        }
    }
}

/// Restores the kept pins for the next process.
pub fn restore_pins() {
    for (name, kept) in pins_for(KEPT) {
        let renamed = fs::rename(&kept, kept.with_file_name(format!("{HANDOVER}{name}")));
        if let Err(error) = renamed {
            warn!(%error, name, "it is not registered for a moment");
        }
    }
}

/// Removes all kept pins.
pub fn remove_old_pins() {
    for (_, kept) in pins_for(KEPT) {
        let _ = fs::remove_file(kept);
    }
}

/// The pins whose names begin so, with the rest of their names.
fn pins_for(prefix: &str) -> Vec<(String, PathBuf)> {
    if !is_ours(Path::new(PINS)) {
        return Vec::new();
    }
    let pins = fs::read_dir(PINS).into_iter().flatten().flatten();
    pins.filter_map(|entry| {
        Some((
            entry.file_name().to_str()?.strip_prefix(prefix)?.to_owned(),
            entry.path(),
        ))
    })
    .collect()
}

/// Registers algorithms for good: until [`detach`] or a reboot, without a process.
///
/// # Errors
/// As [`load`]; a daemon runs; there is no BPF file system.
pub fn attach(config: &Config, namespace: &Namespace) -> Result<(), Failure> {
    let folder = folder();
    let _lock = Lock::take(&folder)?;
    let pin =
        pins().ok_or_else(|| Failure::Missing(format!("no BPF file system: mount -t bpf bpf {BPF_FS}")))?;
    let mut programs = load(config)?;
    programs
        .pin_links(|name| pin.join(format!("{LINK}{}", name.kernel())))
        .map_err(|error| Failure::Failed(error.to_string()))?;
    if let Some(name) = &config.congestion.default {
        let (mut settings, damage) = Settings::open(&settings_file(&folder));
        if let Some(damage) = damage {
            warn!("{damage}");
        }
        let set = settings.change(namespace, "net.ipv4.tcp_congestion_control", name);
        if let Err(error) = set {
            unpin();
            return Err(Failure::Failed(error.to_string()));
        }
    }
    info!(algorithms = config.congestion.algorithms.join(" "), "attached");
    Ok(())
}

/// Takes back everything that [`attach`] or a killed daemon has left: registrations, maps, settings.
///
/// # Errors
/// A daemon runs, or something cannot be put back.
pub fn detach() -> Result<(), Failure> {
    let folder = folder();
    let _lock = Lock::take(&folder)?;
    let (mut settings, damage) = Settings::open(&settings_file(&folder));
    let mut wrong = settings.restore();
    wrong.extend(damage);
    wrong.extend(unpin());
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(wrong.join("; ")))
}

/// Stops for a program that was killed before it could: restores settings and ends registrations. Maps stay pinned if
/// connections use them. Returns the problems.
pub fn stop_without_programs(folder: &Path) -> Vec<String> {
    let (mut settings, damage) = Settings::open(&settings_file(folder));
    let mut wrong = settings.restore();
    wrong.extend(damage);
    let links = [HANDOVER, KEPT].into_iter().flat_map(pins_for);
    let all = links
        .map(|(_, pin)| pin)
        .chain(pins_for(REGISTRATION).into_iter().map(|(_, pin)| pin));
    for pin in all.collect::<Vec<_>>() {
        Programs::unregister_pinned(&pin);
        let _ = fs::remove_file(pin);
    }
    if Programs::has_no_connections(Path::new(PINS)) {
        wrong.extend(unpin());
    }
    wrong
}

/// Algorithms that `weftd attach` has registered.
pub fn attached() -> Vec<String> {
    let mut names: Vec<String> = pins_for(LINK).into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

/// Whether there is a BPF file system.
pub fn has_bpf_fs() -> bool {
    is_bpf_fs(Path::new(BPF_FS))
}

/// Whether a path is on a BPF file system.
pub fn is_bpf_fs(path: &Path) -> bool {
    statfs(path).is_ok_and(|fs| fs.filesystem_type() == BPF_FS_MAGIC)
}

/// Removes all pins. Sockets that use the programs keep them, and their maps, until they close. Returns what went wrong.
pub fn unpin() -> Option<String> {
    if is_ours(Path::new(PINS)) {
        for entry in fs::read_dir(PINS).into_iter().flatten().flatten() {
            Programs::unregister_pinned(&entry.path());
        }
    }
    let removed = match fs::remove_dir_all(PINS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    let error = removed.err()?;
    let wrong = format!("{PINS}: {error}");
    warn!("{wrong}");
    Some(wrong)
}

/// Returns the folder of pins, which is created if necessary. If all users may write in the parent, another user may have created
/// it; that folder is removed.
fn pins() -> Option<PathBuf> {
    if !has_bpf_fs() {
        return None;
    }
    let path = Path::new(PINS);
    for _ in 0..2 {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                warn!(%error, "{PINS}");
                return None;
            }
            Err(_) if !is_ours(path) => {
                warn!("{PINS} belongs to another user or is writable by others; it is removed");
                unpin();
            }
            _ => return Some(path.to_owned()),
        }
    }
    None
}

/// Whether the path is a folder that no other user may write.
fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| {
        let own = nix::unistd::geteuid().as_raw();
        metadata.is_dir() && metadata.uid() == own && metadata.mode() & 0o022 == 0
    })
}
