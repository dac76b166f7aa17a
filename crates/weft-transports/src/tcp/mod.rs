//! Parameters of TCP: congestion control, subflows, their paths and joins, a scheduler and a profile.

mod mode;
mod profile;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use weft_cc::{Algorithm, CongestionControl, Echo};
use weft_fabric::Fabric;
use weft_paths::{Granularity, PathPolicy, Policy};
use weft_spec::{
    Cc, PathPolicySpec, Size, SpecError, Time, TransportSpec, Within, conflict, from_table, refuse, to_table,
};

pub use mode::TcpMode;
pub use profile::{
    AckSettings, ConnectionSettings, HandshakeSettings, JoinSettings, LossSettings, MarkSettings,
    NamedProfile, PROFILES, Profile, ProfilePatch, Recovery, RecoveryOptions, RoundEnd, RtoEstimator,
    RtoSettings, SegmentSizes, WindowSettings, WindowValidation,
};

use crate::resolve::path_policy;
use crate::{Context, FctFrom, Kind, PacketSizes, Parameters, Resolved, TransportConfig};

/// Maximum number of subflows per connection. It exceeds the path diversity of any topology, and
/// the simulator stores the number in few bits.
pub const MAX_SUBFLOWS: u32 = 64;

/// TCP and multipath TCP.
pub struct Tcp;

/// The fields of a transport of kind "tcp".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpSpec {
    /// Congestion control: a name, or a table with the name and parameters. Required if the kind is
    /// "tcp".
    #[serde(default, skip_serializing_if = "Cc::is_absent")]
    pub cc: Cc,
    /// Subflows per connection, or per flow of kind "swift"; 1 is single path.
    #[serde(default = "weft_spec::default_number::<1>")]
    #[schemars(range(min = 1, max = MAX_SUBFLOWS))]
    pub subflows: u32,
    /// Path policy, which chooses one of the paths between two hosts for each packet: a name, or a
    /// table with the name and parameters. The default depends on the topology and is mostly
    /// "ecmp".
    pub paths: Option<PathPolicySpec>,
    /// Application bytes that must be acknowledged before the additional subflows join. The default
    /// of `weftd` is 256KB.
    #[serde(default = "default_join_after")]
    pub join_after: Size,
    /// Packet scheduler, which selects the subflow of the next packet. The default is the
    /// profile's: "linux" in "linux", and "round-robin" in all others.
    pub scheduler: Option<String>,
    /// Profile, that is, named settings of sender and receiver.
    #[serde(default = "default_profile")]
    pub profile: String,
    /// Settings that differ from those of the profile.
    #[serde(default)]
    pub tcp: ProfilePatch,
}

impl TcpSpec {
    /// Reads the fields of a transport.
    ///
    /// # Errors
    /// Returns an error if they are not those of TCP.
    pub fn from_spec(transport: &TransportSpec) -> Result<Self, SpecError> {
        from_table(&transport.params)
    }
}

fn default_join_after() -> Size {
    Size(0)
}

fn default_profile() -> String {
    PROFILES[0].name.to_owned()
}

/// Returns the name of the profile of a transport with these fields; the default one for a kind without profiles.
pub fn profile_name(given: &Table) -> &str {
    given
        .get("profile")
        .and_then(Value::as_str)
        .unwrap_or(PROFILES[0].name)
}

/// The policy that chooses the subflow for the next chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Subflows with window space in rotation.
    RoundRobin,
    /// The subflow with the lowest smoothed round-trip time of those with window space.
    LowestRtt,
    /// The policy of Linux: a burst of 64 KB goes to the subflow that would be the first to have
    /// sent all its data.
    Linux,
}

/// A packet scheduler with its name.
pub struct NamedScheduler {
    /// Name in a spec.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// The scheduler.
    pub scheduler: Scheduler,
}

/// All packet schedulers.
pub const SCHEDULERS: &[NamedScheduler] = &[
    NamedScheduler {
        name: "round-robin",
        about: "subflows with window space, in turn (default of profile amp-2019)",
        scheduler: Scheduler::RoundRobin,
    },
    NamedScheduler {
        name: "lowest-rtt",
        about: "the subflow with the lowest smoothed RTT among those with window space",
        scheduler: Scheduler::LowestRtt,
    },
    NamedScheduler {
        name: "linux",
        about: "bursts, ahead of windows, to the subflow that will finish first, as in Linux (default of profile linux)",
        scheduler: Scheduler::Linux,
    },
];

/// The parameters of a transport of kind "tcp".
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// Congestion control with its parameters; every connection starts with a clone.
    pub cc: Algorithm,
    /// Number of subflows of a connection, at least 1.
    pub subflows: u32,
    /// Acknowledged bytes after which the additional subflows join.
    pub join_after: Size,
    /// Packet scheduler.
    pub scheduler: Scheduler,
    /// All other settings of sender and receiver.
    pub profile: Profile,
}

impl TcpConfig {
    /// Returns true if chunks are assigned to subflows before their windows have room.
    pub fn uses_send_queues(&self) -> bool {
        self.scheduler == Scheduler::Linux && self.subflows > 1
    }
}

impl TransportConfig {
    /// Returns the parameters of a transport of kind "tcp"; `None` for another kind.
    pub fn tcp(&self) -> Option<&TcpConfig> {
        self.parameters_of()
    }

    /// Returns the parameters of a transport of kind "tcp", the only kind of some levels.
    ///
    /// # Panics
    /// Panics for a transport of another kind.
    pub fn expect_tcp(&self) -> &TcpConfig {
        self.tcp().expect("a transport of kind tcp")
    }

