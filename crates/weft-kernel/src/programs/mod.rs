//! Loads the BPF programs, registers their congestion controls and reads what they keep.
//!
//! ```no_run
//! use weft_kernel::programs::{KernelAlgorithm, Options, Programs};
//!
//! let programs = Programs::load(&[KernelAlgorithm::Dctcp], &Options::default())?;
//! let events = programs.events()?; // poll `events.raw_fd()`, then `events.read()`
//! for connection in programs.connections()? {
//!     for subflow in &connection.subflows {
//!         println!("{:x} {} cwnd {}", connection.token, subflow.remote, subflow.cwnd);
//!     }
//! }
//! drop(programs); // names are taken back; sockets that use them go on until they close
//! # Ok::<(), weft_kernel::programs::Error>(())
//! ```
//!
//! - [`Programs::load`] registers a congestion control for each name given, such as `weft_amp`, on the whole machine, usable in every network
//!   namespace. A socket chooses it by `TCP_CONGESTION`, a namespace by `net.ipv4.tcp_congestion_control`.
//! - [`Programs::connections`] is a snapshot of all connections, MPTCP's and TCP's, with their subflows' windows.
//! - [`Programs::events`] reports what the path manager must do at once: [`EventKind`](crate::events::EventKind).
//! - With [`Options::pin`] the connections outlive the process: the next one that loads with the same folder sees
//!   those that are still open, and their events.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject};

use crate::abi;
use crate::events::Events;

mod reap;
mod registration;
pub mod scope;
mod stats;

use registration::Registrar;
pub use registration::{HANDOVER, REGISTRATION};
pub use stats::{ConnectionStats, Subflow, Totals};

/// The maps that all programs share, and that are pinned.
const SHARED: [&str; 4] = ["connections", "events", "totals", "served"];
/// The map that all programs share and that is not pinned: the limit of a user's events is one for all algorithms.
const USERS: &str = "users";
/// Key of the map of served namespaces that stands for all.
const ALL_NAMESPACES: u32 = 0;
/// Default of [`Options::max_events_per_user`].
const MAX_EVENTS_PER_USER: u32 = 20_000;

macro_rules! names {
    ($($variant:ident = $number:literal, $name:literal, $kernel:literal;)+) => {
        /// A congestion control that can be loaded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum KernelAlgorithm {
            $(#[doc = concat!("`", $kernel, "`.")] $variant = $number,)+
        }

        impl KernelAlgorithm {
            /// All algorithms, sorted by name.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Name in `weft-cc`.
            pub fn algorithm(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Name in the kernel.
            pub fn kernel(self) -> &'static str {
                match self { $(Self::$variant => $kernel,)+ }
            }

            /// Returns the algorithm with this name in `weft-cc` or in the kernel.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|n| name == n.algorithm() || name == n.kernel())
            }

            pub(crate) fn from_number(number: u32) -> Option<Self> {
                Self::ALL.iter().copied().find(|n| *n as u32 == number)
            }

            /// The compiled programs, an ELF file.
            pub fn object(self) -> &'static [u8] {
                match self {
                    $(Self::$variant => include_bytes!(concat!(env!("OUT_DIR"), "/", $kernel, ".o")),)+
                }
            }
        }
    };
}

// The numbers are those of `enum weft_algorithm`.
names! {
    Amp = 1, "amp", "weft_amp";
    AmpFg = 6, "amp-fg", "weft_amp_fg";
    Balia = 9, "balia", "weft_balia";
    Dcm = 2, "dcm", "weft_dcm";
    Dctcp = 3, "dctcp", "weft_dctcp";
    Lia = 4, "lia", "weft_lia";
    Olia = 8, "olia", "weft_olia";
    Warp = 7, "warp", "weft_warp";
    Wvegas = 10, "wvegas", "weft_wvegas";
    Xmp = 5, "xmp", "weft_xmp";
}

