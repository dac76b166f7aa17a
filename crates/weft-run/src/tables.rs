//! The tables of a run. Columns are stable: new ones are added at the end.
//!
#![doc = include_str!("tables/columns.md")]

mod columns;
mod flows;
mod jobs;
mod links;
mod operations;
mod records;
mod traces;

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use weft_fabric::Link;
use weft_spec::Time;
use weft_traffic::{Flow, FlowGenerator, RankedJobs};
use weft_transports::FctFrom;

use self::columns::Columns;
use crate::ideal::IdealTimes;
use crate::{Error, FlowRecord, GeneratorStep, Outcome, Plan};

/// Tables of the state at the end; all others grow with time.
const AT_END: [&str; 4] = ["queues", "links", "traffic_classes", "drops"];

/// The names of all tables, in order.
pub const TABLES: &[&str] = &{
    let mut names = [""; TableBuilder::TABLES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = TableBuilder::TABLES[i].0;
        i += 1;
    }
    names
};

/// The parts that a level provides. It leaves out those whose content it does not model.
#[derive(Clone, Copy, Debug, Default)]
pub enum Provided<T: 'static> {
    /// All of them.
    #[default]
    All,
    /// Only these.
    Only(&'static [T]),
}

/// The tables that a level provides, each with its columns. The columns of "counters" are counters of the
/// manifest.
pub type ProvidedTables = Provided<(&'static str, Provided<&'static str>)>;

impl ProvidedTables {
    /// Returns true if the level provides this table.
    pub fn has_table(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(tables) => tables.iter().any(|(table, _)| *table == name),
        }
    }

    /// Returns true if the level provides this column.
    pub fn has_column(self, table: &str, column: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(tables) => tables
                .iter()
                .filter(|(name, _)| *name == table)
                .any(|(_, columns)| match columns {
                    Provided::All => true,
                    Provided::Only(columns) => columns.contains(&column),
                }),
        }
    }
}

/// The inputs of table builders besides the outcome: names of indices, and the tables of the level.
pub struct TableContext {
    /// Names of nodes.
    pub nodes: Vec<String>,
    /// Node of each host.
    pub hosts: Vec<u32>,
    /// The links of the fabric.
    pub links: Vec<Link>,
    /// Names of transports.
    pub transports: Vec<String>,
    /// Start of the flow completion times of each transport.
    pub fct_from: Vec<FctFrom>,
    /// Names of traffic entries.
    pub traffic: Vec<String>,
    /// Names of classes.
    pub classes: Vec<String>,
    /// Tables and columns that the level provides.
    pub provided: ProvidedTables,
}

impl TableContext {
    /// Creates the context of a plan.
    pub fn new(plan: &Plan, classes: &[String], provided: ProvidedTables) -> Self {
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
                .map(|transport| transport.parameters.fct_from())
                .collect(),
            traffic: spec
                .traffic
                .iter()
                .map(|traffic| traffic.name.clone().unwrap_or_default())
                .collect(),
            classes: classes.to_vec(),
            provided,
        }
    }

    /// Returns the name of a host.
    pub fn host(&self, host: u32) -> &str {
        &self.nodes[self.hosts[host as usize] as usize]
    }

    /// Returns the names of the nodes at the ends of a link.
    pub fn ends(&self, link: u32) -> (&str, &str) {
        let link = &self.links[link as usize];
        (&self.nodes[link.from as usize], &self.nodes[link.to as usize])
    }
}

/// A builder of tables from an outcome: that of a whole run, or the rows finished so far.
pub(crate) struct TableBuilder<'a> {
    pub context: &'a TableContext,
    /// Flows in the order of their records.
    pub flows: Vec<Flow>,
    /// Number of flows of the spec; flows of generators have higher indices.
    pub static_flows: u32,
    pub generators: &'a [Arc<dyn FlowGenerator>],
    pub outcome: &'a Outcome,
    /// The FCT of each of `flows` if it were alone.
    pub ideal: Vec<Option<Time>>,
    /// The FCT of the message of each step if it were alone.
    pub ideal_steps: Vec<Option<Time>>,
    /// The message that made each job of ranks slow.
    slowest: jobs::SlowestMessages,
}

/// Numbers of flows and jobs that were unfinished at the end of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unfinished {
    /// Number of flows with a size, or with a stop before the end, that did not finish.
    pub flows: usize,
    /// Number of jobs that did not finish.
    pub jobs: usize,
}

impl Unfinished {
    /// Counts the unfinished rows of a run's last tables.
    pub fn from_tables(tables: &Tables) -> Self {
        let column = |table: &str, column: &str| {
            let (_, table) = tables.iter().find(|(name, _)| *name == table)?;
            table.column_by_name(column)
        };
        Self {
            flows: column("flows", "unfinished_s").map_or(0, |cells| cells.len() - cells.null_count()),
            jobs: column("jobs", "end_s").map_or(0, Array::null_count),
        }
    }
}

