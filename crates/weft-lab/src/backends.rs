//! The registry of backends, one line per backend.

use weft_flow::FlowBackend;
use weft_packet::PacketBackend;
use weft_run::Backend;
use weft_spec::SpecError;

use crate::linux::LinuxBackend;

/// All backends; a spec's `level` names one.
pub(crate) const BACKENDS: &[&dyn Backend] = &[&PacketBackend, &FlowBackend, &LinuxBackend];

/// Looks up the backend of a level.
///
/// # Errors
/// Returns an error that lists all levels if this level does not exist.
pub(crate) fn backend_by_level(name: &str) -> Result<&'static dyn Backend, SpecError> {
    let found = BACKENDS.iter().find(|backend| backend.level().name == name);
    found.copied().ok_or_else(|| {
        SpecError::unknown_name("level", name, BACKENDS.iter().map(|backend| backend.level().name))
    })
}