/// Options for loading programs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Values of `weft-cc`'s parameters that differ from their defaults, by algorithm.
    pub parameters: Vec<(KernelAlgorithm, Vec<(String, f64)>)>,
    /// Number of bytes acknowledged and received on a subflow from which an MPTCP connection is reported as bulk.
    pub join_after: u64,
    /// Minimum time for which Warp keeps a subflow inactive.
    pub min_inactive: Duration,
    /// Maximum number of connections; 65,536 if it is `None`.
    pub max_connections: Option<u32>,
    /// Maximum number of events that one user can cause per second, over all algorithms; 20,000 if it is `None`.
    pub max_events_per_user: Option<u32>,
    /// Whether only privileged processes may choose the algorithms. If so, only the first namespace can have one as its default.
    pub restricted: bool,
    /// Folder on a BPF file system, in which the state of connections outlives the process.
    pub pin: Option<PathBuf>,
}

/// Loaded programs with registered names. Dropping them unregisters the names.
pub struct Programs {
    connections: MapHandle,
    events: MapHandle,
    totals: MapHandle,
    served: MapHandle,
    loaded: Vec<Loaded>,
}

struct Loaded {
    name: KernelAlgorithm,
    // Dropped before the object.
    link: Link,
    object: Object,
}

/// Measurements by the kernel of one program; both numbers are 0 unless `kernel.bpf_stats_enabled` is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunTime {
    /// Algorithm of the program.
    pub name: KernelAlgorithm,
    /// Operation, such as `weft_cong_control`, which runs at every acknowledgement.
    pub operation: String,
    /// Number of runs.
    pub runs: u64,
    /// Time of all runs together, in nanoseconds.
    pub nanoseconds: u64,
}

