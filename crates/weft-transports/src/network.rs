//! Properties of the network on which the defaults of transports depend: the links of hosts, and the times that
//! packets take.

use weft_fabric::{Fabric, Link, NodeId, QueueKind};
use weft_spec::{QueueSize, Rate, Time};

/// Bytes of all headers, and of a packet without payload.
pub const HEADER: u32 = 64;

/// Maximum number of hosts whose paths are searched for the longest one, at each end.
const MAX_HOSTS: usize = 64;
/// Maximum number of paths between two hosts that are searched.
const MAX_PATHS: u64 = 16;

/// Returns the highest rate of a host: the sum over its links.
pub fn fastest_host(fabric: &Fabric) -> Rate {
    let mut sums = vec![0_u64; fabric.nodes.len()];
    for link in host_links(fabric) {
        let sum = &mut sums[link.from as usize];
        *sum = sum.saturating_add(link.rate.0);
    }
    Rate(sums.into_iter().max().unwrap_or(0).max(1))
}

/// Returns the rate of the slowest link over which a host sends.
pub fn slowest_host_link(fabric: &Fabric) -> Rate {
    let rates = host_links(fabric).map(|link| link.rate);
    rates.min().unwrap_or(Rate(1))
}

fn host_links(fabric: &Fabric) -> impl Iterator<Item = &Link> {
    let links = fabric.links.iter();
    links.filter(|link| fabric.nodes[link.from as usize].is_host)
}

/// Returns the longest round-trip time of a full packet and a header without queues.
pub fn network_rtt(fabric: &Fabric, mtu: u32) -> Time {
    longest(fabric, |link| {
        2 * link.delay.0 + time_of(u64::from(mtu + HEADER), link.rate)
    })
}

/// Returns the largest number of switches on a path.
pub fn most_switches(fabric: &Fabric) -> u64 {
    longest(fabric, |link| {
        u64::from(!fabric.nodes[link.from as usize].is_host)
    })
    .0
}

/// Returns the longest round-trip time of a full packet and a header if each queue of a switch is full.
pub fn loaded_rtt(fabric: &Fabric, mtu: u32) -> Time {
    longest(fabric, |link| {
        let waiting = if fabric.nodes[link.from as usize].is_host {
            0
        } else {
            queue_bytes(link, mtu.into())
        };
        let bytes = waiting.saturating_add(u64::from(mtu + HEADER));
        (2 * link.delay.0).saturating_add(time_of(bytes, link.rate))
    })
}

/// Returns the longest time that a full queue of headers takes to empty, with the data that is sent between them; 0
/// if no queue trims.
pub fn longest_headers(fabric: &Fabric, mtu: u32) -> Time {
    let times = fabric.links.iter().filter_map(|link| {
        let QueueKind::Trimming(trimming) = &link.kind else {
            return None;
        };
        let size = trimming.size.0;
        let headers = match trimming.header_limit(link.queue) {
            QueueSize::Packets(packets) => packets.into(),
            QueueSize::Bytes(bytes) => bytes / size,
        };
        let data = trimming.ratio.map_or(0, |ratio| headers / u64::from(ratio));
        let bytes = headers.saturating_mul(size);
        let bytes = bytes.saturating_add(data.saturating_mul(mtu.into()));
        Some(time_of(bytes, link.rate))
    });
    Time(times.max().unwrap_or(0))
}

/// Returns the time that bytes take at a rate.
fn time_of(bytes: u64, rate: Rate) -> u64 {
    let time = u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.0);
    u64::try_from(time).unwrap_or(u64::MAX)
}

/// Returns the largest sum of the times of links along a path.
fn longest(fabric: &Fabric, time: impl Fn(&Link) -> u64) -> Time {
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
            longest = longest.max(sum_along(fabric, from, &ports, &time));
        }
    }
    Time(longest)
}

/// Returns the sum of the times of links along a path.
fn sum_along(fabric: &Fabric, from: NodeId, ports: &[u16], time: impl Fn(&Link) -> u64) -> u64 {
    let mut node = from;
    ports.iter().fold(0, |sum: u64, &port| {
        let first = fabric.links.partition_point(|link| link.from < node);
        let link = &fabric.links[first + usize::from(port)];
        node = link.to;
        sum.saturating_add(time(link))
    })
}

/// Returns the bytes that fill the queue of a link, by packets of this size.
fn queue_bytes(link: &Link, mtu: u64) -> u64 {
    match link.queue.limit {
        QueueSize::Packets(packets) => u64::from(packets) * mtu,
        QueueSize::Bytes(bytes) => bytes,
    }
}

/// Returns the bytes that fill the largest queue of a switch, by packets of this size. A packet that is being
/// sent is not a part of a limit, so it is added.
pub fn largest_queue(fabric: &Fabric, mtu: u64) -> u64 {
    let of_switches = fabric
        .links
        .iter()
        .filter(|link| !fabric.nodes[link.from as usize].is_host);
    let bytes = of_switches.map(|link| queue_bytes(link, mtu));
    bytes.max().unwrap_or(0) + mtu
}
