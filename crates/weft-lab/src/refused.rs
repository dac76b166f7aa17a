//! Fields of a transport that belong to another kind.

use weft_spec::{Size, SpecError, TransportSpec};

/// Refuses the fields of TCP in a transport of another kind.
///
/// # Errors
/// Returns an error for the first of these fields.
pub(crate) fn tcp_fields(spec: &TransportSpec, kind: &str) -> Result<(), SpecError> {
    let given = [
        ("cc", !spec.cc.is_absent()),
        ("subflows", spec.subflows != 1),
        ("join_after", spec.join_after != Size(0)),
        ("scheduler", spec.scheduler.is_some()),
    ];
    fields(&given, kind, "remove it or set kind = \"tcp\"")
}

/// Refuses the fields of TCP, its paths and its settings in a transport of a kind whose settings are in a table with
/// the name of the kind.
///
/// # Errors
/// Returns an error for the first of these fields.
pub(crate) fn tcp_settings(spec: &TransportSpec, kind: &str) -> Result<(), SpecError> {
    tcp_fields(spec, kind)?;
    let given = [("paths", spec.paths.is_some()), ("tcp", !spec.tcp.0.is_empty())];
    let remedy = format!("remove it; `{kind}` has the settings of this kind");
    fields(&given, kind, &remedy)
}

/// Refuses the fields that are given.
///
/// # Errors
/// Returns an error for the first of these fields.
pub(crate) fn fields(fields: &[(&str, bool)], kind: &str, remedy: &str) -> Result<(), SpecError> {
    match fields.iter().find(|(_, given)| *given) {
        Some(&(field, _)) => {
            let problem = format!("not used with kind = {kind:?}");
            Err(SpecError::conflict(field, problem, remedy))
        }
        None => Ok(()),
    }
}