/// Why the programs cannot be loaded or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel does not describe its types.
    #[error("the kernel has no BTF (/sys/kernel/btf/vmlinux); it needs CONFIG_DEBUG_INFO_BTF")]
    Btf,
    /// Capabilities are missing.
    #[error("not permitted to load BPF programs; that takes root, or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON")]
    Permission,
    /// The name is registered already.
    #[error("congestion control `{0}` is registered already; another weftd may be running")]
    Registered(&'static str),
    /// A parameter is not allowed.
    #[error(transparent)]
    Parameter(#[from] weft_cc::Error),
    /// `lia` with `beta` asks for ECN, `weft_lia` never does.
    #[error("parameter `beta` of `lia` is {0}; the kernel's has no ECN, allowed is 0")]
    Ecn(f64),
    /// Anything else the kernel or libbpf says.
    #[error("{what}: {why}")]
    Kernel {
        /// The operation that failed.
        what: String,
        /// The answer.
        why: String,
    },
}

impl Error {
    pub(crate) fn kernel(what: &str, why: &libbpf_rs::Error) -> Self {
        if why.kind() == libbpf_rs::ErrorKind::PermissionDenied {
            return Self::Permission;
        }
        Self::Kernel {
            what: what.to_owned(),
            why: why.to_string(),
        }
    }

    fn missing(what: &str) -> Self {
        Self::Kernel {
            what: what.to_owned(),
            why: "not in its file".to_owned(),
        }
    }

    fn io(what: &str, why: &io::Error) -> Self {
        Self::Kernel {
            what: what.to_owned(),
            why: why.to_string(),
        }
    }
}

impl Programs {
    /// Loads and registers `names`, at least one.
    ///
    /// # Errors
    /// The kernel has no BTF, capabilities are missing, a name is registered already, a parameter is not
    /// allowed, or what the kernel answers.
    pub fn load(names: &[KernelAlgorithm], options: &Options) -> Result<Self, Error> {
        if !fs::exists("/sys/kernel/btf/vmlinux").unwrap_or(false) {
            return Err(Error::Btf);
        }
        let registrar = Registrar::new(options.pin.as_deref());
        registrar.check(names)?;
        let mut objects = Vec::new();
        let mut shared: Vec<MapHandle> = Vec::new();
        for &name in names {
            let object = open(name, options, registrar.links(), &shared)?
                .load()
                .map_err(|error| Error::kernel(name.kernel(), &error))?;
            if shared.is_empty() {
                shared = handles(&object)?;
            }
            objects.push((name, object));
        }
        // Nothing is taken from the last weftd before all have loaded.
        let mut loaded = objects
            .into_iter()
            .map(|(name, mut object)| {
                let link = registrar.register(name, &mut object)?;
                Ok(Loaded { name, link, object })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        registrar.finish(loaded.iter_mut().map(|loaded| (loaded.name, &mut loaded.link)));
        let [connections, events, totals, served, _users] = shared.try_into().map_err(|_| Error::Kernel {
            what: "the programs".to_owned(),
            why: "none was named".to_owned(),
        })?;
        let programs = Self {
            connections,
            events,
            totals,
            served,
            loaded,
        };
        programs.report(&[ALL_NAMESPACES])?;
        Ok(programs)
    }

    /// Reports events of network namespaces with these inode numbers only. Before the first call, events of all are reported.
    ///
    /// # Errors
    /// The kernel's.
    pub fn report_only(&self, namespaces: &[u32]) -> Result<(), Error> {
        if namespaces.len() > self.served.max_entries() as usize {
            return self.report(&[ALL_NAMESPACES]);
        }
        // First those that go, as they may be in the way of others.
        for key in self.served.keys() {
            let kept = namespaces
                .iter()
                .any(|namespace| namespace.to_ne_bytes() == key[..]);
            if !kept {
                let _ = self.served.delete(&key);
            }
        }
        self.report(namespaces)
    }

    fn report(&self, namespaces: &[u32]) -> Result<(), Error> {
        for namespace in namespaces {
            self.served
                .update(&namespace.to_ne_bytes(), &[0; 4], MapFlags::ANY)
                .map_err(|error| Error::kernel("the map of served namespaces", &error))?;
        }
        Ok(())
    }

    /// Loads `names` and lets go of them again, without registering them or touching what is pinned.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn try_load(names: &[KernelAlgorithm], options: &Options) -> Result<(), Error> {
        let options = Options {
            pin: None,
            ..options.clone()
        };
        for &name in names {
            let loaded = open(name, &options, registration::has_links(), &[])?.load();
            loaded.map_err(|error| Error::kernel(name.kernel(), &error))?;
        }
        Ok(())
    }

    /// Keeps the names registered until the next process that loads with the same folder registers its own.
    ///
    /// # Errors
    /// The kernel's.
    pub fn hand_over(&mut self, folder: &Path) -> Result<(), Error> {
        // Without links the registration stays anyway.
        if !registration::has_links() {
            return Ok(());
        }
        for Loaded { name, link, .. } in &mut self.loaded {
            registration::hand_over(*name, link, folder)?;
        }
        Ok(())
    }

    /// Ends the registration that is pinned there, if one is. Before Linux 6.4 there are no links that would end it with
    /// its process or its pin. Whether it did.
    pub fn unregister_pinned(pin: &Path) -> bool {
        registration::unregister_pinned(pin)
    }

    /// Whether the maps that are pinned in a folder, if any, have the layout of this version and this size.
    pub fn can_take_over(folder: &Path, max_connections: u32) -> bool {
        let sizes = [
            size_of::<abi::Connection>(),
            0,
            size_of::<abi::Totals>(),
            size_of::<u32>(),
        ];
        SHARED.iter().zip(sizes).all(|(name, size)| {
            MapHandle::from_pinned_path(folder.join(name)).map_or(true, |map| {
                map.value_size() as usize == size
                    && (*name != SHARED[0] || map.max_entries() == max_connections)
            })
        })
    }

    /// Whether no connection is in the map that is pinned in a folder. True if there is no map.
    pub fn has_no_connections(folder: &Path) -> bool {
        let map = MapHandle::from_pinned_path(folder.join(SHARED[0]));
        map.map_or(true, |map| map.keys().next().is_none())
    }

    /// Removes the pins of maps that [cannot be taken over](Self::can_take_over). Sockets that use them keep them.
    pub fn unpin_maps(folder: &Path) {
        for name in SHARED {
            let _ = fs::remove_file(folder.join(name));
        }
    }

    /// Loaded algorithms.
    pub fn names(&self) -> impl Iterator<Item = KernelAlgorithm> {
        self.loaded.iter().map(|loaded| loaded.name)
    }

    /// Keeps the registrations beyond the process, each under a path on a BPF file system; removing that takes the
    /// name back.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pin_links(&mut self, path: impl Fn(KernelAlgorithm) -> PathBuf) -> Result<(), Error> {
        for Loaded { name, link, .. } in &mut self.loaded {
            link.pin(path(*name))
                .map_err(|error| Error::kernel(name.kernel(), &error))?;
        }
        Ok(())
    }

    /// All connections with at least one subflow, in no order. Windows are read while they change.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connections(&self) -> Result<Vec<ConnectionStats>, Error> {
        let mut connections = Vec::new();
        for key in self.connections.keys() {
            let value = self
                .connections
                .lookup(&key, MapFlags::ANY)
                .map_err(|error| Error::kernel("the map of connections", &error))?;
            // One that has closed meanwhile is left out.
            connections.extend(
                value
                    .as_deref()
                    .and_then(|value| ConnectionStats::read(&key, value)),
            );
        }
        Ok(connections)
    }

    /// One MPTCP connection, by its token. None: it has closed, or another algorithm controls it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connection(
        &self,
        algorithm: KernelAlgorithm,
        token: u32,
    ) -> Result<Option<ConnectionStats>, Error> {
        let key = u64::from(algorithm as u32) << 56 | u64::from(token);
        let key = key.to_ne_bytes();
        let value = self
            .connections
            .lookup(&key, MapFlags::ANY)
            .map_err(|error| Error::kernel("the map of connections", &error))?;
        Ok(value
            .as_deref()
            .and_then(|value| ConnectionStats::read(&key, value)))
    }

    /// Returns the maximum number of connections.
    pub fn max_connections(&self) -> u32 {
        self.connections.max_entries()
    }

    /// The events' ring. Several readers would each get a part of the events.
    ///
    /// # Errors
    /// The kernel's.
    pub fn events(&self) -> Result<Events, Error> {
        Events::new(&self.events)
    }

    /// Counts of connections, subflows and events that were not handled as intended.
    ///
    /// # Errors
    /// The kernel's.
    pub fn totals(&self) -> Result<Totals, Error> {
        let value = self
            .totals
            .lookup(&[0; 4], MapFlags::ANY)
            .map_err(|error| Error::kernel("the map of totals", &error))?
            .unwrap_or_default();
        Totals::read(&value).ok_or_else(|| Error::Kernel {
            what: "the map of totals".to_owned(),
            why: "not of the size expected".to_owned(),
        })
    }

    /// Returns the run time of the programs.
    ///
    /// # Errors
    /// The kernel's.
    pub fn run_time(&self) -> Result<Vec<RunTime>, Error> {
        let mut times = Vec::new();
        for loaded in &self.loaded {
            for program in loaded.object.progs() {
                let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
                let info = fs::read_to_string(&path).map_err(|error| Error::io(&path, &error))?;
                times.push(RunTime {
                    name: loaded.name,
                    operation: program.name().to_string_lossy().into_owned(),
                    runs: field(&info, "run_cnt:"),
                    nanoseconds: field(&info, "run_time_ns:"),
                });
            }
        }
        Ok(times)
    }
}

