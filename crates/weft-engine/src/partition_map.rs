//! The map from a fabric to partitions: which nodes, ports and rings belong to which partition.

use std::borrow::Cow;
use std::collections::BinaryHeap;
use std::ops::Range;

use weft_fabric::{Fabric, Link, NodeId, QueueKind, QueueParameters};

use crate::backlogs::Backlogs;
use crate::calendar::Calendar;
use crate::drops::Drops;
use crate::hash::{link_hash, queue_stream};
use crate::links::Links;
use crate::losses::Losses;
use crate::network::PartitionNetwork;
use crate::partition::{INDEX_BITS, MIN_PREFETCH_LINKS};
use crate::pauses::Pauses;
use crate::port::Port;
use crate::port_state::{PortState, PortStates};
use crate::ring::Ring;
use crate::route::HopBits;
use crate::samples::{SampleTarget, Samples};
use crate::telemetry::Telemetry;
use crate::timers::{Timer, Timers};
use crate::{EngineConfig, LinkChange, Threads};
use weft_queues::{ByteTime, Incoming, Ingress, Site};

/// Maximum number of packets that a node gets in one window: as many as a sort key can number.
pub const MAX_ARRIVALS: u64 = 1 << INDEX_BITS;

/// Minimum number of the largest packets that the links of a partition can bring in a window. They take some 10 us;
/// a barrier takes about 1 us.
const MIN_PACKETS_PER_WINDOW: f64 = 500.0;

/// The partitions of a fabric. Ports are numbered as links are, by sending node; rings are numbered
/// by receiving node.
pub struct PartitionMap<'a> {
    fabric: &'a Fabric,
    /// Partition `p` has the nodes `bounds[p]..bounds[p + 1]`.
    bounds: Vec<NodeId>,
    /// The link of each ring.
    link_of: Vec<u32>,
    /// The ring of each link.
    ring_of: Vec<u32>,
    /// The host at each node; `u32::MAX` at a switch.
    host_at: Vec<u32>,
    window: u64,
    /// The other direction of each link's cable, if the network has lossless queues.
    reverse: Option<Vec<Option<u32>>>,
}

impl<'a> PartitionMap<'a> {
    /// Divides `fabric` into the partitions of `config.threads`.
    pub fn new(fabric: &'a Fabric, config: &EngineConfig) -> Self {
        let mut link_of: Vec<u32> = (0..fabric.links.len() as u32).collect();
        link_of.sort_by_key(|&l| fabric.links[l as usize].to);
        let mut ring_of = vec![0; fabric.links.len()];
        for (ring, &link) in (0..).zip(&link_of) {
            ring_of[link as usize] = ring;
        }
        let mut host_at = vec![u32::MAX; fabric.nodes.len()];
        for (host, &node) in (0..).zip(&fabric.hosts) {
            host_at[node as usize] = host;
        }
        let reverse = fabric.pause_frame().map(|_| fabric.reverse_links());
        let min_packet = config.min_packet.min(fabric.pause_frame().unwrap_or(u32::MAX));
        let lookahead_of = |l: &Link| l.delay.0 + ByteTime::new(l.rate).for_bytes(min_packet);
        let links = best_case_links(fabric, config);
        let lookahead = links.iter().map(lookahead_of).min().unwrap_or(1).max(1);
        let window = lookahead.min(max_window(&links, fabric.nodes.len(), config));
        Self {
            fabric,
            bounds: bounds(fabric, partition_count(&links, window, config)),
            link_of,
            ring_of,
            host_at,
            window,
            reverse,
        }
    }

    /// The range of nodes of each partition.
    pub fn ranges(&self) -> impl Iterator<Item = Range<NodeId>> {
        self.bounds.windows(2).map(|b| b[0]..b[1])
    }

    fn partition_of(&self, node: NodeId) -> u32 {
        (self.bounds.partition_point(|&b| b <= node) - 1) as u32
    }

    fn links_from(&self, nodes: &Range<NodeId>) -> Range<usize> {
        self.fabric.first_link(nodes.start)..self.fabric.first_link(nodes.end)
    }

    fn rings_to(&self, nodes: &Range<NodeId>) -> Range<usize> {
        let point = |node| {
            self.link_of
                .partition_point(|&l| self.fabric.links[l as usize].to < node)
        };
        point(nodes.start)..point(nodes.end)
    }

    /// The host at `node`; `None` at a switch.
    pub fn host(&self, node: NodeId) -> Option<u32> {
        let host = self.host_at[node as usize];
        (host != u32::MAX).then_some(host)
    }

    /// The first port of `node` in its partition.
    pub fn first_port(&self, node: NodeId) -> u32 {
        let first = self.bounds[self.partition_of(node) as usize];
        (self.links_from(&(first..node)).len()) as u32
    }

