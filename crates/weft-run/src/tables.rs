//! The tables of a run. Columns are stable: new ones are added at the end.
//!
#![doc = include_str!("tables/columns.md")]

mod columns;
mod flows;
mod jobs;
mod latencies;
mod links;
mod packets;
mod traces;

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use weft_fabric::Link;
use weft_spec::FctFrom;
use weft_traffic::{Flow, FlowGenerator};

use crate::{Error, Outcome, Plan};

/// The names of all tables, in order.
pub const TABLES: &[&str] = &[
    "flows",
    "subflows",
    "queues",
    "links",
    "traces",
    "jobs",
    "suppressions",
    "latencies",
    "packets",
];

/// Tables and columns that a level does not provide, because it does not model what would be in them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Omissions {
    /// Whole tables.
    pub tables: &'static [&'static str],
    /// Columns, by table.
    pub columns: &'static [(&'static str, &'static [&'static str])],
}

impl Omissions {
    /// Is this table left out?
    pub fn omits_table(self, name: &str) -> bool {
        self.tables.contains(&name)
    }

    /// Is this column left out?
    pub fn omits_column(self, table: &str, name: &str) -> bool {
        let mut of_table = self.columns.iter().filter(|(of, _)| *of == table);
        of_table.any(|(_, columns)| columns.contains(&name))
    }
}

/// What the indices in an outcome mean.
pub struct TableContext {
    /// Of nodes.
    pub nodes: Vec<String>,
    /// Node of each host.
    pub hosts: Vec<u32>,
    /// The links themselves.
    pub links: Vec<Link>,
    /// Of transports.
    pub transports: Vec<String>,
    /// Where each transport's flow completion times begin.
    pub fct_from: Vec<FctFrom>,
    /// Of traffic entries.
    pub traffic: Vec<String>,
    /// Of classes.
    pub classes: Vec<String>,
    /// What is left out.
    pub omissions: Omissions,
}

impl TableContext {
    /// Of a plan.
    pub fn new(plan: &Plan, classes: &[String], omissions: Omissions) -> Self {
        let Plan {
            spec,
            fabric,
            transports,
            ..
        } = plan;
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
            omissions,
        }
    }

    /// Name of a host.
    pub fn host(&self, host: u32) -> &str {
        &self.nodes[self.hosts[host as usize] as usize]
    }

    /// TableContext of a link's ends.
    pub fn ends(&self, link: u32) -> (&str, &str) {
        let link = &self.links[link as usize];
        (&self.nodes[link.from as usize], &self.nodes[link.to as usize])
    }
}

/// Flows, jobs and samples of a run, or of a part of one, and what they are about.
pub(crate) struct TableBuilder<'a> {
    pub names: &'a TableContext,
    /// Flows in the order of their records.
    pub flows: Vec<Flow>,
    /// Flows of the spec; those of programs have higher indices.
    pub statics: u32,
    pub programs: &'a [Arc<dyn FlowGenerator>],
    pub outcome: &'a Outcome,
}

/// What the end of a run cut off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unfinished {
    /// Flows that were to end.
    pub flows: usize,
    /// Jobs.
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
pub type Tables = Vec<(&'static str, RecordBatch)>;

impl<'a> TableBuilder<'a> {
    /// `flows` are those of the spec.
    pub fn new(
        names: &'a TableContext,
        flows: &[Flow],
        programs: &'a [Arc<dyn FlowGenerator>],
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
        let tables = [
            ("flows", flows::flows(names, flows, *statics, programs, outcome)?),
            ("subflows", flows::subflows(names, outcome)?),
            ("traces", traces::traces(names, outcome)?),
            ("jobs", jobs::jobs(names, programs, outcome)?),
            ("suppressions", jobs::suppressions(names, outcome)?),
            ("latencies", latencies::latencies(names, outcome)?),
            ("packets", packets::packets(names, outcome)?),
        ];
        let told = tables
            .into_iter()
            .filter(|(name, _)| !names.omissions.omits_table(name));
        Ok(told.collect())
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
        let told = ends
            .into_iter()
            .filter(|(name, _)| !self.names.omissions.omits_table(name));
        tables.splice(2..2, told);
        Ok(tables)
    }
}
