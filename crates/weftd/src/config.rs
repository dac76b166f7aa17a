//! The daemon's configuration: TOML, in a file that only its owner may write.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use weft_spec::{Size, SpecError, Time, Within, from_table, read_table, refuse};

use crate::Failure;
use weft_kernel::path_manager::{Hysteresis, JoinConfig, JoinPolicy, Namespace};
use weft_kernel::programs::KernelAlgorithm;
use weft_kernel::programs::scope::{self, RULES};

mod namespaces;
mod rules;

pub use rules::Rule;

/// Default path of the configuration.
pub const PATH: &str = "/etc/weft/weftd.toml";

/// Configuration of `weftd run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Congestion control.
    pub congestion: Congestion,
    /// Subflows.
    pub subflows: Subflows,
    /// Suppression and release.
    pub suppression: Suppression,
    /// Metrics.
    pub metrics: Metrics,
    /// Logs.
    pub log: Log,
    /// Sockets that get an algorithm without choosing one; the first rule that fits decides.
    pub rules: Vec<Rule>,
    /// Network namespaces to serve, by name or path, as they come and go; none: the daemon's own; `"*"`: all that have a name.
    pub namespaces: Vec<String>,
    /// One line for each name of an earlier version that the file uses.
    #[serde(skip)]
    #[schemars(skip)]
    pub warnings: Vec<String>,
}

/// Congestion control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Congestion {
    /// Algorithms to register with the kernel, such as `["weft_amp", "weft_dctcp"]`.
    pub algorithms: Vec<String>,
    /// Parameters of algorithms that differ from their defaults, such as `weft_amp = { tau = 8 }`. `dctcp_cut` of `weft_amp` is
    /// 1 unless it is set here.
    pub parameters: BTreeMap<String, BTreeMap<String, f64>>,
    /// The namespaces' default algorithm while the daemon runs; without it the default is left alone.
    pub default: Option<String>,
    /// Whether the sockets of every user may choose the algorithms. If not, that takes `CAP_NET_ADMIN`, and only the machine's
    /// own namespace can have one of them as its default.
    pub unprivileged: bool,
    /// Connections there is room for, TCP's that use one of the algorithms included: 16 to 1,048,576. Further ones are Reno and
    /// stay single-path.
    #[schemars(range(min = 16, max = 1_048_576))]
    pub max_connections: u32,
}

impl Default for Congestion {
    fn default() -> Self {
        Self {
            algorithms: KernelAlgorithm::ALL
                .iter()
                .map(|name| name.kernel().to_owned())
                .collect(),
            parameters: BTreeMap::new(),
            default: None,
            unprivileged: true,
            max_connections: 1 << 16,
        }
    }
}

/// When subflows are opened, how many, and between which addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Subflows {
    /// Subflows of a connection, the first one included: 1 to 8.
    #[schemars(range(min = 1, max = 8))]
    pub count: u8,
    /// Maximum number of subflows of an accepted connection, the first one included: 1 to 64. More are closed.
    #[schemars(range(min = 1, max = 64))]
    pub max_accepted: u8,
    /// Additional subflows are opened once this much has been acknowledged or received; `"0B"`: at once.
    pub join_after: Size,
    /// Pairs of addresses of subflows: `"ndiffports"` or `"fullmesh"`.
    pub policy: JoinPolicyName,
    /// This host's addresses for `policy = "fullmesh"`, of which each namespace uses those that it has: clients join from them,
    /// servers announce them. None: the namespace's `ip mptcp endpoint`s, or if there are none all its addresses.
    #[serde(deserialize_with = "addresses")]
    pub addresses: Vec<IpAddr>,
    /// Whether, with `policy = "fullmesh"`, subflows may go to announced ports other than the connection's.
    pub announced_ports: bool,
    /// The time after which MPTCP is switched on again for new connections. The kernel switches it off if a SYN with MPTCP was lost
    /// and one without was answered (`net.mptcp.blackhole_timeout`). None: the kernel's time applies.
    pub blackhole_reset: Option<Time>,
    /// Number of timeouts without progress after which a subflow is stale (`net.mptcp.stale_loss_cnt`): 1 to 64. Data that a
    /// stale subflow has not delivered is sent on the others, and it gets no new data.
    #[schemars(range(min = 1, max = 64))]
    pub stale_timeouts: u8,
}

/// Whether an address can be one of an interface between which subflows are opened.
fn may_be_joined(address: IpAddr) -> bool {
    let is_local = match address {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast(),
        // Interfaces have no IPv4 addresses within IPv6.
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.to_ipv4_mapped().is_some(),
    };
    !(is_local || address.is_loopback() || address.is_multicast() || address.is_unspecified())
}

