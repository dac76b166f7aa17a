//! The window engine: exact packet-level simulation without a global event queue.
//!
//! - **One event a packet-hop.** A FIFO port knows a packet's departure when it is enqueued ([`port`]), so there is no
//!   service event.
//! - **Windows.** No packet reaches another node sooner than the lookahead, the smallest propagation delay plus
//!   serialisation of the smallest packet. Events at different nodes within one window of that length are
//!   independent; each node sorts the few that concern it ([`partition`]).
//! - **A calendar of windows** ([`calendar`]) skips silence.
//! - **Threads** ([`threads`]) each advance a range of nodes and exchange packets at a window's end. Results do not
//!   depend on how many there are.

mod calendar;
mod network;
pub mod packet;
mod partition;
mod port;
mod ring;
mod threads;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use weft_fabric::Fabric;

use calendar::Calendar;
use network::{Network, Timer};
use packet::Packet;
pub use partition::{At, Endpoint, QueueSample, mix};
use partition::{Partition, Place, QueueProbe, SAMPLE};
use port::{Port, Rules};
use ring::Ring;

use crate::outcome::LinkRecord;

/// What the engine must know beside the fabric.
pub struct Plan {
    /// Bytes on the wire of the smallest packet: part of the lookahead.
    pub min_packet: u32,
    /// Bytes on the wire of the largest packet.
    pub max_packet: u32,
    /// Threads, at least 1.
    pub threads: usize,
    /// Hash every node's events?
    pub trace: bool,
    /// Links whose queue's distribution is kept.
    pub distributions: Vec<u32>,
    /// Links whose queue is sampled: (link, picoseconds).
    pub samples: Vec<(u32, u64)>,
}

/// The engine, with an endpoint at every host.
pub struct Engine<E> {
    partitions: Vec<Partition<E>>,
    /// Of each link of the fabric: (partition, port) of its sender, (partition, ring) at its receiver.
    links: Vec<[(u32, u32); 2]>,
    /// Of each host of the fabric: (partition, endpoint).
    hosts: Vec<(u32, u32)>,
    now: u64,
    windows: u64,
    trace: bool,
}

/// How many bits of a route one hop takes in this fabric: enough for the largest port number plus one.
pub fn hop_bits(fabric: &Fabric) -> u32 {
    let mut ports = vec![0_u32; fabric.nodes.len()];
    for link in &fabric.links {
        ports[link.from as usize] += 1;
    }
    let most = ports.into_iter().max().unwrap_or(0);
    u32::BITS - most.leading_zeros()
}

