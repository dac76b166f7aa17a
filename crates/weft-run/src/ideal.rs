//! The FCT of a flow that is alone on the network: the ideal, by which the FCT of a flow is divided for its slowdown.
//!
//! All packets are at the sender at once, whatever the window, and take the fastest of the flow's paths. The packets of
//! a flow over several paths are divided so that the last one arrives as early as possible. For one path the result is
//! exact to the picosecond. For several it is a lower bound: no set of links that all paths cross is faster.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use weft_fabric::{Fabric, Link, LinkChange, NodeId, Routing};
use weft_spec::{Rate, Time};
use weft_traffic::Flow;
use weft_transports::ConstantRateConfig;

use crate::wire_format::{Packets, Timing, WireFormat};
use crate::{LinkEvent, Plan};

/// Maximum number of paths between two hosts that are considered, in equal steps over all of them.
const MAX_PATHS: u64 = 1024;

/// Maximum number of pairs of hosts whose paths are kept.
const MAX_PAIRS: usize = 1 << 20;

/// Fractional bits of [`Hop::ps_per_byte`], as many as the packet engine has.
const FRACTION: u32 = 16;

/// A link on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Hop {
    /// Serialisation time of a byte in 2^-16 ps.
    ps_per_byte: u64,
    /// Propagation delay in picoseconds.
    delay: u64,
}

impl Hop {
    fn new(rate: Rate, delay: Time) -> Self {
        Self {
            ps_per_byte: ((8_000_000_000_000_u128 << FRACTION) / u128::from(rate.0.max(1))) as u64,
            delay: delay.0,
        }
    }

    /// Returns the serialisation time of a packet in picoseconds, rounded as in the packet engine.
    fn serialisation(self, bytes: u64) -> u64 {
        ((u128::from(bytes) * u128::from(self.ps_per_byte)) >> FRACTION) as u64
    }

    /// Returns the time from the first bit of a packet at the sender to its last bit at the receiver.
    fn latency(self, bytes: u64) -> u64 {
        self.delay + self.serialisation(bytes)
    }
}

fn latency(path: &[Hop], bytes: u64) -> u64 {
    path.iter().map(|hop| hop.latency(bytes)).sum()
}

/// A path between two hosts.
struct Path {
    links: Vec<u32>,
    hops: Vec<Hop>,
}

/// Links of a cut that are alike: each path of a flow crosses one link of the cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct CutLinks {
    /// Serialisation times of a full packet on the path to the link, and on the path from its end.
    before: u64,
    after: u64,
    /// Delays of all links of the path.
    delay: u64,
    /// Serialisation time of a byte on the link in 2^-16 ps.
    ps_per_byte: u64,
    /// Number of these links.
    count: u64,
}

impl CutLinks {
    fn hop(&self) -> Hop {
        Hop {
            ps_per_byte: self.ps_per_byte,
            delay: 0,
        }
    }

    /// Returns the time that a packet of this size takes before and after the link. A small packet can overtake full
    /// ones, which take other paths to the link.
    fn latency(&self, bytes: u64, full: u64) -> u64 {
        let full_serialisation = u128::from(self.before + self.after);
        self.delay + (full_serialisation * u128::from(bytes) / u128::from(full)) as u64
    }

    /// Returns the time of `full_count` full packets and perhaps a smaller one over at most `paths` of these links, if
    /// they are all links of the cut.
    fn time_of(&self, packets: &Packets, full_count: u64, paths: u64) -> u64 {
        let Packets { full, last, .. } = *packets;
        let count = self.count.min(paths);
        let serialisation = self.hop().serialisation(full);
        let all_full = full_count.div_ceil(count) * serialisation;
        let with_last = full_count / count * serialisation + self.hop().serialisation(last);
        let smaller = if last == full {
            0
        } else {
            self.latency(last, full) + all_full.max(with_last)
        };
        smaller.max(self.latency(full, full) + all_full)
    }
}

