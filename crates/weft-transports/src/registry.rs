//! The registry of kinds of transport.

use std::sync::{PoisonError, RwLock};

use weft_spec::SpecError;

use crate::{ConstantRate, Kind, Ndp, Roce, Swift, Tcp, Uet};

/// The kinds of transport of this crate, the default first.
pub const KINDS: &[&dyn Kind] = &[&Tcp, &ConstantRate, &Uet, &Ndp, &Roce, &Swift];

/// The kinds of this crate, and those that programs have added.
static ALL: RwLock<&[&dyn Kind]> = RwLock::new(KINDS);

/// Returns all kinds of transport, the default first.
pub fn kinds() -> &'static [&'static dyn Kind] {
    *ALL.read().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a kind of transport of another crate, for all specs that this process reads from now on. A kind whose name
/// exists is left out.
pub fn add_kind(kind: &'static dyn Kind) {
    let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
    if all.iter().all(|known| known.name() != kind.name()) {
        *all = all.iter().copied().chain([kind]).collect::<Vec<_>>().leak();
    }
}

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
