//! The kinds of probe: what can be recorded beside the tables that every run yields.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weft_fabric::{Fabric, NodeId};
use weft_packet::Probe;
use weft_spec::{Entry, Loaded, SpecError, Time, from_table, to_table};
use weft_traffic::{Flow, MAX_FLOWS, Program};

/// All kinds of probe.
pub(crate) const PROBES: &[Entry<dyn Probing>] = &[
    entry::<QueueProbe>(
        "queue",
        "a queue's length: time-weighted distribution, with `every` also samples in time",
    ),
    entry::<FlowProbe>(
        "flow",
        "cwnd, ssthresh and activity of every subflow of chosen flows: at an interval, or every change",
    ),
];

/// Most samples of one run: beyond them its traces would take gigabytes.
pub(crate) const MAX_SAMPLES: u128 = 50_000_000;

/// A kind of probe with its fields set.
pub(crate) trait Probing {
    /// The simulator's probes. Paths of errors are relative to the probe.
    fn place(&self, at: &Placement<'_>) -> Result<Vec<Probe>, SpecError>;
    /// Sampling interval, if it samples.
    fn every(&self) -> Option<Time>;
}

/// Where probes can be placed.
pub(crate) struct Placement<'a> {
    pub fabric: &'a Fabric,
    pub flows: &'a [Flow],
    pub programs: &'a [Arc<dyn Program>],
    pub traffic: &'a [String],
    links: HashMap<(&'a str, &'a str), u32>,
}

impl<'a> Placement<'a> {
    pub fn new(
        fabric: &'a Fabric,
        flows: &'a [Flow],
        programs: &'a [Arc<dyn Program>],
        traffic: &'a [String],
    ) -> Self {
        let name = |node: NodeId| fabric.nodes[node as usize].name.as_str();
        let links = fabric
            .links
            .iter()
            .zip(0..)
            .map(|(link, i)| ((name(link.from), name(link.to)), i))
            .collect();
        Self {
            fabric,
            flows,
            programs,
            traffic,
            links,
        }
    }
}

/// The probes of a spec's entries, each queue's distribution once. Returns the entries with every default filled in, too.
pub(crate) fn resolve(
    entries: &[weft_spec::Kind],
    at: &Placement<'_>,
    duration: Time,
    subflows: impl Fn(&Flow) -> u32,
) -> Result<(Vec<weft_spec::Kind>, Vec<Probe>), SpecError> {
    let (mut resolved, mut probes, mut samples) = (Vec::new(), Vec::new(), 0u128);
    let mut distributions = BTreeSet::new();
    for (i, entry) in entries.iter().enumerate() {
        let path = format!("probes[{i}]");
        let kind = weft_spec::find(PROBES, "kind", &entry.kind).map_err(|error| error.under(&path))?;
        let loaded = (kind.load)(&entry.params).map_err(|error| error.under(&path))?;
        if loaded.it.every() == Some(Time(0)) {
            return Err(SpecError::new("every", "0s", "a time above 0").under(&path));
        }
        for probe in loaded.it.place(at).map_err(|error| error.under(&path))? {
            let wide = match &probe {
                Probe::Queue { .. } => 0,
                Probe::Flow { flow, .. } => at.flows.get(*flow as usize).map_or(1, &subflows),
                // How many flows a program will have, and how long, only the run tells.
                Probe::QueueTrace { .. } | Probe::Program { .. } => 1,
            };
            let every = loaded.it.every().unwrap_or(duration);
            samples += u128::from(wide) * u128::from(duration.0 / every.0);
            if !matches!(probe, Probe::Queue { link } if !distributions.insert(link)) {
                probes.push(probe);
            }
        }
        if samples > MAX_SAMPLES {
            let given = format!("{samples} samples in all");
            let allowed = format!("longer intervals or fewer probes: at most {MAX_SAMPLES} samples");
            return Err(SpecError::new("every", given, allowed).under(&path));
        }
        resolved.push(weft_spec::Kind {
            kind: entry.kind.clone(),
            params: loaded.params,
        });
    }
    Ok((resolved, probes))
}

/// Queues at the heads of links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueueProbe {
    /// Links by the names of their ends, "FROM->TO", or all links of a layer, such as "tor-agg".
    #[schemars(length(min = 1), extend("examples" = [["s0->r0"], ["tor-agg"]]))]
    at: Vec<String>,
    /// Sampling interval of the trace; left out, only the distribution is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every: Option<Time>,
}

