//! The registry of probes, which record data in addition to the tables of every run.

mod buffers;
mod flow_selection;
mod flows;
mod packets;
mod steps;

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_fabric::{Fabric, NodeId};
use weft_run::{Probe, ProbedFlows};
use weft_spec::{Entry, SpecError, Time, Within, entries, refuse};
use weft_traffic::{Flow, FlowGenerator};

pub(crate) use flows::TransportStates;

use buffers::BufferProbe;
use flows::{FlowProbe, LatencyProbe, ThroughputProbe};
use packets::PacketProbe;
use steps::StepProbe;

/// All kinds of probe.
pub(crate) const PROBES: &[Entry<dyn ProbeKind>] = entries! {
    "queue" => QueueProbe,
        "a queue's length: time-weighted distribution, with `interval` also samples in time";
    "buffer" => BufferProbe,
        "bytes that wait in the buffer of a switch, at an interval: queues of kind `shared` or `lossless`";
    "flow" => FlowProbe,
        "cwnd, ssthresh and activity of every subflow of chosen flows: at an interval, or every change";
    "latency" => LatencyProbe,
        "one-way latency of all data of chosen flows, from first transmission to in-order delivery";
    "throughput" => ThroughputProbe,
        "application bytes that chosen flows deliver in each interval, at the levels `packet` and `flow`";
    "steps" => StepProbe,
        "computing and messages of jobs of ranks, and the critical path, at the levels `packet` and `flow`";
    "packets" => PacketProbe, "all packets of a link or a host, which `weft trace` writes as pcapng";
};

/// Maximum number of samples per run: with more, its traces would take gigabytes.
pub(crate) const MAX_SAMPLES: u128 = 50_000_000;

/// A probe with its fields set.
pub(crate) trait ProbeKind {
    /// Returns the probes of a run. Paths of errors are relative to the probe.
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError>;
    /// Returns the sampling interval of a probe that samples.
    fn interval(&self) -> Option<Time>;
}

/// The parts of an experiment that probes refer to.
pub(crate) struct ProbeContext<'a> {
    pub fabric: &'a Fabric,
    pub flows: &'a [Flow],
    pub generators: &'a [Arc<dyn FlowGenerator>],
    pub traffic: &'a [String],
    /// Recorded state of the senders of a flow, and of all flows of a traffic entry, with the names of the transports.
    pub transports: &'a TransportStates,
}

impl ProbeContext<'_> {
    /// Returns the node with this name.
    fn node(&self, name: &str) -> Option<NodeId> {
        let found = self.fabric.nodes.iter().position(|node| node.name == name);
        found.map(|node| node as NodeId)
    }
}

/// Resolves the probes of a spec, with the distribution of each queue only once. Also returns the
/// entries with every default filled in.
pub(crate) fn resolve(
    entries: &[weft_spec::KindSpec],
    context: &ProbeContext<'_>,
    duration: Time,
    subflows: impl Fn(&Flow) -> u32,
) -> Result<(Vec<weft_spec::KindSpec>, Vec<Probe>), SpecError> {
    let (mut resolved, mut probes, mut samples) = (Vec::new(), Vec::new(), 0u128);
    let mut distributions = BTreeSet::new();
    for (i, entry) in entries.iter().enumerate() {
        let path = format!("probes[{i}]");
        let kind = weft_spec::find(PROBES, "kind", &entry.kind).within(&path)?;
        let loaded =
            (kind.parse)(&entry.params).map_err(|error| error.with_known_fields(&["kind"]).within(&path))?;
        match loaded.value.interval() {
            Some(Time(0)) => {
                return Err(SpecError::new("interval", "0s", "a time above 0").within(&path));
            }
            Some(interval) if interval > duration => {
                let given = format!("{interval} is longer than the experiment");
                let allowed = format!("at most {duration}");
                return Err(SpecError::new("interval", given, allowed).within(&path));
            }
            _ => {}
        }
        for probe in loaded.value.resolve(context).within(&path)? {
            let wide = match &probe {
                // The amount of data that flows send is known only during the run.
                Probe::Queue { .. } | Probe::Latency { .. } | Probe::Steps { .. } | Probe::Packets { .. } => {
                    0
                }
                Probe::Flow {
                    flows: ProbedFlows::One(flow),
                    ..
                } => context.flows.get(*flow as usize).map_or(1, &subflows),
                // The number and the duration of a generator's flows are known only during the run.
                Probe::Flow {
                    flows: ProbedFlows::Generated(_),
                    ..
                }
                | Probe::QueueTrace { .. }
                | Probe::Buffer { .. }
                | Probe::Throughput { .. } => 1,
            };
            let interval = loaded.value.interval().unwrap_or(duration);
            samples += u128::from(wide) * u128::from(duration.0 / interval.0);
            if !matches!(probe, Probe::Queue { link } if !distributions.insert(link)) {
                probes.push(probe);
            }
        }
        if samples > MAX_SAMPLES {
            let problem = format!("{samples} samples in all, above the maximum of {MAX_SAMPLES}");
            let remedy = "use longer intervals or fewer probes";
            return Err(SpecError::conflict("interval", problem, remedy).within(&path));
        }
        resolved.push(weft_spec::KindSpec {
            kind: entry.kind.clone(),
            params: loaded.params,
        });
    }
    Ok((resolved, probes))
}

