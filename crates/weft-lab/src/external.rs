//! Support for a backend in a separate process. The process gets a checked experiment as a plan and
//! returns tables and a manifest with its measurements.

use serde_json::Value;
use weft_run::{
    Error, Outcome, Plan, ProvidedTables, ResultWriter, RunResult, RunSummary, TableContext, Unfinished,
    manifest,
};
use weft_spec::SpecError;

use crate::Experiment;
use crate::classes::ClassNames;
use crate::memory::MemoryBudget;
use crate::resolve::{Resolved, resolve};

/// A builder of tables and a manifest from an outcome.
pub struct ResultBuilder {
    writer: ResultWriter,
    classes: ClassNames,
    spec: weft_spec::Spec,
}

impl Experiment {
    /// Returns the plan of a run, and the builder that takes its outcome.
    ///
    /// # Errors
    /// Returns an error if the spec uses a user-defined congestion control; everything else was
    /// checked by [`Experiment::parse`].
    pub fn plan_external(&self) -> Result<(Plan, ResultBuilder), SpecError> {
        let Resolved { plan, classes, .. } = resolve(self.checked(), &[], MemoryBudget::Unlimited)?;
        let context = TableContext::new(&plan, &classes.names, ProvidedTables::All);
        let builder = ResultBuilder {
            // The kernel chooses the sizes of packets.
            writer: ResultWriter::new(&plan, context, vec![None; plan.transports.len()], None),
            classes,
            spec: plan.spec.clone(),
        };
        Ok((plan, builder))
    }
}

impl ResultBuilder {
    /// Builds tables and a manifest from measurements. `manifest_entries` are added to the
    /// manifest.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if the outcome does not fit the plan.
    pub fn build(
        mut self,
        outcome: Outcome,
        wall: std::time::Duration,
        manifest_entries: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<RunResult, Error> {
        let json = serde_json::to_value(weft_spec::to_table(&self.spec))
            .map_err(|error| Error::Internal(error.to_string()))?;
        let tables = self.writer.finish_unchecked(&outcome)?;
        let summary = RunSummary {
            unfinished: Unfinished::from_tables(&tables),
            warnings: [
                self.classes.warnings(&self.writer.classes_seen),
                self.writer.warnings(outcome.end),
            ]
            .concat(),
            outcome,
            stopped: None,
            wall_seconds: wall.as_secs_f64(),
            provided: ProvidedTables::All,
            manifest_entries: manifest_entries.into_iter().collect(),
        };
        let manifest = manifest(&self.spec, &json, 1, &summary, &self.writer.row_counts);
        Ok(RunResult { tables, manifest })
    }
}