/// Tables by name.
pub type Tables = Vec<(&'static str, RecordBatch)>;

/// Returns the generator of a flow and its number there; `None` for a flow of the spec itself. There are `static_flows` of
/// these, and they come before the flows that generators open.
fn generator_of(
    generators: &[Arc<dyn FlowGenerator>],
    static_flows: u32,
    flow: u32,
) -> Option<(&dyn FlowGenerator, u32)> {
    let beyond = flow.checked_sub(static_flows)?;
    let many = generators.len() as u32;
    let generator = generators.get((beyond % many) as usize)?;
    Some((&**generator, beyond / many))
}

type Build<T> = fn(&T) -> Result<RecordBatch, Error>;

impl<'a> TableBuilder<'a> {
    /// All tables, in order.
    const TABLES: [(&'static str, Build<Self>); 16] = [
        ("flows", Self::flows),
        ("subflows", Self::subflows),
        ("queues", Self::queues),
        ("links", Self::links),
        ("traces", Self::traces),
        ("jobs", Self::jobs),
        ("ranks", Self::ranks),
        ("steps", Self::steps),
        ("operations", Self::operations),
        ("suppressions", Self::suppressions),
        ("latencies", Self::latencies),
        ("packets", Self::packets),
        ("pause_frames", Self::pause_frames),
        ("throughput", Self::throughput),
        ("traffic_classes", Self::classes),
        ("drops", Self::drops),
    ];

    /// Creates a builder. `flows` are those of the spec.
    pub fn new(
        context: &'a TableContext,
        flows: &[Flow],
        generators: &'a [Arc<dyn FlowGenerator>],
        outcome: &'a Outcome,
        ideal: &mut IdealTimes,
    ) -> Result<Self, Error> {
        let flow_of = |index: u32| {
            let flow = flows.get(index as usize).or_else(|| outcome.opened.get(&index));
            flow.cloned()
                .ok_or_else(|| Error::Internal(format!("flow {index} has a record, but was not opened")))
        };
        let recorded = outcome.flows.iter().map(|record| flow_of(record.flow));
        let recorded: Vec<Flow> = recorded.collect::<Result<_, _>>()?;
        let static_flows = flows.len() as u32;
        let ideal_of = |(flow, record): (&Flow, &FlowRecord)| {
            let connection = generator_of(generators, static_flows, record.flow)
                .and_then(|(generator, n)| generator.connection_of(n));
            ideal.of_flow(flow, connection.is_some())
        };
        let ideal_flows = recorded.iter().zip(&outcome.flows).map(ideal_of).collect();
        let ideal_step = |step: &GeneratorStep| {
            let (generator, n) = (&generators[step.generator as usize], step.record.message?);
            ideal.of_flow(&generator.flow(n), generator.connection_of(n).is_some())
        };
        let ideal_steps: Vec<_> = outcome.steps.iter().map(ideal_step).collect();
        let links_of = |generator: u32, n: u32| ideal.links_of(&generators[generator as usize].flow(n));
        let slowest = jobs::slowest_messages(context, outcome, &ideal_steps, links_of);
        Ok(Self {
            context,
            ideal_steps,
            slowest,
            ideal: ideal_flows,
            flows: recorded,
            static_flows,
            generators,
            outcome,
        })
    }

    /// Builds the tables that grow with time.
    pub fn time_tables(&self) -> Result<Tables, Error> {
        self.tables(|name| !AT_END.contains(&name))
    }

    /// Builds all tables, with the state of queues and links at the end.
    pub fn all_tables(&self) -> Result<Tables, Error> {
        let (links, records) = (self.context.links.len(), self.outcome.links.len());
        if links != records {
            return Err(Error::Internal(format!("{links} links have {records} records")));
        }
        self.tables(|_| true)
    }

    fn tables(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Tables, Error> {
        let provided = self.context.provided;
        let wanted = Self::TABLES
            .iter()
            .filter(|(name, _)| is_wanted(name) && provided.has_table(name));
        wanted.map(|(name, build)| Ok((*name, build(self)?))).collect()
    }

    /// Begins the columns of a table.
    fn columns<'r, R>(&self, table: &'static str, rows: &'r [R]) -> Columns<'r, R> {
        Columns::new(table, self.context.provided, rows)
    }

    /// Returns the jobs of ranks of each generator that has some.
    fn ranked_jobs(&self) -> Vec<Option<RankedJobs>> {
        self.generators
            .iter()
            .map(|generator| generator.ranked_jobs())
            .collect()
    }

    /// Returns the name of a traffic entry.
    fn traffic(&self, traffic: u32) -> &str {
        &self.context.traffic[traffic as usize]
    }

    /// Returns the index of flow `n` of a generator in the tables.
    fn index_of(&self, generator: u32, n: u32) -> u32 {
        self.static_flows + n * self.generators.len() as u32 + generator
    }
}
