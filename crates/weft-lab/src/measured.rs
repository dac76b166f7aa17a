//! What a home that runs in a process of its own needs of the laboratory: a checked experiment as a plan, and tables and a
//! manifest made of what it measured. The records are those of the packet level, so that tables have the same columns at
//! every level.

use arrow_array::RecordBatch;
use serde_json::Value;
use weft_fabric::Fabric;
use weft_spec::{Spec, Time};
use weft_traffic::{Flow, Program};

pub use weft_packet::{
    Counted, Counters, FlowRecord, JobRecord, LatencyRecord, LinkRecord, Measuring, Outcome, Probe,
    QueueRecord, Sample, SubflowRecord, SuppressionRecord,
};

use crate::classes::ClassNames;
use crate::experiment::Ended;
use crate::memory::Room;
use crate::resolve::{Resolved, resolve};
use crate::tables::{Names, Part, Unfinished};
use crate::{Error, Experiment, Run, RunOptions, SpecError, manifest};

/// An experiment ready to run: names have become indices.
pub struct Plan {
    /// The spec with every default filled in.
    pub spec: Spec,
    /// The network.
    pub fabric: Fabric,
    /// All flows that the spec itself opens, in the order in which tables number them.
    pub flows: Vec<Flow>,
    /// Traffic that reacts.
    pub programs: Vec<std::sync::Arc<dyn Program>>,
    /// What to record beside the tables that every run yields.
    pub probes: Vec<Probe>,
    names: Names,
    classes: ClassNames,
}

impl Experiment {
    /// The plan of a run.
    ///
    /// # Errors
    /// None that [`Experiment::parse`] did not find, but for congestion controls of one's own.
    pub fn plan(&self) -> Result<Plan, SpecError> {
        let Resolved {
            spec,
            fabric,
            transports,
            flows,
            programs,
            classes,
            probes,
            ..
        } = resolve(self.checked(), &[], Room::Any)?;
        let names = Names::new(&spec, &fabric, &transports, &classes.names);
        Ok(Plan {
            spec,
            fabric,
            flows,
            programs,
            probes,
            names,
            classes,
        })
    }
}

impl Plan {
    /// Tables and manifest of what was measured. `facts` are added to the manifest.
    ///
    /// # Errors
    /// [`Error::Internal`]: the outcome does not fit the plan.
    pub fn hand_back(
        self,
        outcome: Outcome,
        wall: std::time::Duration,
        facts: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Run, Error> {
        let json = serde_json::to_value(&self.spec).map_err(|error| Error::Internal(error.to_string()))?;
        let tables = Part::new(&self.names, &self.flows, &self.programs, &outcome)?.all()?;
        let mut caught = vec![false; self.classes.names.len()];
        for flow in self.flows.iter().chain(&outcome.opened) {
            caught[flow.class as usize] = true;
        }
        let ended = Ended {
            unfinished: Unfinished::of(&tables),
            warnings: self.classes.warnings(&caught),
            outcome,
            stopped: None,
            wall_seconds: wall.as_secs_f64(),
        };
        let count =
            |(name, table): &(&'static str, RecordBatch)| ((*name).to_owned(), table.num_rows().into());
        let rows = tables.iter().map(count).collect();
        let mut manifest = manifest::manifest(&self.spec, &json, RunOptions::default(), &ended, &rows);
        if let Some(manifest) = manifest.as_object_mut() {
            manifest.extend(facts);
        }
        Ok(Run { tables, manifest })
    }

    /// When the experiment ends.
    pub fn duration(&self) -> Time {
        self.spec.duration
    }
}
