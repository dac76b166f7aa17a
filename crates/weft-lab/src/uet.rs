//! Fields of transports of kind `uet`, and of TCP, which that kind refuses.

use weft_fabric::{Fabric, NodeId};
use weft_run::UetConfig;
use weft_spec::{Profile, QueueSize, Rate, Size, SpecError, Time, TransportSpec, UetSpec};

use crate::refused;

const KIND: &str = "uet";

/// Bytes of all headers, and of a packet without payload.
const HEADER: u32 = 64;

/// Maximum size of a packet on the wire, and of the bytes between two acknowledgements.
const MAX_PACKET: u64 = 65_535;
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

/// Maximum number of hosts whose paths are searched for the longest one, at each end.
const MAX_HOSTS: usize = 64;
/// Maximum number of paths between two hosts that are searched.
const MAX_PATHS: u64 = 16;

/// Refuses the fields of TCP in this kind.
///
/// # Errors
/// Returns an error for the first of these fields.
pub(crate) fn check_tcp_absent(spec: &TransportSpec) -> Result<(), SpecError> {
    refused::tcp_fields(spec, KIND)?;
    let fields = [("paths", spec.paths.is_some()), ("tcp", !spec.tcp.0.is_empty())];
    refused::fields(&fields, KIND, "remove it; `uet` has the settings of this kind")
}

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
    let rate = host_rate(fabric)?;
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
        simulator_quirks: spec.simulator_quirks,
    };
    Ok((resolved, config))
}

fn check_size(field: &str, size: Size, min: u64, max: u64) -> Result<(), SpecError> {
    if (min..=max).contains(&size.0) {
        return Ok(());
    }
    let allowed = format!("{min}B to {max}B");
    Err(SpecError::new(field, size.to_string(), allowed))
}

/// Returns the rate of the hosts' links: one link for each host, all with the same rate.
fn host_rate(fabric: &Fabric) -> Result<Rate, SpecError> {
    let mut rates = vec![None; fabric.nodes.len()];
    for link in &fabric.links {
        let node = &fabric.nodes[link.from as usize];
        if node.is_host && rates[link.from as usize].replace(link.rate).is_some() {
            let problem = format!("{KIND:?} needs hosts with one link, and {} has more", node.name);
            return Err(SpecError::conflict(
                "kind",
                problem,
                "use another topology or kind",
            ));
        }
    }
    let mut rates = rates.iter().flatten();
    let first = rates.next().copied().unwrap_or(Rate(1));
    match rates.find(|&&rate| rate != first) {
        None => Ok(first),
        Some(other) => {
            let problem = format!("{KIND:?} needs equal links of hosts, and they have {first} and {other}");
            Err(SpecError::conflict(
                "kind",
                problem,
                "use another topology or kind",
            ))
        }
    }
}

/// Returns the longest round-trip time of a full packet and a header without queues.
fn network_rtt(fabric: &Fabric, mtu: u32) -> Time {
    let (first, last) = (
        fabric.hosts.iter().take(MAX_HOSTS),
        fabric.hosts.iter().rev().take(MAX_HOSTS),
    );
    let mut ports = Vec::new();
    let mut longest = 0;
    for (&from, &to) in first.flat_map(|from| last.clone().map(move |to| (from, to))) {
        for path in 0..fabric.routing.path_count(from, to).min(MAX_PATHS) {
            ports.clear();
            fabric.routing.append_ports(from, to, path, &mut ports);
            longest = longest.max(round_trip(fabric, from, &ports, mtu));
        }
    }
    Time(longest)
}

/// Returns the time that a full packet takes along a path, and a header back.
fn round_trip(fabric: &Fabric, from: NodeId, ports: &[u16], mtu: u32) -> u64 {
    let mut node = from;
    let links = ports.iter().map(|&port| {
        let first = fabric.links.partition_point(|link| link.from < node);
        let link = &fabric.links[first + usize::from(port)];
        node = link.to;
        let bits = u128::from(mtu + HEADER) * 8;
        2 * link.delay.0 + (bits * 1_000_000_000_000 / u128::from(link.rate.0)) as u64
    });
    links.sum()
}

/// Returns the timeout for the largest queue of a switch. A packet that is being sent is not a part of
/// a limit, so it is added.
fn default_rto(fabric: &Fabric, mtu: u64, rate: Rate) -> Time {
    let of_switches = fabric
        .links
        .iter()
        .filter(|link| !fabric.nodes[link.from as usize].is_host);
    let bytes = of_switches.map(|link| match link.queue.limit {
        QueueSize::Packets(packets) => u64::from(packets) * mtu,
        QueueSize::Bytes(bytes) => bytes,
    });
    let bits = (bytes.max().unwrap_or(0) + mtu) * RTO_QUEUES * 8;
    let queues = u128::from(bits) * 1_000_000_000_000 / u128::from(rate.0);
    Time(RTO.0.saturating_add(u64::try_from(queues).unwrap_or(u64::MAX)))
}
