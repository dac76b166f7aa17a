//! The registry of kinds of transport.

use weft_spec::SpecError;

use crate::{ConstantRate, Kind, Ndp, Roce, Tcp, Uet};

/// All kinds of transport, the default first.
pub const KINDS: &[&dyn Kind] = &[&Tcp, &ConstantRate, &Uet, &Ndp, &Roce];

/// Returns the kind called `name`.
///
/// # Errors
/// Returns an error that lists all names if there is no such kind.
pub fn find_kind<'a>(kinds: &[&'a dyn Kind], name: &str) -> Result<&'a dyn Kind, SpecError> {
    let found = kinds.iter().find(|kind| kind.name() == name);
    found
        .copied()
        .ok_or_else(|| SpecError::unknown_name("kind", name, kinds.iter().map(|kind| kind.name())))
}