impl<E: Endpoint> Engine<E> {
    /// Builds the network; `endpoint(i)` makes the endpoint of the fabric's host `i`.
    pub fn new(fabric: &Fabric, plan: &Plan, mut endpoint: impl FnMut(u32) -> E) -> Self {
        let bounds = partition_bounds(fabric, plan.threads);
        let partition_of = |node: u32| (bounds.partition_point(|&b| b <= node) - 1) as u32;
        // Rings are numbered by receiving node, then by link.
        let mut by_receiver: Vec<u32> = (0..fabric.links.len() as u32).collect();
        by_receiver.sort_by_key(|&l| fabric.links[l as usize].to);
        let mut ring_of = vec![0_u32; fabric.links.len()];
        for (ring, &link) in by_receiver.iter().enumerate() {
            ring_of[link as usize] = ring as u32;
        }
        let lookahead = fabric
            .links
            .iter()
            .map(|l| {
                let rules = Rules::new(l.queue, plan.max_packet, false);
                let port = Port::new(l.rate, l.delay, &rules, 0, 0);
                port.delay() + port.serialisation(plan.min_packet)
            })
            .min()
            .unwrap_or(1)
            .max(1);
        let bits = hop_bits(fabric);
        let count = bounds.len() - 1;
        let mut links = vec![[(0, 0); 2]; fabric.links.len()];
        let mut hosts = vec![(0, u32::MAX); fabric.hosts.len()];
        let mut host_of = vec![u32::MAX; fabric.nodes.len()];
        for (host, &node) in fabric.hosts.iter().enumerate() {
            host_of[node as usize] = host as u32;
        }
        let mut partitions = Vec::with_capacity(count);
        for (p, range) in bounds.windows(2).enumerate() {
            let (first, last) = (range[0], range[1]);
            let first_link = fabric.links.partition_point(|l| l.from < first);
            let last_link = fabric.links.partition_point(|l| l.from < last);
            let mut ports = Vec::with_capacity(last_link - first_link);
            let mut rules = Vec::with_capacity(last_link - first_link);
            for l in first_link..last_link {
                let link = &fabric.links[l];
                links[l][0] = (p as u32, (l - first_link) as u32);
                let rule = Rules::new(
                    link.queue,
                    plan.max_packet,
                    plan.distributions.contains(&(l as u32)),
                );
                ports.push(Port::new(
                    link.rate,
                    link.delay,
                    &rule,
                    ring_of[l],
                    partition_of(link.to),
                ));
                rules.push(rule);
            }
            let first_ring = by_receiver.partition_point(|&l| fabric.links[l as usize].to < first);
            let last_ring = by_receiver.partition_point(|&l| fabric.links[l as usize].to < last);
            let mut ring_node = Vec::with_capacity(last_ring - first_ring);
            for ring in first_ring..last_ring {
                let l = by_receiver[ring] as usize;
                links[l][1] = (p as u32, (ring - first_ring) as u32);
                ring_node.push(fabric.links[l].to - first);
            }
            let mut endpoints = Vec::new();
            let places = (first..last)
                .map(|node| {
                    let host = host_of[node as usize];
                    let mut place = Place {
                        first_port: (fabric.links.partition_point(|l| l.from < node) - first_link) as u32,
                        endpoint: u32::MAX,
                    };
                    if host != u32::MAX {
                        place.endpoint = endpoints.len() as u32;
                        hosts[host as usize] = (p as u32, place.endpoint);
                        endpoints.push(endpoint(host));
                    }
                    place
                })
                .collect();
            let mut timers = BinaryHeap::new();
            let mut queue_probes = Vec::new();
            for (probe, &(l, every)) in plan.samples.iter().enumerate() {
                if (first_link..last_link).contains(&(l as usize)) {
                    let key = SAMPLE | queue_probes.len() as u64;
                    timers.push(Reverse(Timer {
                        time: every,
                        node: fabric.links[l as usize].from,
                        key,
                    }));
                    queue_probes.push(QueueProbe {
                        port: l - first_link as u32,
                        probe: probe as u32,
                        every,
                    });
                }
            }
            let network = Network {
                ports,
                rules,
                rings: ring_node.iter().map(|_| Ring::new()).collect(),
                first_ring: first_ring as u32,
                calendar: Calendar::new(ring_node.len()),
                timers,
                due: BinaryHeap::new(),
                outboxes: vec![Vec::new(); count],
                lookahead,
                end: 0,
                hop_bits: bits,
                hop_mask: (1 << bits) - 1,
                drops: HashMap::new(),
            };
            partitions.push(Partition::new(
                first,
                places,
                endpoints,
                network,
                ring_node,
                queue_probes,
            ));
        }
        Self {
            partitions,
            links,
            hosts,
            now: 0,
            windows: 0,
            trace: plan.trace,
        }
    }

    /// Sets a timer at host `host` before the run or between two calls of [`run_until`](Self::run_until).
    pub fn set_timer(&mut self, host: u32, node: u32, time: u64, key: u64) {
        let (partition, _) = self.hosts[host as usize];
        self.partitions[partition as usize]
            .network
            .timers
            .push(Reverse(Timer { time, node, key }));
    }

    /// Processes all events before `end`, in picoseconds.
    pub fn run_until(&mut self, end: u64) {
        self.windows += if self.trace {
            threads::run::<E, true>(&mut self.partitions, end)
        } else {
            threads::run::<E, false>(&mut self.partitions, end)
        };
        self.now = self.now.max(end);
    }

