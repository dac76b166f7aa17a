//! Fields of transports of kind `uet`.

use weft_fabric::Fabric;
use weft_run::UetConfig;
use weft_spec::{Profile, Rate, Size, SpecError, Time, UetSpec};

use crate::host_links::{HEADER, MAX_PACKET, check_size, host_rate, largest_queue, network_rtt};

const KIND: &str = "uet";

/// Maximum number of bytes between two acknowledgements.
const MAX_ACK_BYTES: u64 = 1 << 30;

/// Maximum number of entropy values.
const MAX_ENTROPIES: u32 = 1 << 16;

/// Defaults of the UEC's simulator.
const ENTROPIES: u32 = 64;
const MTU: Size = Size(4150);
const ACK_BYTES: Size = Size(16_384);
/// The part of the default timeout that does not depend on queues, and the number of full queues.
const RTO: Time = Time::from_us(15);
const RTO_QUEUES: u64 = 6;

/// Returns the settings with every default filled in, and their resolved form. Sets the sizes of packets in
/// the profile.
///
/// # Errors
/// Returns an error if a field is out of range, or if the network does not suit the transport.
pub(crate) fn resolve(
    spec: &UetSpec,
    profile: &mut Profile,
    fabric: &Fabric,
) -> Result<(UetSpec, UetConfig), SpecError> {
    let rate = host_rate(fabric, KIND)?;
    let entropies = spec.entropies.unwrap_or(ENTROPIES);
    if !entropies.is_power_of_two() || entropies > MAX_ENTROPIES {
        let allowed = format!("a power of two up to {MAX_ENTROPIES}");
        return Err(SpecError::new("uet.entropies", entropies.to_string(), allowed));
    }
    let mtu = spec.mtu.unwrap_or(MTU);
    check_size("uet.mtu", mtu, u64::from(HEADER) + 1, MAX_PACKET)?;
    let ack_bytes = spec.ack_bytes.unwrap_or(ACK_BYTES);
    check_size("uet.ack_bytes", ack_bytes, 1, MAX_ACK_BYTES)?;
    if spec.message_size == Some(Size(0)) {
        return Err(SpecError::new("uet.message_size", "0B", "a size above 0"));
    }
    if let Some(window) = spec.initial_window {
        check_size("uet.initial_window", window, mtu.0, u64::from(u32::MAX))?;
    }
    let network_rtt = spec
        .network_rtt
        .unwrap_or_else(|| network_rtt(fabric, mtu.0 as u32));
    let target_delay = spec.target_delay.unwrap_or(Time(network_rtt.0 / 4 * 3));
    let rto = spec.rto.unwrap_or_else(|| default_rto(fabric, mtu.0, rate));
    for (field, time) in [
        ("uet.network_rtt", network_rtt),
        ("uet.target_delay", target_delay),
        ("uet.rto", rto),
    ] {
        if time == Time(0) {
            return Err(SpecError::new(field, "0s", "a time above 0"));
        }
    }
    let oversubscription = spec.oversubscription.unwrap_or_else(|| oversubscription(fabric));
    if !(oversubscription >= 1.0 && oversubscription.is_finite()) {
        let given = oversubscription.to_string();
        return Err(SpecError::new("uet.oversubscription", given, "a number from 1"));
    }
    profile.sizes.mss = mtu.0 as u32 - HEADER;
    (profile.sizes.header, profile.sizes.ack_size) = (HEADER, HEADER);
    profile.sizes.framing = 0;
    let resolved = UetSpec {
        entropies: Some(entropies),
        mtu: Some(mtu),
        ack_bytes: Some(ack_bytes),
        network_rtt: Some(network_rtt),
        target_delay: Some(target_delay),
        rto: Some(rto),
        oversubscription: Some(oversubscription),
        ..spec.clone()
    };
    let config = UetConfig {
        control: spec.control,
        load_balancing: spec.load_balancing,
        entropies,
        mtu: mtu.0 as u32,
        message_size: spec.message_size.map(|size| size.0),
        ack_bytes: ack_bytes.0 as u32,
        initial_window: spec.initial_window.map(|window| window.0),
        network_rtt,
        target_delay,
        rto,
        rate,
        oversubscription,
        simulator_quirks: spec.simulator_quirks,
    };
    Ok((resolved, config))
}

/// Returns the largest factor by which the rate of the hosts of a switch exceeds that of its other links, at least 1.
fn oversubscription(fabric: &Fabric) -> f64 {
    let mut rates = vec![[0_u64; 2]; fabric.nodes.len()];
    for link in &fabric.links {
        let is_host = fabric.nodes[link.to as usize].is_host;
        rates[link.from as usize][usize::from(is_host)] += link.rate.0;
    }
    let switches = rates.iter().filter(|[others, _]| *others > 0);
    let factors = switches.map(|&[others, hosts]| hosts as f64 / others as f64);
    factors.fold(1.0, f64::max)
}

/// Returns the timeout for the largest queue of a switch.
fn default_rto(fabric: &Fabric, mtu: u64, rate: Rate) -> Time {
    let bits = largest_queue(fabric, mtu) * RTO_QUEUES * 8;
    let queues = u128::from(bits) * 1_000_000_000_000 / u128::from(rate.0);
    Time(RTO.0.saturating_add(u64::try_from(queues).unwrap_or(u64::MAX)))
}