    /// Returns for each ring of a partition its receiving node, numbered in the partition, and the hash
    /// of its link.
    pub fn rings(&self, nodes: &Range<NodeId>, seed: u64) -> impl Iterator<Item = (u32, u64)> {
        let links = &self.link_of[self.rings_to(nodes)];
        let ring = move |&l: &u32| (self.fabric.links[l as usize].to - nodes.start, link_hash(seed, l));
        links.iter().map(ring)
    }

    /// Returns the ends of each link: (partition, port) at its sender and (partition, ring) at its
    /// receiver.
    pub fn link_ends(&self) -> Vec<[(u32, u32); 2]> {
        let first = |p: u32| self.bounds[p as usize]..self.bounds[p as usize + 1];
        let starts: Vec<(usize, usize)> = (0..self.bounds.len() as u32 - 1)
            .map(|p| (self.links_from(&first(p)).start, self.rings_to(&first(p)).start))
            .collect();
        let ends = |(l, link): (usize, &weft_fabric::Link)| {
            let (from, to) = (self.partition_of(link.from), self.partition_of(link.to));
            [
                (from, (l - starts[from as usize].0) as u32),
                (to, self.ring_of[l] - starts[to as usize].1 as u32),
            ]
        };
        self.fabric.links.iter().enumerate().map(ends).collect()
    }

    /// The samples that a partition takes, and their first timers.
    pub fn samples(&self, nodes: &Range<NodeId>, config: &EngineConfig) -> (Samples, Vec<Timer>) {
        let links = self.links_from(nodes);
        let (mut samples, mut timers) = (Samples::default(), Vec::new());
        for &(target, interval) in &config.samples {
            let node = match target {
                SampleTarget::Queue { link } => self.fabric.links[link as usize].from,
                SampleTarget::Buffer { node } => node,
            };
            if !nodes.contains(&node) {
                continue;
            }
            let ports = match target {
                SampleTarget::Queue { link } => vec![link as usize - links.start],
                SampleTarget::Buffer { node } => {
                    let own = self.links_from(&(node..node + 1));
                    let own = own.filter(|&l| self.fabric.links[l].kind.uses_buffer());
                    own.map(|l| l - links.start).collect()
                }
            };
            timers.push(samples.add(node, target, ports, interval));
        }
        (samples, timers)
    }

    /// The network of a partition, with the timers `first`.
    pub fn network(
        &self,
        nodes: &Range<NodeId>,
        config: &EngineConfig,
        first: Vec<Timer>,
    ) -> PartitionNetwork {
        let (mut ports, mut states) = (Vec::new(), PortStates::default());
        for l in self.links_from(nodes) {
            let link = &self.fabric.links[l];
            let site = Site {
                queue: link.queue,
                stream: queue_stream(config.seed, l as u32),
                max_packet: config.max_packet,
                port: ports.len() as u32,
                node: link.from,
                is_switch: self.host(link.from).is_none(),
            };
            let first_port = self.first_port(link.from);
            let state = PortState::new(
                link.kind.discipline(&site, &mut states.buffers),
                config.distributions.contains(&(l as u32)),
                [link.from, link.to],
                link.from - nodes.start,
                first_port..first_port + self.links_from(&(link.from..link.from + 1)).len() as u32,
            );
            let (ring, partition) = (self.ring_of[l], self.partition_of(link.to));
            ports.push(Port::new(
                link.rate,
                link.delay,
                &state,
                &states.buffers,
                ring,
                partition,
            ));
            states.ports.push(state);
        }
        let telemetry = config.telemetry.map(|flags| {
            let links = &self.fabric.links[self.links_from(nodes)];
            let is_switch = |link: &&Link| self.host(link.from).is_none();
            for (port, _) in ports.iter_mut().zip(links).filter(|(_, link)| is_switch(link)) {
                port.observe();
            }
            let rates = links.iter().map(|link| is_switch(&link).then_some(link.rate));
            let partition = self.partition_of(nodes.start) as usize;
            Box::new(Telemetry::new(flags, self.bounds.clone(), partition, rates))
        });
        let rings = self.rings_to(nodes);
        let ring_links = self.link_of[rings.clone()].iter();
        let ring_links = ring_links.map(|&l| (l, &self.fabric.links[l as usize]));
        let losses = Losses::new(config.seed, ring_links);
        let mut timers = Timers::new(self.window);
        for timer in first {
            timers.push(timer);
        }
        let has_scheduled = states.ports.iter().any(|state| state.scheduled().is_some());
        let prefetches_queues = rings.len() >= MIN_PREFETCH_LINKS && has_scheduled;
        PartitionNetwork {
            backlogs: Backlogs::new(ports.len()),
            ports,
            states,
            links: Links {
                rings: rings.clone().map(|_| Ring::new()).collect(),
                first_ring: rings.start as u32,
                calendar: Calendar::new(rings.len()),
                outboxes: vec![Vec::new(); self.bounds.len() - 1],
                lookahead: self.window,
            },
            losses,
            pauses: self.pauses(nodes, config).map(Box::new),
            telemetry,
            timers,
            due: BinaryHeap::new(),
            seed: config.seed,
            jitter: config.jitter,
            end: 0,
            return_routes: config.return_routes.clone(),
            hops: HopBits::new(self.fabric.max_ports()),
            drops: Drops::default(),
            prefetches_queues,
        }
    }