    /// Simulated picoseconds so far.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Windows that held events; a window cut by the end of a run counts twice.
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// The endpoint of host `host`.
    pub fn endpoint(&self, host: u32) -> &E {
        let (partition, endpoint) = self.hosts[host as usize];
        &self.partitions[partition as usize].endpoints[endpoint as usize]
    }

    /// Packets that reached a node, and timers that fired.
    pub fn events(&self) -> (u64, u64) {
        self.partitions
            .iter()
            .fold((0, 0), |(a, t), p| (a + p.arrivals, t + p.timers_fired))
    }

    /// Packets dropped and packets marked.
    pub fn drops_and_marks(&self) -> (u64, u64) {
        let rules = self.partitions.iter().flat_map(|p| &p.network.rules);
        rules.fold((0, 0), |(d, m), r| (d + r.drops, m + r.marks))
    }

    /// Counters of every link of the fabric.
    pub fn link_records(&self) -> Vec<LinkRecord> {
        let record = |&[(from, port), (to, ring)]: &[(u32, u32); 2]| {
            let sender = &self.partitions[from as usize].network;
            let (port, rules) = (&sender.ports[port as usize], &sender.rules[port as usize]);
            let ring = &self.partitions[to as usize].network.rings[ring as usize];
            LinkRecord {
                packets: port.packets,
                bytes: port.bytes,
                delivered: ring.taken(),
                in_flight: ring.iter().count() as u64,
                drops: rules.drops,
                marks: rules.marks,
            }
        };
        self.links.iter().map(record).collect()
    }

    /// Picoseconds spent at each queue length of a probed link.
    pub fn distribution(&self, link: u32) -> Option<Vec<u64>> {
        let (partition, port) = self.links[link as usize][0];
        let network = &self.partitions[partition as usize].network;
        network.ports[port as usize].distribution(&network.rules[port as usize], self.now)
    }

    /// Samples of all sampled queues, in no order.
    pub fn queue_samples(&self) -> impl Iterator<Item = &QueueSample> {
        self.partitions.iter().flat_map(|p| &p.queue_samples)
    }

    /// The packets in the network.
    pub fn in_flight(&self) -> impl Iterator<Item = &Packet> {
        self.partitions
            .iter()
            .flat_map(|p| p.network.rings.iter().flat_map(Ring::iter))
    }

    /// Data packets dropped, by (flow, subflow).
    pub fn drops(&self) -> impl Iterator<Item = ((u32, u32), u64)> {
        self.partitions
            .iter()
            .flat_map(|p| p.network.drops.iter().map(|(&k, &v)| (k, v)))
    }

    /// Hash of every node's events in order, if traced.
    pub fn trace_hash(&self) -> Option<u64> {
        self.trace.then(|| {
            let mut hash = 0;
            for node in self.partitions.iter().flat_map(|p| &p.trace) {
                mix(&mut hash, *node);
            }
            hash
        })
    }
}

/// Splits the nodes into ranges of about equal work, at most `threads`: `bounds[i]..bounds[i + 1]`.
fn partition_bounds(fabric: &Fabric, threads: usize) -> Vec<u32> {
    // A host's packets cost a transport's work beside the link's.
    const HOST: u64 = 4;
    let nodes = fabric.nodes.len();
    let mut weight: Vec<u64> = fabric
        .nodes
        .iter()
        .map(|n| if n.host { HOST } else { 0 })
        .collect();
    for link in &fabric.links {
        weight[link.to as usize] += 1;
    }
    let total: u64 = weight.iter().sum();
    let threads = threads.clamp(1, nodes.max(1)) as u64;
    let mut bounds = vec![0];
    let mut sum = 0;
    for (node, w) in weight.iter().enumerate() {
        let share = bounds.len() as u64;
        if share < threads && sum * threads >= total * share && node as u32 > bounds[bounds.len() - 1] {
            bounds.push(node as u32);
        }
        sum += w;
    }
    bounds.push(nodes as u32);
    bounds
}
