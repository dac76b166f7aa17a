//! The types of a spec.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Table;

use crate::{Hosts, Layer, ProfilePatch, QueueSize, Rate, Size, SpecError, Time, from_table};

/// An experiment: a network, transports, and traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Name of the experiment.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Simulated time, above 0.
    pub duration: Time,
    /// Where it runs.
    #[serde(default = "default_level")]
    pub level: String,
    /// Seed of everything random.
    #[serde(default = "default_seed")]
    #[schemars(range(max = i64::MAX))]
    pub seed: u64,
    /// The network: its kind and that kind's own fields.
    pub topology: KindSpec,
    /// The queues at the heads of all links.
    pub queues: Queues,
    /// Layers whose links differ, by their names in the table `links`, such as "agg-core". Each direction is a
    /// layer of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layers: BTreeMap<String, Layer>,
    /// What hosts do apart from their transports.
    #[serde(default, skip_serializing_if = "Hosts::is_empty")]
    pub hosts: Hosts,
    /// Transports, by name.
    pub transports: BTreeMap<String, TransportSpec>,
    /// Who sends what when.
    pub traffic: Vec<Traffic>,
    /// What to record in addition to the tables that every run yields.
    #[serde(default)]
    pub probes: Vec<KindSpec>,
    /// How flows share links at level "flow". By default rates are max-min fair if flows have a size, and the
    /// equilibrium of the congestion control otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<RateSharing>,
    /// Changes of links during the run. Entries of the same time take effect in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<LinkEventSpec>,
    /// A controller, which sees the whole network and gives subflows their paths at fixed times: its kind and
    /// that kind's own fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<KindSpec>,
    /// A condition that ends the experiment before `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The part of the run in which links, queues and goodput are measured; by default all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
    /// What `weft sweep` varies. A single run takes no notice of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

/// What `weft sweep` varies, unless its command says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Fields and their values, as `--over` takes them: "transports.amp.cc=amp,xmp,dcm", "traffic[0].flows=10:40:10". Several make
    /// all combinations, of which the last varies fastest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<String>,
    /// Runs of every combination, with seeds from the spec's own on.
    #[serde(default = "default_seeds")]
    #[schemars(range(min = 1, max = 1000))]
    pub seeds: u32,
}

/// How flows share links where there are no packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum RateSharing {
    /// Rates at which the congestion control is in equilibrium.
    Equilibrium,
    /// Max-min fair rates of connections, whatever the congestion control.
    MaxMin,
}

impl fmt::Display for RateSharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equilibrium => "\"equilibrium\"",
            Self::MaxMin => "\"max-min\"",
        })
    }
}

/// The part of a run in which links, queues and goodput are measured, so that slow start can be left out.
/// Events at `start` are included, events at `stop` are not. The times, windows and counters of flows are those
/// of the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// When it begins.
    #[serde(default)]
    pub start: Time,
    /// When it ends, at most `duration`, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
}

impl Measure {
    fn check(&self, duration: Time) -> Result<(), SpecError> {
        let stop = self.stop.unwrap_or(duration);
        if stop > duration {
            let allowed = format!("at most {duration}, the experiment's duration");
            return Err(SpecError::new("stop", stop.to_string(), allowed));
        }
        if self.start >= stop {
            let allowed = format!("below {stop}, where the measurement ends");
            return Err(SpecError::new("start", self.start.to_string(), allowed));
        }
        Ok(())
    }
}

/// Ends the experiment once a number of flows of a class have all their data acknowledged: at the first whole
/// millisecond of simulated time at or after the last of them, or at a multiple of a shorter interval if
/// `duration` is below a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Name of a class, or of a traffic entry for its flows outside its classes.
    pub class: String,
    /// Number of its flows.
    #[schemars(range(min = 1, max = i64::MAX))]
    pub flows: u64,
}

/// A change of links: they go down, come back, or get another rate or delay. Links are chosen by name, by
/// node or by layer; a fraction of the chosen links may be drawn at random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Event")]
pub struct LinkEventSpec {
    /// Time of the change. It takes effect before anything else at that time. A packet whose last bit leaves then has left.
    pub at: Time,
    /// Links by their ends, such as "tor0.1->agg0.0".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// All links from and to these nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// All links of a layer, such as "agg-core".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// The part of the chosen links to draw, above 0 and at most 1. With the same seed, every event of a run
    /// draws the same links; a smaller fraction draws a subset of a larger one.
    #[serde(default = "default_fraction")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub fraction: f64,
    /// Whether the change also applies to the links in the other direction.
    #[serde(default = "default_bidirectional")]
    pub bidirectional: bool,
    /// "down": packets that are queued or being sent are lost, packets on the wire arrive, and packets that
    /// come later are lost. "up": the link works again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<LinkState>,
    /// The new rate, from the next packet on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The new propagation delay. Packets on the wire arrive at most this long after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Time until routing knows that links went down or came back. From then on flows get paths that avoid
    /// dead links; until then packets are sent to dead links and lost.
    #[serde(default)]
    pub detection_delay: Time,
}

