//! The probe of packets that cross a link, or that a node sends and receives.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weft_run::Probe;
use weft_spec::{SpecError, Time, Within, refuse};

use super::{ProbeContext, ProbeKind, links_named};

/// Packets that cross links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PacketProbe {
    /// Links whose packets are recorded: hosts or switches for all their links, the names of the
    /// ends of a link, "FROM->TO", or a layer, such as "tor-agg".
    #[schemars(length(min = 1), extend("examples" = [["r0"], ["s0->r0"]]))]
    at: Vec<String>,
}

impl ProbeKind for PacketProbe {
    fn resolve(&self, context: &ProbeContext<'_>) -> Result<Vec<Probe>, SpecError> {
        if self.at.is_empty() {
            return refuse("at", "an empty list", "at least one node, link or layer");
        }
        let mut links = BTreeSet::new();
        for (i, name) in self.at.iter().enumerate() {
            if let Some(node) = context.fabric.nodes.iter().position(|node| node.name == *name) {
                let ends_here = |from: u32, to: u32| from as usize == node || to as usize == node;
                let links_here = context.fabric.links.iter().zip(0..);
                links.extend(
                    links_here
                        .filter(|(link, _)| ends_here(link.from, link.to))
                        .map(|(_, i)| i),
                );
            } else if name.contains("->") || context.fabric.links.iter().any(|link| link.layer == name) {
                let found = links_named(name, context).within(&format!("at[{i}]"))?;
                links.extend(found);
            } else {
                let given = format!("{name:?} is neither a node nor a layer");
                let nodes = &context.fabric.nodes;
                let (first, last) = (&nodes[0].name, &nodes[nodes.len() - 1].name);
                let allowed = format!("a node, from {first:?} to {last:?}, a layer, or a link \"FROM->TO\"");
                return refuse(format!("at[{i}]"), given, allowed);
            }
        }
        Ok(links.into_iter().map(|link| Probe::Packets { link }).collect())
    }

    fn interval(&self) -> Option<Time> {
        None
    }
}
