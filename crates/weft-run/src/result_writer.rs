//! Builds the tables of a run, checks them and writes them: all at the end, or flows and jobs as soon as they have ended.

use std::sync::Arc;

use weft_traffic::{Flow, FlowGenerator};

use crate::folder::Folder;
use crate::manifest::Rows;
use crate::tables::{TableBuilder, TableContext, Tables};
use crate::{Error, Outcome, Plan, conservation};

/// What a run's tables are about, and where they go.
pub struct ResultWriter {
    names: TableContext,
    /// Flows of the spec.
    flows: Vec<Flow>,
    programs: Vec<Arc<dyn FlowGenerator>>,
    /// The folder to which rows go as soon as they are over.
    pub folder: Option<Folder>,
    /// Rows of each table so far.
    pub rows: Rows,
    /// Which classes have a flow so far.
    pub caught: Vec<bool>,
}

impl ResultWriter {
    /// Of a run that follows this plan; its tables go to `folder` if there is one.
    pub fn new(plan: &Plan, names: TableContext, folder: Option<Folder>) -> Self {
        Self {
            caught: vec![false; names.classes.len()],
            names,
            flows: plan.flows.clone(),
            programs: plan.generators.clone(),
            folder,
            rows: Rows::new(),
        }
    }

    /// Writes what is over to the folder.
    ///
    /// # Errors
    /// [`Error::Output`], and [`Error::Internal`] if conservation does not hold.
    pub fn part(&mut self, outcome: &Outcome) -> Result<(), Error> {
        conservation::check_flows(outcome)?;
        let part = TableBuilder::new(&self.names, &self.flows, &self.programs, outcome)?;
        let classes: Vec<u32> = part.flows.iter().map(|flow| flow.class).collect();
        let tables = part.tables()?;
        self.note(&tables, classes)
    }

    /// Makes the tables of the rest, and writes them to the folder if there is one.
    ///
    /// # Errors
    /// As for [`part`](Self::part).
    pub fn rest(&mut self, outcome: &Outcome) -> Result<Tables, Error> {
        conservation::check(&self.names, outcome)?;
        self.unchecked(outcome)
    }

    /// The same where counters are read one after the other while packets move, so that conservation cannot hold.
    ///
    /// # Errors
    /// [`Error::Internal`] if the outcome does not fit the plan, [`Error::Output`].
    pub fn unchecked(&mut self, outcome: &Outcome) -> Result<Tables, Error> {
        let part = TableBuilder::new(&self.names, &self.flows, &self.programs, outcome)?;
        let classes: Vec<u32> = part.flows.iter().map(|flow| flow.class).collect();
        let tables = part.all()?;
        self.note(&tables, classes)?;
        Ok(tables)
    }

    fn note(&mut self, tables: &Tables, classes: Vec<u32>) -> Result<(), Error> {
        for class in classes {
            self.caught[class as usize] = true;
        }
        for (name, table) in tables {
            let before = self.rows.get(*name).and_then(serde_json::Value::as_u64);
            let rows = before.unwrap_or(0) + table.num_rows() as u64;
            self.rows.insert((*name).to_owned(), rows.into());
        }
        self.folder
            .as_mut()
            .map_or(Ok(()), |folder| folder.append(tables))
    }
}
