//! The homes of experiments, one line each.

use weft_flow::FlowBackend;
use weft_packet::PacketLevel;
use weft_run::Home;
use weft_spec::SpecError;

use crate::linux::Linux;

/// All homes; a spec's `level` names one.
pub(crate) const HOMES: &[&dyn Home] = &[&PacketLevel, &FlowBackend, &Linux];

/// The home of this name.
///
/// # Errors
/// There is none: all names are listed.
pub(crate) fn home(name: &str) -> Result<&'static dyn Home, SpecError> {
    let found = HOMES.iter().find(|home| home.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = HOMES.iter().map(|home| format!("{:?}", home.name())).collect();
        SpecError::new("level", format!("{name:?} does not exist"), names.join(", "))
    })
}
