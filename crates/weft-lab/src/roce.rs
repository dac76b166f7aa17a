//! Fields of transports of kind `roce`, and of TCP, which that kind refuses.

use weft_run::{DcqcnConfig, RoceConfig, RoceControl};
use weft_spec::{Profile, Rate, RoceControlName, RoceSpec, Size, SpecError, Time, TransportSpec};

use crate::refused;

const KIND: &str = "roce";

/// Bytes of the headers of data, and of an acknowledgement.
const HEADER: u32 = 62;
const ACK_SIZE: u32 = 66;

/// Maximum size of a packet on the wire.
const MAX_PACKET: u64 = 65_535;

/// Payload of 1024 B, the largest of InfiniBand in an Ethernet frame of 1500 B.
const MTU: Size = Size(1086);
/// 4.096 us x 2^14: InfiniBand Architecture Specification, section 9.7.6.1.3, with the usual exponent.
const RTO: Time = Time(4_096_000 << 14);

/// Zhu et al., SIGCOMM 2015, section 3.1 (the first two) and section 5.2.
const CNP_INTERVAL: Time = Time::from_us(50);
const ALPHA_INTERVAL: Time = Time::from_us(55);
const GAIN: f64 = 1.0 / 256.0;
const INCREASE_INTERVAL: Time = Time::from_us(55);
const BYTE_COUNTER: Size = Size(10_000_000);
/// Section 3.1.
const FAST_RECOVERY: u32 = 5;
const INCREASE: Rate = Rate(40_000_000);
/// IEEE 802.1Qau (QCN): ten times the step before, and the smallest rate.
const HYPER_INCREASE: Rate = Rate(400_000_000);
const MIN_RATE: Rate = Rate(10_000_000);

/// Refuses the fields of TCP in this kind, which only has its path policy.
///
/// # Errors
/// Returns an error for the first of these fields.
pub(crate) fn check_tcp_absent(spec: &TransportSpec) -> Result<(), SpecError> {
    refused::tcp_fields(spec, KIND)?;
    let fields = [("tcp", !spec.tcp.0.is_empty())];
    refused::fields(&fields, KIND, "remove it; `roce` has the settings of this kind")
}

/// Returns the settings with every default filled in, and their resolved form. Sets the sizes of packets in
/// the profile.
///
/// # Errors
/// Returns an error if a field is out of range or not used.
pub(crate) fn resolve(spec: &RoceSpec, profile: &mut Profile) -> Result<(RoceSpec, RoceConfig), SpecError> {
    let mtu = spec.mtu.unwrap_or(MTU);
    check_size("roce.mtu", mtu, u64::from(HEADER) + 1, MAX_PACKET)?;
    let ack_every = spec.ack_every.unwrap_or(1);
    if ack_every == 0 {
        return Err(SpecError::new("roce.ack_every", "0", "at least 1"));
    }
    if let Some(window) = spec.window {
        check_size("roce.window", window, mtu.0, u64::from(u32::MAX))?;
    }
    let rto = spec.rto.unwrap_or(RTO);
    check_time("roce.rto", rto)?;
    profile.sizes.mss = mtu.0 as u32 - HEADER;
    (profile.sizes.header, profile.sizes.ack_size) = (HEADER, ACK_SIZE);
    profile.sizes.framing = 0;
    let mut resolved = RoceSpec {
        mtu: Some(mtu),
        ack_every: Some(ack_every),
        rto: Some(rto),
        ..spec.clone()
    };
    let control = match spec.control {
        RoceControlName::Dcqcn => RoceControl::Dcqcn(resolve_dcqcn(&mut resolved)?),
        RoceControlName::None => {
            check_dcqcn_absent(spec)?;
            RoceControl::None
        }
    };
    let config = RoceConfig {
        retransmission: spec.retransmission,
        control,
        mtu: mtu.0 as u32,
        ack_every,
        window: spec.window.map(|window| window.0),
        rto,
    };
    Ok((resolved, config))
}

/// Fills in the settings of DCQCN, and returns their resolved form.
fn resolve_dcqcn(spec: &mut RoceSpec) -> Result<DcqcnConfig, SpecError> {
    let config = DcqcnConfig {
        cnp_interval: *spec.cnp_interval.get_or_insert(CNP_INTERVAL),
        alpha_interval: *spec.alpha_interval.get_or_insert(ALPHA_INTERVAL),
        gain: *spec.gain.get_or_insert(GAIN),
        increase_interval: *spec.increase_interval.get_or_insert(INCREASE_INTERVAL),
        byte_counter: spec.byte_counter.get_or_insert(BYTE_COUNTER).0,
        fast_recovery: *spec.fast_recovery.get_or_insert(FAST_RECOVERY),
        increase: *spec.increase.get_or_insert(INCREASE),
        hyper_increase: *spec.hyper_increase.get_or_insert(HYPER_INCREASE),
        min_rate: *spec.min_rate.get_or_insert(MIN_RATE),
        initial_rate: spec.initial_rate,
    };
    check_time("roce.alpha_interval", config.alpha_interval)?;
    check_time("roce.increase_interval", config.increase_interval)?;
    if !(config.gain > 0.0 && config.gain <= 1.0) {
        let given = config.gain.to_string();
        return Err(SpecError::new("roce.gain", given, "above 0, up to 1"));
    }
    if config.byte_counter == 0 {
        return Err(SpecError::new("roce.byte_counter", "0B", "a size above 0"));
    }
    if config.fast_recovery == 0 {
        return Err(SpecError::new("roce.fast_recovery", "0", "at least 1"));
    }
    Ok(config)
}

/// Refuses the settings of DCQCN without it.
fn check_dcqcn_absent(spec: &RoceSpec) -> Result<(), SpecError> {
    let fields = [
        ("cnp_interval", spec.cnp_interval.is_some()),
        ("alpha_interval", spec.alpha_interval.is_some()),
        ("gain", spec.gain.is_some()),
        ("increase_interval", spec.increase_interval.is_some()),
        ("byte_counter", spec.byte_counter.is_some()),
        ("fast_recovery", spec.fast_recovery.is_some()),
        ("increase", spec.increase.is_some()),
        ("hyper_increase", spec.hyper_increase.is_some()),
        ("min_rate", spec.min_rate.is_some()),
        ("initial_rate", spec.initial_rate.is_some()),
    ];
    match fields.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((field, _)) => Err(SpecError::conflict(
            format!("roce.{field}"),
            "not used with control = \"none\"",
            "remove it or set control = \"dcqcn\"",
        )),
    }
}

fn check_time(field: &str, time: Time) -> Result<(), SpecError> {
    if time == Time(0) {
        return Err(SpecError::new(field, "0s", "a time above 0"));
    }
    Ok(())
}

fn check_size(field: &str, size: Size, min: u64, max: u64) -> Result<(), SpecError> {
    if (min..=max).contains(&size.0) {
        return Ok(());
    }
    let allowed = format!("{min}B to {max}B");
    Err(SpecError::new(field, size.to_string(), allowed))
}