/// Windows of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FlowProbe {
    /// Name of a traffic entry; left out, flows of all entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traffic: Option<String>,
    /// Which of these flows, by index from 0; left out, all. Of a closed loop: of each loop the first, of each the second,
    /// and so on; of jobs: a job's requests, then its blocks. To choose among those, `traffic` must name their entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flows: Option<Indices>,
    /// Sampling interval; left out, every change is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every: Option<Time>,
}

/// Indices: a list, or a range "A..B" without B.
#[derive(Clone, Debug, PartialEq)]
enum Indices {
    Listed(Vec<u32>),
    Range(u32, u32),
}

impl Probing for QueueProbe {
    fn place(&self, at: &Placement<'_>) -> Result<Vec<Probe>, SpecError> {
        if self.at.is_empty() {
            return Err(SpecError::new(
                "at",
                "an empty list",
                "at least one link or layer",
            ));
        }
        let mut links = BTreeSet::new();
        for (i, place) in self.at.iter().enumerate() {
            let found = links_at(place, at).map_err(|error| error.under(&format!("at[{i}]")))?;
            links.extend(found);
        }
        let probes = links.into_iter().flat_map(|link| {
            let trace = self.every.map(|every| Probe::QueueTrace { link, every });
            [Some(Probe::Queue { link }), trace]
        });
        Ok(probes.flatten().collect())
    }

    fn every(&self) -> Option<Time> {
        self.every
    }
}

/// Indices of the link "FROM->TO", or of all links of the layer `place`.
fn links_at(place: &str, at: &Placement<'_>) -> Result<Vec<u32>, SpecError> {
    let links = &at.fabric.links;
    let refuse = |problem: String, allowed: String| Err(SpecError::new("", problem, allowed));
    if let Some((from, to)) = place.split_once("->") {
        let (from, to) = (from.trim(), to.trim());
        if let Some(&link) = at.links.get(&(from, to)) {
            return Ok(vec![link]);
        }
        let index = |name: &str| at.fabric.nodes.iter().position(|node| node.name == name);
        let Some(node) = index(from) else {
            let (first, last) = (
                &at.fabric.nodes[0].name,
                &at.fabric.nodes[at.fabric.nodes.len() - 1].name,
            );
            let allowed = format!("FROM->TO with names of nodes, from {first:?} to {last:?}");
            return refuse(format!("{place:?}: there is no node {from:?}"), allowed);
        };
        let mut ends: Vec<_> = links
            .iter()
            .filter(|link| link.from as usize == node)
            .map(|link| link.to)
            .collect();
        let total = ends.len();
        ends.truncate(8);
        let names: Vec<_> = ends
            .iter()
            .map(|&to| at.fabric.nodes[to as usize].name.as_str())
            .collect();
        let more = if total > names.len() {
            format!(", … ({total} in all)")
        } else {
            String::new()
        };
        return refuse(
            format!("{place:?}: {from} has no link to {to:?}"),
            format!("{}{more}", names.join(", ")),
        );
    }
    let found: Vec<_> = links
        .iter()
        .zip(0..)
        .filter(|(link, _)| link.layer == place)
        .map(|(_, i)| i)
        .collect();
    if found.is_empty() {
        let layers: BTreeSet<_> = links.iter().map(|link| format!("{:?}", link.layer)).collect();
        let layers: Vec<_> = layers.into_iter().collect();
        return refuse(
            format!("{place:?} is no layer"),
            format!("\"FROM->TO\", or a layer: {}", layers.join(", ")),
        );
    }
    Ok(found)
}