/// Does a link work?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LinkState {
    /// No.
    Down,
    /// Yes.
    Up,
}

/// Something open: a name that a registry knows, and the fields that go with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Kind")]
pub struct KindSpec {
    /// Name in its registry.
    pub kind: String,
    /// Fields of that kind.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: Table,
}

/// The FIFO queues at the heads of links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queues {
    /// Capacity of the queue, without the packet being sent. A packet that finds this many packets waiting,
    /// or would exceed this many bytes, is dropped.
    pub limit: QueueSize,
    /// Marking threshold K: an ECN-capable packet that finds at least this much waiting is marked. "off"
    /// marks nothing.
    #[serde(default)]
    pub mark: Mark,
    /// Queues of the hosts' own ports, where they differ.
    #[serde(default)]
    pub host: HostQueues,
}

/// The queues of the hosts' own ports. Fields that are left out are as in the switches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostQueues {
    /// Capacity of the queue, without the packet being sent. A packet that finds this many packets waiting,
    /// or would exceed this many bytes, is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueSize>,
    /// Marking threshold K: an ECN-capable packet that finds at least this much waiting is marked. "off"
    /// marks nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// A marking threshold, or "off".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing is marked.
    #[default]
    Off,
    /// The marking threshold K.
    At(QueueSize),
}

/// Maximum number of subflows per connection. It exceeds the path diversity of any topology, and
/// the simulator stores the number in few bits.
pub const MAX_SUBFLOWS: u32 = 64;

/// A transport: congestion control, subflows, paths and a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Transport")]
pub struct TransportSpec {
    /// Congestion control: a name, or a table with the name and parameters.
    pub cc: Cc,
    /// Subflows of a connection; 1 is single path.
    #[serde(default = "default_subflows")]
    #[schemars(range(min = 1, max = MAX_SUBFLOWS))]
    pub subflows: u32,
    /// Which of the paths between two hosts each packet takes: the name of a path policy, or a table with
    /// name and parameters; by default the topology's own, mostly "ecmp".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<PathPolicySpec>,
    /// Application bytes that have to be acknowledged before the further subflows join.
    #[serde(default = "default_join_after")]
    pub join_after: Size,
    /// Which subflow gets the next packet; by default the profile's: "linux" in "linux", "round-robin" in "amp-2019".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Named settings of sender and receiver.
    #[serde(default = "default_profile")]
    pub profile: String,
    /// Settings that differ from the profile's.
    #[serde(default)]
    pub tcp: ProfilePatch,
}

/// Congestion control by name, with the parameters that are not left at their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cc {
    /// Name of the algorithm.
    pub name: String,
    /// Its parameters by name.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, f64>,
}

/// A path policy by name, with the parameters that are not left at their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PathPolicy")]
pub struct PathPolicySpec {
    /// Name of the policy.
    pub name: String,
    /// Its parameters.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: Table,
}

/// One pattern of traffic: its kind, its transport and that kind's own fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Name of the pattern.
    pub kind: String,
    /// Name of the transport.
    pub transport: String,
    /// Name in tables; by default the kind, with the entry's index where the kind occurs more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Classes by size: a flow belongs to the first one whose threshold is above its size. What belongs to none is sent
    /// by the entry's own transport, in a class with the entry's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<SizeClass>,
    /// Fields of that kind.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: Table,
}

/// Flows below a size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeClass {
    /// Name of the class, in the column `class`.
    pub name: String,
    /// Flows of fewer bytes belong to this class, except those of an earlier class.
    pub below: Size,
    /// Name of their transport.
    pub transport: String,
}

fn default_seed() -> u64 {
    1
}

fn default_seeds() -> u32 {
    1
}

fn default_fraction() -> f64 {
    1.0
}

fn default_bidirectional() -> bool {
    true
}

fn default_subflows() -> u32 {
    1
}

fn default_join_after() -> Size {
    Size(0)
}

fn default_level() -> String {
    "packet".to_owned()
}

fn default_profile() -> String {
    "linux".to_owned()
}

