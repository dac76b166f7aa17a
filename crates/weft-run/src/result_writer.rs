//! Checks the outcome of a run, builds its tables and writes them: all at the end, or the rows of
//! flows and jobs as they finish. The tables themselves are in [`tables`](crate::tables).

use std::sync::Arc;

use weft_spec::Time;
use weft_traffic::{Flow, FlowGenerator};
use weft_transports::TransportConfig;

use crate::folder::Folder;
use crate::ideal::IdealTimes;
use crate::manifest::Rows;
use crate::tables::{TableBuilder, TableContext, Tables};
use crate::{Error, FlowRecord, Outcome, Plan, WireFormat, conservation};

/// Builds and writes the tables of one run, and counts their rows over all calls.
pub struct ResultWriter {
    context: TableContext,
    /// Flows that the plan lists, as opposed to those of `generators`.
    flows: Vec<Flow>,
    /// Generators of the flows that open during the run.
    generators: Vec<Arc<dyn FlowGenerator>>,
    /// The FCTs of flows that are alone.
    ideal: IdealTimes,
    /// The folder of the results; `None` if tables are only returned.
    pub folder: Option<Folder>,
    /// Number of rows built so far, by the name of the table.
    pub row_counts: Rows,
    /// Whether a flow of each class has been seen.
    pub classes_seen: Vec<bool>,
    /// Handshakes by transport.
    handshakes: Vec<Handshakes>,
}

/// The handshakes of the flows of a transport.
struct Handshakes {
    /// Time after which a lost SYN is sent again.
    initial_rto: Time,
    /// Number of flows that have opened.
    opened: u64,
    /// Longest handshake without a retransmission.
    longest: Time,
    /// Time for which each flow without a SYN/ACK was open, and whether its SYN has timed out.
    waiting: Vec<(Time, bool)>,
}

impl Handshakes {
    fn new(transport: &TransportConfig) -> Self {
        Self {
            initial_rto: transport.parameters.syn_timeout().unwrap_or_default(),
            opened: 0,
            longest: Time(0),
            waiting: Vec::new(),
        }
    }

    /// Counts the record of a flow of a run that has reached `end`.
    fn count(&mut self, flow: &Flow, record: &FlowRecord, end: Time) {
        // Other kinds and levels have no SYN that can be lost.
        let timeouts = record.subflows.first().and_then(|first| first.syn_timeouts);
        let (Some(timeouts), true) = (timeouts, flow.start < end) else {
            return;
        };
        self.opened += 1;
        match record.established {
            Some(established) if timeouts == 0 => {
                self.longest = self.longest.max(Time(established.0.saturating_sub(flow.start.0)));
            }
            Some(_) => {}
            None => self.waiting.push((Time(end.0 - flow.start.0), timeouts > 0)),
        }
    }

    /// Returns a warning if flows were never established. A flow may still be if it opened within twice the longest
    /// handshake.
    fn warning(&self, transport: &str, end: Time) -> Option<String> {
        let is_lost = |&&(time, has_timed_out): &&(Time, bool)| has_timed_out || time.0 > 2 * self.longest.0;
        let lost = self.waiting.iter().filter(is_lost).count() as u64;
        let flows = match lost {
            0 => return None,
            _ if lost == self.opened => "no flow was established".to_owned(),
            _ => format!("{lost} of {} flows were never established", self.opened),
        };
        Some(format!(
            "transports.{transport}: {flows}: no SYN/ACK had arrived when the run ended at {end}; tcp.initial_rto, after which a \
             lost SYN is sent again, is {}",
            self.initial_rto
        ))
    }
}

impl ResultWriter {
    /// Creates a writer for a run of `plan`, whose transports have these formats on the wire.
    pub fn new(
        plan: &Plan,
        context: TableContext,
        formats: Vec<Option<WireFormat>>,
        folder: Option<Folder>,
    ) -> Self {
        Self {
            classes_seen: vec![false; context.classes.len()],
            handshakes: plan.transports.iter().map(Handshakes::new).collect(),
            context,
            flows: plan.flows.clone(),
            generators: plan.generators.clone(),
            ideal: IdealTimes::new(plan, formats),
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
        let builder = self.builder(outcome)?;
        let tables = builder.time_tables()?;
        let flows = builder.flows;
        self.append(&tables, &flows, outcome)
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
        let builder = self.builder(outcome)?;
        let tables = builder.all_tables()?;
        let flows = builder.flows;
        self.append(&tables, &flows, outcome)?;
        Ok(tables)
    }

    /// Returns warnings about the flows that were counted.
    pub fn warnings(&self, end: Time) -> Vec<String> {
        let transports = self.context.transports.iter().zip(&self.handshakes);
        transports
            .filter_map(|(name, handshakes)| handshakes.warning(name, end))
            .collect()
    }

    fn builder<'a>(&'a mut self, outcome: &'a Outcome) -> Result<TableBuilder<'a>, Error> {
        TableBuilder::new(
            &self.context,
            &self.flows,
            &self.generators,
            outcome,
            &mut self.ideal,
        )
    }

    /// Counts the rows of `tables` and the records of these flows, and appends the tables to the folder.
    fn append(&mut self, tables: &Tables, flows: &[Flow], outcome: &Outcome) -> Result<(), Error> {
        for (flow, record) in flows.iter().zip(&outcome.flows) {
            self.classes_seen[flow.class as usize] = true;
            self.handshakes[flow.transport as usize].count(flow, record, outcome.end);
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
