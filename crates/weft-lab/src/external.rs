//! Support for a backend in a separate process: it gets a checked experiment as a plan and returns tables
//! and a manifest made of its measurements.

use serde_json::Value;
use weft_run::{
    Error, Omissions, Outcome, Plan, ResultWriter, RunResult, RunSummary, TableContext, Unfinished, manifest,
};
use weft_spec::SpecError;

use crate::Experiment;
use crate::classes::ClassNames;
use crate::memory::Room;
use crate::resolve::{Resolved, resolve};

/// What becomes of an outcome.
pub struct Desk {
    handover: ResultWriter,
    classes: ClassNames,
    spec: weft_spec::Spec,
}

impl Experiment {
    /// The plan of a run, and the desk at which its outcome is handed in.
    ///
    /// # Errors
    /// None that [`Experiment::parse`] did not find, but for congestion controls of one's own.
    pub fn plan(&self) -> Result<(Plan, Desk), SpecError> {
        let Resolved { plan, classes, .. } = resolve(self.checked(), &[], Room::Any)?;
        let names = TableContext::new(&plan, &classes.names, Omissions::default());
        let desk = Desk {
            handover: ResultWriter::new(&plan, names, None),
            classes,
            spec: plan.spec.clone(),
        };
        Ok((plan, desk))
    }
}

impl Desk {
    /// Tables and manifest of what was measured. `facts` are added to the manifest.
    ///
    /// # Errors
    /// [`Error::Internal`]: the outcome does not fit the plan.
    pub fn hand_in(
        mut self,
        outcome: Outcome,
        wall: std::time::Duration,
        facts: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<RunResult, Error> {
        let json = serde_json::to_value(&self.spec).map_err(|error| Error::Internal(error.to_string()))?;
        let tables = self.handover.unchecked(&outcome)?;
        let ended = RunSummary {
            unfinished: Unfinished::of(&tables),
            warnings: self.classes.warnings(&self.handover.caught),
            outcome,
            stopped: None,
            wall_seconds: wall.as_secs_f64(),
            omissions: Omissions::default(),
            facts: facts.into_iter().collect(),
        };
        let manifest = manifest(&self.spec, &json, 1, &ended, &self.handover.rows);
        Ok(RunResult { tables, manifest })
    }
}