impl Probing for FlowProbe {
    fn place(&self, at: &Placement<'_>) -> Result<Vec<Probe>, SpecError> {
        let entry = match &self.traffic {
            None => None,
            Some(name) => {
                let found = at.traffic.iter().position(|traffic| traffic == name);
                Some(found.ok_or_else(|| {
                    let names: Vec<_> = at.traffic.iter().map(|name| format!("{name:?}")).collect();
                    SpecError::new("traffic", format!("{name:?} does not exist"), names.join(", "))
                })? as u32)
            }
        };
        let of_entry = |traffic: u32| entry.is_none_or(|entry| traffic == entry);
        let flows = at
            .flows
            .iter()
            .zip(0..)
            .filter(|(flow, _)| of_entry(flow.traffic));
        let programs = at.programs.iter().zip(0..);
        let programs = programs.filter(|(program, _)| of_entry(program.flow(0).traffic));
        let some = Choice {
            flows: flows.map(|(_, i)| i).collect(),
            program: programs
                .clone()
                .map(|(_, i)| i)
                .next()
                .filter(|_| entry.is_some()),
            at,
            every: self.every,
        };
        match &self.flows {
            None => {
                let every = self.every;
                let programs = programs.map(|(_, program)| Probe::Program { program, every });
                let flows = some.flows.iter().map(|&flow| Probe::Flow { flow, every });
                Ok(flows.chain(programs).collect())
            }
            Some(Indices::Range(from, to)) if from < to => {
                let flows = (*from..*to).map(|flow| some.flow(flow));
                let flows: Result<_, _> = flows.collect();
                flows.map_err(|error: SpecError| error.under("flows"))
            }
            Some(Indices::Range(from, to)) => {
                let allowed = "a range that is not empty, such as \"0..8\"";
                Err(SpecError::new("flows", format!("\"{from}..{to}\""), allowed))
            }
            Some(Indices::Listed(listed)) => {
                let flow = |(i, &flow): (usize, &u32)| {
                    let probe = some.flow(flow);
                    probe.map_err(|error| error.under(&format!("flows[{i}]")))
                };
                listed.iter().enumerate().map(flow).collect()
            }
        }
    }

    fn every(&self) -> Option<Time> {
        self.every
    }
}

/// Flows to choose from by index.
struct Choice<'a> {
    /// Those known beforehand.
    flows: Vec<u32>,
    /// The program that opens the others.
    program: Option<u32>,
    at: &'a Placement<'a>,
    every: Option<Time>,
}

impl Choice<'_> {
    fn flow(&self, index: u32) -> Result<Probe, SpecError> {
        let (known, programs) = (self.at.flows.len() as u64, self.at.programs.len() as u64);
        let most = match self.program {
            Some(_) => MAX_FLOWS.min((u64::from(u32::MAX) - known) / programs.max(1)),
            None => self.flows.len() as u64,
        };
        let found = match self.program {
            Some(program) if u64::from(index) < most => {
                Some((known + u64::from(index) * programs) as u32 + program)
            }
            Some(_) => None,
            None => self.flows.get(index as usize).copied(),
        };
        let flow = found.ok_or_else(|| {
            let allowed = match most.checked_sub(1) {
                Some(last) => format!("0 to {last}"),
                None => "none, for there are no flows before the run; `traffic` names an entry".to_owned(),
            };
            SpecError::new("", format!("there is no flow {index}"), allowed)
        })?;
        Ok(Probe::Flow {
            flow,
            every: self.every,
        })
    }
}

impl Serialize for Indices {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Indices::Listed(indices) => indices.serialize(to),
            Indices::Range(from, end) => to.collect_str(&format_args!("{from}..{end}")),
        }
    }
}

impl<'de> Deserialize<'de> for Indices {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct IndicesVisitor;
        impl<'de> Visitor<'de> for IndicesVisitor {
            type Value = Indices;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of indices, or a range such as \"0..8\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Indices, E> {
                match text.split_once("..").map(|(from, to)| (from.parse(), to.parse())) {
                    Some((Ok(from), Ok(to))) => Ok(Indices::Range(from, to)),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Indices, A::Error> {
                let mut indices = Vec::new();
                while let Some(index) = items.next_element()? {
                    indices.push(index);
                }
                Ok(Indices::Listed(indices))
            }
        }
        from.deserialize_any(IndicesVisitor)
    }
}

impl JsonSchema for Indices {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Indices".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "array", "items": { "type": "integer", "minimum": 0 } },
                { "type": "string", "pattern": r"^[0-9]+\.\.[0-9]+$" },
            ],
            "examples": [[0, 2], "0..8"],
        })
    }
}

const fn entry<T>(name: &'static str, about: &'static str) -> Entry<dyn Probing>
where
    T: Probing + DeserializeOwned + Serialize + JsonSchema + 'static,
{
    Entry {
        name,
        about,
        schema: T::json_schema,
        load: |table| {
            let probe: T = from_table(table)?;
            Ok(Loaded {
                params: to_table(&probe),
                it: Box::new(probe),
            })
        },
    }
}