    /// The pauses of a partition, if the network has lossless queues.
    fn pauses(&self, nodes: &Range<NodeId>, config: &EngineConfig) -> Option<Pauses> {
        let reverse = self.reverse.as_ref()?;
        let links = &self.fabric.links;
        let port_of = |link: u32| {
            let first = self.bounds[self.partition_of(links[link as usize].from) as usize];
            link - self.links_from(&(0..first)).len() as u32
        };
        let incoming = |&number: &u32| {
            let back = reverse[number as usize]?;
            let (link, reverse) = (&links[number as usize], &links[back as usize]);
            let QueueKind::Lossless(lossless) = reverse.kind else {
                return None;
            };
            Some(Incoming::new(
                [link.from, self.partition_of(link.from), port_of(number)],
                [back, port_of(back)],
                link.to - nodes.start,
                lossless.thresholds(&link.wire(), &reverse.wire(), config.max_packet),
                lossless.reaction.0,
                lossless.classes,
                self.links_from(&(link.to..link.to + 1)).len(),
            ))
        };
        let incoming = self.link_of[self.rings_to(nodes)].iter().map(incoming).collect();
        let partition = self.partition_of(nodes.start);
        let partitions = self.bounds.len() - 1;
        let ingress = Ingress::new(config.max_packet, nodes.len(), incoming);
        Some(Pauses::new(partition, partitions, ingress))
    }
}

/// Returns the longest window in picoseconds in which no node gets more than `config.arrivals`
/// packets if all packets are the smallest and all links into the node are busy.
fn max_window(links: &[Link], nodes: usize, config: &EngineConfig) -> u64 {
    // For each node: number of links into it, and packets per picosecond that they bring.
    let mut load = vec![(0_u64, 0.0); nodes];
    for link in links {
        let (links, packets) = &mut load[link.to as usize];
        *links += 1;
        *packets += link.rate.0 as f64 / (8e12 * f64::from(config.min_packet));
    }
    // In any interval a link brings one packet more than fits into it.
    let longest = |&(links, packets): &(u64, f64)| config.arrivals.saturating_sub(links) as f64 / packets;
    let longest = load.iter().map(longest).fold(f64::INFINITY, f64::min);
    // The ten-thousandth covers the rounding of a byte's time. No link brings two packets in a
    // picosecond.
    ((longest * 0.9999) as u64).max(1)
}

/// Returns the number of partitions into which the nodes are to be divided.
fn partition_count(links: &[Link], window: u64, config: &EngineConfig) -> usize {
    match config.threads {
        Threads::Exactly(threads) => threads,
        Threads::UpTo(threads) => {
            let max_packet = f64::from(config.max_packet);
            let packets: f64 = links
                .iter()
                .map(|link| link.rate.0 as f64 * window as f64 / (8e12 * max_packet))
                .sum();
            threads.min((packets / MIN_PACKETS_PER_WINDOW) as usize)
        }
    }
}

/// Returns the links, each with the highest rate and the shortest delay that it ever has.
fn best_case_links<'a>(fabric: &'a Fabric, config: &EngineConfig) -> Cow<'a, [Link]> {
    let mut links = Cow::Borrowed(fabric.links.as_slice());
    for &(link, change) in &config.changes {
        match change {
            LinkChange::Down | LinkChange::Up => {}
            LinkChange::Rate(rate) => {
                let link = &mut links.to_mut()[link as usize];
                link.rate = link.rate.max(rate);
            }
            LinkChange::Delay(delay) => {
                let link = &mut links.to_mut()[link as usize];
                link.delay = link.delay.min(delay);
            }
        }
    }
    links
}

/// Divides the nodes into at most `count` ranges of about equal work.
fn bounds(fabric: &Fabric, count: usize) -> Vec<NodeId> {
    // Weight of a host's packets in the work of a transport, compared with 1 for a link.
    const HOST: u64 = 4;
    let nodes = fabric.nodes.len();
    let mut weight: Vec<u64> = fabric
        .nodes
        .iter()
        .map(|n| if n.is_host { HOST } else { 0 })
        .collect();
    for link in &fabric.links {
        weight[link.to as usize] += 1;
    }
    let total: u64 = weight.iter().sum();
    let count = count.clamp(1, nodes.max(1)) as u64;
    let mut bounds = vec![0];
    let mut sum = 0;
    for (node, w) in (0..).zip(&weight) {
        let share = bounds.len() as u64;
        if share < count && sum * count >= total * share && node > bounds[bounds.len() - 1] {
            bounds.push(node);
        }
        sum += w;
    }
    bounds.push(nodes as u32);
    bounds
}