/// Reads a list of addresses.
fn addresses<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<IpAddr>, D::Error> {
    let listed = Vec::<String>::deserialize(from)?;
    let parsed = listed.iter().enumerate().map(|(i, text)| {
        text.parse().map_err(|_| {
            let (given, allowed) = match text.split_once('/') {
                Some((address, _)) if address.parse::<IpAddr>().is_ok() => (
                    format!("{text:?} has a prefix length"),
                    format!("an address without one, such as {address:?}"),
                ),
                _ => (
                    format!("{text:?}"),
                    "an IPv4 or IPv6 address, such as \"10.0.0.1\"".to_owned(),
                ),
            };
            SpecError::new(format!("[{i}]"), given, allowed).to_serde_error()
        })
    });
    parsed.collect()
}

/// Reads an address with a port.
fn socket_address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map_err(|_| {
        let without_port = text.parse::<IpAddr>().is_ok();
        let given = format!("{text:?}{}", if without_port { " has no port" } else { "" });
        SpecError::new("", given, LISTEN).to_serde_error()
    })
}

/// Pairs of addresses between which subflows are opened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JoinPolicyName {
    /// All between the first subflow's addresses, with different ports.
    Ndiffports,
    /// Each between another pair of addresses.
    Fullmesh,
}

impl Default for Subflows {
    fn default() -> Self {
        Self {
            count: 4,
            max_accepted: 8,
            join_after: Size(256_000),
            policy: JoinPolicyName::Ndiffports,
            addresses: Vec::new(),
            announced_ports: false,
            blackhole_reset: None,
            stale_timeouts: 4,
        }
    }
}

impl Subflows {
    fn check(&self) -> Result<(), SpecError> {
        for (i, address) in self.addresses.iter().enumerate() {
            let path = format!("subflows.addresses[{i}]");
            if !may_be_joined(*address) {
                let allowed = "addresses of this host's network interfaces";
                return refuse(&path, address, allowed);
            }
            if self.addresses.iter().take(i).any(|other| other == address) {
                return refuse(&path, format!("{address} twice"), "each address once");
            }
        }
        if let Some(reset) = self.blackhole_reset
            && !(MIN_RESET..=MAX_RESET).contains(&reset)
        {
            return refuse("subflows.blackhole_reset", reset, "1s to 3600s");
        }
        Ok(())
    }
}

/// Minimum times between suppression and release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Suppression {
    /// Time for which the algorithm must request release without interruption.
    pub release_after: Time,
    /// Minimum duration of a suppression. It doubles with each suppression that follows within this time of the end of the
    /// previous one, up to eight times this value.
    pub min_cycle: Time,
}

impl Default for Suppression {
    fn default() -> Self {
        Self {
            release_after: Time::from_ms(100),
            min_cycle: Time::from_ms(500),
        }
    }
}

/// Metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {
    /// Whether to serve metrics for Prometheus.
    pub enabled: bool,
    /// A loopback address with a port, such as `"127.0.0.1:9464"`.
    #[serde(deserialize_with = "socket_address")]
    pub listen: SocketAddr,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: SocketAddr::from(([127, 0, 0, 1], 9464)),
        }
    }
}

/// Logs, on standard error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// `"error"`, `"warn"`, `"info"`, `"debug"` or `"trace"`.
    pub level: Level,
    /// `"text"` or `"json"`.
    pub format: Format,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            level: Level::Info,
            format: Format::Text,
        }
    }
}

/// Lowest severity of the lines that are written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the usual five")]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// A log line's form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Lines for people to read.
    Text,
    /// One JSON object a line.
    Json,
}

