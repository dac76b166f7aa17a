//! Fields of transports of kind `ndp`.

use weft_fabric::Fabric;
use weft_run::NdpConfig;
use weft_spec::{NdpSpec, Profile, Size, SpecError, Time};

use crate::host_links::{HEADER, MAX_PACKET, check_size, host_rate, loaded_rtt, longest_headers};

const KIND: &str = "ndp";

/// Defaults of the paper.
const INITIAL_WINDOW: u32 = 30;
const MTU: Size = Size(9064);
const PULL_RATE: f64 = 1.0;
/// Default number of paths: those of a fat-tree with 32 ports per switch.
const PATHS: u32 = 256;

const MAX_WINDOW: u32 = 1 << 16;
const MAX_PATHS: u32 = 1 << 16;
/// Range of the rate of pulls.
const MIN_PULL_RATE: f64 = 0.01;
const MAX_PULL_RATE: f64 = 10.0;

/// Returns the settings with every default filled in, and their resolved form. Sets the sizes of packets in
/// the profile.
///
/// # Errors
/// Returns an error if a field is out of range, or if the network does not suit the transport.
pub(crate) fn resolve(
    spec: &NdpSpec,
    profile: &mut Profile,
    fabric: &Fabric,
) -> Result<(NdpSpec, NdpConfig), SpecError> {
    let rate = host_rate(fabric, KIND)?;
    let initial_window = spec.initial_window.unwrap_or(INITIAL_WINDOW);
    check_count("ndp.initial_window", initial_window, MAX_WINDOW)?;
    let mtu = spec.mtu.unwrap_or(MTU);
    check_size("ndp.mtu", mtu, u64::from(HEADER) + 1, MAX_PACKET)?;
    let pull_rate = spec.pull_rate.unwrap_or(PULL_RATE);
    if !(MIN_PULL_RATE..=MAX_PULL_RATE).contains(&pull_rate) {
        let allowed = format!("{MIN_PULL_RATE} to {MAX_PULL_RATE}");
        return Err(SpecError::new("ndp.pull_rate", pull_rate.to_string(), allowed));
    }
    let paths = spec.paths.unwrap_or(PATHS);
    check_count("ndp.paths", paths, MAX_PATHS)?;
    let rto = spec.rto.unwrap_or_else(|| {
        let mtu = mtu.0 as u32;
        let queues = loaded_rtt(fabric, mtu).0.saturating_mul(5) / 2;
        Time(queues.saturating_add(longest_headers(fabric, mtu).0))
    });
    if rto == Time(0) {
        return Err(SpecError::new("ndp.rto", "0s", "a time above 0"));
    }
    profile.sizes.mss = mtu.0 as u32 - HEADER;
    (profile.sizes.header, profile.sizes.ack_size) = (HEADER, HEADER);
    profile.sizes.framing = 0;
    let resolved = NdpSpec {
        initial_window: Some(initial_window),
        mtu: Some(mtu),
        pull_rate: Some(pull_rate),
        rto: Some(rto),
        paths: Some(paths),
    };
    let config = NdpConfig {
        initial_window,
        mtu: mtu.0 as u32,
        pull_rate,
        rto,
        paths,
        rate,
    };
    Ok((resolved, config))
}

fn check_count(field: &str, count: u32, max: u32) -> Result<(), SpecError> {
    if (1..=max).contains(&count) {
        return Ok(());
    }
    Err(SpecError::new(field, count.to_string(), format!("1 to {max}")))
}