fn open(
    name: KernelAlgorithm,
    options: &Options,
    links: bool,
    shared: &[MapHandle],
) -> Result<OpenObject, Error> {
    /// Flag of a `struct_ops` map with a link.
    const BPF_F_LINK: u32 = 1 << 13;
    let wrong = |error| Error::kernel(name.kernel(), &error);
    let parameters = parameters(name, options)?;
    let mut object = ObjectBuilder::default()
        .open_memory(name.object())
        .map_err(wrong)?;
    for mut map in object.maps_mut() {
        let map_name = map.name().to_string_lossy().into_owned();
        if map_name.ends_with(".parameters") {
            map.set_initial_value(zerocopy::IntoBytes::as_bytes(&parameters))
                .map_err(wrong)?;
        } else if map_name == name.kernel() {
            if !links {
                let flags = map.map_flags() & !BPF_F_LINK;
                map.set_map_flags(flags).map_err(wrong)?;
            }
            if options.restricted {
                let operations = map.initial_value_mut().unwrap_or_default();
                restrict(name, operations).ok_or_else(|| Error::missing("the operations"))?;
            }
        } else if let Some(i) = SHARED.iter().position(|shared| *shared == map_name) {
            if let (0, Some(connections)) = (i, options.max_connections) {
                map.set_max_entries(connections).map_err(wrong)?;
            }
            if let Some(handle) = shared.get(i) {
                map.reuse_fd(handle.as_fd()).map_err(wrong)?;
            } else if let Some(folder) = &options.pin {
                map.set_pin_path(folder.join(&map_name)).map_err(wrong)?;
            }
        } else if map_name == USERS
            && let Some(handle) = shared.get(SHARED.len())
        {
            map.reuse_fd(handle.as_fd()).map_err(wrong)?;
        }
    }
    Ok(object)
}

