//! Checks of the ranges of fields.

use weft_spec::{Size, SpecError, refuse};

/// Maximum size of a packet on the wire: the limit of the length fields of IPv4 and IPv6.
pub const MAX_PACKET: u64 = 65_535;

/// Checks the size of a field, in bytes.
///
/// # Errors
/// Returns an error if the size is out of range.
pub fn check_size(field: &str, bytes: impl Into<u64>, min: u64, max: u64) -> Result<(), SpecError> {
    let bytes = bytes.into();
    if (min..=max).contains(&bytes) {
        return Ok(());
    }
    let allowed = format!("{min}B to {max}B");
    refuse(field, Size(bytes), allowed)
}