/// Lengths of queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueueProbe {
    /// Links whose queues are recorded: the names of their ends, "FROM->TO", or a layer, such as
    /// "tor-agg", for all its links.
    #[schemars(length(min = 1), extend("examples" = [["s0->r0"], ["tor-agg"]]))]
    at: Vec<String>,
    /// Sampling interval of the trace; by default only the distribution is recorded.
    interval: Option<Time>,
}

impl ProbeKind for QueueProbe {
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError> {
        if self.at.is_empty() {
            return refuse("at", "an empty list", "at least one link or layer");
        }
        let mut links = BTreeSet::new();
        for (i, name) in self.at.iter().enumerate() {
            let found = links_named(name, context).within(&format!("at[{i}]"))?;
            links.extend(found);
        }
        let probes = links.into_iter().flat_map(|link| {
            let trace = self.interval.map(|interval| Probe::QueueTrace { link, interval });
            [Some(Probe::Queue { link }), trace]
        });
        Ok(probes.flatten().collect())
    }

    fn interval(&self) -> Option<Time> {
        self.interval
    }
}

/// Returns the indices of the links "FROM->TO", one for each cable, or of all links of the layer `name`.
fn links_named(name: &str, context: &ProbeContext<'_>) -> Result<Vec<u32>, SpecError> {
    let links = &context.fabric.links;
    if let Some((from, to)) = name.split_once("->") {
        let (from, to) = (from.trim(), to.trim());
        let Some(node) = context.node(from) else {
            let (first, last) = (
                &context.fabric.nodes[0].name,
                &context.fabric.nodes[context.fabric.nodes.len() - 1].name,
            );
            let allowed = format!("FROM->TO with names of nodes, from {first:?} to {last:?}");
            return refuse("", format!("{name:?}: there is no node {from:?}"), allowed);
        };
        let leaving = || links.iter().zip(0..).filter(|(link, _)| link.from == node);
        let to_node = context.node(to);
        let between = leaving().filter(|(link, _)| Some(link.to) == to_node);
        let between: Vec<u32> = between.map(|(_, i)| i).collect();
        if !between.is_empty() {
            return Ok(between);
        }
        let mut ends: Vec<_> = leaving().map(|(link, _)| link.to).collect();
        let total = ends.len();
        ends.truncate(8);
        let names: Vec<_> = ends
            .iter()
            .map(|&to| context.fabric.nodes[to as usize].name.as_str())
            .collect();
        let more = if total > names.len() {
            format!(", … ({total} in all)")
        } else {
            String::new()
        };
        return refuse(
            "",
            format!("{name:?}: {from} has no link to {to:?}"),
            format!("{}{more}", names.join(", ")),
        );
    }
    let found: Vec<_> = links
        .iter()
        .zip(0..)
        .filter(|(link, _)| link.layer == name)
        .map(|(_, i)| i)
        .collect();
    if found.is_empty() {
        let layers: BTreeSet<_> = links.iter().map(|link| format!("{:?}", link.layer)).collect();
        let layers: Vec<_> = layers.into_iter().collect();
        return refuse(
            "",
            format!("{name:?} is not a layer"),
            format!("\"FROM->TO\", or a layer: {}", layers.join(", ")),
        );
    }
    Ok(found)
}