impl Config {
    /// Reads the file at `path`, or takes the defaults if `path` is `None` and there is none at [`PATH`].
    ///
    /// # Errors
    /// [`Failure::Input`]: it cannot be read, others may write it, or something in it is not understood.
    pub fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let at = path.unwrap_or(Path::new(PATH));
        let refuse = |why: String| Failure::Input(format!("{}: {why}", at.display()));
        // Without it, opening a FIFO would wait for a writer.
        let open = OpenOptions::new()
            .read(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(at);
        let mut file = match open {
            Ok(file) => file,
            Err(error) if path.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(refuse(error.to_string())),
        };
        let metadata = file.metadata().map_err(|error| refuse(error.to_string()))?;
        if !metadata.is_file() {
            return Err(refuse("not a regular file; allowed: a TOML file".to_owned()));
        }
        if metadata.len() > MAX_BYTES {
            return Err(refuse(format!(
                "{} bytes; allowed: {MAX_BYTES} at most",
                metadata.len()
            )));
        }
        writable_by_others(&metadata).map_err(refuse)?;
        check_folder(at).map_err(refuse)?;
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|error| refuse(error.to_string()))?;
        let mut config = Self::parse(&text).map_err(|error| refuse(error.to_string()))?;
        let is_empty = |line: &str| line.trim().is_empty() || line.trim().starts_with('#');
        if text.lines().all(is_empty) {
            config.warnings.push(format!(
                "{}: contains no setting; all have their defaults, and weftd serves its own network namespace only",
                at.display()
            ));
        }
        namespaces::check_files(&config.namespaces).map_err(|error| refuse(error.to_string()))?;
        Ok(config)
    }

    /// Reads a configuration's text.
    ///
    /// # Errors
    /// In one line where, what was given, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let config: Self = from_table(&read_table(text)?)?;
        let congestion = &config.congestion;
        for name in &congestion.algorithms {
            check_name(name).within("congestion.algorithms")?;
        }
        let mut sorted = congestion.algorithms.clone();
        sorted.sort();
        let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
        if let Some((twice, _)) = pairs.find(|(one, next)| one == next) {
            return refuse(
                "congestion.algorithms",
                format!("{twice:?} twice"),
                "each algorithm once",
            );
        }
        if congestion.algorithms.is_empty() {
            return refuse("congestion.algorithms", "[]", "at least one algorithm");
        }
        for (name, parameters) in &congestion.parameters {
            let path = format!("congestion.parameters.{name}");
            let name = check_name(name).within("congestion.parameters")?;
            let parameters: Vec<_> = parameters.clone().into_iter().collect();
            if let Err(error) = weft_cc::Algorithm::build(name.algorithm(), &parameters) {
                return refuse(
                    &path,
                    error,
                    "the parameters of the algorithm, within their ranges",
                );
            }
            let beta = parameters.iter().find(|(parameter, _)| parameter == "beta");
            if let (KernelAlgorithm::Lia, Some((_, beta))) = (name, beta)
                && *beta != 0.0
            {
                return refuse(format!("{path}.beta"), beta, "0: the kernel's LIA has no ECN");
            }
        }
        if let Some(name) = &config.congestion.default
            && !config.congestion.algorithms.contains(name)
        {
            return refuse(
                "congestion.default",
                format!("{name:?}"),
                "a name in congestion.algorithms",
            );
        }
        if config.congestion.default.is_some() && !congestion.unprivileged && !config.namespaces.is_empty() {
            let allowed = "true, where congestion.default is set in other network namespaces";
            return refuse("congestion.unprivileged", "false", allowed);
        }
        if config.rules.len() > RULES {
            return refuse("rules", config.rules.len(), "32 at most");
        }
        for (i, rule) in config.rules.iter().enumerate() {
            let read = rule.read(&congestion.algorithms);
            read.within(&format!("rules[{i}]"))?;
        }
        config.subflows.check()?;
        namespaces::check_names(&config.namespaces)?;
        if !config.metrics.listen.ip().is_loopback() || config.metrics.listen.port() == 0 {
            let listen = config.metrics.listen.to_string();
            return refuse("metrics.listen", listen, LISTEN);
        }
        Ok(config)
    }

    /// Returns the configuration of `weftd attach`: the algorithms to load, all if none is named, and the default.
    ///
    /// # Errors
    /// There is no such algorithm.
    pub fn attached(load: Vec<String>, default: Option<String>) -> Result<Self, SpecError> {
        let mut config = Self::default();
        for name in load.iter().chain(&default) {
            check_name(name)?;
        }
        if !load.is_empty() {
            config.congestion.algorithms = load;
        }
        if let Some(name) = &default
            && !config.congestion.algorithms.contains(name)
        {
            return refuse("--default", format!("{name:?}"), "an algorithm that is attached");
        }
        config.congestion.default = default;
        Ok(config)
    }

    /// Returns the parameters for the loader.
    pub fn parameters(&self) -> Vec<(KernelAlgorithm, Vec<(String, f64)>)> {
        let mut parameters = self.congestion.parameters.clone();
        // With the paper's 0 a suppressed connection takes less than its share
        // (docs/linux/coupling.md).
        let amp = parameters
            .entry(KernelAlgorithm::Amp.kernel().to_owned())
            .or_default();
        amp.entry("dctcp_cut".to_owned()).or_insert(1.0);
        parameters
            .iter()
            .filter_map(|(name, values)| {
                Some((
                    KernelAlgorithm::parse(name)?,
                    values.clone().into_iter().collect(),
                ))
            })
            .collect()
    }

    /// Returns the rules for the loader.
    pub fn rules(&self) -> Vec<scope::Rule> {
        let rules = self.rules.iter();
        rules
            .filter_map(|rule| rule.read(&self.congestion.algorithms).ok())
            .collect()
    }

    /// The namespaces to serve that are configured one by one.
    pub fn namespaces(&self) -> Vec<Namespace> {
        match self.namespaces.as_slice() {
            [] => vec![Namespace::current()],
            names => {
                let names = names.iter().filter(|name| *name != ALL);
                names.map(Namespace::named).collect()
            }
        }
    }

    /// Whether all namespaces that have a name are served.
    pub fn serves_all_named(&self) -> bool {
        self.namespaces.iter().any(|name| name == ALL)
    }

    /// Nanoseconds after which MPTCP is switched on again, if ever.
    pub fn blackhole_reset(&self) -> Option<u64> {
        self.subflows.blackhole_reset.map(|time| time.0 / 1_000)
    }

    /// Returns the settings of joins for the path manager.
    pub fn joins(&self) -> JoinConfig {
        JoinConfig {
            subflows: self.subflows.count.into(),
            min_bytes: self.subflows.join_after.0,
            policy: match self.subflows.policy {
                JoinPolicyName::Ndiffports => JoinPolicy::Ndiffports,
                JoinPolicyName::Fullmesh => JoinPolicy::Fullmesh,
            },
            addresses: self.subflows.addresses.clone(),
            max_probes: MAX_PROBES,
            max_accepted: self.subflows.max_accepted.into(),
            announced_ports: self.subflows.announced_ports,
        }
    }

    /// Returns the hysteresis for the path manager.
    pub fn hysteresis(&self) -> Hysteresis {
        let nanoseconds = |time: Time| time.0 / 1_000;
        Hysteresis {
            release_after: nanoseconds(self.suppression.release_after),
            min_cycle: nanoseconds(self.suppression.min_cycle),
        }
    }
}

