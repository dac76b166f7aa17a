//! The types of a spec.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Table;

use crate::{
    Hosts, Layer, QueueKindSpec, QueueSize, Rate, Size, SpecError, Time, Within, from_table, inline_schema,
    refuse,
};

/// An experiment: a network, transports, and traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Name of the experiment.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Simulated time, above 0.
    pub duration: Time,
    /// Level, that is, how the experiment runs.
    #[serde(default = "default_level")]
    pub level: String,
    /// Seed of everything random.
    #[serde(default = "default_seed")]
    #[schemars(range(max = i64::MAX))]
    pub seed: u64,
    /// The network: a kind of topology, with the fields of that kind.
    pub topology: KindSpec,
    /// Kind, limits and marking thresholds of the queues that feed the links.
    pub queues: Queues,
    /// Settings of layers whose links differ from the others, by layer name, such as "agg-core".
    /// The column `layer` of the table `links` has the names. Each direction is a layer of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layers: BTreeMap<String, Layer>,
    /// Settings of single links, by the names of their ends, such as "agg0.0->core0.0". Each direction
    /// is a link of its own. If several links connect two nodes, all of them are set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, Layer>,
    /// Settings of hosts, which all transports of a host share.
    #[serde(default, skip_serializing_if = "Hosts::is_empty")]
    pub hosts: Hosts,
    /// Transports, by name.
    pub transports: BTreeMap<String, TransportSpec>,
    /// Traffic: which hosts send how much data, and when.
    pub traffic: Vec<Traffic>,
    /// Probes, which record more than the tables that every run yields.
    #[serde(default)]
    pub probes: Vec<KindSpec>,
    /// How flows share links at level "flow". By default rates are max-min fair if flows have a size, and the
    /// equilibrium of the congestion control otherwise.
    pub sharing: Option<RateSharing>,
    /// Changes of links during the run. Changes at the same time take effect in the order in which
    /// they are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<LinkEventSpec>,
    /// A controller, which observes the whole network and assigns paths to subflows at fixed times:
    /// a kind of controller, with the fields of that kind.
    pub controller: Option<KindSpec>,
    /// A condition that ends the experiment before `duration`.
    pub stop: Option<Stop>,
    /// Measurement window, the part of the run in which links, queues and goodput are measured; by
    /// default the whole run.
    pub measure: Option<Measure>,
    /// Fields and seeds that `weft sweep` varies. A single run ignores them.
    pub sweep: Option<Sweep>,
}

/// Fields and seeds that `weft sweep` varies, unless options of the command replace them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Fields and their values, in the form of the option `--over`:
    /// `transports.amp.cc=amp,xmp,dcm`, `traffic[0].flows=10:40:10`. Several fields make all
    /// combinations, and the last field varies fastest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<String>,
    /// Number of runs per combination, with consecutive seeds from the spec's seed.
    #[serde(default = "crate::default_number::<1>")]
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

/// The measurement window: the part of a run in which links, queues and goodput are measured, for
/// example without slow start. Events at `start` are included, events at `stop` are not. Times,
/// windows and counters of flows always cover the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Start of the window.
    #[serde(default)]
    pub start: Time,
    /// End of the window, at most `duration`, which is the default.
    pub stop: Option<Time>,
}

impl Measure {
    fn check(&self, duration: Time) -> Result<(), SpecError> {
        let stop = self.stop.unwrap_or(duration);
        if stop > duration {
            let allowed = format!("at most {duration}, the experiment's duration");
            return refuse("stop", stop, allowed);
        }
        if self.start >= stop {
            let allowed = format!("below {stop}, the end of the measurement");
            return refuse("start", self.start, allowed);
        }
        Ok(())
    }
}

/// A condition that ends the experiment: a number of flows of a class have all their data
/// acknowledged. The run ends at the first whole millisecond of simulated time at or after the last
/// of these acknowledgements. If `duration` is below a second, the interval is shorter than a
/// millisecond.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Name of a class, or of a traffic entry for those of its flows that are in no class.
    pub class: String,
    /// Number of flows, at most those of the class. If the number of flows depends on the seed, a
    /// class with fewer flows gives a warning.
    #[schemars(range(min = 1))]
    pub flows: u64,
}

