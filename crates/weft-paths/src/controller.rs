//! Controllers, which see the whole network and give subflows their paths at fixed times. A controller is one
//! file and one line of the registry.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_fabric::{Fabric, NodeId};
use weft_spec::{Entry, Parsed, SpecError, Time, from_table, to_table};

use crate::FirstFit;

/// All kinds of controller.
pub const CONTROLLERS: &[Entry<dyn Controller>] = &[entry::<FirstFit>(
    "first-fit",
    "Hedera's: large flows, found at intervals, go to the first path with room for what they could send",
)];

/// A subflow as a controller sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowObservation {
    /// The host that sends.
    pub from: NodeId,
    /// The host that receives.
    pub to: NodeId,
    /// Bits per second acknowledged since the controller last acted.
    pub rate: f64,
    /// The path that the controller has given it, if it has.
    pub assigned_path: Option<u64>,
}

/// A kind of controller with its fields set.
pub trait Controller: Send + Sync {
    /// The interval at whose multiples it acts, above 0.
    fn interval(&self) -> Time;

    /// Assigns paths: indices into `subflows`, each with the number of the path that the subflow gets. Other
    /// subflows keep their paths. `is_down` says which links routing knows to be down. It is a pure function, so that runs depend on
    /// nothing else.
    fn assign_paths(
        &self,
        fabric: &Fabric,
        is_down: &dyn Fn(usize) -> bool,
        subflows: &[SubflowObservation],
    ) -> Vec<(usize, u64)>;
}

/// A controller with a spec's fields, some of which are out of range.
pub(crate) trait Validate {
    /// # Errors
    /// The field, by its path.
    fn check(&self) -> Result<(), SpecError>;
}

const fn entry<T>(name: &'static str, about: &'static str) -> Entry<dyn Controller>
where
    T: Controller + Validate + DeserializeOwned + Serialize + JsonSchema + 'static,
{
    Entry {
        name,
        about,
        schema: T::json_schema,
        parse: |table| {
            let controller: T = from_table(table)?;
            controller.check()?;
            Ok(Parsed {
                params: to_table(&controller),
                value: Box::new(controller),
            })
        },
    }
}
