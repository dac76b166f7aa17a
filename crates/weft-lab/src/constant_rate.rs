//! Fields of transports of kind `constant-rate`.

use weft_paths::{Granularity, PathPolicy, Policy};
use weft_run::{ConstantRateConfig, TcpMode};
use weft_spec::{PathPolicySpec, Profile, SpecError, Time, TransportSpec};

use crate::refused;

/// Maximum size of a packet on the wire in bytes.
const MAX_PACKET: u64 = 65_535;

/// Refuses the fields of this kind in another one.
///
/// # Errors
/// Returns an error for the first of these fields.
pub(crate) fn check_absent(spec: &TransportSpec) -> Result<(), SpecError> {
    let fields = [
        ("rate", spec.rate.is_some()),
        ("packet_size", spec.packet_size.is_some()),
        ("on", spec.on.is_some()),
        ("off", spec.off.is_some()),
        ("random", spec.random),
    ];
    refused::fields(&fields, &spec.kind, "remove it or set kind = \"constant-rate\"")
}

/// Refuses policies that choose a path for each packet, which sources do not support.
///
/// # Errors
/// Returns an error for such a policy.
pub(crate) fn check_policy(spec: &PathPolicySpec, policy: &Policy) -> Result<(), SpecError> {
    let is_standard = matches!(TcpMode::from_policy(policy), TcpMode::Standard);
    if is_standard && policy.granularity(0, false) == Granularity::Subflow {
        return Ok(());
    }
    let problem = format!("{:?} chooses paths for packets of TCP", spec.name);
    Err(SpecError::conflict(
        "paths",
        problem,
        "use \"ecmp\" or another policy",
    ))
}

/// Returns the schedule of the sources, and sets the size of their packets in the profile.
///
/// # Errors
/// Returns an error if a field is missing or out of range.
pub(crate) fn resolve(spec: &TransportSpec, profile: &mut Profile) -> Result<ConstantRateConfig, SpecError> {
    let Some(rate) = spec.rate else {
        let remedy = "add the rate on the wire, such as \"1Gbps\"";
        return Err(SpecError::conflict("rate", "required field is missing", remedy));
    };
    if let Some(size) = spec.packet_size {
        let header = u64::from(profile.sizes.header);
        let max = MAX_PACKET - u64::from(profile.sizes.framing);
        if size.0 <= header || size.0 > max {
            let allowed = format!("above the header of {header}B, up to {max}B");
            return Err(SpecError::new("packet_size", size.to_string(), allowed));
        }
        profile.sizes.mss = (size.0 - header) as u32;
    }
    match (spec.on, spec.off) {
        (Some(Time(0)), _) => return Err(SpecError::new("on", "0s", "a time above 0")),
        (Some(_), None) => return Err(SpecError::conflict("off", "required with `on`", "add a time")),
        (None, Some(_)) => return Err(SpecError::conflict("off", "given without `on`", "add `on`")),
        (None, None) if spec.random => {
            return Err(SpecError::conflict(
                "random",
                "given without `on`",
                "add `on` and `off`",
            ));
        }
        _ => {}
    }
    Ok(ConstantRateConfig {
        rate,
        on: spec.on,
        off: spec.off.unwrap_or(Time(0)),
        random: spec.random,
    })
}