/// A change of links: they go down, come up, or get another rate or delay. Links are selected by
/// name, by node or by layer; a fraction of the selected links may be drawn at random.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Event")]
pub struct LinkEventSpec {
    /// Time of the change, which takes effect before all other events at that time. A packet whose
    /// last bit leaves at that time has already left.
    pub at: Time,
    /// Links by the names of their ends, such as "tor0.1->agg0.0".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Nodes, for all links from and to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Name of a layer, such as "agg-core", for all its links.
    pub layer: Option<String>,
    /// Fraction of the selected links that change, above 0 and at most 1. With the same seed, every
    /// event of a run draws the same links; a smaller fraction draws a subset of a larger one.
    #[serde(default = "default_fraction")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    pub fraction: f64,
    /// Whether the links in the other direction change as well.
    #[serde(default = "default_bidirectional")]
    pub bidirectional: bool,
    /// "down": queued packets and packets in transmission are lost, packets on the wire arrive, and
    /// later packets are lost. "up": the link works again. At least one of the links must be down.
    pub state: Option<LinkState>,
    /// New rate, from the next packet on; not together with "down".
    pub rate: Option<Rate>,
    /// New propagation delay, not together with "down". Packets on the wire arrive at most this long
    /// after the change.
    pub delay: Option<Time>,
    /// Time until routing detects that links went down or came up. From then on, flows get paths
    /// without down links; until then, packets are sent to down links and lost.
    #[serde(default)]
    pub detection_delay: Time,
}

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LinkState {
    /// The link loses all packets.
    Down,
    /// The link works.
    Up,
}

/// A kind by its name in a registry, with the fields of that kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Kind")]
pub struct KindSpec {
    /// Name of the kind.
    pub kind: String,
    /// Fields of that kind.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: Table,
}

/// The queues that feed the links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Queues {
    /// Kind of the queues: a name, or a table with the name and parameters. Other kinds than "fifo"
    /// exist at level "packet" only.
    #[serde(default, skip_serializing_if = "QueueKindSpec::is_default")]
    pub kind: QueueKindSpec,
    /// Capacity of the queue, not counting the packet in transmission. A packet is dropped if it
    /// finds this many packets waiting, or if it would exceed this many bytes.
    pub limit: QueueSize,
    /// Marking threshold K: an ECN-capable packet is marked if it finds at least this much waiting.
    /// "off" marks no packet.
    #[serde(default)]
    pub mark: Mark,
    /// Queues of the hosts' own ports, if they differ.
    #[serde(default)]
    pub host: HostQueues,
}

/// The queues of the hosts' own ports. A missing field has the value of `queues`.
// The schema has the default of this table, without the fields that it lacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostQueues {
    /// Capacity of the queue, not counting the packet in transmission. A packet is dropped if it
    /// finds this many packets waiting, or if it would exceed this many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueSize>,
    /// Marking threshold K: an ECN-capable packet is marked if it finds at least this much waiting.
    /// "off" marks no packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
}

/// A marking threshold, or "off".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// No packet is marked.
    #[default]
    Off,
    /// The marking threshold K.
    At(QueueSize),
}

/// The last traffic class: IEEE 802.1Q has eight.
pub const MAX_CLASS: u8 = 7;

/// A transport: its kind, the traffic classes of its packets, and the fields of that kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Transport")]
pub struct TransportSpec {
    /// Kind of transport, that is, the protocol. "tcp" is MPTCP if there are several subflows.
    #[serde(default = "default_transport_kind")]
    pub kind: String,
    /// Traffic class of all packets that the senders of flows send, for queues that have classes.
    /// Strict classes are served in the order of their numbers.
    #[serde(default, skip_serializing_if = "is_first")]
    #[schemars(range(max = MAX_CLASS))]
    pub class: u8,
    /// Traffic class of all packets that the receivers of flows send, such as acknowledgements. The
    /// default is `class`.
    #[schemars(range(max = MAX_CLASS))]
    pub ack_class: Option<u8>,
    /// Fields of that kind.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: Table,
}

