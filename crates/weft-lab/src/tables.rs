//! The tables of a run. Columns are stable: new ones are added at the end.
//!
#![doc = include_str!("tables/columns.md")]

mod columns;
mod flows;
mod jobs;
mod links;
mod traces;

use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_fabric::{Fabric, Link};
use weft_packet::{Outcome, Transport};
use weft_spec::{FctFrom, Spec};
use weft_traffic::{Flow, Program};

use crate::Error;

/// What the indices in an outcome mean.
pub(crate) struct Names {
    pub nodes: Vec<String>,
    /// Node of each host.
    pub hosts: Vec<u32>,
    pub links: Vec<Link>,
    pub transports: Vec<String>,
    /// Where each transport's flow completion times begin.
    pub fct_from: Vec<FctFrom>,
    pub traffic: Vec<String>,
    pub classes: Vec<String>,
}

impl Names {
    /// Of a resolved spec.
    pub fn new(spec: &Spec, fabric: &Fabric, transports: &[Transport], classes: &[String]) -> Self {
        Self {
            nodes: fabric.nodes.iter().map(|node| node.name.clone()).collect(),
            hosts: fabric.hosts.clone(),
            links: fabric.links.clone(),
            transports: spec.transports.keys().cloned().collect(),
            fct_from: transports
                .iter()
                .map(|transport| transport.profile.fct_from)
                .collect(),
            traffic: spec
                .traffic
                .iter()
                .map(|traffic| traffic.name.clone().unwrap_or_default())
                .collect(),
            classes: classes.to_vec(),
        }
    }

    /// Name of a host.
    pub fn host(&self, host: u32) -> &str {
        &self.nodes[self.hosts[host as usize] as usize]
    }

    /// Names of a link's ends.
    pub fn ends(&self, link: u32) -> (&str, &str) {
        let link = &self.links[link as usize];
        (&self.nodes[link.from as usize], &self.nodes[link.to as usize])
    }
}

/// All tables. `flows` are those of the spec, then those that programs opened, as their records.
///
/// # Errors
/// [`Error::Internal`] if the outcome does not fit the experiment.
pub(crate) fn all(
    names: &Names,
    flows: &[Flow],
    programs: &[Arc<dyn Program>],
    outcome: &Outcome,
) -> Result<Vec<(&'static str, RecordBatch)>, Error> {
    if flows.len() != outcome.flows.len() || names.links.len() != outcome.links.len() {
        return Err(Error::Internal(format!(
            "{} flows and {} links have {} and {} records",
            flows.len(),
            names.links.len(),
            outcome.flows.len(),
            outcome.links.len()
        )));
    }
    Ok(vec![
        ("flows", flows::flows(names, flows, programs, outcome)?),
        ("subflows", flows::subflows(outcome)?),
        ("queues", links::queues(names, outcome)?),
        ("links", links::links(names, outcome)?),
        ("traces", traces::traces(outcome)?),
        ("jobs", jobs::jobs(names, programs, outcome)?),
        ("suppressions", jobs::suppressions(outcome)?),
    ])
}