/// An algorithm by the name that the kernel knows it by.
fn check_name(name: &str) -> Result<KernelAlgorithm, SpecError> {
    KernelAlgorithm::ALL
        .iter()
        .copied()
        .find(|known| known.kernel() == name)
        .ok_or_else(|| {
            let known: Vec<_> = KernelAlgorithm::ALL.iter().map(|name| name.kernel()).collect();
            SpecError::new("", format!("{name:?}"), known.join(", ")).suggest(name, known)
        })
}

/// Checks that other users can neither write to a program nor replace it.
///
/// # Errors
/// Returns the reason if they can.
pub(crate) fn refuse_if_others_write(program: &Path) -> Result<(), String> {
    let metadata = fs::metadata(program).map_err(|error| error.to_string())?;
    writable_by_others(&metadata)?;
    // Anyone who can write to the folder that holds a link can point the link elsewhere.
    let mut link = program.to_owned();
    for _ in 0..MAX_LINKS {
        check_folder(&link)?;
        let Ok(target) = fs::read_link(&link) else {
            return Ok(());
        };
        let folder = link.parent().unwrap_or(Path::new(""));
        link = folder.join(target);
    }
    Err("too many links".to_owned())
}

/// Checks that other users cannot replace a file by writing in its folder.
fn check_folder(file: &Path) -> Result<(), String> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let metadata = fs::metadata(folder).map_err(|error| error.to_string())?;
    if metadata.mode() & STICKY != 0 {
        return Ok(());
    }
    writable_by_others(&metadata).map_err(|why| format!("its folder {}: {why}", folder.display()))
}

/// Returns an error that names the other users who may write.
fn writable_by_others(metadata: &fs::Metadata) -> Result<(), String> {
    let own = nix::unistd::geteuid().as_raw();
    if metadata.uid() != 0 && metadata.uid() != own {
        return Err(format!(
            "belongs to user {}; allowed: root or user {own}",
            metadata.uid()
        ));
    }
    if metadata.mode() & OTHERS_WRITE != 0 {
        let mode = metadata.mode() & 0o7777;
        return Err(format!(
            "mode {mode:o}, so others can write to it; allowed: no write permission for group or others (chmod go-w)"
        ));
    }
    Ok(())
}

/// Maximum size of a configuration. A list of 4,096 namespaces has some 100 KB.
const MAX_BYTES: u64 = 1 << 20;
/// Links to a file that the kernel follows at most.
const MAX_LINKS: usize = 40;
const ALL: &str = "*";
/// The allowed values of `metrics.listen`.
const LISTEN: &str = "a loopback address with a port, such as \"127.0.0.1:9464\"";
const MIN_RESET: Time = Time::from_ms(1_000);
const MAX_RESET: Time = Time::from_ms(3_600_000);
/// Maximum number of connections that test the limit of a peer. A peer that takes no subflow rejects at most nine joins of them.
const MAX_PROBES: usize = 3;
const OTHERS_WRITE: u32 = 0o022;
/// Mode of a folder such as /tmp, in which users cannot replace files of others.
const STICKY: u32 = 0o1000;

#[cfg(test)]
mod tests;
