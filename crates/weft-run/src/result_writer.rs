//! A writer that builds the tables of a run, checks them and writes them: all at the end, or flows
//! and jobs as soon as they have finished.

use std::sync::Arc;

use weft_traffic::{Flow, FlowGenerator};

use crate::folder::Folder;
use crate::manifest::Rows;
use crate::tables::{TableBuilder, TableContext, Tables};
use crate::{Error, Outcome, Plan, conservation};

/// Builds the tables of one run and writes them.
pub struct ResultWriter {
    context: TableContext,
    /// Static flows, those of the spec.
    flows: Vec<Flow>,
    generators: Vec<Arc<dyn FlowGenerator>>,
    /// The folder to which rows are written during the run.
    pub folder: Option<Folder>,
    /// Number of rows of each table so far.
    pub row_counts: Rows,
    /// True for each class that has a flow so far.
    pub classes_seen: Vec<bool>,
}

impl ResultWriter {
    /// Creates a writer for a run of this plan. Tables are written to `folder` if there is one.
    pub fn new(plan: &Plan, context: TableContext, folder: Option<Folder>) -> Self {
        Self {
            classes_seen: vec![false; context.classes.len()],
            context,
            flows: plan.flows.clone(),
            generators: plan.generators.clone(),
            folder,
            row_counts: Rows::new(),
        }
    }

    /// Writes the rows of flows and jobs that have finished to the folder.
    ///
    /// # Errors
    /// Returns [`Error::Output`] if the folder cannot be written, and [`Error::Internal`] if
    /// conservation does not hold.
    pub fn write_finished(&mut self, outcome: &Outcome) -> Result<(), Error> {
        conservation::check_flows(outcome)?;
        let builder = TableBuilder::new(&self.context, &self.flows, &self.generators, outcome)?;
        let classes: Vec<u32> = builder.flows.iter().map(|flow| flow.class).collect();
        let tables = builder.time_tables()?;
        self.append(&tables, classes)
    }

    /// Builds the tables of all remaining rows, and writes them to the folder if there is one.
    ///
    /// # Errors
    /// Returns the errors of [`write_finished`](Self::write_finished).
    pub fn finish(&mut self, outcome: &Outcome) -> Result<Tables, Error> {
        conservation::check(&self.context, outcome)?;
        self.finish_unchecked(outcome)
    }

    /// Builds tables like [`finish`](Self::finish), but does not check conservation: for counters
    /// that are read one after the other while packets move.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if the outcome does not fit the plan, and [`Error::Output`] if
    /// the folder cannot be written.
    pub fn finish_unchecked(&mut self, outcome: &Outcome) -> Result<Tables, Error> {
        let builder = TableBuilder::new(&self.context, &self.flows, &self.generators, outcome)?;
        let classes: Vec<u32> = builder.flows.iter().map(|flow| flow.class).collect();
        let tables = builder.all_tables()?;
        self.append(&tables, classes)?;
        Ok(tables)
    }

    fn append(&mut self, tables: &Tables, classes: Vec<u32>) -> Result<(), Error> {
        for class in classes {
            self.classes_seen[class as usize] = true;
        }
        for (name, table) in tables {
            let before = self.row_counts.get(*name).and_then(serde_json::Value::as_u64);
            let rows = before.unwrap_or(0) + table.num_rows() as u64;
            self.row_counts.insert((*name).to_owned(), rows.into());
        }
        self.folder
            .as_mut()
            .map_or(Ok(()), |folder| folder.append(tables))
    }
}