    /// Returns the mode of TCP that comes with the path policy.
    pub fn mode(&self) -> TcpMode<'_> {
        TcpMode::from_policy(&self.paths)
    }
}

impl Parameters for TcpConfig {
    fn sizes(&self) -> PacketSizes {
        let profile = &self.profile;
        PacketSizes {
            payload: profile.sizes.mss,
            header: profile.sizes.header,
            control: profile.sizes.ack_size,
        }
    }

    fn subflows(&self) -> u32 {
        self.subflows
    }

    fn refused_write_rate(&self) -> Option<&'static str> {
        None
    }

    fn syn_timeout(&self) -> Option<Time> {
        Some(self.profile.rto.initial_rto)
    }

    fn fct_from(&self) -> FctFrom {
        self.profile.connection.fct_from
    }
}

impl Kind for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn about(&self) -> &'static str {
        "TCP, and multipath TCP with more than one subflow (default)"
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        TcpSpec::json_schema(generator)
    }

    fn resolve(&self, given: &Table, context: &Context<'_>) -> Result<Resolved, SpecError> {
        let mut spec: TcpSpec = from_table(given)?;
        if spec.cc.is_absent() {
            let remedy = "add the name of a congestion control";
            return conflict("cc", "required field is missing", remedy);
        }
        let cc;
        (spec.cc, cc) = (context.congestion_control)(&spec.cc)?;
        let base = PROFILES.iter().find(|named| named.name == spec.profile);
        let base = base.ok_or_else(|| {
            SpecError::unknown_name("profile", &spec.profile, PROFILES.iter().map(|named| named.name))
        })?;
        let scheduler = spec.scheduler.get_or_insert_with(|| base.scheduler.to_owned());
        let named = SCHEDULERS.iter().find(|named| named.name == *scheduler);
        let named = named.ok_or_else(|| {
            SpecError::unknown_name("scheduler", scheduler, SCHEDULERS.iter().map(|named| named.name))
        })?;
        let profile = spec.tcp.apply(&(base.build)()).within("tcp")?;
        let (paths, policy) = path_policy(spec.paths.as_ref(), context)?;
        let (subflows, join_after) = (spec.subflows, spec.join_after);
        check_marks(&paths.name, &policy, &spec.cc.name, &cc)?;
        check_mode(&paths.name, &policy, &spec, &profile)?;
        check_multipath(context.fabric, &policy, &paths.name)?;
        spec.paths = Some(paths);
        spec.tcp = ProfilePatch(to_table(&profile));
        let config = TcpConfig {
            cc,
            subflows,
            join_after,
            scheduler: named.scheduler,
            profile,
        };
        Ok(Resolved {
            paths: Some(policy),
            ..Resolved::new(to_table(&spec), config)
        })
    }
}

/// Checks that a policy that reads marks has an algorithm with ECN.
fn check_marks(name: &str, policy: &Policy, cc_name: &str, cc: &Algorithm) -> Result<(), SpecError> {
    let reads_marks = policy.granularity(0, false) == Granularity::OnEvent;
    if !reads_marks || cc.echo() != Echo::Off {
        return Ok(());
    }
    conflict(
        "paths",
        format!("{name:?} reads ECN marks, and cc = {cc_name:?} has no ECN"),
        "use an algorithm with ECN, such as \"dctcp\"",
    )
}

/// Checks the number of subflows and their joins against the path policy. If the first subflow
/// hands over to other subflows, there must be other ones, and the policy decides when they join.
/// If paths are monitored, there must be a second subflow. The receiver must then not have the
/// fault of the simulator that sends no data on two subflows.
fn check_mode(name: &str, policy: &Policy, spec: &TcpSpec, profile: &Profile) -> Result<(), SpecError> {
    let mode = TcpMode::from_policy(policy);
    if matches!(mode, TcpMode::Standard) {
        return Ok(());
    }
    if spec.subflows == 1 {
        let given = format!("1 with paths = {name:?}, which moves data between subflows");
        return refuse("subflows", given, "at least 2");
    }
    if mode.monitor().is_some() && profile.connection.stall_on_held_data {
        return conflict(
            "tcp.stall_on_held_data",
            format!("excludes paths = {name:?}, which sends data of slow paths on two subflows"),
            "set it to false or use another policy",
        );
    }
    if mode.scatter().is_some() && spec.join_after != Size(0) {
        return conflict(
            "join_after",
            format!("not used with paths = {name:?}"),
            "set paths.threshold instead",
        );
    }
    Ok(())
}

/// Checks that hosts have several paths to each other if packets change their paths. If there are
/// very many hosts, only some are checked.
fn check_multipath(fabric: &Fabric, policy: &Policy, name: &str) -> Result<(), SpecError> {
    const MAX_HOSTS: usize = 64;
    if policy.granularity(0, false) == Granularity::Subflow {
        return Ok(());
    }
    let (first, last) = (
        fabric.hosts.iter().take(MAX_HOSTS),
        fabric.hosts.iter().rev().take(MAX_HOSTS),
    );
    let mut pairs = first.flat_map(|&from| last.clone().map(move |&to| (from, to)));
    if pairs.any(|(from, to)| fabric.routing.path_count(from, to) > 1) {
        return Ok(());
    }
    conflict(
        "paths",
        format!("{name:?} needs several paths between hosts, and this topology has one"),
        "use a policy that keeps the path, such as \"ecmp\"",
    )
}
