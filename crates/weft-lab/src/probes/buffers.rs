//! The probe of buffers that the ports of a switch share.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_fabric::{NodeId, QueueParameters};
use weft_run::Probe;
use weft_spec::{SpecError, Time, conflict, refuse};

use super::{ProbeContext, ProbeKind};

/// Bytes that wait in the buffers of switches, whose ports have queues of kind "shared" or "lossless".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BufferProbe {
    /// Names of switches; by default all switches with such ports.
    #[schemars(length(min = 1), extend("examples" = [["s0"]]))]
    at: Option<Vec<String>>,
    /// Sampling interval.
    interval: Time,
}

impl ProbeKind for BufferProbe {
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError> {
        let fabric = context.fabric;
        let buffered = fabric.links.iter().filter(|link| link.kind.uses_buffer());
        let buffered: BTreeSet<NodeId> = buffered.map(|link| link.from).collect();
        let is_switch = |node: &NodeId| !fabric.nodes[*node as usize].is_host;
        let mut nodes: BTreeSet<NodeId> = buffered.iter().copied().filter(is_switch).collect();
        if nodes.is_empty() {
            let problem = "no switch has a port whose queue uses a buffer of the switch";
            let remedy = "set queues.kind or layers.NAME.queue to \"shared\" or \"lossless\"";
            return conflict("kind", problem, remedy);
        }
        if let Some(names) = &self.at {
            if names.is_empty() {
                return refuse("at", "an empty list", "at least one switch");
            }
            let (first, last) = (nodes.first().copied(), nodes.last().copied());
            nodes.clear();
            for (i, name) in names.iter().enumerate() {
                let found = context.node(name).filter(|node| buffered.contains(node));
                let Some(node) = found else {
                    let given =
                        format!("{name:?} is not a node with queues of kind \"shared\" or \"lossless\"");
                    let named = [first, last].map(|node| &fabric.nodes[node.unwrap_or(0) as usize].name);
                    let allowed = format!("a switch with such queues, from {:?} to {:?}", named[0], named[1]);
                    return refuse(format!("at[{i}]"), given, allowed);
                };
                nodes.insert(node);
            }
        }
        let probe = |node| Probe::Buffer {
            node,
            interval: self.interval,
        };
        Ok(nodes.into_iter().map(probe).collect())
    }

    fn interval(&self) -> Option<Time> {
        Some(self.interval)
    }
}
