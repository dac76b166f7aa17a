//! Checks the outcome of a run, builds its tables and writes them: all at the end, or the rows of
//! flows and jobs as they finish. The tables themselves are in [`tables`](crate::tables).

use std::sync::Arc;

use weft_traffic::{Flow, FlowGenerator};

use crate::folder::Folder;
use crate::manifest::Rows;
use crate::tables::{TableBuilder, TableContext, Tables};
use crate::{Error, Outcome, Plan, conservation};

/// Builds and writes the tables of one run, and counts their rows over all calls.
pub struct ResultWriter {
    context: TableContext,
    /// Flows that the plan lists, as opposed to those of `generators`.
    flows: Vec<Flow>,
    /// Generators of the flows that open during the run.
    generators: Vec<Arc<dyn FlowGenerator>>,
    /// The folder of the results; `None` if tables are only returned.
    pub folder: Option<Folder>,
    /// Number of rows built so far, by the name of the table.
    pub row_counts: Rows,
    /// Whether a flow of each class has been seen.
    pub classes_seen: Vec<bool>,
}

impl ResultWriter {
    /// Creates a writer for a run of `plan`.
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

    /// Appends to the folder the rows of the flows and jobs in `outcome`, which have finished and
    /// were not passed before.
    ///
    /// # Errors
    /// Returns [`Error::Output`] if the folder cannot be written. Returns [`Error::Internal`] if the
    /// packets of a flow are not conserved, or if the outcome does not match the plan.
    pub fn write_finished(&mut self, outcome: &Outcome) -> Result<(), Error> {
        conservation::check_flows(outcome)?;
        let builder = TableBuilder::new(&self.context, &self.flows, &self.generators, outcome)?;
        let classes: Vec<u32> = builder.flows.iter().map(|flow| flow.class).collect();
        let tables = builder.time_tables()?;
        self.append(&tables, classes)
    }

    /// Builds all tables from `outcome`, without the rows that were written before, and appends them
    /// to the folder.
    ///
    /// # Errors
    /// Returns the errors of [`write_finished`](Self::write_finished).
    pub fn finish(&mut self, outcome: &Outcome) -> Result<Tables, Error> {
        conservation::check(&self.context, outcome)?;
        self.finish_unchecked(outcome)
    }

    /// Builds and appends all tables like [`finish`](Self::finish), without a check of conservation. A
    /// kernel's counters are read one after the other while packets move, so they need not agree.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if the outcome does not match the plan, and [`Error::Output`] if
    /// the folder cannot be written.
    pub fn finish_unchecked(&mut self, outcome: &Outcome) -> Result<Tables, Error> {
        let builder = TableBuilder::new(&self.context, &self.flows, &self.generators, outcome)?;
        let classes: Vec<u32> = builder.flows.iter().map(|flow| flow.class).collect();
        let tables = builder.all_tables()?;
        self.append(&tables, classes)?;
        Ok(tables)
    }

    /// Counts the rows of `tables`, and appends them to the folder.
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
