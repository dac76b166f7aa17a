//! The tables of a run. Columns are stable: new ones are added at the end.
//!
#![doc = include_str!("tables/columns.md")]

mod columns;
mod flows;
mod jobs;
mod latencies;
mod links;
mod traces;

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use weft_fabric::{Fabric, Link};
use weft_packet::{Outcome, Transport};
use weft_spec::{FctFrom, Spec};
use weft_traffic::{Flow, Program};

use crate::Error;

/// The names of all tables, in order.
pub(crate) const NAMES: &[&str] = &[
    "flows",
    "subflows",
    "queues",
    "links",
    "traces",
    "jobs",
    "suppressions",
    "latencies",
];

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

/// Flows, jobs and samples of a run, or of a part of one, and what they are about.
pub(crate) struct Part<'a> {
    pub names: &'a Names,
    /// Flows in the order of their records.
    pub flows: Vec<Flow>,
    /// Flows of the spec; those of programs have higher indices.
    pub statics: u32,
    pub programs: &'a [Arc<dyn Program>],
    pub outcome: &'a Outcome,
}

/// What the end of a run cut off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unfinished {
    pub flows: usize,
    pub jobs: usize,
}

impl Unfinished {
    /// By the tables of what was there at the end.
    pub fn of(tables: &Tables) -> Self {
        let column = |table: &str, column: &str| {
            let (_, table) = tables.iter().find(|(name, _)| *name == table)?;
            table.column_by_name(column)
        };
        Self {
            flows: column("flows", "unfinished_s").map_or(0, |it| it.len() - it.null_count()),
            jobs: column("jobs", "end_s").map_or(0, Array::null_count),
        }
    }
}

/// Tables by name.
pub(crate) type Tables = Vec<(&'static str, RecordBatch)>;

impl<'a> Part<'a> {
    /// `flows` are those of the spec.
    pub fn new(
        names: &'a Names,
        flows: &[Flow],
        programs: &'a [Arc<dyn Program>],
        outcome: &'a Outcome,
    ) -> Result<Self, Error> {
        let mut opened = outcome.opened.iter();
        let records = outcome.flows.iter();
        let of = records.filter_map(|record| flows.get(record.flow as usize).or_else(|| opened.next()));
        let of: Vec<Flow> = of.cloned().collect();
        if of.len() != outcome.flows.len() {
            let (flows, records) = (of.len(), outcome.flows.len());
            return Err(Error::Internal(format!("{flows} flows have {records} records")));
        }
        Ok(Self {
            names,
            flows: of,
            statics: flows.len() as u32,
            programs,
            outcome,
        })
    }

    /// The tables that grow with time.
    pub fn tables(&self) -> Result<Tables, Error> {
        let Self {
            names,
            flows,
            statics,
            programs,
            outcome,
        } = self;
        Ok(vec![
            ("flows", flows::flows(names, flows, *statics, programs, outcome)?),
            ("subflows", flows::subflows(outcome)?),
            ("traces", traces::traces(outcome)?),
            ("jobs", jobs::jobs(names, programs, outcome)?),
            ("suppressions", jobs::suppressions(outcome)?),
            ("latencies", latencies::latencies(outcome)?),
        ])
    }

    /// All tables, with those of queues and links as they are at the end.
    pub fn all(&self) -> Result<Tables, Error> {
        let (links, records) = (self.names.links.len(), self.outcome.links.len());
        if links != records {
            return Err(Error::Internal(format!("{links} links have {records} records")));
        }
        let mut tables = self.tables()?;
        let ends = [
            ("queues", links::queues(self.names, self.outcome)?),
            ("links", links::links(self.names, self.outcome)?),
        ];
        tables.splice(2..2, ends);
        Ok(tables)
    }
}