/// Allows only privileged processes to choose a congestion control, by a flag of `struct tcp_congestion_ops` of `kernel.h`.
fn restrict(name: KernelAlgorithm, operations: &mut [u8]) -> Option<()> {
    const NAME: usize = 40;
    const FLAGS: usize = 56;
    const NON_RESTRICTED: u8 = 1;
    let known = operations.get(NAME..)?.starts_with(name.kernel().as_bytes());
    let flags = operations.get_mut(FLAGS).filter(|_| known)?;
    *flags &= !NON_RESTRICTED;
    Some(())
}

fn parameters(name: KernelAlgorithm, options: &Options) -> Result<abi::Parameters, Error> {
    let params: Vec<(String, f64)> = options
        .parameters
        .iter()
        .filter(|(algorithm, _)| *algorithm == name)
        .flat_map(|(_, params)| params.iter().cloned())
        .collect();
    let beta = params.iter().find(|(name, _)| name == "beta");
    if let (KernelAlgorithm::Lia, Some((_, beta))) = (name, beta)
        && *beta != 0.0
    {
        return Err(Error::Ecn(*beta));
    }
    Ok(abi::Parameters {
        bulk: options.join_after,
        min_inactive: u32::try_from(options.min_inactive.as_micros()).unwrap_or(u32::MAX),
        max_events_per_user: options.max_events_per_user.unwrap_or(MAX_EVENTS_PER_USER),
        ..abi::Parameters::new(name.algorithm(), &params)?
    })
}

fn handles(object: &Object) -> Result<Vec<MapHandle>, Error> {
    SHARED
        .iter()
        .chain([&USERS])
        .map(|name| {
            object
                .maps()
                .find(|map| map.name() == *name)
                .ok_or_else(|| Error::Kernel {
                    what: (*name).to_owned(),
                    why: "not among the maps".to_owned(),
                })
                .and_then(|map| MapHandle::try_from(&map).map_err(|error| Error::kernel(name, &error)))
        })
        .collect()
}

/// A number of `/proc/self/fdinfo`; 0 where the kernel does not have it.
fn field(info: &str, name: &str) -> u64 {
    info.lines()
        .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        .unwrap_or(0)
}