/// The paths from one host to another, as far as times depend on them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PathSet {
    /// The different paths.
    paths: Vec<Vec<Hop>>,
    /// The cuts of a flow over several paths at once; none for one over one path.
    cuts: Vec<Vec<CutLinks>>,
    /// Paths back, for handshakes.
    back: Vec<Vec<Hop>>,
}

/// Computes the ideal FCTs of the flows of a run.
pub(crate) struct IdealTimes {
    routing: Arc<dyn Routing>,
    /// The links, the first link of each node, and the nodes of hosts.
    hops: Vec<Option<Hop>>,
    to: Vec<NodeId>,
    first_links: Vec<u32>,
    hosts: Vec<NodeId>,
    /// Format of each transport; `None` if its level does not state one.
    formats: Vec<Option<WireFormat>>,
    /// Paths by sender, receiver and number of the first transport with this format, as an index of `sets`.
    pairs: HashMap<(NodeId, NodeId, u32), u32>,
    sets: Vec<PathSet>,
    numbers: HashMap<PathSet, u32>,
}

impl IdealTimes {
    /// Prepares for the flows of a plan whose transports have these formats.
    pub fn new(plan: &Plan, formats: Vec<Option<WireFormat>>) -> Self {
        let Fabric {
            nodes,
            links,
            hosts,
            routing,
            ..
        } = &plan.fabric;
        let mut first_links = Vec::with_capacity(nodes.len());
        let mut next = 0;
        for node in 0..nodes.len() as u32 {
            while links.get(next).is_some_and(|link| link.from < node) {
                next += 1;
            }
            first_links.push(next as u32);
        }
        let mut fastest = fastest_links(links, &plan.events);
        let ppm = plan.spec.hosts.clock_ppm.unwrap_or(0);
        for (link, (rate, _)) in links.iter().zip(&mut fastest) {
            if nodes[link.from as usize].is_host {
                // The clock of the host may be this much faster.
                rate.0 = (u128::from(rate.0) * u128::from(1_000_000 + ppm)).div_ceil(1_000_000) as u64;
            }
        }
        let hop = |(rate, delay): (Rate, Time)| (rate.0 > 0).then(|| Hop::new(rate, delay));
        Self {
            routing: Arc::clone(routing),
            hops: fastest.into_iter().map(hop).collect(),
            to: links.iter().map(|link| link.to).collect(),
            first_links,
            hosts: hosts.clone(),
            formats,
            pairs: HashMap::new(),
            sets: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Returns the ideal FCT of a flow; `None` if it has no size, or its transport no format. If a persistent connection carries
    /// the flow, it waits for no handshake.
    pub fn of_flow(&mut self, flow: &Flow, is_carried: bool) -> Option<Time> {
        let bytes = flow.size?.0;
        let format = self.formats[flow.transport as usize]?;
        if bytes == 0 {
            return None;
        }
        let set = self.path_set(flow, format);
        let packets = format.packets(bytes);
        let format = if is_carried {
            WireFormat {
                handshake: None,
                confirmation: None,
                ..format
            }
        } else {
            format
        };
        match format.timing {
            Timing::StoreAndForward => self.sets[set].time(&packets, &format),
            Timing::Fluid => self.sets[set].fluid_time(&packets, &format),
        }
        .map(Time)
    }

    /// Returns the links of all paths of a flow that are considered, in rising order.
    pub fn links_of(&self, flow: &Flow) -> Vec<u32> {
        let [from, to] = [flow.from, flow.to].map(|host| self.hosts[host as usize]);
        let paths = self.paths(from, to).into_iter();
        let mut links: Vec<u32> = paths.flat_map(|path| path.links).collect();
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Returns the index of the paths of a flow.
    fn path_set(&mut self, flow: &Flow, format: WireFormat) -> usize {
        let same = |other: &Option<WireFormat>| *other == Some(format);
        let number = self.formats.iter().position(same).unwrap_or(0) as u32;
        let [from, to] = [flow.from, flow.to].map(|host| self.hosts[host as usize]);
        if let Some(&set) = self.pairs.get(&(from, to, number)) {
            return set as usize;
        }
        let paths = self.paths(from, to);
        let full = format.packets(u64::MAX / 2).full;
        let cuts = if format.paths == Some(1) || paths.len() == 1 {
            Vec::new()
        } else {
            cuts(&paths, full)
        };
        let back = match format.handshake {
            Some(_) => distinct(&self.paths(to, from)),
            None => Vec::new(),
        };
        let paths = distinct(&paths);
        let set = PathSet { paths, cuts, back };
        let next = self.sets.len() as u32;
        let index = match self.numbers.entry(set) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(vacant) => {
                self.sets.push(vacant.key().clone());
                *vacant.insert(next)
            }
        };
        if self.pairs.len() >= MAX_PAIRS {
            self.pairs.clear();
        }
        self.pairs.insert((from, to, number), index);
        index as usize
    }

    /// Returns the paths from one host to another. Paths over a link without capacity are left out.
    fn paths(&self, from: NodeId, to: NodeId) -> Vec<Path> {
        let count = self.routing.path_count(from, to);
        let considered = count.min(MAX_PATHS);
        let mut ports = Vec::new();
        let mut found = Vec::with_capacity(considered as usize);
        for i in 0..considered {
            let number = (u128::from(i) * u128::from(count) / u128::from(considered)) as u64;
            ports.clear();
            self.routing.append_ports(from, to, number, &mut ports);
            let mut node = from;
            let follow = |&port: &u16| {
                let link = self.first_links[node as usize] + u32::from(port);
                node = self.to[link as usize];
                link
            };
            let links: Vec<u32> = ports.iter().map(follow).collect();
            let mut hops = Vec::with_capacity(links.len());
            hops.extend(links.iter().filter_map(|&link| self.hops[link as usize]));
            if hops.len() == links.len() {
                found.push(Path { links, hops });
            }
        }
        found
    }
}

/// Returns the different sequences of hops of these paths.
fn distinct(paths: &[Path]) -> Vec<Vec<Hop>> {
    let mut hops: Vec<&Vec<Hop>> = paths.iter().map(|path| &path.hops).collect();
    hops.sort_unstable();
    hops.dedup();
    hops.into_iter().cloned().collect()
}

/// Returns cuts: the n-th links of all paths from the sender, and from the receiver. Full packets have this size.
fn cuts(paths: &[Path], full: u64) -> Vec<Vec<CutLinks>> {
    let lengths = || paths.iter().map(|path| path.links.len());
    let (Some(min_length), Some(max_length)) = (lengths().min(), lengths().max()) else {
        return Vec::new();
    };
    let from_sender = (0..min_length).map(|n| cut(paths, full, |_| n));
    // Where all paths have one length, these are the same cuts.
    let others = if min_length == max_length { 0 } else { min_length };
    let from_receiver = (0..others).map(|n| cut(paths, full, move |length| length - 1 - n));
    from_sender.chain(from_receiver).collect()
}

/// Returns the cut at the link of each path with the number that `at` gives for the length of the path.
fn cut(paths: &[Path], full: u64, at: impl Fn(usize) -> usize) -> Vec<CutLinks> {
    let serialisation = |hops: &[Hop]| hops.iter().map(|hop| hop.serialisation(full)).sum();
    let crossing = |Path { links, hops }: &Path| {
        let at = at(links.len());
        let crossed = CutLinks {
            before: serialisation(&hops[..at]),
            after: serialisation(&hops[at + 1..]),
            delay: hops.iter().map(|hop| hop.delay).sum(),
            ps_per_byte: hops[at].ps_per_byte,
            count: 1,
        };
        (links[at], crossed)
    };
    let mut crossed: Vec<(u32, CutLinks)> = paths.iter().map(crossing).collect();
    crossed.sort_unstable_by_key(|&(link, _)| link);
    crossed.dedup_by(|(next, found), (kept, known)| {
        if next == kept {
            known.before = known.before.min(found.before);
            known.delay = known.delay.min(found.delay);
            known.after = known.after.min(found.after);
        }
        next == kept
    });
    let mut links: Vec<CutLinks> = crossed.into_iter().map(|(_, links)| links).collect();
    links.sort_unstable();
    links.dedup_by(|next, kept| {
        let is_alike = CutLinks {
            count: kept.count,
            ..*next
        } == *kept;
        kept.count += u64::from(is_alike);
        is_alike
    });
    links
}

/// Returns the highest rate and the lowest delay of each link in the run.
fn fastest_links(links: &[Link], events: &[LinkEvent]) -> Vec<(Rate, Time)> {
    let mut fastest: Vec<(Rate, Time)> = links.iter().map(|link| (link.rate, link.delay)).collect();
    // An event at the beginning replaces what the topology says.
    let at_once = |event: &&LinkEvent| event.at == Time(0);
    for event in events.iter().filter(at_once) {
        match event.change {
            LinkChange::Rate(rate) => fastest[event.link as usize].0 = rate,
            LinkChange::Delay(delay) => fastest[event.link as usize].1 = delay,
            LinkChange::Down | LinkChange::Up => {}
        }
    }
    for event in events.iter().filter(|event| !at_once(event)) {
        let (highest, lowest) = &mut fastest[event.link as usize];
        match event.change {
            LinkChange::Rate(rate) => *highest = rate.max(*highest),
            LinkChange::Delay(delay) => *lowest = delay.min(*lowest),
            LinkChange::Down | LinkChange::Up => {}
        }
    }
    fastest
}

impl PathSet {
    /// Returns the time until the last packet arrives, with a handshake if the format has one; `None` without a path.
    fn time(&self, packets: &Packets, format: &WireFormat) -> Option<u64> {
        let handshake = match format.handshake {
            None => 0,
            Some(bytes) => {
                let fastest = |paths: &[Vec<Hop>]| paths.iter().map(|path| latency(path, bytes.into())).min();
                fastest(&self.paths)? + fastest(&self.back)?
            }
        };
        // On another path, data does not wait for the confirmation.
        let confirmation = format.confirmation.filter(|_| self.cuts.is_empty());
        let format = &WireFormat {
            confirmation,
            ..*format
        };
        let alone = |path: &Vec<Hop>| transfer(path, packets, format);
        let on_one = self.paths.iter().map(alone).min()?;
        Some(handshake + self.over_cuts(packets, format, on_one))
    }

    /// Returns the time over several paths at once, which is at most that over one.
    fn over_cuts(&self, packets: &Packets, format: &WireFormat, on_one: u64) -> u64 {
        if packets.count() == 1 {
            return on_one;
        }
        let paths = format.paths.map_or(u64::MAX, u64::from);
        let cuts = self.cuts.iter();
        cuts.map(|cut| time_over(cut, packets, paths, on_one))
            .max()
            .unwrap_or(on_one)
    }

    /// Returns the time at the rate of the narrowest links, as the flow level counts it; `None` without a path.
    fn fluid_time(&self, packets: &Packets, format: &WireFormat) -> Option<u64> {
        let rtt = |path: &Vec<Hop>| {
            let times = path
                .iter()
                .map(|hop| 2 * hop.delay + hop.serialisation(packets.full));
            times.sum::<u64>()
        };
        let slowest = |path: &[Hop]| path.iter().map(|hop| hop.ps_per_byte).max().unwrap_or(0);
        let round_trips = if format.handshake.is_some() { 3 } else { 1 };
        let time = |ps_per_byte: f64| (packets.bytes() as f64 * ps_per_byte) as u64 >> FRACTION;
        let on_path = |path: &Vec<Hop>| round_trips * rtt(path) / 2 + time(slowest(path) as f64);
        let on_one = self.paths.iter().map(on_path).min()?;
        let paths = format.paths.map_or(u64::MAX, u64::from);
        let narrowest = self
            .cuts
            .iter()
            .map(|cut| 1.0 / bytes_per_ps(cut, paths))
            .reduce(f64::max);
        let fastest = self.paths.iter().map(rtt).min()?;
        let on_all = narrowest.map(|ps_per_byte| round_trips * fastest / 2 + time(ps_per_byte));
        Some(on_all.map_or(on_one, |all| all.min(on_one)))
    }
}

/// Returns the bytes that cross the fastest links of a cut, at most `paths`, per 2^-16 ps.
fn bytes_per_ps(cut: &[CutLinks], paths: u64) -> f64 {
    let mut links: Vec<CutLinks> = cut.to_vec();
    links.sort_unstable_by_key(|links| links.ps_per_byte);
    let mut left = paths;
    let mut sum = 0.0;
    for links in links {
        let count = links.count.min(left);
        left -= count;
        sum += count as f64 / links.ps_per_byte as f64;
    }
    sum
}

/// Returns the time until the last packet has arrived over a path. The times at which packets of equal size leave a
/// link are convex in their number, so that the first and the last of them determine the others.
fn transfer(path: &[Hop], packets: &Packets, format: &WireFormat) -> u64 {
    let Packets {
        full,
        full_count,
        short,
        short_count,
        short_at_end,
        last,
    } = *packets;
    let emission = |n: u64| {
        format
            .schedule
            .map_or(0, |schedule| emission_time(schedule, full, n))
    };
    // Arrivals at a link, and then departures: of the confirmation, of the first and the last full packet, and of the
    // last packet.
    let mut confirmed = 0;
    let mut first_full = 0;
    let mut last_full = emission(full_count.saturating_sub(1));
    let mut end = emission(full_count);
    for hop in path {
        let [full, short, last] = [full, short, last].map(|bytes| hop.serialisation(bytes));
        if let Some(bytes) = format.confirmation {
            confirmed += hop.serialisation(bytes.into());
        }
        if full_count > 0 {
            first_full = first_full.max(confirmed) + full;
            let in_a_row = first_full + (full_count - 1) * full + short_count * short;
            last_full = (last_full + full).max(in_a_row);
            end = end.max(last_full + if short_at_end { short } else { 0 });
        }
        end = end.max(confirmed) + last;
        confirmed += hop.delay;
        first_full += hop.delay;
        last_full += hop.delay;
        end += hop.delay;
    }
    end
}

/// Returns the time at which a source at a constant rate sends packet `n` of this size. Random pauses are left out.
fn emission_time(schedule: ConstantRateConfig, bytes: u64, n: u64) -> u64 {
    let bits = 8 * u128::from(bytes);
    let on = bits * u128::from(n) * 1_000_000_000_000 / u128::from(schedule.rate.0);
    let pauses = match schedule.on {
        Some(duration) if !schedule.random => on / u128::from(duration.0.max(1)) * u128::from(schedule.off.0),
        _ => 0,
    };
    u64::try_from(on + pauses).unwrap_or(u64::MAX)
}

/// Returns the earliest time at which the packets can have crossed a cut and arrived, at most `limit`. They use at most
/// this many links of the cut.
fn time_over(cut: &[CutLinks], packets: &Packets, paths: u64, limit: u64) -> u64 {
    let full_count = packets.full_count + u64::from(packets.last == packets.full);
    if let [links] = *cut {
        return links.time_of(packets, full_count, paths).min(limit);
    }
    let is_possible = |time: u64| {
        can_carry(cut, time, full_count, packets, false, paths)
            && (packets.last == packets.full || can_carry(cut, time, full_count, packets, true, paths))
    };
    let (mut low, mut high) = (0, limit);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_possible(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// Returns true if this many full packets can cross the links of a cut and arrive within a time. If `is_last_smaller`,
/// the last packet of the flow does so as well, and the last packet on each link may be as small.
fn can_carry(
    cut: &[CutLinks],
    time: u64,
    full_count: u64,
    packets: &Packets,
    is_last_smaller: bool,
    paths: u64,
) -> bool {
    let Packets { full, last, .. } = *packets;
    let mut carried: Vec<(u64, u64)> = Vec::with_capacity(cut.len());
    // Number of full packets fewer because the last one takes their time; `None`: no link has the time for it.
    let mut fewer = None;
    for links in cut {
        let hop = links.hop();
        let smallest = if is_last_smaller { last } else { full };
        let Some(left) = time.checked_sub(links.latency(smallest, full)) else {
            continue;
        };
        let serialisation = hop.serialisation(full).max(1);
        let count = left / serialisation;
        if let Some(without_last) = left.checked_sub(hop.serialisation(last)) {
            let lost = count - without_last / serialisation;
            fewer = Some(fewer.map_or(lost, |least: u64| least.min(lost)));
        }
        carried.push((count, links.count));
    }
    carried.sort_unstable_by(|a, b| b.cmp(a));
    let mut left = paths;
    let mut sum: u64 = 0;
    for (count, links) in carried {
        let used = links.min(left);
        left -= used;
        sum = sum.saturating_add(count.saturating_mul(used));
    }
    if !is_last_smaller {
        return sum >= full_count;
    }
    fewer.is_some_and(|fewer| sum >= full_count + fewer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hops() -> impl Strategy<Value = Vec<Hop>> {
        let rate = prop_oneof![Just(1_000), Just(2_500), Just(10_000), Just(33_333)];
        let hop =
            (rate, 0..5_000_000_u64).prop_map(|(mbps, delay)| Hop::new(Rate(mbps * 1_000_000), Time(delay)));
        prop::collection::vec(hop, 1..6)
    }

    /// Returns the packets of a flow one by one.
    fn sizes(format: &WireFormat, mut bytes: u64) -> Vec<u64> {
        let message = format.message.unwrap_or(u64::MAX);
        let mut left = message;
        let mut sizes = Vec::new();
        while bytes > 0 {
            let payload = bytes.min(format.payload.into()).min(left);
            sizes.push(payload + u64::from(format.header));
            (bytes, left) = (bytes - payload, left - payload);
            if left == 0 {
                left = message;
            }
        }
        sizes
    }

    /// Returns the arrival of the last of these packets: each link sends a packet when it has it and has sent those
    /// before.
    fn pipeline(path: &[Hop], sizes: &[u64], emission: impl Fn(u64) -> u64) -> u64 {
        let mut arrivals: Vec<u64> = (0..sizes.len() as u64).map(emission).collect();
        for hop in path {
            let mut free = 0;
            for (arrival, &size) in arrivals.iter_mut().zip(sizes) {
                free = free.max(*arrival) + hop.serialisation(size);
                *arrival = free + hop.delay;
            }
        }
        arrivals.pop().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn a_transfer_is_that_of_packets_one_by_one(
            path in hops(),
            bytes in 1..60_000_u64,
            payload in 100..3_000_u32,
            confirmation in prop::option::of(1..2_000_u32),
        ) {
            let format = WireFormat { confirmation, ..WireFormat::new(payload, 62) };
            let before = confirmation.map(u64::from);
            let all: Vec<u64> = before.into_iter().chain(sizes(&format, bytes)).collect();
            let expected = pipeline(&path, &all, |_| 0);
            prop_assert_eq!(transfer(&path, &format.packets(bytes), &format), expected);
        }

        #[test]
        fn messages_take_at_most_a_packet_per_link_longer(path in hops(), bytes in 1..60_000_u64, message in 1..9_000_u64) {
            let format = WireFormat { message: Some(message), ..WireFormat::new(1_000, 64) };
            let (packets, exact) = (format.packets(bytes), pipeline(&path, &sizes(&format, bytes), |_| 0));
            let found = transfer(&path, &packets, &format);
            let slack: u64 = path.iter().map(|hop| hop.serialisation(packets.full)).sum();
            prop_assert!(found <= exact && exact <= found + slack, "{} for {}", found, exact);
        }

        #[test]
        fn a_source_keeps_its_schedule(path in hops(), bytes in 1..60_000_u64, on in 1..40_u64, off in 0..40_u64, mbps in 1..20_000_u64) {
            let schedule = ConstantRateConfig {
                packet_size: 1514,
                rate: Rate(mbps * 1_000_000),
                on: Some(Time::from_us(on)),
                off: Time::from_us(off),
                random: false,
            };
            let format = WireFormat { schedule: Some(schedule), ..WireFormat::new(1_400, 54) };
            let emission = |n| emission_time(schedule, 1_454, n);
            let exact = pipeline(&path, &sizes(&format, bytes), emission);
            let found = transfer(&path, &format.packets(bytes), &format);
            // Pauses make the gaps unequal, so that the slowest link may wait after the first packets.
            prop_assert!(found <= exact, "{} for {}", found, exact);
            if off == 0 {
                prop_assert_eq!(found, exact);
            }
        }

        /// Packets are divided between parallel paths in all ways.
        #[test]
        fn several_paths_take_at_most_a_packet_longer(
            rates in prop::collection::vec((1..4_u64, 0..3_u64), 2..4),
            packets in 2..12_u64,
            last in 1..=1_000_u64,
            limit in 1..4_usize,
        ) {
            let format = WireFormat::new(1_000, 0);
            let bytes = (packets - 1) * 1_000 + last;
            let paths: Vec<Vec<Hop>> = rates
                .iter()
                .map(|&(gbps, us)| vec![Hop::new(Rate(gbps * 1_000_000_000), Time::from_us(us)); 2])
                .collect();
            let cut: Vec<CutLinks> = paths
                .iter()
                .map(|path| CutLinks {
                    before: 0,
                    delay: 2 * path[0].delay,
                    after: path[1].serialisation(1_000),
                    ps_per_byte: path[0].ps_per_byte,
                    count: 1,
                })
                .collect();
            let on_one = paths.iter().map(|path| transfer(path, &format.packets(bytes), &format)).min().unwrap();
            let found = time_over(&cut, &format.packets(bytes), limit as u64, on_one);
            let best = best_division(&paths, packets, last, limit);
            let slack = paths.iter().map(|path| path[0].serialisation(1_000)).max().unwrap();
            prop_assert!(found <= best && best <= found + slack, "{} for {}", found, best);
        }
    }

    /// Returns the shortest time over all ways to divide packets between at most `limit` paths.
    fn best_division(paths: &[Vec<Hop>], packets: u64, last: u64, limit: usize) -> u64 {
        fn divide(paths: &[Vec<Hop>], full: u64, last: Option<u64>, limit: usize) -> u64 {
            let Some((path, others)) = paths.split_first() else {
                return if full == 0 && last.is_none() { 0 } else { u64::MAX };
            };
            let mut best = u64::MAX;
            for own in 0..=full {
                for takes_last in [false, true] {
                    if takes_last && last.is_none() {
                        continue;
                    }
                    let mut sizes = vec![1_000; own as usize];
                    sizes.extend(last.filter(|_| takes_last));
                    let used = usize::from(!sizes.is_empty());
                    if used > limit {
                        continue;
                    }
                    let rest = divide(others, full - own, last.filter(|_| !takes_last), limit - used);
                    let own = if sizes.is_empty() {
                        0
                    } else {
                        pipeline(path, &sizes, |_| 0)
                    };
                    best = best.min(own.max(rest));
                }
            }
            best
        }
        divide(paths, packets - 1, Some(last), limit)
    }

    #[test]
    fn events_make_links_faster_and_not_slower() {
        let queue = weft_fabric::QueueConfig {
            limit: weft_spec::QueueSize::Packets(1),
            mark: None,
        };
        let link = Link::new([0, 1], Rate(10), Time(10), queue);
        let event = |at, change| LinkEvent {
            at: Time(at),
            link: 0,
            change,
            detection_delay: Time(0),
        };
        let fastest = |events: &[LinkEvent]| fastest_links(std::slice::from_ref(&link), events)[0];
        assert_eq!(fastest(&[]), (Rate(10), Time(10)));
        assert_eq!(
            fastest(&[event(5, LinkChange::Rate(Rate(4)))]),
            (Rate(10), Time(10))
        );
        assert_eq!(
            fastest(&[event(5, LinkChange::Rate(Rate(40)))]),
            (Rate(40), Time(10))
        );
        let at_once = [
            event(0, LinkChange::Rate(Rate(4))),
            event(5, LinkChange::Delay(Time(3))),
        ];
        assert_eq!(fastest(&at_once), (Rate(4), Time(3)));
    }
}