/// A traffic entry: its kind, its transport and the fields of that kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Name of the kind.
    pub kind: String,
    /// Name of the transport.
    pub transport: String,
    /// Name in tables; by default the kind, with the entry's index if several entries have this
    /// kind.
    pub name: Option<String>,
    /// Classes by size, in order of rising thresholds. A flow belongs to the first class whose
    /// threshold is above its size. A flow in no class uses the entry's own transport, and its
    /// class has the entry's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<SizeClass>,
    /// Fields of that kind.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub params: Table,
}

/// A class of flows below a size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeClass {
    /// Name of the class, in the column `class`.
    pub name: String,
    /// Threshold: flows of fewer bytes belong to this class, except those of an earlier class.
    pub below: Size,
    /// Name of the transport of these flows.
    pub transport: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(class: &u8) -> bool {
    *class == 0
}

fn default_seed() -> u64 {
    1
}

fn default_fraction() -> f64 {
    1.0
}

fn default_bidirectional() -> bool {
    true
}

fn default_level() -> String {
    "packet".to_owned()
}

fn default_transport_kind() -> String {
    "tcp".to_owned()
}

impl Spec {
    /// Returns true if a traffic entry uses this transport. The other transports have no effect.
    pub fn has_traffic_of(&self, transport: &str) -> bool {
        let mut entries = self.traffic.iter();
        entries.any(|entry| {
            entry.transport == transport || entry.classes.iter().any(|class| class.transport == transport)
        })
    }

    /// Converts a table to a spec, and checks everything that needs no registry: the queues, the
    /// duration, the names.
    ///
    /// # Errors
    /// Returns the first error, with its path.
    pub fn from_table(table: &Table) -> Result<Self, SpecError> {
        let spec: Spec = from_table(table)?;
        check_name(&spec.name).within("name")?;
        spec.duration.above_zero("duration")?;
        for name in spec.transports.keys() {
            check_name(name).within("transports")?;
        }
        for (i, entry) in spec.traffic.iter().enumerate() {
            if let Some(name) = &entry.name {
                check_name(name).within(&format!("traffic[{i}].name"))?;
            }
            for (c, class) in entry.classes.iter().enumerate() {
                check_name(&class.name).within(&format!("traffic[{i}].classes[{c}].name"))?;
            }
        }
        spec.queues.check().within("queues")?;
        spec.hosts.check().within("hosts")?;
        if let Some(measure) = &spec.measure {
            measure.check(spec.duration).within("measure")?;
        }
        Ok(spec)
    }
}

/// Checks a name that tables, plots and messages show on one line.
fn check_name(name: &str) -> Result<(), SpecError> {
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        return refuse("", format!("{name:?}"), "a non-empty name on one line");
    }
    Ok(())
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
        check_queue(limit, mark).within("host")
    }
}

/// Checks that the limit is above 0 and the threshold not above the limit. Packets and bytes cannot
/// be compared, so one of each passes.
///
/// # Errors
/// Returns an error with the path of the field.
pub fn check_queue(limit: QueueSize, mark: Mark) -> Result<(), SpecError> {
    if matches!(limit, QueueSize::Packets(0) | QueueSize::Bytes(0)) {
        return refuse(
            "limit",
            format!("{limit} drops every packet"),
            "packets or bytes above 0",
        );
    }
    if matches!(mark, Mark::At(mark) if mark > limit) {
        return refuse(
            "mark",
            format!("{mark} is above the limit of {limit}"),
            format!("at most {limit}"),
        );
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

inline_schema!(Mark, |generator| {
    let amount = QueueSize::json_schema(generator);
    let pattern = amount.get("pattern").and_then(|p| p.as_str()).unwrap_or_default();
    schemars::json_schema!({ "type": "string", "pattern": format!("^off$|{pattern}"), "examples": ["10 packets", "off"] })
});
