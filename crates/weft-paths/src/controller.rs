//! Controllers, which observe the whole network and assign paths to subflows at fixed times. Each
//! controller is a file and a line of the registry.

use weft_fabric::{Fabric, NodeId};
use weft_spec::{Entry, SpecError, Time, entries};

use crate::{FirstFit, LeastAllocated};

/// All controllers.
pub const CONTROLLERS: &[Entry<dyn Controller>] = entries! {
    "first-fit" => FirstFit.check,
        "Hedera's global first fit: large flows, found at intervals, go to the first path with room for their demand";
    "least-allocated" => LeastAllocated.check,
        "htsim's first fit: each large flow goes to the path whose fullest link has the fewest large flows";
};

/// The state of a subflow that a controller observes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubflowObservation {
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// Acknowledged bits per second since the controller last acted.
    pub rate: f64,
    /// The path that the controller has assigned, if any.
    pub assigned_path: Option<u64>,
    /// The path of the policy if the subflow keeps its first and last link, else `None`.
    pub bound_path: Option<u64>,
}

/// A controller with its fields set.
pub trait Controller: Send + Sync {
    /// Checks that the fields are in range.
    ///
    /// # Errors
    /// Returns an error with the path of the field.
    fn check(&self) -> Result<(), SpecError>;

    /// Returns the interval at whose multiples the controller acts, above 0.
    fn interval(&self) -> Time;

    /// Assigns paths. Returns indices into `subflows`, each with the number of the path for the
    /// subflow. Other subflows keep their paths. `is_down` is true for links that routing knows to
    /// be down. The function is pure, so that runs depend on nothing else.
    fn assign_paths(
        &self,
        fabric: &Fabric,
        is_down: &dyn Fn(usize) -> bool,
        subflows: &[SubflowObservation],
    ) -> Vec<(usize, u64)>;
}