impl Spec {
    /// Converts a table to a spec, and checks everything that needs no registry: the queues, the
    /// duration, the names.
    ///
    /// # Errors
    /// Returns the first error, with its path.
    pub fn from_table(table: &Table) -> Result<Self, SpecError> {
        let spec: Spec = from_table(table)?;
        if spec.name.trim().is_empty() {
            return Err(SpecError::new(
                "name",
                format!("{:?}", spec.name),
                "a name that is not empty",
            ));
        }
        if spec.duration == Time(0) {
            return Err(SpecError::new("duration", "0s", "a time above 0"));
        }
        spec.queues.check().map_err(|error| error.within("queues"))?;
        spec.hosts.check().map_err(|error| error.within("hosts"))?;
        if let Some(measure) = &spec.measure {
            measure
                .check(spec.duration)
                .map_err(|error| error.within("measure"))?;
        }
        match &spec.sweep {
            Some(sweep) if !(1..=1000).contains(&sweep.seeds) => Err(SpecError::new(
                "sweep.seeds",
                sweep.seeds.to_string(),
                "1 to 1000",
            )),
            _ => Ok(spec),
        }
    }
}

impl Queues {
    /// Returns the limit and the marking threshold of the hosts' own ports.
    pub fn host(&self) -> (QueueSize, Mark) {
        (
            self.host.limit.unwrap_or(self.limit),
            self.host.mark.unwrap_or(self.mark),
        )
    }

    fn check(&self) -> Result<(), SpecError> {
        check_queue(self.limit, self.mark)?;
        let (limit, mark) = self.host();
        check_queue(limit, mark).map_err(|error| error.within("host"))
    }
}

/// Checks that the limit is above 0 and the threshold not above the limit. Packets and bytes cannot
/// be compared, so one of each passes.
///
/// # Errors
/// Returns an error with the path of the field.
pub fn check_queue(limit: QueueSize, mark: Mark) -> Result<(), SpecError> {
    if matches!(limit, QueueSize::Packets(0) | QueueSize::Bytes(0)) {
        return Err(SpecError::new(
            "limit",
            format!("{limit} drops every packet"),
            "packets or bytes above 0",
        ));
    }
    let above = match (mark, limit) {
        (Mark::At(QueueSize::Packets(mark)), QueueSize::Packets(limit)) => mark > limit,
        (Mark::At(QueueSize::Bytes(mark)), QueueSize::Bytes(limit)) => mark > limit,
        _ => false,
    };
    if above {
        return Err(SpecError::new(
            "mark",
            format!("{mark} is above the limit of {limit}"),
            format!("at most {limit}"),
        ));
    }
    Ok(())
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mark::Off => f.write_str("off"),
            Mark::At(amount) => amount.fmt(f),
        }
    }
}

impl FromStr for Mark {
    type Err = SpecError;
    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text == "off" {
            return Ok(Mark::Off);
        }
        text.parse().map(Mark::At).map_err(|error: SpecError| SpecError {
            allowed: format!("\"off\", or {}", error.allowed),
            ..error
        })
    }
}

impl Serialize for Mark {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MarkVisitor;
        impl Visitor<'_> for MarkVisitor {
            type Value = Mark;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"off\", or packets or bytes with a unit, such as \"10 packets\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Mark, E> {
                text.parse().map_err(E::custom)
            }
        }
        from.deserialize_any(MarkVisitor)
    }
}

impl JsonSchema for Mark {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mark".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let amount = QueueSize::json_schema(generator);
        let pattern = amount.get("pattern").and_then(|p| p.as_str()).unwrap_or_default();
        schemars::json_schema!({ "type": "string", "pattern": format!("^off$|{pattern}"), "examples": ["10 packets", "off"] })
    }
}

impl<'de> Deserialize<'de> for Cc {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (name, parameters) = from.deserialize_any(Named {
            expecting: "the name of an algorithm, or a table with name and parameters",
            parameters: BTreeMap::new(),
        })?;
        Ok(Self { name, parameters })
    }
}

impl<'de> Deserialize<'de> for PathPolicySpec {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (name, params) = from.deserialize_any(Named {
            expecting: "the name of a path policy, or a table with name and parameters",
            parameters: Table::new(),
        })?;
        Ok(Self { name, params })
    }
}

/// A visitor that reads a name, or a table with the name and parameters.
struct Named<P> {
    expecting: &'static str,
    parameters: P,
}

impl<'de, V: Deserialize<'de>, P: Extend<(String, V)> + IntoIterator<Item = (String, V)>> Visitor<'de>
    for Named<P>
{
    type Value = (String, P);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok((name.to_owned(), self.parameters))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut name = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "name" {
                name = Some(map.next_value()?);
            } else {
                self.parameters.extend([(key, map.next_value()?)]);
            }
        }
        let name = name.ok_or_else(|| serde::de::Error::missing_field("name"))?;
        Ok((name, self.parameters))
    }
}
