//! Properties of the network on which the defaults of transports depend: the links of hosts, and the times that
//! packets take.

use weft_fabric::{Fabric, NodeId};
use weft_spec::{QueueSize, Rate, Size, SpecError, Time};

/// Bytes of all headers, and of a packet without payload.
pub(crate) const HEADER: u32 = 64;

/// Maximum size of a packet on the wire.
pub(crate) const MAX_PACKET: u64 = 65_535;

/// Maximum number of hosts whose paths are searched for the longest one, at each end.
const MAX_HOSTS: usize = 64;
/// Maximum number of paths between two hosts that are searched.
const MAX_PATHS: u64 = 16;

/// Checks the size of a field, in bytes.
///
/// # Errors
/// Returns an error if the size is out of range.
pub(crate) fn check_size(field: &str, size: Size, min: u64, max: u64) -> Result<(), SpecError> {
    if (min..=max).contains(&size.0) {
        return Ok(());
    }
    let allowed = format!("{min}B to {max}B");
    Err(SpecError::new(field, size.to_string(), allowed))
}

/// Returns the rate of the hosts' links for a transport of this kind: one link for each host, all with the same
/// rate.
///
/// # Errors
/// Returns an error if a host has more links, or if the rates differ.
pub(crate) fn host_rate(fabric: &Fabric, kind: &str) -> Result<Rate, SpecError> {
    let mut rates = vec![None; fabric.nodes.len()];
    for link in &fabric.links {
        let node = &fabric.nodes[link.from as usize];
        if node.is_host && rates[link.from as usize].replace(link.rate).is_some() {
            let problem = format!("{kind:?} needs hosts with one link, and {} has more", node.name);
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
            let problem = format!("{kind:?} needs equal links of hosts, and they have {first} and {other}");
            Err(SpecError::conflict(
                "kind",
                problem,
                "use another topology or kind",
            ))
        }
    }
}

/// Returns the longest round-trip time of a full packet and a header without queues.
pub(crate) fn network_rtt(fabric: &Fabric, mtu: u32) -> Time {
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

/// Returns the bytes that fill the largest queue of a switch, by packets of this size. A packet that is being
/// sent is not a part of a limit, so it is added.
pub(crate) fn largest_queue(fabric: &Fabric, mtu: u64) -> u64 {
    let of_switches = fabric
        .links
        .iter()
        .filter(|link| !fabric.nodes[link.from as usize].is_host);
    let bytes = of_switches.map(|link| match link.queue.limit {
        QueueSize::Packets(packets) => u64::from(packets) * mtu,
        QueueSize::Bytes(bytes) => bytes,
    });
    bytes.max().unwrap_or(0) + mtu
}
