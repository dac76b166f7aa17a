//! Hands over what the simulator yields: all of it at the end, or what is over on the way.

use std::sync::Arc;

use weft_packet::Outcome;
use weft_traffic::{Flow, Program};

use crate::folder::Folder;
use crate::manifest::Rows;
use crate::tables::{Names, Part, Tables};
use crate::{Error, conservation};

/// What a run's tables are about, and where they go.
pub(crate) struct Handover {
    pub names: Names,
    /// Flows of the spec.
    pub flows: Vec<Flow>,
    pub programs: Vec<Arc<dyn Program>>,
    /// The folder to which rows go as soon as they are over.
    pub folder: Option<Folder>,
    /// Rows of each table so far.
    pub rows: Rows,
    /// Which classes have a flow so far.
    pub caught: Vec<bool>,
}

impl Handover {
    /// Writes what is over to the folder.
    ///
    /// # Errors
    /// [`Error::Output`], and [`Error::Internal`] if conservation does not hold.
    pub fn part(&mut self, outcome: &Outcome) -> Result<(), Error> {
        conservation::check_flows(outcome)?;
        let part = Part::new(&self.names, &self.flows, &self.programs, outcome)?;
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
        let part = Part::new(&self.names, &self.flows, &self.programs, outcome)?;
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
